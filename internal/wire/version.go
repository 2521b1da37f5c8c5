package wire

import (
	"slices"

	"sallyport/internal/canon"
)

// Era is one of the two ways in which the protocol is spoken.
type Era int

const (
	// Legacy is the protocol up to 2025-11-25: a handshake (initialize) makes a session, which has one version.
	Legacy Era = iota + 1

	// Modern is the protocol from 2026-07-28 on: each request carries its version, and nothing is remembered.
	Modern
)

// version is a revision of the protocol that we speak.
type version struct {
	name    string
	era     Era
	batches bool // a message may be an array of messages
}

// versions are what we speak, newest first.
var versions = []version{
	{name: "2026-07-28", era: Modern},
	{name: "2025-11-25", era: Legacy},
	{name: "2025-06-18", era: Legacy},
	{name: "2025-03-26", era: Legacy, batches: true},
	{name: "2024-11-05", era: Legacy},
}

// The keys of _meta that the protocol, or tracing, or a gate gives a meaning to.
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
	MetaTraceParent        = "traceparent"
	MetaRequestID          = "sallyport/request_id" // policy.MetaKey: names the call, so that it is carried out once
)

// logLevels are the values of MetaLogLevel (MCP 2026-07-28, server/utilities/logging).
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// versionNamed returns the version of that name, the zero one if we do not speak it.
func versionNamed(name string) version {
	for _, v := range versions {
		if v.name == name {
			return v
		}
	}
	return version{}
}

// EraNamed returns the era of the protocol version of that name, 0 if we do not speak it.
func EraNamed(version string) Era { return versionNamed(version).era }

// negotiate returns the version in which to answer a client's initialize: the one that it asks for if that is a legacy
// one which we speak, else the newest of those.
func negotiate(requested string) version {
	if v := versionNamed(requested); v.era == Legacy {
		return v
	}
	return versions[slices.IndexFunc(versions, func(v version) bool { return v.era == Legacy })]
}

// AppendVersions appends the versions that we speak, newest first, as a JSON array.
func AppendVersions(dst []byte) []byte {
	for i, v := range versions {
		separator := byte(',')
		if i == 0 {
			separator = '['
		}
		dst = canon.AppendString(append(dst, separator), v.name)
	}
	return append(dst, ']')
}

// checkModern says what is wrong with the _meta of a request that is of the modern era
// (MCP 2026-07-28, basic/index, Per-request protocol fields).
func checkModern(meta canon.Value) *Error {
	capabilities := meta.Get(MetaClientCapabilities)
	if !capabilities.Exists() {
		return newError(CodeInvalidParams, "missing params._meta["+MetaClientCapabilities+"]")
	}
	if capabilities.Kind() != canon.Object {
		return newError(CodeInvalidParams, "params._meta["+MetaClientCapabilities+"] must be an object")
	}
	if level := meta.Get(MetaLogLevel); level.Exists() {
		if name, ok := level.Text(); !ok || !slices.Contains(logLevels, name) {
			return newError(CodeInvalidParams, "params._meta["+MetaLogLevel+"] is not a log level")
		}
	}
	return nil
}

// Unsupported returns the refusal of a version that we do not speak (MCP 2026-07-28, basic/versioning).
func Unsupported(requested string) *Error {
	data := AppendVersions([]byte(`{"supported":`))
	data = canon.AppendString(append(data, `,"requested":`...), requested)
	return &Error{Code: CodeUnsupportedVersion, Message: "unsupported protocol version", Data: append(data, '}')}
}

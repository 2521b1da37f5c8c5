package streamable

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sallyport/internal/wire"
)

// The header fields of the protocol, as net/http spells them.
const (
	fieldVersion   = "Mcp-Protocol-Version"
	fieldSession   = "Mcp-Session-Id"
	fieldMethod    = "Mcp-Method"
	fieldName      = "Mcp-Name"
	fieldParam     = "Mcp-Param-"
	fieldLastEvent = "Last-Event-Id"
)

// The methods that the transport itself has to know.
const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodListen      = "subscriptions/listen"
	methodPing        = "ping"
)

// modernHeader returns what a modern request says in its header besides its body (MCP 2026-07-28, streamable HTTP,
// Request Metadata). The errors are of what cannot be said there.
func modernHeader(r wire.Outgoing) (http.Header, error) {
	h := http.Header{}
	if version, ok := r.Params.Get("_meta").Get(wire.MetaProtocolVersion).Text(); ok {
		if !isPlain(version) {
			return nil, errors.New("the protocol version cannot be sent in a header")
		}
		h.Set(fieldVersion, version)
	}
	if !isPlain(r.Method) {
		return nil, errors.New("the method's name cannot be sent in a header")
	}
	h.Set(fieldMethod, r.Method)
	if key := namedBy(r.Method); key != "" {
		if name, ok := r.Params.Get(key).Text(); ok {
			h.Set(fieldName, encodeField(name))
		}
	}
	for name, value := range r.ParamHeaders {
		if !isToken(name) {
			return nil, fmt.Errorf("%q, of the tool's x-mcp-header, is no name of a header", shorten(name))
		}
		h.Set(fieldParam+name, encodeField(value))
	}
	return h, nil
}

// namedBy returns the member of the params that Mcp-Name repeats, "" if there is none. Tasks, an extension, have it too.
func namedBy(method string) string {
	switch method {
	case "tools/call", "prompts/get":
		return "name"
	case "resources/read":
		return "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		return "taskId"
	}
	return ""
}

// What a value looks like that is not said as it is (MCP 2026-07-28, streamable HTTP, Value Encoding).
const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// encodeField returns value as it is sent in Mcp-Name and Mcp-Param-*.
func encodeField(value string) string {
	alike := strings.HasPrefix(value, encodedPrefix) && strings.HasSuffix(value, encodedSuffix)
	if value == "" || isPlain(value) && !alike {
		return value
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(value)) + encodedSuffix
}

// isPlain reports whether value can be said as it is: printable ASCII, without spaces at its ends, and not nothing.
func isPlain(value string) bool {
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return false
		}
	}
	return value != "" && value == strings.Trim(value, " ")
}

// isVisible reports whether value has no bytes but visible ASCII, as the id of a session must (MCP 2025-11-25).
func isVisible(value string) bool { return isPlain(value) && !strings.Contains(value, " ") }

// isToken reports whether name can be the name of a header (RFC 9110, 5.6.2).
func isToken(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return name != ""
}

// shorten returns the beginning of what a server sent, for an error's text.
func shorten(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

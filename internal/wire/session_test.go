package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// modern is the _meta of a modern request, with more members if there are any.
func modern(more ...string) string {
	members := append([]string{
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`,
	}, more...)
	return `{"_meta":{` + strings.Join(members, ",") + `}}`
}

func TestEraOf(t *testing.T) {
	const (
		version      = `"io.modelcontextprotocol/protocolVersion":`
		capabilities = `"io.modelcontextprotocol/clientCapabilities":`
		logLevel     = `"io.modelcontextprotocol/logLevel":`
	)
	type verdict struct {
		Era     Era
		Code    int
		Message string // what the message must contain
	}
	refused := func(code int, message string) verdict { return verdict{Code: code, Message: message} }
	tests := map[string]struct {
		method, params string
		session        string // the version that was asked for before, "" if there was no initialize
		want           verdict
	}{
		"modern, the first message":          {"tools/call", modern(), "", verdict{Era: Modern}},
		"modern in a legacy session":         {"tools/call", modern(), "2025-11-25", verdict{Era: Modern}},
		"modern initialize":                  {"initialize", modern(), "", verdict{Era: Modern}},
		"modern with a log level":            {"tools/list", modern(logLevel + `"debug"`), "", verdict{Era: Modern}},
		"modern with client info and others": {"tools/list", modern(`"io.modelcontextprotocol/clientInfo":7`, `"x":1`), "", verdict{Era: Modern}},
		"not a log level":                    {"tools/list", modern(logLevel + `"loud"`), "", refused(CodeInvalidParams, "logLevel")},
		"log level a number":                 {"tools/list", modern(logLevel + `1`), "", refused(CodeInvalidParams, "logLevel")},
		"version before ours":                {"tools/list", `{"_meta":{` + version + `"1900-01-01",` + capabilities + `{}}}`, "", refused(CodeUnsupportedVersion, "version")},
		"version after ours":                 {"tools/list", `{"_meta":{` + version + `"2099-01-01",` + capabilities + `{}}}`, "2025-11-25", refused(CodeUnsupportedVersion, "version")},
		"unknown version, nothing else":      {"nonsense", `{"_meta":{` + version + `""}}`, "", refused(CodeUnsupportedVersion, "version")},
		"version a number":                   {"tools/list", `{"_meta":{` + version + `20260728,` + capabilities + `{}}}`, "2025-11-25", refused(CodeInvalidParams, "protocolVersion] must be a string")},
		"version null":                       {"tools/list", `{"_meta":{` + version + `null,` + capabilities + `{}}}`, "2025-11-25", refused(CodeInvalidParams, "protocolVersion] must be a string")},
		"no capabilities":                    {"tools/list", `{"_meta":{` + version + `"2026-07-28"}}`, "2025-11-25", refused(CodeInvalidParams, "missing params._meta[io.modelcontextprotocol/clientCapabilities]")},
		"capabilities null":                  {"tools/list", `{"_meta":{` + version + `"2026-07-28",` + capabilities + `null}}`, "", refused(CodeInvalidParams, "clientCapabilities] must be an object")},
		"capabilities an array":              {"tools/list", `{"_meta":{` + version + `"2026-07-28",` + capabilities + `[]}}`, "", refused(CodeInvalidParams, "clientCapabilities] must be an object")},
		"legacy":                             {"tools/list", `{}`, "2024-11-05", verdict{Era: Legacy}},
		"legacy without params":              {"tools/list", ``, "2025-11-25", verdict{Era: Legacy}},
		"legacy with other meta":             {"tools/list", `{"_meta":{"progressToken":1}}`, "2025-11-25", verdict{Era: Legacy}},
		"legacy that names its version":      {"tools/list", `{"_meta":{` + version + `"2025-06-18"}}`, "2025-11-25", verdict{Era: Legacy}},
		"legacy version, no session":         {"tools/list", `{"_meta":{` + version + `"2025-11-25",` + capabilities + `{}}}`, "", refused(CodeInvalidParams, "initialize")},
		"initialize":                         {"initialize", `{"protocolVersion":"x"}`, "", verdict{Era: Legacy}},
		"ping before initialize":             {"ping", ``, "", verdict{Era: Legacy}},
		"nothing said":                       {"tools/list", ``, "", refused(CodeInvalidParams, "missing params._meta[io.modelcontextprotocol/protocolVersion]")},
		"nothing said, unknown method":       {"nonsense", `{"_meta":{}}`, "", refused(CodeInvalidParams, "missing params._meta[io.modelcontextprotocol/protocolVersion]")},
		"discover without meta":              {"server/discover", ``, "", refused(CodeInvalidParams, "missing params._meta[io.modelcontextprotocol/protocolVersion]")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var s Session
			if tt.session != "" {
				s.Initialize(tt.session)
			}
			line := `{"jsonrpc":"2.0","id":1,"method":"` + tt.method + `"}`
			if tt.params != "" {
				line = line[:len(line)-1] + `,"params":` + tt.params + `}`
			}
			m, refusal := Scan([]byte(line))
			if refusal != nil {
				t.Fatalf("Scan(%s): %v", line, refusal)
			}
			era, err := s.EraOf(m)
			var got verdict
			if err == nil {
				got.Era = era
			} else {
				got.Code = err.Code
				if got.Message = err.Message; strings.Contains(err.Message, tt.want.Message) {
					got.Message = tt.want.Message
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("EraOf(%s) (-want +got):\n%s", line, diff)
			}
		})
	}
}

func TestUnsupportedVersionNamesTheSupported(t *testing.T) {
	got := string(Unsupported(`1900"`).Data)
	want := `{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"1900\""}`
	if got != want {
		t.Errorf("data is %s, want %s", got, want)
	}
}

func TestInitializeNegotiates(t *testing.T) {
	tests := map[string]string{
		"2025-11-25": "2025-11-25",
		"2025-06-18": "2025-06-18",
		"2025-03-26": "2025-03-26",
		"2024-11-05": "2024-11-05",
		"2026-07-28": "2025-11-25", // it has no initialize
		"1900-01-01": "2025-11-25",
		"2099-01-01": "2025-11-25",
		"":           "2025-11-25",
	}
	for requested, want := range tests {
		var s Session
		if s.Initialized() {
			t.Fatal("a new session is initialized")
		}
		if got := s.Initialize(requested); got != want {
			t.Errorf("Initialize(%q) = %q, want %q", requested, got, want)
		}
		if !s.Initialized() {
			t.Errorf("after Initialize(%q) the session is not initialized", requested)
		}
	}
}

// A client counts as one that can ask its person only while the latest handshake said so.
func TestDeclare(t *testing.T) {
	var s Session
	if s.Elicits() {
		t.Error("a new client is taken for one that can ask")
	}
	for _, elicits := range []bool{true, false} {
		if s.Declare(elicits); s.Elicits() != elicits {
			t.Errorf("Elicits() = %v after Declare(%v)", s.Elicits(), elicits)
		}
	}
}

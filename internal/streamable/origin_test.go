package streamable

import (
	"net/http"
	"strings"
	"testing"
)

func TestWhereRequestsComeFrom(t *testing.T) {
	f := newFront(t, func(h *Handler) {
		h.Origins = []string{"https://app.example", "vscode-webview://abc"}
		h.Hosts = []string{"gate.example", "other.example:8443"}
		identify := h.Identify
		h.Identify = func(r *http.Request) (Caller, bool) {
			f := strings.HasPrefix(r.Header.Get("Origin"), "https://evil")
			if f {
				t.Error("somebody was asked who they are who is not let in anyway")
			}
			return identify(r)
		}
	})
	own := f.url
	host := strings.TrimPrefix(own, "http://")
	port := host[strings.LastIndexByte(host, ':'):]
	tests := []struct {
		host, origin string
		in           bool
	}{
		{"", "", true},
		{"", own, true},
		{"", strings.ToUpper(own), true},
		{"localhost" + port, "http://localhost" + port, true},
		{"localhost", "http://localhost:80", true},
		{"localhost:80", "http://localhost", true},
		{"[::1]:9", "http://[::1]:9", true},
		{"[::1]", "http://[::1]", true},
		{"127.0.0.2", "", true},
		{"LocalHost", "", true},
		{"gate.example", "", true},
		{"gate.example:1234", "http://gate.example:1234", true},
		{"other.example:8443", "", true},
		{"", "https://app.example", true},
		{"gate.example", "vscode-webview://abc", true},

		{"", "null", false},
		{"", "NULL", false},
		{"", " ", false},
		{"", "https://evil.example", false},
		{"", "https://" + host, false}, // another scheme
		{"", "http://127.0.0.1", false},
		{"", "http://127.0.0.1:1", false},
		{"", "http://localhost" + port, false}, // another name
		{"", own + ".evil.example", false},
		{"", own + "/", false},
		{"", own + "?x", false},
		{"", own + "#x", false},
		{"", "http://x@" + host, false},
		{"", host, false},
		{"", "file://", false},
		{"", "https://app.example.evil.example", false},
		{"", "https://app.example:444", false},
		{"", "%zz", false},
		{"evil.example", "", false},
		{"evil.example", "http://evil.example", false}, // a name that was made to mean us
		{"evil.example" + port, "http://evil.example" + port, false},
		{"localhost.evil.example", "", false},
		{"127.0.0.1.evil.example", "", false},
		{"other.example", "", false},
		{"other.example:80", "", false},
		{"10.0.0.1", "", false},
		{"0.0.0.0" + port, "", false},
	}
	session := f.hello("2025-11-25")
	for _, test := range tests {
		var fields []string
		if test.host != "" {
			fields = append(fields, "Host: "+test.host)
		}
		if test.origin != "" {
			fields = append(fields, "Origin: "+test.origin)
		}
		for _, send := range []func() answer{
			func() answer { return f.post(modernRequest(1, "now", ""), append(fields, modernFields("now")...)...) },
			func() answer { return f.post(legacyRequest(1, "now"), append(fields, session)...) },
			func() answer { return f.do("DELETE", "", append(fields, "Mcp-Session-Id: of-nobody")...) },
			func() answer { return f.do("GET", "", append(fields, "Mcp-Session-Id: of-nobody")...) },
			func() answer { return f.do("OPTIONS", "", fields...) },
		} {
			if a := send(); (a.status != http.StatusForbidden) != test.in {
				t.Errorf("host %q, origin %q: got %d %s", test.host, test.origin, a.status, a.body)
			}
		}
	}
	f.post(modernRequest(1, "now", ""), modernFields("now", "Origin: "+own, "+Origin: https://evil.example")...).
		expectError(t, http.StatusForbidden, "null", -32600)
}

func FuzzOrigin(f *testing.F) {
	for _, seed := range []string{"", "null", "http://localhost:80", "http://localhost:80@evil.example", "http://evil.example#localhost", "//localhost"} {
		f.Add(seed, "localhost:80")
	}
	f.Fuzz(func(t *testing.T, origin, host string) {
		h := &Handler{}
		r := &http.Request{Host: host, Header: http.Header{"Origin": {origin}}}
		if h.strange(r) != "" {
			return
		}
		// What is let in is loopback's, and spells the host that the request names.
		if !isLoopback(hostname(host)) || !strings.HasPrefix(strings.ToLower(origin), "http://"+strings.ToLower(hostname(host))) &&
			!strings.HasPrefix(strings.ToLower(origin), "http://["+strings.ToLower(hostname(host))) {
			t.Errorf("origin %q is let in for host %q", origin, host)
		}
	})
}

package streamable

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sallyport/internal/wire"
)

func TestModernRequestsStandByThemselves(t *testing.T) {
	noLeak(t)
	f := newFront(t, nil)
	for _, fields := range [][]string{nil, {"Mcp-Session-Id: of-nobody", "Last-Event-ID: 0_1"}} {
		a := f.post(modernRequest(`"a"`, "whoami", ""), append(fields, modernFields("whoami", "Authorization: Bearer bob@acme")...)...)
		a.expect(t, http.StatusOK, `{"jsonrpc":"2.0","id":"a","result":{"principal":"bob","tenant":"acme","shared":true}}`)
		if got := a.header.Get("Mcp-Session-Id"); got != "" {
			t.Errorf("got a session %s", got)
		}
		if kind := a.header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("got %s", kind)
		}
	}
	// The same id at the same time is no matter.
	one := f.later(modernRequest(1, "slow", ""), modernFields("slow")...)
	other := f.later(modernRequest(1, "slow", ""), modernFields("slow")...)
	f.toy.release <- struct{}{}
	f.toy.release <- struct{}{}
	(<-one).expect(t, http.StatusOK, did(1, "slow"))
	(<-other).expect(t, http.StatusOK, did(1, "slow"))
}

func TestModernNotificationsComeBeforeTheAnswer(t *testing.T) {
	f := newFront(t, nil)
	resp := f.open(t.Context(), "POST", modernRequest(1, "say", ""), modernFields("say")...)
	s := f.listen(resp)
	for i := range 3 {
		s.expect(fmt.Sprintf(`{"jsonrpc":"2.0","method":"said","params":{"n":%d,"big":9007199254740993}}`, i))
	}
	s.expect(did(1, "say"), "")
	if s.last != "" {
		t.Errorf("an event has the ID %q", s.last)
	}
	for name, want := range map[string]string{"X-Accel-Buffering": "no", "Cache-Control": "no-store"} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestModernHeadersAgainstTheBody(t *testing.T) {
	call := modernRequest(1, "tools/call", `"name":"rm"`)
	read := modernRequest(1, "resources/read", `"uri":"file:///grüße"`)
	list := modernRequest(1, "now", "")
	tests := []struct {
		name   string
		body   string
		fields []string
		status int
		code   int // 0: an answer
	}{
		{"all is said", call, modernFields("tools/call", "Mcp-Name: rm"), 200, 0},
		{"names of fields have no case", call, []string{"mcp-protocol-version: 2026-07-28", "MCP-METHOD: tools/call", "mcp-name: rm"}, 200, 0},
		{"encoded", call, modernFields("tools/call", "Mcp-Name: =?base64?cm0=?="), 200, 0},
		{"encoded, since it must be", read, modernFields("resources/read", "Mcp-Name: =?base64?ZmlsZTovLy9ncsO8w59l?="), 200, 0},
		{"bare where it must be encoded", read, modernFields("resources/read", "Mcp-Name: file:///grüße"), 400, wire.CodeHeaderMismatch},
		{"badly encoded", call, modernFields("tools/call", "Mcp-Name: =?base64?cm0?="), 400, wire.CodeHeaderMismatch},
		{"with a case of its own", call, modernFields("tools/call", "Mcp-Name: RM"), 400, wire.CodeHeaderMismatch},
		{"another name", call, modernFields("tools/call", "Mcp-Name: read_file"), 400, wire.CodeHeaderMismatch},
		{"two names", call, modernFields("tools/call", "Mcp-Name: rm", "+Mcp-Name: read_file"), 400, wire.CodeHeaderMismatch},
		{"no name", call, modernFields("tools/call"), 400, wire.CodeHeaderMismatch},
		{"no name in the body either", modernRequest(1, "tools/call", ""), modernFields("tools/call"), 400, wire.CodeHeaderMismatch},
		{"a name that is no string", modernRequest(1, "tools/call", `"name":1`), modernFields("tools/call", "Mcp-Name: 1"), 400, wire.CodeHeaderMismatch},
		{"a name where none is needed", list, modernFields("now", "Mcp-Name: x"), 200, 0},
		{"another method", call, modernFields("tools/list", "Mcp-Name: rm"), 400, wire.CodeHeaderMismatch},
		{"two methods", list, modernFields("now", "+Mcp-Method: tools/call"), 400, wire.CodeHeaderMismatch},
		{"no method", list, []string{"MCP-Protocol-Version: 2026-07-28"}, 400, wire.CodeHeaderMismatch},
		{"no version", list, []string{"Mcp-Method: now"}, 400, wire.CodeHeaderMismatch},
		{"a legacy version", list, []string{"MCP-Protocol-Version: 2025-11-25", "Mcp-Method: now"}, 400, wire.CodeHeaderMismatch},
		{"two versions", list, modernFields("now", "+MCP-Protocol-Version: 2025-11-25"), 400, wire.CodeHeaderMismatch},
		{"a parameter badly encoded", list, modernFields("now", "Mcp-Param-Region: =?base64?*?="), 400, wire.CodeHeaderMismatch},
		{"no version in the body", legacyRequest(1, "now"), modernFields("now"), 400, -32602},
		{"a legacy version in the body", `{"jsonrpc":"2.0","id":1,"method":"now","params":{` + modernMetaOf("2025-11-25") + `}}`, modernFields("now"), 400, -32600},
		{"no capabilities", `{"jsonrpc":"2.0","id":1,"method":"now","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			modernFields("now"), 400, -32602},
		{"an old version that never was", `{"jsonrpc":"2.0","id":1,"method":"now","params":{` + modernMetaOf("1900-01-01") + `}}`,
			[]string{"MCP-Protocol-Version: 1900-01-01", "Mcp-Method: now"}, 400, -32022},
		{"a version to come", `{"jsonrpc":"2.0","id":1,"method":"now","params":{` + modernMetaOf("2099-01-01") + `}}`,
			[]string{"MCP-Protocol-Version: 2099-01-01"}, 400, -32022},
		{"a version to come in the header only", legacyRequest(1, "now"), []string{"MCP-Protocol-Version: 2099-01-01"}, 400, -32022},
		{"no such method", modernRequest(1, "no such method", ""), modernFields("no such method"), 404, -32601},
		{"an upstream's error", modernRequest(1, "fault", ""), modernFields("fault"), 404, -32601},
		{"missing capability", modernRequest(1, "missing capability", ""), modernFields("missing capability"), 400, -32021},
		{"denied", modernRequest(1, "denied", ""), modernFields("denied"), 200, -32602},
		{"a bug", modernRequest(1, "panics", ""), modernFields("panics"), 200, -32603},
	}
	f := newFront(t, nil)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := f.post(test.body, test.fields...)
			if test.code != 0 {
				a.expectError(t, test.status, "1", test.code)
			} else if a.status != test.status || !strings.Contains(a.body, `"result":`) {
				t.Errorf("got %d %s", a.status, a.body)
			}
		})
	}
	f.toy.mu.Lock()
	defer f.toy.mu.Unlock()
	if len(f.toy.log) > 0 {
		t.Errorf("happened: %q", f.toy.log)
	}
}

func TestMessagesThatAreNone(t *testing.T) {
	f := newFront(t, nil)
	for _, fields := range [][]string{nil, modernFields("now")} {
		f.post(`{"jsonrpc":"2.0","id":1,"method":"now"`, fields...).expectError(t, 400, "null", -32700)
		f.post(``, fields...).expectError(t, 400, "null", -32700)
		f.post(`{"jsonrpc":"2.0","id":1,"id":1,"method":"now"}`, fields...).expectError(t, 400, "null", -32600)
		f.post(`{"jsonrpc":"2.0","id":1,"method":"now","params":{"name":"a","name":"b"}}`, fields...).expectError(t, 400, "1", -32600)
		f.post(`{"jsonrpc":"2.0","id":1,"Method":"now"}`, fields...).expectError(t, 400, "1", -32600)
		f.post(`{"jsonrpc":"2.0","id":null,"method":"now"}`, fields...).expectError(t, 400, "null", -32600)
		f.post(`{"jsonrpc":"2.0","method":"now","params":[]}`, fields...).expectError(t, 400, "null", -32600)
		f.post(`[`+modernRequest(1, "now", "")+`]`, fields...).expectError(t, 400, "null", -32600)
		f.post(`[]`, fields...).expectError(t, 400, "null", -32600)
		f.post("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", fields...).expectError(t, 400, "null", -32700)
	}
	f.post(`{"jsonrpc":"2.0","id":1,"result":{}}`, modernFields("now")...).expectError(t, 400, "null", -32600)
	if len(f.toy.calls) > 0 {
		t.Errorf("%d calls were begun", len(f.toy.calls))
	}
}

func TestModernNotifications(t *testing.T) {
	f := newFront(t, nil)
	note := `{"jsonrpc":"2.0","method":"notifications/x"}`
	f.post(note, modernFields("notifications/x")...).expect(t, http.StatusAccepted, "")
	f.post(note, "MCP-Protocol-Version: 2026-07-28").expect(t, http.StatusAccepted, "")
	f.toy.saw(t, "notified anna notifications/x")
	f.post(note, modernFields("notifications/y")...).expectError(t, 400, "null", wire.CodeHeaderMismatch)
	// There is nothing that it could cancel: other requests have conversations of their own.
	slow := f.later(modernRequest(1, "slow", ""), modernFields("slow")...)
	f.toy.saw(t, "1 runs")
	f.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		modernFields("notifications/cancelled")...).expect(t, http.StatusAccepted, "")
	f.toy.release <- struct{}{}
	(<-slow).expect(t, 200, did(1, "slow"))
}

func TestModernParamHeadersAreHandedOn(t *testing.T) {
	f := newFront(t, nil)
	f.post(modernRequest(1, "params", ""), modernFields("params", "Mcp-Param-Region: eu", "mcp-param-CITY: =?base64?S8O2bG4=?=")...).
		expect(t, 200, `{"jsonrpc":"2.0","id":1,"result":{"params":"map[city:Köln region:eu]"}}`)
}

func TestModernHasNoStreamAndNoSession(t *testing.T) {
	f := newFront(t, nil)
	for _, method := range []string{"GET", "DELETE"} {
		a := f.do(method, "", "MCP-Protocol-Version: 2026-07-28")
		if allow := a.header.Get("Allow"); a.status != http.StatusMethodNotAllowed || allow != "POST" {
			t.Errorf("%s: got %d, Allow %q", method, a.status, allow)
		}
	}
	for _, method := range []string{"PUT", "OPTIONS", "PATCH"} {
		if a := f.do(method, ""); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") == "" {
			t.Errorf("%s: got %d, Allow %q", method, a.status, a.header.Get("Allow"))
		}
	}
}

func TestModernDisconnectIsCancellation(t *testing.T) {
	noLeak(t)
	f := newFront(t, func(h *Handler) { h.Options.MaxCalls = 1 })
	leave := make(map[string]context.CancelFunc)
	begin := func(id, method string) {
		ctx, cancel := context.WithCancel(t.Context())
		leave[id] = cancel
		go func() {
			r, _ := http.NewRequestWithContext(ctx, "POST", f.url, strings.NewReader(modernRequest(id, method, "")))
			r.Header.Set("Content-Type", "application/json")
			for _, field := range modernFields(method) {
				name, value, _ := strings.Cut(field, ": ")
				r.Header.Set(name, value)
			}
			if resp, err := http.DefaultTransport.RoundTrip(r); err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
	}
	begin("1", "slow")
	begin("2", "subscriptions/listen")
	begin("3", "queued")
	f.toy.saw(t, "1 runs")
	f.toy.saw(t, "3 runs")
	begin("4", "queued") // waits for 3
	eventually(t, "4 waits", func() bool { return f.visits() == 4 })
	leave["4"]()
	eventually(t, "4 is gone", func() bool { return f.visits() == 3 })
	for _, id := range []string{"1", "2", "3"} {
		leave[id]()
		f.toy.saw(t, id+" ended")
	}
	if f.toy.calls["4"] != nil {
		t.Error("a request was begun whose client had gone")
	}
	f.post(modernRequest(5, "now", ""), modernFields("now")...).expect(t, 200, did(5, "now"))
}

func (f *front) visits() int {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	return len(f.h.visits)
}

func TestKeepAlive(t *testing.T) {
	f := newFront(t, func(h *Handler) { h.KeepAlive = 20 * time.Millisecond })
	s := f.listen(f.open(t.Context(), "POST", modernRequest(1, "slow", ""), modernFields("slow")...))
	for range 3 {
		if line, err := s.in.ReadString('\n'); err != nil || !strings.HasPrefix(line, ":") {
			t.Fatalf("got %q, %v; want a comment", line, err)
		}
		s.in.ReadString('\n')
	}
	f.toy.release <- struct{}{}
	s.expect(did(1, "slow"), "")
}

// Some clients do not take events: they get the answer, and only that.
func TestClientsThatTakeNoEvents(t *testing.T) {
	f := newFront(t, func(h *Handler) { h.KeepAlive = 10 * time.Millisecond })
	f.post(modernRequest(1, "say", ""), modernFields("say", "Accept: application/json")...).expect(t, 200, did(1, "say"))
	go func() { time.Sleep(50 * time.Millisecond); f.toy.release <- struct{}{} }()
	f.post(modernRequest(1, "slow", ""), modernFields("slow", "Accept: application/json")...).expect(t, 200, did(1, "slow"))
	session := f.hello("2025-11-25", "Accept: application/json")
	f.post(legacyRequest(1, "ask"), session, "Accept: application/json").expectError(t, 200, "1", -32603)
	for _, accept := range []string{"Accept", "Accept: */*", "Accept: Application/JSON;q=0.9 , TEXT/event-stream"} {
		f.post(modernRequest(1, "now", ""), modernFields("now", accept)...).expect(t, 200, did(1, "now"))
	}
	s := f.listen(f.open(t.Context(), "POST", modernRequest(1, "now", ""), modernFields("now", "Accept: text/event-stream")...))
	s.expect(did(1, "now"), "")
	f.post(modernRequest(1, "now", ""), modernFields("now", "Accept: text/html")...).expectError(t, 406, "null", -32600)
}

// The line ends of a pretty answer would be ends of an event's lines.
func TestAnswersOfSeveralLines(t *testing.T) {
	f := newFront(t, nil)
	f.post(modernRequest(1, "lines", ""), modernFields("lines")...).expect(t, 200, "{\r\n\"jsonrpc\":\"2.0\",\"id\":1,\n\"result\":{}}")
	s := f.listen(f.open(t.Context(), "POST", modernRequest(1, "lines", ""), modernFields("lines", "Accept: text/event-stream")...))
	s.expect(`{  "jsonrpc":"2.0","id":1, "result":{}}`, "")
}

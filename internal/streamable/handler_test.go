package streamable

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// toy is a wire.Handler whose methods do what they are called.
type toy struct {
	release chan struct{} // one receive lets one "slow" go on

	mu    sync.Mutex // guards what follows
	log   []string   // what happened
	calls map[string]*wire.Call
}

func newToy() *toy { return &toy{release: make(chan struct{}), calls: make(map[string]*wire.Call)} }

func (*toy) Pace(method string) wire.Pace {
	switch method {
	case "initialize", "ping", "now", "tools/list", "server/discover":
		return wire.Immediate
	case "queued":
		return wire.Queued
	case "subscriptions/listen":
		return wire.Streaming
	}
	return wire.Relayed
}

func (h *toy) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

// saw waits until something happened.
func (h *toy) saw(t *testing.T, what string) {
	t.Helper()
	eventually(t, what, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return slices.Contains(h.log, what)
	})
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func (h *toy) Notified(s *wire.Session, m wire.Message) {
	h.note("notified %s %s", s.Principal, m.Method)
}

func (h *toy) Answer(ctx context.Context, call *wire.Call) (wire.Reply, error) {
	id := string(call.ID.Bytes())
	h.mu.Lock()
	h.calls[id] = call
	h.mu.Unlock()
	result := `{"did":"` + call.Method + `"}`
	switch call.Method {
	case "initialize":
		version, ok := call.Params.Get("protocolVersion").Text()
		if !ok {
			return wire.Reply{}, &wire.Error{Code: wire.CodeInvalidParams, Message: "no version"}
		}
		result = `{"protocolVersion":"` + call.Session.Initialize(version) +
			`","capabilities":{"tools":{}},"serverInfo":{"name":"toy","version":"1"}}`
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
	case "tools/list":
		result = `{"resultType":"complete","tools":[{"name":"greet","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}`
	case "tools/call":
		result = `{"resultType":"complete","content":[{"type":"text","text":` +
			string(canon.AppendString(nil, call.Session.Principal)) + `}]}`
		call.Notify("notifications/message", []byte(`{"level":"info","data":"greeting"}`))
	case "whoami":
		result = fmt.Sprintf(`{"principal":%q,"tenant":%q,"shared":%t}`, call.Session.Principal, call.Session.Tenant, call.Session.Shared)
	case "params":
		result = fmt.Sprintf(`{"params":%q}`, fmt.Sprint(call.ParamHeaders))
	case "say":
		for i := range 3 {
			call.Forward(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"said","params":{"n":%d,"big":9007199254740993}}`, i))
		}
	case "slow", "queued":
		h.note("%s runs", id)
		select {
		case <-h.release:
		case <-ctx.Done():
			h.note("%s ended", id)
			return wire.Reply{}, ctx.Err()
		}
	case "subscriptions/listen":
		call.Notify("notifications/subscriptions/acknowledged", nil)
		<-ctx.Done()
		h.note("%s ended", id)
	case "ask":
		answer, err := call.Ask(ctx, []byte(`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`))
		if err != nil {
			return wire.Reply{}, &wire.Error{Code: wire.CodeInternal, Message: err.Error()}
		}
		result = string(answer.Result.Bytes())
	case "pause":
		call.Prime(time.Millisecond)
		call.Forward([]byte(`{"jsonrpc":"2.0","method":"before"}`))
		call.Pause(20 * time.Millisecond)
		<-h.release
		call.Forward([]byte(`{"jsonrpc":"2.0","method":"after"}`))
	case "big":
		result = `{"big":"` + strings.Repeat("x", 2<<20) + `"}`
	case "flood":
		line := []byte(`{"jsonrpc":"2.0","method":"flood","params":{"a":"` + strings.Repeat("x", 1<<10) + `"}}`)
		call.Forward([]byte(`{"jsonrpc":"2.0","method":"before"}`))
		<-h.release
		n := 0
		for ; n < 100_000 && ctx.Err() == nil; n++ {
			call.Forward(line)
		}
		h.note("flooded")
		<-ctx.Done()
		return wire.Reply{}, ctx.Err()
	case "lines":
		return wire.Reply{Line: []byte("{\r\n\"jsonrpc\":\"2.0\",\"id\":" + id + ",\n\"result\":{}}")}, nil
	case "panics":
		panic("with the arguments")
	case "missing capability":
		return wire.Reply{}, &wire.Error{Code: wire.CodeMissingCapability, Message: "needs sampling"}
	case "denied":
		return wire.Reply{}, &wire.Error{Code: wire.CodeInvalidParams, Message: "tool denied: x"}
	case "fault":
		return wire.Reply{Line: []byte(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32601,"message":"no","more":1.0}}`)}, nil
	case "no such method":
		return wire.Reply{}, &wire.Error{Code: wire.CodeMethodNotFound, Message: "method not found"}
	}
	return wire.Reply{Result: []byte(result)}, nil
}

// front is a Handler that serves.
type front struct {
	t      *testing.T
	h      *Handler
	toy    *toy
	url    string
	server *httptest.Server
}

// newFront serves a toy. Tokens are "Bearer NAME" or "Bearer NAME@TENANT"; no token is anna.
func newFront(t *testing.T, set func(h *Handler)) *front {
	t.Helper()
	return newFrontOn(t, set, func(*http.Server) {})
}

// newFrontOn is newFront for a server that is changed before it starts.
func newFrontOn(t *testing.T, set func(h *Handler), change func(s *http.Server)) *front {
	t.Helper()
	f := &front{t: t, toy: newToy()}
	f.h = &Handler{MCP: f.toy, Identify: func(r *http.Request) (Caller, bool) {
		name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			return Caller{Principal: "anna"}, r.Header.Get("Authorization") == ""
		}
		name, tenant, _ := strings.Cut(name, "@")
		return Caller{Principal: name, Tenant: tenant}, name != "mallory"
	}}
	if set != nil {
		set(f.h)
	}
	f.server = httptest.NewUnstartedServer(nil)
	f.server.Config = NewServer(f.h)
	change(f.server.Config)
	f.server.Start()
	f.url = f.server.URL
	t.Cleanup(func() {
		if err := f.h.Close(); err != nil {
			t.Error(err)
		}
		f.server.Close()
	})
	return f
}

// answer is what came of an HTTP request.
type answer struct {
	status int
	header http.Header
	body   string
}

// open sends an HTTP request. fields are "Name: value"; a name that is there already is replaced, and one with no value
// taken away.
func (f *front) open(ctx context.Context, method, body string, fields ...string) *http.Response {
	f.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, f.url, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		switch {
		case value == "":
			r.Header.Del(name)
		case name == "Host":
			r.Host = value
		case strings.HasPrefix(name, "+"):
			r.Header.Add(name[1:], value)
		default:
			r.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		f.t.Fatalf("%s: %v", method, err)
	}
	return resp
}

// do is open for an answer that ends by itself.
func (f *front) do(method, body string, fields ...string) answer {
	f.t.Helper()
	resp := f.open(f.t.Context(), method, body, fields...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatalf("%s: %v", method, err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func (f *front) post(body string, fields ...string) answer {
	f.t.Helper()
	return f.do("POST", body, fields...)
}

// later is post whose answer comes later, and must be waited for.
func (f *front) later(body string, fields ...string) <-chan answer {
	c := make(chan answer, 1)
	go func() { c <- f.post(body, fields...) }()
	return c
}

// expect compares status and body.
func (a answer) expect(t *testing.T, status int, body string) {
	t.Helper()
	if a.status != status || a.body != body {
		t.Errorf("got %d %s\nwant %d %s", a.status, a.body, status, body)
	}
}

// expectError compares the status, the id and the code of an error.
func (a answer) expectError(t *testing.T, status int, id string, code int) {
	t.Helper()
	want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,`, id, code)
	if a.status != status || !strings.HasPrefix(a.body, want) {
		t.Errorf("got %d %s\nwant %d %s…", a.status, a.body, status, want)
	}
}

// modernRequest is a modern request, and modernFields its header.
func modernRequest(id any, method, params string) string {
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":{%s%s}}`, id, method, params, modernMetaOf("2026-07-28"))
}

func modernMetaOf(version string) string {
	return fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}`, version)
}

func modernFields(method string, more ...string) []string {
	return append([]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}, more...)
}

func legacyRequest(id any, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q}`, id, method)
}

func did(id any, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"did":%q}}`, id, method)
}

func initialize(version string) string {
	return `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
}

// hello begins a session, and returns the header field that names it.
func (f *front) hello(version string, fields ...string) string {
	f.t.Helper()
	a := f.post(initialize(version), fields...)
	id := a.header.Get("Mcp-Session-Id")
	if a.status != http.StatusOK || len(id) != 32 {
		f.t.Fatalf("initialize: got %d, session %q, %s", a.status, id, a.body)
	}
	return "Mcp-Session-Id: " + id
}

// said are the events of a stream.
type said struct {
	t    *testing.T
	resp *http.Response
	in   *bufio.Reader
	last string // ID of an event
}

func (f *front) listen(resp *http.Response) *said {
	f.t.Helper()
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		text, _ := io.ReadAll(resp.Body)
		f.t.Fatalf("got %d %s %s, want a stream", resp.StatusCode, kind, text)
	}
	f.t.Cleanup(func() { resp.Body.Close() })
	return &said{t: f.t, resp: resp, in: bufio.NewReader(resp.Body)}
}

// next returns the next event as its lines but for those of its ID, "" at the end and "broken" where it is no end.
func (s *said) next() string {
	var lines []string
	for {
		line, err := s.in.ReadString('\n')
		switch line = strings.TrimSuffix(line, "\n"); {
		case err == io.EOF:
			return ""
		case err != nil:
			return "broken"
		case line == "" && len(lines) > 0:
			return strings.Join(lines, "|")
		case strings.HasPrefix(line, "id: "):
			s.last = line[len("id: "):]
		case line == "" || line == ":" || line == "event: message":
		default:
			lines = append(lines, strings.TrimPrefix(line, "data: "))
		}
	}
}

// expect compares the next events; "" is the end.
func (s *said) expect(want ...string) {
	s.t.Helper()
	for _, want := range want {
		if diff := cmp.Diff(want, s.next()); diff != "" {
			s.t.Fatalf("event (-want +got):\n%s", diff)
		}
	}
}

// noLeak fails the test if more goroutines are left than there were.
func noLeak(t *testing.T) {
	t.Helper()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		end := time.Now().Add(5 * time.Second)
		for runtime.NumGoroutine() > before && time.Now().Before(end) {
			time.Sleep(5 * time.Millisecond)
		}
		if n := runtime.NumGoroutine(); n > before {
			stacks := make([]byte, 1<<20)
			t.Errorf("%d goroutines are left, there were %d:\n%s", n, before, stacks[:runtime.Stack(stacks, true)])
		}
	})
}

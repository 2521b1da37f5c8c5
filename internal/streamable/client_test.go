package streamable

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/wire"
)

// modernMeta is what each modern request has in its params.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

// outgoing returns a request as the gateway would send it.
func outgoing(t testing.TB, era wire.Era, line string) wire.Outgoing {
	t.Helper()
	m, err := wire.Scan([]byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return wire.Outgoing{Line: m.Raw.Bytes(), ID: m.ID, Method: m.Method, Params: m.Params, Era: era}
}

// modernCall is a modern request to a tool.
func modernCall(t testing.TB, id string) wire.Outgoing {
	t.Helper()
	return outgoing(t, wire.Modern, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"echo",`+modernMeta+`}}`)
}

// legacyCall is a legacy request to a tool.
func legacyCall(t testing.TB, id string) wire.Outgoing {
	t.Helper()
	return outgoing(t, wire.Legacy, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"echo"}}`)
}

// serveWith starts a server that is closed with the test, and with all that its handlers wait for.
func serveWith(t testing.TB, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// openLink begins a conversation that is closed with the test.
func openLink(t testing.TB, c *Client, hear func(wire.Incoming)) wire.Link {
	t.Helper()
	l, err := c.Open(t.Context(), hear)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func answerWith(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, body)
	}
}

// fate names what became of a request.
func fate(err error) string {
	if err == nil {
		return "answered"
	}
	if _, ok := errors.AsType[*wire.NotSentError](err); ok {
		return "not sent"
	}
	if _, ok := errors.AsType[*wire.LostError](err); ok {
		return "lost"
	}
	return err.Error()
}

func TestModernRequestHeader(t *testing.T) {
	tests := []struct {
		name   string
		line   string
		params map[string]string
		want   map[string]string
	}{
		{"a list", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`, nil, map[string]string{"Mcp-Method": "tools/list"}},
		{"a tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"e c","uri":"x",` + modernMeta + `}}`, nil,
			map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "e c"}},
		{"a prompt", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"日本",` + modernMeta + `}}`, nil,
			map[string]string{"Mcp-Method": "prompts/get", "Mcp-Name": "=?base64?5pel5pys?="}},
		{"a resource", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///a","name":"x",` + modernMeta + `}}`, nil,
			map[string]string{"Mcp-Method": "resources/read", "Mcp-Name": "file:///a"}},
		{"a task", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"t1",` + modernMeta + `}}`, nil,
			map[string]string{"Mcp-Method": "tasks/get", "Mcp-Name": "t1"}},
		{"a line end in a name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a\r\nX-Evil: 1",` + modernMeta + `}}`, nil,
			map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?YQ0KWC1FdmlsOiAx?="}},
		{"parameters", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"q",` + modernMeta + `}}`,
			map[string]string{"Region": "us-west1", "Text": " padded ", "Odd": "=?base64?literal?=", "Lines": "line1\nline2", "Greeting": "Hello, 世界"},
			map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "q",
				"Mcp-Param-Region": "us-west1", "Mcp-Param-Text": "=?base64?IHBhZGRlZCA=?=",
				"Mcp-Param-Odd": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "Mcp-Param-Lines": "=?base64?bGluZTEKbGluZTI=?=",
				"Mcp-Param-Greeting": "=?base64?SGVsbG8sIOS4lueVjA==?="}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := map[string]string{}
			var body string
			server := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				body = string(text)
				for name := range r.Header {
					got[name] = r.Header.Get(name)
				}
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Mcp-Session-Id", "not-for-modern-requests")
				io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
			})
			l := openLink(t, &Client{URL: server.URL, Header: http.Header{
				"Authorization":        {"Bearer upstream"},
				"mcp-name":             {"forged"},
				"Mcp-Protocol-Version": {"forged"},
				"Mcp-Session-Id":       {"forged"},
				"Idempotency-Key":      {"one for all"},
			}}, nil)
			r := outgoing(t, wire.Modern, tt.line)
			r.ParamHeaders = tt.params
			for range 2 { // the second time as after an answer with a session
				if _, err := l.Call(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			want := map[string]string{
				"Accept": "application/json, text/event-stream", "Accept-Encoding": "identity", "Content-Type": "application/json",
				"Mcp-Protocol-Version": "2026-07-28", "User-Agent": "sallyport", "Authorization": "Bearer upstream",
				"Content-Length": fmt.Sprint(len(tt.line)),
			}
			for name, value := range tt.want {
				want[name] = value
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if body != tt.line {
				t.Errorf("body = %s, want %s", body, tt.line)
			}
		})
	}
}

// What cannot be said in a header is not sent at all.
func TestHeaderThatCannotBeSaid(t *testing.T) {
	var requests int
	server := serveWith(t, func(http.ResponseWriter, *http.Request) { requests++ })
	l := openLink(t, &Client{URL: server.URL}, nil)
	tests := []struct {
		name, line string
		params     map[string]string
	}{
		{"method", `{"jsonrpc":"2.0","id":1,"method":"tools/call\r\nX: y","params":{` + modernMeta + `}}`, nil},
		{"version", `{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"a\nb"}}}`, nil},
		{"name of a parameter", `{"jsonrpc":"2.0","id":1,"method":"x","params":{` + modernMeta + `}}`, map[string]string{"A: b\r\nC": "d"}},
		{"empty name of a parameter", `{"jsonrpc":"2.0","id":1,"method":"x","params":{` + modernMeta + `}}`, map[string]string{"": "d"}},
	}
	for _, tt := range tests {
		r := outgoing(t, wire.Modern, tt.line)
		r.ParamHeaders = tt.params
		if _, err := l.Call(t.Context(), r); fate(err) != "not sent" {
			t.Errorf("%s: %v, want a request that was not sent", tt.name, err)
		}
	}
	if requests > 0 {
		t.Errorf("the server got %d requests, want none", requests)
	}
}

func TestAnswers(t *testing.T) {
	const (
		object = `{"jsonrpc":"2.0","id":7,"result":{"n":9007199254740993,"e":1e400,"z":1.0,"a":[{"a":1,"a":2}],"s":"\ud800 \u0061","resultType":"task"}}`
		id     = "7"
	)
	tests := []struct{ name, kind, body, want string }{
		{"JSON", "application/json", object, object},
		{"JSON with a parameter and white space", "application/json; charset=utf-8", "\n " + object + " \r\n", object},
		{"JSON on several lines", "application/json", "{\n  \"jsonrpc\": \"2.0\",\r\n\t\"id\": 7,\n  \"result\": {\"t\": \"a\\nb\"}\n}\n",
			"{   \"jsonrpc\": \"2.0\",  \t\"id\": 7,   \"result\": {\"t\": \"a\\nb\"} }"},
		{"an event", "text/event-stream", "event: message\ndata: " + object + "\n\n", object},
		{"an event with a charset, CRLF, comments and a mark", "Text/Event-Stream;charset=utf-8",
			"\ufeff: hello\r\n\r\nid: 1\r\nevent: message\r\ndata:" + object + "\r\n\r\n", object},
		{"an event with CR", "text/event-stream", "data: " + object + "\r\r", object},
		{"an event on several lines", "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":7,\ndata: \"result\":{}}\n\n", `{"jsonrpc":"2.0", "id":7, "result":{}}`},
		{"an event at the stream's end", "text/event-stream", "data: " + object, object},
		{"events before it that mean nothing", "text/event-stream",
			": comment\n\nevent: ping\ndata: {}\n\ndata:\n\nid: 4\n\ndata: no JSON\n\ndata: []\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}\n\n" +
				"data: {\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}\n\ndata: " + object + "\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"second\":1}}\n\n", object},
		{"an error for no request", "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m","x":1}}`,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"m","x":1}}`},
		{"an error without an id", "text/event-stream", "data: { \"jsonrpc\":\"2.0\",\"error\":{\"code\":-1,\"message\":\"m\"}}\n\n",
			`{"id":7, "jsonrpc":"2.0","error":{"code":-1,"message":"m"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serveWith(t, answerWith(tt.kind, tt.body))
			l := openLink(t, &Client{URL: server.URL}, nil)
			for _, r := range []wire.Outgoing{modernCall(t, id), legacyCall(t, id)} {
				got, err := l.Call(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, string(got.Line)); diff != "" {
					t.Errorf("line (-want +got):\n%s", diff)
				}
				if string(got.ID.Bytes()) != id || got.Kind != wire.Response {
					t.Errorf("id = %s, kind = %v", got.ID.Bytes(), got.Kind)
				}
			}
		})
	}
}

func TestHTTPErrors(t *testing.T) {
	const refusal = `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m","data":[1.0]}}`
	tests := []struct {
		name   string
		status int
		header map[string]string
		body   string
		want   string // what became of it
		text   string // in the error, or the line of the answer
	}{
		{"a message", 400, nil, refusal, "answered", refusal},
		{"a message of a broken server", 500, nil, refusal, "answered", refusal},
		{"a message for the method", 404, nil, refusal, "answered", refusal},
		{"a message under an id of the server's own", 400, nil, strings.Replace(refusal, `"id":1`, `"id":"server-error"`, 1), "answered", refusal},
		{"a message for none", 403, nil, strings.Replace(refusal, `"id":1`, `"id":null`, 1), "answered", refusal},
		{"a result is no error", 500, nil, `{"jsonrpc":"2.0","id":1,"result":{}}`, "lost", "500 (Internal Server Error)"},
		{"text", 400, nil, "bad", "lost", "400 (Bad Request)"},
		{"unauthorized", 401, nil, "", "not sent", "401 (Unauthorized)"},
		{"forbidden", 403, nil, "<html>", "not sent", "403"},
		{"not found", 404, nil, "nope", "not sent", "404"},
		{"not allowed", 405, nil, "", "not sent", "405"},
		{"too large", 413, nil, "", "not sent", "413"},
		{"wrong type", 415, nil, "", "not sent", "415"},
		{"too many", 429, map[string]string{"Retry-After": "17"}, "", "not sent", "requests again after 17 seconds"},
		{"too many, at a time", 429, map[string]string{"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, "", "not sent", "again after Fri, 31 Dec"},
		{"a proxy", 502, nil, "", "lost", "502"},
		{"a proxy that is full", 503, nil, "", "lost", "503"},
		{"a proxy that waited", 504, nil, "", "lost", "504"},
		{"accepted", 202, nil, "", "lost", "202 and no message"},
		{"accepted, without a body", 204, nil, "", "lost", "204 and no message"},
		{"a page", 200, map[string]string{"Content-Type": "text/html"}, "<html>", "lost", `"text/html"`},
		{"compressed", 200, map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"}, "\x1f\x8b", "lost", "compressed"},
		{"compressed refusal", 400, map[string]string{"Content-Encoding": "br"}, refusal, "lost", "400"},
		{"an array", 200, map[string]string{"Content-Type": "application/json"}, "[" + refusal + "]", "lost", "no message"},
		{"something else", 200, map[string]string{"Content-Type": "application/json"}, `{"jsonrpc":"2.0","method":"x"}`, "lost", "something else"},
		{"an answer to something else", 200, map[string]string{"Content-Type": "application/json"}, `{"jsonrpc":"2.0","id":2,"result":{}}`, "lost", "something else"},
		{"twice the same", 200, map[string]string{"Content-Type": "application/json"}, `{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`, "lost", "no message"},
		{"too long", 200, map[string]string{"Content-Type": "application/json"}, `{"jsonrpc":"2.0","id":1,"result":{"x":"` + strings.Repeat("x", 5000) + `"}}`, "lost", "longer than the limit"},
		{"too long an event", 200, map[string]string{"Content-Type": "text/event-stream"}, `data: {"jsonrpc":"2.0","id":1,"result":{"x":"` + strings.Repeat("x", 5000) + "\"}}\n\n", "lost", "longer than the limit"},
		{"an empty stream", 200, map[string]string{"Content-Type": "text/event-stream"}, "", "lost", "ended without an answer"},
		{"a stream of garbage", 200, map[string]string{"Content-Type": "text/event-stream"}, "\x00\xff\n\n\n:::\ndata\ndata: \xff{\n\n", "lost", "no message"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			requests := 0
			server := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				for name, value := range tt.header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			l := openLink(t, &Client{URL: server.URL, MaxMessage: 4096}, nil)
			m, err := l.Call(t.Context(), modernCall(t, "1"))
			if got := fate(err); got != tt.want {
				t.Fatalf("the request was %s (%v), want %s", got, err, tt.want)
			}
			got := string(m.Line)
			if err != nil {
				got = err.Error()
			}
			if err == nil && got != tt.text || !strings.Contains(got, tt.text) {
				t.Errorf("got %s, want %s", got, tt.text)
			}
			if requests != 1 {
				t.Errorf("the server got %d requests, want 1", requests)
			}
			select {
			case <-l.Done():
				t.Error("the conversation is over, without there being a session")
			default:
			}
		})
	}
}

// A request that was refused for its headers can be told by its status and code; of one that got a result's status nobody
// knows what the server did first.
func TestHeaderMismatch(t *testing.T) {
	for _, status := range []int{200, 400} {
		server := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Mcp-Param-Region is missing"}}`)
		})
		l := openLink(t, &Client{URL: server.URL}, nil)
		m, err := l.Call(t.Context(), modernCall(t, "1"))
		refusal, ok := errors.AsType[*wire.Error](err)
		switch {
		case status == 200 && (err != nil || !m.Error.Exists()):
			t.Errorf("status %d: %v, want the error as an answer", status, err)
		case status != 200 && (fate(err) != "not sent" || !ok || refusal.Code != -32020):
			t.Errorf("status %d: %v, want a request that was not sent, for -32020", status, err)
		}
		if m, err := l.Call(t.Context(), legacyCall(t, "1")); err != nil || !m.Error.Exists() {
			t.Errorf("status %d: %v, want a legacy client to get the error as it is", status, err)
		}
	}
}

func TestNothingIsSentWithoutAConnection(t *testing.T) {
	closed := serveWith(t, nil)
	closed.Close()
	strange := httptest.NewTLSServer(http.NotFoundHandler()) // nobody vouches for its certificate
	defer strange.Close()
	strange.Config.ErrorLog = log.New(io.Discard, "", 0)
	silent := httptest.NewUnstartedServer(http.NotFoundHandler()) // speaks no TLS
	silent.Start()
	defer silent.Close()
	tests := []struct{ name, url string }{
		{"closed port", closed.URL},
		{"unknown authority", strange.URL},
		{"no TLS", strings.Replace(silent.URL, "http:", "https:", 1)},
		{"no such host", "http://sallyport.invalid/mcp?key=secret"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := openLink(t, &Client{URL: tt.url}, nil)
			_, err := l.Call(t.Context(), modernCall(t, "1"))
			if fate(err) != "not sent" {
				t.Errorf("%v, want a request that was not sent", err)
			}
			if err := l.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":"x"}`)); fate(err) != "not sent" {
				t.Errorf("Send: %v, want a message that was not sent", err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("%q shows what is in the url", err)
			}
		})
	}
}

func TestOpenRefusesWhatIsNoURL(t *testing.T) {
	for _, address := range []string{"", "localhost:80", "ftp://host/", "http://", "http://a b/", "unix:///run/x"} {
		if _, err := (&Client{URL: address}).Open(t.Context(), nil); fate(err) != "not sent" {
			t.Errorf("%q: %v, want a refusal", address, err)
		}
	}
}

// rude is a server that reads a request, counts it, and then does something to the connection.
func rude(t *testing.T, then func(net.Conn)) (address string, count func() int) {
	t.Helper()
	var mu sync.Mutex
	requests := 0
	server := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		mu.Lock()
		requests++
		mu.Unlock()
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		then(conn)
		conn.Close()
	})
	return server.URL, func() int {
		mu.Lock()
		defer mu.Unlock()
		return requests
	}
}

func reset(conn net.Conn) { conn.(*net.TCPConn).SetLinger(0) }

func TestBrokenConnectionsLoseTheRequestOnce(t *testing.T) {
	tests := []struct {
		name string
		then func(net.Conn)
	}{
		{"closed", func(net.Conn) {}},
		{"reset", reset},
		{"half a header", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Ty") }},
		{"no HTTP", func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH\r\n\r\n") }},
		{"half a body", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\"")
		}},
		{"half a chunk", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{\"jsonrpc\":")
			reset(c)
		}},
		{"half an event", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"+
				"ff\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")
		}},
		{"a modern stream that could be resumed", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 5\nretry: 1\ndata:\n\n")
		}},
		{"a header without end", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 200))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			address, count := rude(t, tt.then)
			l := openLink(t, &Client{URL: address}, nil)
			if _, err := l.Call(t.Context(), modernCall(t, "1")); fate(err) != "lost" {
				t.Errorf("%v, want a request that was lost", err)
			}
			if got := count(); got != 1 {
				t.Errorf("the server got %d requests, want 1", got)
			}
		})
	}
}

// On a connection that has served before, net/http would send again what it holds for repeatable.
func TestNoRequestIsRepeatedOnAUsedConnection(t *testing.T) {
	var mu sync.Mutex
	requests := 0
	server := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		mu.Lock()
		requests++
		first := requests == 1
		mu.Unlock()
		if first {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		reset(conn)
		conn.Close()
	})
	l := openLink(t, &Client{URL: server.URL, Header: http.Header{"Idempotency-Key": {"x"}, "x-idempotency-key": {"x"}}}, nil)
	if _, err := l.Call(t.Context(), modernCall(t, "1")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Call(t.Context(), modernCall(t, "1")); fate(err) != "lost" {
		t.Errorf("%v, want a request that was lost", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if requests != 2 {
		t.Errorf("the server got %d requests, want 2", requests)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var mu sync.Mutex
	var thieves []string
	thief := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		thieves = append(thieves, r.Method+" "+r.Header.Get("Authorization"))
		mu.Unlock()
	})
	for _, tt := range []struct {
		status   int
		location string
		want     string
		text     string
	}{
		{301, thief.URL + "/mcp?token=secret", "lost", thief.URL + "/mcp"},
		{302, thief.URL, "lost", thief.URL},
		{303, thief.URL, "lost", thief.URL},
		{307, thief.URL, "not sent", thief.URL},
		{308, thief.URL, "not sent", thief.URL},
		{307, "", "not sent", "307"},
		{307, "/", "not sent", "redirects are not followed"}, // to itself, for ever
		{307, "javascript:alert(1)", "not sent", "redirects are not followed"},
	} {
		requests := 0
		server := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			if tt.location != "" {
				w.Header().Set("Location", tt.location)
			}
			w.WriteHeader(tt.status)
		})
		l := openLink(t, &Client{URL: server.URL, Header: http.Header{"Authorization": {"Bearer upstream"}}}, nil)
		_, err := l.Call(t.Context(), modernCall(t, "1"))
		if got := fate(err); got != tt.want || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%d to %q: %v, want it to be %s and to say %q", tt.status, tt.location, err, tt.want, tt.text)
		}
		if requests != 1 {
			t.Errorf("%d to %q: %d requests, want 1", tt.status, tt.location, requests)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(thieves) > 0 {
		t.Errorf("the other host got %q, want nothing", thieves)
	}
}

func TestModernCancellationClosesTheStream(t *testing.T) {
	closed, posts := make(chan struct{}), make(chan string, 10)
	server := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posts <- string(body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(closed)
	})
	l := openLink(t, &Client{URL: server.URL}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	r := modernCall(t, "1")
	r.Hear = func(wire.Incoming) { cancel() }
	if _, err := l.Call(ctx, r); err != context.Canceled {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("the stream is still open")
	}
	l.Close()
	if got := len(posts); got != 1 {
		t.Errorf("the server got %d requests, want 1", got)
	}
}

func TestHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"proto":%q}}`, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	transport := newTransport()
	transport.TLSClientConfig = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	defer transport.CloseIdleConnections()
	l := openLink(t, &Client{URL: server.URL, HTTP: &http.Client{Transport: transport}}, nil)
	for range 3 {
		m, err := l.Call(t.Context(), modernCall(t, "1"))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(m.Result.Bytes()), `{"proto":"HTTP/2.0"}`; got != want {
			t.Errorf("result = %s, want %s", got, want)
		}
	}
}

package streamable

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// legacyServer is a server with one session. It writes down each request: method, session, version, last event, body.
type legacyServer struct {
	*httptest.Server
	get, call, delete http.HandlerFunc // nil: 405, an empty result, 200

	mu  sync.Mutex
	log []string
}

func newLegacyServer(t testing.TB) *legacyServer {
	s := &legacyServer{}
	s.Server = serveWith(t, s.handle)
	return s
}

const initializeLine = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

func (s *legacyServer) handle(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	body := string(text)
	entry := strings.Join([]string{r.Method, r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Protocol-Version"), r.Header.Get("Last-Event-ID"), body}, " ")
	s.mu.Lock()
	s.log = append(s.log, entry)
	s.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && s.get != nil:
		s.get(w, r)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Method == http.MethodDelete && s.delete != nil:
		s.delete(w, r)
	case r.Method == http.MethodDelete:
	case strings.Contains(body, `"initialize"`):
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "s-1")
		io.WriteString(w, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)
	case !strings.Contains(body, `"id"`) || !strings.Contains(body, `"method"`):
		w.WriteHeader(http.StatusAccepted)
	case s.call != nil:
		s.call(w, r)
	default:
		answerWith("application/json", `{"jsonrpc":"2.0","id":1,"result":{}}`)(w, r)
	}
}

// requests returns what was written down, once there are as many as wanted, or when they do not come.
func (s *legacyServer) requests(want int) []string {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		log := slices.Clone(s.log)
		s.mu.Unlock()
		if len(log) >= want || time.Now().After(deadline) {
			return log
		}
	}
}

// start opens a conversation and has its handshake.
func (s *legacyServer) start(t testing.TB, hear func(wire.Incoming)) wire.Link {
	t.Helper()
	l := openLink(t, &Client{URL: s.URL}, hear)
	if _, err := l.Call(t.Context(), outgoing(t, wire.Legacy, initializeLine)); err != nil {
		t.Fatal(err)
	}
	if err := l.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		t.Fatal(err)
	}
	return l
}

// sendEvents makes a stream of what is written to it.
func sendEvents(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

func TestLegacySession(t *testing.T) {
	s := newLegacyServer(t)
	l := s.start(t, nil)
	s.requests(3)
	if _, err := l.Call(t.Context(), legacyCall(t, "1")); err != nil {
		t.Fatal(err)
	}
	if err := l.Send(t.Context(), []byte(`{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}`)); err != nil {
		t.Fatal(err)
	}
	l.Close()
	l.Close()
	want := []string{
		"POST    " + initializeLine,
		`POST s-1 2025-06-18  {"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"GET s-1 2025-06-18  ",
		`POST s-1 2025-06-18  {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`,
		`POST s-1 2025-06-18  {"jsonrpc":"2.0","id":"q","result":{"roots":[]}}`,
		"DELETE s-1 2025-06-18  ",
	}
	if diff := cmp.Diff(want, s.requests(len(want))); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if _, err := l.Call(t.Context(), legacyCall(t, "1")); fate(err) != "not sent" {
		t.Errorf("Call after Close: %v, want a request that was not sent", err)
	}
	if err := l.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":"x"}`)); fate(err) != "not sent" {
		t.Errorf("Send after Close: %v, want a message that was not sent", err)
	}
}

func TestCloseDoesNotWaitForAServerThatIsSilent(t *testing.T) {
	s := newLegacyServer(t)
	hang := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	s.get, s.call = hang, hang
	l := s.start(t, nil)
	lost := make(chan error)
	go func() {
		_, err := l.Call(t.Context(), legacyCall(t, "1"))
		lost <- err
	}()
	s.requests(4)
	begun := time.Now()
	l.Close()
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("Close took %v", took)
	}
	if err := <-lost; fate(err) != "lost" {
		t.Errorf("the call in flight: %v, want a request that was lost", err)
	}
	select {
	case <-l.Done():
	default:
		t.Error("Done is not closed")
	}
}

func TestWhatTheServerSaysGoesWhereItBelongs(t *testing.T) {
	s := newLegacyServer(t)
	s.get = func(w http.ResponseWriter, r *http.Request) {
		sendEvents(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"+
			"data: {\"jsonrpc\":\"2.0\",\"id\":\"stray\",\"result\":{}}\n\n"+
			"data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n"+
			"data: {\"x\":\""+strings.Repeat("x", 9000)+"\"}\n\n"+ // harms only itself
			"data: {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}\n\n")
		<-r.Context().Done()
	}
	s.call = func(w http.ResponseWriter, r *http.Request) {
		sendEvents(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1.0}}\n\n"+
			"data: {\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"sampling/createMessage\",\"params\":{}}\n\n"+
			"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"+
			"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/too-late\"}\n\n")
	}
	heard := make(chan string, 10)
	c := &Client{URL: s.URL, MaxMessage: 8192}
	l := openLink(t, c, func(m wire.Incoming) { heard <- string(m.Line) })
	for _, step := range []string{initializeLine, `{"jsonrpc":"2.0","method":"notifications/initialized"}`} {
		var err error
		if strings.Contains(step, `"id"`) {
			_, err = l.Call(t.Context(), outgoing(t, wire.Legacy, step))
		} else {
			err = l.Send(t.Context(), []byte(step))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, `{"jsonrpc":"2.0","id":5,"method":"roots/list"}`} {
		select {
		case got := <-heard:
			if got != want {
				t.Errorf("heard %s, want %s", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("nothing was heard, want %s", want)
		}
	}
	pong := `POST s-1 2025-06-18  {"jsonrpc":"2.0","id":"p","result":{}}`
	if got := s.requests(4); !slices.Contains(got, pong) {
		t.Errorf("requests = %q, want an answer to the ping", got)
	}
	var said []string
	r := legacyCall(t, "1")
	r.Hear = func(m wire.Incoming) { said = append(said, fmt.Sprint(m.Kind, " ", m.Method)) }
	if _, err := l.Call(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{fmt.Sprint(wire.Notification, " notifications/progress"), fmt.Sprint(wire.Request, " sampling/createMessage")}, said); diff != "" {
		t.Errorf("heard on behalf of the call (-want +got):\n%s", diff)
	}
	if len(heard) > 0 {
		t.Errorf("heard %s besides", <-heard)
	}
}

// A modern server may not ask anything on a stream, nor does a ping get an answer.
func TestModernStreamsHaveNoRequests(t *testing.T) {
	posts := 0
	server := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		posts++
		sendEvents(w, "data: {\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"sampling/createMessage\",\"params\":{}}\n\n"+
			"data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\n"+
			"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
	})
	l := openLink(t, &Client{URL: server.URL}, nil)
	r := modernCall(t, "1")
	var said []string
	r.Hear = func(m wire.Incoming) { said = append(said, m.Method) }
	if _, err := l.Call(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if diff := cmp.Diff([]string{"notifications/message"}, said); diff != "" || posts != 1 {
		t.Errorf("%d posts, heard (-want +got):\n%s", posts, diff)
	}
}

func TestLegacyCancellation(t *testing.T) {
	s := newLegacyServer(t)
	s.call = func(w http.ResponseWriter, r *http.Request) {
		sendEvents(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n")
		<-r.Context().Done()
	}
	l := s.start(t, nil)
	s.requests(3)
	ctx, cancel := context.WithCancel(t.Context())
	r := legacyCall(t, `"a\u0062"`)
	r.Hear = func(wire.Incoming) { cancel() }
	if _, err := l.Call(ctx, r); err != context.Canceled {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	want := `POST s-1 2025-06-18  {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a\u0062"}}`
	if got := s.requests(5); len(got) != 5 || got[4] != want {
		t.Errorf("requests = %q, want a cancellation of the call as the last one", got)
	}
	if _, err := l.Call(ctx, legacyCall(t, "2")); err != context.Canceled {
		t.Errorf("a call that is cancelled before it begins: %v, want %v", err, context.Canceled)
	}
	l.Close()
	if got := s.requests(6); len(got) != 6 || !strings.HasPrefix(got[5], "DELETE") {
		t.Errorf("requests = %q, want nothing of a call that was cancelled before it began", got)
	}
}

// What was cancelled right before the end is cancelled before the session ends.
func TestCloseLetsCancellationsThrough(t *testing.T) {
	const slow = 100 * time.Millisecond
	var log []string
	arrived, told := make(chan bool), make(chan bool)
	server := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), "initialize"):
			w.Header().Set("Mcp-Session-Id", "s")
			answerWith("application/json", `{"jsonrpc":"2.0","id":0,"result":{}}`)(w, r)
		case strings.Contains(string(body), "notifications/cancelled"):
			close(told)
			time.Sleep(slow)
			if r.Context().Err() == nil {
				log = append(log, "cancelled")
			}
		case r.Method == http.MethodDelete:
			log = append(log, "deleted")
		default:
			close(arrived)
			<-r.Context().Done()
		}
	})
	l := openLink(t, &Client{URL: server.URL}, nil)
	if _, err := l.Call(t.Context(), outgoing(t, wire.Legacy, initializeLine)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if _, err := l.Call(ctx, legacyCall(t, "1")); err != context.Canceled {
		t.Fatal(err)
	}
	<-told
	l.Close()
	if diff := cmp.Diff([]string{"cancelled", "deleted"}, log); diff != "" {
		t.Errorf("what the server was told (-want +got):\n%s", diff)
	}
}

func TestSessionThatIsGone(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		gone       bool
	}{
		{"not found", "", 404, true},
		{"not found, with a message", `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`, 404, true},
		{"a server that was started again", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`, 400, true},
		{"a transport that was started again", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`, 400, true},
		{"a tool's own error", `{"jsonrpc":"2.0","error":{"code":-32602,"message":"no such session"},"id":1}`, 400, false},
		{"an error of something else", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"busy"},"id":1}`, 400, false},
		{"a failure", "", 500, false},
	}
	for i := range 2 * len(tests) {
		tt, way := tests[i/2], []string{"Call", "Send"}[i%2]
		t.Run(tt.name+", "+way, func(t *testing.T) {
			s := newLegacyServer(t)
			s.call = func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			}
			l := s.start(t, nil)
			s.requests(3)
			var err error
			if way == "Send" {
				err = l.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":"m","params":{"id":"method"}}`))
			} else {
				_, err = l.Call(t.Context(), legacyCall(t, "1"))
			}
			gone := false
			select {
			case <-l.Done():
				gone = true
			default:
			}
			if gone != tt.gone || gone && fate(err) != "not sent" {
				t.Errorf("gone = %v with %v, want %v", gone, err, tt.gone)
			}
			l.Close()
			want := 5 // with the end of the session
			if tt.gone {
				want = 4
			}
			if got := s.requests(want); len(got) != want {
				t.Errorf("requests = %q, want %d", got, want)
			}
		})
	}
}

func TestStreamIsResumed(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{"done":true}}`
	s := newLegacyServer(t)
	s.call = func(w http.ResponseWriter, r *http.Request) {
		sendEvents(w, "id: e1\nretry: 30\ndata:\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n")
	}
	gets := 0
	s.get = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Last-Event-ID") == "" { // the session's own
			<-r.Context().Done()
			return
		}
		switch gets++; gets {
		case 1:
			sendEvents(w, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			sendEvents(w, "id: e3\ndata: "+answer+"\n\n")
		}
	}
	l := s.start(t, nil)
	s.requests(3)
	r := legacyCall(t, "1")
	var told []string
	r.Hear = func(m wire.Incoming) { told = append(told, m.Method) }
	r.Polling = func(closed bool, retry time.Duration) { told = append(told, fmt.Sprint(closed, retry)) }
	begun := time.Now()
	m, err := l.Call(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(m.Line); got != answer {
		t.Errorf("answer = %s, want %s", got, answer)
	}
	if took := time.Since(begun); took < 90*time.Millisecond {
		t.Errorf("the server was asked again three times after %v, want no less than 30 ms each", took)
	}
	if diff := cmp.Diff([]string{"false 30ms", "notifications/progress", "true 30ms", "notifications/message", "true 30ms"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	want := []string{"GET s-1 2025-06-18 e1 ", "GET s-1 2025-06-18 e2 ", "GET s-1 2025-06-18 e2 "}
	if diff := cmp.Diff(want, s.requests(7)[4:]); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestResumingEnds(t *testing.T) {
	tests := []struct {
		name string
		get  http.HandlerFunc
		want int // how often it is asked again
	}{
		{"never anything new", func(w http.ResponseWriter, r *http.Request) { sendEvents(w, "id: e1\ndata:\n\n") }, maxResumes},
		{"always broken", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }, maxResumes},
		{"not offered", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(405) }, 1},
		{"gone", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) }, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newLegacyServer(t)
			s.call = func(w http.ResponseWriter, r *http.Request) { sendEvents(w, "id: e1\nretry: 0\ndata:\n\n") }
			gets := 0
			s.get = func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Last-Event-ID") == "" {
					<-r.Context().Done()
					return
				}
				gets++
				tt.get(w, r)
			}
			l := s.start(t, nil)
			s.requests(3)
			if _, err := l.Call(t.Context(), legacyCall(t, "1")); fate(err) != "lost" {
				t.Errorf("%v, want a request that was lost", err)
			}
			if gets != tt.want {
				t.Errorf("it was asked again %d times, want %d", gets, tt.want)
			}
		})
	}
}

func TestSessionStreamIsReadAgainFromWhereItEnded(t *testing.T) {
	s := newLegacyServer(t)
	gets := 0
	s.get = func(w http.ResponseWriter, r *http.Request) {
		switch gets++; gets {
		case 1:
			sendEvents(w, "retry: 20\nid: e1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/a\"}\n\n")
		case 2:
			w.WriteHeader(http.StatusConflict) // the old stream is still open, for all that the server knows
		case 3:
			sendEvents(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/b\"}\n\n")
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}
	heard := make(chan string, 10)
	l := s.start(t, func(m wire.Incoming) { heard <- m.Method })
	for _, want := range []string{"notifications/a", "notifications/b"} {
		if got := <-heard; got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	}
	got := s.requests(6)[2:]
	want := []string{"GET s-1 2025-06-18  ", "GET s-1 2025-06-18 e1 ", "GET s-1 2025-06-18 e1 ", "GET s-1 2025-06-18 e1 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	select {
	case <-l.Done():
		t.Error("the conversation is over, though only its stream is")
	default:
	}
}

func TestAnIDInFlightIsNotUsedTwice(t *testing.T) {
	for _, era := range []wire.Era{wire.Legacy, wire.Modern} {
		ids := make(chan string, 3)
		release := make(chan bool)
		server := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			m, err := wire.ScanIncoming(body)
			if err != nil || m.Kind != wire.Request {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			id := string(m.ID.Bytes())
			ids <- id
			<-release
			meta := `"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}`
			sendEvents(w, `data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{`+meta+"}}\n\n"+
				`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{`+meta+"}}\n\n"+
				`data: {"jsonrpc":"2.0","method":"notifications/of-another","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"x"}}}`+"\n\n"+
				`data: {"jsonrpc":"2.0","id":`+id+`,"result":{`+meta+"}}\n\n")
		})
		l := openLink(t, &Client{URL: server.URL}, nil)
		const one = `{"jsonrpc":"2.0","id":"listen:0","method":"subscriptions/listen","params":{` + modernMeta + `}}`
		const meta = `"_meta":{"io.modelcontextprotocol/subscriptionId":"listen:0"}`
		want := []string{
			`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + meta + `}}`,
			`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{` + meta + `}}`,
			`{"jsonrpc":"2.0","method":"notifications/of-another","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"x"}}}`,
			`{"jsonrpc":"2.0","id":"listen:0","result":{` + meta + `}}`,
		}
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				r := outgoing(t, era, one)
				var got []string
				r.Hear = func(m wire.Incoming) { got = append(got, string(m.Line)) }
				m, err := l.Call(t.Context(), r)
				if err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(want, append(got, string(m.Line))); diff != "" {
					t.Errorf("messages (-want +got):\n%s", diff)
				}
			})
		}
		seen := map[string]bool{}
		for range 3 {
			seen[<-ids] = true
		}
		close(release)
		calls.Wait()
		if len(seen) != 3 || !seen[`"listen:0"`] {
			t.Errorf("ids = %v, want three, one of which is the request's own", seen)
		}
	}
}

// The id of a cancelled call must not be given to another one before the server knows of the cancellation, which would
// be taken for that one's.
func TestTheIDOfACancelledCallIsKept(t *testing.T) {
	arrived, told, known := make(chan bool), make(chan bool), make(chan bool)
	server := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "notifications/cancelled") {
			close(told)
			<-known
			return
		}
		close(arrived)
		<-r.Context().Done()
	})
	l := openLink(t, &Client{URL: server.URL}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if _, err := l.Call(ctx, legacyCall(t, "1")); err != context.Canceled {
		t.Fatal(err)
	}
	<-told
	free := func() bool {
		c := l.(*link).enter(legacyCall(t, "1"))
		defer l.(*link).leave(c)
		return !c.renamed
	}
	if free() {
		t.Error("the id is used again while its cancellation is under way")
	}
	close(known)
	for deadline := time.Now().Add(10 * time.Second); !free(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the id is never free again")
		}
	}
}

func TestIDKey(t *testing.T) {
	value := func(text string) canon.Value {
		v, err := canon.Skim([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{`1`, `"1"`, false}, {`"a"`, `"\u0061"`, true}, {`9007199254740993`, `9007199254740992`, false}, {`"\"1"`, `1`, false},
	} {
		if got := wire.IDKey(value(tt.a)) == wire.IDKey(value(tt.b)); got != tt.same {
			t.Errorf("%s and %s are the same: %v, want %v", tt.a, tt.b, got, tt.same)
		}
	}
}

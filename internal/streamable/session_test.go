package streamable

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sallyport/internal/wire"
)

func TestLegacySessionFromBeginningToEnd(t *testing.T) {
	noLeak(t)
	var f *front
	f = newFront(t, func(h *Handler) {
		h.Begin = func(s *wire.Session) { f.toy.note("begin %s %t", s.Principal, s.Initialized()) }
		h.End = func(s *wire.Session) { f.toy.note("end %s %s", s.Principal, s.Version()) }
	})
	session := f.hello("2025-06-18")
	f.toy.saw(t, "begin anna false")
	version := "MCP-Protocol-Version: 2025-06-18"
	f.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, session, version).expect(t, http.StatusAccepted, "")
	f.toy.saw(t, "notified anna notifications/initialized")
	f.post(legacyRequest(`"1"`, "whoami"), session, version).
		expect(t, 200, `{"jsonrpc":"2.0","id":"1","result":{"principal":"anna","tenant":"","shared":false}}`)
	f.post(legacyRequest(9007199254740993, "now"), session).expect(t, 200, did(9007199254740993, "now"))
	f.post(legacyRequest(1, "no such method"), session, version).expectError(t, 200, "1", -32601)
	f.post(`{"jsonrpc":"2.0","id":1,"method":"now","params":[]}`, session).expectError(t, 400, "1", -32600)
	f.post(`{"jsonrpc":"2.0","id":1`, session).expectError(t, 400, "null", -32700)
	f.post(`{"jsonrpc":"2.0","id":99,"result":{}}`, session).expect(t, http.StatusAccepted, "")
	// A request that names a modern version is modern, in whatever session.
	f.post(modernRequest(1, "whoami", ""), modernFields("whoami", session)...).
		expect(t, 200, `{"jsonrpc":"2.0","id":1,"result":{"principal":"anna","tenant":"","shared":true}}`)

	f.do("DELETE", "", session).expect(t, http.StatusNoContent, "")
	f.toy.saw(t, "end anna 2025-06-18")
	for _, method := range []string{"POST", "GET", "DELETE"} {
		f.do(method, legacyRequest(1, "now"), session).expectError(t, http.StatusNotFound, map[bool]string{true: "1", false: "null"}[method == "POST"], -32600)
	}
}

func TestRequestsWithoutTheirSession(t *testing.T) {
	f := newFront(t, nil)
	session := f.hello("2025-11-25")
	for _, test := range []struct {
		method, body string
		fields       []string
		status       int
	}{
		{"POST", legacyRequest(1, "now"), nil, 400},
		{"POST", legacyRequest(1, "ping"), nil, 400},
		{"POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 400},
		{"POST", `{"jsonrpc":"2.0","id":"q","result":{}}`, nil, 400},
		{"POST", `{"jsonrpc":"2.0","id":"q","result":{"a":1,"a":2}}`, nil, 400},
		{"GET", "", nil, 400},
		{"DELETE", "", nil, 400},
		{"POST", legacyRequest(1, "now"), []string{"Mcp-Session-Id: 00000000000000000000000000000000"}, 404},
		{"POST", initialize("2025-11-25"), []string{"Mcp-Session-Id: 00000000000000000000000000000000"}, 404},
		{"GET", "", []string{"Mcp-Session-Id: x"}, 404},
		{"DELETE", "", []string{"Mcp-Session-Id: x"}, 404},
		{"POST", legacyRequest(1, "now"), []string{session, "+Mcp-Session-Id: x"}, 400},
		{"POST", legacyRequest(1, "now"), []string{session, "MCP-Protocol-Version: 1900-01-01"}, 400},
		{"POST", legacyRequest(1, "now"), []string{session, "MCP-Protocol-Version: 2025-11-25", "+MCP-Protocol-Version: 2025-06-18"}, 400},
		{"GET", "", []string{session, "MCP-Protocol-Version: 1900-01-01"}, 400},
		{"GET", "", []string{session, "Accept: application/json"}, 406},
		{"GET", "", []string{session, "Last-Event-ID: 0_1"}, 400},
		{"GET", "", []string{session, "Last-Event-ID: 7_0"}, 400},
		{"GET", "", []string{session, "Last-Event-ID: 0_-1"}, 400},
		{"GET", "", []string{session, "Last-Event-ID: 0_99999999999999999999"}, 400},
		{"GET", "", []string{session, "Last-Event-ID: rubbish"}, 400},
		{"GET", "", []string{session, "Last-Event-ID: 0_0", "+Last-Event-ID: 0_0"}, 400},
	} {
		if a := f.do(test.method, test.body, test.fields...); a.status != test.status || !strings.HasPrefix(a.body, `{"jsonrpc":"2.0","id":`) {
			t.Errorf("%s %s %q: got %d %s, want %d and an error", test.method, test.body, test.fields, a.status, a.body, test.status)
		}
	}
	f.post(legacyRequest(1, "now"), session).expect(t, 200, did(1, "now"))
}

// Who knows the ID of another principal's session has nothing of it.
func TestSessionTheft(t *testing.T) {
	f := newFront(t, nil)
	session := f.hello("2025-11-25", "Authorization: Bearer anna@home")
	s := f.listen(f.open(t.Context(), "POST", legacyRequest(1, "ask"), session, "Authorization: Bearer anna@home"))
	s.expect(`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`)
	for _, thief := range []string{"Authorization: Bearer bob@home", "Authorization: Bearer anna@office", "Authorization"} {
		for _, body := range []string{
			legacyRequest(2, "whoami"), initialize("2025-11-25"), `{"jsonrpc":"2.0","id":"q","result":{"roots":["stolen"]}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		} {
			if a := f.post(body, session, thief); a.status != http.StatusNotFound {
				t.Errorf("%s, %s: got %d %s", thief, body, a.status, a.body)
			}
		}
		for _, method := range []string{"GET", "DELETE"} {
			if a := f.do(method, "", session, thief, "Last-Event-ID: "+s.last); a.status != http.StatusNotFound {
				t.Errorf("%s, %s: got %d %s", thief, method, a.status, a.body)
			}
		}
	}
	if a := f.post(legacyRequest(2, "whoami"), session, "Authorization: Bearer mallory"); a.status != http.StatusUnauthorized ||
		!strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
		t.Errorf("got %d, WWW-Authenticate %q", a.status, a.header.Get("WWW-Authenticate"))
	}
	f.post(`{"jsonrpc":"2.0","id":"q","result":{"roots":["own"]}}`, session, "Authorization: Bearer anna@home").expect(t, 202, "")
	s.expect(`{"jsonrpc":"2.0","id":1,"result":{"roots":["own"]}}`, "")
}

// A token is only ever looked for where it belongs.
func TestTokensInTheQueryAreNone(t *testing.T) {
	f := newFront(t, func(h *Handler) {
		h.Identify = func(r *http.Request) (Caller, bool) {
			return Caller{Principal: "x"}, r.Header.Get("Authorization") != ""
		}
	})
	f.url += "?access_token=x&Authorization=Bearer+x&token=x"
	f.post(modernRequest(1, "now", ""), modernFields("now")...).expectError(t, 401, "null", -32600)
	f.h.Identify = nil
	f.post(modernRequest(1, "now", ""), modernFields("now", "Authorization: Bearer x")...).expectError(t, 401, "null", -32600)
}

func TestIDsAreOfTheirSession(t *testing.T) {
	f := newFront(t, nil)
	one, other := f.hello("2025-11-25"), f.hello("2025-11-25")
	if one == other {
		t.Fatal("two sessions have the same ID")
	}
	first := f.later(legacyRequest(1, "slow"), one)
	f.toy.saw(t, "1 runs")
	second := f.later(legacyRequest(1, "slow"), other)
	eventually(t, "both run", func() bool { f.toy.mu.Lock(); defer f.toy.mu.Unlock(); return len(f.toy.log) == 2 })
	f.post(legacyRequest(1, "now"), one).expectError(t, 400, "null", -32600) // in use
	f.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, other).expect(t, 202, "")
	f.toy.saw(t, "1 ended")
	if a := <-second; a.body != "" {
		t.Errorf("a cancelled request was answered %s", a.body)
	}
	f.toy.release <- struct{}{}
	(<-first).expect(t, 200, did(1, "slow"))
}

// In the legacy era, whoever goes away has not cancelled (MCP 2025-11-25, transports).
func TestLegacyDisconnectIsNoCancellation(t *testing.T) {
	f := newFront(t, nil)
	session := f.hello("2025-11-25")
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r, _ := http.NewRequestWithContext(ctx, "POST", f.url, strings.NewReader(legacyRequest(1, "slow")))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Mcp-Session-Id", strings.TrimPrefix(session, "Mcp-Session-Id: "))
		http.DefaultTransport.RoundTrip(r)
	}()
	f.toy.saw(t, "1 runs")
	leave()
	<-gone
	eventually(t, "the request is not served any more", func() bool { return f.visits() == 0 })
	f.toy.release <- struct{}{} // it still runs
	eventually(t, "its id is free", func() bool { return f.post(legacyRequest(1, "now"), session).status == 200 })
	if held := f.held("anna"); held != 0 {
		t.Errorf("%d bytes are held for nobody", held)
	}
}

// held returns how many bytes are held for a principal.
func (f *front) held(principal string) int {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	a := f.h.accounts[principal]
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held
}

func TestTheStreamOfASession(t *testing.T) {
	noLeak(t)
	f := newFront(t, nil)
	session := f.hello("2025-11-25")
	own := f.toy.calls[`"hello"`].Session
	note := func(n int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","method":"changed","params":{"n":%d}}`, n) }
	say := func(n int) { own.Forward([]byte(note(n))) }
	for n := range 300 { // to nobody yet: of too many the latest are kept
		say(n)
	}
	s := f.listen(f.open(t.Context(), "GET", "", session))
	for n := 44; n < 300; n++ {
		s.expect(note(n))
	}
	// What comes on one stream does not come on another one, whose turn it is when the newest has ended.
	second := f.open(t.Context(), "GET", "", session)
	newer := f.listen(second)
	say(300)
	newer.expect(note(300))
	second.Body.Close()
	eventually(t, "one stream is left", func() bool { return f.visits() == 1 })
	say(301)
	s.expect(note(301))

	answered := make(chan string)
	go func() {
		answer, err := own.Ask(context.Background(), []byte(`{"jsonrpc":"2.0","id":7,"method":"roots/list"}`))
		answered <- fmt.Sprint(string(answer.Line), err)
	}()
	s.expect(`{"jsonrpc":"2.0","id":7,"method":"roots/list"}`)
	f.post(`{"jsonrpc":"2.0","id":7,"result":{"roots":[1.0]}}`, session).expect(t, 202, "")
	if got, want := <-answered, `{"jsonrpc":"2.0","id":7,"result":{"roots":[1.0]}}<nil>`; got != want {
		t.Errorf("the answer is %s, want %s", got, want)
	}

	// After a broken connection the client asks for what it has not got.
	place := s.last
	say(302)
	s.expect(note(302))
	s.resp.Body.Close()
	eventually(t, "no stream is left", func() bool { return f.visits() == 0 })
	say(303)
	again := f.listen(f.open(t.Context(), "GET", "", session, "Last-Event-ID: "+place))
	again.expect(note(302), note(303))
	say(304)
	again.expect(note(304))
	f.do("DELETE", "", session)
	again.expect("")
}

func TestAskOnTheStreamOfTheRequest(t *testing.T) {
	f := newFront(t, nil)
	session := f.hello("2025-11-25")
	s := f.listen(f.open(t.Context(), "POST", legacyRequest(1, "ask"), session))
	s.expect(`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`)
	f.post(`{"jsonrpc":"2.0","id":"q","result":{"roots":[],"roots":[{"n":1e400}]}}`, session).expect(t, 202, "")
	s.expect(`{"jsonrpc":"2.0","id":1,"result":{"roots":[],"roots":[{"n":1e400}]}}`, "")
}

func TestPausedStreamsAreTakenUpAgain(t *testing.T) {
	noLeak(t)
	f := newFront(t, nil)
	session := f.hello("2025-11-25")
	s := f.listen(f.open(t.Context(), "POST", legacyRequest(1, "pause"), session))
	s.expect("retry: 1|", `{"jsonrpc":"2.0","method":"before"}`, "retry: 20|", "")
	place := s.last
	f.toy.release <- struct{}{}
	eventually(t, "it is answered", func() bool { return f.held("anna") > 50 })
	for range 2 { // as often as it wants
		s = f.listen(f.open(t.Context(), "GET", "", session, "Last-Event-ID: "+place))
		s.expect(`{"jsonrpc":"2.0","method":"after"}`, did(1, "pause"), "")
	}
	f.listen(f.open(t.Context(), "GET", "", session, "Last-Event-ID: "+s.last)).expect("") // nothing came after
	if held := f.held("anna"); held != 0 {
		t.Errorf("%d bytes are held although all has been read", held)
	}
	// One that waits for the answer has it as soon as it is there.
	s = f.listen(f.open(t.Context(), "POST", legacyRequest(2, "pause"), session))
	s.expect("retry: 1|", `{"jsonrpc":"2.0","method":"before"}`, "retry: 20|", "")
	s = f.listen(f.open(t.Context(), "GET", "", session, "Last-Event-ID: "+s.last))
	f.toy.release <- struct{}{}
	s.expect(`{"jsonrpc":"2.0","method":"after"}`, did(2, "pause"), "")
	// Older clients, and modern ones, are not left to come back.
	old := f.hello("2025-06-18")
	s = f.listen(f.open(t.Context(), "POST", legacyRequest(1, "pause"), old))
	s.expect(`{"jsonrpc":"2.0","method":"before"}`)
	f.toy.release <- struct{}{}
	s.expect(`{"jsonrpc":"2.0","method":"after"}`, did(1, "pause"), "")
	s = f.listen(f.open(t.Context(), "POST", modernRequest(1, "pause", ""), modernFields("pause")...))
	s.expect(`{"jsonrpc":"2.0","method":"before"}`)
	f.toy.release <- struct{}{}
	s.expect(`{"jsonrpc":"2.0","method":"after"}`, did(1, "pause"), "")
}

func TestABrokenStreamIsTakenUpAgain(t *testing.T) {
	f := newFront(t, func(h *Handler) { h.KeepAlive = 20 * time.Millisecond })
	session := f.hello("2025-11-25")
	resp := f.open(t.Context(), "POST", legacyRequest(1, "slow"), session)
	s := f.listen(resp) // since nothing came for so long
	for s.last == "" {
		if line, err := s.in.ReadString('\n'); err != nil {
			t.Fatal(err)
		} else if id, ok := strings.CutPrefix(line, "id: "); ok {
			s.last = strings.TrimSpace(id)
		}
	}
	resp.Body.Close()
	f.toy.release <- struct{}{}
	f.listen(f.open(t.Context(), "GET", "", session, "Last-Event-ID: "+s.last)).expect(did(1, "slow"), "")
}

// What a client may ask for again is bounded, and what is gone is not there, rather than skipped.
func TestWhatIsKeptForAClientIsBounded(t *testing.T) {
	f := newFront(t, nil)
	session := f.hello("2025-11-25")
	first := f.listen(f.open(t.Context(), "POST", legacyRequest(1, "say"), session))
	first.next()
	place := first.last
	for first.next() != "" {
	}
	for id := 2; id < 402; id++ {
		if a := f.post(legacyRequest(id, "say"), session); a.status != 200 {
			t.Fatalf("got %d", a.status)
		}
	}
	f.do("GET", "", session, "Last-Event-ID: "+place).expectError(t, 400, "null", -32600)
	f.h.mu.Lock()
	s := f.h.sessions[strings.TrimPrefix(session, "Mcp-Session-Id: ")]
	f.h.mu.Unlock()
	s.account.mu.Lock()
	defer s.account.mu.Unlock()
	if len(s.kept) > maxKept || s.keptBytes > maxKeptBytes || len(s.streams) > maxKept {
		t.Errorf("%d events of %d bytes and %d streams are kept", len(s.kept), s.keptBytes, len(s.streams))
	}
}

func TestSessionsExpire(t *testing.T) {
	var f *front
	f = newFront(t, func(h *Handler) {
		h.Idle = 150 * time.Millisecond
		h.End = func(s *wire.Session) { f.toy.note("end %s", s.Principal) }
	})
	listening := f.hello("2025-11-25", "Authorization: Bearer listening")
	f.listen(f.open(t.Context(), "GET", "", listening, "Authorization: Bearer listening"))
	working := f.hello("2025-11-25", "Authorization: Bearer working")
	slow := f.later(legacyRequest(1, "slow"), working, "Authorization: Bearer working")
	idle := f.hello("2025-11-25", "Authorization: Bearer idle")
	f.toy.saw(t, "end idle")
	f.post(legacyRequest(1, "now"), idle, "Authorization: Bearer idle").expectError(t, 404, "1", -32600)
	time.Sleep(200 * time.Millisecond)
	f.post(legacyRequest(2, "now"), listening, "Authorization: Bearer listening").expect(t, 200, did(2, "now"))
	f.toy.release <- struct{}{}
	(<-slow).expect(t, 200, did(1, "slow"))
	f.toy.saw(t, "end working")
}

func TestTooManySessions(t *testing.T) {
	var f *front
	f = newFront(t, func(h *Handler) {
		h.MaxSessions = 3
		h.End = func(s *wire.Session) { f.toy.note("end %s", s.Principal) }
	})
	quiet := func() { eventually(t, "quiet", func() bool { return f.visits() == 0 }) }
	bob := f.hello("2025-11-25", "Authorization: Bearer bob")
	quiet()
	older := f.hello("2025-11-25")
	quiet()
	newer := f.hello("2025-11-25")
	quiet()
	f.post(legacyRequest(1, "now"), older) // used last
	quiet()
	f.hello("2025-11-25") // at the cost of one of her own
	f.toy.saw(t, "end anna")
	f.post(legacyRequest(1, "now"), newer).expectError(t, 404, "1", -32600)
	f.post(legacyRequest(1, "now"), bob, "Authorization: Bearer bob").expect(t, 200, did(1, "now"))
	// Sessions in which something goes on are not ended for others.
	quiet()
	slow := f.later(legacyRequest(2, "slow"), older)
	f.toy.saw(t, "2 runs")
	f.listen(f.open(t.Context(), "GET", "", bob, "Authorization: Bearer bob"))
	third := f.hello("2025-11-25")
	f.listen(f.open(t.Context(), "GET", "", third))
	a := f.post(initialize("2025-11-25"))
	a.expectError(t, http.StatusServiceUnavailable, "null", -32603)
	if a.header.Get("Retry-After") == "" || a.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("got %v", a.header)
	}
	f.toy.release <- struct{}{}
	(<-slow).expect(t, 200, did(2, "slow"))
}

// Sessions that are never idle do not keep others out.
func TestSomeSessionsAreForOthers(t *testing.T) {
	f := newFront(t, func(h *Handler) { h.MaxSessions = 8 })
	for range 7 {
		f.listen(f.open(t.Context(), "GET", "", f.hello("2025-11-25")))
	}
	f.post(initialize("2025-11-25")).expectError(t, http.StatusServiceUnavailable, "null", -32603)
	bob := f.hello("2025-11-25", "Authorization: Bearer bob")
	f.post(legacyRequest(1, "now"), bob, "Authorization: Bearer bob").expect(t, 200, did(1, "now"))
	eventually(t, "quiet but for the streams", func() bool { return f.visits() == 7 })
	// Nor does she get in at the cost of bob's, which is idle.
	f.post(initialize("2025-11-25")).expectError(t, http.StatusServiceUnavailable, "null", -32603)
	f.post(legacyRequest(2, "now"), bob, "Authorization: Bearer bob").expect(t, 200, did(2, "now"))
}

// A stream does not outlive the token by which it was opened; a call that was let in gets its answer.
func TestStreamsEndWithTheirToken(t *testing.T) {
	var revoked atomic.Bool
	f := newFront(t, func(h *Handler) {
		h.KeepAlive = 10 * time.Millisecond
		identify := h.Identify
		h.Identify = func(r *http.Request) (Caller, bool) {
			caller, ok := identify(r)
			return caller, ok && !revoked.Load()
		}
	})
	session := f.hello("2025-11-25")
	own := f.open(t.Context(), "GET", "", session)
	defer own.Body.Close()
	listening := f.open(t.Context(), "POST", modernRequest(5, "subscriptions/listen", ""), modernFields("subscriptions/listen", "Accept: text/event-stream")...)
	defer listening.Body.Close()
	slow := f.later(legacyRequest(1, "slow"), session)
	f.toy.saw(t, "1 runs")
	revoked.Store(true)
	for name, resp := range map[string]*http.Response{"the session's": own, "the subscription's": listening} {
		ended := make(chan error, 1)
		go func() { _, err := io.Copy(io.Discard, resp.Body); ended <- err }()
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("%s stream ended as if it were whole", name)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s stream goes on", name)
		}
	}
	f.toy.release <- struct{}{}
	if got := <-slow; got.status != 200 || !strings.Contains(got.body, did(1, "slow")) {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestInitializeThatFailsMakesNoSession(t *testing.T) {
	f := newFront(t, nil)
	a := f.post(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	a.expectError(t, 200, "1", -32602)
	if id := a.header.Get("Mcp-Session-Id"); id != "" {
		t.Errorf("got session %s", id)
	}
	eventually(t, "no session", func() bool { f.h.mu.Lock(); defer f.h.mu.Unlock(); return len(f.h.sessions) == 0 })
	// Whatever its header says: it is the body that begins a session.
	f.hello("2025-11-25", "MCP-Protocol-Version: 2026-07-28")
	f.hello("2099-01-01", "MCP-Protocol-Version: 2099-01-01")
}

func TestBatchesOfTheirTime(t *testing.T) {
	f := newFront(t, nil)
	batch := `[` + legacyRequest(1, "now") + `,{"jsonrpc":"2.0","method":"notifications/x"},` + legacyRequest(2, "echo") + `,7]`
	session := f.hello("2025-03-26")
	a := f.post(batch, session)
	if want := `[` + did(1, "now") + `,` + did(2, "echo") + `,{"jsonrpc":"2.0","id":null,"error":{`; a.status != 200 || !strings.HasPrefix(a.body, want) {
		t.Errorf("got %d %s, want %s…", a.status, a.body, want)
	}
	f.post(`[{"jsonrpc":"2.0","method":"notifications/x"}]`, session).expect(t, http.StatusAccepted, "")
	f.post(`[`+initialize("2025-03-26")+`]`).expectError(t, 400, "null", -32600)
	f.post(batch, f.hello("2025-06-18")).expectError(t, 400, "null", -32600)
}

func TestCloseInGoodOrder(t *testing.T) {
	noLeak(t)
	var f *front
	f = newFront(t, func(h *Handler) { h.End = func(s *wire.Session) { f.toy.note("end %s", s.Principal) } })
	session := f.hello("2025-11-25")
	get := f.listen(f.open(t.Context(), "GET", "", session))
	legacy := f.later(legacyRequest(1, "slow"), session)
	modern := f.later(modernRequest(2, "slow", ""), modernFields("slow")...)
	stream := f.listen(f.open(t.Context(), "POST", modernRequest(3, "subscriptions/listen", ""), modernFields("subscriptions/listen")...))
	stream.expect(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}`)
	f.toy.saw(t, "1 runs")
	f.toy.saw(t, "2 runs")
	if err := f.h.Close(); err != nil {
		t.Error(err)
	}
	(<-legacy).expectError(t, 200, "1", -32603)
	(<-modern).expectError(t, 200, "2", -32603)
	stream.expect(did(3, "subscriptions/listen"), "")
	get.expect("")
	f.toy.saw(t, "end anna")
	f.post(initialize("2025-11-25")).expectError(t, 503, "null", -32603)
	if len(f.h.sessions)+len(f.h.visits)+len(f.h.accounts) > 0 {
		t.Errorf("left: %d sessions, %d requests, %d accounts", len(f.h.sessions), len(f.h.visits), len(f.h.accounts))
	}
}

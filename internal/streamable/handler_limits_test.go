package streamable

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestBodiesThatAreNotTaken(t *testing.T) {
	f := newFront(t, func(h *Handler) { h.Options.MaxLine = 1000 })
	pad := func(n int) string {
		body := modernRequest(1, "now", `"pad":""`)
		return strings.Replace(body, `"pad":""`, `"pad":"`+strings.Repeat("x", n-len(body))+`"`, 1)
	}
	f.post(pad(1000), modernFields("now")...).expect(t, 200, did(1, "now"))
	f.post(pad(1001), modernFields("now")...).expectError(t, 413, "null", -32600)
	f.post(strings.Repeat(" ", 1<<20), modernFields("now")...).expectError(t, 413, "null", -32600)
	// Without a length that could be looked at first.
	r, _ := http.NewRequestWithContext(t.Context(), "POST", f.url, io.MultiReader(strings.NewReader(pad(1001))))
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 413 {
		t.Errorf("got %d, want 413", resp.StatusCode)
	}
	for _, kind := range []string{"Content-Type", "Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded",
		"Content-Type: multipart/form-data; boundary=x", "Content-Type: text/plain; application/json", "Content-Type: rubbish;",
		"Content-Encoding: gzip"} {
		f.post(modernRequest(1, "now", ""), modernFields("now", kind)...).expectError(t, 415, "null", -32600)
	}
	f.post(modernRequest(1, "now", ""), modernFields("now", "Content-Type: Application/JSON; charset=utf-8")...).expect(t, 200, did(1, "now"))
	if held := f.held("anna"); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

// raw opens a connection and sends text.
func (f *front) raw(text string) net.Conn {
	f.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		f.t.Fatal(err)
	}
	return conn
}

const rawPost = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

func TestClientsThatNeverFinish(t *testing.T) {
	noLeak(t)
	f := newFrontOn(t, func(h *Handler) { h.Patience = 100 * time.Millisecond },
		func(s *http.Server) { s.ReadHeaderTimeout = 100 * time.Millisecond })
	began := time.Now()
	for _, text := range []string{
		"POST / HTTP/1.1\r\nHost: local",
		rawPost + "Content-Length: 1000000\r\n\r\n",
		rawPost + "Content-Length: 1000000\r\n\r\n" + `{"jsonrpc":`,
		rawPost + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"a",
	} {
		conn := f.raw(text)
		conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		reply, err := io.ReadAll(conn) // until the server has had enough
		if err != nil {
			t.Errorf("after %q: %v", text, err)
		}
		if strings.HasPrefix(text, rawPost) && !bytes.HasPrefix(reply, []byte("HTTP/1.1 408 ")) {
			t.Errorf("after %q: got %q", text, reply)
		}
	}
	if d := time.Since(began); d > 4*time.Second {
		t.Errorf("it took %v", d)
	}
	// One that drips, and so would never be silent for long.
	conn := f.raw(rawPost + "Content-Length: 100000000\r\n\r\n")
	var err error
	for began = time.Now(); err == nil && time.Since(began) < 5*time.Second; time.Sleep(20 * time.Millisecond) {
		_, err = conn.Write([]byte(" "))
	}
	if err == nil {
		t.Error("a client that sends a byte now and then is waited for")
	}
	// One that is gone in the middle.
	for range 20 {
		f.raw(rawPost + "Content-Length: 1000\r\n\r\n{").Close()
	}
	eventually(t, "nobody is served", func() bool { return f.visits() == 0 })
	if held := f.held("anna"); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

// Bodies that are never whole hold no more memory than what waits may.
func TestHalfBodiesAreBounded(t *testing.T) {
	f := newFront(t, func(h *Handler) { h.Options.MaxWaiting = 1 << 20; h.Options.MaxLine = 1 << 20 })
	half := strings.Repeat(" ", 200<<10)
	conns := make([]net.Conn, 40)
	for i := range conns {
		conns[i] = f.raw(rawPost + "Content-Length: 400000\r\n\r\n" + half)
	}
	busy := 0
	for _, conn := range conns {
		conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		reply := make([]byte, 12)
		if n, _ := conn.Read(reply); string(reply[:n]) == "HTTP/1.1 503" {
			busy++
		}
	}
	if held := f.held("anna"); held > 1<<20 || busy < 30 {
		t.Errorf("%d bytes are held, and %d clients were told to come again", held, busy)
	}
	// That is their principal's own trouble.
	f.post(modernRequest(1, "now", ""), modernFields("now", "Authorization: Bearer bob")...).expect(t, 200, did(1, "now"))
	for _, conn := range conns {
		conn.Close()
	}
	eventually(t, "the room is there again", func() bool { return f.held("anna") == 0 })
	f.post(modernRequest(1, "now", ""), modernFields("now")...).expect(t, 200, did(1, "now"))
}

// A client that reads nothing is cut off: of a flood when it is too much, of an answer when it has taken too long.
func TestClientsThatDoNotRead(t *testing.T) {
	noLeak(t)
	f := newFront(t, func(h *Handler) { h.Options.MaxWaiting = 1 << 20; h.Patience = time.Minute })
	session := f.hello("2025-11-25")
	for _, fields := range [][]string{modernFields("flood"), {session}} {
		body := legacyRequest(1, "flood")
		if fields[0] != session {
			body = modernRequest(1, "flood", "")
		}
		ctx, cancel := context.WithCancel(t.Context())
		resp := f.open(ctx, "POST", body, fields...)
		f.toy.release <- struct{}{}
		f.toy.saw(t, "flooded")
		if held := f.held("anna"); held > 1<<20 {
			t.Errorf("%d bytes are held", held)
		}
		text, err := io.ReadAll(resp.Body)
		if err == nil || len(text) == 0 {
			t.Errorf("read %d bytes, %v; want a stream that breaks off", len(text), err)
		}
		cancel()
		f.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, session)
		f.toy.mu.Lock()
		f.toy.log = nil
		f.toy.mu.Unlock()
	}
	eventually(t, "nobody is served", func() bool { return f.visits() == 0 })
	if held := f.held("anna"); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

func TestAnswersThatNobodyReads(t *testing.T) {
	noLeak(t)
	f := newFront(t, func(h *Handler) { h.Options.MaxWaiting = 4 << 20; h.Patience = 200 * time.Millisecond })
	session := strings.TrimPrefix(f.hello("2025-11-25"), "Mcp-Session-Id: ")
	for id := range 16 {
		body := legacyRequest(id, "big")
		f.raw(fmt.Sprintf("%sMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s", rawPost, session, len(body), body))
	}
	most := 0
	eventually(t, "all are given up", func() bool {
		most = max(most, f.held("anna"))
		return f.visits() == 0
	})
	// Two fit, and one more is let in while there is any room.
	if most > 7<<20 {
		t.Errorf("up to %d bytes were held", most)
	}
	if held := f.held("anna"); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
	if a := f.post(legacyRequest(1, "big"), "Mcp-Session-Id: "+session); len(a.body) < 2<<20 {
		t.Errorf("got %d %.100s", a.status, a.body)
	}
}

// The answers of a client that has gone and might come back are given up when there is no room for others'.
func TestClientsThatMightComeBackDoNotHoldUpOthers(t *testing.T) {
	f := newFront(t, func(h *Handler) { h.Options.MaxWaiting = 4 << 20; h.KeepAlive = 10 * time.Millisecond })
	session := f.hello("2025-11-25")
	for id := range 8 {
		ctx, leave := context.WithCancel(t.Context())
		s := f.listen(f.open(ctx, "POST", legacyRequest(id, "pause"), session))
		s.expect("retry: 1|", `{"jsonrpc":"2.0","method":"before"}`, "retry: 20|", "")
		leave()
	}
	own := f.toy.calls[`"hello"`].Session
	for range 5000 { // nobody reads these either
		own.Forward(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"x","params":{"a":%q}}`, strings.Repeat("x", 1000)))
	}
	for range 8 {
		f.toy.release <- struct{}{}
	}
	for id := range 8 {
		if a := f.post(legacyRequest(100+id, "big"), session); len(a.body) < 2<<20 {
			t.Fatalf("got %d %.100s", a.status, a.body)
		}
	}
	if held := f.held("anna"); held > 2<<20 {
		t.Errorf("%d bytes are held", held)
	}
}

func TestManyRequestsAtOnce(t *testing.T) {
	noLeak(t)
	f := newFront(t, func(h *Handler) { h.Options.MaxRelayed = 64 })
	session := f.hello("2025-11-25")
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			for j := range 20 {
				id := i*100 + j
				if j%2 == 0 {
					f.post(legacyRequest(id, "echo"), session).expect(t, 200, did(id, "echo"))
					continue
				}
				s := f.listen(f.open(t.Context(), "POST", modernRequest(id, "say", ""), modernFields("say")...))
				for range 3 {
					s.next()
				}
				s.expect(did(id, "say"), "")
			}
		})
	}
	all.Wait()
	if held := f.held("anna"); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

func TestAFullHouseIsToldToComeAgain(t *testing.T) {
	f := newFront(t, func(h *Handler) { h.Options.MaxWaiting = 4 << 10 })
	var waiting []<-chan answer
	for id := range 3 {
		waiting = append(waiting, f.later(modernRequest(id, "slow", ""), modernFields("slow")...))
		f.toy.saw(t, fmt.Sprintf("%d runs", id))
	}
	a := f.post(modernRequest(9, "slow", ""), modernFields("slow")...)
	a.expectError(t, http.StatusServiceUnavailable, "9", -32603)
	if a.header.Get("Retry-After") == "" {
		t.Error("it does not say when")
	}
	for range waiting {
		f.toy.release <- struct{}{}
	}
	for id, c := range waiting {
		(<-c).expect(t, 200, did(id, "slow"))
	}
}

// Connections cost what they cost; what a request adds that waits must be little.
func TestTwoThousandRequestsWait(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	const requests = 2000
	f := newFront(t, nil)
	session := strings.TrimPrefix(f.hello("2025-11-25"), "Mcp-Session-Id: ")
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	conns := make([]net.Conn, requests)
	for id := range conns {
		body := legacyRequest(id, "slow")
		conns[id] = f.raw(fmt.Sprintf("%sMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s", rawPost, session, len(body), body))
	}
	eventually(t, "all wait", func() bool { f.toy.mu.Lock(); defer f.toy.mu.Unlock(); return len(f.toy.log) == requests })
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (after.HeapInuse + after.StackInuse - before.HeapInuse - before.StackInuse) / requests
	t.Logf("%d bytes for each", each)
	if each > 48<<10 {
		t.Errorf("%d bytes for each request that waits", each)
	}
	for range conns {
		f.toy.release <- struct{}{}
	}
	for id, conn := range conns {
		conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		reply := make([]byte, 4<<10)
		n, err := conn.Read(reply)
		if want := did(id, "slow"); err != nil || !strings.HasSuffix(string(reply[:n]), want) {
			t.Fatalf("got %q, %v; want %s", reply[:n], err, want)
		}
	}
}

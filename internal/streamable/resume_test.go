package streamable

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"sallyport/internal/wire"
)

// talker is a toy that says a number of things before it answers, some of which it is asked to pause in between.
type talker struct {
	*toy
	things int
}

func (h talker) Answer(ctx context.Context, call *wire.Call) (wire.Reply, error) {
	if call.Method != "talk" {
		return h.toy.Answer(ctx, call)
	}
	call.Prime(time.Millisecond)
	for n := range h.things {
		call.Forward(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"n","params":{"n":%d,"pad":%q}}`, n, strings.Repeat("x", rand.IntN(2000))))
		switch rand.IntN(10) {
		case 0:
			call.Pause(time.Millisecond)
		case 1, 2:
			time.Sleep(time.Millisecond)
		}
	}
	return wire.Reply{Result: []byte(`{"did":"talk"}`)}, nil
}

// However often a client's connection breaks, it hears each thing, in order, and none twice from the place on that it
// asks for.
func TestNothingIsLostOrDoubledByBrokenConnections(t *testing.T) {
	noLeak(t)
	const things = 200
	f := newFront(t, nil)
	f.h.MCP = talker{f.toy, things}
	session := f.hello("2025-11-25")
	for id := range 10 {
		heard, resumes := 0, 0
		place := ""
		for done := false; !done; resumes++ {
			ctx, leave := context.WithCancel(t.Context())
			var resp *http.Response
			if place == "" {
				resp = f.open(ctx, "POST", legacyRequest(id, "talk"), session)
			} else {
				resp = f.open(ctx, "GET", "", session, "Last-Event-ID: "+place)
			}
			s := f.listen(resp)
			for enough := rand.IntN(40); enough > 0 || place == ""; enough-- {
				event := s.next()
				if event == "" || event == "broken" {
					break
				}
				place = s.last
				switch {
				case strings.HasPrefix(event, `{"jsonrpc":"2.0","method":"n","params":{"n":`+fmt.Sprint(heard)+`,`):
					heard++
				case event == did(id, "talk"):
					done = true
				case !strings.HasPrefix(event, "retry: "):
					t.Fatalf("after %d things heard %.100s", heard, event)
				}
			}
			if rand.IntN(2) == 0 { // the server notices
				io.Copy(io.Discard, io.LimitReader(resp.Body, rand.Int64N(3000)))
			}
			resp.Body.Close()
			leave()
		}
		if heard != things {
			t.Fatalf("heard %d things, want %d", heard, things)
		}
		if resumes < 3 {
			t.Errorf("the connection broke %d times only", resumes)
		}
	}
	eventually(t, "nobody is served", func() bool { return f.visits() == 0 })
	if held := f.held("anna"); held != 0 {
		t.Errorf("%d bytes are held although all has been read", held)
	}
}

// Two responses that are open for one stream at a time share what is said between them.
func TestNothingIsSaidTwiceOnTwoStreams(t *testing.T) {
	f := newFront(t, nil)
	session := f.hello("2025-11-25")
	own := f.toy.calls[`"hello"`].Session
	heard := make(chan string, 10_000)
	for round := range 20 {
		s := f.listen(f.open(t.Context(), "GET", "", session))
		for n := range 20 {
			own.Forward(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"n","params":{"n":%d}}`, n))
		}
		go func() {
			for event := s.next(); event != "" && event != "broken"; event = s.next() {
				heard <- event
			}
		}()
		if rand.IntN(2) == 0 {
			// What the server has sent is not what this client has read, and closing throws away the difference.
			eventually(t, "all is heard", func() bool { return len(heard) == 20*(round+1) })
			s.resp.Body.Close()
		}
	}
	eventually(t, "all is read", func() bool { return f.held("anna") == 0 })
	f.do("DELETE", "", session)
	eventually(t, "all is heard", func() bool { return len(heard) >= 400 })
	time.Sleep(10 * time.Millisecond)
	if len(heard) != 400 {
		t.Errorf("heard %d things, want 400", len(heard))
	}
}

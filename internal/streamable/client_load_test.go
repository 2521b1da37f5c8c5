package streamable

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sallyport/internal/wire"
)

// echo answers each request under its id, half of them by a stream.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m, err := wire.ScanIncoming(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID.Bytes())
	if m.ID.Bytes()[len(m.ID.Bytes())-1]%2 == 0 {
		sendEvents(w, "data: "+answer+"\n\n")
		time.Sleep(2 * time.Millisecond) // the stream's end is not there with its last event
		return
	}
	answerWith("application/json", answer)(w, r)
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	l := openLink(t, &Client{URL: server.URL}, nil)
	const inFlight, rounds = 32, 20
	var calls sync.WaitGroup
	for i := range inFlight {
		calls.Go(func() {
			for round := range rounds {
				if _, err := l.Call(t.Context(), modernCall(t, fmt.Sprint(i*rounds+round))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	// A stream's connection may still be read to its end when the next call begins.
	if got := connections.Load(); got > 5*inFlight {
		t.Errorf("%d calls took %d connections, want no more than %d", inFlight*rounds, got, 5*inFlight)
	}
}

func TestFloodOfEventsIsHeardInOrder(t *testing.T) {
	const flood = 20_000
	server := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range flood {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"i\":%d}}\n\n", i)
		}
		io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
	})
	l := openLink(t, &Client{URL: server.URL}, nil)
	next := int64(0)
	r := modernCall(t, "1")
	r.Hear = func(m wire.Incoming) {
		if got, _ := m.Params.Get("i").Int(); got != next {
			t.Errorf("heard %d, want %d", got, next)
		}
		next++
	}
	if _, err := l.Call(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if next != flood {
		t.Errorf("heard %d, want %d", next, flood)
	}
}

// A flood without end, or a drip, costs no more than its call and ends with it; other calls go on.
func TestEndlessAnswers(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request, kind, piece string, wait time.Duration) {
		w.Header().Set("Content-Type", kind)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			if wait > 0 {
				time.Sleep(wait)
			}
		}
	}
	tests := []struct {
		name, kind, piece string
		wait              time.Duration
		want              string
	}{
		{"events", typeEvents, strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n", 50), 0, context.DeadlineExceeded.Error()},
		{"comments", typeEvents, strings.Repeat(": hello\n\n", 50), 0, context.DeadlineExceeded.Error()},
		{"a comment", typeEvents, strings.Repeat("x", 1<<16), 0, context.DeadlineExceeded.Error()},
		{"empty events with ids", typeEvents, "id: 1\nretry: 0\ndata:\n\n", 0, context.DeadlineExceeded.Error()},
		{"a drip of an event", typeEvents, "d", time.Millisecond, context.DeadlineExceeded.Error()},
		{"a drip of JSON", typeJSON, " ", time.Millisecond, context.DeadlineExceeded.Error()},
		{"JSON", typeJSON, strings.Repeat("[", 1<<16), 0, "lost"},
		{"one event of many lines", typeEvents, strings.Repeat("data: x\n", 1000), 0, context.DeadlineExceeded.Error()},
		{"nothing", "", "", time.Millisecond, context.DeadlineExceeded.Error()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				switch {
				case strings.Contains(string(body), `"id":2`):
					answerWith("application/json", `{"jsonrpc":"2.0","id":2,"result":{}}`)(w, r)
				case tt.kind == "":
					<-r.Context().Done()
				default:
					endless(w, r, tt.kind, tt.piece, tt.wait)
				}
			})
			l := openLink(t, &Client{URL: server.URL, MaxMessage: 1 << 20}, nil)
			patience := 300 * time.Millisecond
			if tt.want == "lost" { // which it is by itself
				patience = time.Minute
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var other sync.WaitGroup
			other.Go(func() {
				time.Sleep(50 * time.Millisecond)
				if _, err := l.Call(t.Context(), modernCall(t, "2")); err != nil {
					t.Errorf("another call: %v", err)
				}
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := l.Call(ctx, modernCall(t, "1"))
			runtime.ReadMemStats(&after)
			if got := fate(err); got != tt.want {
				t.Errorf("the call was %s (%v), want %s", got, err, tt.want)
			}
			if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 64<<20 {
				t.Errorf("the call holds %d bytes", held)
			}
			other.Wait()
		})
	}
}

// Where all calls wait for something, what they wait for gets through.
func TestCallsThatWaitDoNotKeepMessagesOut(t *testing.T) {
	s := newLegacyServer(t)
	answered := make(chan bool)
	s.call = func(w http.ResponseWriter, r *http.Request) {
		sendEvents(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{}}\n\n")
		<-answered
		sendEvents(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
	}
	l := s.start(t, nil)
	l.(*link).client.slots = make(chan struct{}, 1)
	r := legacyCall(t, "1")
	ctx, cancel := context.WithCancel(t.Context())
	r.Hear = func(wire.Incoming) {
		waiting := make(chan error)
		go func() {
			_, err := l.Call(ctx, legacyCall(t, "2"))
			waiting <- err
		}()
		time.Sleep(20 * time.Millisecond)
		cancel()
		if err := <-waiting; err != context.Canceled {
			t.Errorf("a call that waited for another one: %v, want %v", err, context.Canceled)
		}
		if err := l.Send(t.Context(), []byte(`{"jsonrpc":"2.0","id":"q","result":{"action":"decline"}}`)); err != nil {
			t.Error(err)
		}
		close(answered)
	}
	if _, err := l.Call(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for _, entry := range s.requests(0) {
		if strings.Contains(entry, `"id":2`) {
			t.Errorf("the call that waited was sent: %s", entry)
		}
	}
}

// Subscriptions, which stay open, take the place of no call.
func TestSubscriptionsAreNotCounted(t *testing.T) {
	open := make(chan bool)
	server := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), methodListen) {
			sendEvents(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{}}\n\n")
			<-r.Context().Done()
			return
		}
		answerWith("application/json", `{"jsonrpc":"2.0","id":1,"result":{}}`)(w, r)
	})
	l := openLink(t, &Client{URL: server.URL}, nil)
	l.(*link).client.slots = make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() {
		r := outgoing(t, wire.Modern, `{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{`+modernMeta+`}}`)
		r.Hear = func(wire.Incoming) { close(open) }
		if _, err := l.Call(ctx, r); err != context.Canceled {
			t.Errorf("the subscription: %v, want %v", err, context.Canceled)
		}
	})
	<-open
	soon, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if _, err := l.Call(soon, modernCall(t, "1")); err != nil {
		t.Errorf("a call beside it: %v", err)
	}
	cancel()
	listening.Wait()
}

func TestNothingIsLeftAfterClose(t *testing.T) {
	s := newLegacyServer(t)
	s.get = func(w http.ResponseWriter, r *http.Request) {
		sendEvents(w, ": open\n\n")
		<-r.Context().Done()
	}
	s.call = func(w http.ResponseWriter, r *http.Request) {
		sendEvents(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n") // and the stream stays open
		<-r.Context().Done()
	}
	before := runtime.NumGoroutine()
	for range 10 {
		l, err := (&Client{URL: s.URL}).Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Call(t.Context(), outgoing(t, wire.Legacy, initializeLine)); err != nil {
			t.Fatal(err)
		}
		if err := l.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := l.Call(t.Context(), legacyCall(t, "1")); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		l.Call(ctx, legacyCall(t, "1"))
		l.Close()
		if n := len(l.(*link).running); n > 0 {
			t.Errorf("%d exchanges are still held", n)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

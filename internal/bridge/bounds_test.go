package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sallyport/internal/bridge"
	"sallyport/internal/wire"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{}}}`

func callLine(id int, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t",%s%s}}`, id, modernMeta, more)
}

func questionLine(id int, pad string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{"message":"%s"}}`, id, pad)
}

// start sends a line of a client's and returns where its answer comes.
func start(t *testing.T, to wire.Link, era wire.Era, line string) <-chan wire.Incoming {
	t.Helper()
	answer := make(chan wire.Incoming, 1)
	r := read(t, line, era)
	ctx := t.Context()
	go func() {
		in, err := to.Call(ctx, r)
		if err != nil {
			in = wire.Incoming{Line: []byte(err.Error())}
		}
		answer <- in
	}()
	synctest.Wait()
	return answer
}

func state(t *testing.T, in wire.Incoming) string {
	t.Helper()
	s, ok := in.Result.Get("requestState").Text()
	if !ok {
		t.Fatalf("no requestState in %s", in.Line)
	}
	return s
}

// askOnce makes a call on which the server asks something, and returns what it is answered with: the question, or, where
// the server is turned down, the server's own complaint.
func askOnce(t *testing.T, m *bridge.Modern, link *scriptedLink, id int, pad string) wire.Incoming {
	t.Helper()
	answer := start(t, m, wire.Modern, callLine(id, ""))
	link.say(strconv.Itoa(id), questionLine(id, pad), nil)
	synctest.Wait()
	select {
	case in := <-answer:
		return in
	default:
	}
	sent := link.sent()
	if last := sent[len(sent)-1]; !strings.Contains(last, "too many questions wait") {
		t.Errorf("the server was told %s", last)
	}
	link.say("", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"isError":true}}`, id), nil)
	return <-answer
}

func retryLine(id int, state string) string {
	return callLine(id, `,"requestState":"`+state+`","inputResponses":{"question-1":{"action":"accept"}}`)
}

func TestOnlySoManyCallsWait(t *testing.T) {
	for _, c := range []struct {
		name string
		opt  bridge.Options
		pad  string
		fit  int
	}{
		{"calls", bridge.Options{MaxParked: 3}, "", 3},
		{"bytes", bridge.Options{MaxParkedBytes: 10_000}, strings.Repeat("x", 4900), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				link := newScriptedLink(t)
				m := bridge.NewModern(nil, c.opt)
				m.Attach(link, []byte(`{"capabilities":{}}`))
				defer m.Close()
				var states []string
				next := 0
				ask := func() wire.Incoming { next++; return askOnce(t, m, link, next, c.pad) }
				for range c.fit {
					states = append(states, state(t, ask()))
				}
				if in := ask(); !strings.Contains(string(in.Line), `"isError":true`) {
					t.Errorf("one more than fit was answered with %s", in.Line)
				}
				// One that comes back makes room for one.
				next++
				back := start(t, m, wire.Modern, retryLine(next, states[0]))
				link.say("", `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, nil)
				if in := <-back; !strings.Contains(string(in.Line), `"complete"`) {
					t.Errorf("the retry was answered with %s", in.Line)
				}
				state(t, ask())
				if in := ask(); !strings.Contains(string(in.Line), `"isError":true`) {
					t.Errorf("one more than fit was answered with %s", in.Line)
				}
				// So do those that never come back, once their time is over; and the server is told.
				link.sent()
				time.Sleep(11 * time.Minute)
				synctest.Wait()
				if got := strings.Count(strings.Join(link.sent(), "\n"), "(cancelled"); got != c.fit {
					t.Errorf("%d calls were cancelled, want %d", got, c.fit)
				}
				for range c.fit {
					state(t, ask())
				}
			})
		})
	}
}

func TestAnswerTooLongToKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := newScriptedLink(t)
		m := bridge.NewModern(nil, bridge.Options{MaxParkedBytes: 1000})
		m.Attach(link, []byte(`{"capabilities":{}}`))
		defer m.Close()
		answer := start(t, m, wire.Modern, callLine(1, ""))
		link.say("1", questionLine(1, ""), nil)
		given := state(t, <-answer)
		link.say("", `{"jsonrpc":"2.0","id":1,"result":{"x":"`+strings.Repeat("x", 2000)+`"}}`, nil)
		synctest.Wait()
		_, err := m.Call(t.Context(), read(t, retryLine(2, given), wire.Modern))
		var lost *wire.LostError
		if !errors.As(err, &lost) {
			t.Errorf("an answer that was not kept: got %v, want a LostError", err)
		}
	})
}

// TestStateOfAnotherPrincipal has one principal take the state that was given to another one.
func TestStateOfAnotherPrincipal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := newScriptedLink(t)
		alice := bridge.NewModern(nil, bridge.Options{Principal: "alice"})
		alice.Attach(link, []byte(`{"capabilities":{}}`))
		defer alice.Close()
		other := newScriptedLink(t)
		bob := bridge.NewModern(nil, bridge.Options{Principal: "bob"})
		bob.Attach(other, []byte(`{"capabilities":{}}`))
		defer bob.Close()
		answer := start(t, alice, wire.Modern, callLine(1, ""))
		link.say("1", questionLine(1, ""), nil)
		given := state(t, <-answer)
		link.sent()
		in, err := bob.Call(t.Context(), read(t, retryLine(2, given), wire.Modern))
		if code, _ := in.Error.Get("code").Int(); err != nil || code != wire.CodeInvalidParams {
			t.Errorf("bob used alice's state and got %s, %v", in.Line, err)
		}
		synctest.Wait()
		if sent := append(link.sent(), other.sent()...); len(sent) > 0 {
			t.Errorf("servers heard of it: %q", sent)
		}
	})
}

func TestTooManyQuestionsOfOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := newScriptedLink(t)
		m := bridge.NewModern(nil, bridge.Options{})
		m.Attach(link, []byte(`{"capabilities":{}}`))
		defer m.Close()
		answer := start(t, m, wire.Modern, callLine(1, ""))
		for i := range 100 {
			link.say("1", questionLine(i, ""), nil)
		}
		synctest.Wait()
		<-answer
		if got := strings.Count(strings.Join(link.sent(), "\n"), "too many questions"); got != 36 {
			t.Errorf("%d questions of 100 were turned down, want 36", got)
		}
	})
}

func TestFloodOfStrayQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := newScriptedLink(t)
		m := bridge.NewModern(nil, bridge.Options{})
		m.Attach(link, []byte(`{"capabilities":{}}`))
		start(t, m, wire.Modern, callLine(1, ""))
		start(t, m, wire.Modern, callLine(2, ""))
		for i := range 1000 {
			link.say("", questionLine(i, ""), m.Hear)
		}
		synctest.Wait()
		if got := strings.Count(strings.Join(link.sent(), "\n"), "too many questions"); got != 1000-64 {
			t.Errorf("%d stray questions of 1000 were turned down, want 936", got)
		}
		m.Close()
	})
}

func TestTooManySubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := newScriptedLink(t)
		m := bridge.NewModern(nil, bridge.Options{})
		m.Attach(link, []byte(`{"capabilities":{"resources":{"subscribe":true}}}`))
		listen := func(id int, notifications string) <-chan wire.Incoming {
			return start(t, m, wire.Modern, fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":%s}}`, id, notifications))
		}
		for i := range 256 {
			listen(i, `{}`)
		}
		if in := <-listen(1000, `{}`); !strings.Contains(string(in.Line), "busy") {
			t.Errorf("the 257th subscription was answered with %s", in.Line)
		}
		many := `{"resourceSubscriptions":["a0"` + strings.Repeat(`,"a"`, 2000)
		for i := range 1024 {
			many += `,"b` + strconv.Itoa(i) + `"`
		}
		if in := <-listen(1001, many+`]}`); !strings.Contains(string(in.Line), "more than 1024") {
			t.Errorf("a subscription to too many resources was answered with %s", in.Line)
		}
		m.Close()
	})
}

// TestDeadlineReachesTheServer has a call's time run out: the server is told, and the error is the context's own.
func TestDeadlineReachesTheServer(t *testing.T) {
	for _, era := range []wire.Era{wire.Legacy, wire.Modern} {
		synctest.Test(t, func(t *testing.T) {
			link := newScriptedLink(t)
			var to adapter = bridge.NewLegacy(nil, bridge.Options{})
			if era == wire.Modern {
				to = bridge.NewModern(nil, bridge.Options{})
			}
			to.Attach(link, []byte(`{"capabilities":{}}`))
			defer to.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := to.Call(ctx, read(t, callLine(1, ""), era))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("era %d: the call ended with %v", era, err)
			}
			if sent := link.sent(); len(sent) != 2 || sent[1] != "(cancelled 1)" {
				t.Errorf("era %d: the server heard %q", era, sent)
			}
		})
	}
}

// TestServerThatTakesNoAnswers lets a server ask faster than it takes answers: what waits for it is bounded, and Close
// does not wait for it.
func TestServerThatTakesNoAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := &deafLink{scriptedLink: newScriptedLink(t)}
		m := bridge.NewModern(nil, bridge.Options{})
		m.Attach(link, []byte(`{"capabilities":{}}`))
		for i := range 20_000 {
			in, err := wire.ScanIncoming([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)))
			if err != nil {
				t.Fatal(err)
			}
			m.Hear(in)
		}
		synctest.Wait()
		began := time.Now()
		m.Close()
		if took := time.Since(began); took > time.Second {
			t.Errorf("Close took %v", took)
		}
		if got := link.tried.Load(); got > 5000 {
			t.Errorf("%d answers were kept for a server that takes none", got)
		}
	})
}

// deafLink takes nothing that is sent to it.
type deafLink struct {
	*scriptedLink
	tried atomic.Int64
}

func (l *deafLink) Send(ctx context.Context, _ []byte) error {
	l.tried.Add(1)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.done:
		return &wire.NotSentError{Err: errors.New("over")}
	}
}

// TestCallReturnsAfterItsLastWord has a client that is slow to take a notification: its call must not be answered while
// it is still being told something.
func TestCallReturnsAfterItsLastWord(t *testing.T) {
	link := newScriptedLink(t)
	m := bridge.NewModern(nil, bridge.Options{})
	m.Attach(link, []byte(`{"capabilities":{}}`))
	defer m.Close()
	telling, release := make(chan struct{}), make(chan struct{})
	r := read(t, callLine(1, ""), wire.Modern)
	r.Hear = func(wire.Incoming) {
		close(telling)
		<-release
	}
	answered := make(chan error, 1)
	go func() {
		_, err := m.Call(t.Context(), r)
		answered <- err
	}()
	for len(link.sent()) == 0 {
		time.Sleep(time.Millisecond)
	}
	go link.say("1", `{"jsonrpc":"2.0","method":"notifications/x"}`, nil)
	<-telling
	link.say("1", questionLine(1, ""), nil)
	select {
	case <-answered:
		close(release)
		t.Fatal("the call was answered while its client was still being told something")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestLaterRoundThatWasNotSent has a server that asks something and cannot be reached with the answer: the call as a
// whole did reach it, and nobody may take it for one that did not.
func TestLaterRoundThatWasNotSent(t *testing.T) {
	l := bridge.NewLegacy(nil, bridge.Options{})
	l.Attach(&oneRoundLink{scriptedLink: newScriptedLink(t)}, []byte(`{"capabilities":{}}`))
	defer l.Close()
	_, err := l.Call(t.Context(), read(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`, wire.Legacy))
	var lost *wire.LostError
	if !errors.As(err, &lost) {
		t.Errorf("the call ended with %v, want a LostError", err)
	}
	_, err = l.Call(t.Context(), read(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}`, wire.Legacy))
	var unsent *wire.NotSentError
	if !errors.As(err, &unsent) {
		t.Errorf("a call that never reached the server ended with %v, want a NotSentError", err)
	}
}

// oneRoundLink asks to be called again, and cannot be reached then.
type oneRoundLink struct {
	*scriptedLink
	asked atomic.Bool
}

func (l *oneRoundLink) Call(context.Context, wire.Outgoing) (wire.Incoming, error) {
	if l.asked.Swap(true) {
		return wire.Incoming{}, &wire.NotSentError{Err: errors.New("no connection")}
	}
	return wire.ScanIncoming([]byte(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}`))
}

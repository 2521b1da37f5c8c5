package wire

import (
	"testing"
	"time"
)

// note is a Stream that notes the answers.
type note struct{ answers []string }

func (n *note) Push([]byte) bool               { return true }
func (n *note) Answer(answer []byte, _ *Error) { n.answers = append(n.answers, string(answer)) }
func (n *note) Prime(time.Duration)            {}
func (n *note) Pause(time.Duration)            {}

// startled is a request that was admitted and whose goroutine has not got as far as running it.
func startled(t *testing.T, c *Conversation, line string, to Stream) *inflight {
	t.Helper()
	m, refusal := Scan([]byte(line))
	if refusal != nil {
		t.Fatal(refusal)
	}
	f := newInflight(&Call{Message: m, Session: c.session}, c.handler.Pace(m.Method), to)
	f.call.push = func([]byte) bool { return true }
	if run, refusal := c.calls.admit(f); !run || refusal != nil {
		t.Fatalf("admit = %t, %v, want it to run", run, refusal)
	}
	return f
}

func TestARequestIsCancelledBeforeItsGoroutineRuns(t *testing.T) {
	e := newEcho()
	opt := Options{MaxCalls: 1}
	c := NewConversation(&Session{}, e, opt, NewLoad(opt), nil)
	var n note
	f := startled(t, c, request(1, "slow"), &n)
	c.calls.cancel(f.key)
	if len(n.answers) > 0 {
		t.Error("cancel settles it as if it had waited")
	}
	c.serve(t.Context(), f)
	if len(n.answers) != 1 || n.answers[0] != "" || len(e.ran) > 0 {
		t.Errorf("answered %q, ran %q; want one that is none, and nothing run", n.answers, e.ran)
	}
}

func TestAStreamIsClosedBeforeItsGoroutineRuns(t *testing.T) {
	c := NewConversation(&Session{}, newEcho(), Options{}, NewLoad(Options{}), nil)
	var n note
	f := startled(t, c, request(1, "stream"), &n)
	c.CloseStreams()
	c.serve(t.Context(), f) // does not return if the stream stays open
	if want := did(1, "stream"); len(n.answers) != 1 || n.answers[0] != want {
		t.Errorf("answered %q, want %s", n.answers, want)
	}
}

package wire

import "testing"

// startled is a request that was admitted and whose goroutine has not got as far as running it.
func startled(t *testing.T, c *conversation, line string, reply func([]byte)) *inflight {
	t.Helper()
	m, refusal := Scan([]byte(line))
	if refusal != nil {
		t.Fatal(refusal)
	}
	f := newInflight(&Call{Message: m, Session: c.session}, c.handler.Pace(m.Method), reply)
	f.call.push = func([]byte) {}
	if run, refusal := c.calls.admit(f); !run || refusal != nil {
		t.Fatalf("admit = %t, %v, want it to run", run, refusal)
	}
	return f
}

func TestARequestIsCancelledBeforeItsGoroutineRuns(t *testing.T) {
	e := newEcho()
	c := &conversation{session: &Session{}, handler: e}
	c.calls.init(1, 1<<20)
	replies := 0
	f := startled(t, c, request(1, "slow"), func(answer []byte) {
		if replies++; answer != nil {
			t.Errorf("answered %s, want no answer", answer)
		}
	})
	if waited := c.calls.cancel(f.key); waited != nil {
		t.Error("cancel gives it back as if it had waited")
	}
	c.serve(t.Context(), f)
	if replies != 1 || len(e.ran) > 0 {
		t.Errorf("replied %d times, ran %q; want one reply and nothing run", replies, e.ran)
	}
}

func TestAStreamIsClosedBeforeItsGoroutineRuns(t *testing.T) {
	c := &conversation{session: &Session{}, handler: newEcho()}
	c.calls.init(1, 1<<20)
	var got string
	f := startled(t, c, request(1, "stream"), func(answer []byte) { got = string(answer) })
	c.calls.closeStreams()
	c.serve(t.Context(), f) // does not return if the stream stays open
	if want := did(1, "stream"); got != want {
		t.Errorf("answered %s, want %s", got, want)
	}
}

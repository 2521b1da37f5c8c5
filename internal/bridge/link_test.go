package bridge_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"sallyport/internal/wire"
)

// scriptedLink is a wire.Link whose other end is a test: it keeps what was sent, and calls end as the test says.
type scriptedLink struct {
	t    *testing.T
	done chan struct{}

	mu    sync.Mutex // guards what follows
	heard []string   // what the server was sent, in order
	calls map[string]*scriptedCall
	over  bool

	failSend error
}

type scriptedCall struct {
	out    wire.Outgoing
	answer chan wire.Incoming
}

func newScriptedLink(t *testing.T) *scriptedLink {
	return &scriptedLink{t: t, done: make(chan struct{}), calls: map[string]*scriptedCall{}}
}

func (l *scriptedLink) Call(ctx context.Context, r wire.Outgoing) (wire.Incoming, error) {
	id := string(r.ID.Bytes())
	c := &scriptedCall{out: r, answer: make(chan wire.Incoming, 1)}
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return wire.Incoming{}, &wire.NotSentError{Err: errors.New("over")}
	}
	if l.calls[id] != nil {
		l.mu.Unlock()
		l.t.Errorf("two calls at once with the id %s", id)
		return wire.Incoming{}, errors.New("id in use")
	}
	l.heard = append(l.heard, string(r.Line))
	l.calls[id] = c
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.calls, id)
		l.mu.Unlock()
	}()
	select {
	case in := <-c.answer:
		return in, nil
	case <-ctx.Done():
		l.mu.Lock()
		l.heard = append(l.heard, "(cancelled "+id+")")
		l.mu.Unlock()
		return wire.Incoming{}, ctx.Err()
	case <-l.done:
		return wire.Incoming{}, &wire.LostError{Err: errors.New("the server died")}
	}
}

func (l *scriptedLink) Send(_ context.Context, line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failSend != nil {
		return l.failSend
	}
	l.heard = append(l.heard, string(line))
	return nil
}

func (l *scriptedLink) Done() <-chan struct{} { return l.done }

func (l *scriptedLink) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		close(l.done)
	}
	return nil
}

// sent returns what the server was sent since it was called last.
func (l *scriptedLink) sent() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.heard
	l.heard = nil
	return lines
}

// say lets the server say something: an answer ends its call, anything else is heard by the call with the id on, or, if
// that is "", by hear.
func (l *scriptedLink) say(on, line string, hear func(wire.Incoming)) {
	l.t.Helper()
	in, err := wire.ScanIncoming([]byte(line))
	if err != nil {
		l.t.Errorf("%s: %v", line, err)
		return
	}
	l.mu.Lock()
	if in.Kind == wire.Response {
		on = string(in.ID.Bytes())
	}
	c := l.calls[on]
	l.mu.Unlock()
	switch {
	case on == "":
		hear(in)
	case c == nil:
		l.t.Errorf("no call %s: %s", on, line)
	case in.Kind == wire.Response:
		c.answer <- in
	default:
		c.out.Hear(in)
	}
}

// read reads a client's line as the gateway would.
func read(t *testing.T, line string, era wire.Era) wire.Outgoing {
	t.Helper()
	m, refused := wire.Scan([]byte(line))
	if refused != nil {
		t.Fatalf("%s: %v", line, refused)
	}
	return wire.Outgoing{Line: m.Raw.Bytes(), ID: m.ID, Method: m.Method, Params: m.Params, Era: era}
}

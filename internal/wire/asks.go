package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"

	"sallyport/internal/canon"
)

// errUnheard is why a client that is not there, or does not read, was not asked.
var errUnheard = errors.New("the client cannot be asked: it is gone, or does not read what it is sent")

// asks are the requests that a client has been sent and not answered.
type asks struct {
	mu     sync.Mutex // guards what follows
	open   map[string]*ask
	prefix string // of ids of our own
	count  int    // of those
}

// ask is one of them.
type ask struct {
	id     canon.Value   // under which the client knows it
	own    bool          // which is one of ours
	line   []byte        // as it is sent
	answer chan Incoming // has room for the one answer
}

// begin makes the request m one of those that are open: under its own id where that is free.
func (a *asks) begin(m Incoming) *ask {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = make(map[string]*ask)
		a.prefix = "sallyport-" + rand.Text()[:10] + "-"
	}
	q := &ask{id: m.ID, line: m.Line, answer: make(chan Incoming, 1)}
	for a.open[IDKey(q.id)] != nil {
		a.count++
		q.own = true
		q.id = mustParse(canon.AppendString(nil, a.prefix+strconv.Itoa(a.count)))
	}
	if q.own {
		q.line = canon.Splice(m.Line, canon.Edit{Old: m.ID, New: q.id.Bytes()})
	}
	a.open[IDKey(q.id)] = q
	return q
}

func mustParse(text []byte) canon.Value {
	v, err := canon.Parse(text)
	if err != nil {
		panic("wire: " + err.Error())
	}
	return v
}

// end takes q out.
func (a *asks) end(q *ask) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if key := IDKey(q.id); a.open[key] == q {
		delete(a.open, key)
	}
}

// answered gives a client's response to who waits for it. One that nobody waits for is dropped.
func (a *asks) answered(m Incoming) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := IDKey(m.ID)
	if q := a.open[key]; q != nil {
		delete(a.open, key)
		q.answer <- m
	}
}

// scanAnswer reads a client's response. What is in its result or error is opaque, as it is for all who answer a request
// that is not ours; the rest must pass Scan, since whoever it is passed on to might take it for a request otherwise.
func scanAnswer(line []byte) (m Incoming, ok bool) {
	m, err := ScanIncoming(line)
	if err != nil || m.Kind != Response || !m.ID.Exists() {
		return Incoming{}, false
	}
	opaque := m.Result
	if m.Error.Exists() {
		opaque = m.Error
	}
	envelope, refusal := Scan(canon.Splice(m.Line, canon.Edit{Old: opaque, New: []byte("{}")}))
	return m, refusal == nil && envelope.Kind == Response
}

// ask sends the client the request in line by push, and returns its response under the id that line has. done, nil for
// never, is closed when nobody wants to know any more.
func (s *Session) ask(ctx context.Context, done <-chan struct{}, line []byte, push func([]byte) bool) (Incoming, error) {
	m, err := ScanIncoming(line)
	switch {
	case err != nil:
		return Incoming{}, err
	case m.Kind != Request:
		return Incoming{}, errors.New("what the client is asked must be a request")
	}
	_, gone := s.way()
	q := s.asks.begin(m)
	defer s.asks.end(q)
	if !push(q.line) {
		return Incoming{}, errUnheard
	}
	select {
	case answer := <-q.answer:
		return q.restore(answer, m.ID)
	case <-gone:
		return Incoming{}, errUnheard
	case <-ctx.Done():
		s.withdraw(q, push)
		return Incoming{}, ctx.Err()
	case <-done:
		s.withdraw(q, push)
		return Incoming{}, errors.New("the request on whose behalf the client was asked has ended")
	}
}

// restore gives a response the id that the request had before it was sent.
func (q *ask) restore(answer Incoming, id canon.Value) (Incoming, error) {
	if !q.own {
		return answer, nil
	}
	return ScanIncoming(canon.Splice(answer.Line, canon.Edit{Old: answer.ID, New: id.Bytes()}))
}

// withdraw tells the client that it need not answer q, if there is still a way to.
func (s *Session) withdraw(q *ask, push func([]byte) bool) {
	params := append(append([]byte(`{"requestId":`), q.id.Bytes()...), '}')
	line := notification(methodCancelled, params)
	if push(line) {
		return
	}
	if push, _ := s.way(); push != nil {
		push(line)
	}
}

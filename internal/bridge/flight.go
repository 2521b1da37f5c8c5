package bridge

import (
	"context"
	"errors"
	"sync"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// flight is a call of the server's. It may outlive the client's request: when the server asks for something, the
// request is answered with the question, and the next request that brings the answer takes the flight up again.
type flight struct {
	method string
	params canon.Value // of the first request
	token  canon.Value // progressToken, as the server knows it
	cancel context.CancelFunc
	ended  chan struct{} // closed when the server has answered, or will not
	asked  chan struct{} // has something when there are questions

	// Guarded by Modern.mu.
	round     *round      // that waits for the answer; nil while the call is parked
	declared  canon.Value // clientCapabilities of the latest round
	lacking   []byte      // the capabilities that the server asked for in vain
	questions []*question // not answered yet, in order
	count     int         // of questions so far
	answer    wire.Incoming
	err       error
	heldBytes int // of the answer, while the call is parked
}

// round is one request of the client's on a flight.
type round struct {
	id       canon.Value
	token    canon.Value // progressToken, as the client knows it
	level    int         // of messages that it wants
	declared canon.Value

	mu   sync.Mutex // guards hear: nil when the request has been answered
	hear func(wire.Incoming)
}

// tell passes in on to the client, if the round goes on.
func (r *round) tell(in wire.Incoming) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hear != nil {
		r.hear(in)
	}
}

func (r *round) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hear = nil
}

// forward carries one request of the client's: it begins a flight, or takes one up that is parked.
func (m *Modern) forward(ctx context.Context, link wire.Link, r wire.Outgoing) (wire.Incoming, error) {
	if r.Params.Get("task").Exists() {
		return fault(r.ID, refusal(wire.CodeInvalidParams,
			"params.task: tasks are not carried between versions of the protocol")), nil
	}
	meta := r.Params.Get("_meta")
	current := &round{
		id:       r.ID,
		token:    meta.Get("progressToken"),
		level:    levelNamed(meta.Get(wire.MetaLogLevel)),
		declared: meta.Get(wire.MetaClientCapabilities),
		hear:     r.Hear,
	}
	defer current.close()
	var f *flight
	if r.Params.Get("requestState").Exists() || r.Params.Get("inputResponses").Exists() {
		taken, refused := m.resume(r, current)
		if refused != nil {
			return fault(r.ID, refused), nil
		}
		f = taken // nil where the call is to be made again
	}
	m.setLevel(ctx, link, current.level)
	if f == nil {
		var err error
		if f, err = m.take(ctx, link, r, current); err != nil {
			return wire.Incoming{}, err
		}
	}
	return m.await(ctx, f, current)
}

// take begins a flight.
func (m *Modern) take(ctx context.Context, link wire.Link, r wire.Outgoing, current *round) (*flight, error) {
	line := r.Line
	if r.Params.Exists() {
		line = withParams(line, r.Params, withMeta(r.Params, modernMeta))
	}
	out := outgoing(line, r.Method, wire.Legacy)
	if again := oneOf("inputResponses", "requestState"); out.Params.Get("requestState").Exists() {
		params, _ := Without(out.Params, again)
		out = outgoing(withParams(out.Line, out.Params, params), r.Method, wire.Legacy)
	}
	out.ParamHeaders = r.ParamHeaders
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{
		method: r.Method, params: r.Params, token: current.token, cancel: cancel,
		ended: make(chan struct{}), asked: make(chan struct{}, 1), round: current, declared: current.declared,
	}
	out.Hear = func(in wire.Incoming) {
		switch in.Kind {
		case wire.Request:
			m.question(f, in)
		case wire.Notification:
			m.notice(f, in)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.begin() {
		cancel()
		return nil, &wire.NotSentError{Err: errClosed}
	}
	m.flights[f] = true
	go func() {
		defer m.work.Done()
		defer cancel()
		in, err := link.Call(life, out)
		m.land(f, in, err)
	}()
	return f, nil
}

// land notes that the server is done with a flight.
func (m *Modern) land(f *flight, in wire.Incoming, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f.answer, f.err = in, err
	delete(m.flights, f)
	for _, q := range f.questions {
		m.held -= len(q.in.Line)
	}
	f.questions = nil
	if f.round == nil {
		if f.heldBytes = len(in.Line); m.held+f.heldBytes > m.opt.MaxParkedBytes {
			f.heldBytes = 0
			f.answer, f.err = wire.Incoming{}, &wire.LostError{
				Err: errors.New("the answer came while its client was not there, and was too long to keep"),
			}
		}
		m.held += f.heldBytes
	}
	m.narrow(f)
	close(f.ended)
}

// await waits until there is something to answer the round with.
func (m *Modern) await(ctx context.Context, f *flight, current *round) (wire.Incoming, error) {
	for {
		select {
		case <-f.ended:
		case <-f.asked:
			if in, ok := m.park(f, current); ok {
				return in, nil
			}
			continue
		case <-ctx.Done():
			f.cancel()
			<-f.ended
		}
		m.mu.Lock()
		in, err, lacking := f.answer, f.err, f.lacking
		m.held -= f.heldBytes
		f.heldBytes = 0
		m.mu.Unlock()
		if err != nil {
			if errors.Is(err, context.Canceled) && ctx.Err() != nil {
				err = ctx.Err()
			}
			return wire.Incoming{}, err
		}
		return m.finish(f, current, underID(in, current.id), lacking), nil
	}
}

// parked is a call that waits for its client, until timer runs out.
type parked struct {
	flight *flight // nil where the server has answered and is to be called again
	timer  *time.Timer
}

// park answers a round with the flight's questions; ok is false if there are none, or if no more may wait.
func (m *Modern) park(f *flight, current *round) (in wire.Incoming, ok bool) {
	bound := binding(m.opt.Principal, f.method, f.params)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(f.questions) == 0 {
		return wire.Incoming{}, false
	}
	state, ok := m.deposit(&parked{flight: f}, bound)
	if !ok {
		for _, q := range f.questions {
			m.held -= len(q.in.Line)
			m.turnDown(q, wire.CodeInternal, errTooMany)
		}
		f.questions = nil
		return wire.Incoming{}, false
	}
	f.round = nil
	requests := []byte(`{}`)
	for i := len(f.questions) - 1; i >= 0; i-- {
		requests = WithFirst(requests, f.questions[i].asInputRequest())
	}
	return answer(current.id, inputRequired(requests, state)), true
}

// inputRequired is a result that asks for something (MCP 2026-07-28, basic/patterns/mrtr).
func inputRequired(requests []byte, state string) []byte {
	return WithFirst([]byte(`{}`), `"resultType":"input_required"`, member("inputRequests", requests),
		`"requestState":"`+state+`"`)
}

// deposit keeps p until its client comes back, and returns the state to come back with, which is bound to bound. It is
// for those who hold mu.
func (m *Modern) deposit(p *parked, bound []byte) (state string, ok bool) {
	if m.closed || len(m.parked) >= m.opt.MaxParked {
		return "", false
	}
	t := newTicket()
	p.timer = time.AfterFunc(m.opt.ParkFor, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.withdraw(t)
	})
	m.parked[t] = p
	return t.state(time.Now().Add(m.opt.ParkFor), bound), true
}

// withdraw ends the waiting for a client that did not come back. It is for those who hold mu.
func (m *Modern) withdraw(t ticket) {
	p := m.parked[t]
	if p == nil {
		return
	}
	delete(m.parked, t)
	if p.flight == nil {
		return
	}
	p.flight.cancel()
	m.held -= p.flight.heldBytes
	p.flight.heldBytes = 0
	p.flight.round = &round{level: noLevel} // an answer that comes yet is kept for nobody
}

// errBadState is the one answer to a requestState that does not fit, whatever is wrong with it. It does not say to make
// the call again: it may have been carried out.
var errBadState = refusal(wire.CodeInvalidParams, "params.requestState is not valid for this request: it is not what was"+
	" given, has been used already, or has expired; its call may have been carried out")

// resume takes up the flight that a request brings answers for. It returns no flight where the call is to be made again.
func (m *Modern) resume(r wire.Outgoing, current *round) (*flight, *wire.Error) {
	state, ok := r.Params.Get("requestState").Text()
	if !ok || !interactive(r.Method) {
		return nil, errBadState
	}
	responses := r.Params.Get("inputResponses")
	if responses.Exists() && responses.Kind() != canon.Object {
		return nil, refusal(wire.CodeInvalidParams, "params.inputResponses must be an object")
	}
	t, ok := openState(state, time.Now(), binding(m.opt.Principal, r.Method, r.Params))
	if !ok {
		return nil, errBadState
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.parked[t]
	if p == nil || m.closed {
		return nil, errBadState
	}
	delete(m.parked, t)
	p.timer.Stop()
	if p.flight == nil {
		return nil, declined(responses)
	}
	f := p.flight
	f.round, f.declared = current, current.declared
	m.settle(f, responses)
	return f, nil
}

// declined says whether a user would not go where the server wanted it to go.
func declined(responses canon.Value) *wire.Error {
	for _, response := range responses.Members() {
		if action, _ := response.Get("action").Text(); action != "accept" {
			return refusal(wire.CodeInvalidParams, "what the server needs first was not accepted")
		}
	}
	return nil
}

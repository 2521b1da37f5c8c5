package bridge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

const (
	// maxRounds is how often a server may ask for something before it answers one call.
	maxRounds = 16

	// maxAsks is how many answers of the client's may be waited for at once.
	maxAsks = 1000
)

var errNotAnswer = errors.New("a request is no notification and no answer")

// forward carries one request to the server, and the server's questions back, until there is an answer.
func (l *Legacy) forward(ctx context.Context, link wire.Link, r wire.Outgoing) (wire.Incoming, error) {
	if r.Params.Get("inputResponses").Exists() || r.Params.Get("requestState").Exists() {
		return fault(r.ID, refusal(wire.CodeInvalidParams,
			"params.inputResponses and params.requestState belong to protocol version "+modernVersion)), nil
	}
	out := outgoing(withParams(r.Line, r.Params, l.withSession(r.Params)), r.Method, wire.Modern)
	out.ParamHeaders, out.Polling = r.ParamHeaders, r.Polling
	out.Hear = func(in wire.Incoming) { l.heard(r, in) }
	original := out
	for rounds := 0; ; rounds++ {
		in, err := link.Call(ctx, out)
		if err != nil {
			return wire.Incoming{}, sentBefore(err, rounds)
		}
		if in = underID(in, r.ID); in.Error.Exists() {
			return plainError(in), nil
		}
		requests, state, asked, refused := readAsked(r.Method, in.Result)
		if refused == nil && !asked {
			return l.finish(r.Method, in), nil
		}
		if rounds == maxRounds {
			refused = refusal(wire.CodeInternal, "the server asked "+strconv.Itoa(maxRounds)+" times and never answered")
		}
		var responses []byte
		if refused == nil {
			responses, refused, err = l.ask(ctx, link.Done(), r, requests, rounds)
		}
		switch {
		case err != nil:
			return wire.Incoming{}, err
		case refused != nil:
			return fault(r.ID, refused), nil
		}
		out = retry(original, responses, state)
	}
}

// sentBefore keeps it from looking as if a call never reached the server, when earlier rounds of it did.
func sentBefore(err error, rounds int) error {
	var unsent *wire.NotSentError
	if rounds > 0 && errors.As(err, &unsent) {
		return &wire.LostError{Err: unsent.Err}
	}
	return err
}

// withSession returns params that say what the session's client would say in each request, were it a modern one.
func (l *Legacy) withSession(params canon.Value) []byte {
	l.mu.Lock()
	s := l.session
	l.mu.Unlock()
	members := []string{
		member(wire.MetaProtocolVersion, []byte(`"`+modernVersion+`"`)),
		member(wire.MetaClientCapabilities, s.capabilities),
	}
	if s.clientInfo != nil {
		members = append(members, member(wire.MetaClientInfo, s.clientInfo))
	}
	if s.level != "" {
		members = append(members, member(wire.MetaLogLevel, []byte(`"`+s.level+`"`)))
	}
	return withMeta(params, modernMeta, members...)
}

// heard passes on what the server says on behalf of a call.
func (l *Legacy) heard(r wire.Outgoing, in wire.Incoming) {
	switch {
	case in.Kind != wire.Notification:
		l.Hear(in)
	case r.Hear != nil:
		r.Hear(in)
	}
}

// readAsked reads what a result asks for, if it is one that asks. refused says why it cannot be told to a legacy client.
func readAsked(method string, result canon.Value) (requests, state canon.Value, asked bool, refused *wire.Error) {
	if result.Kind() != canon.Object {
		return requests, state, false, refusal(wire.CodeInternal, "the server's result is not an object")
	}
	kind, ok := result.Get("resultType").Text()
	switch {
	case !result.Get("resultType").Exists() || kind == "complete":
		return requests, state, false, nil
	case !ok || kind != "input_required":
		return requests, state, false, refusal(wire.CodeInternal, fmt.Sprintf(
			"the server answered with a result of type %q, which the client's protocol version does not have", cut(kind)))
	case !interactive(method):
		return requests, state, false, refusal(wire.CodeInternal, "the server asks for something in answer to "+cut(method))
	}
	requests, state = result.Get("inputRequests"), result.Get("requestState")
	switch {
	case !requests.Exists() && !state.Exists():
		refused = refusal(wire.CodeInternal, "the server asks for something and does not say for what")
	case requests.Exists() && requests.Kind() != canon.Object:
		refused = refusal(wire.CodeInternal, "the server's inputRequests are not an object")
	case state.Exists() && state.Kind() != canon.String:
		refused = refusal(wire.CodeInternal, "the server's requestState is not a string")
	case unclear(requests) != "":
		refused = refusal(wire.CodeInternal, "the server's inputRequests: "+unclear(requests))
	}
	return requests, state, true, refused
}

// retry is the next round of a call: another request, with the answers, and the server's own state as it was.
func retry(original wire.Outgoing, responses []byte, state canon.Value) wire.Outgoing {
	var members []string
	if responses != nil {
		members = append(members, member("inputResponses", responses))
	}
	if state.Exists() {
		members = append(members, member("requestState", state.Bytes()))
	}
	line := canon.Splice(original.Line,
		canon.Edit{Old: original.ID, New: canon.AppendString(nil, newID())},
		canon.Edit{Old: original.Params, New: WithFirst(original.Params.Bytes(), members...)})
	out := outgoing(line, original.Method, original.Era)
	out.ParamHeaders, out.Hear, out.Polling = original.ParamHeaders, original.Hear, original.Polling
	return out
}

// ask is a question of the server's that the client has been asked.
type ask struct {
	key    string // in inputRequests
	id     string // under which the client was asked
	line   []byte
	answer chan wire.Incoming // has room for one
}

// ask asks the client all that the server wants to know, and returns the answers as inputResponses; nil if nothing was
// asked, after some time, since a server that only wants to be called again is busy. over is closed when the
// conversation is over.
func (l *Legacy) ask(ctx context.Context, over <-chan struct{}, r wire.Outgoing, requests canon.Value, rounds int) (
	[]byte, *wire.Error, error) {
	if isEmpty(requests) {
		return nil, nil, rest(ctx, over, min(100*time.Millisecond<<rounds, 5*time.Second))
	}
	tell := r.Hear
	if tell == nil {
		tell = l.tell
	}
	asks, refused := l.prepare(requests)
	defer l.forget(asks)
	if refused != nil {
		return nil, refused, nil
	}
	for _, a := range asks {
		tell(scanned(a.line))
	}
	var members []string
	for i, a := range asks {
		select {
		case in := <-a.answer:
			if in.Result.Kind() != canon.Object {
				takeBack(asks[i+1:], tell)
				return nil, noAnswer(in), nil
			}
			members = append(members, member(a.key, in.Result.Bytes()))
		case <-ctx.Done():
			takeBack(asks[i:], tell)
			return nil, nil, ctx.Err()
		case <-over:
			takeBack(asks[i:], tell)
			return nil, nil, &wire.LostError{Err: errClosed}
		}
	}
	return WithFirst([]byte(`{}`), members...), nil, nil
}

// rest lets some time pass.
func rest(ctx context.Context, over <-chan struct{}, long time.Duration) error {
	wait := time.NewTimer(long)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-over:
		return &wire.LostError{Err: errClosed}
	}
}

// noAnswer says why a client's answer is none.
func noAnswer(in wire.Incoming) *wire.Error {
	why := "its answer is not an object"
	if text, ok := in.Error.Get("message").Text(); ok {
		why = cut(text)
	}
	return refusal(wire.CodeInternal, "the client did not answer what the server asked: "+why)
}

// takeBack tells the client that what it has been asked is not wanted any more, where it has not answered yet.
func takeBack(asks []*ask, tell func(wire.Incoming)) {
	for _, a := range asks {
		if len(a.answer) > 0 {
			continue
		}
		params := append(canon.AppendString([]byte(`{"requestId":`), a.id), '}')
		tell(scanned(noticeLine("notifications/cancelled", params)))
	}
}

// prepare makes requests to the client of inputRequests. A client is asked only what it has declared to answer.
func (l *Legacy) prepare(requests canon.Value) (asks []*ask, refused *wire.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	declared, err := canon.Skim(l.session.capabilities)
	if err != nil {
		declared = canon.Value{}
	}
	for key, request := range requests.Members() {
		method, _ := request.Get("method").Text()
		params := request.Get("params")
		switch method {
		case "elicitation/create", "sampling/createMessage", "roots/list":
		default:
			return asks, refusal(wire.CodeInternal, "the server asks for something that clients do not have: "+cut(method))
		}
		if params.Exists() && params.Kind() != canon.Object {
			return asks, refusal(wire.CodeInternal, "the server's inputRequests: params must be an object")
		}
		if lacking := Lacking(method, params, declared); lacking != nil {
			return asks, refusal(wire.CodeInternal,
				"the server needs a capability that the client has not declared: "+string(lacking))
		}
		if len(asks) == maxQuestions || len(l.asks) >= maxAsks {
			return asks, refusal(wire.CodeInternal, "busy: the server asks for too much at once")
		}
		a := &ask{key: key, id: newID(), answer: make(chan wire.Incoming, 1)}
		a.line = requestLine(a.id, method, params.Bytes())
		asks = append(asks, a)
		l.asks[a.id] = a
	}
	return asks, nil
}

// forget waits for these answers no more.
func (l *Legacy) forget(asks []*ask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range asks {
		delete(l.asks, a.id)
	}
}

// answered takes an answer of the client's; one that nobody waits for is dropped.
func (l *Legacy) answered(in wire.Incoming) {
	id, _ := in.ID.Text()
	l.mu.Lock()
	a := l.asks[id]
	delete(l.asks, id)
	l.mu.Unlock()
	if a != nil {
		a.answer <- in
	}
}

package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/wire"
)

// passage is a request on its way through the door to an upstream. Ten thousand of them may wait for an answer, and the
// stack of each is the most of what that costs: so it is made ready in functions that have returned by then, and handed on
// by its address.
type passage struct {
	leg  *leg
	call *wire.Call
	out  wire.Outgoing
	gate gate.Call // but for Round and Invoke

	// again returns what to send instead after the upstream refused the headers of the request, or nothing. May be nil.
	again func(ctx context.Context) (wire.Outgoing, bool)

	// mismatch is how the headers that came with the request differ from it; nil if they do not. Only who may call the tool
	// learns of it: it says which headers the tool has.
	mismatch *wire.Error

	got wire.Incoming // what the upstream answered
}

// pass takes a request through the door, and answers with what the upstream says to it.
func (s *Server) pass(ctx context.Context, p *passage) (wire.Reply, error) {
	p.gate.Round = round(p.call.Params)
	p.gate.Invoke = p.invoke
	result, err := s.Door.Do(ctx, p.gate)
	switch {
	case err != nil && headersRefused(err):
		return wire.Reply{}, err // nothing was done, and the client can do something about it
	case err != nil:
		return s.turnedDown(p.call, p.gate, err)
	}
	return s.arrived(ctx, p, result)
}

// invoke sends the request with a permit for it.
func (p *passage) invoke(ctx context.Context, permit *gate.Permit) (gate.Result, error) {
	if _, err := permit.Use(p.gate.Tool.Name); err != nil {
		return gate.Result{}, err
	}
	if p.mismatch != nil {
		return gate.Result{}, &gate.NotDone{Err: p.mismatch}
	}
	p.out.Meanwhile = permit.Meanwhile
	if err := p.send(ctx); err != nil {
		return gate.Result{}, err
	}
	return resultOf(p.got), nil
}

// arrived answers with a result that the door lets through.
func (s *Server) arrived(ctx context.Context, p *passage, result gate.Result) (wire.Reply, error) {
	if result.Form == gate.Whole && result.Open {
		if err := s.opened(ctx, p, result.Body); err != nil {
			return wire.Reply{}, err
		}
	}
	if p.gate.Method == resourceList.use && result.Form == gate.Whole {
		result.Body = s.privately(p.call, result.Body)
	}
	return s.reply(p.call, p.got, result)
}

// send sends the request, once more where its headers were refused, which happens before anything is done.
func (p *passage) send(ctx context.Context) error {
	err := p.leg.carry(ctx, p.call, &p.out, &p.got)
	if p.again == nil || !headersRefused(err) {
		return err
	}
	out, ok := p.again(ctx)
	if !ok {
		return err
	}
	p.out = out
	return p.leg.carry(ctx, p.call, &p.out, &p.got)
}

// headersRefused reports whether a request was not carried out because of its headers. Only the transport can tell: an
// answer with that code may come from a server that did what it was asked.
func headersRefused(err error) bool {
	var refused *wire.Error
	return errors.As(err, &refused) && refused.Code == wire.CodeHeaderMismatch
}

// carry is leg.call for what the gate lets through: its errors are worded for the gate, and it does not wait for ever.
func (l *leg) carry(ctx context.Context, on *wire.Call, out *wire.Outgoing, answer *wire.Incoming) error {
	out.Within = l.visit.server.callTimeout()
	err := l.call(ctx, on, out, answer)
	if err == nil {
		return nil
	}
	return l.carried(ctx, err)
}

// carried words why a call has no answer; ctx is that of who waits for it.
func (l *leg) carried(ctx context.Context, err error) error {
	var unsent *wire.NotSentError
	switch {
	case errors.As(err, &unsent):
		return &gate.NotDone{Err: fmt.Errorf("server %q: %w", l.up.Name(), err)}
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return &wire.LostError{Err: fmt.Errorf("server %q gave no answer within %v", l.up.Name(), l.visit.server.callTimeout())}
	case ctx.Err() == nil:
		return fmt.Errorf("server %q: %w", l.up.Name(), err)
	}
	return err
}

func (s *Server) callTimeout() time.Duration {
	if s.CallTimeout > 0 {
		return s.CallTimeout
	}
	return defaultCallTimeout
}

// forward sends a request that the door need not see, and answers with what the upstream says to it.
func (l *leg) forward(ctx context.Context, call *wire.Call, out wire.Outgoing) (wire.Incoming, error) {
	var in wire.Incoming
	if err := l.carry(ctx, call, &out, &in); err != nil {
		return in, l.outward(ctx, err)
	}
	return in, nil
}

// outward is what a client is told when an upstream could not be asked. Whether something was done is all that it needs
// to know; the log says why.
func (l *leg) outward(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.log("a request to an upstream failed", "error", err)
	var notDone *gate.NotDone
	var unsent *wire.NotSentError
	if errors.As(err, &notDone) || errors.As(err, &unsent) {
		return &wire.Error{Code: wire.CodeInternal, Message: fmt.Sprintf(
			"nothing was done: the server %q cannot be reached at the moment; try again later", l.up.Name())}
	}
	return &wire.Error{Code: wire.CodeInternal, Message: fmt.Sprintf(
		"inconclusive: the server %q got the request and went away without an answer; it may or may not have been carried out", l.up.Name())}
}

// outwardOf is outward for a call of any method.
func outwardOf(g gate.Call, err error) error {
	if g.Method == "" {
		return outward(g.Name, err)
	}
	var denied *gate.DeniedError
	if !errors.As(err, &denied) {
		return outward(g.Method, err)
	}
	if denied.Hidden {
		return methodNotFound(g.Method)
	}
	answer := invalid("denied: " + cut(g.Method))
	if g.Name != "" {
		answer.Message += " " + cut(g.Name)
	}
	data := canon.AppendString([]byte(`{"rule":`), denied.Rule)
	data = canon.AppendString(append(data, `,"reason":`...), denied.Reason)
	answer.Data = append(data, '}')
	return answer
}

func isDenied(err error) bool {
	var denied *gate.DeniedError
	return errors.As(err, &denied)
}

func methodNotFound(method string) *wire.Error {
	return &wire.Error{Code: wire.CodeMethodNotFound, Message: "method not found: " + cut(method)}
}

// round is what the retry of a request that needed input brings with it; nil for a request that is none
// (MCP 2026-07-28, basic/patterns/mrtr).
func round(params canon.Value) []byte {
	var responses, state canon.Value
	for key, value := range params.Members() {
		switch key {
		case "inputResponses":
			responses = value
		case "requestState":
			state = value
		}
	}
	if !responses.Exists() && !state.Exists() {
		return nil
	}
	var text []byte
	for _, v := range []canon.Value{responses, state} {
		spelt, err := v.AppendCanonical(text)
		if err != nil { // it is absent, or has no canonical spelling: then its bytes count
			spelt = append(text, v.Bytes()...)
		}
		text = append(spelt, '\n')
	}
	return text
}

// opened looks at a result that is not the end of its call: what the upstream wants of the client must be allowed, and a
// task is remembered as whose it is.
func (s *Server) opened(ctx context.Context, p *passage, body []byte) error {
	result, err := canon.Skim(body)
	if err != nil {
		return err
	}
	for name, value := range result.Members() {
		switch like := lookalike(name, "inputRequests", "requestState", "task"); {
		case like == "requestState":
			if state, _ := value.Text(); strings.HasPrefix(state, approvalState) {
				return errPosing
			}
		case like == "inputRequests":
			for key, request := range value.Members() {
				if key == approvalKey {
					return errPosing
				}
				if err := s.judgeInput(ctx, p, request); err != nil {
					return err
				}
			}
		case like == "task":
			if id, ok := member(value, "taskId").Text(); ok {
				s.tasks.add(task{caller: p.leg.visit.caller, id: id}, owner{upstream: p.leg.up.Name(), tool: p.gate.Tool})
			}
		}
	}
	if id, ok := member(result, "taskId").Text(); ok {
		s.tasks.add(task{caller: p.leg.visit.caller, id: id}, owner{upstream: p.leg.up.Name(), tool: p.gate.Tool})
	}
	return nil
}

// errPosing is the answer in the place of what an upstream asks as only we do: what the client would say to it was for us.
var errPosing = &wire.Error{Code: wire.CodeInternal, Message: "the server asks for something in the gate's own name"}

// judgeInput takes one thing that an upstream wants to have answered through the door. What it has to say of it goes to
// the client with the result, or not at all.
func (s *Server) judgeInput(ctx context.Context, p *passage, request canon.Value) error {
	strict, err := strictly(request)
	if err != nil || strict.Kind() != canon.Object {
		return &wire.Error{Code: wire.CodeInternal, Message: "the server asks for what cannot be read in one way only"}
	}
	method, _ := strict.Get("method").Text()
	g := gate.Call{
		Caller: p.leg.visit.caller,
		Method: method,
		Tool:   methodTool(p.leg.up, method),
		Args:   strict.Get("params"),

		Observe: s.observer(p.leg.visit.caller, p.leg.visit, p.call.Era),
		Invoke: func(_ context.Context, permit *gate.Permit) (gate.Result, error) {
			if _, err := permit.Use(method); err != nil {
				return gate.Result{}, err
			}
			return gate.Result{Body: []byte(`{}`), Form: gate.Whole}, nil
		},
	}
	if method == "" {
		return &wire.Error{Code: wire.CodeInternal, Message: "the server asks for something that has no method"}
	}
	if _, err := s.Door.Do(ctx, g); err != nil {
		return outwardOf(g, err)
	}
	return nil
}

package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/interlock"
	"sallyport/internal/wire"
)

// teller is who can be told and asked something: a call, or a legacy session.
type teller interface {
	Forward(line []byte)
	Ask(ctx context.Context, line []byte) (wire.Incoming, error)
}

// teller returns who hears what an upstream says on behalf of a call, or of none; nil if nobody does.
func (l *leg) teller(on *wire.Call) teller {
	switch {
	case on != nil:
		return on
	case l.visit.session != nil && l.era == wire.Legacy:
		return l.visit.session
	}
	return nil
}

// heard deals with what an upstream says besides its answers. It waits for nothing but the client's reading. A bug that
// it meets costs that message only.
func (l *leg) heard(c *connection, on *wire.Call, in wire.Incoming) {
	defer l.visit.server.recovered()
	to := l.teller(on)
	switch {
	case in.Kind == wire.Request:
		l.asked(c, to, in)
	case in.Kind != wire.Notification:
	case in.Method == "notifications/cancelled" && l.cancelAsk(in.Params.Get("requestId")):
	default:
		l.note(in.Method)
		if in, err := noticed(in); err == nil && to != nil {
			to.Forward(in.Line)
		}
	}
}

// note takes notice of a notification that says that a list has changed.
func (l *leg) note(method string) {
	switch method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		l.catalog.forget()
	}
}

// changed tells a legacy client that the lists of this upstream may have changed, as far as it was told that it would
// be. Modern clients are told by their subscriptions.
func (l *leg) changed() {
	session := l.visit.session
	if session == nil || l.era != wire.Legacy || l.visit.initialized() == nil {
		return
	}
	merged := !l.visit.server.single() // then it is we who said so
	for _, of := range []list{toolList, promptList, resourceList} {
		if l.tellsOf(of) || merged && (of.member == toolList.member || l.declares(of.capability, "")) {
			session.Notify("notifications/"+of.member+"/list_changed", nil)
		}
	}
}

// declares reports whether the upstream declared a capability and, if feature is not empty, that feature of it.
func (l *leg) declares(capability, feature string) bool {
	l.mu.Lock()
	c := l.conn
	l.mu.Unlock()
	if c == nil {
		return false
	}
	declared := member(member(c.welcome.Result, "capabilities"), capability)
	if feature == "" {
		return declared.Exists()
	}
	has, _ := member(declared, feature).Bool()
	return has
}

// asked lets the client answer a request of the upstream's, if the policy allows it.
func (l *leg) asked(c *connection, to teller, in wire.Incoming) {
	ctx, cancel := context.WithCancel(l.visit.life)
	key := string(in.ID.Bytes())
	l.mu.Lock()
	busy := len(l.asking) >= maxAsking || l.asking[key] != nil
	if !busy {
		if l.asking == nil {
			l.asking = make(map[string]context.CancelFunc)
		}
		l.asking[key] = cancel
	}
	l.mu.Unlock()
	if busy {
		cancel()
		l.warnOnce("an upstream asks too much at once, or twice under one id")
		l.refuseAsk(c, in, &wire.Error{Code: wire.CodeInternal, Message: "busy: ask again later"})
		return
	}
	done := func() {
		l.mu.Lock()
		delete(l.asking, key)
		l.mu.Unlock()
		cancel()
	}
	if !l.visit.begin(func() {
		defer done()
		l.answer(c, l.ask(ctx, to, in))
	}) {
		done()
	}
}

// refuseAsk answers what the upstream must not ask, as long as it reads our answers.
func (l *leg) refuseAsk(c *connection, in wire.Incoming, why *wire.Error) {
	l.mu.Lock()
	full := l.refusing >= maxAsking
	if !full {
		l.refusing++
	}
	l.mu.Unlock()
	if full {
		return
	}
	done := func() {
		l.mu.Lock()
		l.refusing--
		l.mu.Unlock()
	}
	if !l.visit.begin(func() {
		defer done()
		l.answer(c, errorLine(in.ID, why))
	}) {
		done()
	}
}

// cancelAsk ends what the upstream has asked under that id, and reports whether there was such a thing.
func (l *leg) cancelAsk(id canon.Value) bool {
	l.mu.Lock()
	cancel := l.asking[string(id.Bytes())]
	l.mu.Unlock()
	if cancel == nil {
		return false
	}
	cancel()
	return true
}

// answer sends the response to a request of the upstream's, nil being none.
func (l *leg) answer(c *connection, line []byte) {
	if line == nil {
		return
	}
	ctx, cancel := context.WithTimeout(l.visit.life, sendTimeout)
	defer cancel()
	select {
	case <-c.linked:
	case <-ctx.Done():
		return
	}
	if err := c.link.Send(ctx, line); err != nil && ctx.Err() == nil {
		l.log("an answer to an upstream could not be sent", "error", err)
	}
}

// ask takes a request of the upstream's through the door to the client, and returns the line to answer it with; nil if
// it was cancelled.
func (l *leg) ask(ctx context.Context, to teller, in wire.Incoming) (answer []byte) {
	defer func() {
		if p := recover(); p != nil {
			l.log("panic in what an upstream asked", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			answer = errorLine(in.ID, &wire.Error{Code: wire.CodeInternal, Message: "internal error"})
		}
	}()
	refuse := func(code int, why string) []byte { return errorLine(in.ID, &wire.Error{Code: code, Message: why}) }
	if to == nil {
		return refuse(wire.CodeMethodNotFound, "the client cannot be asked: "+cut(in.Method))
	}
	params, err := strictly(in.Params)
	if err != nil {
		return refuse(wire.CodeInvalidParams, "params are refused: "+err.Error())
	}
	var got wire.Incoming
	result, err := l.visit.server.Door.Do(ctx, gate.Call{
		Caller:  l.visit.caller,
		Method:  in.Method,
		Tool:    methodTool(l.up, in.Method),
		Args:    params,
		Meta:    params.Get("_meta"),
		Observe: l.visit.server.observer(l.visit.caller, l.visit, l.era),
		Ask: func(ctx context.Context, approval *interlock.Approval) (gate.Said, error) {
			return l.visit.server.askNow(ctx, to, l.elicits(), approval)
		},
		Invoke: func(ctx context.Context, p *gate.Permit) (gate.Result, error) {
			if _, err := p.Use(in.Method); err != nil {
				return gate.Result{}, err
			}
			if got, err = to.Ask(ctx, in.Line); err != nil {
				return gate.Result{}, &gate.NotDone{Err: err}
			}
			return resultOf(got), nil
		},
	})
	var denied *gate.DeniedError
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.As(err, &denied):
		return refuse(wire.CodeInvalidParams, "denied: "+cut(in.Method))
	case err != nil:
		l.log("the client could not be asked", "method", cut(in.Method), "error", err)
		return refuse(wire.CodeInternal, "the client could not be asked")
	}
	return answerLine(in.ID, got, result)
}

// elicits reports whether the client of a leg can be asked by requests to put a form to its person.
func (l *leg) elicits() bool {
	return l.era == wire.Legacy && l.visit.session != nil && l.visit.session.Elicits()
}

// strictly reads again, as strictly as what clients send, what was only skimmed. An absent value stays absent.
func strictly(v canon.Value) (canon.Value, error) {
	if !v.Exists() {
		return canon.Value{}, nil
	}
	return canon.Parse(v.Bytes())
}

// methodTool stands for a method other than tools/call of an upstream at the door.
func methodTool(up Upstream, method string) *gate.Tool {
	return &gate.Tool{Name: method, Upstream: up.Name(), Check: func(canon.Value) error { return nil }}
}

package gateway

import (
	"context"
	"errors"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/wire"
)

// behalf is on whose behalf a call goes through the door: what the door can do for it by way of its client. Ten thousand
// calls may wait, each with one.
type behalf struct {
	server  *Server
	visit   *visit     // nil where there are no upstreams
	call    *wire.Call // without what it brings for us
	consent *consent   // which is this; nil if there is nothing
}

// equip completes a call that a client makes with what goes for every call of its: who makes it, and by what way the door
// can look at what the call left, and ask the client's person. v is nil where there are no upstreams.
func (s *Server) equip(g *gate.Call, v *visit, call *wire.Call, c *consent) {
	g.Caller, g.Meta, g.TraceID = callerOf(call.Session), call.Meta, traceID(call.Meta)
	b := &behalf{server: s, visit: v, call: call, consent: c}
	g.Observe, g.Ask = b.observe, b.ask
}

// observe is gate.Call.Observe. It works for as long as the visit does, whatever became of the call that is looked after: its
// client may be gone.
func (b *behalf) observe(ctx context.Context, tool string, args canon.Value) (gate.Call, error) {
	return b.server.inward(ctx, callerOf(b.call.Session), b.visit, b.call.Era, tool, "", args)
}

// observer returns gate.Call.Observe for calls that no client makes.
func (s *Server) observer(who gate.Caller, v *visit, era wire.Era) func(context.Context, string, canon.Value) (gate.Call, error) {
	return func(ctx context.Context, tool string, args canon.Value) (gate.Call, error) {
		return s.inward(ctx, who, v, era, tool, "", args)
	}
}

// turnedDown answers a call that the door did not carry out: with the question that its client's person must answer first,
// or else with the error.
func (s *Server) turnedDown(call *wire.Call, g gate.Call, err error) (wire.Reply, error) {
	var needed *gate.InputNeededError
	if errors.As(err, &needed) && needed.Approval != nil {
		result, err := s.inputRequired(call, needed.Approval)
		return wire.Reply{Result: result}, err
	}
	return wire.Reply{}, outwardOf(g, err)
}

// isAsked reports whether a call was not carried out since its client's person is to be asked first.
func isAsked(err error) bool {
	var needed *gate.InputNeededError
	return errors.As(err, &needed)
}

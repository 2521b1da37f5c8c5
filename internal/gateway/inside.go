package gateway

import (
	"context"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/interlock"
	"sallyport/internal/wire"
)

// Inside is a caller inside of this process: a plan's runner. Its calls go through the door as a client's do, over legs of
// its own, in the modern era. It is safe for concurrent use.
type Inside struct {
	// Asked, if it is set before the first call, is told of each call that waits for a person to agree, and waits for nothing.
	Asked func(*interlock.Approval)

	server  *Server
	session *wire.Session // under which its visit is held
	visit   *visit
}

// Inside begins a conversation with a caller inside of this process. Close must be called; Server.Close does it too.
func (s *Server) Inside(caller gate.Caller) *Inside {
	i := &Inside{
		server:  s,
		session: &wire.Session{Principal: caller.Principal, Tenant: caller.Tenant},
		visit:   newVisit(s, nil, caller),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		i.visit.over = true
		i.visit.end()
		return i
	}
	if s.visits == nil {
		s.visits = make(map[*wire.Session]*visit)
	}
	s.visits[i.session] = i.visit
	return i
}

// Call calls a tool by its exposed name. Errors are the Door's: *gate.DeniedError, *gate.UnavailableError, ctx's own where
// nothing was begun, and a *gate.NotDone once the conversation is over. origin is gate.Call.Origin; requestID goes into _meta
// as policy.MetaKey, "" is none. An upstream that wants input first is answered that there is nobody; one that says so by its
// result gets no answer, and the result is returned as it is, with Open.
func (i *Inside) Call(ctx context.Context, origin, requestID, tool string, args canon.Value) (gate.Result, error) {
	g, err := i.call(ctx, requestID, tool, args)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return gate.Result{}, ctx.Err()
	case g.Tool == nil || g.Tool.Upstream == "":
		return gate.Result{}, &gate.NotDone{Err: err}
	default:
		// The policy is asked all the same, and what it refuses is on record.
		i.server.log().Warn("an upstream's list could not be read", "server", g.Tool.Upstream, "error", err)
		g.Invoke = func(context.Context, *gate.Permit) (gate.Result, error) {
			return gate.Result{}, &gate.NotDone{Err: err}
		}
	}
	g.Origin = origin
	return i.server.Door.Do(ctx, g)
}

// Preview says what would become of such a call. An error is ctx's, or says that the tool's server could not be asked.
func (i *Inside) Preview(ctx context.Context, requestID, tool string, args canon.Value) (gate.Preview, error) {
	g, err := i.call(ctx, requestID, tool, args)
	if err != nil {
		return gate.Preview{}, err
	}
	return i.server.Door.Preview(g), nil
}

// call is inward for this caller.
func (i *Inside) call(ctx context.Context, requestID, tool string, args canon.Value) (gate.Call, error) {
	g, err := i.server.inward(ctx, i.visit.caller, i.visit, wire.Modern, tool, requestID, args)
	g.Observe = i.server.observer(i.visit.caller, i.visit, wire.Modern)
	g.Parked = i.Asked
	return g, err
}

// Close ends the conversation, and waits for that. What is in flight gets an error.
func (i *Inside) Close() {
	i.server.End(i.session)
}

package gateway

import (
	"context"
	"slices"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/wire"
)

// notifier is a client that can be told something: a legacy session, or a modern client's open subscription.
type notifier interface {
	Notify(method string, params []byte)
}

// listener is who is told when the visible tools change, and the params of that notification.
type listener struct {
	notifier
	who    gate.Caller
	params []byte
	shown  []*gate.Tool // of our own tools, what was visible when the client was last told
}

// callerOf is who asks in a session.
func callerOf(session *wire.Session) gate.Caller {
	return gate.Caller{Principal: session.Principal, Tenant: session.Tenant}
}

// Refresh is to be called after the policy has changed. Who listens is told if that changes what is visible.
func (s *Server) Refresh() {
	behind := false
	for _, v := range s.everyVisit() {
		for _, l := range v.everyLeg() {
			behind = l.refreshed() || behind
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.listeners {
		l := &s.listeners[i]
		shown := s.visible(l.who)
		if behind || !slices.Equal(shown, l.shown) {
			l.shown = shown
			l.Notify("notifications/tools/list_changed", l.params)
		}
	}
}

// join adds a listener, unless it is one.
func (s *Server) join(n notifier, who gate.Caller, params []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(n, who, params)
}

// add is join for those who hold mu.
func (s *Server) add(n notifier, who gate.Caller, params []byte) {
	if !slices.ContainsFunc(s.listeners, func(l listener) bool { return l.notifier == n }) {
		s.listeners = append(s.listeners, listener{n, who, params, s.visible(who)})
	}
}

// leave ends what join began.
func (s *Server) leave(n notifier) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = slices.DeleteFunc(s.listeners, func(l listener) bool { return l.notifier == n })
}

// listen keeps a subscription open (MCP 2026-07-28, basic/patterns/subscriptions). Of what a client may ask for we have
// the changes of the tool list.
func (s *Server) listen(ctx context.Context, call *wire.Call) ([]byte, error) {
	wanted := call.Params.Get("notifications")
	if wanted.Kind() != canon.Object {
		return nil, invalid("params.notifications must be an object")
	}
	tools := wanted.Get("toolsListChanged")
	wantsTools, ok := tools.Bool()
	if tools.Exists() && !ok {
		return nil, invalid("params.notifications.toolsListChanged must be a boolean")
	}
	s.subscribe(call, wantsTools)
	defer s.leave(call)
	<-ctx.Done()
	return s.complete(call, []byte(`{}`), call.ID.Bytes())
}

// subscribe acknowledges a subscription. Nothing may come on it before that, and no change may be missed after.
func (s *Server) subscribe(call *wire.Call, wantsTools bool) {
	meta := append([]byte(`{"_meta":{"`+wire.MetaSubscriptionID+`":`), call.ID.Bytes()...)
	params := slices.Concat(meta, []byte(`}}`))
	honoured := `{}`
	if wantsTools {
		honoured = `{"toolsListChanged":true}`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	call.Notify("notifications/subscriptions/acknowledged", slices.Concat(meta, []byte(`},"notifications":`+honoured+`}`)))
	if wantsTools {
		s.add(call, callerOf(call.Session), params)
	}
}

package gateway

import (
	"context"
	"slices"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// notifier is a client that can be told something: a legacy session, or a modern client's open subscription.
type notifier interface {
	Notify(method string, params []byte)
}

// listener is who is told when the visible tools change, and the params of that notification.
type listener struct {
	notifier
	params []byte
}

// Refresh is to be called after the policy has changed. If that changes what is visible, all who listen are told.
func (s *Server) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := s.visible()
	changed := s.known && !slices.Equal(shown, s.shown)
	s.known, s.shown = true, shown
	if !changed {
		return
	}
	for _, l := range s.listeners {
		l.Notify("notifications/tools/list_changed", l.params)
	}
}

// observe notes what is visible before the first client sees it.
func (s *Server) observe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known {
		s.known, s.shown = true, s.visible()
	}
}

// join adds a listener, unless it is one.
func (s *Server) join(n notifier, params []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(n, params)
}

// add is join for those who hold mu.
func (s *Server) add(n notifier, params []byte) {
	if !slices.ContainsFunc(s.listeners, func(l listener) bool { return l.notifier == n }) {
		s.listeners = append(s.listeners, listener{n, params})
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
		s.add(call, params)
	}
}

package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/wire"
)

const (
	// ackTimeout is how long several upstreams have to acknowledge a subscription: those that come later are not waited
	// for.
	ackTimeout = 5 * time.Second

	// maxURIs is how many resources one subscription may be for.
	maxURIs = 1000

	methodAcknowledged = "notifications/subscriptions/acknowledged"
)

// changes are the kinds of changes that can be subscribed to, by the key of the request and with what tells of them.
var changes = [...]struct{ key, method string }{
	{"toolsListChanged", "notifications/tools/list_changed"},
	{"promptsListChanged", "notifications/prompts/list_changed"},
	{"resourcesListChanged", "notifications/resources/list_changed"},
}

// relayListen keeps a subscription open at the upstreams (MCP 2026-07-28, basic/patterns/subscriptions). To the resources
// that the policy does not allow there is none. It is opened again, without the client's doing, where an upstream was
// lost.
func (s *Server) relayListen(ctx context.Context, v *visit, call *wire.Call) (wire.Reply, error) {
	wanted := call.Params.Get("notifications")
	if wanted.Kind() != canon.Object {
		return wire.Reply{}, invalid("params.notifications must be an object")
	}
	legs := v.legsFor(wire.Modern)
	sub := &subscription{server: s, call: call, wanted: wanted}
	defer s.leave(call)
	if s.single() {
		uris, err := s.allowedURIs(ctx, legs[0], call, wanted.Get("resourceSubscriptions"))
		if err != nil {
			return wire.Reply{}, err
		}
		return sub.single(ctx, legs[0], uris)
	}
	return sub.merged(ctx, legs)
}

// subscription is one open subscriptions/listen of a client's.
type subscription struct {
	server *Server
	call   *wire.Call
	wanted canon.Value

	mu       sync.Mutex      // guards what follows
	honoured map[string]bool // kinds of changes that the client was told it would get
	acked    bool            // the client was
}

// single keeps the subscription open at the single upstream: what that says goes to the client as it is.
func (sub *subscription) single(ctx context.Context, l *leg, uris []canon.Value) (wire.Reply, error) {
	out, err := outgoing(sub.call.Message, wire.Modern, sub.narrowed(uris)...)
	if err != nil {
		return wire.Reply{}, err
	}
	var answer wire.Incoming
	err = sub.keep(ctx, l, out, func(c *connection, in wire.Incoming) {
		if in.Method != methodAcknowledged {
			l.heard(c, sub.call, in)
			return
		}
		if !sub.acknowledge(in) {
			sub.tellChanged(in)
			return
		}
		sub.call.Forward(in.Line)
		sub.watchPolicy()
	}, &answer, false)
	switch {
	case err != nil:
		return wire.Reply{}, err
	case answer.Line != nil:
		return wire.Reply{Line: answer.Line}, nil
	}
	return sub.end()
}

// keep holds the request open at an upstream until that answers it, which ends it, or ctx is done. Where the upstream is
// lost it is sent again when it is back; one that is not there from the first is an error, unless we are patient.
func (sub *subscription) keep(ctx context.Context, l *leg, out wire.Outgoing, hear func(*connection, wire.Incoming),
	answer *wire.Incoming, patient bool) error {
	const first, longest = 100 * time.Millisecond, 30 * time.Second
	wait := first
	for begun := patient; ; {
		c, err := l.open(ctx)
		if err == nil {
			out.Hear = func(in wire.Incoming) { hear(c, in) }
			begun, wait = true, first
			*answer, err = c.link.Call(ctx, out)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			return nil
		case !begun:
			return l.outward(ctx, &wire.NotSentError{Err: err})
		}
		if !pause(ctx, wait) {
			return nil
		}
		wait = min(2*wait, longest)
	}
}

// narrowed are the edits that leave only some resources in the request; nil if those are all.
func (sub *subscription) narrowed(uris []canon.Value) []canon.Edit {
	array := sub.wanted.Get("resourceSubscriptions")
	count := 0
	for range array.Elements() {
		count++
	}
	if array.Kind() != canon.Array || count == len(uris) {
		return nil
	}
	text := []byte{'['}
	for i, uri := range uris {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, uri.Bytes()...)
	}
	return []canon.Edit{{Old: array, New: append(text, ']')}}
}

// acknowledge notes what an upstream's acknowledgement honours, and reports whether it is the first one.
func (sub *subscription) acknowledge(in wire.Incoming) bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.honoured == nil {
		sub.honoured = make(map[string]bool)
	}
	for _, change := range changes {
		if on, _ := member(member(in.Params, "notifications"), change.key).Bool(); on {
			sub.honoured[change.key] = true
		}
	}
	first := !sub.acked
	sub.acked = true
	return first
}

// tellChanged tells the client that what it subscribed to may have changed, since an upstream was away.
func (sub *subscription) tellChanged(in wire.Incoming) {
	for _, change := range changes {
		sub.mu.Lock()
		promised := sub.honoured[change.key]
		sub.mu.Unlock()
		if on, _ := member(member(in.Params, "notifications"), change.key).Bool(); on && promised {
			sub.call.Notify(change.method, sub.params())
		}
	}
}

// params are those of a notification that belongs to the subscription.
func (sub *subscription) params() []byte {
	return slices.Concat([]byte(`{"_meta":{"`+wire.MetaSubscriptionID+`":`), sub.call.ID.Bytes(), []byte(`}}`))
}

// watchPolicy lets the client be told when the policy changes what it sees, if it was told that it would be.
func (sub *subscription) watchPolicy() {
	sub.mu.Lock()
	on := sub.honoured["toolsListChanged"]
	sub.mu.Unlock()
	if on {
		sub.server.join(sub.call, callerOf(sub.call.Session), sub.params())
	}
}

// end is the answer that closes the subscription in good order.
func (sub *subscription) end() (wire.Reply, error) {
	result, err := sub.server.complete(sub.call, []byte(`{}`), sub.call.ID.Bytes())
	return wire.Reply{Result: result}, err
}

// merged keeps the subscription open at all upstreams. What they say goes on under the client's id, and is acknowledged
// by us with all that any of them honours; the tools are ours to tell of.
func (sub *subscription) merged(ctx context.Context, legs []*leg) (wire.Reply, error) {
	s := sub.server
	tools, _ := sub.wanted.Get("toolsListChanged").Bool()
	sub.honoured = map[string]bool{"toolsListChanged": tools}
	byLeg, err := s.sortURIs(ctx, legs, sub.call, sub.wanted.Get("resourceSubscriptions"))
	if err != nil {
		return wire.Reply{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	acks := make(chan []canon.Value, len(legs))
	var group sync.WaitGroup
	for _, l := range legs {
		group.Go(func() {
			defer s.recovered()
			sub.listenAt(ctx, l, byLeg[l], acks)
		})
	}
	granted := sub.gatherAcks(ctx, len(legs), acks)
	sub.greet(granted)
	if tools {
		s.join(sub.call, callerOf(sub.call.Session), sub.params())
	}
	<-ctx.Done()
	cancel()
	group.Wait()
	return sub.end()
}

// gatherAcks waits until all upstreams have acknowledged, or have had the time to, and returns the resources granted.
func (sub *subscription) gatherAcks(ctx context.Context, count int, acks <-chan []canon.Value) (granted []canon.Value) {
	late := time.NewTimer(ackTimeout)
	defer late.Stop()
	for range count {
		select {
		case uris := <-acks:
			granted = append(granted, uris...)
		case <-late.C:
			return granted
		case <-ctx.Done():
			return granted
		}
	}
	return granted
}

// greet acknowledges the subscription. Nothing goes to the client on it before that.
func (sub *subscription) greet(granted []canon.Value) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	notifications := []byte{'{'}
	for _, change := range changes {
		if sub.honoured[change.key] {
			notifications = append(notifications, `"`+change.key+`":true,`...)
		}
	}
	if len(granted) > 0 {
		notifications = append(notifications, `"resourceSubscriptions":[`...)
		for _, uri := range granted {
			notifications = append(append(notifications, uri.Bytes()...), ',')
		}
		notifications[len(notifications)-1] = ']'
		notifications = append(notifications, ',')
	}
	if last := len(notifications) - 1; notifications[last] == ',' {
		notifications = notifications[:last]
	}
	params := sub.params()
	params = append(params[:len(params)-1], `,"notifications":`...)
	params = append(append(params, notifications...), "}}"...)
	sub.call.Notify(methodAcknowledged, params)
	sub.acked = true
}

// listenAt keeps the subscription open at one of several upstreams, under an id of ours.
func (sub *subscription) listenAt(ctx context.Context, l *leg, uris []canon.Value, acks chan<- []canon.Value) {
	told := false
	ack := func(granted []canon.Value) {
		if !told {
			told = true
			acks <- granted
		}
	}
	defer func() { ack(nil) }()
	edits := append(sub.narrowed(uris), canon.Edit{Old: sub.call.ID, New: l.visit.server.ownIDText()})
	out, err := outgoing(sub.call.Message, wire.Modern, edits...)
	if err != nil {
		return
	}
	var answer wire.Incoming
	if err := sub.keep(ctx, l, out, func(c *connection, in wire.Incoming) {
		if in.Method != methodAcknowledged {
			sub.passOn(c, l, in)
			return
		}
		granted := uris
		if array := member(member(in.Params, "notifications"), "resourceSubscriptions"); array.Kind() != canon.Array {
			granted = nil
		}
		if told || !sub.grant(in) {
			sub.tellChanged(in)
		}
		ack(granted)
	}, &answer, true); err != nil {
		l.log("an upstream does not keep a subscription", "error", err)
	}
}

// grant adds what an upstream honours to what the client will be told it gets, and reports whether that was in time.
func (sub *subscription) grant(in wire.Incoming) bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	for _, change := range changes {
		if on, _ := member(member(in.Params, "notifications"), change.key).Bool(); on && !sub.acked {
			sub.honoured[change.key] = true
		}
	}
	return !sub.acked
}

// passOn sends what one of several upstreams says of the subscription to the client, under the client's id.
func (sub *subscription) passOn(c *connection, l *leg, in wire.Incoming) {
	sub.mu.Lock()
	acked := sub.acked
	sub.mu.Unlock()
	in, err := noticed(in)
	id := member(member(in.Params, "_meta"), wire.MetaSubscriptionID)
	if err != nil {
		return // it was JSON, and is so still
	}
	if in.Kind != wire.Notification || !id.Exists() {
		l.heard(c, sub.call, in)
		return
	}
	l.note(in.Method)
	if acked {
		sub.call.Forward(canon.Splice(in.Line, canon.Edit{Old: id, New: sub.call.ID.Bytes()}))
	}
}

// sortURIs gives each leg the resources of a subscription that are its own and allowed.
func (s *Server) sortURIs(ctx context.Context, legs []*leg, call *wire.Call, array canon.Value) (map[*leg][]canon.Value, error) {
	byLeg := make(map[*leg][]canon.Value)
	for element := range array.Elements() {
		uri, ok := element.Text()
		if !ok {
			continue
		}
		l, err := s.holder(ctx, legs, uri)
		if err != nil {
			return nil, err
		}
		if l != nil {
			byLeg[l] = append(byLeg[l], element)
		}
	}
	for l, uris := range byLeg {
		allowed := uris[:0]
		for _, uri := range uris {
			ok, err := s.maySubscribe(ctx, l, call, uri)
			if err != nil {
				return nil, err
			}
			if ok {
				allowed = append(allowed, uri)
			}
		}
		byLeg[l] = allowed
	}
	return byLeg, nil
}

// allowedURIs are the resources of a subscription that the policy allows.
func (s *Server) allowedURIs(ctx context.Context, l *leg, call *wire.Call, array canon.Value) (allowed []canon.Value, err error) {
	count := 0
	for uri := range array.Elements() {
		if count++; count > maxURIs {
			return nil, invalid("params.notifications.resourceSubscriptions has too many resources")
		}
		ok, err := s.maySubscribe(ctx, l, call, uri)
		if err != nil {
			return nil, err
		}
		if ok {
			allowed = append(allowed, uri)
		}
	}
	return allowed, nil
}

// maySubscribe takes a subscription to one resource through the door, as if it were asked for alone.
func (s *Server) maySubscribe(ctx context.Context, l *leg, call *wire.Call, uri canon.Value) (bool, error) {
	const method = "resources/subscribe"
	name, ok := uri.Text()
	if !ok {
		return false, nil
	}
	args, err := canon.Parse(slices.Concat([]byte(`{"uri":`), uri.Bytes(), []byte{'}'}))
	if err != nil {
		return false, nil
	}
	g := gate.Call{
		Caller: l.visit.caller, Method: method, Name: name, Tool: methodTool(l.up, method), Args: args, TraceID: traceID(call.Meta),
		Invoke: func(_ context.Context, permit *gate.Permit) (gate.Result, error) {
			_, err := permit.Use(method)
			return gate.Result{Body: []byte(`{}`), Form: gate.Whole}, err
		},
	}
	_, err = s.Door.Do(ctx, g)
	if isDenied(err) {
		return false, nil
	}
	if err != nil {
		return false, outwardOf(g, err)
	}
	return true, nil
}

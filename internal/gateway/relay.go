package gateway

import (
	"context"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/wire"
)

// relayPace says how a request for method is to be run where there are upstreams.
func relayPace(method string) wire.Pace {
	switch method {
	case "initialize", "ping":
		// A client may send its next messages without waiting for the handshake, and they depend on it; so it is done
		// before they are looked at, although it waits for the upstreams. All of it is bounded by time.
		return wire.Immediate
	case "subscriptions/listen":
		return wire.Streaming
	}
	return wire.Relayed
}

// relay answers a request where there are upstreams.
func (s *Server) relay(ctx context.Context, call *wire.Call) (wire.Reply, error) {
	v := s.visit(call.Session)
	if v == nil {
		return wire.Reply{}, &wire.Error{Code: wire.CodeInternal, Message: "the server is shutting down"}
	}
	legacy := call.Era == wire.Legacy
	switch call.Method {
	case "initialize":
		if legacy {
			return s.relayInitialize(ctx, v, call)
		}
	case "ping":
		if legacy {
			return wire.Reply{Result: []byte(`{}`)}, nil
		}
	case "server/discover":
		if !legacy {
			return s.relayDiscover(ctx, v, call)
		}
	case "subscriptions/listen":
		if !legacy {
			return s.relayListen(ctx, v, call)
		}
	case "logging/setLevel":
		if legacy {
			return s.relayLevel(ctx, v, call)
		}
	case "resources/subscribe", "resources/unsubscribe":
		if legacy {
			return s.relayMethod(ctx, v, call)
		}
	case toolList.method:
		return s.relayList(ctx, v, call, toolList)
	case promptList.method:
		return s.relayList(ctx, v, call, promptList)
	case resourceList.method:
		return s.relayList(ctx, v, call, resourceList)
	case templateList.method:
		return s.relayList(ctx, v, call, templateList)
	case "tools/call":
		return s.relayCall(ctx, v, call)
	default:
		if !disguised(call.Method) {
			return s.relayMethod(ctx, v, call)
		}
	}
	// What the other era has (MCP 2026-07-28, changelog).
	return wire.Reply{}, methodNotFound(call.Method)
}

// disguised reports whether a method is spelt so that a careless server could take it for one that is judged by another
// name.
func disguised(method string) bool {
	like := lookalike(strings.TrimSpace(method), "tools/call", "prompts/get", "resources/read", "resources/subscribe",
		"resources/unsubscribe", "completion/complete", "tools/list", "prompts/list", "resources/list",
		"resources/templates/list", "initialize", "server/discover", "subscriptions/listen", "logging/setLevel", "ping",
		"tasks/get", "tasks/list", "tasks/result", "tasks/update", "tasks/cancel")
	return like != "" && like != method
}

// relayCall takes a tools/call through the door. Whether the tool exists and whether its arguments will do is for the
// door to say, so that all who may not call get the same answer.
func (s *Server) relayCall(ctx context.Context, v *visit, call *wire.Call) (wire.Reply, error) {
	name, ok := call.Params.Get("name").Text()
	if !ok {
		return wire.Reply{}, invalid("params.name must be a string")
	}
	if s.tool(name) != nil {
		return s.callOwn(ctx, v, call)
	}
	call, c, err := taken(call)
	if err != nil {
		return wire.Reply{}, err
	}
	p, reply, err := s.callPassage(ctx, v, call, c, name)
	if p == nil || err != nil {
		return reply, err
	}
	return s.pass(ctx, p)
}

// callPassage makes a tools/call ready for the door; nil is a call that has its answer already.
func (s *Server) callPassage(ctx context.Context, v *visit, call *wire.Call, c *consent, name string) (*passage, wire.Reply, error) {
	l, r, err := s.whose(ctx, v, call.Era, toolList, name)
	if ctx.Err() != nil {
		return nil, wire.Reply{}, ctx.Err()
	}
	p := &passage{leg: l, call: call, gate: gate.Call{Name: name, Args: call.Params.Get("arguments")}}
	s.equip(&p.gate, v, call, c)
	switch {
	case err != nil:
		// The policy is asked all the same, and what it refuses is on record.
		p.gate.Tool = methodTool(l.up, name)
		reply, err := s.unreached(ctx, l, call, p.gate, err)
		return nil, reply, err
	case r == nil:
		reply, err := s.unknown(ctx, call, p.gate)
		return nil, reply, err
	}
	p.gate.Tool = r.tool
	p.gate.Refuse = s.refusal(l, r)
	var edits []canon.Edit
	if r.name != name {
		edits = append(edits, canon.Edit{Old: call.Params.Get("name"), New: canon.AppendString(nil, r.name)})
	}
	if p.out, err = outgoing(call.Message, call.Era, edits...); err != nil {
		return nil, wire.Reply{}, err
	}
	if call.Era == wire.Modern {
		p.again = func(ctx context.Context) (wire.Outgoing, bool) { return s.refreshed(ctx, p, r.name) }
		err = p.addHeaders(r)
	}
	return p, wire.Reply{}, err
}

// refreshed is the request of a passage with the headers that its tool wants by now.
func (s *Server) refreshed(ctx context.Context, p *passage, name string) (wire.Outgoing, bool) {
	headers, ok := p.leg.freshHeaders(ctx, name, p.call.Params.Get("arguments"))
	again := p.out
	again.Hear = nil // it was for the connection of the first attempt
	again.ParamHeaders = headers
	return again, ok
}

// addHeaders gives a call the headers that its tool wants, after it has compared them with those that came with it.
func (p *passage) addHeaders(r *row) error {
	headers, err := r.headers()
	if err != nil || len(headers) == 0 {
		return nil // over HTTP such a tool is refused; elsewhere there are no headers
	}
	args := p.call.Params.Get("arguments")
	if p.call.Session.Shared {
		if err := headersAgree(headers, args, p.call.ParamHeaders); err != nil {
			p.mismatch = &wire.Error{Code: wire.CodeHeaderMismatch, Message: err.Error()}
		}
	}
	p.out.ParamHeaders = headerValues(headers, args)
	return nil
}

// refusal returns why a row must not be used, beyond what the policy says; nil if it may.
func (s *Server) refusal(l *leg, r *row) *gate.DeniedError {
	if denied := s.refuse(l.up, r); denied != nil {
		return denied
	}
	if err := r.unfit(l.up); err != nil {
		return &gate.DeniedError{Tool: s.exposed(l.up, r.name), Rule: "schema", Reason: err.Error()}
	}
	return nil
}

// unknown takes a call of what nobody has through the door, which denies and records it.
func (s *Server) unknown(ctx context.Context, call *wire.Call, g gate.Call) (wire.Reply, error) {
	if _, err := s.Door.Do(ctx, g); err != nil {
		return s.turnedDown(call, g, err)
	}
	return wire.Reply{}, outwardOf(g, &gate.DeniedError{Tool: g.Name, Rule: "unknown", Hidden: true})
}

// unreached takes a call through the door of which it is known that it will not reach its upstream.
func (s *Server) unreached(ctx context.Context, l *leg, call *wire.Call, g gate.Call, why error) (wire.Reply, error) {
	l.log("an upstream's list could not be read", "error", why)
	g.Invoke = func(context.Context, *gate.Permit) (gate.Result, error) {
		return gate.Result{}, &gate.NotDone{Err: why}
	}
	result, err := s.Door.Do(ctx, g)
	if err != nil {
		return s.turnedDown(call, g, err)
	}
	return s.reply(call, wire.Incoming{}, result) // the answer to an earlier attempt
}

// whose finds the leg and the row of what clients know by name; the row is nil if nobody has it, or if it cannot be told
// who. With an error the leg is that of a server which should have it and could not be asked.
func (s *Server) whose(ctx context.Context, v *visit, era wire.Era, of list, name string) (*leg, *row, error) {
	legs := v.legsFor(era)
	if s.single() {
		r, err := legs[0].catalog.find(ctx, of, name)
		return legs[0], r, err
	}
	var owner *leg
	var found *row
	for _, l := range legs {
		own, ok := strings.CutPrefix(name, l.up.Name()+separator)
		if !ok {
			continue
		}
		r, err := l.catalog.find(ctx, of, own)
		switch {
		case err != nil:
			return l, nil, err
		case r != nil && found != nil:
			l.warnOnce("a name is two servers': it is refused", "name", cut(name))
			return nil, nil, nil
		case r != nil:
			owner, found = l, r
		}
	}
	return owner, found, nil
}

// relayLevel takes a client's wish for log messages through the door, and to all upstreams that have any.
func (s *Server) relayLevel(ctx context.Context, v *visit, call *wire.Call) (wire.Reply, error) {
	if s.single() {
		return s.relayMethod(ctx, v, call)
	}
	out, err := outgoing(call.Message, call.Era)
	if err != nil {
		return wire.Reply{}, err
	}
	legs := v.legsFor(call.Era)
	g := gate.Call{Method: call.Method, Tool: methodTool(legs[0].up, call.Method), Args: call.Params}
	s.equip(&g, v, call, nil)
	g.Invoke = func(ctx context.Context, permit *gate.Permit) (gate.Result, error) {
		if _, err := permit.Use(g.Tool.Name); err != nil {
			return gate.Result{}, err
		}
		for _, l := range legs {
			if l.declares("logging", "") {
				if _, err := l.forward(ctx, call, out); err != nil {
					return gate.Result{}, err
				}
			}
		}
		return gate.Result{Body: []byte(`{}`), Form: gate.Whole}, nil
	}
	result, err := s.Door.Do(ctx, g)
	if err != nil {
		return s.turnedDown(call, g, err)
	}
	return s.reply(call, wire.Incoming{}, result)
}

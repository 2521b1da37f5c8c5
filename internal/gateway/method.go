package gateway

import (
	"context"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/wire"
)

// relayMethod takes a request other than a tools/call through the door to the upstream that it is for.
func (s *Server) relayMethod(ctx context.Context, v *visit, call *wire.Call) (wire.Reply, error) {
	call, c, err := taken(call)
	if err != nil {
		return wire.Reply{}, err
	}
	g := gate.Call{Method: call.Method, Args: call.Params}
	s.equip(&g, v, call, c)
	t, err := s.target(ctx, v, call)
	if ctx.Err() != nil {
		return wire.Reply{}, ctx.Err()
	}
	g.Name = t.name
	if t.leg == nil {
		if err == nil {
			err = methodNotFound(call.Method)
		}
		if t.missing {
			return s.absent(ctx, v, call, g, err)
		}
		return wire.Reply{}, err
	}
	g.Tool = methodTool(t.leg.up, call.Method)
	if err != nil {
		return s.unreached(ctx, t.leg, call, g, err)
	}
	g.Refuse = t.refuse
	out, err := outgoing(call.Message, call.Era, t.edits...)
	if err != nil {
		return wire.Reply{}, err
	}
	return s.pass(ctx, &passage{leg: t.leg, call: call, out: out, gate: g})
}

// absent takes a request for what no server has through the door: whoever may not ask gets the answer that he would get if it
// were there, and the attempt is on record.
func (s *Server) absent(ctx context.Context, v *visit, call *wire.Call, g gate.Call, missing error) (wire.Reply, error) {
	g.Tool = methodTool(v.legsFor(call.Era)[0].up, call.Method)
	g.Invoke = func(context.Context, *gate.Permit) (gate.Result, error) {
		return gate.Result{}, &gate.NotDone{Err: missing}
	}
	_, err := s.Door.Do(ctx, g)
	if isDenied(err) || isAsked(err) {
		return s.turnedDown(call, g, err)
	}
	return wire.Reply{}, missing
}

// target is what a request other than a tools/call is for.
type target struct {
	leg     *leg
	name    string // of the prompt, or the URI of the resource
	edits   []canon.Edit
	refuse  *gate.DeniedError
	missing bool // there is no such thing
}

// target finds out which upstream a request is for. Where there is none, the error is for the client.
func (s *Server) target(ctx context.Context, v *visit, call *wire.Call) (target, error) {
	legs := v.legsFor(call.Era)
	switch method := call.Method; {
	case method == promptList.use:
		return s.promptTarget(ctx, v, call, call.Params.Get("name"))
	case method == resourceList.use, method == "resources/subscribe", method == "resources/unsubscribe":
		return s.resourceTarget(ctx, legs, call, call.Params.Get("uri"))
	case method == "completion/complete":
		ref := call.Params.Get("ref")
		if uri := ref.Get("uri"); uri.Exists() {
			return s.resourceTarget(ctx, legs, call, uri)
		}
		return s.promptTarget(ctx, v, call, ref.Get("name"))
	case strings.HasPrefix(method, "tasks/"):
		return s.taskTarget(legs, call)
	case s.single():
		return target{leg: legs[0]}, nil
	}
	return target{}, methodNotFound(call.Method)
}

// pinned reports whether the lock speaks of an upstream.
func (s *Server) pinned(up Upstream) bool {
	if s.Lock == nil {
		return false
	}
	lock := s.Lock()
	return lock != nil && lock.Pins(up.Name())
}

func (s *Server) promptTarget(ctx context.Context, v *visit, call *wire.Call, named canon.Value) (target, error) {
	name, ok := named.Text()
	switch {
	case !ok && s.single():
		return target{leg: v.legsFor(call.Era)[0]}, nil // the server may say what is wrong with it
	case !ok:
		return target{}, invalid("the prompt's name must be a string")
	case s.single() && !s.pinned(v.legsFor(call.Era)[0].up):
		return target{leg: v.legsFor(call.Era)[0], name: name}, nil
	}
	l, r, err := s.whose(ctx, v, call.Era, promptList, name)
	t := target{leg: l, name: name}
	switch {
	case err != nil:
		return t, err
	case r != nil:
		t.refuse = s.refuse(l.up, r)
		if r.name != name {
			t.edits = []canon.Edit{{Old: named, New: canon.AppendString(nil, r.name)}}
		}
	case s.single():
		t.refuse = &gate.DeniedError{Tool: name, Rule: "pin", Reason: "not pinned: run sallyport pin"}
	default:
		return target{name: name, missing: true}, invalid("there is no such prompt: " + cut(name))
	}
	return t, nil
}

func (s *Server) resourceTarget(ctx context.Context, legs []*leg, call *wire.Call, named canon.Value) (target, error) {
	uri, ok := named.Text()
	switch {
	case s.single():
		return target{leg: legs[0], name: uri}, nil
	case !ok:
		return target{}, invalid("the resource's uri must be a string")
	}
	l, err := s.holder(ctx, legs, uri)
	if l == nil && err == nil {
		return target{name: uri, missing: true}, noResource(call.Era, uri)
	}
	return target{leg: l, name: uri}, err
}

// noResource is the error of a resource that no server has (MCP 2026-07-28, server/resources, and 2025-11-25 before it).
func noResource(era wire.Era, uri string) *wire.Error {
	code := wire.CodeInvalidParams
	if era == wire.Legacy {
		code = -32002
	}
	return &wire.Error{Code: code, Message: "there is no such resource", Data: append(canon.AppendString([]byte(`{"uri":`), cut(uri)), '}')}
}

// holder finds the leg that a resource is behind: of the server that lists it, else of the one that has the template
// which fits best, else of the only one that has resources at all; nil if it cannot be told.
func (s *Server) holder(ctx context.Context, legs []*leg, uri string) (*leg, error) {
	if s.single() {
		return legs[0], nil
	}
	var holding []*leg
	var failed error
	for _, l := range legs {
		if _, err := l.open(ctx); err != nil {
			failed = err
		} else if l.declares("resources", "") {
			holding = append(holding, l)
		}
	}
	for _, l := range holding {
		if r, err := l.catalog.find(ctx, resourceList, uri); err == nil && r != nil {
			return l, nil
		}
	}
	var best *leg
	longest := -1
	for _, l := range holding {
		rows, err := l.catalog.recent(ctx, templateList)
		if err != nil {
			continue
		}
		for _, r := range rows {
			if literal, ok := fits(r.name, uri); ok && literal > longest {
				best, longest = l, literal
			}
		}
	}
	switch {
	case best != nil:
		return best, nil
	case len(holding) == 1 && failed == nil:
		return holding[0], nil
	}
	return nil, nil
}

// fits reports whether a URI could be made of a template (RFC 6570), and how much of it is literal. What an expression
// may stand for is not looked at: any text will do.
func fits(template, uri string) (literal int, ok bool) {
	first := true
	for {
		text, rest, more := strings.Cut(template, "{")
		switch {
		case first && !strings.HasPrefix(uri, text):
			return 0, false
		case first:
			uri = uri[len(text):]
		case !more:
			return literal + len(text), strings.HasSuffix(uri, text)
		default:
			at := strings.Index(uri, text)
			if at < 0 {
				return 0, false
			}
			uri = uri[at+len(text):]
		}
		literal += len(text)
		if !more {
			return literal, uri == ""
		}
		first = false
		if _, template, more = strings.Cut(rest, "}"); !more {
			return 0, false
		}
	}
}

// taskTarget finds the upstream that a task belongs to. A handle is good for the principal only that began the task, and
// no longer than the tool may be called.
func (s *Server) taskTarget(legs []*leg, call *wire.Call) (target, error) {
	id, ok := call.Params.Get("taskId").Text()
	local := s.single() && call.Session.Principal == localPrincipal // there is nobody else whose task it could be
	if !ok {
		if local {
			return target{leg: legs[0]}, nil
		}
		return target{}, methodNotFound(call.Method) // tasks/list would show those of others
	}
	of, known := s.tasks.owner(task{caller: legs[0].visit.caller, id: id})
	switch {
	case !known && local:
		return target{leg: legs[0]}, nil
	case !known:
		return target{}, invalid("there is no such task")
	}
	for _, l := range legs {
		if l.up.Name() != of.upstream {
			continue
		}
		t := target{leg: l}
		if of.tool != nil && !s.Door.Visible(l.visit.caller, of.tool) {
			t.refuse = &gate.DeniedError{Tool: call.Method, Rule: "task", Reason: "the tool that began the task is denied"}
		}
		return t, nil
	}
	return target{}, invalid("there is no such task")
}

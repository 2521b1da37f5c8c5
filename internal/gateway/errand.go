package gateway

import (
	"context"
	"errors"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/wire"
)

// errand is a tools/call of our own to an upstream: one that looks at what another call left, or one of a caller inside
// of this process. Nobody hears what the upstream says meanwhile, and what it asks is refused.
type errand struct {
	leg   *leg
	row   *row
	label string
	args  canon.Value
}

// errVisitOver says that there is no way to the upstreams any more.
var errVisitOver = errors.New("the client's session is over")

// inward returns a call of a tool, by its exposed name, that is made from inside: on behalf of a caller, over the legs
// that a visit has for an era. label, if it is not empty, names the call in its _meta. The call of a tool that does not
// exist has no Tool, for the door to deny it. An error says that it cannot be told which tool that is, or that nothing
// can be sent; the call is then one to the server in question if it has a Tool. v is nil where there are no upstreams.
func (s *Server) inward(ctx context.Context, who gate.Caller, v *visit, era wire.Era, name, label string, args canon.Value) (gate.Call, error) {
	if args.Kind() == canon.Null {
		args = canon.Value{} // as at the door
	}
	g := gate.Call{Caller: who, Name: name, Args: args}
	var err error
	if t := s.tool(name); t != nil {
		g.Tool = t
		g.Meta, err = s.labelled(label)
		return g, err
	}
	if v == nil {
		return g, nil
	}
	if v.life.Err() != nil {
		return g, errVisitOver
	}
	l, r, err := s.whose(ctx, v, era, toolList, name)
	switch {
	case err != nil:
		g.Tool = methodTool(l.up, name)
		return g, err
	case r == nil:
		return g, nil
	}
	g.Tool, g.Refuse = r.tool, s.refusal(l, r)
	e := &errand{leg: l, row: r, label: label, args: args}
	request, err := e.request()
	g.Meta, g.Invoke = request.Params.Get("_meta"), e.invoke
	return g, err
}

// request is the request under an id that none had before.
func (e *errand) request() (wire.Outgoing, error) {
	return readRequest(e.leg.visit.server.toolRequest(e.leg.era, e.row.name, e.label, e.args), e.leg.era)
}

// invoke is gate.Call.Invoke. It sends the request, once more where its headers were refused, which happens before
// anything is done.
func (e *errand) invoke(ctx context.Context, p *gate.Permit) (gate.Result, error) {
	if _, err := p.Use(e.row.tool.Name); err != nil {
		return gate.Result{}, err
	}
	out, err := e.request()
	if err != nil {
		return gate.Result{}, &gate.NotDone{Err: err}
	}
	if headers, err := e.row.headers(); err == nil && e.leg.era == wire.Modern {
		out.ParamHeaders = headerValues(headers, e.args)
	}
	out.Meanwhile = p.Meanwhile
	got, err := e.send(ctx, out)
	if headersRefused(err) {
		fresh, again := e.leg.freshHeaders(ctx, e.row.name, e.args)
		if !again {
			return gate.Result{}, err
		}
		out.ParamHeaders = fresh
		got, err = e.send(ctx, out)
	}
	if err != nil {
		return gate.Result{}, err
	}
	return resultOf(got), nil
}

// send is leg.carry for what nobody hears.
func (e *errand) send(ctx context.Context, out wire.Outgoing) (wire.Incoming, error) {
	l := e.leg
	out.Within = l.visit.server.callTimeout()
	c, err := l.ready(ctx, nil, &out)
	if err != nil {
		return wire.Incoming{}, l.carried(ctx, err)
	}
	out.Hear = func(in wire.Incoming) { l.unheard(c, in) }
	got, err := c.link.Call(ctx, out)
	if err != nil {
		return wire.Incoming{}, l.carried(ctx, err)
	}
	return got, nil
}

// unheard deals with what an upstream says while it carries out an errand.
func (l *leg) unheard(c *connection, in wire.Incoming) {
	defer l.visit.server.recovered()
	switch in.Kind {
	case wire.Request:
		l.refuseAsk(c, in, &wire.Error{Code: wire.CodeMethodNotFound, Message: "nobody can be asked on behalf of this call: " + cut(in.Method)})
	case wire.Notification:
		l.note(in.Method)
	}
}

// toolRequest spells a tools/call of our own.
func (s *Server) toolRequest(era wire.Era, name, label string, args canon.Value) []byte {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), s.ownIDText()...)
	line = canon.AppendString(append(line, `,"method":"tools/call","params":{"name":`...), name)
	if args.Exists() {
		line = append(append(line, `,"arguments":`...), args.Bytes()...)
	}
	var meta []byte
	if label != "" {
		meta = canon.AppendString([]byte(`"`+wire.MetaRequestID+`":`), label)
	}
	if era == wire.Modern {
		if meta != nil {
			meta = append(meta, ',')
		}
		meta = s.appendOwnMeta(meta)
	}
	if meta != nil {
		line = append(append(append(line, `,"_meta":{`...), meta...), '}')
	}
	return onOneLine(append(line, "}}"...))
}

// labelled is the _meta of a call of a tool of our own; absent if there is no label.
func (s *Server) labelled(label string) (canon.Value, error) {
	if label == "" {
		return canon.Value{}, nil
	}
	return canon.Parse(append(canon.AppendString([]byte(`{"`+wire.MetaRequestID+`":`), label), '}'))
}

// freshHeaders are the headers that a tool wants by now for these arguments; false if it may not be used any more.
func (l *leg) freshHeaders(ctx context.Context, name string, args canon.Value) (map[string]string, bool) {
	l.catalog.forget()
	fresh, err := l.catalog.find(ctx, toolList, name)
	if err != nil || fresh == nil || l.visit.server.refuse(l.up, fresh) != nil {
		return nil, false
	}
	headers, err := fresh.headers()
	return headerValues(headers, args), err == nil
}

package gateway

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/wire"
)

// relayList answers a request for a list: one page of the single server's with what may not be seen left out, or the
// whole lists of all servers put together.
func (s *Server) relayList(ctx context.Context, v *visit, call *wire.Call, of list) (wire.Reply, error) {
	if !s.single() {
		return s.mergeLists(ctx, v, call, of)
	}
	l := v.legsFor(call.Era)[0]
	out, err := outgoing(call.Message, call.Era)
	if err != nil {
		return wire.Reply{}, err
	}
	epoch := l.catalog.now()
	in, err := l.forward(ctx, call, out)
	if err != nil || in.Error.Exists() {
		return wire.Reply{Line: in.Line}, err
	}
	page, err := l.readPage(of, in.Result)
	if err != nil {
		l.log("an upstream's list is not shown", "list", of.method, "reason", err)
		return wire.Reply{}, &wire.Error{Code: wire.CodeInternal, Message: "the server's answer cannot be read in one way only"}
	}
	cursor, next := call.Params.Get("cursor"), member(in.Result, "nextCursor")
	l.asSeen(of, page)
	shown := l.catalog.take(of, page, !cursor.Exists(), next.Kind() != canon.String, epoch)
	return s.screened(l, call, of, in, shown)
}

// screened is the answer in with those rows only that may be seen. All its other bytes stay.
func (s *Server) screened(l *leg, call *wire.Call, of list, in wire.Incoming, rows []*row) (wire.Reply, error) {
	array, err := rowsOf(of, in.Result)
	if err != nil {
		return wire.Reply{}, err
	}
	var kept [][]byte
	all := true
	i := 0
	for element := range array.Elements() {
		if r := rows[i]; r != nil && s.visibleRow(l, r) {
			kept = append(kept, element.Bytes())
		} else {
			all = false
		}
		i++
	}
	edits := s.private(call, in.Result)
	if !all {
		edits = append(edits, canon.Edit{Old: array, New: slices.Concat([]byte{'['}, bytes.Join(kept, []byte{','}), []byte{']'})})
	}
	if edits == nil {
		return wire.Reply{Line: in.Line}, nil
	}
	return wire.Reply{Line: canon.Splice(in.Line, edits...)}, nil
}

// private makes an answer that depends on who asks one that is for nobody else (MCP 2026-07-28, server/utilities/caching).
func (s *Server) private(call *wire.Call, result canon.Value) (edits []canon.Edit) {
	if call.Session.Principal == localPrincipal {
		return nil
	}
	for name, scope := range result.Members() {
		if text, _ := scope.Text(); name == "cacheScope" && text != "private" {
			edits = append(edits, canon.Edit{Old: scope, New: []byte(`"private"`)})
		}
	}
	return edits
}

// privately is private for the body of a result.
func (s *Server) privately(call *wire.Call, body []byte) []byte {
	result, err := canon.Skim(body)
	if err != nil {
		return body
	}
	if edits := s.private(call, result); edits != nil {
		return canon.Splice(body, edits...)
	}
	return body
}

// localPrincipal is who asks over a pipe. There is nobody else then.
const localPrincipal = "local"

// visibleRow reports whether a client may see a row, and notes it as what the client was told.
func (s *Server) visibleRow(l *leg, r *row) bool {
	visible := s.maySee(l, r)
	r.told.Store(toldWord(visible))
	return visible
}

// What a client was told of a row, in row.told.
const (
	toldNothing = iota
	toldHidden
	toldShown
)

func toldWord(visible bool) int32 {
	if visible {
		return toldShown
	}
	return toldHidden
}

// refreshed reports whether what may be seen of the upstream's tools is no longer what the client was told.
func (l *leg) refreshed() (changed bool) {
	for _, r := range l.catalog.kept(toolList) {
		told := r.told.Load()
		if now := toldWord(l.visit.server.maySee(l, r)); told != toldNothing && told != now {
			r.told.Store(now)
			changed = true
		}
	}
	return changed
}

// maySee reports whether a client may see a row: the policy could allow its use, the lock knows it, and it is fit to be
// used.
func (s *Server) maySee(l *leg, r *row) bool {
	switch {
	case r.tool != nil && !s.Door.Visible(l.visit.caller, r.tool):
		return false
	case r.tool == nil && !s.Door.MethodVisible(l.visit.caller, r.list.use):
		return false
	}
	if denied := s.refuse(l.up, r); denied != nil {
		l.warnOnce("a row of an upstream's list is not shown", "list", r.list.method, "name", cut(r.name), "reason", denied.Reason)
		return false
	}
	if err := r.unfit(l.up); err != nil {
		l.warnOnce("a row of an upstream's list is not shown", "list", r.list.method, "name", cut(r.name), "reason", err)
		return false
	}
	return true
}

// mergeLists answers with the lists of all servers, ours first, as one page. A server that does not answer is left out.
func (s *Server) mergeLists(ctx context.Context, v *visit, call *wire.Call, of list) (wire.Reply, error) {
	if cursor := call.Params.Get("cursor"); cursor.Exists() {
		// We give no cursors, so only that of the first page can be ours.
		if text, ok := cursor.Text(); !ok || text != "" {
			return wire.Reply{}, invalid("params.cursor is not a cursor of this server")
		}
	}
	legs := v.legsFor(call.Era)
	lists := s.gather(ctx, legs, of)
	if ctx.Err() != nil {
		return wire.Reply{}, ctx.Err()
	}
	body := append(canon.AppendString([]byte(`{`), of.member), ":["...)
	body = append(body, bytes.Join(s.mergedRows(v.caller, of, legs, lists), []byte{','})...)
	body = append(body, ']')
	if call.Era == wire.Modern {
		body = append(body, uncached...)
	}
	result, err := s.complete(call, append(body, '}'), nil)
	return wire.Reply{Result: result}, err
}

// mergedRows are the rows of all lists that may be seen, under the names that they have there. Where two servers' names
// come to the same, neither can be called; of two resources with the same URI the first counts.
func (s *Server) mergedRows(who gate.Caller, of list, legs []*leg, lists [][]*row) (rows [][]byte) {
	taken := make(map[string]int) // how many have that name
	if of.member == toolList.member {
		for _, t := range s.visible(who) {
			rows = append(rows, t.Definition)
		}
		for _, t := range s.Tools {
			taken[t.Name]++
		}
	}
	for i, list := range lists {
		for _, r := range list {
			taken[s.listed(legs[i], r)]++
		}
	}
	told := make(map[string]bool)
	for i, list := range lists {
		for _, r := range list {
			name := s.listed(legs[i], r)
			first := !told[name]
			told[name] = true
			switch {
			case of.prefixed() && taken[name] > 1:
				legs[i].warnOnce("a row of an upstream's list is not shown", "list", of.method, "name", cut(name),
					"reason", "two servers' names come to the same")
			case first && s.visibleRow(legs[i], r):
				rows = append(rows, renamed(r, name))
			}
		}
	}
	return rows
}

// gather reads a list of all legs at once, and gives those who are slow only so long.
func (s *Server) gather(ctx context.Context, legs []*leg, of list) [][]*row {
	ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	lists := make([][]*row, len(legs))
	var group sync.WaitGroup
	for i, l := range legs {
		group.Go(func() {
			defer s.recovered()
			rows, err := l.catalog.all(ctx, of)
			if err != nil {
				l.log("an upstream is left out of a list", "list", of.method, "error", err)
				return
			}
			lists[i] = rows
		})
	}
	group.Wait()
	return lists
}

// listed is the name of a row among those of all servers.
func (s *Server) listed(l *leg, r *row) string {
	if r.list.prefixed() {
		return s.exposed(l.up, r.name)
	}
	return r.name
}

// renamed is the row under another name; all its other bytes stay.
func renamed(r *row, name string) []byte {
	if name == r.name {
		return r.raw
	}
	v, err := canon.Parse(r.raw)
	if err != nil {
		return r.raw
	}
	return canon.Splice(r.raw, canon.Edit{Old: v.Get(r.list.key), New: canon.AppendString(nil, name)})
}

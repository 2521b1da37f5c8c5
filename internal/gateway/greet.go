package gateway

import (
	"context"
	"errors"
	"strings"
	"sync"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// relayInitialize is the handshake of the legacy era. It goes to the single server, or to all of them, as it came; the
// single server's answer is ours. Done again, it begins anew.
func (s *Server) relayInitialize(ctx context.Context, v *visit, call *wire.Call) (wire.Reply, error) {
	requested, ok := call.Params.Get("protocolVersion").Text()
	if !ok {
		return wire.Reply{}, invalid("params.protocolVersion must be a string")
	}
	hello, err := outgoing(call.Message, wire.Legacy)
	if err != nil {
		return wire.Reply{}, err
	}
	call.Session.Declare(elicits(call.Params.Get("capabilities")))
	v.mu.Lock()
	again := v.hello != nil
	v.hello, v.opened = hello.Line, nil
	v.mu.Unlock()
	legs := v.legsFor(wire.Legacy)
	if again {
		for _, l := range legs {
			l.restart()
		}
	}
	if s.single() {
		return s.singleInitialize(ctx, legs[0], call)
	}
	s.openAll(ctx, legs)
	if ctx.Err() != nil {
		return wire.Reply{}, ctx.Err()
	}
	body := canon.AppendString([]byte(`{"protocolVersion":`), call.Session.Initialize(requested))
	body = s.appendCapabilities(append(body, `,"capabilities":`...), legs)
	body = s.appendInfo(append(body, `,"serverInfo":`...))
	return wire.Reply{Result: append(s.appendAllInstructions(body, legs), '}')}, nil
}

// singleInitialize answers with what the single server says to the client's handshake.
func (s *Server) singleInitialize(ctx context.Context, l *leg, call *wire.Call) (wire.Reply, error) {
	c, err := l.open(ctx)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		return wire.Reply{Line: refused.answer.Line}, nil
	case err != nil:
		return wire.Reply{}, l.outward(ctx, &wire.NotSentError{Err: err})
	}
	version, _ := member(c.welcome.Result, "protocolVersion").Text()
	call.Session.Initialize(version)
	return wire.Reply{Line: underID(c.welcome, call.ID)}, nil
}

// openAll opens the legs at once, and gives those who are slow only so long: they come later.
func (s *Server) openAll(ctx context.Context, legs []*leg) {
	ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	var group sync.WaitGroup
	for _, l := range legs {
		group.Go(func() {
			defer s.recovered()
			if _, err := l.open(ctx); err != nil && ctx.Err() != nil {
				l.log("an upstream is slow to open: its tools will come later")
			}
		})
	}
	group.Wait()
}

// relayDiscover tells a modern client what it may count on.
func (s *Server) relayDiscover(ctx context.Context, v *visit, call *wire.Call) (wire.Reply, error) {
	legs := v.legsFor(wire.Modern)
	if !s.single() {
		s.openAll(ctx, legs)
		if ctx.Err() != nil {
			return wire.Reply{}, ctx.Err()
		}
		body := canon.AppendString([]byte(`{"supportedVersions":[`), modernVersion)
		body = s.appendCapabilities(append(body, `],"capabilities":`...), legs)
		body = append(s.appendAllInstructions(body, legs), uncached...)
		result, err := s.complete(call, append(body, '}'), nil)
		return wire.Reply{Result: result}, err
	}
	out, err := outgoing(call.Message, wire.Modern)
	if err != nil {
		return wire.Reply{}, err
	}
	in, err := legs[0].forward(ctx, call, out)
	if err != nil || in.Error.Exists() {
		return wire.Reply{Line: in.Line}, err
	}
	edits := append(s.private(call, in.Result), spoken(in.Result)...)
	if edits == nil {
		return wire.Reply{Line: in.Line}, nil
	}
	return wire.Reply{Line: canon.Splice(in.Line, edits...)}, nil
}

// spoken takes those versions out of a server's answer that we do not speak: a client that chose one would not get
// through.
func spoken(result canon.Value) (edits []canon.Edit) {
	ours, err := canon.Parse(wire.AppendVersions(nil))
	if err != nil {
		return nil
	}
	speak := make(map[string]bool)
	for version := range ours.Elements() {
		name, _ := version.Text()
		speak[name] = true
	}
	for name, versions := range result.Members() {
		if name != "supportedVersions" || versions.Kind() != canon.Array {
			continue
		}
		kept, all := []byte{'['}, true
		for version := range versions.Elements() {
			if name, _ := version.Text(); !speak[name] {
				all = false
				continue
			}
			if len(kept) > 1 {
				kept = append(kept, ',')
			}
			kept = append(kept, version.Bytes()...)
		}
		if !all {
			edits = append(edits, canon.Edit{Old: versions, New: append(kept, ']')})
		}
	}
	return edits
}

// appendCapabilities appends what several servers can do together: what any of them can. Extensions are between a client
// and one server, so there are none.
func (s *Server) appendCapabilities(dst []byte, legs []*leg) []byte {
	any := func(capability, feature string) bool {
		for _, l := range legs {
			if l.declares(capability, feature) {
				return true
			}
		}
		return false
	}
	dst = append(dst, `{"tools":{"listChanged":true}`...)
	if any("prompts", "") {
		dst = append(dst, `,"prompts":{"listChanged":true}`...)
	}
	if any("resources", "") {
		dst = append(dst, `,"resources":{"listChanged":true`...)
		if any("resources", "subscribe") {
			dst = append(dst, `,"subscribe":true`...)
		}
		dst = append(dst, '}')
	}
	for _, capability := range []string{"completions", "logging"} {
		if any(capability, "") {
			dst = append(append(append(dst, `,"`...), capability...), `":{}`...)
		}
	}
	return append(dst, '}')
}

// appendAllInstructions appends our own instructions and those of all servers, under their names, if there are any.
func (s *Server) appendAllInstructions(dst []byte, legs []*leg) []byte {
	var parts []string
	if s.Instructions != "" {
		parts = append(parts, s.Instructions)
	}
	for _, l := range legs {
		l.mu.Lock()
		c := l.conn
		l.mu.Unlock()
		if c == nil {
			continue
		}
		if text, _ := member(c.welcome.Result, "instructions").Text(); text != "" {
			parts = append(parts, l.up.Name()+": "+text)
		}
	}
	if len(parts) == 0 {
		return dst
	}
	return canon.AppendString(append(dst, `,"instructions":`...), strings.Join(parts, "\n\n"))
}

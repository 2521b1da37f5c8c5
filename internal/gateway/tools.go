package gateway

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/wire"
)

// listTools lists the tools that the client may see, on one page.
func (s *Server) listTools(_ context.Context, call *wire.Call) ([]byte, error) {
	if cursor := call.Params.Get("cursor"); cursor.Exists() {
		// We give no cursors, so only that of the first page can be ours.
		if text, ok := cursor.Text(); !ok || text != "" {
			return nil, invalid("params.cursor is not a cursor of this server")
		}
	}
	body := []byte(`{"tools":[`)
	for i, tool := range s.visible(callerOf(call.Session)) {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, tool.Definition...)
	}
	body = append(body, ']')
	if call.Era == wire.Modern {
		body = append(body, uncached...)
	}
	return s.complete(call, append(body, '}'), nil)
}

// visible returns the tools of our own that a caller may see, in order.
func (s *Server) visible(who gate.Caller) []*gate.Tool {
	var tools []*gate.Tool
	for _, tool := range s.Tools {
		if s.Door.Visible(who, tool) {
			tools = append(tools, tool)
		}
	}
	return tools
}

// callTool takes a call through the door. Whether the tool exists and whether its arguments will do is for the door to
// say, so that all who may not call get the same answer.
func (s *Server) callTool(ctx context.Context, call *wire.Call) ([]byte, error) {
	reply, err := s.callOwn(ctx, nil, call)
	return reply.Result, err
}

// callOwn is callTool for a client with a visit, nil where there are no upstreams.
func (s *Server) callOwn(ctx context.Context, v *visit, call *wire.Call) (wire.Reply, error) {
	name, ok := call.Params.Get("name").Text()
	if !ok {
		return wire.Reply{}, invalid("params.name must be a string")
	}
	call, c, err := taken(call)
	if err != nil {
		return wire.Reply{}, err
	}
	g := gate.Call{Name: name, Tool: s.tool(name), Args: call.Params.Get("arguments")}
	s.equip(&g, v, call, c)
	result, err := s.Door.Do(ctx, g)
	if err != nil {
		return s.turnedDown(call, g, err)
	}
	body, err := s.completed(call, result)
	return wire.Reply{Result: body}, err
}

// tool returns the tool of exactly that name, nil if there is none.
func (s *Server) tool(name string) *gate.Tool {
	for _, tool := range s.Tools {
		if tool.Name == name {
			return tool
		}
	}
	return nil
}

// outward returns what a client is told when a call of the tool name fails. Of a tool that it cannot see it learns no
// more than of one that does not exist.
func outward(name string, err error) error {
	var (
		denied      *gate.DeniedError
		unavailable *gate.UnavailableError
	)
	switch {
	case errors.As(err, &denied):
		answer := invalid("tool denied: " + cut(name))
		if !denied.Hidden {
			data := canon.AppendString([]byte(`{"rule":`), denied.Rule)
			data = canon.AppendString(append(data, `,"reason":`...), denied.Reason)
			answer.Data = append(data, '}')
		}
		return answer
	case errors.As(err, &unavailable):
		return &wire.Error{Code: wire.CodeInternal, Message: unavailable.Error()}
	}
	return err
}

func invalid(message string) *wire.Error {
	return &wire.Error{Code: wire.CodeInvalidParams, Message: message}
}

// cut returns a name that a client sent as it goes back in a message: whole, unless it is longer than any real one.
func cut(name string) string {
	const most = 256
	if len(name) <= most {
		return name
	}
	end := most
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}

// complete makes a result's body the result that the era of the call asks for. The modern one says that it is complete
// and who made it (MCP 2026-07-28, basic/index, Per-response protocol fields), and bears the id of the subscription
// that it ends, if any. The body is a JSON object without those members, and goes out as it is.
func (s *Server) complete(call *wire.Call, body, subscription []byte) ([]byte, error) {
	body = bytes.TrimSpace(body)
	if len(body) < 2 || body[0] != '{' || body[len(body)-1] != '}' {
		return nil, errors.New("the body of a result is not an object")
	}
	if call.Era != wire.Modern {
		return body, nil
	}
	result := make([]byte, 0, len(body)+256)
	result = append(result, `{"resultType":"complete",`...)
	if members := body[1 : len(body)-1]; len(bytes.TrimSpace(members)) > 0 {
		result = append(append(result, members...), ',')
	}
	result = append(result, `"_meta":{`...)
	if subscription != nil {
		result = append(append(result, `"`+wire.MetaSubscriptionID+`":`...), subscription...)
		result = append(result, ',')
	}
	result = append(result, `"`+wire.MetaServerInfo+`":`...)
	return append(s.appendInfo(result), "}}"...), nil
}

// traceID returns the trace id of a request's traceparent, "" if there is none or it is not valid (W3C Trace Context,
// section 3.2: version 00 is exactly "00-TRACE-PARENT-FLAGS", later ones may go on after another dash).
func traceID(meta canon.Value) string {
	const size = len("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
	text, _ := meta.Get(wire.MetaTraceParent).Text()
	if len(text) < size || len(text) > size && text[size] != '-' {
		return ""
	}
	version, trace, parent, flags := text[:2], text[3:35], text[36:52], text[53:size]
	switch {
	case text[2] != '-' || text[35] != '-' || text[52] != '-':
		return ""
	case !isHex(version) || version == "ff" || version == "00" && len(text) > size:
		return ""
	case !isHex(trace) || allZero(trace) || !isHex(parent) || allZero(parent) || !isHex(flags):
		return ""
	}
	return trace
}

// isHex reports whether text has lower-case hexadecimal digits only.
func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

func allZero(text string) bool { return strings.Trim(text, "0") == "" }

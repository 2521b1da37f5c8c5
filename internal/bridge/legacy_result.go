package bridge

import (
	"strconv"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// finish turns the server's result into one that a legacy client can read. Members that it does not know may stay.
func (l *Legacy) finish(method string, in wire.Incoming) wire.Incoming {
	var changed []byte
	switch method {
	case "tools/list":
		changed = editRows(in.Result, objectOutput)
		if len(changed) == len(in.Result.Bytes()) {
			return in // each edit takes something away
		}
	case "tools/call":
		if changed = objectContent(in.Result); changed == nil {
			return in
		}
		l.opt.Log.Info("took structured content out of a result that is no object: the client's version has no such")
	default:
		return in
	}
	return scanned(canon.Splice(in.Line, canon.Edit{Old: in.Result, New: changed}))
}

// objectOutput takes away a tool's output schema that is not one for objects: up to 2025-11-25 there are no others.
func objectOutput(row canon.Value) []byte {
	schema := row.Get("outputSchema")
	if kind, _ := schema.Get("type").Text(); !schema.Exists() || kind == "object" {
		return nil
	}
	rest, _ := Without(row, oneOf("outputSchema"))
	return rest
}

// objectContent takes away structured content that is not an object, and sees to it that the result has it as text.
// It returns nil if there is none.
func objectContent(result canon.Value) []byte {
	structured := result.Get("structuredContent")
	if !structured.Exists() || structured.Kind() == canon.Object {
		return nil
	}
	rest, _ := Without(result, oneOf("structuredContent"))
	content := result.Get("content")
	for range content.Elements() {
		return rest
	}
	text := canon.AppendString([]byte(`[{"type":"text","text":`), string(structured.Bytes()))
	text = append(text, `}]`...)
	stripped, err := canon.Skim(rest)
	if err != nil {
		return rest
	}
	if content := stripped.Get("content"); content.Exists() {
		return canon.Splice(rest, canon.Edit{Old: content, New: text})
	}
	return WithFirst(rest, member("content", text))
}

// plainError says in words what the codes of the modern era alone would not tell a legacy client.
func plainError(in wire.Incoming) wire.Incoming {
	spelt := in.Error.Get("code")
	code, _ := spelt.Int()
	var why string
	switch code {
	case wire.CodeMissingCapability:
		why = "the server needs a capability that the client has not declared"
		if needed := in.Error.Get("data").Get("requiredCapabilities"); needed.Exists() {
			why += ": " + cut(string(needed.Bytes()))
		}
	case wire.CodeUnsupportedVersion:
		why = "the server does not speak protocol version " + modernVersion + " any more"
	default:
		return in
	}
	edits := []canon.Edit{{Old: spelt, New: strconv.AppendInt(nil, wire.CodeInternal, 10)}}
	if message := in.Error.Get("message"); message.Exists() {
		text, _ := message.Text()
		edits = append(edits, canon.Edit{Old: message, New: canon.AppendString(nil, why+" ("+text+")")})
	}
	return scanned(canon.Splice(in.Line, edits...))
}

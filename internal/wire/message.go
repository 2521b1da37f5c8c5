// Package wire speaks JSON-RPC 2.0 as the Model Context Protocol has it: it turns lines into messages and answers into
// lines, and runs the conversation with a client.
//
// Scan reads one message strictly, keeping its bytes. A Session knows in which era of the protocol each request of a
// client is to be understood. A Conversation runs what a client asks for, by whatever transport, and asks it in turn:
// bounded in memory and in what runs at once, never deaf to a cancellation, and not ended by a bad message. ServeLines
// carries one over lines (stdio). A Link is the other end of a conversation, that with an upstream server.
//
// What the methods mean is for a Handler to know.
package wire

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"sallyport/internal/canon"
)

// Kind is what a message is.
type Kind int

const (
	// Invalid is a text that cannot be told to be any of the others. Only a refused message has it.
	Invalid Kind = iota

	// Request is a message with a method and an id: it wants an answer.
	Request

	// Notification is a message with a method and no id: it gets no answer, not even to say that it is malformed.
	Notification

	// Response is a message with a result or an error: the answer to a request of Session.Ask or Call.Ask, or stray.
	Response

	// Batch is an array. Its elements have not been looked at: ScanValue does that.
	Batch
)

// Message is one message, as views of the bytes that it was read from.
type Message struct {
	Kind   Kind
	Raw    canon.Value // the whole message
	ID     canon.Value // a string or an integer, as it was spelt; absent if there is none or it could not be read
	Method string      // for a Request and a Notification
	Params canon.Value // an object, or absent
	Meta   canon.Value // params._meta: an object, or absent
}

// Scan reads the message in line, which must not be changed after. The refusals of a message are:
//
//   - CodeParse for what is no JSON;
//   - CodeInvalidRequest for what is JSON and no message, and for what two readers could take for two messages:
//     duplicate keys at any depth, half surrogate pairs, keys that only look like those that mean something;
//   - CodeInvalidParams for a params._meta that is not an object.
//
// A refused message has what could be read with certainty of its Kind and ID; whether to answer depends on the Kind.
func Scan(line []byte) (Message, *Error) {
	v, err := canon.Parse(line)
	if err == nil {
		return ScanValue(v)
	}
	var refused *canon.Error
	if !errors.As(err, &refused) || refused.Malformed() {
		return Message{}, newError(CodeParse, "not JSON: "+err.Error())
	}
	return glance(line), newError(CodeInvalidRequest, "refused: "+err.Error())
}

// ScanValue is Scan for what has been parsed.
func ScanValue(v canon.Value) (Message, *Error) {
	switch v.Kind() {
	case canon.Object:
	case canon.Array:
		return Message{Kind: Batch, Raw: v}, nil
	default:
		return Message{Raw: v}, newError(CodeInvalidRequest, "a message must be an object, not "+v.Kind().String())
	}
	e := openEnvelope(v)
	m := Message{Kind: e.kind(), Raw: v}
	if validID(e.id) {
		m.ID = e.id
	}
	if err := e.check(m.Kind); err != nil {
		return m, err
	}
	m.Method, _ = e.method.Text()
	if m.Kind == Response {
		return m, nil
	}
	m.Params = e.params
	err := m.scanParams()
	return m, err
}

// envelope is the outermost object of a message.
type envelope struct {
	version, id, method, params, result, fault canon.Value

	like string // the envelope's key that another key looks like, "" if there is none
}

func openEnvelope(v canon.Value) envelope {
	var e envelope
	for key, value := range v.Members() {
		switch key {
		case "jsonrpc":
			e.version = value
		case "id":
			e.id = value
		case "method":
			e.method = value
		case "params":
			e.params = value
		case "result":
			e.result = value
		case "error":
			e.fault = value
		default:
			// An id that is spelt otherwise is kept before all others: with it, a notification may be none.
			if like := lookalike(key, envelopeKeys); like != "" && e.like != "id" {
				e.like = like
			}
		}
	}
	return e
}

// kind tells what the message is meant to be, as far as that is certain.
func (e *envelope) kind() Kind {
	answers := e.result.Exists() || e.fault.Exists()
	named := e.method.Kind() == canon.String
	switch {
	case named && e.id.Exists():
		return Request
	case named && !answers && e.like != "id":
		return Notification
	case answers && !e.method.Exists() && e.like != "method":
		return Response
	}
	return Invalid
}

// check says what is wrong with the envelope of a message of this kind.
func (e *envelope) check(kind Kind) *Error {
	refuse := func(why string) *Error { return newError(CodeInvalidRequest, why) }
	if e.like != "" {
		return refuse(`a key looks like "` + e.like + `" but is not it`)
	}
	if version, ok := e.version.Text(); !ok || version != "2.0" {
		return refuse(`jsonrpc must be "2.0"`)
	}
	if e.id.Exists() && !validID(e.id) {
		return refuse("id must be a string or an integer")
	}
	if e.method.Exists() && e.method.Kind() != canon.String {
		return refuse("method must be a string")
	}
	answers := e.result.Exists() || e.fault.Exists()
	switch {
	case e.method.Exists() && answers:
		return refuse("a message has either a method or a result or error")
	case e.result.Exists() && e.fault.Exists():
		return refuse("a response has either a result or an error")
	case kind == Invalid:
		return refuse("a message must have a method, a result or an error")
	case e.params.Exists() && e.params.Kind() != canon.Object:
		return refuse("params must be an object")
	}
	return nil
}

// scanParams finds _meta in the params.
func (m *Message) scanParams() *Error {
	for key, value := range m.Params.Members() {
		if key == "_meta" {
			m.Meta = value
		} else if like := lookalike(key, paramsKeys); like != "" {
			return newError(CodeInvalidRequest, `a key of params looks like "`+like+`" but is not it`)
		}
	}
	if m.Meta.Exists() && m.Meta.Kind() != canon.Object {
		m.Meta = canon.Value{}
		return newError(CodeInvalidParams, "params._meta must be an object")
	}
	for key := range m.Meta.Members() {
		if like := lookalike(key, metaKeys); like != "" {
			return newError(CodeInvalidRequest, `a key of params._meta looks like "`+like+`" but is not it`)
		}
	}
	return nil
}

// validID reports whether id may be the id of a request: null may not, nor may a number with a fraction or exponent
// (MCP 2026-07-28, basic/index, Requests).
func validID(id canon.Value) bool {
	return id.Kind() == canon.String || id.Kind() == canon.Number && !bytes.ContainsAny(id.Bytes(), ".eE")
}

// The keys that mean something to somebody on the way. Another gate, or the server behind it, may be less exact about
// keys than we are: one who reads "Method" as "method" must not be shown what we did not judge.
var (
	envelopeKeys = []string{"jsonrpc", "id", "method", "params", "result", "error"}

	paramsKeys = []string{
		"_meta", "name", "arguments", "cursor", "uri", "requestId", "protocolVersion", "capabilities", "clientInfo",
		"notifications", "inputResponses", "requestState", "level", "ref", "argument", "context", "taskId", "task",
	}

	metaKeys = []string{
		MetaProtocolVersion, MetaClientCapabilities, MetaClientInfo, MetaLogLevel, MetaServerInfo, MetaSubscriptionID,
		"progressToken", "traceparent", "tracestate", "baggage", MetaRequestID,
	}
)

// lookalike returns the one of keys that key is not, but is when letter case or trailing NULs do not count; "" if there
// is none.
func lookalike(key string, keys []string) string {
	if slices.Contains(keys, key) {
		return ""
	}
	trimmed := strings.TrimRight(key, "\x00")
	for _, known := range keys {
		if strings.EqualFold(trimmed, known) {
			return known
		}
	}
	return ""
}

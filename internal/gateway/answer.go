package gateway

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"

	"sallyport/internal/bridge"
	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/wire"
)

// member returns the member of an upstream's object under exactly that key, the last one if it is there twice, as most
// readers have it.
func member(object canon.Value, key string) (found canon.Value) {
	for name, value := range object.Members() {
		if name == key {
			found = value
		}
	}
	return found
}

// resultOf is what a response of an upstream's is to the gate.
func resultOf(in wire.Incoming) gate.Result {
	if in.Error.Exists() {
		return gate.Result{Body: in.Error.Bytes(), Form: gate.Fault, Failed: true}
	}
	result := gate.Result{Body: in.Result.Bytes(), Form: gate.Whole}
	asks := true // whoever reads it finds that it asks for something, and nothing else
	for name, value := range in.Result.Members() {
		switch like := lookalike(name, "resultType", "inputRequests", "task", "taskId"); like {
		case "resultType", "inputRequests":
			if like != name {
				result.Open, asks = true, false // a careless client could take it for that
			}
		case "task", "taskId":
			asks = false
		}
		switch name {
		case "isError":
			result.Failed, _ = value.Bool()
		case "resultType":
			kind, ok := value.Text()
			result.Open = result.Open || !ok || kind != "complete"
			asks = asks && kind == "input_required"
		case "inputRequests": // whatever the result says that it is
			result.Open = true
		case "task": // of the legacy era, whose results have no resultType
			result.Open = result.Open || member(value, "taskId").Exists()
		}
	}
	result.Task = result.Open && !(asks && member(in.Result, "resultType").Exists())
	return result
}

// reply is the answer to a call that an upstream carried out, or that was answered from what is stored: got is the
// response as it came, the zero one if there was none. Where the result is what the upstream said, so is the line, but for
// what only we may say of it.
func (s *Server) reply(call *wire.Call, got wire.Incoming, result gate.Result) (wire.Reply, error) {
	switch result.Form {
	case gate.Own:
		body, err := s.completed(call, result)
		return wire.Reply{Result: body}, err
	case gate.Whole:
		if err := settle(call, got, &result); err != nil {
			return wire.Reply{}, err
		}
	}
	return wire.Reply{Line: answerLine(call.ID, got, result)}, nil
}

// completed is complete for a result of our own, with what the door found when it looked at what the call left.
func (s *Server) completed(call *wire.Call, result gate.Result) ([]byte, error) {
	body, err := s.complete(call, result.Body, nil)
	if err != nil || result.Checks == gate.Unchecked {
		return body, err
	}
	v, err := canon.Skim(body)
	return verified(v, result.Checks), err
}

// settle makes an upstream's result what goes to the client: it says of its verification what the door says, and one that was
// stored when a client of the other era asked gets the type that the modern era wants.
func settle(call *wire.Call, got wire.Incoming, result *gate.Result) error {
	v := got.Result
	if !same(v.Bytes(), result.Body) {
		var err error
		if v, err = canon.Skim(result.Body); err != nil {
			return err
		}
	}
	typed := got.Line != nil || call.Era != wire.Modern || member(v, "resultType").Exists() || v.Kind() != canon.Object
	switch {
	case strings.HasPrefix(call.Method, "tasks/"):
		result.Body = unverified(v)
	default:
		result.Body = verified(v, result.Checks)
	}
	if !typed {
		result.Body = bridge.WithFirst(result.Body, `"resultType":"complete"`)
	}
	return nil
}

// answerLine is the response with that result to the request with this id. Where got, whose id that is, has the result
// it is that line, and where the result was changed all else of the line stays.
func answerLine(id canon.Value, got wire.Incoming, result gate.Result) []byte {
	part, key := got.Result, `,"result":`
	if result.Form == gate.Fault {
		part, key = got.Error, `,"error":`
	}
	switch {
	case part.Exists() && same(part.Bytes(), result.Body):
		return got.Line
	case part.Exists():
		return canon.Splice(got.Line, canon.Edit{Old: part, New: result.Body})
	}
	line := make([]byte, 0, len(result.Body)+len(id.Bytes())+40)
	line = append(append(line, `{"jsonrpc":"2.0","id":`...), id.Bytes()...)
	return append(append(append(line, key...), result.Body...), '}')
}

// underID is a response as the answer to the request with this id, whatever its own is.
func underID(in wire.Incoming, id canon.Value) []byte {
	if bytes.Equal(in.ID.Bytes(), id.Bytes()) {
		return in.Line
	}
	return canon.Splice(in.Line, canon.Edit{Old: in.ID, New: id.Bytes()})
}

// same reports whether a and b are the very same bytes, not only equal ones.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// errorLine is the response that gives err to the request of an upstream's with this id.
func errorLine(id canon.Value, err *wire.Error) []byte {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id.Bytes()...)
	line = strconv.AppendInt(append(line, `,"error":{"code":`...), int64(err.Code), 10)
	line = canon.AppendString(append(line, `,"message":`...), err.Message)
	if err.Data != nil {
		line = append(append(line, `,"data":`...), err.Data...)
	}
	return append(line, "}}"...)
}

// readRequest reads a request that is spelt already, as it is sent to an upstream: on one line.
func readRequest(line []byte, era wire.Era) (wire.Outgoing, error) {
	m, refusal := wire.Scan(line)
	switch {
	case refusal != nil:
		return wire.Outgoing{}, refusal
	case m.Kind != wire.Request:
		return wire.Outgoing{}, errors.New("there is no request to be sent")
	}
	return outgoing(m, era)
}

// outgoing is a client's request as it is sent to an upstream, with edits made to it: the client's own bytes else, but
// for line feeds between tokens, which lines cannot have.
func outgoing(m wire.Message, era wire.Era, edits ...canon.Edit) (wire.Outgoing, error) {
	line := m.Raw.Bytes()
	if len(edits) == 0 && bytes.IndexByte(line, '\n') < 0 && bytes.IndexByte(line, '\r') < 0 {
		return wire.Outgoing{Line: line, ID: m.ID, Method: m.Method, Params: m.Params, Era: era}, nil
	}
	line = onOneLine(canon.Splice(line, edits...))
	changed, refusal := wire.Scan(line)
	if refusal != nil {
		return wire.Outgoing{}, refusal
	}
	return wire.Outgoing{Line: line, ID: changed.ID, Method: changed.Method, Params: changed.Params, Era: era}, nil
}

// onOneLine replaces line ends, which in JSON stand between tokens, by spaces. The text is its own from then on.
func onOneLine(text []byte) []byte {
	for i, c := range text {
		if c == '\n' || c == '\r' {
			text[i] = ' '
		}
	}
	return text
}

// polling passes on to a client that it may come back later for the answer, where its transport knows such a thing.
func polling(call *wire.Call) func(closed bool, retry time.Duration) {
	return func(closed bool, retry time.Duration) {
		if closed {
			call.Pause(retry)
		} else {
			call.Prime(retry)
		}
	}
}

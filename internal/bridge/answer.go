package bridge

import (
	"strconv"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// Codes of errors that package wire has no name for.
const (
	codeResourceNotFound = -32002 // up to 2025-11-25
	codeURLElicitation   = -32042 // 2025-11-25 only; data: {elicitations}
)

// resultLine is the response that gives result, a JSON object, to the request with this id.
func resultLine(id canon.Value, result []byte) []byte {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id.Bytes()...)
	line = append(append(line, `,"result":`...), result...)
	return append(line, '}')
}

// faultLine is the response that gives err to the request with this id.
func faultLine(id canon.Value, err *wire.Error) []byte {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id.Bytes()...)
	line = strconv.AppendInt(append(line, `,"error":{"code":`...), int64(err.Code), 10)
	line = canon.AppendString(append(line, `,"message":`...), err.Message)
	if err.Data != nil {
		line = append(append(line, `,"data":`...), err.Data...)
	}
	return append(line, "}}"...)
}

// noticeLine is a notification; params is a JSON object, or nil for none.
func noticeLine(method string, params []byte) []byte {
	line := canon.AppendString([]byte(`{"jsonrpc":"2.0","method":`), method)
	if params != nil {
		line = append(append(line, `,"params":`...), params...)
	}
	return append(line, '}')
}

// requestLine is a request; params is a JSON object, or nil for none.
func requestLine(id, method string, params []byte) []byte {
	line := canon.AppendString([]byte(`{"jsonrpc":"2.0","id":`), id)
	line = canon.AppendString(append(line, `,"method":`...), method)
	if params != nil {
		line = append(append(line, `,"params":`...), params...)
	}
	return append(line, '}')
}

// scanned is a message that we have made ourselves of what was read before.
func scanned(line []byte) wire.Incoming {
	in, err := wire.ScanIncoming(line)
	if err != nil {
		panic("bridge: a message of our own cannot be read: " + err.Error())
	}
	return in
}

// answer is the answer with this result, and fault the one with this error.
func answer(id canon.Value, result []byte) wire.Incoming  { return scanned(resultLine(id, result)) }
func fault(id canon.Value, err *wire.Error) wire.Incoming { return scanned(faultLine(id, err)) }

func refusal(code int, why string) *wire.Error { return &wire.Error{Code: code, Message: why} }

func methodNotFound(method string) *wire.Error {
	return refusal(wire.CodeMethodNotFound, "method not found: "+cut(method))
}

// cut shortens what came from outside for an error's text.
func cut(text string) string {
	const most = 256
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

// underID returns the response in with another id.
func underID(in wire.Incoming, id canon.Value) wire.Incoming {
	if !in.ID.Exists() {
		line := append([]byte(`{"jsonrpc":"2.0","id":`), id.Bytes()...)
		line = append(append(line, `,"error":`...), in.Error.Bytes()...)
		return scanned(append(line, '}'))
	}
	if string(in.ID.Bytes()) == string(id.Bytes()) {
		return in
	}
	return scanned(canon.Splice(in.Line, canon.Edit{Old: in.ID, New: id.Bytes()}))
}

// outgoing reads a request that we have made of one that was read before.
func outgoing(line []byte, method string, era wire.Era) wire.Outgoing {
	v, err := canon.Skim(line)
	if err != nil {
		panic("bridge: a request of our own cannot be read: " + err.Error())
	}
	out := wire.Outgoing{Line: v.Bytes(), Method: method, Era: era}
	for key, value := range v.Members() {
		switch key {
		case "id":
			out.ID = value
		case "params":
			out.Params = value
		}
	}
	return out
}

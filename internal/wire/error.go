package wire

import (
	"fmt"
	"strconv"

	"sallyport/internal/canon"
)

// The codes of errors. Those of JSON-RPC itself, and the one that MCP 2026-07-28 has for versions.
const (
	CodeParse              = -32700 // the text is no JSON
	CodeInvalidRequest     = -32600 // the JSON is no request that we take
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602 // also: no such tool, and a denied one
	CodeInternal           = -32603
	CodeUnsupportedVersion = -32022 // data: {supported, requested}

	// Those that MCP 2026-07-28 has for headers that say something else than the body, and for a capability that the client
	// has not (basic/index, Error Codes).
	CodeHeaderMismatch    = -32020
	CodeMissingCapability = -32021 // data: {requiredCapabilities}
)

// Error is an error as it goes to the client: nothing in it may be a secret.
type Error struct {
	Code    int
	Message string
	Data    []byte // a JSON value, or nil
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

func newError(code int, message string) *Error { return &Error{Code: code, Message: message} }

// errInternal is the whole of what a client learns of a failure on our side.
var errInternal = newError(CodeInternal, "internal error")

// resultAnswer is the response that gives result, a JSON object, to the request with this id.
func resultAnswer(id canon.Value, result []byte) []byte {
	dst := make([]byte, 0, len(id.Bytes())+len(result)+len(`{"jsonrpc":"2.0","id":,"result":}`))
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id.Bytes()...)
	dst = append(dst, `,"result":`...)
	dst = append(dst, result...)
	return append(dst, '}')
}

// ErrorAnswer returns the response that gives err to the request with this id; an absent id is null.
func ErrorAnswer(id canon.Value, err *Error) []byte {
	dst := []byte(`{"jsonrpc":"2.0","id":`)
	if id.Exists() {
		dst = append(dst, id.Bytes()...)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(err.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = canon.AppendString(dst, err.Message)
	if err.Data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, err.Data...)
	}
	return append(dst, "}}"...)
}

// notification is a notification; params is a JSON object, or nil for none.
func notification(method string, params []byte) []byte {
	dst := canon.AppendString([]byte(`{"jsonrpc":"2.0","method":`), method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

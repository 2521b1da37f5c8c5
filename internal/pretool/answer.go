package pretool

import (
	"strconv"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
)

// answer is a JSON object in the making. Its keys are our own and need no escapes.
type answer struct{ b []byte }

func (a *answer) raw(key string, value []byte) *answer {
	if len(a.b) > 0 {
		a.b = append(a.b, ',')
	}
	a.b = append(append(append(a.b, '"'), key...), `":`...)
	a.b = append(a.b, value...)
	return a
}

func (a *answer) bool(key string, value bool) *answer {
	a.raw(key, nil)
	a.b = strconv.AppendBool(a.b, value)
	return a
}

func (a *answer) null(key string) *answer { return a.raw(key, []byte("null")) }

func (a *answer) int(key string, value int) *answer {
	a.raw(key, nil)
	a.b = strconv.AppendInt(a.b, int64(value), 10)
	return a
}

func (a *answer) text(key, value string) *answer {
	a.raw(key, nil)
	a.b = canon.AppendString(a.b, value)
	return a
}

func (a *answer) list(key string, values []string) *answer {
	a.raw(key, []byte{'['})
	for i, value := range values {
		if i > 0 {
			a.b = append(a.b, ',')
		}
		a.b = canon.AppendString(a.b, value)
	}
	a.b = append(a.b, ']')
	return a
}

func (a *answer) object(key string, value *answer) *answer { return a.raw(key, value.bytes()) }

// bytes returns the finished object.
func (a *answer) bytes() []byte { return append(append([]byte{'{'}, a.b...), '}') }

// result holds the object twice: as such, and as text for clients that read only text (MCP 2026-07-28, server/tools,
// structured content).
func (a *answer) result(isError bool) gate.Result {
	object := a.bytes()
	b := canon.AppendString([]byte(`{"content":[{"type":"text","text":`), string(object))
	b = append(append(b, `}],"structuredContent":`...), object...)
	if isError {
		b = append(b, `,"isError":true`...)
	}
	return gate.Result{Body: append(b, '}')}
}

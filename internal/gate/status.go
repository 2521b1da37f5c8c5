package gate

import (
	"sallyport/internal/canon"
	"sallyport/internal/ledger"
)

// Structured is a tools/call result of our own with a JSON object, or nil, and with advice for the model, which makes it
// an error, or "". The object stands there twice: as such, and as text for clients that read only text (MCP 2026-07-28,
// server/tools, structured content).
func Structured(object []byte, advice string) Result {
	var texts []string
	if object != nil {
		texts = append(texts, string(object))
	}
	if advice != "" {
		texts = append(texts, advice)
	}
	b := []byte(`{"content":[`)
	for i, text := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = canon.AppendString(append(b, `{"type":"text","text":`...), text)
		b = append(b, '}')
	}
	b = append(b, ']')
	if object != nil {
		b = append(append(b, `,"structuredContent":`...), object...)
	}
	if advice != "" {
		b = append(b, `,"isError":true`...)
	}
	return Result{Body: append(b, '}')}
}

// The advice that goes with what the gate knows of an upstream's mutation without having sent it now.
const (
	conflictAdvice = "conflict: this request_id already stands for a call with other arguments, and nothing was sent. " +
		"Send a new request_id for a new call, or the same arguments for a retry."
	inFlightAdvice = "in_flight: another process is carrying out this call at the moment. " +
		"Send the same request_id and arguments again shortly."
	abandonedAdvice = "abandoned: whether this call was carried out could not be found out, and an operator closed it. " +
		"It will not be sent. Look at what is there, and send a new request_id for a new call."
)

// statusOf words what the gate knows of an upstream's mutation.
func statusOf(id string, status ledger.Outcome, advice string) Result {
	b := canon.AppendString([]byte(`{"request_id":`), id)
	b = canon.AppendString(append(b, `,"status":`...), string(status))
	return Structured(append(b, '}'), advice)
}

// settledStatus words what an operator said of an upstream's mutation.
func settledStatus(id, status, advice string) Result {
	b := canon.AppendString([]byte(`{"request_id":`), id)
	b = canon.AppendString(append(b, `,"settled":true,"status":`...), status)
	r := Structured(append(b, '}'), advice)
	r.Failed = advice != ""
	return r
}

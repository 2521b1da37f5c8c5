package wire

import (
	"context"
	"errors"
	"time"

	"sallyport/internal/canon"
)

// Incoming is a message from an upstream server. Only its envelope has been looked at: what is in its params, result and
// error are bytes of somebody else's, to be passed on as they are.
type Incoming struct {
	Kind   Kind // Request, Notification or Response
	Line   []byte
	ID     canon.Value // a string or an integer as it was spelt; absent in a notification, and in an error for no request
	Method string
	Params canon.Value // from canon.Skim, as are the next two
	Result canon.Value // of a Response: this or Error is there
	Error  canon.Value // an object
}

// ScanIncoming reads the envelope of the message in line, which must not be changed after. It refuses what is no JSON,
// an envelope whose members are there twice or are of the wrong kind, and what is no message at all. It takes anything
// within params, result and error that is JSON.
func ScanIncoming(line []byte) (Incoming, error) {
	v, err := canon.Skim(line)
	if err != nil {
		return Incoming{}, err
	}
	if v.Kind() != canon.Object {
		return Incoming{}, errors.New("a message must be an object, not " + v.Kind().String())
	}
	seen := map[string]bool{}
	m := Incoming{Line: v.Bytes()}
	var version, method canon.Value
	for key, value := range v.Members() {
		if seen[key] {
			return Incoming{}, errors.New("a member of the message is there twice")
		}
		seen[key] = true
		switch key {
		case "jsonrpc":
			version = value
		case "id":
			m.ID = value
		case "method":
			method = value
		case "params":
			m.Params = value
		case "result":
			m.Result = value
		case "error":
			m.Error = value
		}
	}
	return m, m.check(version, method)
}

// check completes m, or says what is wrong with it.
func (m *Incoming) check(version, method canon.Value) error {
	if text, ok := version.Text(); !ok || text != "2.0" {
		return errors.New(`jsonrpc must be "2.0"`)
	}
	answers := m.Result.Exists() || m.Error.Exists()
	if m.ID.Kind() == canon.Null && m.Error.Exists() {
		m.ID = canon.Value{}
	}
	switch {
	case m.ID.Exists() && !validID(m.ID):
		return errors.New("id must be a string or an integer")
	case method.Exists() == answers:
		return errors.New("a message has either a method or a result or error")
	case m.Result.Exists() && m.Error.Exists():
		return errors.New("a response has either a result or an error")
	case m.Error.Exists() && m.Error.Kind() != canon.Object:
		return errors.New("an error must be an object")
	case m.Result.Exists() && !m.ID.Exists():
		return errors.New("a response must have an id")
	}
	switch name, ok := method.Text(); {
	case answers:
		m.Kind = Response
	case !ok:
		return errors.New("method must be a string")
	default:
		m.Method = name
		if m.Kind = Notification; m.ID.Exists() {
			m.Kind = Request
		}
	}
	return nil
}

// Outgoing is a request on its way to an upstream server.
type Outgoing struct {
	Line   []byte      // the whole request, on one line
	ID     canon.Value // its id, a view of Line
	Method string
	Params canon.Value // a view of Line, or absent
	Era    Era         // in which it is written

	// Hear is told of what the upstream says on behalf of this request before its response: notifications and requests,
	// in order, never at the same time, and nothing any more once Call has returned. It must not wait for anything but
	// the client's reading. Nil drops them.
	Hear func(Incoming)

	// Polling is told, beside what Hear is told, that the upstream has said from which event on its stream can be asked
	// for again, and, with closed, that it has ended the stream and is to be asked again after retry, which the link
	// does (streamable HTTP of the legacy era). A client further on may be let go likewise: Call.Prime, Call.Pause. May
	// be nil. The rules of Hear hold.
	Polling func(closed bool, retry time.Duration)

	// Meanwhile, if not nil, is called once by Call when the request is on its way and before it waits for the answer:
	// for what must be done before the answer may be used. Where the request could not be sent it may not be called.
	Meanwhile func()

	// Within is how long Call waits for the response before it gives up as if ctx were done, with DeadlineExceeded; 0 is as
	// long as ctx. It stands here since a context with a deadline would be the most of what a waiting call costs.
	Within time.Duration

	// ParamHeaders are the values for Mcp-Param-* headers by the rest of the header's name (x-mcp-header, MCP
	// 2026-07-28); only streamable HTTP looks at them.
	ParamHeaders map[string]string
}

// Link is a conversation with an upstream server, by whatever transport. It is safe for concurrent use.
type Link interface {
	// Call sends a request and waits for its response, which is then given under the id of the request, whatever id
	// went over the wire. It goes under its own id where that is free, else under one of the link's, and then the id is
	// rewritten in all five places: the response, a cancellation, and subscriptionId in a subscription's
	// acknowledgement, changes and end. When ctx is done Call tells the upstream that the request is cancelled and
	// returns ctx's error. Other errors are a *NotSentError or a *LostError.
	Call(ctx context.Context, r Outgoing) (Incoming, error)

	// Send sends a notification, or the response to a request of the upstream's. Its error is a *NotSentError or a
	// *LostError.
	Send(ctx context.Context, line []byte) error

	// Done is closed when the conversation is over: the upstream died, closed it, or Close was called.
	Done() <-chan struct{}

	// Close ends the conversation, in good order first, then by force, and waits for that. What is in flight gets a
	// *LostError.
	Close() error
}

// Bound returns ctx with what Within allows, for links that wait by a context.
func (r *Outgoing) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.Within <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, r.Within)
}

// NotSentError says that a request never reached the upstream: not a byte of it was sent.
type NotSentError struct{ Err error }

func (e *NotSentError) Error() string { return "nothing was sent: " + e.Err.Error() }
func (e *NotSentError) Unwrap() error { return e.Err }

// LostError says that a request was sent, in part or whole, and that no response to it will come: nobody can know what
// became of it.
type LostError struct{ Err error }

func (e *LostError) Error() string { return "sent, and no answer came: " + e.Err.Error() }
func (e *LostError) Unwrap() error { return e.Err }

package wire

import (
	"context"
	"time"
)

// The methods that a conversation itself has to know.
const (
	methodInitialize = "initialize"
	methodPing       = "ping"
	methodCancelled  = "notifications/cancelled"
)

// Pace is how a request is run beside others.
type Pace int

const (
	// Immediate requests are answered before the next message is looked at. They must not wait for anything.
	Immediate Pace = iota

	// Queued requests run beside each other, only so many at once; the others wait.
	Queued

	// Relayed requests wait for somebody else's answer, and so run beside each other at once, however many there are,
	// up to Options.MaxRelayed; the others wait.
	Relayed

	// Streaming requests stay open, and send notifications, until they are cancelled or the conversation ends. They
	// are not counted among those that run.
	Streaming
)

// Call is a request on its way to a Handler.
type Call struct {
	Message
	Era     Era
	Session *Session

	// ParamHeaders are the values of the Mcp-Param-* headers that came with the request, by the rest of the header's name
	// in lower case, decoded (MCP 2026-07-28, x-mcp-header). Only streamable HTTP has them; nobody has compared them with
	// the arguments.
	ParamHeaders map[string]string

	push func(line []byte) bool
	to   Stream
	done <-chan struct{} // closed when the call is over
}

// Notify sends a notification that belongs to the request; params is a JSON object, or nil for none. It does not wait
// for the client, and does nothing once the request has been answered or cancelled.
func (c *Call) Notify(method string, params []byte) { c.push(notification(method, params)) }

// Forward is Notify for a notification that is spelt already. line must be on one line, and must not be changed after.
func (c *Call) Forward(line []byte) { c.push(line) }

// Ask sends a request of an upstream's to the client on behalf of this call, and returns the client's response, under
// the id that line has: only its envelope has been looked at. Only calls of the legacy era can ask. When ctx is done, or
// the call is, the client is told that the request is cancelled. An error says that there will be no response.
func (c *Call) Ask(ctx context.Context, line []byte) (Incoming, error) {
	if c.Era != Legacy {
		return Incoming{}, errNotAsked
	}
	return c.Session.ask(ctx, c.done, line, c.push)
}

// Prime tells a client that hears of this request by events which it can ask for again (streamable HTTP of the legacy
// era, from 2025-11-25 on) the place to ask from, and how long to wait before it does; 0 leaves that to the client.
// Elsewhere it does nothing.
func (c *Call) Prime(retry time.Duration) { c.to.Prime(retry) }

// Pause ends the stream of such a client without an answer. What is said after, the answer too, it gets when it asks
// again. Elsewhere it does nothing.
func (c *Call) Pause(retry time.Duration) { c.to.Pause(retry) }

// Reply is what a request is answered with: one of the two.
type Reply struct {
	Result []byte // a JSON object
	Line   []byte // a whole response under the id of the request, which goes out as it is
}

// Handler knows what the methods mean. All its methods must be safe for concurrent use.
type Handler interface {
	// Pace says how a request for method is to be run.
	Pace(method string) Pace

	// Answer answers one request with a reply or an error. An *Error goes to the client; ctx's own
	// error, once ctx is done, tells it that nothing was begun; of any other error it learns no more than that there
	// was one. Nothing is sent of a call whose client cancelled it: ctx is done then. When the conversation ends in
	// good order, ctx of a Streaming call is done, and its answer is sent. Nothing is ever retried.
	Answer(ctx context.Context, call *Call) (Reply, error)

	// Notified tells of a notification other than a cancellation. It is called before the next message is looked at,
	// and must not wait for anything.
	Notified(session *Session, m Message)
}

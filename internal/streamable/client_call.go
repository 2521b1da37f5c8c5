package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

const (
	// maxResumes is how often in a row a stream is asked for again that brings nothing new.
	maxResumes = 5

	// retryTime is how long is waited before that where the server has not said; it doubles up to maxRetryTime. Less
	// than minRetryTime is never waited.
	retryTime    = time.Second
	maxRetryTime = 30 * time.Second
	minRetryTime = 20 * time.Millisecond

	// maxEventID is the length of the longest id of an event that is sent back.
	maxEventID = 4 << 10
)

// call is a request under way.
type call struct {
	link    *link
	out     wire.Outgoing
	modern  bool
	line    []byte      // as it goes over the wire
	id      canon.Value // within it
	key     string      // of id
	renamed bool        // id is one of the link's own
	passage passage

	cursor  cursor
	trouble error // what was wrong with the last message that was none
}

// cursor is where in a stream of events we are, as far as that can be said to a server.
type cursor struct {
	last      string // id of an event, "" if there was none
	retry     time.Duration
	timed     bool // the server has set retry
	fruitless int  // how often in a row the stream was asked for again and brought nothing
}

// at notes what an event says of the stream.
func (c *cursor) at(e event) {
	if e.timed {
		c.retry, c.timed = e.retry, true
	}
	if isPlain(e.id) && len(e.id) <= maxEventID && e.id != c.last {
		c.last, c.fruitless = e.id, 0
	}
}

// wait returns how long to wait before the stream is asked for again.
func (c *cursor) wait() time.Duration {
	wait := retryTime << min(c.fruitless, 5)
	if c.timed {
		wait = c.retry
	} else {
		wait = min(wait, maxRetryTime)
	}
	return max(wait, minRetryTime)
}

// run sends the request and waits for its response.
func (c *call) run(ctx context.Context) (wire.Incoming, error) {
	header, err := c.header()
	if err != nil {
		return wire.Incoming{}, &wire.NotSentError{Err: err}
	}
	m, err := c.converse(ctx, header)
	if err == nil {
		return c.own(m)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return wire.Incoming{}, err
}

// orphaned reports whether the server may be at work on a call whose ctx is done, and does not know that. For a modern
// one the end of its stream says it (MCP 2026-07-28, streamable HTTP, Cancellation), and initialize cannot be cancelled.
func (c *call) orphaned(ctx context.Context) bool {
	return ctx.Err() != nil && !c.modern && c.out.Method != methodInitialize && c.passage.begun.Load()
}

// header returns what goes before the request. A legacy conversation has neither session nor version before it has its
// answer to initialize.
func (c *call) header() (http.Header, error) {
	switch {
	case c.modern:
		return modernHeader(c.out)
	case c.out.Method == methodInitialize:
		return http.Header{}, nil
	}
	header, _ := c.link.sessionHeader()
	return header, nil
}

// converse returns the response as it came.
func (c *call) converse(ctx context.Context, header http.Header) (wire.Incoming, error) {
	x, err := c.link.exchange(ctx, http.MethodPost, c.line, header, &c.passage)
	if err != nil {
		return wire.Incoming{}, err
	}
	session := x.response.Header.Get(fieldSession)
	m, err := c.answer(ctx, x)
	if err == nil && !c.modern && c.out.Method == methodInitialize && m.Result.Exists() {
		c.link.begun(session, m.Result)
	}
	return m, err
}

// answer reads the response to the request from what HTTP has answered, and ends x.
func (c *call) answer(ctx context.Context, x *exchange) (wire.Incoming, error) {
	status := x.response.StatusCode
	switch {
	case status >= 300:
		defer x.settle()
		return c.refused(x)
	case x.compressed():
		x.abort()
		return wire.Incoming{}, &wire.LostError{Err: errCompressed}
	}
	switch kind := x.mediaType(); kind {
	case typeJSON:
		defer x.settle()
		return c.document(x)
	case typeEvents:
		return c.stream(ctx, x)
	case "":
		x.abort()
		return wire.Incoming{}, &wire.LostError{Err: fmt.Errorf("the server answered with HTTP status %d and no message", status)}
	default:
		x.abort()
		return wire.Incoming{}, &wire.LostError{Err: fmt.Errorf("the server answered with %q, which is no message", shorten(kind))}
	}
}

// refused returns what an HTTP error means.
func (c *call) refused(x *exchange) (wire.Incoming, error) {
	m, ok := x.refusal()
	if !c.modern && c.link.endedBy(x, m) {
		return wire.Incoming{}, &wire.NotSentError{Err: errSession}
	}
	if !ok {
		return wire.Incoming{}, statusError(x.response)
	}
	if refusal := errorOf(m); c.modern && refusal.Code == wire.CodeHeaderMismatch {
		return wire.Incoming{}, &wire.NotSentError{Err: refusal}
	}
	return m, nil
}

// document returns the response that is the whole body.
func (c *call) document(x *exchange) (wire.Incoming, error) {
	body, err := x.read(c.link.client.maxMessage())
	if err != nil {
		x.abort()
		return wire.Incoming{}, &wire.LostError{Err: c.link.reason(err)}
	}
	m, err := message(body)
	switch {
	case err != nil:
		return wire.Incoming{}, &wire.LostError{Err: fmt.Errorf("the server's answer is no message: %w", err)}
	case !c.answers(m):
		return wire.Incoming{}, &wire.LostError{Err: errors.New("the server answered something else")}
	}
	return m, nil
}

// stream reads the response from a stream of events, and from those that go on where it ends, and ends x.
func (c *call) stream(ctx context.Context, x *exchange) (wire.Incoming, error) {
	for {
		m, answered, err := c.events(x)
		if answered {
			x.settle()
			return m, nil
		}
		x.abort()
		if err == errTooLong || c.modern || c.cursor.last == "" || ctx.Err() != nil {
			return wire.Incoming{}, &wire.LostError{Err: c.ending(err)}
		}
		if err == io.EOF && c.out.Polling != nil {
			c.out.Polling(true, c.cursor.wait())
		}
		if x, err = c.resume(ctx); err != nil {
			return wire.Incoming{}, err
		}
	}
}

// ending says why there is no answer in a stream that is over.
func (c *call) ending(err error) error {
	switch {
	case err != io.EOF:
		return c.link.reason(err)
	case c.trouble != nil:
		return fmt.Errorf("the stream ended without an answer, and had in it what is no message: %w", c.trouble)
	}
	return errors.New("the stream ended without an answer")
}

// events reads a stream up to the response, or to its end, which is the error.
func (c *call) events(x *exchange) (m wire.Incoming, answered bool, err error) {
	stream := newEventReader(x, c.link.client.maxMessage())
	for {
		e, err := stream.next()
		if err != nil {
			return wire.Incoming{}, false, err
		}
		primed := c.cursor.last != ""
		c.cursor.at(e)
		if !primed && c.cursor.last != "" && !c.modern && c.out.Polling != nil {
			c.out.Polling(false, c.cursor.wait())
		}
		if e.name != "" && e.name != "message" || len(e.data) == 0 {
			continue
		}
		m, err := message(e.data)
		switch {
		case err != nil:
			c.trouble = err
			continue
		case c.answers(m):
			return m, true, nil
		case m.Kind == wire.Response:
			continue // to somebody else
		}
		c.cursor.fruitless = 0
		c.heard(m)
	}
}

// heard passes on what the server says before its response. On a modern stream there are no requests (MCP 2026-07-28,
// streamable HTTP, Receiving Messages).
func (c *call) heard(m wire.Incoming) {
	switch {
	case m.Kind == wire.Request && c.modern:
		return
	case m.Kind == wire.Request && m.Method == methodPing:
		c.link.answerPing(m.ID)
		return
	case c.out.Hear == nil:
		return
	}
	if m, err := c.own(m); err == nil {
		c.out.Hear(m)
	}
}

// resume asks for the rest of a stream that has ended (MCP 2025-11-25, transports, Resumability and Redelivery).
func (c *call) resume(ctx context.Context) (*exchange, error) {
	for {
		if c.cursor.fruitless >= maxResumes {
			return nil, &wire.LostError{Err: errors.New("the stream ended without an answer, and could not be resumed")}
		}
		wait := c.cursor.wait()
		c.cursor.fruitless++
		if err := c.link.sleep(ctx, wait); err != nil {
			return nil, &wire.LostError{Err: err}
		}
		x, err := c.link.listenFrom(ctx, c.cursor.last)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			c.trouble = err
			continue
		case x.response.StatusCode == http.StatusOK && x.mediaType() == typeEvents && !x.compressed():
			return x, nil
		}
		final := !passing(x.response.StatusCode)
		err = statusError(x.response)
		c.link.endedBy(x, wire.Incoming{})
		x.abort()
		if final {
			return nil, &wire.LostError{Err: fmt.Errorf("the stream ended without an answer: when it was asked for again, %w", errors.Unwrap(err))}
		}
	}
}

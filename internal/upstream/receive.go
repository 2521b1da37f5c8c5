package upstream

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"sallyport/internal/wire"
)

// read receives what comes in lines from r, until r ends.
func (l *link) read(r io.Reader, limit int) error {
	lines := newLineReader(r, limit)
	for {
		line, err := lines.next()
		var long *overlongError
		switch {
		case err == nil:
			l.receive(line)
		case errors.As(err, &long):
			l.unreadable(long.head, long.tail, long)
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// receive takes in one message. It waits for nobody.
func (l *link) receive(line []byte) {
	defer func() {
		// A server must not be able to end us, and what Skim takes may hold strings that have no text.
		if bug := recover(); bug != nil {
			l.unreadable(line, line, fmt.Errorf("a message of the server could not be read: %v", bug))
		}
	}()
	m, err := wire.ScanIncoming(line)
	switch {
	case err != nil:
		l.unreadable(line, line, fmt.Errorf("the server's answer is no message: %w", err))
	case m.Kind == wire.Response:
		l.respond(m)
	case m.Kind == wire.Request && m.Method == methodPing:
		l.say(append(append([]byte(`{"jsonrpc":"2.0","id":`), m.ID.Bytes()...), `,"result":{}}`...))
	default:
		l.route(m)
	}
}

// unreadable deals with a line that is no message. It harms only itself: a call whose answer it was learns that there
// will be none.
func (l *link) unreadable(head, tail []byte, why error) {
	l.noise.warn("upstream sent a line that is no message", "error", why)
	id := glimpse(firstOf(head), lastOf(tail))
	if id == nil {
		return
	}
	l.mu.Lock()
	c := l.calls[keyOfBytes(id)]
	l.mu.Unlock()
	if c != nil {
		l.finish(c, wire.Incoming{}, why)
	}
}

// respond gives an answer to the call that waits for it.
func (l *link) respond(m wire.Incoming) {
	if !m.ID.Exists() {
		l.noise.warn("upstream sent an error that belongs to no request")
		return
	}
	key := keyOf(m.ID)
	l.mu.Lock()
	c := l.calls[key]
	_, late := l.abandoned[key]
	if late {
		delete(l.abandoned, key)
		l.answered.add(key)
	}
	l.mu.Unlock()
	if c == nil {
		if !late {
			l.noise.warn("upstream answered a request that is not in flight")
		}
		return
	}
	answer, err := restored(c, m)
	if err != nil {
		err = fmt.Errorf("the server's answer could not be read: %w", err)
	}
	l.finish(c, answer, err)
}

// route gives a notification or a request to whom it concerns.
func (l *link) route(m wire.Incoming) {
	var token, subscription string
	if m.Method == methodProgress {
		token = keyOf(m.Params.Get("progressToken"))
	} else if id := subscriptionOf(m.Params); id.Exists() {
		subscription = keyOf(id)
	}
	c, stale := l.concerned(m, token, subscription)
	if stale {
		l.noise.warn("upstream spoke of a request that is not in flight", "method", m.Method)
		return
	}
	if c == nil {
		l.deliver(nil, m)
		return
	}
	mine, err := restored(c, m)
	if err != nil {
		l.noise.warn("upstream sent a line that is no message", "error", err)
		return
	}
	l.deliver(c, mine)
}

// concerned returns the call that m is said on behalf of, nil for none. What no call can be told of any more is stale.
//
// Nothing in a request of the server's, and in most of its notifications, says what it is about. Where only one call that
// hears is in flight it is about that one: this is how a client of ours that has nothing but the stream of its call hears
// of it.
func (l *link) concerned(m wire.Incoming, token, subscription string) (c *call, stale bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case token != "":
		c = l.tokens[token]
		return c, c == nil && (l.spent.has(token) || l.names.has(token))
	case subscription != "":
		c = l.calls[subscription]
		return c, c == nil
	case l.hearers != 1 || ofTheServer(m.Method):
		return nil, false
	}
	for _, c := range l.calls {
		if c.mayHear() {
			return c, false
		}
	}
	return nil, false
}

// ofTheServer reports whether a notification tells of the server as a whole, and so belongs to no call.
func ofTheServer(method string) bool {
	return strings.HasSuffix(method, "/list_changed") || method == methodUpdated
}

// deliver puts m into the inbox of c, or that of the link. What there is no room for is dropped; a request is then
// answered, since somebody waits for it.
func (l *link) deliver(c *call, m wire.Incoming) {
	l.mu.Lock()
	box := &l.common
	switch {
	case c == nil && l.hear == nil:
		l.mu.Unlock()
		l.decline(m)
		return
	case c != nil && (l.calls[c.key] != c || c.request.Hear == nil):
		l.mu.Unlock()
		return
	case c != nil:
		box = &c.inbox
	}
	dropped, in := box.put(m, &l.held)
	switch {
	case !in:
	case c != nil:
		c.wakeUp()
	case !l.hearing:
		l.hearing = true
		go l.listen()
	}
	l.mu.Unlock()
	if dropped > 0 || !in {
		l.noise.warn("upstream says more than the client reads: messages were dropped", "method", m.Method)
	}
	if !in {
		l.decline(m)
	}
}

// decline answers m, if it is a request, which nobody will do otherwise.
func (l *link) decline(m wire.Incoming) {
	if m.Kind != wire.Request {
		return
	}
	l.say(append(append([]byte(`{"jsonrpc":"2.0","id":`), m.ID.Bytes()...),
		`,"error":{"code":-32603,"message":"the client cannot be asked now"}}`...))
}

// say sends a line of the link's own.
func (l *link) say(line []byte) {
	if err := l.out.put(&parcel{line: line, own: true}); err != nil {
		l.noise.warn("upstream could not be answered", "error", err)
	}
}

// listen empties the link's own inbox. It is there only as long as something is in it, and is not waited for when the
// link is closed: who hears may be the one who closes.
func (l *link) listen() {
	for {
		l.mu.Lock()
		heard := l.common.take(&l.held)
		if len(heard) == 0 {
			l.hearing = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		for _, m := range heard {
			if l.refusing() != errClosed {
				l.hear(m)
			}
		}
	}
}

package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sallyport/internal/wire"
)

// leg is the way to one upstream as one client has it, in the era that the client speaks. Its connection is opened when
// it is needed first, and again when it was lost: at once for a request, else after a back-off.
type leg struct {
	visit   *visit
	up      Upstream
	era     wire.Era
	catalog catalog

	mu       sync.Mutex    // guards what follows
	conn     *connection   // nil while there is none
	opening  chan struct{} // closed when the attempt that goes on is over; nil if none does
	failure  error         // of the last attempt
	reviving bool
	asking   map[string]context.CancelFunc // what the upstream has asked the client, by its id
	refusing int                           // what it asked that is being refused
	warned   map[string]bool               // what has been logged once
}

// connection is one conversation of a leg, from its handshake to its end.
type connection struct {
	link    wire.Link
	linked  chan struct{}   // closed when link is there: an upstream may speak before
	welcome wire.Incoming   // the answer to the handshake
	raw     *tap            // what was listed before a bridge changed it; nil where nothing is between
	tells   map[string]bool // the lists, by member, of whose changes the upstream said that it tells

	greeted bool // notifications/initialized has been sent; guarded by leg.mu
}

// refusal is the error of an upstream that answered the client's handshake with one.
type refusal struct{ answer wire.Incoming }

func (r *refusal) Error() string { return "the server refused the handshake" }

func newLeg(v *visit, up Upstream, era wire.Era) *leg {
	l := &leg{visit: v, up: up, era: era}
	l.catalog.leg = l
	return l
}

// open returns the connection, which is opened if need be. It may be lost at any moment.
func (l *leg) open(ctx context.Context) (*connection, error) {
	l.mu.Lock()
	if l.opening == nil && l.conn != nil {
		defer l.mu.Unlock()
		return l.conn, nil
	}
	over := l.opening
	if over == nil {
		over = make(chan struct{})
		if !l.visit.begin(func() { l.attempt(over) }) {
			l.mu.Unlock()
			return nil, errors.New("the client's session is over")
		}
		l.opening = over
	}
	l.mu.Unlock()
	select {
	case <-over:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return nil, l.failure
	}
	return l.conn, nil
}

// attempt tries once to open the connection.
func (l *leg) attempt(over chan struct{}) {
	l.mu.Lock()
	l.failure = errors.New("a bug was met")
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.opening = nil
		l.mu.Unlock()
		close(over)
	}()
	ctx, cancel := context.WithTimeout(l.visit.life, handshakeTimeout)
	defer cancel()
	c, err := l.dial(ctx)
	if err == nil {
		c.readPromises()
	}
	l.mu.Lock()
	l.conn, l.failure = c, err
	l.mu.Unlock()
	if err == nil {
		if opened := l.visit.initialized(); opened != nil {
			l.greet(ctx, c, opened)
		}
		l.visit.begin(func() { l.watch(c) })
	} else if l.visit.life.Err() == nil {
		l.log("an upstream could not be opened", "error", err)
		if !l.visit.server.single() {
			l.revive()
		}
	}
}

// readPromises notes of what the upstream said that it tells.
func (c *connection) readPromises() {
	c.tells = make(map[string]bool)
	capabilities := member(c.welcome.Result, "capabilities")
	for _, of := range []list{toolList, promptList, resourceList, templateList} {
		c.tells[of.member], _ = member(member(capabilities, of.capability), "listChanged").Bool()
	}
}

// tellsOf reports whether we are told when a list of the upstream's changes.
func (l *leg) tellsOf(of list) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A modern server tells only those who subscribe.
	return l.era == wire.Legacy && l.conn != nil && l.conn.tells[of.member]
}

// greet sends the client's notifications/initialized, once for each connection.
func (l *leg) greet(ctx context.Context, c *connection, opened []byte) {
	l.mu.Lock()
	first := !c.greeted
	c.greeted = true
	l.mu.Unlock()
	if !first {
		return
	}
	if err := c.link.Send(ctx, opened); err != nil {
		l.log("a notification could not be sent", "error", err)
	}
}

// tell sends a notification of the client's, if there is a connection.
func (l *leg) tell(ctx context.Context, line []byte) {
	l.mu.Lock()
	c := l.conn
	l.mu.Unlock()
	switch opened := l.visit.initialized(); {
	case c == nil:
	case opened != nil && bytes.Equal(opened, line):
		l.greet(ctx, c, line)
	default:
		if err := c.link.Send(ctx, line); err != nil {
			l.log("a notification could not be sent", "error", err)
		}
	}
}

// watch waits for the end of a connection, and sees to it that there will be another one.
func (l *leg) watch(c *connection) {
	select {
	case <-c.link.Done():
	case <-l.visit.life.Done():
		return
	}
	l.mu.Lock()
	current := l.conn == c
	if current {
		l.conn = nil
	}
	l.mu.Unlock()
	l.catalog.forget()
	l.hush(c)
	if current && l.visit.life.Err() == nil {
		l.log("the conversation with an upstream ended: it is opened again")
		l.revive()
	}
}

// hush closes a connection; its error is for the log.
func (l *leg) hush(c *connection) {
	if err := c.link.Close(); err != nil {
		l.log("an upstream did not end in good order", "error", err)
	}
}

// revive opens the connection again, with a back-off, until it is there, and then tells the client that what it knows
// may have changed.
func (l *leg) revive() {
	l.mu.Lock()
	begin := !l.reviving
	l.reviving = true
	l.mu.Unlock()
	if !begin {
		return
	}
	l.visit.begin(func() {
		defer func() {
			l.mu.Lock()
			l.reviving = false
			l.mu.Unlock()
		}()
		const first, longest = 100 * time.Millisecond, 30 * time.Second
		for wait := first; pause(l.visit.life, wait); wait = min(2*wait, longest) {
			if _, err := l.open(l.visit.life); err == nil {
				l.visit.server.log().Info("an upstream is there again", "server", l.up.Name())
				l.changed()
				return
			}
		}
	})
}

// restart ends the connection, so that the next one begins with another handshake.
func (l *leg) restart() {
	l.mu.Lock()
	c := l.conn
	l.conn = nil
	l.mu.Unlock()
	l.catalog.forget()
	if c != nil {
		l.hush(c)
	}
}

// close ends the connection for good; the visit's life is over.
func (l *leg) close() {
	l.mu.Lock()
	opening := l.opening
	l.mu.Unlock()
	if opening != nil {
		<-opening
	}
	l.restart()
}

// call sends a request on behalf of one of the client's, or of nobody where that is nil, and waits for its response, which
// becomes the answer.
func (l *leg) call(ctx context.Context, on *wire.Call, out *wire.Outgoing, answer *wire.Incoming) error {
	c, err := l.ready(ctx, on, out)
	if err != nil {
		return err
	}
	*answer, err = c.link.Call(ctx, *out)
	return err
}

// ready returns the connection that a request is to go over, and completes the request.
func (l *leg) ready(ctx context.Context, on *wire.Call, out *wire.Outgoing) (*connection, error) {
	c, err := l.open(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &wire.NotSentError{Err: err}
	}
	if err := l.visit.settled(ctx); err != nil {
		return nil, err
	}
	out.Era = l.era
	if out.Hear == nil {
		out.Hear = func(in wire.Incoming) { l.heard(c, on, in) }
	}
	if on != nil && out.Polling == nil {
		out.Polling = polling(on)
	}
	return c, nil
}

// log tells operators something of this upstream.
func (l *leg) log(text string, facts ...any) {
	l.visit.server.log().Warn(text, append([]any{"server", l.up.Name()}, facts...)...)
}

// warnOnce is log for what would be said again and again: each thing once for the leg, and only so many of them.
func (l *leg) warnOnce(text string, facts ...any) {
	const most = 1000
	key := text + fmt.Sprint(facts...)
	l.mu.Lock()
	known := l.warned[key] || len(l.warned) >= most
	if !known {
		if l.warned == nil {
			l.warned = make(map[string]bool)
		}
		l.warned[key] = true
	}
	l.mu.Unlock()
	if !known {
		l.log(text, facts...)
	}
}

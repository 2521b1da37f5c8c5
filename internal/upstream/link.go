package upstream

import (
	"context"
	"sync"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// The methods that a link has to know.
const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodListen     = "subscriptions/listen"
	methodPing       = "ping"
	methodProgress   = "notifications/progress"
	methodMessage    = "notifications/message"
	methodCancelled  = "notifications/cancelled"
	methodUpdated    = "notifications/resources/updated"
)

// link is a conversation over lines, whatever carries them. Its reader, receive, waits for nobody: what is to be heard
// goes into inboxes, which the goroutines of the calls empty, or one of the link's own.
//
// An id is not used again while an answer to it may still come, or has just come: the request then goes under a name of
// the link's own, and so does a progress token. Otherwise a late or a second answer to one client's request could be
// taken for the answer to another's.
type link struct {
	hear  func(wire.Incoming) // of what belongs to no call; may be nil
	noise *noise
	out   *sender
	done  chan struct{} // closed by end

	mu        sync.Mutex // guards what follows, and what calls say it guards
	calls     map[string]*call
	hearers   int              // calls that could be what an upstream speaks of without saying so
	tokens    map[string]*call // by the progress token that went over the wire
	abandoned map[string]struct{}
	crowded   bool // too many abandoned ids to remember: none of a client's is used any more
	answered  ring // ids that were answered
	spent     ring // tokens of calls that are over
	names     names
	held      int   // bytes in all inboxes
	common    inbox // for hear
	hearing   bool  // somebody empties common
	closing   error // why no more calls are taken
}

const (
	maxAbandoned = 4096    // ids of cancelled requests that are remembered
	maxKey       = 1 << 10 // bytes of an id or token that is remembered; a longer one does not go over the wire
)

// call is a request that has no answer yet.
type call struct {
	request wire.Outgoing
	key     string // of the id that went over the wire
	id      []byte // that id
	renamed bool   // it is not the request's own
	token   string // key of the progress token that went over the wire, "" if there is none
	own     []byte // the request's own token, if another one went over the wire
	parcel  *parcel
	wake    chan struct{} // has room for one

	inbox  inbox          // guarded by link.mu, as are the next four
	over   bool           // no more comes
	answer *wire.Incoming // not one in place: most of a call's life there is none
	lost   error          // why there is no answer
	late   bool           // request.Within is over
}

func newLink(out *sender, n *noise, hear func(wire.Incoming)) *link {
	return &link{
		hear: hear, noise: n, out: out, done: make(chan struct{}),
		calls: map[string]*call{}, tokens: map[string]*call{}, abandoned: map[string]struct{}{}, names: newNames(),
	}
}

// Call implements wire.Link. The upstream is not told that an initialize or server/discover is cancelled: the one must
// not be, and to the other it may not even have been a request.
func (l *link) Call(ctx context.Context, r wire.Outgoing) (wire.Incoming, error) {
	if err := ctx.Err(); err != nil {
		return wire.Incoming{}, &wire.NotSentError{Err: err}
	}
	c, err := l.admit(r)
	if err != nil {
		return wire.Incoming{}, &wire.NotSentError{Err: err}
	}
	if err := l.out.put(c.parcel); err != nil {
		l.leave(c)
		return wire.Incoming{}, &wire.NotSentError{Err: err}
	}
	if r.Within > 0 {
		timer := time.AfterFunc(r.Within, func() { l.expire(c) })
		defer timer.Stop()
	}
	if r.Meanwhile != nil {
		r.Meanwhile()
	}
	return l.await(ctx, c)
}

// expire lets the call give up.
func (l *link) expire(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.late = true
	c.wakeUp()
}

// await waits until c is over, ctx is done, or it is known that c cannot be sent.
func (l *link) await(ctx context.Context, c *call) (wire.Incoming, error) {
	broken := l.out.broken
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			if over, err := l.giveUp(ctx.Err(), c); !over {
				return wire.Incoming{}, err
			}
		case <-broken:
			broken = nil // what has been sent may still be answered
			if l.out.progress(c.parcel) == none && l.leave(c) {
				return wire.Incoming{}, &wire.NotSentError{Err: l.whyBroken()}
			}
		}
		l.mu.Lock()
		heard, over, late := c.inbox.take(&l.held), c.over, c.late
		answer, lost := c.answer, c.lost
		l.mu.Unlock()
		l.tell(ctx, c, heard)
		switch {
		case !over && late:
			if over, err := l.giveUp(context.DeadlineExceeded, c); !over {
				return wire.Incoming{}, err
			}
			c.wakeUp() // its answer came just now
		case !over:
		case lost == nil:
			return *answer, nil
		case l.out.progress(c.parcel) == none:
			return wire.Incoming{}, &wire.NotSentError{Err: lost}
		default:
			return wire.Incoming{}, &wire.LostError{Err: lost}
		}
	}
}

// tell lets what was said on behalf of c be heard. Should that take so long that ctx ends, then the upstream learns it
// at once.
func (l *link) tell(ctx context.Context, c *call, heard []wire.Incoming) {
	if len(heard) == 0 || c.request.Hear == nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { l.giveUp(ctx.Err(), c) })
	defer stop()
	for _, m := range heard {
		c.request.Hear(m)
	}
}

// giveUp ends c for a context's error, and tells the upstream so if it knows of c. It reports whether c is over already, and
// has an answer perhaps; if not, it returns what Call returns.
func (l *link) giveUp(why error, c *call) (over bool, err error) {
	state := l.out.withdraw(c.parcel)
	l.mu.Lock()
	if c.over {
		l.mu.Unlock()
		return true, nil
	}
	first := l.calls[c.key] == c
	l.forget(c)
	c.inbox.take(&l.held)
	if first && state != none {
		l.abandon(c)
	}
	l.mu.Unlock()
	if first && state != none && c.request.Method != methodInitialize && c.request.Method != methodDiscover {
		// An error means that the upstream is going away, and that the call goes with it.
		_ = l.out.put(&parcel{line: cancellation(c, why)})
	}
	switch state {
	case none:
		return false, &wire.NotSentError{Err: why}
	case some:
		return false, &wire.LostError{Err: why}
	}
	return false, why
}

// leave takes out c, which was never sent, and reports whether it was in flight.
func (l *link) leave(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.over {
		return false
	}
	l.forget(c)
	c.inbox.take(&l.held)
	return true
}

// whyBroken is why nothing can be sent any more.
func (l *link) whyBroken() error {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	return l.out.err
}

// Send implements wire.Link.
func (l *link) Send(ctx context.Context, line []byte) error {
	if err := ctx.Err(); err != nil {
		return &wire.NotSentError{Err: err}
	}
	if why := l.refusing(); why != nil {
		return &wire.NotSentError{Err: why}
	}
	p := &parcel{line: line, written: make(chan struct{})}
	if err := l.out.put(p); err != nil {
		return &wire.NotSentError{Err: err}
	}
	select {
	case <-p.written:
		return nil
	default:
	}
	var why error
	select {
	case <-p.written:
		return nil
	case <-ctx.Done():
		why = ctx.Err()
	case <-l.out.broken:
		why = l.whyBroken()
	}
	switch l.out.withdraw(p) {
	case none:
		return &wire.NotSentError{Err: why}
	case some:
		return &wire.LostError{Err: why}
	}
	return nil
}

// Done implements wire.Link.
func (l *link) Done() <-chan struct{} { return l.done }

// admit enters r as a call, under an id and a token that nobody else has.
func (l *link) admit(r wire.Outgoing) (*call, error) {
	token := r.Params.Get("_meta").Get("progressToken")
	c := &call{request: r, key: keyOf(r.ID), id: r.ID.Bytes(), wake: make(chan struct{}, 1)}
	var edits []canon.Edit
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing != nil {
		return nil, l.closing
	}
	if l.taken(c.key) {
		c.renamed, c.id = true, l.names.next()
		c.key = keyOfBytes(c.id)
		edits = append(edits, canon.Edit{Old: r.ID, New: c.id})
	}
	if token.Kind() == canon.String || token.Kind() == canon.Number {
		c.token = keyOf(token)
		if l.tokens[c.token] != nil || l.spent.has(c.token) || len(c.token) > maxKey {
			fresh := l.names.next()
			c.token, c.own = keyOfBytes(fresh), token.Bytes()
			edits = append(edits, canon.Edit{Old: token, New: fresh})
		}
		l.tokens[c.token] = c
	}
	l.calls[c.key] = c
	if c.mayHear() {
		l.hearers++
	}
	line := r.Line
	if len(edits) > 0 {
		line = canon.Splice(line, edits...)
	}
	c.parcel = &parcel{line: line}
	return c, nil
}

// mayHear reports whether c could be what an upstream speaks of without saying so: a subscription is not, and neither is
// a request that nobody hears for.
func (c *call) mayHear() bool { return c.request.Method != methodListen && c.request.Hear != nil }

// taken reports whether the id of that key must not be used for a new request; mu is held.
func (l *link) taken(key string) bool {
	_, abandoned := l.abandoned[key]
	return l.crowded || len(key) > maxKey || abandoned || l.calls[key] != nil || l.answered.has(key)
}

// forget takes c out; mu is held. What it has not heard stays for it.
func (l *link) forget(c *call) {
	if l.calls[c.key] != c {
		return
	}
	delete(l.calls, c.key)
	if c.mayHear() {
		l.hearers--
	}
	if c.token == "" {
		return
	}
	delete(l.tokens, c.token)
	// The token of a task is used for as long as the task lives (MCP 2025-11-25, basic/utilities/tasks).
	if c.over && c.lost == nil && c.request.Params.Get("task").Exists() {
		return
	}
	l.spent.add(c.token)
}

// abandon notes that an answer to c may still come, and will mean nothing; mu is held.
func (l *link) abandon(c *call) {
	switch {
	case c.renamed: // such a name is never used again
	case len(l.abandoned) < maxAbandoned:
		l.abandoned[c.key] = struct{}{}
	default:
		l.crowded = true
	}
}

// finish ends c with an answer, or with the reason why there is none, and reports whether it was in flight.
func (l *link) finish(c *call, answer wire.Incoming, lost error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls[c.key] != c {
		return false
	}
	if !c.renamed {
		l.answered.add(c.key)
	}
	l.settle(c, answer, lost)
	return true
}

// settle is finish for what is in flight; mu is held.
func (l *link) settle(c *call, answer wire.Incoming, lost error) {
	if c.lost, c.over = lost, true; lost == nil {
		c.answer = &answer
	}
	l.forget(c)
	c.wakeUp()
}

func (c *call) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// refuse takes no more calls, why being the reason; the first one stays.
func (l *link) refuse(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing == nil {
		l.closing = why
	}
}

func (l *link) refusing() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing
}

// end ends the conversation: nothing comes from the upstream any more. It must be called once.
func (l *link) end(why error) {
	l.refuse(why)
	close(l.done) // first: a call that is lost to it finds it closed
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		l.settle(c, wire.Incoming{}, why)
	}
}

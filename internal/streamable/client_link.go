package streamable

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

const (
	// maxPings is how many pings of a server are being answered at once. It gets no answer to more.
	maxPings = 8

	// sendTime is how long a server has to take a message to which it has nothing to answer.
	sendTime = time.Minute

	// patience is the same for what nobody waits for; tellTime is what is left of it when the link is closed, and
	// farewellTime is for the end of the session itself.
	patience     = 10 * time.Second
	tellTime     = time.Second
	farewellTime = 3 * time.Second
)

var errOver = errors.New("the conversation with the server is over")

// link is a wire.Link over HTTP.
type link struct {
	client *Client
	hear   func(wire.Incoming)
	prefix string        // of ids that are the link's own
	pings  chan struct{} // holds one element for each that is being answered
	done   chan struct{} // closed with over
	close  sync.Once

	// background are the goroutines that the link has started.
	background sync.WaitGroup

	mu        sync.Mutex // guards what follows
	over      bool       // nothing more is begun
	forced    bool       // nothing at all is begun
	gone      bool       // the server does not know the session any more
	session   string     // legacy: its id, "" if there is none
	version   string     // legacy: of the protocol, as initialize was answered
	listening bool       // legacy: the session's own stream is being read, or asked for
	calls     map[string]bool
	minted    int // ids of our own so far
	running   map[*exchange]bool
}

// Call implements wire.Link.
func (l *link) Call(ctx context.Context, r wire.Outgoing) (wire.Incoming, error) {
	if ctx.Err() != nil {
		return wire.Incoming{}, ctx.Err()
	}
	ctx, cancel := r.Bound(ctx)
	defer cancel()
	if r.Method != methodListen {
		select {
		case l.client.slots <- struct{}{}:
			defer func() { <-l.client.slots }()
		case <-ctx.Done():
			return wire.Incoming{}, ctx.Err()
		case <-l.done:
			return wire.Incoming{}, &wire.NotSentError{Err: errOver}
		}
	}
	c := l.enter(r)
	if r.Meanwhile != nil { // here it is the transport that knows when the request is on its way
		var beside sync.WaitGroup
		beside.Go(r.Meanwhile)
		defer beside.Wait()
	}
	m, err := c.run(ctx)
	if err == nil || !c.orphaned(ctx) || !l.cancelled(c) {
		l.leave(c)
	}
	return m, err
}

// enter gives a request the id under which it goes: its own, if no other call has that one at the moment.
func (l *link) enter(r wire.Outgoing) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &call{link: l, out: r, line: r.Line, id: r.ID, key: wire.IDKey(r.ID), modern: r.Era == wire.Modern}
	for l.calls[c.key] {
		l.minted++
		id := canon.AppendString(nil, l.prefix+strconv.Itoa(l.minted))
		c.line = canon.Splice(r.Line, canon.Edit{Old: r.ID, New: id})
		c.id, _ = canon.Parse(id)
		c.key, c.renamed = wire.IDKey(c.id), true
	}
	l.calls[c.key] = true
	return c
}

func (l *link) leave(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, c.key)
}

// Send implements wire.Link.
func (l *link) Send(ctx context.Context, line []byte) error {
	m, err := wire.ScanIncoming(line)
	if err != nil {
		return &wire.NotSentError{Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	if err := l.post(ctx, line, l.headerOf(m), false); err != nil {
		return err
	}
	if m.Method == methodInitialized {
		l.listen()
	}
	return nil
}

// headerOf returns the header for a message that no call is made of. What names its own version is modern.
func (l *link) headerOf(m wire.Incoming) http.Header {
	if version, ok := m.Params.Get("_meta").Get(wire.MetaProtocolVersion).Text(); ok && isPlain(version) {
		h := http.Header{fieldVersion: {version}}
		if isPlain(m.Method) {
			h.Set(fieldMethod, m.Method)
		}
		return h
	}
	h, _ := l.sessionHeader()
	return h
}

// post sends a message that has no answer. Close lets it end in good order if telling is set.
func (l *link) post(ctx context.Context, line []byte, header http.Header, telling bool) error {
	p := passage{telling: telling}
	x, err := l.exchange(ctx, http.MethodPost, line, header, &p)
	if err != nil {
		if ctx.Err() != nil {
			err = p.judge(err)
		}
		return err
	}
	defer x.settle()
	status := x.response.StatusCode
	if status < 300 {
		return nil
	}
	if refusal, ok := x.refusal(); ok {
		if l.endedBy(x, refusal) {
			return &wire.NotSentError{Err: errSession}
		}
		return &wire.NotSentError{Err: errorOf(refusal)}
	}
	if l.endedBy(x, wire.Incoming{}) {
		return &wire.NotSentError{Err: errSession}
	}
	return statusError(x.response)
}

// sessionHeader returns the header of a legacy message, and the session that is in it.
func (l *link) sessionHeader() (h http.Header, session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h = http.Header{}
	if l.version != "" {
		h.Set(fieldVersion, l.version)
	}
	if l.session != "" {
		h.Set(fieldSession, l.session)
	}
	return h, l.session
}

// begun is told how the server answered initialize. A session's id that cannot be sent back is none.
func (l *link) begun(session string, result canon.Value) {
	version, _ := result.Get("protocolVersion").Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session, l.version = "", ""
	if isVisible(session) && len(session) <= maxSessionID {
		l.session = session
	}
	if isPlain(version) {
		l.version = version
	}
}

// maxSessionID is the length of the longest id of a session that is taken.
const maxSessionID = 4 << 10

// spawn runs f in a goroutine that Close waits for. It does not once the link is over.
func (l *link) spawn(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	l.background.Go(f)
	return true
}

// cancelled tells the server that nobody waits for the answer to c any more. Only then is c's id free for another call,
// which would be cancelled otherwise. It reports false where there is nobody to be told.
func (l *link) cancelled(c *call) bool {
	line := append([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), c.id.Bytes()...)
	line = append(line, "}}"...)
	return l.spawn(func() {
		defer l.leave(c)
		l.tell(line)
	})
}

// answerPing answers a ping of the server's.
func (l *link) answerPing(id canon.Value) {
	select {
	case l.pings <- struct{}{}:
	default:
		return
	}
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id.Bytes()...)
	line = append(line, `,"result":{}}`...)
	if !l.spawn(func() {
		defer func() { <-l.pings }()
		l.tell(line)
	}) {
		<-l.pings
	}
}

// tell sends a message, and does what can be done about an error: nothing.
func (l *link) tell(line []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h, _ := l.sessionHeader()
	l.post(ctx, line, h, true)
}

// Done implements wire.Link.
func (l *link) Done() <-chan struct{} { return l.done }

// end makes the link begin nothing more; gone says that there is no session to be ended.
func (l *link) end(gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = l.gone || gone
	if !l.over {
		l.over = true
		close(l.done)
	}
}

// Close implements wire.Link. It must not be called by what hears.
func (l *link) Close() error {
	l.close.Do(func() {
		l.end(false)
		l.abandon(false)
		late := time.AfterFunc(tellTime, func() { l.abandon(true) })
		l.background.Wait()
		late.Stop()
		l.farewell()
		l.client.left()
	})
	return nil
}

// abandon ends all exchanges; only if all is set those too that tell the server what it ought to know.
func (l *link) abandon(all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forced = l.forced || all
	for x := range l.running {
		if all || !x.telling {
			x.cancel()
		}
	}
}

// farewell ends the session, if there is one. A server may refuse that (405), or not be there any more: it is over in
// any case.
func (l *link) farewell() {
	header, session := l.sessionHeader()
	l.mu.Lock()
	gone := l.gone
	l.mu.Unlock()
	if session == "" || gone {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewellTime)
	defer cancel()
	req, err := l.client.request(ctx, http.MethodDelete, nil, header)
	if err != nil {
		return
	}
	resp, err := l.client.send.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, maxSettle)
}

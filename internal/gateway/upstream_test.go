package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"sallyport/internal/upstream"
	"sallyport/internal/wire"
)

// fake is an upstream that says what a test wants it to say. What it is asked under ids of the gateway's own it answers
// from lists, at once.
type fake struct {
	name string

	mu      sync.Mutex        // guards what follows
	era     wire.Era          // that Negotiate finds
	welcome string            // what it finds said
	lists   map[string]string // the results of our own requests, by method; "never" for no answer
	down    bool
	slow    time.Duration // what sending a notification takes
	links   []*fakeLink   // the last one is the current one
	got     []string      // what was received, and what was done
	opens   int
	auto    func(out wire.Outgoing) string // the response to a client's request, "" for none; may be nil
}

func (f *fake) Name() string { return f.name }

func (f *fake) Open(ctx context.Context, hear func(wire.Incoming)) (wire.Link, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opens++
	if f.down {
		return nil, &wire.NotSentError{Err: errors.New("a secret of the operator")}
	}
	l := &fakeLink{of: f, hear: hear, done: make(chan struct{}), pending: make(map[string]*pending)}
	f.links = append(f.links, l)
	return l, nil
}

func (f *fake) Negotiate(ctx context.Context, as upstream.Identity, hear func(wire.Incoming)) (wire.Link, upstream.Welcome, error) {
	l, err := f.Open(ctx, hear)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && f.era == 0 {
		err = errors.New("it speaks neither era")
	}
	if err != nil {
		return nil, upstream.Welcome{}, err
	}
	f.got = append(f.got, "negotiate")
	return l, upstream.Welcome{Era: f.era, Version: "x", Result: []byte(f.welcome)}, nil
}

func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, "close")
	return nil
}

// list sets what is answered to requests of ours for a method, and by answer to those of clients.
func (f *fake) list(method, result string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists[method] = result
}

// fall makes the upstream one that cannot be opened, or one that can again.
func (f *fake) fall(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

// received returns what came since it was called last.
func (f *fake) received() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	got := f.got
	f.got = nil
	return got
}

var ownIDs = regexp.MustCompile(`sallyport-[A-Z2-7]+-[0-9]+`)

func (f *fake) note(line string) {
	f.got = append(f.got, ownIDs.ReplaceAllString(line, "OWN"))
}

// says lets the upstream say a line, in which OWN is the id of a request of ours in flight: the response to a request in flight, or something to a request that alone is in
// flight, or something that belongs to none.
func (f *fake) says(line string) {
	if strings.Contains(line, `"OWN"`) {
		f.mu.Lock()
		for id := range f.links[len(f.links)-1].pending {
			if ownIDs.MatchString(id) {
				line = strings.ReplaceAll(line, `"OWN"`, id)
			}
		}
		f.mu.Unlock()
	}
	in, err := wire.ScanIncoming([]byte(line))
	if err != nil {
		panic(fmt.Sprintf("the upstream cannot say %s: %v", line, err))
	}
	f.mu.Lock()
	l := f.links[len(f.links)-1]
	hear := l.hear
	if in.Kind == wire.Response {
		if p := l.pending[string(in.ID.Bytes())]; p != nil {
			p.answer <- in
			delete(l.pending, string(in.ID.Bytes()))
		}
		f.mu.Unlock()
		return
	}
	for id, p := range l.pending {
		switch sub := subscriptionID(in); {
		case sub == id, sub == "" && len(l.pending) == 1 && p.hear != nil:
			hear = p.hear
		}
	}
	f.mu.Unlock()
	hear(in)
}

func subscriptionID(in wire.Incoming) string {
	return string(in.Params.Get("_meta").Get(wire.MetaSubscriptionID).Bytes())
}

// die ends the current conversation as a crash does.
func (f *fake) die() {
	f.mu.Lock()
	l := f.links[len(f.links)-1]
	f.mu.Unlock()
	l.end()
}

type fakeLink struct {
	of   *fake
	hear func(wire.Incoming)
	done chan struct{}
	once sync.Once

	pending map[string]*pending // guarded by fake.mu
}

type pending struct {
	answer chan wire.Incoming
	hear   func(wire.Incoming)
}

func (l *fakeLink) Call(ctx context.Context, r wire.Outgoing) (wire.Incoming, error) {
	ctx, cancel := r.Bound(ctx)
	defer cancel()
	f := l.of
	f.mu.Lock()
	select {
	case <-l.done:
		f.mu.Unlock()
		return wire.Incoming{}, &wire.NotSentError{Err: errors.New("the conversation is over")}
	default:
	}
	line := string(r.Line)
	for name, value := range r.ParamHeaders {
		line += " [" + name + ": " + value + "]"
	}
	f.note(line)
	id := string(r.ID.Bytes())
	p := &pending{answer: make(chan wire.Incoming, 1), hear: r.Hear}
	own := strings.Contains(id, "sallyport-")
	text, known := f.lists[r.Method]
	switch {
	case own && known && text != "never" && strings.HasPrefix(text, "error "):
		p.answer <- mustScan(`{"jsonrpc":"2.0","id":` + id + `,"error":` + text[len("error "):] + `}`)
	case own && known && text != "never":
		p.answer <- mustScan(`{"jsonrpc":"2.0","id":` + id + `,"result":` + text + `}`)
	case own && !known && r.Method != "subscriptions/listen" && r.Method != "tools/call":
		p.answer <- mustScan(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32601,"message":"?"}}`)
	default:
		l.pending[id] = p
		if f.auto != nil {
			if text := f.auto(r); text != "" {
				p.answer <- mustScan(text)
				delete(l.pending, id)
			}
		}
	}
	f.mu.Unlock()
	select {
	case in := <-p.answer:
		if code, ok := in.Error.Get("code").Int(); ok && code == -32020 { // as streamable HTTP has it
			return wire.Incoming{}, &wire.NotSentError{Err: &wire.Error{Code: -32020, Message: "no"}}
		}
		return in, nil
	default:
	}
	select {
	case in := <-p.answer:
		return in, nil
	case <-ctx.Done():
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(l.pending, id)
		f.note("cancelled " + id)
		return wire.Incoming{}, ctx.Err()
	case <-l.done:
		return wire.Incoming{}, &wire.LostError{Err: errors.New("a secret of the server")}
	}
}

func mustScan(line string) wire.Incoming {
	in, err := wire.ScanIncoming([]byte(line))
	if err != nil {
		panic(line + ": " + err.Error())
	}
	return in
}

func (l *fakeLink) Send(_ context.Context, line []byte) error {
	time.Sleep(l.of.slow)
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	select {
	case <-l.done:
		return &wire.NotSentError{Err: errors.New("the conversation is over")}
	default:
	}
	l.of.note(string(line))
	return nil
}

func (l *fakeLink) Done() <-chan struct{} { return l.done }

func (l *fakeLink) end() { l.once.Do(func() { close(l.done) }) }

func (l *fakeLink) Close() error {
	l.end()
	return nil
}

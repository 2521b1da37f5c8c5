package bridge

import (
	"context"
	"log/slog"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

const (
	// maxWatches is how many resources a session may be subscribed to: each is a request that stays open.
	maxWatches = 256

	// A subscription that broke is opened again after firstRest, then after twice that and so on up to longestRest,
	// and from the beginning once it has held for steadyAfter.
	firstRest   = 250 * time.Millisecond
	longestRest = 30 * time.Second
	steadyAfter = 10 * time.Second
)

// watch is a subscription at the server, for the lists or for one resource, that is opened again when it breaks.
type watch struct {
	uri    string // "" for the lists
	wanted []byte // the member notifications
	cancel context.CancelFunc
	opened chan struct{} // closed when the server has acknowledged it for the first time
	over   chan struct{} // closed when it is over

	// Guarded by Legacy.mu.
	id       string // of the request that is open
	cut      context.CancelFunc
	acked    bool // at least once
	honoured bool // the latest time: the server tells of some of what was wanted
}

// watchLists subscribes to the changes of the lists that the server tells of.
func (l *Legacy) watchLists(link wire.Link) {
	var lists []string
	for _, feature := range []string{"tools", "prompts", "resources"} {
		if changes, _ := l.capability(feature).Get("listChanged").Bool(); changes {
			lists = append(lists, member(feature+"ListChanged", []byte("true")))
		}
	}
	if len(lists) > 0 {
		l.watch(link, "", WithFirst([]byte(`{}`), lists...))
	}
}

// subscribe answers resources/subscribe.
func (l *Legacy) subscribe(ctx context.Context, link wire.Link, params canon.Value) ([]byte, *wire.Error, error) {
	if can, _ := l.capability("resources").Get("subscribe").Bool(); !can {
		return nil, methodNotFound("resources/subscribe"), nil
	}
	uri, ok := params.Get("uri").Text()
	if !ok || uri == "" {
		return nil, refusal(wire.CodeInvalidParams, "params.uri must be a string that is not empty"), nil
	}
	wanted := append(canon.AppendString([]byte(`{"resourceSubscriptions":[`), uri), "]}"...)
	w := l.watch(link, uri, wanted)
	if w == nil {
		return nil, refusal(wire.CodeInternal, "busy: too many resources are subscribed to"), nil
	}
	limit := time.NewTimer(sendTimeout)
	defer limit.Stop()
	var err error
	select {
	case <-w.opened:
	case <-w.over:
	case <-limit.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	honoured := w.honoured
	l.mu.Unlock()
	if honoured {
		return []byte(`{}`), nil, nil
	}
	l.unwatch(w)
	return nil, refusal(wire.CodeInvalidParams, "the server does not tell of changes of this resource: "+cut(uri)), err
}

// unsubscribe answers resources/unsubscribe.
func (l *Legacy) unsubscribe(params canon.Value) ([]byte, *wire.Error) {
	uri, ok := params.Get("uri").Text()
	if !ok || uri == "" {
		return nil, refusal(wire.CodeInvalidParams, "params.uri must be a string that is not empty")
	}
	l.mu.Lock()
	w := l.watches[uri]
	l.mu.Unlock()
	if w != nil {
		l.unwatch(w)
	}
	return []byte(`{}`), nil
}

// watch returns the watch for uri, which it begins if there is none; nil if there are too many.
func (l *Legacy) watch(link wire.Link, uri string, wanted []byte) *watch {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.watches[uri]; w != nil {
		return w
	}
	if len(l.watches) >= maxWatches || !l.begin() {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{uri: uri, wanted: wanted, cancel: cancel, opened: make(chan struct{}), over: make(chan struct{})}
	l.watches[uri] = w
	go func() {
		defer l.work.Done()
		defer close(w.over)
		defer l.unwatch(w)
		l.keep(ctx, link, w)
	}()
	return w
}

// unwatch ends a watch.
func (l *Legacy) unwatch(w *watch) {
	w.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watches[w.uri] == w {
		delete(l.watches, w.uri)
	}
}

// unwatchAll ends all watches.
func (l *Legacy) unwatchAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uri, w := range l.watches {
		w.cancel()
		delete(l.watches, uri)
	}
}

// keep holds a subscription open until ctx is done, the conversation is over, or the server will not have it.
func (l *Legacy) keep(ctx context.Context, link wire.Link, w *watch) {
	for rest := firstRest; ; rest = min(2*rest, longestRest) {
		began := time.Now()
		in, err := l.open(ctx, link, w)
		if ctx.Err() != nil {
			return
		}
		if err == nil && in.Error.Exists() && !l.mayReopen(w, in) {
			l.opt.Log.Warn("a server does not tell of changes", slog.String("error", cut(string(in.Error.Bytes()))))
			return
		}
		if l.isInVain(w) {
			return
		}
		if time.Since(began) >= steadyAfter {
			rest = firstRest
		}
		pause := time.NewTimer(rest)
		select {
		case <-pause.C:
		case <-ctx.Done():
		case <-link.Done():
		case <-l.closing:
		}
		pause.Stop()
		if ended(link) || ctx.Err() != nil {
			return
		}
	}
}

// mayReopen reports whether a subscription that the server answered with an error is worth another attempt: it has been
// open before, and the server does not say that there is no such thing.
func (l *Legacy) mayReopen(w *watch, in wire.Incoming) bool {
	code, _ := in.Error.Get("code").Int()
	l.mu.Lock()
	defer l.mu.Unlock()
	return w.acked && code != wire.CodeMethodNotFound && code != wire.CodeInvalidParams
}

// isInVain reports whether the server has opened a subscription and will tell of nothing.
func (l *Legacy) isInVain(w *watch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return w.acked && !w.honoured
}

// open sends one subscriptions/listen and returns when it is over.
func (l *Legacy) open(ctx context.Context, link wire.Link, w *watch) (wire.Incoming, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := newID()
	l.mu.Lock()
	w.id, w.cut = id, cancel
	l.mu.Unlock()
	params, err := canon.Skim(WithFirst([]byte(`{}`), member("notifications", w.wanted)))
	if err != nil {
		return wire.Incoming{}, err
	}
	const method = "subscriptions/listen"
	out := outgoing(requestLine(id, method, l.withSession(params)), method, wire.Modern)
	out.Hear = func(in wire.Incoming) {
		switch {
		case in.Kind != wire.Notification || in.Method == "notifications/cancelled":
			l.Hear(in)
		case in.Method == "notifications/subscriptions/acknowledged":
			l.acknowledged(w, in.Params.Get("notifications"))
		default:
			l.tell(plain(in))
		}
	}
	return link.Call(ctx, out)
}

// acknowledged notes what the server will tell of. What changed while a subscription was broken nobody told, so all that
// it is for is taken to have changed.
func (l *Legacy) acknowledged(w *watch, granted canon.Value) {
	var lost [][]byte // what nobody told while it was broken
	if w.uri == "" {
		for _, list := range []string{"tools", "prompts", "resources"} {
			if yes, _ := granted.Get(list + "ListChanged").Bool(); yes {
				lost = append(lost, noticeLine("notifications/"+list+"/list_changed", nil))
			}
		}
	}
	for v := range granted.Get("resourceSubscriptions").Elements() {
		if uri, _ := v.Text(); uri == w.uri && uri != "" {
			params := append(canon.AppendString([]byte(`{"uri":`), uri), '}')
			lost = append(lost[:0], noticeLine("notifications/resources/updated", params))
		}
	}
	l.mu.Lock()
	again := w.acked
	w.acked, w.honoured = true, len(lost) > 0
	l.mu.Unlock()
	if !again {
		close(w.opened)
		return
	}
	for _, line := range lost {
		l.tell(scanned(line))
	}
}

// cutShort ends the subscription with this id: the server has ended it.
func (l *Legacy) cutShort(id canon.Value) {
	name, _ := id.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.watches {
		if w.id == name && name != "" {
			w.cut()
		}
	}
}

package bridge

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

const (
	maxListens   = 256  // subscriptions of a link that are open at once
	maxResources = 1024 // resources that a subscription may name
	maxFollowed  = 4096 // resources that all subscriptions of a link may name
)

// listen is an open subscription of a modern client's (MCP 2026-07-28, basic/patterns/subscriptions).
type listen struct {
	wanted wishes

	mu    sync.Mutex // guards what follows
	acked bool
	hear  func(wire.Incoming) // nil when the subscription has ended
	meta  string              // the member of _meta that names the subscription
}

// wishes are what a subscription asks for, or is granted.
type wishes struct {
	lists     []string // members such as toolsListChanged
	resources []string
}

// listOf returns the member that asks for the changes which this notification tells of; "" if it tells of a resource.
func listOf(method string) string {
	switch method {
	case "notifications/tools/list_changed":
		return "toolsListChanged"
	case "notifications/prompts/list_changed":
		return "promptsListChanged"
	case "notifications/resources/list_changed":
		return "resourcesListChanged"
	}
	return ""
}

// followed is a resource that is subscribed to at the server.
type followed struct {
	listens    int
	subscribed bool // guarded by Modern.following
}

// listen answers subscriptions/listen: it stays open until ctx is done or the conversation ends.
func (m *Modern) listen(ctx context.Context, link wire.Link, r wire.Outgoing) (wire.Incoming, error) {
	m.mu.Lock()
	wanted, refused := readWishes(r.Params, m.about)
	m.mu.Unlock()
	if refused != nil {
		return fault(r.ID, refused), nil
	}
	l := &listen{wanted: wanted, hear: r.Hear, meta: member(wire.MetaSubscriptionID, r.ID.Bytes())}
	if !m.join(l) {
		return fault(r.ID, refusal(wire.CodeInternal, "busy: too many subscriptions are open")), nil
	}
	defer m.leave(link, l)
	granted := m.follow(ctx, link, l.wanted.resources)
	if ctx.Err() != nil {
		return wire.Incoming{}, ctx.Err()
	}
	l.acknowledge(granted)
	select {
	case <-ctx.Done():
		return wire.Incoming{}, ctx.Err()
	case <-link.Done():
	case <-m.closing:
	}
	return wire.Incoming{}, &wire.LostError{Err: errClosed}
}

// readWishes reads what a subscription asks for, without what the server cannot tell.
func readWishes(params canon.Value, able about) (wishes, *wire.Error) {
	asked := params.Get("notifications")
	if asked.Kind() != canon.Object {
		return wishes{}, refusal(wire.CodeInvalidParams, "params.notifications must be an object")
	}
	var w wishes
	for _, list := range []struct {
		name string
		able bool
	}{{"toolsListChanged", able.tools}, {"promptsListChanged", able.prompts}, {"resourcesListChanged", able.resources}} {
		v := asked.Get(list.name)
		wanted, ok := v.Bool()
		if v.Exists() && !ok {
			return wishes{}, refusal(wire.CodeInvalidParams, "params.notifications."+list.name+" must be a boolean")
		}
		if wanted && list.able {
			w.lists = append(w.lists, list.name)
		}
	}
	resources := asked.Get("resourceSubscriptions")
	if resources.Exists() && resources.Kind() != canon.Array {
		return wishes{}, refusal(wire.CodeInvalidParams, "params.notifications.resourceSubscriptions must be an array")
	}
	seen := map[string]bool{}
	for v := range resources.Elements() {
		uri, ok := v.Text()
		if !ok {
			return wishes{}, refusal(wire.CodeInvalidParams,
				"params.notifications.resourceSubscriptions must have strings only")
		}
		if len(seen) == maxResources {
			return wishes{}, refusal(wire.CodeInvalidParams,
				"params.notifications.resourceSubscriptions has more than 1024 resources")
		}
		if able.following && !seen[uri] {
			seen[uri] = true
			w.resources = append(w.resources, uri)
		}
	}
	return w, nil
}

// join counts a subscription in, and its resources; false if there are too many.
func (m *Modern) join(l *listen) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || len(m.listens) >= maxListens || len(m.followed)+len(l.wanted.resources) > maxFollowed {
		return false
	}
	m.listens = append(m.listens, l)
	for _, uri := range l.wanted.resources {
		if m.followed[uri] == nil {
			m.followed[uri] = &followed{}
		}
		m.followed[uri].listens++
	}
	return true
}

// follow subscribes to the resources that are not subscribed to yet, and returns those that now are.
func (m *Modern) follow(ctx context.Context, link wire.Link, uris []string) []string {
	var granted []string
	if len(uris) == 0 {
		return nil
	}
	select {
	case m.following <- struct{}{}:
		defer func() { <-m.following }()
	case <-ctx.Done():
		return nil
	}
	for _, uri := range uris {
		m.mu.Lock()
		f := m.followed[uri]
		m.mu.Unlock()
		if !f.subscribed {
			agreed, err := m.tellResource(ctx, link, "resources/subscribe", uri)
			if err != nil {
				break // who does not answer is not asked a thousand times
			}
			f.subscribed = agreed
		}
		if f.subscribed {
			granted = append(granted, uri)
		}
	}
	return granted
}

// tellResource sends one request about a resource, and reports whether the server agreed; an error is that it did not
// answer.
func (m *Modern) tellResource(ctx context.Context, link wire.Link, method, uri string) (agreed bool, err error) {
	params := append(canon.AppendString([]byte(`{"uri":`), uri), '}')
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	in, err := link.Call(ctx, outgoing(requestLine(newID(), method, params), method, wire.Legacy))
	if err != nil && !ended(link) {
		m.opt.Log.Warn("a server did not answer", slog.String("method", method), slog.Any("error", err))
	}
	return err == nil && !in.Error.Exists(), err
}

// leave ends what join began, and unsubscribes from what nobody follows any more.
func (m *Modern) leave(link wire.Link, l *listen) {
	l.mu.Lock()
	l.hear = nil
	l.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listens = slices.DeleteFunc(m.listens, func(other *listen) bool { return other == l })
	var left []string
	for _, uri := range l.wanted.resources {
		if m.followed[uri].listens--; m.followed[uri].listens == 0 {
			left = append(left, uri)
		}
	}
	if len(left) == 0 || !m.begin() {
		return
	}
	go func() {
		defer m.work.Done()
		m.unfollow(link, left)
	}()
}

// unfollow unsubscribes from those of the resources that nobody has come to follow meanwhile.
func (m *Modern) unfollow(link wire.Link, uris []string) {
	select {
	case m.following <- struct{}{}:
		defer func() { <-m.following }()
	case <-m.closing:
		return
	}
	var err error
	for _, uri := range uris {
		m.mu.Lock()
		f := m.followed[uri]
		over := f != nil && f.listens == 0
		m.mu.Unlock()
		if !over {
			continue
		}
		if f.subscribed && err == nil {
			_, err = m.tellResource(context.Background(), link, "resources/unsubscribe", uri)
		}
		f.subscribed = false
		m.mu.Lock()
		if f.listens == 0 { // who has come meanwhile waits for us to be done, and subscribes then
			delete(m.followed, uri)
		}
		m.mu.Unlock()
	}
}

// acknowledge opens a subscription. Nothing comes on it before that.
func (l *listen) acknowledge(granted []string) {
	honoured := []string{}
	for _, list := range l.wanted.lists {
		honoured = append(honoured, member(list, []byte("true")))
	}
	if len(granted) > 0 {
		uris := []byte{'['}
		for i, uri := range granted {
			if i > 0 {
				uris = append(uris, ',')
			}
			uris = canon.AppendString(uris, uri)
		}
		honoured = append(honoured, member("resourceSubscriptions", append(uris, ']')))
	}
	params := WithFirst([]byte(`{}`), member("_meta", []byte("{"+l.meta+"}")),
		member("notifications", WithFirst([]byte(`{}`), honoured...)))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = true
	if l.hear != nil {
		l.hear(scanned(noticeLine("notifications/subscriptions/acknowledged", params)))
	}
}

// changed tells those who listen for it that something has changed.
func (m *Modern) changed(in wire.Incoming) {
	uri, _ := in.Params.Get("uri").Text()
	list := listOf(in.Method)
	m.mu.Lock()
	var to []*listen
	for _, l := range m.listens {
		if l.wants(list, uri) {
			to = append(to, l)
		}
	}
	m.mu.Unlock()
	for _, l := range to {
		l.tell(in)
	}
}

// wants reports whether a subscription is for changes of the list, or, where that is "", of the resource. A server may
// tell of a part of what was subscribed to.
func (l *listen) wants(list, uri string) bool {
	if list == "" {
		for _, wanted := range l.wanted.resources {
			rest, within := strings.CutPrefix(uri, wanted)
			if within && (rest == "" || rest[0] == '/' || strings.HasSuffix(wanted, "/")) {
				return true
			}
		}
		return false
	}
	return slices.Contains(l.wanted.lists, list)
}

// tell sends a change on the subscription.
func (l *listen) tell(in wire.Incoming) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.acked || l.hear == nil {
		return
	}
	params := withMeta(in.Params, oneOf(wire.MetaSubscriptionID), l.meta)
	l.hear(scanned(withParams(in.Line, in.Params, params)))
}

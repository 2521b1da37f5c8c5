package bridge

import (
	"context"
	"slices"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// legacyVersions are the versions of the legacy era, newest first.
func legacyVersions() []string {
	return []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
}

// tasksExtension is what carries tasks in the modern era. They are not carried between versions.
const tasksExtension = "io.modelcontextprotocol/tasks"

// Legacy is a link for the requests of one legacy session over a server that speaks MCP 2026-07-28. It is safe for
// concurrent use.
type Legacy struct {
	span

	// Guarded by span.mu.
	about   canon.Value // the result of server/discover
	session session
	asks    map[string]*ask   // the client's answers that are waited for, by id
	watches map[string]*watch // subscriptions at the server, by resource; "" is that of the lists
}

// session is what a legacy client said that each modern request has to say again.
type session struct {
	version      string
	clientInfo   []byte // nil if it said nothing
	capabilities []byte
	level        string // of log messages; "" before logging/setLevel
}

// NewLegacy returns a link that has yet to be attached. hear is told of what belongs to no request: changes of lists and
// resources, and, where a call has nobody who hears, the questions of the server too. Those are requests under ids of
// ours; their answers are expected through Send.
func NewLegacy(hear func(wire.Incoming), opt Options) *Legacy {
	opt = opt.withDefaults()
	return &Legacy{
		span:    span{opt: opt, hear: hear, closing: make(chan struct{})},
		session: session{version: legacyVersions()[0], clientInfo: opt.ClientInfo, capabilities: []byte(`{}`)},
		asks:    map[string]*ask{},
		watches: map[string]*watch{},
	}
}

// Attach gives l the conversation with a server, and the result of its server/discover.
func (l *Legacy) Attach(link wire.Link, discover []byte) {
	said, err := canon.Skim(discover)
	if err != nil {
		l.opt.Log.Warn("a server's discover result cannot be read: it is taken to have no capabilities")
	}
	l.mu.Lock()
	l.about = said
	l.mu.Unlock()
	for _, in := range l.attach(link) {
		l.Hear(in)
	}
}

// capability returns what the server declared of a feature.
func (l *Legacy) capability(feature string) canon.Value {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.about.Get("capabilities").Get(feature)
}

// Call implements wire.Link.
func (l *Legacy) Call(ctx context.Context, r wire.Outgoing) (wire.Incoming, error) {
	link, err := l.beneath()
	if err != nil {
		return wire.Incoming{}, err
	}
	ctx, cancel := r.Bound(ctx)
	defer cancel()
	var result []byte
	var refused *wire.Error
	switch {
	case r.Method == "initialize":
		result, refused = l.initialize(r.Params)
	case r.Method == "ping":
		result = []byte(`{}`)
	case r.Method == "logging/setLevel":
		result, refused = l.setLevel(r.Params)
	case r.Method == "resources/subscribe":
		result, refused, err = l.subscribe(ctx, link, r.Params)
	case r.Method == "resources/unsubscribe":
		result, refused = l.unsubscribe(r.Params)
	case strings.HasPrefix(r.Method, "tasks/"):
		refused = refusal(wire.CodeMethodNotFound,
			"method not found: tasks are not carried between versions of the protocol")
	case r.Method == "server/discover" || r.Method == "subscriptions/listen":
		refused = methodNotFound(r.Method)
	default:
		return l.forward(ctx, link, r)
	}
	switch {
	case err != nil:
		return wire.Incoming{}, err
	case refused != nil:
		return fault(r.ID, refused), nil
	}
	return answer(r.ID, result), nil
}

// initialize answers the handshake from what the server said of itself. Done again, it begins anew.
func (l *Legacy) initialize(params canon.Value) ([]byte, *wire.Error) {
	version, ok := params.Get("protocolVersion").Text()
	if !ok {
		return nil, refusal(wire.CodeInvalidParams, "params.protocolVersion must be a string")
	}
	if !slices.Contains(legacyVersions(), version) {
		version = legacyVersions()[0]
	}
	s := session{version: version, capabilities: []byte(`{}`)}
	if v := params.Get("clientInfo"); v.Kind() == canon.Object {
		s.clientInfo = v.Bytes()
	}
	if v := params.Get("capabilities"); v.Kind() == canon.Object {
		s.capabilities = withoutTasks(v)
	}
	l.unwatchAll()
	l.mu.Lock()
	l.session = s
	said := l.about
	l.mu.Unlock()

	capabilities := []byte(`{}`)
	if v := said.Get("capabilities"); v.Kind() == canon.Object {
		capabilities = withoutTasks(v)
	}
	info := []byte(`{"name":"unknown","version":"unknown"}`)
	meta := said.Get("_meta")
	if v := meta.Get(wire.MetaServerInfo); v.Kind() == canon.Object {
		info = v.Bytes()
	}
	members := []string{
		`"protocolVersion":"` + version + `"`, member("capabilities", capabilities), member("serverInfo", info),
	}
	if v := said.Get("instructions"); v.Exists() {
		members = append(members, member("instructions", v.Bytes()))
	}
	if rest, left := Without(meta, oneOf(wire.MetaServerInfo)); left > 0 {
		members = append(members, member("_meta", rest))
	}
	return WithFirst([]byte(`{}`), members...), nil
}

// withoutTasks returns capabilities without those that have to do with tasks.
func withoutTasks(capabilities canon.Value) []byte {
	extensions := capabilities.Get("extensions")
	if extensions.Get(tasksExtension).Exists() {
		rest, _ := Without(extensions, oneOf(tasksExtension))
		changed, err := canon.Skim(canon.Splice(capabilities.Bytes(), canon.Edit{Old: extensions, New: rest}))
		if err != nil {
			return []byte(`{}`)
		}
		capabilities = changed
	}
	rest, _ := Without(capabilities, oneOf("tasks"))
	return rest
}

// setLevel notes the level that each request has to name from now on.
func (l *Legacy) setLevel(params canon.Value) ([]byte, *wire.Error) {
	if l.capability("logging").Kind() != canon.Object {
		return nil, methodNotFound("logging/setLevel")
	}
	level, ok := params.Get("level").Text()
	if !ok || !slices.Contains(levels, level) {
		return nil, refusal(wire.CodeInvalidParams, "params.level is not a log level")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session.level = level
	return []byte(`{}`), nil
}

// Send implements wire.Link. What a modern server does not want to be told any more goes nowhere.
func (l *Legacy) Send(ctx context.Context, line []byte) error {
	link, err := l.beneath()
	if err != nil {
		return err
	}
	in, err := wire.ScanIncoming(line)
	if err != nil {
		return &wire.NotSentError{Err: err}
	}
	switch in.Kind {
	case wire.Response:
		l.answered(in)
		return nil
	case wire.Request:
		return &wire.NotSentError{Err: errNotAnswer}
	}
	switch in.Method {
	case "notifications/initialized":
		l.watchLists(link)
		return nil
	case "notifications/cancelled", "notifications/roots/list_changed", "notifications/progress":
		return nil
	}
	return link.Send(ctx, line)
}

// Hear is told of what the server says that belongs to no request of ours.
func (l *Legacy) Hear(in wire.Incoming) {
	if l.keepEarly(in) {
		return
	}
	switch {
	case in.Kind == wire.Request:
		// MCP 2026-07-28, basic/patterns: servers send no requests.
		l.refuse(in.ID, wire.CodeMethodNotFound, "a server of protocol version "+modernVersion+" sends no requests")
	case in.Kind != wire.Notification:
	case in.Method == "notifications/cancelled":
		l.cutShort(in.Params.Get("requestId"))
	case in.Method == "notifications/subscriptions/acknowledged":
	default:
		l.tell(plain(in))
	}
}

// plain returns a notification without the name of the subscription that it came on.
func plain(in wire.Incoming) wire.Incoming {
	if !in.Params.Get("_meta").Get(wire.MetaSubscriptionID).Exists() {
		return in
	}
	return scanned(withParams(in.Line, in.Params, withMeta(in.Params, oneOf(wire.MetaSubscriptionID))))
}

// Close implements wire.Link.
func (l *Legacy) Close() error {
	l.shut()
	l.unwatchAll()
	return l.end()
}

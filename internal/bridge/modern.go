package bridge

import (
	"context"
	"slices"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// modernVersion is the version of the modern era that is spoken on either side.
const modernVersion = "2026-07-28"

// Modern is a link for modern requests (MCP 2026-07-28) over a legacy server. Its calls are all made on behalf of one
// principal. It is safe for concurrent use.
type Modern struct {
	span

	// Guarded by span.mu.
	about    about
	flights  map[*flight]bool     // what the server has not answered yet
	parked   map[ticket]*parked   // what waits for its client
	held     int                  // bytes of questions, and of answers to calls that are parked
	strays   map[*stray]bool      // questions of which is not known who caused them
	listens  []*listen            // open subscriptions
	followed map[string]*followed // resources that are subscribed to

	setting   chan struct{} // held by whoever sets the log level
	level     int           // that is set; guarded by setting
	following chan struct{} // held by whoever subscribes or unsubscribes
}

// NewModern returns a link that has yet to be attached. hear is told of what belongs to no request and is no matter of
// subscriptions, logs or questions: notifications that the protocol does not know.
func NewModern(hear func(wire.Incoming), opt Options) *Modern {
	return &Modern{
		span:     span{opt: opt.withDefaults(), hear: hear, closing: make(chan struct{})},
		flights:  map[*flight]bool{},
		parked:   map[ticket]*parked{},
		strays:   map[*stray]bool{},
		followed: map[string]*followed{},
		setting:  make(chan struct{}, 1),
		level:    noLevel,

		following: make(chan struct{}, 1),
	}
}

// Identity says what to declare in the initialize request, JSON objects both. The capabilities are all that a modern
// client may have, whoever comes: those of each request are looked at when the server asks for something.
func (m *Modern) Identity() (clientInfo, capabilities []byte) {
	return m.opt.ClientInfo, m.opt.Capabilities
}

// Attach gives m the conversation with a server that has been initialized, and the result of that.
func (m *Modern) Attach(link wire.Link, initialize []byte) {
	said, err := canon.Skim(initialize)
	if err != nil {
		m.opt.Log.Warn("a server's initialize result cannot be read: it is taken to have no capabilities")
	}
	m.mu.Lock()
	m.about = readAbout(said)
	m.mu.Unlock()
	for _, in := range m.attach(link) {
		m.Hear(in)
	}
}

// about is what a server said of itself in its handshake.
type about struct {
	result                               canon.Value
	tools, prompts, resources, following bool // whether changes of the lists, and of resources, are told
	logging                              bool
}

func readAbout(result canon.Value) about {
	capabilities := result.Get("capabilities")
	has := func(feature, what string) bool {
		yes, _ := capabilities.Get(feature).Get(what).Bool()
		return yes
	}
	return about{
		result:    result,
		tools:     has("tools", "listChanged"),
		prompts:   has("prompts", "listChanged"),
		resources: has("resources", "listChanged"),
		following: has("resources", "subscribe"),
		logging:   capabilities.Get("logging").Kind() == canon.Object,
	}
}

// dropped are methods that the modern era has no more (MCP 2026-07-28, changelog).
func dropped(method string) bool {
	switch method {
	case "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "roots/list",
		"sampling/createMessage", "elicitation/create":
		return true
	}
	return strings.HasPrefix(method, "tasks/")
}

// Call implements wire.Link.
func (m *Modern) Call(ctx context.Context, r wire.Outgoing) (wire.Incoming, error) {
	link, err := m.beneath()
	if err != nil {
		return wire.Incoming{}, err
	}
	ctx, cancel := r.Bound(ctx)
	defer cancel()
	switch {
	case r.Method == "server/discover":
		return answer(r.ID, m.discover()), nil
	case r.Method == "subscriptions/listen":
		return m.listen(ctx, link, r)
	case strings.HasPrefix(r.Method, "tasks/"):
		return fault(r.ID, refusal(wire.CodeMethodNotFound,
			"method not found: tasks are not carried between versions of the protocol")), nil
	case dropped(r.Method):
		return fault(r.ID, methodNotFound(r.Method)), nil
	}
	return m.forward(ctx, link, r)
}

// Send implements wire.Link. What a modern client does not say any more goes nowhere.
func (m *Modern) Send(ctx context.Context, line []byte) error {
	link, err := m.beneath()
	if err != nil {
		return err
	}
	in, err := wire.ScanIncoming(line)
	if err != nil {
		return &wire.NotSentError{Err: err}
	}
	if in.Kind != wire.Notification {
		return nil // the server's requests are answered by m
	}
	switch in.Method {
	case "notifications/initialized", "notifications/roots/list_changed", "notifications/cancelled":
		return nil
	}
	if in.Params.Get("_meta").Kind() == canon.Object {
		line = withParams(in.Line, in.Params, withMeta(in.Params, modernMeta))
	}
	return link.Send(ctx, line)
}

// Hear is told of what the server says that belongs to no request of ours.
func (m *Modern) Hear(in wire.Incoming) {
	if m.keepEarly(in) {
		return
	}
	switch in.Kind {
	case wire.Request:
		m.question(nil, in)
	case wire.Notification:
		m.notice(nil, in)
	}
}

// Close implements wire.Link. Calls that wait for their clients end too.
func (m *Modern) Close() error {
	m.shut()
	m.mu.Lock()
	for _, p := range m.parked {
		p.timer.Stop()
	}
	for s := range m.strays {
		s.timer.Stop()
	}
	clear(m.parked)
	clear(m.strays)
	m.mu.Unlock()
	return m.end()
}

// modernMeta are the keys of _meta that a legacy server has no use for.
var modernMeta = oneOf(wire.MetaProtocolVersion, wire.MetaClientCapabilities, wire.MetaClientInfo, wire.MetaLogLevel)

// discover answers server/discover from what the server said when it was initialized.
func (m *Modern) discover() []byte {
	m.mu.Lock()
	said := m.about.result
	m.mu.Unlock()
	capabilities, _ := Without(said.Get("capabilities"), oneOf("tasks"))
	members := []string{
		`"resultType":"complete"`,
		`"supportedVersions":["` + modernVersion + `"]`,
		member("capabilities", capabilities),
	}
	if v := said.Get("instructions"); v.Exists() {
		members = append(members, member("instructions", v.Bytes()))
	}
	members = append(members, uncached...)
	described, _ := Without(said.Get("_meta"), oneOf(wire.MetaServerInfo))
	if v := said.Get("serverInfo"); v.Exists() {
		described = WithFirst(described, member(wire.MetaServerInfo, v.Bytes()))
	}
	if string(described) != `{}` {
		members = append(members, member("_meta", described))
	}
	return WithFirst([]byte(`{}`), members...)
}

// uncached are the members that a modern client needs in an answer which it may keep: for no time, and for nobody else
// (MCP 2026-07-28, server/utilities/caching).
var uncached = []string{`"ttlMs":0`, `"cacheScope":"private"`}

// cacheable are the methods whose results have those members.
var cacheable = []string{
	"tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read",
}

// interactive reports whether a request for method may be answered with questions
// (MCP 2026-07-28, basic/patterns/mrtr).
func interactive(method string) bool {
	return slices.Contains([]string{"tools/call", "prompts/get", "resources/read"}, method)
}

// Package gateway is the MCP server in front: it answers the methods of the protocol, in both of its eras, and lets
// every tools/call through one Door.
//
// Server.ServeLines serves a client over a pair of pipes; Server.Refresh tells clients when a new policy has changed
// what they see. With Upstreams it stands in front of other servers: it finds out whose a request is, takes what has an
// effect through the Door, and sends the client's own bytes on and the server's own bytes back. It gives the Door the way
// to look at what a call left, and to ask the client's person; Server.Inside is for a caller of this process. How messages
// look and travel is package wire's business, what the eras make of each other is package bridge's, and what may happen is
// the Door's.
package gateway

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/pin"
	"sallyport/internal/wire"
)

// Door decides about every call and runs what it allows; gate.Gate is the real one. Its methods are called by several
// goroutines at once.
type Door interface {
	// Do runs one call, or says why not: a *gate.DeniedError or a *gate.UnavailableError for what the client may know,
	// ctx's own error when ctx was done before anything was begun, and anything else for a failure that only operators
	// may see. It may take long. It is called once for each tools/call, and never again for the same one.
	Do(ctx context.Context, c gate.Call) (gate.Result, error)

	// Visible reports whether a caller may see the tool, by the policy of this moment. It is quick.
	Visible(c gate.Caller, t *gate.Tool) bool

	// Preview says what Do would decide of a call. It touches and records nothing.
	Preview(c gate.Call) gate.Preview

	// MethodVisible reports whether a caller's request for a method other than tools/call could be allowed, by the policy
	// of this moment. It is quick.
	MethodVisible(c gate.Caller, method string) bool
}

// Server is an MCP server of its own tools and of those of the servers behind it. The exported fields are set before it
// is used and not changed after; all its methods are safe for concurrent use.
type Server struct {
	Door         Door
	Tools        []*gate.Tool     // in the order in which they are listed, each name once
	Upstreams    []Upstream       // the servers behind it, in the order in which their tools are listed, each name once
	Prefixed     bool             // upstreams' tools and prompts are SERVER__NAME even if there is one upstream and nothing else
	Lock         func() *pin.Lock // what the definitions of upstreams are held against; nil, or a nil Lock: nothing
	CallTimeout  time.Duration    // of a request to an upstream; 0 is 10 minutes
	Name         string           // "sallyport" if empty
	Version      string
	Instructions string       // for the model, how to use the server; none if empty
	Log          *slog.Logger // for operators; nil drops everything

	mu        sync.Mutex // guards what follows
	listeners []listener // who is told when what they may see changes
	visits    map[*wire.Session]*visit
	shared    map[gate.Caller]*visit
	closed    bool

	tasks    tasks        // that upstreams have begun
	requests atomic.Int64 // of our own, to upstreams
}

// log returns where operators are told something.
func (s *Server) log() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}

// ServeLines serves one client, who is the local principal, until r ends or ctx is cancelled; see wire.ServeLines.
func (s *Server) ServeLines(ctx context.Context, r io.Reader, w io.Writer, opt wire.Options) error {
	if opt.Log == nil {
		opt.Log = s.Log
	}
	session := &wire.Session{Principal: "local"}
	defer s.End(session)
	return wire.ServeLines(ctx, session, s, r, w, opt)
}

// method is a method of the protocol.
type method struct {
	eras   []wire.Era // in which it exists
	pace   wire.Pace
	answer func(s *Server, ctx context.Context, call *wire.Call) ([]byte, error)
}

// methods are those that we serve. Others do not exist: what the modern era has dropped (ping, logging/setLevel,
// resources/subscribe, ...) and what belongs to capabilities that we do not declare.
var methods = map[string]method{
	"initialize":           {eras: []wire.Era{wire.Legacy}, answer: (*Server).initialize},
	"ping":                 {eras: []wire.Era{wire.Legacy}, answer: (*Server).ping},
	"server/discover":      {eras: []wire.Era{wire.Modern}, answer: (*Server).discover},
	"tools/list":           {eras: []wire.Era{wire.Legacy, wire.Modern}, answer: (*Server).listTools},
	"tools/call":           {eras: []wire.Era{wire.Legacy, wire.Modern}, pace: wire.Queued, answer: (*Server).callTool},
	"subscriptions/listen": {eras: []wire.Era{wire.Modern}, pace: wire.Streaming, answer: (*Server).listen},
}

// Pace implements wire.Handler.
func (s *Server) Pace(method string) wire.Pace {
	if s.relays() {
		return relayPace(method)
	}
	return methods[method].pace
}

// Answer implements wire.Handler.
func (s *Server) Answer(ctx context.Context, call *wire.Call) (wire.Reply, error) {
	if s.relays() {
		return s.relay(ctx, call)
	}
	m, ok := methods[call.Method]
	if !ok || !slices.Contains(m.eras, call.Era) {
		return wire.Reply{}, &wire.Error{Code: wire.CodeMethodNotFound, Message: "method not found: " + cut(call.Method)}
	}
	result, err := m.answer(s, ctx, call)
	return wire.Reply{Result: result}, err
}

// Notified implements wire.Handler.
func (s *Server) Notified(session *wire.Session, m wire.Message) {
	opened := m.Method == "notifications/initialized" && session.Initialized()
	v := s.visiting(session)
	if opened && (v == nil || v.promisesTools()) {
		s.join(session, callerOf(session), nil)
	}
	if v != nil && session.Initialized() {
		v.notified(m, opened)
	}
}

// capabilities are what we declare in both eras.
const capabilities = `{"tools":{"listChanged":true}}`

// initialize is the handshake of the legacy era. Done again, it begins anew.
func (s *Server) initialize(_ context.Context, call *wire.Call) ([]byte, error) {
	requested, ok := call.Params.Get("protocolVersion").Text()
	if !ok {
		return nil, invalid("params.protocolVersion must be a string")
	}
	call.Session.Declare(elicits(call.Params.Get("capabilities")))
	body := canon.AppendString([]byte(`{"protocolVersion":`), call.Session.Initialize(requested))
	body = append(body, `,"capabilities":`+capabilities+`,"serverInfo":`...)
	body = s.appendInfo(body)
	return append(s.appendInstructions(body), '}'), nil
}

func (s *Server) ping(context.Context, *wire.Call) ([]byte, error) { return []byte(`{}`), nil }

// discover tells a modern client what it may count on (MCP 2026-07-28, server/discover).
func (s *Server) discover(_ context.Context, call *wire.Call) ([]byte, error) {
	body := wire.AppendVersions([]byte(`{"supportedVersions":`))
	body = append(body, `,"capabilities":`+capabilities...)
	body = s.appendInstructions(body)
	body = append(body, uncached...)
	return s.complete(call, append(body, '}'), nil)
}

// uncached are the members that a modern client needs in an answer which it may keep
// (MCP 2026-07-28, server/utilities/caching): for no time, and for nobody else.
const uncached = `,"ttlMs":0,"cacheScope":"private"`

func (s *Server) appendInfo(dst []byte) []byte {
	name := s.Name
	if name == "" {
		name = "sallyport"
	}
	dst = canon.AppendString(append(dst, `{"name":`...), name)
	dst = canon.AppendString(append(dst, `,"version":`...), s.Version)
	return append(dst, '}')
}

// appendInstructions appends the member instructions, if there are any.
func (s *Server) appendInstructions(dst []byte) []byte {
	if s.Instructions == "" {
		return dst
	}
	return canon.AppendString(append(dst, `,"instructions":`...), s.Instructions)
}

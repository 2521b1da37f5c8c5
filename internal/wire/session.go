package wire

import (
	"context"
	"errors"
	"sync"
)

// Session is what is remembered of a client between its messages: of one pipe, or of one HTTP session. Modern requests
// neither need it nor change it. A Session is safe for concurrent use; its zero value is that of a new client whose
// Principal is still to be set, before anything is served.
type Session struct {
	// Principal is who asks, as the transport knows it; nothing that a client says of itself.
	Principal string

	Tenant string // of the principal, as the transport knows it; optional

	// Shared says that the session is that of one modern HTTP request only: what a handler holds for a client between
	// its requests it then holds for the Principal.
	Shared bool

	mu      sync.Mutex // guards what follows
	version version    // of the legacy era, the zero one before initialize
	elicits bool       // Declare
	push    func(line []byte) bool
	gone    chan struct{} // closed when push is taken away

	asks asks
}

// Initialize makes the session one of the legacy era, and returns the version that it has from now on.
func (s *Session) Initialize(requested string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = negotiate(requested)
	return s.version.name
}

// Declare notes whether the client said in its legacy handshake that it can ask its person something (elicitation).
func (s *Session) Declare(elicits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.elicits = elicits
}

// Elicits returns what Declare was told last, false before that.
func (s *Session) Elicits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.elicits
}

// Initialized reports whether the session has had its legacy handshake.
func (s *Session) Initialized() bool { return s.legacy().name != "" }

// Version returns the version of the legacy handshake, "" before it.
func (s *Session) Version() string { return s.legacy().name }

// Notify sends a notification that belongs to no request; params is a JSON object, or nil for none. It does not wait
// for the client, and does nothing while nobody serves the session.
func (s *Session) Notify(method string, params []byte) { s.Forward(notification(method, params)) }

// Forward is Notify for a notification that is spelt already. line must be on one line, and must not be changed after.
func (s *Session) Forward(line []byte) {
	if push, _ := s.way(); push != nil {
		push(line)
	}
}

// Ask is Call.Ask for a request that belongs to no call.
func (s *Session) Ask(ctx context.Context, line []byte) (Incoming, error) {
	if !s.Initialized() {
		return Incoming{}, errNotAsked
	}
	push, _ := s.way()
	if push == nil {
		return Incoming{}, errUnheard
	}
	return s.ask(ctx, nil, line, push)
}

// errNotAsked is why a client of the modern era is not asked: it would not answer (MCP 2026-07-28, patterns).
var errNotAsked = errors.New("the client cannot be asked: it speaks the modern protocol, or has not said hello")

// EraOf tells in which era the request m is to be understood. It is a property of the request: the version that its
// _meta names decides. Where none is named, or one of the legacy era, whose revisions give that key no meaning, the
// request belongs to the session.
func (s *Session) EraOf(m Message) (Era, *Error) {
	named := m.Meta.Get(MetaProtocolVersion)
	name, ok := named.Text()
	if named.Exists() {
		if !ok {
			return 0, newError(CodeInvalidParams, "params._meta["+MetaProtocolVersion+"] must be a string")
		}
		switch versionNamed(name).era {
		case Modern:
			return Modern, checkModern(m.Meta)
		case Legacy:
		default:
			return 0, Unsupported(name)
		}
	}
	if m.Method == methodInitialize || m.Method == methodPing || s.Initialized() {
		return Legacy, nil
	}
	if named.Exists() {
		return 0, newError(CodeInvalidParams, "protocol version "+name+" begins with an initialize request")
	}
	return 0, newError(CodeInvalidParams,
		"missing params._meta["+MetaProtocolVersion+"], and there was no initialize request")
}

// legacy returns the version of the session, the zero one before initialize.
func (s *Session) legacy() version {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// attach makes push the way of what belongs to no request, and nil the end of that.
func (s *Session) attach(push func(line []byte) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone != nil {
		close(s.gone)
		s.gone = nil
	}
	s.push = push
	if push != nil {
		s.gone = make(chan struct{})
	}
}

// way returns what sends to the client, nil if nothing does, and what is closed when that ends.
func (s *Session) way() (push func(line []byte) bool, gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.push == nil {
		return nil, closedChannel()
	}
	return s.push, s.gone
}

func closedChannel() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

package wire

import (
	"context"
	"sync"
)

// Session is what is remembered of a client between its messages: of one pipe, or of one HTTP session. Modern requests
// neither need it nor change it. A Session is safe for concurrent use; its zero value is that of a new client whose
// Principal is still to be set, before anything is served.
type Session struct {
	// Principal is who asks, as the transport knows it; nothing that a client says of itself.
	Principal string

	mu      sync.Mutex // guards what follows
	version version    // of the legacy era, the zero one before initialize
	push    func(line []byte)
}

// Initialize makes the session one of the legacy era, and returns the version that it has from now on.
func (s *Session) Initialize(requested string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = negotiate(requested)
	return s.version.name
}

// Initialized reports whether the session has had its legacy handshake.
func (s *Session) Initialized() bool { return s.legacy().name != "" }

// Notify sends a notification that belongs to no request; params is a JSON object, or nil for none. It does not wait
// for the client, and does nothing while nobody serves the session.
func (s *Session) Notify(method string, params []byte) {
	s.mu.Lock()
	push := s.push
	s.mu.Unlock()
	if push != nil {
		push(notification(method, params))
	}
}

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
			return 0, unsupported(name)
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

// attach makes Notify send to push, and nowhere if push is nil.
func (s *Session) attach(push func(line []byte)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push = push
}

// The methods that a conversation itself has to know.
const (
	methodInitialize = "initialize"
	methodPing       = "ping"
	methodCancelled  = "notifications/cancelled"
)

// Pace is how a request is run beside others.
type Pace int

const (
	// Immediate requests are answered before the next message is looked at. They must not wait for anything.
	Immediate Pace = iota

	// Queued requests run beside each other, only so many at once; the others wait.
	Queued

	// Streaming requests stay open, and send notifications, until they are cancelled or the conversation ends. They
	// are not counted among those that run.
	Streaming
)

// Call is a request on its way to a Handler.
type Call struct {
	Message
	Era     Era
	Session *Session

	push func(line []byte)
}

// Notify sends a notification that belongs to the request; params is a JSON object, or nil for none. It does not wait
// for the client, and does nothing once the request has been answered or cancelled.
func (c *Call) Notify(method string, params []byte) { c.push(notification(method, params)) }

// Handler knows what the methods mean. All its methods must be safe for concurrent use.
type Handler interface {
	// Pace says how a request for method is to be run.
	Pace(method string) Pace

	// Answer answers one request with a result, a JSON object, or an error. An *Error goes to the client; ctx's own
	// error, once ctx is done, tells it that nothing was begun; of any other error it learns no more than that there
	// was one. Nothing is sent of a call whose client cancelled it: ctx is done then. When the conversation ends in
	// good order, ctx of a Streaming call is done, and its answer is sent. Nothing is ever retried.
	Answer(ctx context.Context, call *Call) (result []byte, err error)

	// Notified tells of a notification other than a cancellation. It is called before the next message is looked at,
	// and must not wait for anything.
	Notified(session *Session, m Message)
}

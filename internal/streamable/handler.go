package streamable

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// Caller is who sent an HTTP request.
type Caller struct{ Principal, Tenant string }

// Handler serves clients over HTTP, in both eras: a modern request by itself, a legacy one within its session. The fields
// are set before it is used; it must not be copied after.
//
// Each principal has bounds of its own, those of Options: what runs and waits of its requests, and how many bytes of its
// requests and answers are held.
type Handler struct {
	MCP     wire.Handler
	Options wire.Options

	// Identify tells who sent a request, by its headers. ok false answers 401, and so does a nil Identify.
	Identify func(r *http.Request) (c Caller, ok bool)

	// Origins are the values of Origin that are let in, besides those of the host itself; Hosts those of Host, with or
	// without a port, besides loopback's.
	Origins, Hosts []string

	// Refused is told of each request that is let in by nobody, before it is answered: by its Host or Origin (403), or since Identify
	// does not know who sent it (401). May be nil.
	Refused func(r *http.Request, by Refusal)

	// Begin and End tell of a legacy session, before its first request and after its last. May be nil.
	Begin, End func(*wire.Session)

	MaxSessions int           // legacy sessions; 0 is 256
	Idle        time.Duration // how long a legacy session lives in which nothing happens; 0 is 30 minutes
	KeepAlive   time.Duration // how long a stream of events is silent at most; 0 is 15 seconds

	// Patience is how long a client may read nothing of what it is sent, and how long it may take to send its request,
	// beyond what the bytes of it need at a very slow line; 0 is 30 seconds.
	Patience time.Duration

	once   sync.Once
	ctx    context.Context // of all calls; a lifetime, not a request's
	cancel context.CancelFunc

	mu       sync.Mutex // guards what follows, and what session says it guards
	accounts map[string]*account
	sessions map[string]*session
	visits   map[*visit]struct{}
	closed   bool
	hurried  bool // clients are not waited for

	active sync.WaitGroup // what Close waits for
}

func (h *Handler) prepare() {
	h.Options = h.Options.WithDefaults()
	h.MaxSessions = orDefault(h.MaxSessions, 256)
	h.Idle = orDefault(h.Idle, 30*time.Minute)
	h.KeepAlive = orDefault(h.KeepAlive, 15*time.Second)
	h.Patience = orDefault(h.Patience, 30*time.Second)
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.accounts = make(map[string]*account)
	h.sessions = make(map[string]*session)
	h.visits = make(map[*visit]struct{})
}

func orDefault[T int | time.Duration](value, standard T) T {
	if value > 0 {
		return value
	}
	return standard
}

// visit is one HTTP request that is being served.
type visit struct {
	h       *Handler
	w       http.ResponseWriter
	r       *http.Request
	caller  Caller
	endless bool      // the answer has no end of its own
	known   time.Time // when it was seen last whose request this is
	account *account
	control *http.ResponseController

	opens *session // which the answer begins, nil if it does not
	said  bool     // the answer has begun
}

// ServeHTTP implements http.Handler, for one endpoint.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(h.prepare)
	defer h.recovered(r)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	v := &visit{h: h, w: w, r: r, control: http.NewResponseController(w)}
	if by := h.strange(r); by != "" {
		h.refused(r, by)
		v.refuse(http.StatusForbidden, wire.CodeInvalidRequest, strangeWords[by])
		return
	}
	known := false
	if h.Identify != nil {
		v.caller, known = h.Identify(r)
	}
	if !known {
		h.refused(r, ByToken)
		v.turnOut()
		return
	}
	v.known = time.Now()
	if !v.enter() {
		v.busy("the server is shutting down")
		return
	}
	defer v.leave()
	switch r.Method {
	case http.MethodPost:
		v.post()
	case http.MethodGet:
		v.get()
	case http.MethodDelete:
		v.delete()
	default:
		v.notAllowed("GET, POST, DELETE")
	}
}

// refused tells of a request that is not let in.
func (h *Handler) refused(r *http.Request, by Refusal) {
	if h.Refused != nil {
		h.Refused(r, by)
	}
}

// turnOut answers whom nobody knows.
func (v *visit) turnOut() {
	v.w.Header().Set("WWW-Authenticate", "Bearer")
	v.refuse(http.StatusUnauthorized, wire.CodeInvalidRequest, "who are you? send a token: Authorization: Bearer TOKEN")
}

// stillKnown reports whether the request's token is still good. An endless answer may be open for days, and the token taken
// back or out of date meanwhile: that is looked at no more often than the stream would be silent. A call that was let in
// gets its answer.
func (v *visit) stillKnown() bool {
	now := time.Now()
	if !v.endless || now.Sub(v.known) < v.h.KeepAlive {
		return true
	}
	v.known = now
	caller, ok := v.h.Identify(v.r)
	return ok && caller == v.caller
}

// recovered is deferred: a bug costs its request only. What was panicked with may have been made from arguments.
func (h *Handler) recovered(r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p != http.ErrAbortHandler {
		h.Options.Log.Error("panic", "http", r.Method, "value", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
	}
	panic(http.ErrAbortHandler) // nothing whole can be answered
}

// enter counts the request among those that are served, and finds its principal's account.
func (v *visit) enter() bool {
	h := v.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.active.Add(1)
	h.visits[v] = struct{}{}
	v.account = h.open(v.caller.Principal)
	return true
}

func (v *visit) leave() {
	v.h.mu.Lock()
	delete(v.h.visits, v)
	v.h.leave(v.account)
	v.h.mu.Unlock()
	v.h.active.Done()
}

// refuse answers with an error that belongs to no request.
func (v *visit) refuse(status, code int, message string) {
	v.reply(status, wire.ErrorAnswer(canon.Value{}, &wire.Error{Code: code, Message: message}))
}

// busy answers that the request may be sent again later: nothing was done.
func (v *visit) busy(message string) {
	v.w.Header().Set("Retry-After", "1")
	v.refuse(http.StatusServiceUnavailable, wire.CodeInternal, message)
}

func (v *visit) notAllowed(allowed string) {
	v.w.Header().Set("Allow", allowed)
	v.refuse(http.StatusMethodNotAllowed, wire.CodeInvalidRequest, "method not allowed: "+allowed+" are")
}

// reply answers with one JSON text.
func (v *visit) reply(status int, text []byte) {
	v.w.Header().Set("Content-Type", typeJSON)
	v.w.WriteHeader(status)
	// Who is not there any more does not miss it.
	_ = v.write(text)
}

// write writes part of the answer. A client that reads nothing of it for long is gone.
func (v *visit) write(text []byte) error {
	const most = 64 << 10
	for len(text) > 0 {
		part := text[:min(len(text), most)]
		if v.h.late() {
			return os.ErrDeadlineExceeded
		}
		// A connection that has no deadlines has a client of which we know more.
		_ = v.control.SetWriteDeadline(time.Now().Add(v.h.Patience))
		if _, err := v.w.Write(part); err != nil {
			return err
		}
		text = text[len(part):]
	}
	return nil
}

// Close ends all sessions and streams in good order: what runs is cancelled, what gave up or had to wait is told so, and
// streams get their closing answers; clients have some seconds to read that. New requests are refused. It returns when
// nothing that the handler began goes on. A server is shut down after it: http.Server.Shutdown waits for streams which
// only Close ends.
func (h *Handler) Close() error {
	h.once.Do(h.prepare)
	h.mu.Lock()
	h.closed = true
	sessions := make([]*session, 0, len(h.sessions))
	for _, s := range h.sessions {
		sessions = append(sessions, s)
	}
	h.mu.Unlock()

	h.cancel()
	for _, s := range sessions {
		s.finish()
	}
	late := time.AfterFunc(farewell, h.hurry)
	defer late.Stop()
	h.active.Wait()
	return nil
}

// hurry lets nobody wait for clients any more.
func (h *Handler) hurry() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hurried = true
	for _, a := range h.accounts {
		a.hurry()
	}
	for v := range h.visits {
		_ = v.control.SetReadDeadline(time.Now())
		_ = v.control.SetWriteDeadline(time.Now())
	}
}

// late reports whether clients are not waited for any more.
func (h *Handler) late() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hurried
}

// farewell is how long clients have to read the last answers.
const farewell = 5 * time.Second

// NewServer returns a server for handler whose clients cannot hold a connection by doing nothing, or next to nothing.
// How long bodies and answers may take, which may be streams, is for the handler to bound.
func NewServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}

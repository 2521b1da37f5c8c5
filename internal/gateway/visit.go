package gateway

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"sallyport/internal/gate"
	"sallyport/internal/wire"
)

// visit is what is held for one client between its requests: the legs to the upstreams. A pipe and a legacy HTTP session
// are a visit each; modern HTTP requests, each of which is a session of its own, share one for each principal.
type visit struct {
	server  *Server
	session *wire.Session // nil where it is shared, and where there is no client
	caller  gate.Caller

	life    context.Context // of the visit, not of any call: what goes on without one is bound to it
	end     context.CancelFunc
	running sync.WaitGroup // the goroutines that life ends

	mu     sync.Mutex // guards what follows
	legs   map[wire.Era][]*leg
	over   bool
	sent   chan struct{} // closed when the newest of the client's notifications has been sent; nil before the first
	queued int           // notifications that wait to be sent
	hello  []byte        // the client's initialize request
	opened []byte        // its notifications/initialized
}

// End tells that a session is over, and ends what was held for it.
func (s *Server) End(session *wire.Session) {
	s.leave(session)
	s.mu.Lock()
	v := s.visits[session]
	delete(s.visits, session)
	s.mu.Unlock()
	if v != nil {
		v.close()
	}
}

// Close ends all visits, and then the upstreams, in good order.
func (s *Server) Close() error {
	s.mu.Lock()
	var all []*visit
	for _, v := range s.visits {
		all = append(all, v)
	}
	for _, v := range s.shared {
		all = append(all, v)
	}
	s.visits, s.shared, s.closed = nil, nil, true
	s.mu.Unlock()
	var group sync.WaitGroup
	for _, v := range all {
		group.Go(v.close)
	}
	group.Wait()
	errs := make([]error, len(s.Upstreams))
	for i, up := range s.Upstreams {
		group.Go(func() { errs[i] = up.Close() })
	}
	group.Wait()
	return firstError(errs)
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// visit returns the visit of a session, which begins with the first request that needs an upstream; nil if the server
// is closed.
func (s *Server) visit(session *wire.Session) *visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	caller := gate.Caller{Principal: session.Principal, Tenant: session.Tenant}
	if session.Shared {
		v := s.shared[caller]
		if v == nil {
			v = newVisit(s, nil, caller)
			if s.shared == nil {
				s.shared = make(map[gate.Caller]*visit)
			}
			s.shared[caller] = v
		}
		return v
	}
	v := s.visits[session]
	if v == nil {
		v = newVisit(s, session, caller)
		if s.visits == nil {
			s.visits = make(map[*wire.Session]*visit)
		}
		s.visits[session] = v
	}
	return v
}

// visiting returns the visit of a session if it has begun.
func (s *Server) visiting(session *wire.Session) *visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visits[session]
}

// everyVisit returns the visits of this moment.
func (s *Server) everyVisit() []*visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*visit
	for _, v := range s.visits {
		all = append(all, v)
	}
	for _, v := range s.shared {
		all = append(all, v)
	}
	return all
}

func newVisit(s *Server, session *wire.Session, caller gate.Caller) *visit {
	life, end := context.WithCancel(context.Background())
	return &visit{server: s, session: session, caller: caller, life: life, end: end, legs: make(map[wire.Era][]*leg)}
}

// legsFor returns the visit's legs to all upstreams for requests of an era, in the order of the upstreams.
func (v *visit) legsFor(era wire.Era) []*leg {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.legs[era] == nil {
		for _, up := range v.server.Upstreams {
			v.legs[era] = append(v.legs[era], newLeg(v, up, era))
		}
	}
	return v.legs[era]
}

// everyLeg returns the legs of this moment.
func (v *visit) everyLeg() []*leg {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []*leg
	for _, legs := range v.legs {
		all = append(all, legs...)
	}
	return all
}

// begin runs f in a goroutine that the end of the visit waits for. It reports false, and does nothing, once that came.
func (v *visit) begin(f func()) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return false
	}
	v.running.Go(func() {
		defer v.server.recovered()
		f()
	})
	return true
}

// recovered, deferred, keeps a bug from ending more than the goroutine that met it.
func (s *Server) recovered() {
	if p := recover(); p != nil {
		s.log().Error("panic", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
	}
}

// close ends the visit and waits for that.
func (v *visit) close() {
	v.mu.Lock()
	v.over = true
	v.mu.Unlock()
	v.end()
	var group sync.WaitGroup
	for _, l := range v.everyLeg() {
		group.Go(l.close)
	}
	group.Wait()
	v.running.Wait()
}

// promisesTools reports whether the client was told that it would hear of changes of the tools.
func (v *visit) promisesTools() bool {
	return !v.server.single() || v.legsFor(wire.Legacy)[0].declares("tools", "listChanged")
}

// notified passes on a notification of the client's; opened says that it is the one which ends the handshake.
// What calls itself a notification and bears the name of a request's method is none: a careless server would carry it
// out, past the door.
func (v *visit) notified(m wire.Message, opened bool) {
	if !strings.HasPrefix(m.Method, "notifications/") {
		v.server.log().Warn("a notification of a client was dropped: its method is that of a request", "method", cut(m.Method))
		return
	}
	line := m.Raw.Bytes()
	if bytes.IndexByte(line, '\n') >= 0 || bytes.IndexByte(line, '\r') >= 0 {
		line = onOneLine(bytes.Clone(line))
	}
	if opened {
		v.mu.Lock()
		v.opened = line
		v.mu.Unlock()
	}
	v.notify(line)
}

// notify sends a notification of the client's to all its upstreams, in order behind the one before it, and waits for
// nothing. What comes while too many wait is dropped.
func (v *visit) notify(line []byte) {
	legs := v.legsFor(wire.Legacy)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return
	}
	if v.queued >= maxSending {
		v.server.log().Warn("a notification of a client was dropped: too many wait to be sent")
		return
	}
	before, done := v.sent, make(chan struct{})
	v.sent = done
	v.queued++
	v.running.Go(func() {
		defer v.server.recovered()
		defer func() {
			v.mu.Lock()
			v.queued--
			v.mu.Unlock()
			close(done)
		}()
		if before != nil {
			<-before
		}
		ctx, cancel := context.WithTimeout(v.life, sendTimeout)
		defer cancel()
		for _, l := range legs {
			l.tell(ctx, line)
		}
	})
}

// settled waits until the notifications that the client has sent so far have gone to the upstreams: a request must not
// overtake them.
func (v *visit) settled(ctx context.Context) error {
	v.mu.Lock()
	sent := v.sent
	v.mu.Unlock()
	if sent == nil {
		return nil
	}
	select {
	case <-sent:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pause waits for d, and reports whether it could before ctx was done.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

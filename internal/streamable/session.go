package streamable

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"sallyport/internal/wire"
)

// session is a legacy client's, from its initialize to its DELETE, or until it was idle for long.
type session struct {
	h       *Handler
	id      string // who knows it is, besides its token, the client
	caller  Caller
	account *account
	wire    *wire.Session
	talk    *wire.Conversation
	ctx     context.Context // of its calls; a lifetime, not a request's
	cancel  context.CancelFunc
	common  *stream // for what belongs to no request

	// Guarded by Handler.mu.
	busy  int // HTTP requests that are being served
	used  time.Time
	timer *time.Timer // nil once the session has ended

	// Guarded by account.mu.
	streams   map[string]*stream // by name
	names     int                // of streams, so far
	kept      []place            // what may be asked for again, the oldest first
	keptBytes int
	over      bool // nobody will ask again
}

// place is an entry of a stream.
type place struct {
	stream *stream
	number int
	size   int // in bytes
}

// begin makes a session, or returns nil if there are too many.
func (h *Handler) begin(caller Caller) *session {
	var id [16]byte
	rand.Read(id[:]) // never fails
	s := &session{h: h, id: hex.EncodeToString(id[:]), caller: caller, streams: make(map[string]*stream)}
	s.wire = &wire.Session{Principal: caller.Principal, Tenant: caller.Tenant}

	h.mu.Lock()
	var victim *session
	greedy := h.takenShare(caller)
	full := greedy || len(h.sessions) >= h.MaxSessions
	if full {
		victim = h.idlest(caller, greedy)
	}
	if h.closed || victim == nil && full {
		h.mu.Unlock()
		return nil
	}
	if victim != nil {
		h.remove(victim)
	}
	s.account = h.open(caller.Principal)
	s.common = s.newStream()
	s.common.unheard = true
	s.ctx, s.cancel = context.WithCancel(h.ctx)
	s.talk = wire.NewConversation(s.wire, h.MCP, h.Options, s.account.load, s.common.Push)
	s.busy, s.used = 1, time.Now()
	s.timer = time.AfterFunc(h.Idle, s.expire)
	h.sessions[s.id] = s
	h.active.Add(1) // until it has ended
	h.mu.Unlock()

	if victim != nil {
		h.Options.Log.Info("session ended for another one: there are too many", "principal", victim.caller.Principal)
		go victim.shut()
	}
	if h.Begin != nil {
		h.Begin(s.wire)
	}
	return s
}

// takenShare reports whether a principal has all the sessions that one may have: some are kept for others, whom it could keep
// out by sessions that are never idle; mu is held.
func (h *Handler) takenShare(caller Caller) bool {
	own := 0
	for _, s := range h.sessions {
		if s.caller.Principal == caller.Principal {
			own++
		}
	}
	return own >= h.MaxSessions-h.MaxSessions/8
}

// idlest returns the session in which nothing goes on that was used least recently, one of the caller's own where there
// is one, or nobody else's; mu is held.
func (h *Handler) idlest(caller Caller, ownOnly bool) *session {
	var found *session
	own := func(s *session) bool { return s.caller.Principal == caller.Principal }
	for _, s := range h.sessions {
		switch {
		case s.busy > 0 || !s.talk.Idle() || ownOnly && !own(s):
		case found == nil, own(s) && !own(found), own(s) == own(found) && s.used.Before(found.used):
			found = s
		}
	}
	return found
}

// remove takes a session out; mu is held. It must be shut by the one for whom remove is true.
func (h *Handler) remove(s *session) bool {
	if s.timer == nil {
		return false
	}
	s.timer.Stop()
	s.timer = nil
	delete(h.sessions, s.id)
	return true
}

// enter finds the caller's session of that id, and keeps it from ending by itself; leave must be called. Another
// principal's is not found.
func (h *Handler) enter(id string, caller Caller) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	if s == nil || s.caller != caller {
		return nil
	}
	s.busy++
	return s
}

func (s *session) leave() {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.busy--
	s.used = time.Now()
}

// expire ends the session if it has been idle for long enough, and looks again later if not.
func (s *session) expire() {
	h := s.h
	h.mu.Lock()
	if s.timer == nil {
		h.mu.Unlock()
		return
	}
	idle := s.busy == 0 && s.talk.Idle()
	if left := h.Idle - time.Since(s.used); !idle || left > 0 {
		if !idle {
			left = h.Idle
		}
		s.timer.Reset(left)
		h.mu.Unlock()
		return
	}
	h.remove(s)
	h.mu.Unlock()
	s.shut()
}

// end ends the session without a word, and does not wait for what cannot be interrupted.
func (s *session) end() {
	s.h.mu.Lock()
	mine := s.h.remove(s)
	s.h.mu.Unlock()
	if mine {
		go s.shut()
	}
}

// shut cancels what goes on in a session that was removed, and returns when nothing does.
func (s *session) shut() {
	defer s.h.active.Done()
	s.cancel()
	s.talk.End()
	s.close()
}

// finish ends the session in good order: what runs is told to stop, and answered.
func (s *session) finish() {
	s.h.mu.Lock()
	mine := s.h.remove(s)
	s.h.mu.Unlock()
	if !mine {
		return
	}
	go func() {
		defer s.h.active.Done()
		s.cancel()
		s.talk.Close()
		s.talk.Wait()
		s.talk.End()
		s.close()
	}()
}

// close ends the streams once all calls have returned, and with them what is known of the session.
func (s *session) close() {
	s.account.mu.Lock()
	for _, other := range s.streams {
		if other != s.common && !other.answered {
			other.breakOff()
		}
	}
	s.account.mu.Unlock()
	s.talk.Wait()
	s.common.Answer(nil, nil)
	if s.h.End != nil {
		s.h.End(s.wire)
	}
	s.account.mu.Lock()
	s.over = true
	for _, other := range s.streams {
		if len(other.readers) == 0 {
			other.breakOff()
		}
	}
	s.account.mu.Unlock()
	s.h.mu.Lock()
	s.h.leave(s.account)
	s.h.mu.Unlock()
}

// newStream returns a stream of the session.
func (s *session) newStream() *stream {
	s.account.mu.Lock()
	defer s.account.mu.Unlock()
	t := &stream{account: s.account, session: s, name: strconv.Itoa(s.names)}
	s.names++
	s.streams[t.name] = t
	if s.names == 1 { // the common one, for which no response is open yet
		s.account.detached(t)
	}
	return t
}

// keep remembers an entry that was written, so that the client may ask for it again, and forgets older ones for it;
// account.mu is held.
func (s *session) keep(t *stream, number int) {
	size := len(t.log[number-t.first].line)
	s.kept = append(s.kept, place{t, number, size})
	s.keptBytes += size
	for len(s.kept) > maxKept || s.keptBytes > maxKeptBytes {
		oldest := s.kept[0]
		s.kept = s.kept[1:]
		s.keptBytes -= oldest.size
		oldest.stream.drop(oldest.number + 1)
		oldest.stream.retire()
	}
}

// unkeep forgets that entries of a stream, from a number on, are kept, and returns how many bytes they are; account.mu
// is held.
func (s *session) unkeep(t *stream, from int) (size int) {
	s.kept = slices.DeleteFunc(s.kept, func(p place) bool {
		if p.stream != t || p.number < from {
			return false
		}
		size += p.size
		return true
	})
	s.keptBytes -= size
	return size
}

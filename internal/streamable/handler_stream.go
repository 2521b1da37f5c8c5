package streamable

import (
	"bytes"
	"net/http"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// maxReaders is how many responses may be open for one stream.
const maxReaders = 16

// follow answers with what is said on s, until its end or that of the client's patience: with one JSON text, if that is
// all there is, or with events.
func (v *visit) follow(s *stream) {
	r := &reader{wake: make(chan struct{}, 1)}
	s.account.mu.Lock()
	s.attach(r)
	s.account.mu.Unlock()
	defer s.detach(r)
	v.read(s, r)
}

// read is follow for r, which is attached.
func (v *visit) read(s *stream, r *reader) {
	silence := time.NewTimer(v.h.KeepAlive)
	defer silence.Stop()
	for {
		if !v.stillKnown() {
			v.cutOff()
			return
		}
		what, e, number := s.step(r)
		switch what {
		case write:
			err := v.say(s, e, number)
			s.wrote(r, number, err)
			if err != nil {
				return
			}
			silence.Reset(v.h.KeepAlive)
			continue
		case end:
			v.close(s)
			return
		case cut:
			v.abort(s)
			return
		}
		select {
		case <-r.wake:
		case <-v.r.Context().Done():
			return
		case <-silence.C:
			if v.keepAlive(s) != nil {
				return
			}
			silence.Reset(v.h.KeepAlive)
		}
	}
}

// cutOff ends an answer that its client may not hear any more.
func (v *visit) cutOff() {
	if v.said {
		panic(http.ErrAbortHandler) // nobody is to take it for whole
	}
	v.turnOut()
}

// say writes one entry.
func (v *visit) say(s *stream, e entry, number int) error {
	if e.alone && !v.said {
		if v.opens != nil && v.opens.wire.Initialized() {
			v.w.Header().Set(fieldSession, v.opens.id)
		}
		v.said = true
		code := status(s, e.line)
		if code == http.StatusServiceUnavailable {
			v.w.Header().Set("Retry-After", "1")
		}
		v.w.Header().Set("Content-Type", typeJSON)
		v.w.WriteHeader(code)
		return v.write(e.line)
	}
	v.begin()
	id := ""
	if s.session != nil {
		id = s.eventID(number)
	}
	if err := v.write(appendEvent(nil, e, id)); err != nil {
		return err
	}
	return v.control.Flush()
}

// begin begins a stream of events, if that has not been done.
func (v *visit) begin() {
	if v.said {
		return
	}
	v.said = true
	if v.opens != nil {
		v.w.Header().Set(fieldSession, v.opens.id)
	}
	v.w.Header().Set("Content-Type", typeEvents)
	v.w.Header().Set("X-Accel-Buffering", "no") // a proxy is not to wait for more
	v.w.WriteHeader(http.StatusOK)
}

// keepAlive lets the client, and whoever is in between, know that the connection is alive.
func (v *visit) keepAlive(s *stream) error {
	s.account.mu.Lock()
	nothing := s.mute || s.answered || s.next < s.end()
	if !nothing && !s.events {
		s.events = true
		s.prime(0)
	}
	s.account.mu.Unlock()
	if nothing {
		return nil
	}
	return v.comment()
}

// comment writes an event that is none.
func (v *visit) comment() error {
	v.begin()
	if err := v.write([]byte(":\n\n")); err != nil {
		return err
	}
	return v.control.Flush()
}

// close ends the answer. Where nothing was said, there was nothing to say.
func (v *visit) close(s *stream) {
	if v.said {
		return
	}
	s.account.mu.Lock()
	refusal := s.refusal
	s.account.mu.Unlock()
	if refusal != nil {
		v.reply(http.StatusBadRequest, wire.ErrorAnswer(canon.Value{}, refusal))
		return
	}
	v.w.WriteHeader(http.StatusAccepted)
}

// abort breaks the answer off, so that nobody takes it for whole.
func (v *visit) abort(s *stream) {
	if v.said || s.session == nil {
		panic(http.ErrAbortHandler)
	}
	v.refuse(http.StatusNotFound, wire.CodeInvalidRequest, "the session has ended: begin one with initialize")
}

// status is the status of an answer (MCP 2026-07-28, streamable HTTP and basic/index, Error Codes). In the legacy era an
// error of a request that was taken in is an answer as any other.
func status(s *stream, answer []byte) int {
	s.account.mu.Lock()
	refusal := s.refusal
	s.account.mu.Unlock()
	switch {
	case refusal != nil && refusal.Code == wire.CodeInternal:
		return http.StatusServiceUnavailable
	case refusal != nil:
		return http.StatusBadRequest
	case s.session != nil:
		return http.StatusOK
	}
	switch errorCode(answer) {
	case wire.CodeMethodNotFound:
		return http.StatusNotFound
	case wire.CodeUnsupportedVersion, wire.CodeHeaderMismatch, wire.CodeMissingCapability:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// errorCode returns the code of the error that an answer is, 0 if it is none. An error is not long.
func errorCode(answer []byte) int64 {
	if len(answer) > maxRefusal || !bytes.Contains(answer, []byte(`"error"`)) {
		return 0
	}
	m, err := wire.ScanIncoming(answer)
	if err != nil {
		return 0
	}
	code, _ := m.Error.Get("code").Int()
	return code
}

// get serves the stream of a session, or a stream from a place on.
func (v *visit) get() {
	if !accepts(v.r).events {
		v.refuse(http.StatusNotAcceptable, wire.CodeInvalidRequest, "accept text/event-stream")
		return
	}
	s := v.sessionOnly()
	if s == nil {
		return
	}
	defer s.leave()
	r := &reader{wake: make(chan struct{}, 1)}
	t, why := s.attach(r, v.r.Header.Values(fieldLastEvent))
	if t == nil {
		v.refuse(http.StatusBadRequest, wire.CodeInvalidRequest, why)
		return
	}
	defer t.detach(r)
	v.endless = true
	if v.comment() == nil { // so that proxies let the header through
		v.read(t, r)
	}
}

// attach lets r take up the stream that a client asks for by Last-Event-ID, or that for what belongs to no request.
func (s *session) attach(r *reader, last []string) (t *stream, why string) {
	s.account.mu.Lock()
	defer s.account.mu.Unlock()
	t = s.common
	if len(last) > 0 && last[0] != "" {
		name, number, ok := parseEventID(last[0])
		if !ok || len(last) > 1 {
			return nil, "Last-Event-ID is none of this session's"
		}
		// Not found must not be the answer: it would mean the session.
		if t = s.streams[name]; t == nil || !t.rewind(number+1) {
			return nil, "what came after this event is not kept any more"
		}
		t.paused = false
	}
	if len(t.readers) >= maxReaders {
		return nil, "too many streams are open: close some"
	}
	t.attach(r)
	return t, ""
}

// sessionOnly finds the session of a request that makes sense in none else but a legacy session. Where there is none,
// that is answered, and nil returned.
func (v *visit) sessionOnly() *session {
	if values := v.r.Header.Values(fieldVersion); len(values) == 1 && wire.EraNamed(values[0]) == wire.Modern {
		v.notAllowed("POST")
		return nil
	}
	return v.session(wire.Input{}, false)
}

// delete ends a session.
func (v *visit) delete() {
	s := v.sessionOnly()
	if s == nil {
		return
	}
	defer s.leave()
	s.end()
	v.w.WriteHeader(http.StatusNoContent)
}

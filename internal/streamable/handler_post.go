package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"sallyport/internal/wire"
)

// accepted is what a client takes as the answer.
type accepted struct{ json, events bool }

// accepts reads Accept. Clients should take both, but who says nothing, or anything, takes both too.
func accepts(r *http.Request) (a accepted) {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return accepted{true, true}
	}
	for _, wanted := range strings.Split(strings.Join(values, ","), ",") {
		kind, _, _ := strings.Cut(wanted, ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case typeJSON, "application/*":
			a.json = true
		case typeEvents, "text/*":
			a.events = true
		case "*/*":
			a.json, a.events = true, true
		}
	}
	return a
}

// post serves a message.
func (v *visit) post() {
	takes := accepts(v.r)
	switch kind, _, err := mime.ParseMediaType(v.r.Header.Get("Content-Type")); {
	case err != nil || kind != typeJSON:
		v.refuse(http.StatusUnsupportedMediaType, wire.CodeInvalidRequest, "send application/json")
		return
	case v.r.Header.Get("Content-Encoding") != "" && v.r.Header.Get("Content-Encoding") != "identity":
		v.refuse(http.StatusUnsupportedMediaType, wire.CodeInvalidRequest, "send the message as it is, not compressed")
		return
	case !takes.json && !takes.events:
		v.refuse(http.StatusNotAcceptable, wire.CodeInvalidRequest, "accept application/json and text/event-stream")
		return
	}
	body, ok := v.body()
	if !ok {
		return
	}
	in := wire.Read(body)
	if v.modern(in) {
		v.postModern(in, takes)
		return
	}
	v.postLegacy(in, takes)
}

// slowest is how many bytes of a body have to come in a second, on average, once Patience has passed.
const slowest = 16 << 10

// body reads the message. What was read of it so far is counted as held while it is read: a request that is not whole
// must not cost more than one that waits.
func (v *visit) body() (body []byte, ok bool) {
	limit := v.h.Options.MaxLine
	begun := time.Now()
	source := http.MaxBytesReader(v.w, v.r.Body, int64(limit))
	defer func() {
		v.account.free(cap(body))
		_ = v.control.SetReadDeadline(time.Time{}) // the connection's end is to be noticed from now on
	}()
	if v.r.ContentLength > int64(limit) {
		return nil, v.unread(&http.MaxBytesError{Limit: int64(limit)})
	}
	for {
		if len(body) == cap(body) {
			size := min(max(4<<10, 2*cap(body)), limit+1)
			if size == cap(body) || !v.account.reserve(size-cap(body)) {
				v.busy("busy: too many bytes wait to be read; retry when some have been")
				return body, false
			}
			larger := make([]byte, len(body), size)
			copy(larger, body)
			body = larger[:len(body):size]
		}
		_ = v.control.SetReadDeadline(begun.Add(v.h.Patience + time.Duration(len(body))*time.Second/slowest))
		n, err := source.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == io.EOF:
			return body, true
		case err != nil:
			return body, v.unread(err)
		}
	}
}

// unread answers a message that did not come whole. It returns false.
func (v *visit) unread(err error) bool {
	v.w.Header().Set("Connection", "close")
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		v.refuse(http.StatusRequestEntityTooLarge, wire.CodeInvalidRequest,
			fmt.Sprintf("the message is longer than %d bytes, the most that --max-line allows", long.Limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		v.refuse(http.StatusRequestTimeout, wire.CodeInvalidRequest, "the message came too slowly")
	default:
		v.refuse(http.StatusBadRequest, wire.CodeParse, "the message did not come whole")
	}
	return false
}

// postModern serves a message of the modern era, which stands by itself.
func (v *visit) postModern(in wire.Input, takes accepted) {
	if in.Refusal == nil {
		params, refusal := v.checkHeader(in.Message)
		if refusal != nil {
			v.reply(http.StatusBadRequest, wire.ErrorAnswer(in.ID, refusal))
			return
		}
		in.ParamHeaders = params
	}
	if in.Kind == wire.Response {
		v.refuse(http.StatusBadRequest, wire.CodeInvalidRequest, "nothing was asked that this could be the answer to")
		return
	}
	client := &wire.Session{Principal: v.caller.Principal, Tenant: v.caller.Tenant, Shared: true}
	talk := wire.NewConversation(client, v.h.MCP, v.h.Options, v.account.load, nil)
	defer talk.Wait()
	defer talk.End() // whoever is gone has cancelled
	ctx, cancel := context.WithCancel(v.r.Context())
	defer cancel()
	defer context.AfterFunc(v.h.ctx, cancel)()

	s := &stream{account: v.account, events: !takes.json, mute: !takes.events}
	v.endless = in.Method == methodListen
	talk.Take(ctx, in, s)
	v.follow(s)
}

// postLegacy serves a message of a session, or the one that begins a session.
func (v *visit) postLegacy(in wire.Input, takes accepted) {
	opening := in.Kind == wire.Request && in.Refusal == nil && in.Method == methodInitialize
	s := v.session(in, opening)
	if s == nil {
		return
	}
	defer s.leave()
	t := s.newStream()
	t.events, t.mute = !takes.json, !takes.events
	s.talk.Take(s.ctx, in, t)
	if !opening {
		v.follow(t)
		return
	}
	defer func() {
		if !s.wire.Initialized() {
			s.end()
		}
	}()
	v.opens = s
	v.follow(t)
}

// session finds the session that a message belongs to, or begins it. Where there is none, that is answered, and nil
// returned.
func (v *visit) session(in wire.Input, opening bool) *session {
	refuse := func(status int, why string) *session {
		refusal := &wire.Error{Code: wire.CodeInvalidRequest, Message: why}
		if in.Refusal != nil {
			status, refusal = http.StatusBadRequest, in.Refusal
		}
		v.reply(status, wire.ErrorAnswer(in.ID, refusal))
		return nil
	}
	id, known := v.sessionID()
	switch {
	case !known:
		return refuse(http.StatusBadRequest, "more than one Mcp-Session-Id")
	case !opening && !v.legacyVersion():
		return refuse(http.StatusBadRequest, "MCP-Protocol-Version is none that a session here can have")
	case id == "" && !opening:
		return refuse(http.StatusBadRequest,
			"missing Mcp-Session-Id: begin with initialize, or name the version in params._meta["+wire.MetaProtocolVersion+"]")
	case id == "":
		s := v.h.begin(v.caller)
		if s == nil {
			v.busy("busy: there are too many sessions")
		}
		return s
	}
	s := v.h.enter(id, v.caller)
	if s == nil {
		return refuse(http.StatusNotFound, "no such session: begin one with initialize")
	}
	return s
}

// sessionID returns what Mcp-Session-Id says, "" if nothing; ok is false if it is there twice.
func (v *visit) sessionID() (id string, ok bool) {
	values := v.r.Header.Values(fieldSession)
	return v.r.Header.Get(fieldSession), len(values) <= 1
}

// legacyVersion reports whether MCP-Protocol-Version is one of the legacy era, or left out. Which of them the session
// has is known without it.
func (v *visit) legacyVersion() bool {
	values := v.r.Header.Values(fieldVersion)
	return len(values) == 0 || len(values) == 1 && wire.EraNamed(values[0]) == wire.Legacy
}

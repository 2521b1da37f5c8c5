package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// The versions of the protocol that we speak with a server, newest first.
const modernVersion = "2026-07-28"

var legacyVersions = [...]string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// initializeTime is how long a server has to answer initialize. A server that is fetched before it runs needs long.
const initializeTime = 2 * time.Minute

// Negotiate is Open with a handshake: it asks for server/discover and falls back to initialize, in a new process where
// the probe ended the first (MCP 2026-07-28, basic/versioning, and the checklist's rows 23 to 26). A server that answers
// the probe late is asked once more if it does not take initialize either. What was found out is remembered: the next
// time the server is spoken to as it was the last time, and probed only if that fails.
func (s *Server) Negotiate(ctx context.Context, as Identity, hear func(wire.Incoming)) (wire.Link, Welcome, error) {
	if err := s.mayOpen(); err != nil {
		return nil, Welcome{}, &wire.NotSentError{Err: err}
	}
	n := &negotiation{server: s, as: as, hear: hear}
	w, err := n.run(ctx)
	s.mu.Lock()
	switch {
	case err == nil:
		s.era, n.link.trial = w.Era, false
		s.accountIfOver(n.link)
	case n.link != nil && ctx.Err() == nil:
		s.failed(0)
	}
	s.mu.Unlock()
	if err == nil {
		return n.link, w, nil
	}
	if n.link != nil {
		err = andClosing(err, n.link.Close())
	}
	return nil, Welcome{}, err
}

// negotiation is on its way to a handshake.
type negotiation struct {
	server *Server
	as     Identity
	hear   func(wire.Incoming)

	link *conducted // the conversation at hand; nil if there is none
	sent int        // requests
}

// run tries what worked last, and all there is if that fails.
func (n *negotiation) run(ctx context.Context) (Welcome, error) {
	n.server.mu.Lock()
	era := n.server.era
	n.server.mu.Unlock()
	if era == wire.Legacy {
		w, err := n.initialize(ctx, legacyVersions[0])
		if err == nil || ctx.Err() != nil || isLost(err) {
			return w, err
		}
		if err := n.renew(); err != nil {
			return Welcome{}, err
		}
	}
	w, err := n.probe(ctx)
	var next *legacyError
	if !errors.As(err, &next) {
		return w, err
	}
	late := errors.Is(next.why, context.DeadlineExceeded)
	w, err = n.initialize(ctx, next.version)
	if isLost(err) && n.link != nil && n.over() && ctx.Err() == nil {
		w, err = n.initialize(ctx, next.version) // the probe ended it, only later
	}
	if refused := new(refusedError); late && errors.As(err, &refused) && ctx.Err() == nil {
		if w, again := n.probe(ctx); again == nil {
			return w, nil
		}
	}
	return w, err
}

// isLost reports whether err is no answer of the server's, but the lack of one.
func isLost(err error) bool {
	lost, notSent := new(wire.LostError), new(wire.NotSentError)
	return errors.As(err, &lost) || errors.As(err, &notSent)
}

// unreachable reports whether err says that the server could not even be started.
func (n *negotiation) unreachable(err error) bool {
	notSent := new(wire.NotSentError)
	return n.link == nil && errors.As(err, &notSent)
}

// over reports whether the conversation at hand has ended.
func (n *negotiation) over() bool {
	select {
	case <-n.link.Done():
		return true
	default:
		return false
	}
}

// renew ends the conversation at hand, so that the next request begins another one.
func (n *negotiation) renew() error {
	link := n.link
	if n.link = nil; link == nil {
		return nil
	}
	return link.Close()
}

// ask sends a request, in a new conversation if there is none or it has ended, and returns its response, which may be an
// error's.
func (n *negotiation) ask(ctx context.Context, method string, params []byte, era wire.Era) (wire.Incoming, error) {
	if n.link != nil && n.over() {
		if err := n.renew(); err != nil {
			return wire.Incoming{}, err
		}
	}
	if n.link == nil {
		link, err := n.server.begin(ctx, n.hear, true)
		if err != nil {
			return wire.Incoming{}, err
		}
		n.link = link
	}
	n.sent++
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"sallyport-handshake-%d","method":%q,"params":%s}`, n.sent, method, params)
	v, err := canon.Parse(line)
	if err != nil {
		return wire.Incoming{}, fmt.Errorf("the handshake cannot be written: %w", err)
	}
	return n.link.Call(ctx, wire.Outgoing{
		Line: v.Bytes(), ID: v.Get("id"), Method: method, Params: v.Get("params"), Era: era,
	})
}

// legacyError says that the server is to be spoken to with a handshake, and why that is believed.
type legacyError struct {
	version string
	why     error
}

func (e *legacyError) Error() string { return "not of the modern era: " + e.why.Error() }
func (e *legacyError) Unwrap() error { return e.why }

// refusedError is an error that the server itself answered with.
type refusedError struct {
	method  string
	code    int64
	message string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the server answers %s with error %d: %s", e.method, e.code, e.message)
}

// isModern reports whether err is the transport's for an answer that only a modern server gives.
func (n *negotiation) isModern(err error) bool {
	answered := new(wire.Error)
	return n.server.cfg.URL != "" && errors.As(err, &answered) && onlyModern(int64(answered.Code))
}

func onlyModern(code int64) bool {
	return code == wire.CodeUnsupportedVersion || code == wire.CodeHeaderMismatch || code == wire.CodeMissingCapability
}

// probe asks for server/discover. A *legacyError says that initialize comes next.
func (n *negotiation) probe(ctx context.Context) (Welcome, error) {
	inTime, cancel := context.WithTimeout(ctx, n.server.cfg.ProbeTimeout)
	defer cancel()
	m, err := n.discover(inTime)
	switch {
	case ctx.Err() != nil:
		return Welcome{}, ctx.Err()
	case n.unreachable(err), n.isModern(err):
		return Welcome{}, err
	case err != nil:
		return Welcome{}, &legacyError{version: legacyVersions[0], why: err}
	}
	if m.Error.Exists() {
		return Welcome{}, n.refused(m)
	}
	offered := texts(m.Result.Get("supportedVersions"))
	if slices.Contains(offered, modernVersion) {
		return Welcome{Era: wire.Modern, Version: modernVersion, Result: m.Result.Bytes()}, nil
	}
	if len(offered) == 0 {
		return Welcome{}, &legacyError{version: legacyVersions[0], why: errors.New("server/discover names no versions")}
	}
	return Welcome{}, chosen(offered)
}

// discover sends server/discover. A server that says that it does not speak the version, and that it does, is asked once
// more.
func (n *negotiation) discover(ctx context.Context) (wire.Incoming, error) {
	for first := true; ; first = false {
		m, err := n.ask(ctx, methodDiscover, n.discoverParams(), wire.Modern)
		if err != nil || !first || !slices.Contains(supported(m), modernVersion) {
			return m, err
		}
	}
}

// supported are the versions that an error for an unsupported one names.
func supported(m wire.Incoming) []string {
	if code, _ := m.Error.Get("code").Int(); code != wire.CodeUnsupportedVersion {
		return nil
	}
	return texts(m.Error.Get("data").Get("supported"))
}

// refused is the error for a probe that the server answered with an error: it does not know the request, and is of the
// legacy era, unless the error shows that it is of the modern one.
func (n *negotiation) refused(m wire.Incoming) error {
	refused := refusal(methodDiscover, m)
	switch {
	case refused.code == wire.CodeUnsupportedVersion:
		if offered := supported(m); len(offered) > 0 {
			return chosen(offered)
		}
		return refused
	case n.server.cfg.URL != "" && onlyModern(refused.code):
		return refused
	}
	return &legacyError{version: legacyVersions[0], why: refused}
}

// chosen is a *legacyError for the newest version of ours that a modern server offers, which has a handshake; another
// error if there is none.
func chosen(offered []string) error {
	why := fmt.Errorf("the server speaks protocol versions %s only", strings.Join(offered, ", "))
	for _, version := range legacyVersions {
		if slices.Contains(offered, version) {
			return &legacyError{version: version, why: why}
		}
	}
	return why
}

func refusal(method string, m wire.Incoming) *refusedError {
	r := &refusedError{method: method}
	r.code, _ = m.Error.Get("code").Int()
	r.message = harmless([]byte(textOf(m.Error.Get("message"))))
	return r
}

// initialize makes the legacy handshake.
func (n *negotiation) initialize(ctx context.Context, version string) (Welcome, error) {
	inTime, cancel := context.WithTimeout(ctx, initializeTime)
	defer cancel()
	params := canon.AppendString([]byte(`{"protocolVersion":`), version)
	params = append(append(params, `,"capabilities":`...), orEmpty(n.as.Capabilities)...)
	params = append(append(append(params, `,"clientInfo":`...), orEmpty(n.as.ClientInfo)...), '}')
	m, err := n.ask(inTime, methodInitialize, params, wire.Legacy)
	if err != nil {
		return Welcome{}, fmt.Errorf("the server does not answer initialize: %w", err)
	}
	if m.Error.Exists() {
		return Welcome{}, refusal(methodInitialize, m)
	}
	answered := textOf(m.Result.Get("protocolVersion"))
	if !slices.Contains(legacyVersions[:], answered) {
		return Welcome{}, fmt.Errorf("the server answers initialize with protocol version %q, which is none of ours", answered)
	}
	if err := n.link.Send(inTime, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		return Welcome{}, err
	}
	return Welcome{Era: wire.Legacy, Version: answered, Result: m.Result.Bytes()}, nil
}

func (n *negotiation) discoverParams() []byte {
	params := []byte(`{"_meta":{"` + wire.MetaProtocolVersion + `":"` + modernVersion + `"`)
	params = append(append(params, `,"`+wire.MetaClientInfo+`":`...), orEmpty(n.as.ClientInfo)...)
	params = append(append(params, `,"`+wire.MetaClientCapabilities+`":`...), orEmpty(n.as.Capabilities)...)
	return append(params, "}}"...)
}

func orEmpty(object []byte) []byte {
	if object == nil {
		return []byte("{}")
	}
	return object
}

// texts are the strings of the array v.
func texts(v canon.Value) []string {
	var all []string
	for element := range v.Elements() {
		if element.Kind() == canon.String {
			all = append(all, textOf(element))
		}
	}
	return all
}

// textOf is the string that v is, "" if it is none, or none that can be read.
func textOf(v canon.Value) string {
	strict, err := canon.Parse(v.Bytes())
	if err != nil {
		return ""
	}
	text, _ := strict.Text()
	return text
}

package streamable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"

	// maxRefusal is the length of the longest body of an HTTP error that is read.
	maxRefusal = 1 << 20
)

var (
	errSession    = errors.New("the server has ended the session")
	errCompressed = errors.New("the server's answer is compressed, which it was asked not to be")
)

// read reads the whole body of a response of no more than limit bytes.
func (x *exchange) read(limit int) ([]byte, error) {
	const first = 64 << 10
	size := x.response.ContentLength
	if size > int64(limit) {
		return nil, errTooLong
	}
	var body bytes.Buffer
	body.Grow(int(min(max(size, 0), first)) + bytes.MinRead)
	if _, err := body.ReadFrom(io.LimitReader(x, int64(limit)+1)); err != nil {
		return nil, err
	}
	if body.Len() > limit {
		return nil, errTooLong
	}
	return body.Bytes(), nil
}

// mediaType returns what kind of body the response has, "" if that cannot be told.
func (x *exchange) mediaType() string {
	kind, _, _ := mime.ParseMediaType(x.response.Header.Get("Content-Type"))
	return kind
}

// compressed reports whether the body is not the bytes that were meant.
func (x *exchange) compressed() bool {
	coding := x.response.Header.Get("Content-Encoding")
	return coding != "" && !strings.EqualFold(coding, "identity")
}

// refusal returns the JSON-RPC error that the body of an HTTP error is, if it is one.
func (x *exchange) refusal() (wire.Incoming, bool) {
	if x.response.StatusCode < 400 || x.compressed() {
		return wire.Incoming{}, false
	}
	body, err := x.read(min(maxRefusal, x.link.client.maxMessage()))
	if err != nil {
		return wire.Incoming{}, false
	}
	m, err := message(body)
	return m, err == nil && m.Kind == wire.Response && m.Error.Exists()
}

// endedBy reports whether the response says that the server does not know the session, and ends the link then. The
// protocol has HTTP 404 for that. Servers that keep sessions in a table of their own, and have been started again, say
// it by an error of theirs; nobody else has a reason to speak of sessions when it refuses a request with HTTP 400.
func (l *link) endedBy(x *exchange, refusal wire.Incoming) bool {
	if x.session == "" {
		return false
	}
	switch x.response.StatusCode {
	case http.StatusNotFound:
	case http.StatusBadRequest:
		code, _ := refusal.Error.Get("code").Int()
		text, _ := refusal.Error.Get("message").Text()
		text = strings.ToLower(text)
		if code != -32000 && code != -32001 || !strings.Contains(text, "session") && !strings.Contains(text, "not initialized") {
			return false
		}
	default:
		return false
	}
	l.end(true)
	return true
}

// errorOf returns the error of a response as one of ours.
func errorOf(m wire.Incoming) *wire.Error {
	code, _ := m.Error.Get("code").Int()
	text, _ := m.Error.Get("message").Text()
	return &wire.Error{Code: int(code), Message: text, Data: m.Error.Get("data").Bytes()}
}

// statusError returns what the status of a response means that has no JSON-RPC error in it. Where an HTTP server, or
// something in front of it, looks at no more than the header, nothing was done; of all others nobody knows.
func statusError(resp *http.Response) error {
	text := fmt.Sprintf("the server answered with HTTP status %d", resp.StatusCode)
	if name := http.StatusText(resp.StatusCode); name != "" {
		text += " (" + name + ")"
	}
	switch status := resp.StatusCode; status {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return &wire.NotSentError{Err: errors.New(text + redirection(resp))}
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		return &wire.LostError{Err: errors.New(text + redirection(resp))}
	case http.StatusTooManyRequests:
		if after := resp.Header.Get("Retry-After"); isPlain(after) {
			text += "; it takes requests again after " + shorten(after)
			if strings.Trim(after, "0123456789") == "" {
				text += " seconds"
			}
		}
		return &wire.NotSentError{Err: errors.New(text)}
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return &wire.NotSentError{Err: errors.New(text)}
	}
	return &wire.LostError{Err: errors.New(text)}
}

// redirection says where a response sends to, without what may be a secret.
func redirection(resp *http.Response) string {
	text := ": redirects are not followed"
	to, err := resp.Location()
	if err != nil || to.Host == "" {
		return text
	}
	place := (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String()
	return text + fmt.Sprintf("; if it is right, %q is what the server's url should be", shorten(place))
}

// message reads a message that may stand on several lines, as it may in JSON, and puts it on one: what are line ends in
// it become spaces (MCP, stdio), and no other byte is touched. It changes text.
func message(text []byte) (wire.Incoming, error) {
	m, err := wire.ScanIncoming(text)
	if err != nil {
		return wire.Incoming{}, err
	}
	for _, end := range []byte("\r\n") {
		for rest := m.Line; ; {
			at := bytes.IndexByte(rest, end)
			if at < 0 {
				break
			}
			rest[at] = ' '
			rest = rest[at+1:]
		}
	}
	return m, nil
}

// answers reports whether m is the response to the call. An error that has no id is one, since a response of HTTP
// belongs to one request.
func (c *call) answers(m wire.Incoming) bool {
	if m.Kind != wire.Response {
		return false
	}
	return !m.ID.Exists() || wire.IDKey(m.ID) == c.key
}

// own returns m, a response to the call or a message of a subscription, under the id that the call's request had.
func (c *call) own(m wire.Incoming) (wire.Incoming, error) {
	var edits []canon.Edit
	line := m.Line
	if m.Kind == wire.Response && !bytes.Equal(m.ID.Bytes(), c.out.ID.Bytes()) {
		id := m.ID
		if !id.Exists() {
			id, line = nullID(line)
		}
		edits = append(edits, canon.Edit{Old: id, New: c.out.ID.Bytes()})
	}
	if c.renamed {
		body := m.Result
		if m.Kind == wire.Notification {
			body = m.Params
		}
		name := body.Get("_meta").Get(wire.MetaSubscriptionID)
		if name.Exists() && wire.IDKey(name) == c.key {
			edits = append(edits, canon.Edit{Old: name, New: c.out.ID.Bytes()})
		}
	}
	if len(edits) == 0 {
		return m, nil
	}
	return wire.ScanIncoming(canon.Splice(line, edits...))
}

// nullID returns the id of an error that is for no request, and the line that it is in: null, or put there as null.
func nullID(line []byte) (id canon.Value, with []byte) {
	v, err := canon.Skim(line)
	if err != nil {
		return canon.Value{}, line // it was scanned before
	}
	for key, value := range v.Members() {
		if key == "id" {
			return value, line
		}
	}
	return nullID(append([]byte(`{"id":null,`), line[1:]...))
}

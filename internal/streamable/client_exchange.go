package streamable

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"sallyport/internal/wire"
)

// passage is what is known of how far a request came.
type passage struct {
	begun atomic.Bool // something of it may have been written
	whole atomic.Bool // all of it may have been written
	mux   atomic.Bool // the connection is one of HTTP/2

	telling bool // it tells the server what it ought to know before the conversation ends
}

// watch returns a context in which a request is sent whose passage p becomes.
func (p *passage) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			c, ok := info.Conn.(*tls.Conn)
			p.mux.Store(ok && c.ConnectionState().NegotiatedProtocol == "h2")
		},
		WroteHeaders: func() { p.begun.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) { p.whole.Store(true) },
	})
}

// judge returns err as one of the two kinds of wire.Link.
func (p *passage) judge(err error) error {
	if p.begun.Load() {
		return &wire.LostError{Err: err}
	}
	return &wire.NotSentError{Err: err}
}

// exchange is one HTTP request and its response. It is over when settle or abort has been called.
type exchange struct {
	link     *link
	response *http.Response
	session  string      // that was in the request's header
	telling  bool        // as in passage
	cancel   func()      // ends it at once
	release  func() bool // lets it outlive the context of the one who began it
	ended    bool        // the end of the response has been read
}

// exchange sends a request and returns its response as soon as its header is there. It is cancelled when ctx is done or
// the link is closed. The error is ctx's own, a *wire.NotSentError or a *wire.LostError; in the first case p tells whether
// anything was sent.
func (l *link) exchange(ctx context.Context, method string, body []byte, header http.Header, p *passage) (*exchange, error) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	x := &exchange{
		link: l, session: header.Get(fieldSession), telling: p.telling,
		cancel: cancel, release: context.AfterFunc(ctx, cancel),
	}
	if err := l.track(x); err != nil {
		x.abort()
		return nil, &wire.NotSentError{Err: err}
	}
	req, err := l.client.request(p.watch(inner), method, body, header)
	if err != nil {
		x.abort()
		return nil, &wire.NotSentError{Err: err}
	}
	p.guard(req)
	x.response, err = l.client.send.Do(req)
	if err == nil {
		return x, nil
	}
	x.abort()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, p.judge(l.reason(err))
}

// guard sees to it that net/http, which sends a request again if its connection turns out to be closed, does not so once
// the request may have been read. Over HTTP/1.1 it knows that nothing was written; over HTTP/2 it also believes a server
// that says so of a request which it has in whole.
func (p *passage) guard(req *http.Request) {
	again := req.GetBody
	if again == nil {
		return
	}
	req.GetBody = func() (io.ReadCloser, error) {
		if p.mux.Load() && p.whole.Load() {
			return nil, errors.New("the connection was lost")
		}
		return again()
	}
}

// request returns a request with what is configured in its header, and what is the protocol's, which goes before.
func (c *Client) request(ctx context.Context, method string, body []byte, header http.Header) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.URL, bytes.NewReader(body))
	if err != nil {
		return nil, plainError(err)
	}
	req.Header.Set("User-Agent", "sallyport")
	for name, values := range c.Header {
		name = http.CanonicalHeaderKey(name)
		req.Header[name] = append([]string(nil), values...)
	}
	// With one of these net/http would take any request for one that can be sent twice.
	req.Header.Del("Idempotency-Key")
	req.Header.Del("X-Idempotency-Key")
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	req.Header.Set("Accept", "text/event-stream")
	if method == http.MethodPost {
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept-Encoding", "identity")
	for _, name := range []string{fieldVersion, fieldSession, fieldMethod, fieldName, fieldLastEvent} {
		req.Header.Del(name)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	return req, nil
}

// track remembers x, so that Close ends it. What tells the server something may still begin for as long as Close waits for
// that.
func (l *link) track(x *exchange) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over && (!x.telling || l.forced) {
		return errOver
	}
	l.running[x] = true
	return nil
}

// reason returns why an exchange failed, without the URL, in which there may be a secret.
func (l *link) reason(err error) error {
	select {
	case <-l.done:
		return errOver
	default:
		return plainError(err)
	}
}

func plainError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// abort ends x at once. It may be called more than once.
func (x *exchange) abort() {
	x.release()
	x.cancel()
	if x.response != nil {
		x.response.Body.Close()
	}
	x.link.mu.Lock()
	defer x.link.mu.Unlock()
	delete(x.link.running, x)
}

const (
	// maxSettle and settleTime are how much of a response, and how long, is waited for to see its end, after all that
	// matters of it has been read. A connection can then be used again.
	maxSettle  = 64 << 10
	settleTime = 500 * time.Millisecond
)

// Read reads from the response's body.
func (x *exchange) Read(p []byte) (int, error) {
	n, err := x.response.Body.Read(p)
	if err == io.EOF {
		x.ended = true
	}
	return n, err
}

// settle ends x in good order, and does not wait for that.
func (x *exchange) settle() {
	x.release()
	if x.ended || x.response.ContentLength == 0 || !x.link.spawn(x.drain) {
		x.abort()
	}
}

func (x *exchange) drain() {
	timer := time.AfterFunc(settleTime, x.cancel)
	defer timer.Stop()
	io.CopyN(io.Discard, x.response.Body, maxSettle)
	x.abort()
}

package streamable

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"sallyport/internal/wire"
)

// defaultMaxMessage is the length of the longest message where none is set.
const defaultMaxMessage = 64 << 20

// maxCalls is how many calls of a Client have their request under way at once; the others wait. Over HTTP/1.1 each has a
// connection of its own. What the calls themselves may wait for, which is notifications, cancellations and answers to the
// server's requests, is not counted.
const maxCalls = 1024

// Client is a server's streamable HTTP endpoint as its clients see it. The fields are set before it is used; it must not
// be copied after. It is safe for concurrent use.
//
// Redirects are not followed: a request, with all that Header has in it, goes to URL or nowhere. Answers are not
// decompressed. Nothing that may have been read by the server is sent again.
type Client struct {
	URL        string
	Header     http.Header // sent with each request; never what our own clients sent us
	MaxMessage int         // bytes of the longest message that is read; 0 is 64 MiB

	// HTTP is what requests are sent by; nil is a client of our own, whose connections last as long as there are links.
	// Its CheckRedirect is not asked.
	HTTP *http.Client

	once  sync.Once
	own   bool          // sender's connections are ours
	send  *http.Client  // as HTTP, but that it follows no redirect
	slots chan struct{} // holds one element for each call that is under way

	mu    sync.Mutex // guards what follows
	links int        // how many are open
}

// Open returns a conversation in which nothing has been said; see upstream.Server.Open. A legacy one has a session from
// its initialize on, and hear is told of what comes by that session's own stream, which is opened after
// notifications/initialized was sent.
//
// A ping from the server is answered by the link. What ends a conversation, besides Close, is that the server does not
// know its session any more. A modern request that the server refused for its headers (-32020) gives a
// *wire.NotSentError that wraps the server's own *wire.Error.
func (c *Client) Open(_ context.Context, hear func(wire.Incoming)) (wire.Link, error) {
	if err := c.check(); err != nil {
		return nil, &wire.NotSentError{Err: err}
	}
	c.once.Do(c.prepare)
	if hear == nil {
		hear = func(wire.Incoming) {}
	}
	c.mu.Lock()
	c.links++
	c.mu.Unlock()
	return &link{
		client:  c,
		hear:    hear,
		prefix:  "sallyport-" + rand.Text()[:12] + "-",
		pings:   make(chan struct{}, maxPings),
		done:    make(chan struct{}),
		calls:   map[string]bool{},
		running: map[*exchange]bool{},
	}, nil
}

// check says what is wrong with the configuration. It never shows the URL, which may have a secret in it.
func (c *Client) check() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return errors.New("the server's url cannot be read")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("the server's url must begin with http:// or https://")
	case u.Host == "":
		return errors.New("the server's url names no host")
	}
	return nil
}

// prepare makes what all links share.
func (c *Client) prepare() {
	c.slots = make(chan struct{}, maxCalls)
	var sender http.Client
	if c.HTTP != nil {
		sender = *c.HTTP
	} else {
		c.own = true
		sender.Transport = newTransport()
	}
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.send = &sender
}

// newTransport returns a transport that proves to whom it speaks, and never gives up on a server that takes its time
// with an answer: that is for the caller to do.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		DisableCompression:  true,
		MaxIdleConnsPerHost: 64,
		// Many servers close a connection that was idle for five seconds (Node, uvicorn). A request that meets that would
		// be lost, and nobody could tell whether it was read: so we are the first to close.
		IdleConnTimeout:        4 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// maxMessage is the length of the longest message.
func (c *Client) maxMessage() int {
	if c.MaxMessage > 0 {
		return c.MaxMessage
	}
	return defaultMaxMessage
}

// left is told that a link is closed.
func (c *Client) left() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.links--; c.links == 0 && c.own {
		c.send.CloseIdleConnections()
	}
}

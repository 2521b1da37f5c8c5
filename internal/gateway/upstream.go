package gateway

import (
	"context"
	"time"

	"sallyport/internal/upstream"
	"sallyport/internal/wire"
)

// Upstream is a server behind the gateway; upstream.Server is the real one. Its methods are called by several goroutines
// at once.
type Upstream interface {
	// Name is the server's name as configured, which does not change.
	Name() string

	// Open begins a conversation in which nothing has been said. hear is told of what the upstream says that belongs to
	// no request, in order and never twice at the same time.
	Open(ctx context.Context, hear func(wire.Incoming)) (wire.Link, error)

	// Negotiate begins a conversation by finding out the era of the server.
	Negotiate(ctx context.Context, as upstream.Identity, hear func(wire.Incoming)) (wire.Link, upstream.Welcome, error)

	// Close ends all conversations, and the server where it is a process of ours.
	Close() error
}

// separator stands between a server's name and that of its tool or prompt where there are several servers.
const separator = "__"

// The bounds of what is done for clients and servers. Server.CallTimeout is the one that an operator sets.
const (
	defaultCallTimeout = 10 * time.Minute // of a request to an upstream, however much progress it makes
	handshakeTimeout   = 60 * time.Second // of an upstream that is being opened
	gatherTimeout      = 20 * time.Second // for what several upstreams are asked at once: later ones are left out
	sendTimeout        = 10 * time.Second // of a notification to an upstream

	maxAsking  = 64   // requests of one upstream that wait for a client
	maxSending = 1024 // notifications of a client's that wait to be sent
)

// relays reports whether there is any upstream.
func (s *Server) relays() bool { return len(s.Upstreams) > 0 }

// single reports whether there is one upstream and nothing else: then its names are its own, and what it says goes to
// the client as it stands.
func (s *Server) single() bool { return len(s.Upstreams) == 1 && len(s.Tools) == 0 && !s.Prefixed }

// overHTTP reports whether an upstream is reached by streamable HTTP, where it can be told.
func overHTTP(up Upstream) bool {
	h, ok := up.(interface{ HTTP() bool })
	return ok && h.HTTP()
}

// exposed is the name under which clients know what an upstream calls by name.
func (s *Server) exposed(up Upstream, name string) string {
	if s.Prefixed || !s.single() {
		return up.Name() + separator + name
	}
	return name
}

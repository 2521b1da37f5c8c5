package upstream

import (
	"context"
	"sync"

	"sallyport/internal/streamable"
	"sallyport/internal/wire"
)

// connect begins a conversation by whatever the server is reached by.
func (s *Server) connect(ctx context.Context, hear func(wire.Incoming)) (wire.Link, error) {
	if s.cfg.URL == "" {
		return converse(&s.cfg, hear)
	}
	return s.client().Open(ctx, hear)
}

// newClient returns what all conversations of a server over HTTP share.
func newClient(cfg Config) func() *streamable.Client {
	return sync.OnceValue(func() *streamable.Client {
		return &streamable.Client{URL: cfg.URL, Header: cfg.Header, MaxMessage: cfg.MaxMessage}
	})
}

// Package upstream runs and reaches the MCP servers behind the gateway.
//
// A Server is one of them as it is configured; Open begins a conversation with it, and Negotiate one whose era is found
// out first. A process runs in a group of its own, with the environment that its entry names and no other; neither it nor
// what it starts in its group outlives its conversation, nor us, however we end. In a conversation nothing that a server
// says or leaves unsaid can stall another call, be taken for another call's answer, or take more than a bounded part of
// our memory. What passes keeps its bytes. What it means is for the gateway to know.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sallyport/internal/streamable"
	"sallyport/internal/wire"
)

// Config is a server behind the gateway. It has either a Command or a URL.
type Config struct {
	Name    string   // as configured; it names the server in logs, claims and pins
	Command string   // looked up in the PATH of Env
	Args    []string //
	Env     []string // the whole environment, KEY=VALUE
	Dir     string   // "" is ours
	URL     string   // streamable HTTP
	Header  http.Header

	MaxMessage   int           // bytes of the longest message that is read; 0 is 64 MiB
	ProbeTimeout time.Duration // how long a server has to answer the probe; 0 is 3 s
	Log          *slog.Logger  // for operators; stderr goes there too. nil drops everything
}

// Server is one server. It is safe for concurrent use.
type Server struct {
	cfg    Config
	client func() *streamable.Client // for a URL

	mu       sync.Mutex // guards what follows
	open     map[*conducted]struct{}
	closed   bool
	era      wire.Era  // as it was negotiated last, 0 before
	failures int       // conversations in a row that ended by themselves, or did not begin
	until    time.Time // when the next may begin
}

// New returns a server that is not started yet.
func New(cfg Config) *Server {
	if cfg.MaxMessage <= 0 {
		cfg.MaxMessage = 64 << 20
	}
	if cfg.ProbeTimeout <= 0 {
		cfg.ProbeTimeout = 3 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{cfg: cfg, client: newClient(cfg), open: map[*conducted]struct{}{}}
}

// Name is the server's name as configured.
func (s *Server) Name() string { return s.cfg.Name }

// Identity is who we are towards an upstream, where no client's own handshake is passed on: JSON objects.
type Identity struct {
	ClientInfo   []byte
	Capabilities []byte
}

// Welcome is what an upstream said of itself.
type Welcome struct {
	Era     wire.Era
	Version string // of the protocol, that is spoken from now on
	Result  []byte // of server/discover or initialize, as it came
}

// Open begins a conversation without a handshake: a process is started, or an HTTP session is about to begin. hear is
// told of what the upstream says that belongs to no request of ours, under the rules of wire.Outgoing.Hear; it may be
// nil. After a crash it fails with a *wire.NotSentError until the back-off is over, whose text says for how long.
//
// ctx is for the beginning only. The conversation goes on until it is closed, or ends by itself.
func (s *Server) Open(ctx context.Context, hear func(wire.Incoming)) (wire.Link, error) {
	if err := s.mayOpen(); err != nil {
		return nil, &wire.NotSentError{Err: err}
	}
	return s.begin(ctx, hear, false)
}

// begin is Open without the back-off. The end of a trial is for its beginner to account for.
func (s *Server) begin(ctx context.Context, hear func(wire.Incoming), trial bool) (*conducted, error) {
	if err := ctx.Err(); err != nil {
		return nil, &wire.NotSentError{Err: err}
	}
	started := time.Now()
	link, err := s.connect(ctx, hear)
	if err != nil {
		s.mu.Lock()
		s.failed(0)
		s.mu.Unlock()
		if notSent := new(wire.NotSentError); errors.As(err, &notSent) {
			return nil, err
		}
		return nil, &wire.NotSentError{Err: err}
	}
	c := &conducted{Link: link, started: started, trial: trial, gone: make(chan struct{})}
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.open[c] = struct{}{}
	}
	s.mu.Unlock()
	if closed {
		return nil, &wire.NotSentError{Err: andClosing(errServerClosed, link.Close())}
	}
	go func() {
		defer close(c.gone)
		<-link.Done()
		s.mu.Lock()
		s.account(c)
		s.mu.Unlock()
		_ = link.Close() // a process may still be there, or what it has started; who closes it as well sees the error
		s.mu.Lock()
		delete(s.open, c)
		s.mu.Unlock()
	}()
	return c, nil
}

// conducted is a conversation that its server knows of.
type conducted struct {
	wire.Link
	started time.Time
	closing atomic.Bool   // it is ended by us
	trial   bool          // it is being negotiated, and may end of that; guarded by the server's mu, as is the next
	counted bool          // its end was accounted for
	gone    chan struct{} // closed when nothing of it is left
}

// Close implements wire.Link.
func (c *conducted) Close() error {
	c.closing.Store(true)
	err := c.Link.Close()
	<-c.gone
	return err
}

// Close ends all conversations of the server and waits for its processes to be gone. No more can begin.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	var open []*conducted
	for c := range s.open {
		open = append(open, c)
	}
	s.mu.Unlock()
	errs := make([]error, len(open))
	var wait sync.WaitGroup
	for i, c := range open {
		wait.Go(func() { errs[i] = c.Close() })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// After a conversation that ended by itself the next may begin after shortest, then after twice as long each time, up to
// longest. One that lived steady makes up for all before it.
const (
	shortest = 100 * time.Millisecond
	longest  = 30 * time.Second
	steady   = 10 * time.Second
)

// andClosing is err with what went wrong when its conversation was closed, if anything did.
func andClosing(err, closing error) error {
	if closing == nil {
		return err
	}
	return fmt.Errorf("%w; closing: %w", err, closing)
}

var errServerClosed = errors.New("the server is closed")

// mayOpen says why no conversation may begin now.
func (s *Server) mayOpen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errServerClosed
	}
	for c := range s.open {
		s.accountIfOver(c) // whoever saw that it is over must not be faster than we are
	}
	if left := time.Until(s.until); left > 0 {
		return fmt.Errorf("the server %s failed %d times in a row; retry in %s", s.cfg.Name, s.failures,
			max(left, time.Millisecond).Round(time.Millisecond))
	}
	return nil
}

// accountIfOver is account for what may still go on.
func (s *Server) accountIfOver(c *conducted) {
	select {
	case <-c.Done():
		s.account(c)
	default:
	}
}

// account takes the end of c into account; mu is held.
func (s *Server) account(c *conducted) {
	if c.trial {
		return
	}
	if !c.counted && !c.closing.Load() {
		s.failed(time.Since(c.started))
	}
	c.counted = true
}

// failed notes that a conversation ended by itself after it lived so long; mu is held.
func (s *Server) failed(lived time.Duration) {
	if lived >= steady {
		s.failures = 0
	}
	s.failures++
	s.until = time.Now().Add(backOff(s.failures))
}

// backOff is how long to wait after so many failures.
func backOff(failures int) time.Duration {
	if failures > 9 { // of which the shift below would make more than longest
		return longest
	}
	return min(longest, shortest<<(failures-1))
}

// HTTP reports whether the server is reached by streamable HTTP.
func (s *Server) HTTP() bool { return s.cfg.URL != "" }

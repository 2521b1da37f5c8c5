// Package bridge lets a client of one era of the protocol speak with a server of the other one.
//
// Modern and Legacy are each a wire.Link over a wire.Link: Modern takes the requests of a modern client and speaks with
// a server that has been initialized, Legacy takes those of a legacy client and speaks with a server that knows no
// handshake. What the eras have in common goes through byte for byte; only the members in which they differ are put in,
// taken out or changed. What one era has and the other cannot say is answered with an error that says so.
//
// Who may call what is not looked at here: the gateway asks its gate before it calls, and again for each question that
// it is told of. What upstreams and clients say is not believed: it is bounded, and refused where it can be read in two
// ways.
package bridge

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"sallyport/internal/wire"
)

// Options are how an adapter works. The zero value will do.
type Options struct {
	// Principal is on whose behalf all calls of the link are made. A call that waits for its client goes on for that
	// principal only.
	Principal string

	// ClientInfo and Capabilities are what Modern.Identity gives out: JSON objects. Nil are ours, and all that can be
	// bridged. Legacy says ClientInfo of itself before its client has said who it is.
	ClientInfo, Capabilities []byte

	ParkFor        time.Duration // how long a call waits for its client's answers; 0 is 10 minutes
	MaxParked      int           // calls that wait so; 0 is 1,000
	MaxParkedBytes int           // of their questions, and of answers that came meanwhile; 0 is 64 MiB

	Log *slog.Logger // for operators; nil drops everything
}

// withDefaults returns the options with what is 0 filled in.
func (o Options) withDefaults() Options {
	if o.ParkFor == 0 {
		o.ParkFor = 10 * time.Minute
	}
	if o.MaxParked == 0 {
		o.MaxParked = 1000
	}
	if o.MaxParkedBytes == 0 {
		o.MaxParkedBytes = 64 << 20
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.ClientInfo == nil {
		o.ClientInfo = []byte(`{"name":"sallyport","version":"1"}`)
	}
	if o.Capabilities == nil {
		o.Capabilities = []byte(`{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{"context":{},"tools":{}}}`)
	}
	return o
}

const (
	// maxEarly is how many requests of a server are kept that come before Attach, if none is longer than maxEarlyLine.
	maxEarly     = 16
	maxEarlyLine = 64 << 10

	// sendTimeout is how long what we say on our own account may take.
	sendTimeout = 30 * time.Second
)

// errNotAttached is what a call gets before Attach.
var errNotAttached = errors.New("the server has not said yet who it is")

// errClosed is what a call gets after Close.
var errClosed = errors.New("the conversation is over")

// span is what both adapters stand on: the link beneath, and all that is under way on our own account.
type span struct {
	opt     Options
	closing chan struct{} // closed by Close
	work    sync.WaitGroup
	courier courier

	hearMu sync.Mutex // one at a time is told of what belongs to no call
	hear   func(wire.Incoming)

	mu     sync.Mutex // guards what follows, and the adapter's own state
	link   wire.Link
	closed bool
	early  []wire.Incoming
}

// attach gives the adapter its link, and returns the server's requests that came before.
func (s *span) attach(link wire.Link) []wire.Incoming {
	s.mu.Lock()
	early, closed := s.early, s.closed
	s.link, s.early = link, nil
	s.mu.Unlock()
	if closed {
		link.Close()
		return nil
	}
	return early
}

// beneath returns the link to call upon.
func (s *span) beneath() (wire.Link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, &wire.NotSentError{Err: errClosed}
	case s.link == nil:
		return nil, &wire.NotSentError{Err: errNotAttached}
	}
	return s.link, nil
}

// keepEarly keeps a request that came before the link did, and reports whether it was one.
func (s *span) keepEarly(in wire.Incoming) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		return false
	}
	if in.Kind == wire.Request && len(s.early) < maxEarly && len(in.Line) <= maxEarlyLine {
		s.early = append(s.early, in)
	}
	return true
}

// begin counts one more goroutine that Close has to wait for; false if there is to be none any more. It is for those who
// hold mu.
func (s *span) begin() bool {
	if s.closed {
		return false
	}
	s.work.Add(1)
	return true
}

// tell passes on what belongs to no call.
func (s *span) tell(in wire.Incoming) {
	if s.hear == nil {
		return
	}
	s.hearMu.Lock()
	defer s.hearMu.Unlock()
	s.hear(in)
}

// Link returns the link beneath, nil before Attach: for one who speaks the server's own era with it.
func (s *span) Link() wire.Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link
}

// Done implements wire.Link.
func (s *span) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil {
		return s.closing
	}
	return s.link.Done()
}

// shut lets nothing begin any more.
func (s *span) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
}

// end closes the link beneath, after shut, and waits for all that the adapter began.
func (s *span) end() error {
	var err error
	if link := s.Link(); link != nil {
		err = link.Close()
	}
	s.courier.wait()
	s.work.Wait()
	return err
}

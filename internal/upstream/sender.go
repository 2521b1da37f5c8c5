package upstream

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"sallyport/internal/wire"
)

// A sender writes lines to a server, whole and in order, and waits for nobody: what the pipe does not take at once is
// written later, by a goroutine that is there only as long as it is needed. What waits is bounded by those who wait for
// it: each parcel but the link's own belongs to a call, which may withdraw it while none of it has been written.
type sender struct {
	file   *os.File
	raw    syscall.RawConn
	broken chan struct{} // closed once nothing can be written any more
	shut   sync.Once     // closes file
	wait   sync.WaitGroup

	mu       sync.Mutex // guards what follows, and progress in the parcels
	queue    []*parcel  // in order; of the first one a part may have been written
	draining bool       // somebody writes what waits, or is about to: a put, or the goroutine
	closing  bool       // no more comes
	err      error      // why nothing can be written any more
	own      int        // bytes in parcels of the link's own that wait
	joined   []byte     // room for short lines and their ends
}

// parcel is a line on its way.
type parcel struct {
	line    []byte        // without its end
	own     bool          // nobody waits for it
	written chan struct{} // closed when all of it has been written; nil if nobody wants to know
	sent    int           // bytes that have been written, the line's end counted
}

// progress is how much of a parcel has been written.
type progress int

const (
	none progress = iota
	some
	all
)

// maxOwn is how many bytes of the link's own may wait. A server that asks without reading the answers gets no more.
const maxOwn = 64 << 10

var (
	errClosing = errors.New("the conversation is being closed")
	errTooMany = errors.New("the server asks much and reads nothing")
)

func newSender(file *os.File) (*sender, error) {
	raw, err := file.SyscallConn()
	return &sender{file: file, raw: raw, broken: make(chan struct{})}, err
}

// put sends p, as far as that is possible without waiting, and leaves the rest to be sent. An error says that nothing
// was sent and nothing will be.
func (s *sender) put(p *parcel) error {
	p.line = wire.OneLine(p.line)
	s.mu.Lock()
	switch {
	case s.err != nil:
		defer s.mu.Unlock()
		return s.err
	case s.closing:
		defer s.mu.Unlock()
		return errClosing
	case p.own && s.own+len(p.line) > maxOwn:
		defer s.mu.Unlock()
		return errTooMany
	case p.own:
		s.own += len(p.line)
	}
	s.queue = append(s.queue, p)
	lead := !s.draining
	s.draining = true
	s.mu.Unlock()
	if lead {
		runtime.Gosched() // others that are ready may have something to send as well: all of it costs one write
		s.flush()
	}
	return nil
}

// flush writes what waits, as far as the pipe takes it at once, and leaves the rest to the goroutine.
func (s *sender) flush() {
	s.mu.Lock()
	if s.writeNow() {
		s.draining = false
	} else {
		s.wait.Go(s.drain)
	}
	over := s.err != nil || s.closing && !s.draining
	s.mu.Unlock()
	if over {
		s.finish()
	}
}

// withdraw takes p out unless some of it has been written, and says how much has.
func (s *sender) withdraw(p *parcel) progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := p.progress()
	if state == none {
		s.queue = slices.DeleteFunc(s.queue, func(q *parcel) bool { return q == p })
	}
	return state
}

// progress tells how much of p has been written.
func (s *sender) progress(p *parcel) progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.progress()
}

func (p *parcel) progress() progress {
	switch {
	case p.sent == 0:
		return none
	case p.sent <= len(p.line):
		return some
	}
	return all
}

// close lets what waits be written, and then closes the pipe. It does not wait for that.
func (s *sender) close() {
	s.mu.Lock()
	s.closing = true
	idle := !s.draining
	s.mu.Unlock()
	if idle {
		s.finish()
	}
}

// abandon closes the pipe at once.
func (s *sender) abandon(why error) {
	s.mu.Lock()
	s.fail(why)
	s.mu.Unlock()
	s.finish()
}

// finish closes the pipe. mu must not be held: closing waits for whoever uses the file.
func (s *sender) finish() {
	s.shut.Do(func() { s.file.Close() }) // nothing could be done about an error
}

// fail notes that nothing can be written any more; mu is held.
func (s *sender) fail(err error) {
	if s.err == nil {
		s.err = err
		s.queue = nil
		close(s.broken)
	}
}

// wrote notes that n more bytes of what waits have been written; mu is held.
func (s *sender) wrote(n int) {
	for n > 0 && len(s.queue) > 0 {
		p := s.queue[0]
		part := min(n, len(p.line)+len("\n")-p.sent)
		p.sent += part
		n -= part
		if p.progress() == all {
			s.sent(p)
		}
	}
}

// sent takes out the first parcel, of which all has been written; mu is held.
func (s *sender) sent(p *parcel) {
	s.queue[0] = nil
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		s.queue = nil
	}
	if p.own {
		s.own -= len(p.line)
	}
	if p.written != nil {
		close(p.written)
	}
}

// rest returns what is to be written next: of the first parcel, and where that is short of those behind it too; mu is
// held. The room for that is not on the stack, which each call that waits would keep.
func (s *sender) rest() []byte {
	const room = 16 << 10
	p := s.queue[0]
	if p.sent < len(p.line) && len(p.line) >= room {
		return p.line[p.sent:]
	}
	if s.joined == nil {
		s.joined = make([]byte, 0, room)
	}
	text := append(append(s.joined[:0], p.line[p.sent:]...), '\n')
	for _, p := range s.queue[1:] {
		if len(text)+len(p.line)+len("\n") > room {
			break
		}
		text = append(append(text, p.line...), '\n')
	}
	return text
}

//go:build unix

package upstream

import (
	"errors"
	"fmt"
	"syscall"

	"sallyport/internal/wire"
)

// writeNow writes what the pipe takes, and reports whether nothing is left to be written; mu is held, and nobody else
// writes.
func (s *sender) writeNow() bool {
	done := false
	if err := s.raw.Write(func(fd uintptr) bool { done = s.writeSome(fd); return true }); err != nil {
		s.fail(err)
		return true
	}
	return done
}

// drain writes what waits, until nothing does.
func (s *sender) drain() {
	err := s.raw.Write(func(fd uintptr) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		done := s.writeSome(fd)
		s.draining = !done
		return done
	})
	s.mu.Lock()
	if err != nil {
		s.fail(err)
		s.draining = false
	}
	over := s.err != nil || s.closing && len(s.queue) == 0 && !s.draining
	s.mu.Unlock()
	if over {
		s.finish()
	}
}

// writeSome writes until the pipe is full or there is nothing left to be written, which it reports; mu is held. The pipe
// does not block.
func (s *sender) writeSome(fd uintptr) bool {
	for len(s.queue) > 0 {
		n, err := wire.WritePipe(fd, s.rest())
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return false
		case err != nil:
			s.fail(fmt.Errorf("writing to the server: %w", err))
			return true
		default:
			s.wrote(n)
		}
	}
	return true
}

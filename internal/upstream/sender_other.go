//go:build !unix

package upstream

import "fmt"

// writeNow writes nothing: a write may block here, and so is left to drain.
func (s *sender) writeNow() bool { return false }

// drain writes what waits, until nothing does. A parcel counts as begun before its write is.
func (s *sender) drain() {
	for {
		s.mu.Lock()
		if s.err != nil || len(s.queue) == 0 {
			s.draining = false
			over := s.err != nil || s.closing
			s.mu.Unlock()
			if over {
				s.finish()
			}
			return
		}
		text := append(append([]byte(nil), s.queue[0].line...), '\n')
		s.queue[0].sent = 1
		s.mu.Unlock()
		_, err := s.file.Write(text)
		s.mu.Lock()
		if err != nil {
			s.fail(fmt.Errorf("writing to the server: %w", err))
		} else if s.err == nil {
			s.wrote(len(text) - 1)
		}
		s.mu.Unlock()
	}
}

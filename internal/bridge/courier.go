package bridge

import (
	"context"
	"log/slog"
	"sync"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// maxErrands is how much may wait to be sent on our own account.
const maxErrands = 4096

// courier sends what may not be waited for: those who hear of something must not stand still. It keeps the order. Its
// zero value is ready; it has a goroutine only while there is something to send.
type courier struct {
	mu      sync.Mutex // guards what follows
	waiting []func()
	running bool
	full    bool // since it last had nothing to do
	done    sync.WaitGroup
}

// post lets errand be run after all that were posted before. If too many wait already it is dropped; dropping is true
// where that has just begun.
func (c *courier) post(errand func()) (dropping bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) >= maxErrands {
		dropping, c.full = !c.full, true
		return dropping
	}
	c.waiting = append(c.waiting, errand)
	if !c.running {
		c.running = true
		c.done.Add(1)
		go c.run()
	}
	return false
}

func (c *courier) run() {
	defer c.done.Done()
	for {
		c.mu.Lock()
		if len(c.waiting) == 0 {
			c.running, c.full = false, false
			c.waiting = nil
			c.mu.Unlock()
			return
		}
		errand := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.mu.Unlock()
		errand()
	}
}

// wait returns when all errands are done.
func (c *courier) wait() { c.done.Wait() }

// send sends a line on our own account, later.
func (s *span) send(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendLocked(line)
}

// sendLocked is send for those who hold mu.
func (s *span) sendLocked(line []byte) {
	if s.closed || s.link == nil {
		return
	}
	link := s.link
	dropping := s.courier.post(func() {
		ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
		defer cancel()
		if err := link.Send(ctx, line); err != nil && !ended(link) {
			s.opt.Log.Warn("could not answer a server", slog.Any("error", err))
		}
	})
	if dropping {
		s.opt.Log.Warn("a server asks faster than it can be answered: answers are dropped")
	}
}

// refuse answers a request of the server's with an error.
func (s *span) refuse(id canon.Value, code int, why string) {
	s.send(faultLine(id, &wire.Error{Code: code, Message: why}))
}

// ended reports whether a conversation is over.
func ended(link wire.Link) bool {
	select {
	case <-link.Done():
		return true
	default:
		return false
	}
}

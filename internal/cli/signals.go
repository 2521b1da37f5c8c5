package cli

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signals are what operators tell a server: to end, and to load its policy again.
type signals struct {
	ready  chan struct{} // closed when they are heard
	hangup chan os.Signal
	stop   chan struct{}
	once   sync.Once
	wait   sync.WaitGroup
}

// hearSignals begins to listen: SIGINT and SIGTERM call end. That takes as long as all else at the
// start together, so it goes on beside it; heard waits for it.
func hearSignals(end func()) *signals {
	s := &signals{ready: make(chan struct{}), hangup: make(chan os.Signal, 1), stop: make(chan struct{})}
	s.wait.Go(func() {
		signal.Ignore(syscall.SIGPIPE) // a client that is gone must not take with it what runs
		signal.Notify(s.hangup, syscall.SIGHUP)
		term := make(chan os.Signal, 1)
		signal.Notify(term, os.Interrupt, syscall.SIGTERM)
		close(s.ready)
		defer signal.Stop(term)
		select {
		case <-term:
			end()
		case <-s.stop:
		}
	})
	return s
}

// heard returns when the process hears signals.
func (s *signals) heard() { <-s.ready }

// close ends the listening; no hangup comes any more. It may be called again.
func (s *signals) close() {
	s.once.Do(func() {
		close(s.stop)
		s.wait.Wait()
		signal.Stop(s.hangup)
		close(s.hangup)
	})
}

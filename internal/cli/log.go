package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// The bounds of a logWriter.
const (
	maxLogged = 256 << 10              // bytes that wait to be written
	lastWords = 500 * time.Millisecond // that close waits for a reader of the log
)

// logWriter is where a server's log goes. Whoever logs never waits: if nobody reads stderr, what is said beyond a bound is
// dropped, and how much that was is said once somebody reads again. A log must not be able to stop the gate.
type logWriter struct {
	out io.Writer

	mu      sync.Mutex // guards what follows
	waiting []byte
	dropped int           // lines
	idle    chan struct{} // closed when the goroutine that writes is done; nil if there is none
}

func newLogWriter(out io.Writer) *logWriter { return &logWriter{out: out} }

// Write takes one line of the log. It never fails.
func (l *logWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting)+len(line) > maxLogged {
		l.dropped++
		return len(line), nil
	}
	l.waiting = append(l.waiting, line...)
	if l.idle == nil {
		l.idle = make(chan struct{})
		go l.write(l.idle)
	}
	return len(line), nil
}

// write writes what waits, until nothing does.
func (l *logWriter) write(done chan struct{}) {
	defer close(done)
	for {
		l.mu.Lock()
		text := l.waiting
		l.waiting = nil
		if l.dropped > 0 {
			text = fmt.Appendf(text, "sallyport: %d lines of the log were dropped, since nobody read it\n", l.dropped)
			l.dropped = 0
		}
		if len(text) == 0 {
			l.idle = nil
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		l.out.Write(text) // there is nobody to tell of an error
	}
}

// close gives what waits a moment to be written.
func (l *logWriter) close() {
	l.mu.Lock()
	idle := l.idle
	l.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-time.After(lastWords):
	}
}

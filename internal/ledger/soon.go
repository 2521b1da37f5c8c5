package ledger

import (
	"errors"
	"sync"
	"time"

	"sallyport/internal/durable"
)

const (
	// soonWait is how long a record of AppendSoon waits for others. What is left of the ten milliseconds is for the disk.
	soonWait = 5 * time.Millisecond

	// mostSoon is how many records may wait; whoever brings one more makes all of them durable first.
	mostSoon = 1024
)

// soon are the records that were promised and are not durable yet.
type soon struct {
	flushing sync.Mutex // held while records are being made durable: one batch at a time, in order

	mu      sync.Mutex // guards the fields below
	waiting []promised
	timer   *time.Timer // nil until it is first needed
	armed   bool        // the timer runs, or flush is about to
	behind  error       // not nil: what waits could not be written, and nothing is taken until it is
	closed  bool
}

// promised is a record that was taken, and whom to tell if it is lost.
type promised struct {
	entry
	lost func(error)
}

// AppendSoon takes a record that becomes durable within 10 ms, if the disk syncs within half of that. Where it is taken and
// cannot be written then, lost is told, and the ledger takes nothing more, by whatever method, until it could; after a
// sync that failed, nothing for good. A crash may lose what is not durable yet. An error says that nobody may build upon
// the record. lost must not call the ledger.
func (l *Ledger) AppendSoon(r *Record, lost func(error)) error {
	if err := l.Refuses(); err != nil {
		return err
	}
	s := &l.soon
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errors.New("the ledger is closed")
	}
	s.waiting = append(s.waiting, promised{r.encode(), lost})
	full := len(s.waiting) >= mostSoon
	if !s.armed {
		s.armed = true
		if s.timer == nil {
			s.timer = time.AfterFunc(soonWait, func() { l.flush() })
		} else {
			s.timer.Reset(soonWait)
		}
	}
	s.mu.Unlock()
	if full {
		return l.flush()
	}
	return nil
}

// Refuses reports why no record can be taken, as far as that is known without a look at the file; nil if one can. Records that
// were promised go before all others.
func (l *Ledger) Refuses() error {
	if l.refusal != nil {
		return l.refusal
	}
	l.soon.mu.Lock()
	behind := l.soon.behind
	l.soon.mu.Unlock()
	if behind == nil {
		return nil
	}
	return l.flush()
}

// flush makes durable what waits. It needs no goroutine of its own while nothing does: the timer starts one.
func (l *Ledger) flush() error {
	s := &l.soon
	s.flushing.Lock()
	defer s.flushing.Unlock()
	s.mu.Lock()
	batch := s.waiting
	s.waiting, s.armed = nil, false
	s.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	_, err := l.log.AppendNoting(l.lines(batch), func() {}) // nobody waits: other calls go on meanwhile
	if err != nil {
		tell(batch, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behind = err
	if err != nil {
		s.waiting = append(batch, s.waiting...)
	}
	return err
}

// lines makes the lines of several records.
func (l *Ledger) lines(batch []promised) durable.Line[hash] {
	return func(dst []byte, prev *hash) []byte {
		for _, p := range batch {
			dst, *prev = p.appendTo(dst, *prev, l.now().UnixNano())
		}
		return dst
	}
}

// tell tells once for each record that it is not where it should be by now.
func tell(batch []promised, err error) {
	for i := range batch {
		if lost := batch[i].lost; lost != nil {
			batch[i].lost = nil
			lost(err)
		}
	}
}

// stopFlushing makes durable what waits, waits for a flush that runs, and lets none begin after.
func (l *Ledger) stopFlushing() error {
	s := &l.soon
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	return l.flush()
}

package upstream

import (
	"log/slog"
	"sync"
	"time"
)

// noise is a log that a server cannot flood: of each message one a second is written, and how many were not.
type noise struct {
	log *slog.Logger

	mu   sync.Mutex // guards what follows
	last map[string]*muted
}

// muted is what is known of one message.
type muted struct {
	at   time.Time // when it was written last
	more int       // how often it was not, since
}

func newNoise(log *slog.Logger, server string) *noise {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &noise{log: log.With("server", server), last: map[string]*muted{}}
}

// warn writes message, which must be a constant, unless it was written less than a second ago.
func (n *noise) warn(message string, attributes ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.last[message]
	if m == nil {
		m = &muted{}
		n.last[message] = m
	}
	now := time.Now()
	if now.Sub(m.at) < time.Second {
		m.more++
		return
	}
	if m.more > 0 {
		attributes = append(attributes, "unsaid_before", m.more)
	}
	m.at, m.more = now, 0
	n.log.Warn(message, attributes...)
}

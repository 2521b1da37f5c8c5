package bridge

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// levels are the levels of log messages, the least grave one first (MCP, server/utilities/logging).
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// noLevel is graver than all levels: no message has it.
const noLevel = 8

// levelTimeout is how long a request waits for the server to take its log level.
const levelTimeout = 5 * time.Second

// levelNamed returns the level that v names, noLevel if it names none.
func levelNamed(v canon.Value) int {
	name, _ := v.Text()
	if i := slices.Index(levels, name); i >= 0 {
		return i
	}
	return noLevel
}

// setLevel lets the server log what a request asks for. A legacy server has one level for the whole conversation, so it
// is only ever made less grave; what that brings others is dropped again.
func (m *Modern) setLevel(ctx context.Context, link wire.Link, wanted int) {
	m.mu.Lock()
	able := m.about.logging
	m.mu.Unlock()
	if !able || wanted == noLevel {
		return
	}
	select {
	case m.setting <- struct{}{}:
		defer func() { <-m.setting }()
	case <-ctx.Done():
		return
	}
	if wanted >= m.level {
		return
	}
	params := []byte(`{"level":"` + levels[wanted] + `"}`)
	limited, cancel := context.WithTimeout(ctx, levelTimeout)
	defer cancel()
	_, err := link.Call(limited, outgoing(requestLine(newID(), "logging/setLevel", params), "logging/setLevel", wire.Legacy))
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		m.opt.Log.Warn("could not set a server's log level", slog.Any("error", err))
	}
	m.level = wanted // also where it failed: not every request is to wait for that
}

// logs reports whether a request that asked for messages from level on is to have this one. A level that is none of the
// protocol's is taken to be grave.
func logs(level int, message wire.Incoming) bool {
	if level == noLevel {
		return false
	}
	said := levelNamed(message.Params.Get("level"))
	return said >= level
}

package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/policy"
)

// serversDir is where, in the ledger's folder, each living server keeps a file about itself. The
// file is locked for as long as the server lives, so that a dead one cannot look alive.
const serversDir = "servers"

// presence is a server's file about itself. It is for people, so a failure to write it is logged
// and stops nothing.
type presence struct {
	log     *slog.Logger
	name    string
	started time.Time
	file    durable.File // nil: it could not be made
}

// staleness says why a server goes on with an old policy; the zero value says that it does not.
type staleness struct {
	err   string
	since time.Time
}

func announce(dir string, p *policy.Policy, log *slog.Logger) *presence {
	s := &presence{log: log, started: time.Now()}
	dir = filepath.Join(dir, serversDir)
	err := durable.OS.OwnDir(dir)
	if err == nil {
		s.name, s.file, err = durable.CreateLocked(durable.OS, dir, fmt.Sprintf("%d-", os.Getpid()), ".json")
	}
	if err != nil {
		s.failed(err)
		return s
	}
	s.tell(p, staleness{})
	return s
}

func (s *presence) failed(err error) {
	s.log.Error("sallyport status will not know of this server: its file could not be written", "error", err)
}

// tell writes which policy decides now.
func (s *presence) tell(p *policy.Policy, stale staleness) {
	if s.file == nil {
		return
	}
	b := fmt.Appendf(nil, `{"pid":%d,"policy":{"digest":"%s","name":`, os.Getpid(), p.Digest())
	b = canon.AppendString(b, p.Name())
	b = fmt.Appendf(b, `,"version":%d},`, p.Version())
	if stale.err != "" {
		b = canon.AppendString(append(b, `"stale":{"error":`...), stale.err)
		b = fmt.Appendf(b, `,"since":%d},`, stale.since.UnixNano())
	}
	b = fmt.Appendf(b, `"started":%d,"version":"%s"}`, s.started.UnixNano(), Version)
	err := s.file.Truncate(0)
	if err == nil {
		_, err = s.file.WriteAt(b, 0)
	}
	if err != nil {
		s.failed(err)
	}
}

func (s *presence) leave() {
	if s.file == nil {
		return
	}
	if err := errors.Join(durable.OS.Remove(s.name), s.file.Close()); err != nil {
		s.log.Error("the server's own file could not be removed", "error", err)
	}
}

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/policy"
)

// serversDir is where, in the ledger's folder, each living server keeps a file about itself. The
// file is locked for as long as the server lives, so that a dead one cannot look alive.
const serversDir = "servers"

// presence is a server's file about itself.
type presence struct {
	name    string
	started time.Time

	mu   sync.Mutex // guards file
	file durable.File
}

// staleness says why a server goes on with an old policy; the zero value says that it does not.
type staleness struct {
	err   string
	since time.Time
}

func announce(dir string, p *policy.Policy) (*presence, error) {
	servers := filepath.Join(dir, serversDir)
	if err := durable.OS.MkdirAll(servers); err != nil {
		return nil, err
	}
	name := filepath.Join(servers, fmt.Sprintf("%d-%s.json", os.Getpid(), durable.RandomID()))
	file, err := durable.OS.Create(name)
	if err != nil {
		return nil, err
	}
	if _, err := file.TryLock(); err != nil && !errors.Is(err, durable.ErrUnsupported) {
		return nil, errors.Join(err, file.Close(), durable.OS.Remove(name))
	}
	s := &presence{name: name, started: time.Now(), file: file}
	return s, s.tell(p, staleness{})
}

// tell writes which policy decides now.
func (s *presence) tell(p *policy.Policy, stale staleness) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := fmt.Appendf(nil, `{"pid":%d,"policy":{"digest":"%s","name":`, os.Getpid(), p.Digest())
	b = canon.AppendString(b, p.Name())
	b = fmt.Appendf(b, `,"version":%d},`, p.Version())
	if stale.err != "" {
		b = canon.AppendString(append(b, `"stale":{"error":`...), stale.err)
		b = fmt.Appendf(b, `,"since":%d},`, stale.since.UnixNano())
	}
	b = fmt.Appendf(b, `"started":%d,"version":"%s"}`, s.started.UnixNano(), Version)
	if err := s.file.Truncate(0); err != nil {
		return err
	}
	_, err := s.file.WriteAt(b, 0)
	return err
}

func (s *presence) leave() error {
	return errors.Join(durable.OS.Remove(s.name), s.file.Close())
}

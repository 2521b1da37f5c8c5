package cli

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"sallyport/internal/durable"
	"sallyport/internal/policy"
)

// TestStatusBesideAServerThatStarts finds a server's file before anything is in it, as on a busy machine.
func TestStatusBesideAServerThatStarts(t *testing.T) {
	dir := t.TempDir()
	if err := durable.OS.OwnDir(filepath.Join(dir, serversDir)); err != nil {
		t.Fatal(err)
	}
	name, file, err := durable.CreateLocked(durable.OS, filepath.Join(dir, serversDir), "4711-", ".json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("policy.json", []byte(fullPolicy))
	if err != nil {
		t.Fatal(err)
	}
	s := &presence{log: slog.New(slog.DiscardHandler), name: name, started: time.Now(), file: file}
	defer s.leave()
	time.AfterFunc(300*time.Millisecond, func() { s.tell(p, staleness{}) })
	if servers, err := living(dir); err != nil || len(servers) != 1 || servers[0].digest != p.Digest() {
		t.Errorf("the living are %+v, %v", servers, err)
	}
}

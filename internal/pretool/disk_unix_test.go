//go:build unix

package pretool

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestPipesHangNobody puts a pipe without a writer in the place of each file that is read.
func TestPipesHangNobody(t *testing.T) {
	s := sessionsAt(t.TempDir(), at)
	places := []string{
		filepath.Join(s.dir, ".current-session.json"), filepath.Join(s.dir, "logs", "session-progress.json"), s.traceFile("S"),
		s.flagPlaces("S", checkpoint)[0], s.flagPlaces("S", taskBreakdown)[0], s.flagPlaces("S", skillSelection)[1],
	}
	for _, name := range places {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if id := s.Current(); id != "" {
			t.Errorf("session %q", id)
		}
		if s.trace("S").found {
			t.Error("a trace was found")
		}
		if !s.flag("S", checkpoint).pending {
			t.Error("a checkpoint that is a pipe does not count as pending")
		}
		if s.flag("S", taskBreakdown).pending || s.flag("S", skillSelection).pending {
			t.Error("a pipe counts as a flag")
		}
		if hasMoreLines(places[0], 0) {
			t.Error("a pipe has lines")
		}
		if cleared, err := s.reset("S", FlagNames); err != nil || len(cleared) != 3 {
			t.Errorf("reset cleared %v, error %v; want all three", cleared, err)
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it hangs")
	}
}

func TestFilesWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	s := sessionsAt(t.TempDir(), at)
	name := s.flagPlaces("S", checkpoint)[0]
	writeFile(t, name, "{}")
	if err := os.Chmod(name, 0); err != nil {
		t.Fatal(err)
	}
	if !s.flag("S", checkpoint).pending {
		t.Error("a checkpoint that may not be read does not count as pending")
	}
}

// TestExpiredLinkIsNotFollowed deletes the link, not what it leads to.
func TestExpiredLinkIsNotFollowed(t *testing.T) {
	s := sessionsAt(t.TempDir(), at)
	target := filepath.Join(t.TempDir(), "target.json")
	writeFile(t, target, `{"created_at":"2001-01-01"}`)
	name := s.flagPlaces("S", checkpoint)[0]
	for _, access := range []func(){func() { s.flag("S", checkpoint) }, func() { s.reset("S", FlagNames) }} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
		access()
		if _, err := os.Lstat(name); err == nil {
			t.Error("the link is still there")
		}
		if _, err := os.Stat(target); err != nil {
			t.Fatal("the target is gone")
		}
	}
}

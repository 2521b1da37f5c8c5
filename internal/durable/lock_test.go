package durable

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// TestStoppedPeerDoesNotStopUsForEver holds the lock as a peer would that was stopped (SIGSTOP).
func TestStoppedPeerDoesNotStopUsForEver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := OpenLog(OS, path, Format[struct{}]{Next: func(*struct{}, []byte) (struct{}, error) { return struct{}{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	log.lockWait = 50 * time.Millisecond
	peer, err := OS.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if locked, err := peer.TryLock(); err != nil || !locked {
		t.Fatalf("TryLock: %v, %v", locked, err)
	}
	line := func(dst []byte, _ *struct{}) []byte { return append(dst, "line\n"...) }
	if _, err := log.Append(line); !errors.Is(err, ErrLocked) {
		t.Errorf("Append beside a stopped peer: %v, want ErrLocked", err)
	}
	if err := peer.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(line); err != nil {
		t.Errorf("Append after the peer went on: %v", err)
	}
}

// TestByteLocksExcludeOtherOpenFiles holds them to what a claim needs: one holder among
// processes, and no loss when another part of this process closes the same file.
func TestByteLocksExcludeOtherOpenFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locks")
	ours, err := OS.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := OS.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	const far = 1 << 61
	try := func(f File, offset int64, want bool) {
		t.Helper()
		if got, err := f.TryLockByte(offset); err != nil || got != want {
			t.Errorf("TryLockByte(%d) = %v, %v, want %v", offset, got, err, want)
		}
	}
	try(ours, far, true)
	try(theirs, far, false)
	try(theirs, far+1, true)
	if third, err := OS.Open(path); err != nil {
		t.Fatal(err)
	} else if err := third.Close(); err != nil {
		t.Fatal(err)
	}
	try(theirs, far, false)
	if err := ours.UnlockByte(far); err != nil {
		t.Fatal(err)
	}
	try(theirs, far, true)
	try(ours, far, false)
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	try(ours, far, true)
}

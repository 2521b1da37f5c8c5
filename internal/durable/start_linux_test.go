package durable

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// TestStartSync syncs many files at once, again and again, by the kernel's own means and without them.
func TestStartSync(t *testing.T) {
	for name, none := range map[string]error{"by the kernel": nil, "by goroutines": syscall.EPERM} {
		t.Run(name, func(t *testing.T) {
			without(t, none)
			var all sync.WaitGroup
			for range 20 {
				f, err := os.Create(filepath.Join(t.TempDir(), "file"))
				if err != nil {
					t.Fatal(err)
				}
				all.Go(func() {
					defer f.Close()
					for n := range int64(50) {
						if _, err := f.WriteAt([]byte("x"), n); err != nil {
							t.Error(err)
						}
						if err := (osFile{f}).StartSync()(); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			if (none == nil) != (len(syncers.idle) > 0) {
				t.Errorf("%d syncs of the kernel's were used, refused %v", len(syncers.idle), none)
			}
		})
	}
}

// TestStartSyncSaysWhatFailed gives it files that cannot be synced.
func TestStartSyncSaysWhatFailed(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	closed, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for want, f := range map[error]*os.File{syscall.EINVAL: w, syscall.EBADF: closed} {
		without(t, nil)
		if err := (osFile{f}).StartSync()(); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if len(syncers.idle) != 1 {
			t.Errorf("%d places to sync are left of one", len(syncers.idle))
		}
	}
	if err := (&ioEvent{result: -int64(syscall.EIO)}).err(); !errors.Is(err, syscall.EIO) {
		t.Errorf("an event that says EIO: %v", err)
	}
	if err := (&ioEvent{}).err(); err != nil {
		t.Errorf("an event that says nothing: %v", err)
	}
}

// without has there be no syncs by the kernel for the time of a test, if none is not nil, and forgets those that there were.
func without(t *testing.T, none error) {
	syncers.Lock()
	defer syncers.Unlock()
	syncers.idle, syncers.none = nil, none
	t.Cleanup(func() { syncers.idle, syncers.none = nil, nil })
}

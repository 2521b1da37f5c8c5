package durable_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"path/filepath"

	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
)

func TestPublishNeverReplaces(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, path string) {
		dir := filepath.Dir(path)
		var wg sync.WaitGroup
		var won atomic.Int32
		for i := range 8 {
			wg.Go(func() {
				err := durable.Publish(fsys, dir, "name", fmt.Appendf(nil, "data %d", i), nil)
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, durable.ErrExists):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%d of 8 published, want 1", won.Load())
		}
		names, err := fsys.Names(dir)
		if err != nil || len(names) != 1 || names[0] != "name" {
			t.Errorf("the folder holds %q, %v", names, err)
		}
		if got := content(t, fsys, filepath.Join(dir, "name")); !strings.HasPrefix(got, "data ") {
			t.Errorf("content %q", got)
		}
	})
}

func TestPublishSaysWhatItDoesNotKnow(t *testing.T) {
	for _, test := range []struct {
		op        crashfs.Op
		uncertain bool
	}{
		{crashfs.Create, false}, {crashfs.Write, false}, {crashfs.Sync, false}, {crashfs.Link, false}, {crashfs.SyncDir, true},
	} {
		fs := crashfs.New()
		fs.OwnDir("d")
		fired := failing(fs, test.op, 1, syscall.EIO)
		err := durable.Publish(fs, "d", "name", []byte("data"), nil)
		if *fired != 1 || !errors.Is(err, syscall.EIO) {
			t.Errorf("%s fails: %v after %d faults", test.op, err, *fired)
		}
		if got := errors.Is(err, durable.ErrUncertain); got != test.uncertain {
			t.Errorf("%s fails: uncertain %v, want %v", test.op, got, test.uncertain)
		}
		names, _ := fs.Names("d")
		if published := len(names) > 0; published && !test.uncertain {
			t.Errorf("%s fails: the folder holds %q", test.op, names)
		}
	}
}

func TestPublishStopsForItsHook(t *testing.T) {
	fs := crashfs.New()
	fs.OwnDir("d")
	stop := errors.New("stop")
	err := durable.Publish(fs, "d", "name", []byte("data"), func() error {
		if names, _ := fs.Names("d"); len(names) != 1 || !strings.HasPrefix(names[0], ".tmp-") {
			t.Errorf("in the hook the folder holds %q", names)
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Errorf("Publish: %v, want the hook's error", err)
	}
	if names, _ := fs.Names("d"); len(names) != 0 {
		t.Errorf("afterwards the folder holds %q", names)
	}
}

func TestSweepTakesTheDeadOnly(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, path string) {
		dir := filepath.Dir(path)
		dead, err := fsys.Create(filepath.Join(dir, ".tmp-dead"))
		if err != nil {
			t.Fatal(err)
		}
		dead.Close()
		if f, err := fsys.Create(filepath.Join(dir, "other")); err != nil {
			t.Fatal(err)
		} else {
			f.Close()
		}
		err = durable.Publish(fsys, dir, "name", []byte("data"), func() error { return durable.Sweep(fsys, dir) })
		if err != nil {
			t.Errorf("a sweep took a living writer's file: %v", err)
		}
		names, err := fsys.Names(dir)
		if got := strings.Join(names, " "); err != nil || got != "name other" {
			t.Errorf("the folder holds %q, %v", got, err)
		}
	})
}

// TestSweepAndPublishRace has sweepers run without a pause while others publish.
func TestSweepAndPublishRace(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, path string) {
		dir := filepath.Dir(path)
		done := make(chan struct{})
		var sweepers, writers sync.WaitGroup
		for range 2 {
			sweepers.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					if err := durable.Sweep(fsys, dir); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for w := range 4 {
			writers.Go(func() {
				for i := range 25 {
					if err := durable.Publish(fsys, dir, fmt.Sprintf("%d-%d", w, i), []byte("data"), nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		close(done)
		sweepers.Wait()
		if names, err := fsys.Names(dir); err != nil || len(names) != 100 {
			t.Errorf("%d files, %v, want 100", len(names), err)
		}
	})
}

package interlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sallyport/internal/durable"
)

// start is a whole second, so that what is left to wait is easy to read.
var start = time.Unix(1_800_000_000, 0)

// TestTake follows a limit of 6 calls a minute, 2 at once, through a few minutes.
func TestTake(t *testing.T) {
	limits := OpenLimits(durable.OS, filepath.Join(t.TempDir(), "limits"))
	limit := []Limit{{Name: "tea", Calls: 6, Per: time.Minute, Burst: 2}}
	for _, step := range []struct {
		at   time.Duration
		wait time.Duration // 0: there is a token
	}{
		{0, 0}, {0, 0}, {0, 10 * time.Second}, {4 * time.Second, 6 * time.Second}, {10 * time.Second, 0},
		{10 * time.Second, 10 * time.Second}, {29 * time.Second, 0}, {30 * time.Second, 0}, {30 * time.Second, 10 * time.Second},
		{time.Hour, 0}, {time.Hour, 0}, {time.Hour, 10 * time.Second},
		{59 * time.Minute, 10 * time.Second},                // the clock was set back: no longer than the bucket takes to fill
		{59*time.Minute + 20*time.Second, 10 * time.Second}, // and it did not fill meanwhile
		{time.Hour + 10*time.Second, 0}, {2 * time.Hour, 0}, {2 * time.Hour, 0},
	} {
		refused, err := limits.Take(start.Add(step.at), limit)
		if err != nil {
			t.Fatal(err)
		}
		got := time.Duration(0)
		if refused != nil {
			got = refused.Wait
		}
		if got != step.wait {
			t.Errorf("after %v: wait %v, want %v", step.at, got, step.wait)
		}
	}
}

// TestTakeIsAllOrNothing takes no token of one limit where another has none left.
func TestTakeIsAllOrNothing(t *testing.T) {
	limits := OpenLimits(durable.OS, t.TempDir())
	wide := Limit{Name: "wide", Calls: 2, Per: time.Hour, Burst: 2}
	narrow := Limit{Name: "narrow", Calls: 1, Per: time.Hour, Burst: 1}
	take := func(want string, of ...Limit) {
		t.Helper()
		refused, err := limits.Take(start, of)
		got := ""
		if refused != nil {
			got = refused.Name
		}
		if err != nil || got != want {
			t.Errorf("refused by %q, %v, want %q", got, err, want)
		}
	}
	take("", narrow)
	take("narrow", wide, narrow)
	take("narrow", narrow, wide)
	take("", wide)
	take("", wide)
	take("wide", wide)
	take("")
}

// TestLimitOfNothing allows nothing, and a burst that is not given is one call.
func TestLimitOfNothing(t *testing.T) {
	limits := OpenLimits(durable.OS, t.TempDir())
	for i, limit := range []Limit{{}, {Calls: 1}, {Per: time.Second}, {Calls: -1, Per: time.Second, Burst: 9}} {
		limit.Name = fmt.Sprint(i)
		if refused, err := limits.Take(start, []Limit{limit}); refused == nil || err != nil {
			t.Errorf("%+v: %v, %v", limit, refused, err)
		}
	}
	once := []Limit{{Name: "once", Calls: 10, Per: time.Second}}
	if refused, err := limits.Take(start, once); refused != nil || err != nil {
		t.Error(refused, err)
	}
	if refused, err := limits.Take(start, once); refused == nil || err != nil {
		t.Error("a second call at once was allowed", err)
	}
	huge := []Limit{{Name: "huge", Calls: 1, Per: 1 << 62, Burst: 1 << 40}}
	if refused, err := limits.Take(start, huge); refused != nil || err != nil {
		t.Error(refused, err)
	}
}

// TestTakeByManyAtOnce counts each call once, whoever makes it.
func TestTakeByManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	var taken atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		limits := OpenLimits(durable.OS, dir) // as processes have
		all.Go(func() {
			for range 20 {
				refused, err := limits.Take(start, []Limit{{Name: "tea", Calls: 50, Per: time.Hour, Burst: 50}})
				if err == nil && refused == nil {
					taken.Add(1)
				} else if err != nil && !errors.Is(err, durable.ErrLocked) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := taken.Load(); n != 50 {
		t.Errorf("%d calls were allowed, want 50", n)
	}
}

// TestCountThatCannotBeRead allows nothing.
func TestCountThatCannotBeRead(t *testing.T) {
	limit := []Limit{{Name: "tea", Calls: 9, Per: time.Hour, Burst: 9}}
	for _, bad := range []string{"x", "1800000000000000000", "180000000000000000\n", "1800000000000000000\n\n", "-800000000000000000\n", "18000000000000000.0\n", strings.Repeat("9", 19) + "\n"} {
		dir := t.TempDir()
		limits := OpenLimits(durable.OS, dir)
		if refused, err := limits.Take(start, limit); refused != nil || err != nil {
			t.Fatal(refused, err)
		}
		names, err := durable.OS.Names(dir)
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		if err := os.WriteFile(filepath.Join(dir, names[0]), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := limits.Take(start, limit); err == nil {
			t.Errorf("%q was taken for a count", bad)
		}
	}
	// An empty file is what a crash leaves before anything was counted.
	dir := t.TempDir()
	limits := OpenLimits(durable.OS, dir)
	if _, err := limits.Take(start, limit); err != nil {
		t.Fatal(err)
	}
	names, _ := durable.OS.Names(dir)
	if err := os.Truncate(filepath.Join(dir, names[0]), 0); err != nil {
		t.Fatal(err)
	}
	if refused, err := limits.Take(start, limit); refused != nil || err != nil {
		t.Error(refused, err)
	}
}

// TestTakeWaitsNotForEver gives up on a lock that somebody keeps.
func TestTakeWaitsNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		limits := OpenLimits(durable.OS, dir)
		limit := []Limit{{Name: "tea", Calls: 9, Per: time.Hour, Burst: 9}}
		if _, err := limits.Take(start, limit); err != nil {
			t.Fatal(err)
		}
		names, _ := durable.OS.Names(dir)
		f, err := durable.OS.Open(filepath.Join(dir, names[0]))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if locked, err := f.TryLock(); !locked || err != nil {
			t.Fatal(locked, err)
		}
		before := time.Now()
		if _, err := limits.Take(start, limit); !errors.Is(err, durable.ErrLocked) {
			t.Errorf("got %v, want ErrLocked", err)
		}
		if took := time.Since(before); took > 2*lockWait {
			t.Errorf("it took %v", took)
		}
	})
}

// TestFolderOfSomebodyElse is not counted in.
func TestFolderOfSomebodyElse(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLimits(durable.OS, dir).Take(start, []Limit{{Name: "tea", Calls: 1, Per: time.Hour}}); err == nil {
		t.Error("a folder that everybody can write to was used")
	}
}

package ledger

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
)

func openInMemory(t *testing.T) (*Ledger, *crashfs.FS) {
	t.Helper()
	disk := crashfs.New()
	disk.OwnDir("d")
	l, err := Open(disk, "d")
	if err != nil {
		t.Fatal(err)
	}
	return l, disk
}

func soonRecord(id string) *Record {
	return &Record{RequestID: id, Method: "tools/call", Name: "get", Decision: "allow", Outcome: Forwarded, Principal: "local"}
}

// onDisk returns how many records a power loss now would leave.
func onDisk(t *testing.T, disk *crashfs.FS) int64 {
	t.Helper()
	for crash := range disk.Crashes(disk.Changes()) {
		if crash.Kept != "everything lost" {
			continue
		}
		text, err := crash.FS.ReadFile("d/" + FileName)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Verify(strings.NewReader(string(text)))
		if err != nil || !v.OK {
			t.Fatalf("the ledger does not verify: %+v, %v", v, err)
		}
		return v.Records
	}
	// Where all is synced that scenario is the same disk as the first.
	text, _ := disk.ReadFile("d/" + FileName)
	return int64(strings.Count(string(text), "\n"))
}

func TestSoonIsWithinTenMilliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, disk := openInMemory(t)
		for i := range 3 {
			if err := l.AppendSoon(soonRecord(fmt.Sprint(i)), nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := onDisk(t, disk); got != 0 {
			t.Errorf("%d records are durable at once: there is nothing to measure here", got)
		}
		before := disk.Changes()
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		if got := onDisk(t, disk); got != 3 {
			t.Errorf("%d records are durable after 10 ms, want 3", got)
		}
		if writes := disk.Changes() - before; writes != 2 {
			t.Errorf("%d changes for one batch, want a write and a sync", writes)
		}
		// And again, by the same timer.
		if err := l.AppendSoon(soonRecord("later"), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		if got := onDisk(t, disk); got != 4 {
			t.Errorf("%d records are durable, want 4", got)
		}
		idle := disk.Changes()
		time.Sleep(time.Hour)
		synctest.Wait()
		if disk.Changes() != idle {
			t.Error("it works without work")
		}
	})
}

func TestCloseMakesSoonDurable(t *testing.T) {
	l, disk := openInMemory(t)
	if err := l.AppendSoon(soonRecord("a"), nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := onDisk(t, disk); got != 1 {
		t.Errorf("%d records are durable, want 1", got)
	}
	if err := l.AppendSoon(soonRecord("b"), nil); err == nil {
		t.Error("a closed ledger took a record")
	}
}

// TestLostSyncPoisons fails the sync of a batch whose calls were answered.
func TestLostSyncPoisons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, disk := openInMemory(t)
		failed := false
		disk.FailOn(func(op crashfs.Op, _ string, _ int) error {
			if op == crashfs.Sync && !failed {
				failed = true
				return syscall.EIO
			}
			return nil
		})
		var told atomic.Int32
		lost := func(err error) {
			told.Add(1)
			if !errors.Is(err, durable.ErrBroken) {
				t.Errorf("told %v", err)
			}
		}
		for _, id := range []string{"a", "b"} {
			if err := l.AppendSoon(soonRecord(id), lost); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if !failed || told.Load() != 2 {
			t.Fatalf("the sync failed: %v; %d callers were told, want 2", failed, told.Load())
		}
		if err := l.Append(soonRecord("c")); !errors.Is(err, durable.ErrBroken) {
			t.Errorf("Append after a lost batch: %v", err)
		}
		if err := l.AppendSoon(soonRecord("c"), nil); !errors.Is(err, durable.ErrBroken) {
			t.Errorf("AppendSoon after a lost batch: %v", err)
		}
		if err := l.Ready(); !errors.Is(err, durable.ErrBroken) {
			t.Errorf("Ready after a lost batch: %v", err)
		}
		if told.Load() != 2 {
			t.Errorf("told %d times, want once for each record", told.Load())
		}
	})
}

// TestFullDiskKeepsWhatWasPromised lets the disk be full for a while: nothing is taken meanwhile, and nothing is lost.
func TestFullDiskKeepsWhatWasPromised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, disk := openInMemory(t)
		full := true
		disk.FailOn(func(op crashfs.Op, _ string, _ int) error {
			if full && op == crashfs.Write {
				return syscall.ENOSPC
			}
			return nil
		})
		if err := l.AppendSoon(soonRecord("promised"), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		for name, err := range map[string]error{"Append": l.Append(soonRecord("x")), "AppendSoon": l.AppendSoon(soonRecord("x"), nil), "Ready": l.Ready()} {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s while a promise is not kept: %v", name, err)
			}
		}
		full = false
		if err := l.Append(soonRecord("after")); err != nil {
			t.Fatal(err)
		}
		text, _ := disk.ReadFile("d/" + FileName)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "promised") || !strings.Contains(lines[1], "after") {
			t.Errorf("the ledger holds %q", lines)
		}
	})
}

// TestSoonAndAppendTogether is for the race detector, and for a chain that stays whole.
func TestSoonAndAppendTogether(t *testing.T) {
	l, disk := openInMemory(t)
	var wg sync.WaitGroup
	const each, callers = 60, 8
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				add := l.Append
				if (i+c)%2 == 0 {
					add = func(r *Record) error { return l.AppendSoon(r, nil) }
				}
				if err := add(soonRecord("r")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := onDisk(t, disk); got != each*callers {
		t.Errorf("%d records, want %d", got, each*callers)
	}
}

// TestMoreThanMayWait shows that those who bring too much wait for the disk themselves.
func TestMoreThanMayWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, disk := openInMemory(t)
		for range mostSoon {
			if err := l.AppendSoon(soonRecord("r"), nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := onDisk(t, disk); got != mostSoon {
			t.Errorf("%d records are durable, want %d", got, mostSoon)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

package hook

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sallyport/internal/durable"
)

// TestSlowStdin speaks at the deadline, in every host's way, and records that.
func TestSlowStdin(t *testing.T) {
	for _, host := range Hosts() {
		t.Run(host, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlace(t, testPolicy)
				read, write := io.Pipe()
				go write.Write([]byte(`{"hook_event_name":`)) // and no more
				start := time.Now()
				r := p.run(Options{Host: host, Deadline: 250 * time.Millisecond}, System{Stdin: read})
				if took := time.Since(start); took < 750*time.Millisecond || took > 780*time.Millisecond {
					t.Errorf("it took %v", took)
				}
				want(t, "the outcome", outcome(t, host, r), "deny")
				if err := mustSpeak(host, r); err != nil {
					t.Error(err)
				}
				wantReason(t, r, "not there to its end within 750ms")
				want(t, "the record", strings.Join(p.records("host", "decision", "rule"), "; "), host+" deny deadline")
				write.Close() // lets the reader go, which says nothing any more
				synctest.Wait()
				want(t, "the record", strings.Join(p.records("host", "decision", "rule"), "; "), host+" deny deadline")
			})
		})
	}
}

// hold takes the lock on a ledger as another process would.
func (p testPlace) hold() durable.File {
	p.t.Helper()
	f, err := durable.OS.Open(p.ledgerFile())
	if err != nil {
		p.t.Fatal(err)
	}
	if locked, err := f.TryLock(); err != nil || !locked {
		p.t.Fatal("the ledger is locked by somebody else", err)
	}
	return f
}

// TestHeldLedger denies in time what cannot be recorded in time.
func TestHeldLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, testPolicy)
		p.call("Grep", "{}")
		lock := p.hold()
		start := time.Now()
		r := p.call("Grep", "{}")
		if took := time.Since(start); took < 20*time.Second || took > 20*time.Second+100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		want(t, "the outcome", outcome(t, "claude", r), "deny")
		wantReason(t, r, "could not be recorded in time", "lock", "rule ledger")
		lock.Close()
		time.Sleep(time.Second) // the process would be gone; here its late record and the correcting one come
		want(t, "the records", strings.Join(p.records("decision", "outcome", "rule", "corrects"), "; "),
			"allow permitted default; allow permitted default; deny not_executed deadline corrects")
	})
}

// TestLateRecordIsCorrected lets the lock go just after the deadline: the record that says allow is followed by one that
// says what the host was told, before the process ends.
func TestLateRecordIsCorrected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, testPolicy)
		p.call("Grep", "{}")
		lock := p.hold()
		go func() {
			time.Sleep(2010 * time.Millisecond)
			lock.Close()
		}()
		start := time.Now()
		r := p.run(Options{Deadline: 2 * time.Second}, System{Stdin: strings.NewReader(p.event("PreToolUse", "Grep", "{}"))})
		if took := time.Since(start); took < 2010*time.Millisecond || took >= 2100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		want(t, "the outcome", outcome(t, "claude", r), "deny")
		want(t, "the records", strings.Join(p.records("decision", "rule", "corrects"), "; "), "allow default; allow default; deny deadline corrects")
	})
}

// TestLedgerOfBestEffort allows without a record where the policy says so.
func TestLedgerOfBestEffort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, strings.Replace(testPolicy, `"default"`, `"ledger": "best_effort", "default"`, 1))
		p.call("Grep", "{}")
		lock := p.hold()
		want(t, "of an allowed call the outcome", outcome(t, "claude", p.call("Grep", "{}")), "none")
		want(t, "of a denied call the outcome", outcome(t, "claude", p.call("Write", "{}")), "deny")
		lock.Close()
		time.Sleep(time.Minute)
	})
}

// hangingDisk is a file system on which nothing goes on until it is let go.
type hangingDisk struct {
	durable.FS
	release chan struct{}
}

func (d hangingDisk) OwnDir(dir string) error {
	<-d.release
	return d.FS.OwnDir(dir)
}

// TestHangingDisk denies in time, and what is recorded once the disk goes on is what the host was told.
func TestHangingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, testPolicy)
		disk := hangingDisk{durable.OS, make(chan struct{})}
		start := time.Now()
		r := p.run(Options{Deadline: 250 * time.Millisecond}, System{FS: disk, Stdin: strings.NewReader(p.event("PreToolUse", "Grep", "{}"))})
		if took := time.Since(start); took != 275*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		want(t, "the outcome", outcome(t, "claude", r), "deny")
		close(disk.release)
		synctest.Wait()
		want(t, "the records", strings.Join(p.records("decision", "rule", "corrects"), "; "), "deny deadline")
	})
}

// TestOutcomeBesideAHeldLedger ends in time and in silence: the call has happened.
func TestOutcomeBesideAHeldLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, testPolicy)
		p.call("Grep", "{}")
		lock := p.hold()
		start := time.Now()
		r := p.run(Options{Deadline: 250 * time.Millisecond}, System{Stdin: strings.NewReader(p.event("PostToolUse", "Grep", "{}"))})
		if took := time.Since(start); took > 275*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if r.Code != 0 || len(r.Stdout)+len(r.Stderr) > 0 {
			t.Errorf("%+v", r)
		}
		lock.Close()
		time.Sleep(time.Minute)
	})
}

//go:build linux

package faults_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sallyport/internal/mutation"
)

// The matrices make every file call of a run fail, once each, in every way of faults, and then
// look at what the next process makes of what is left. Only a death before a call that changes
// nothing is left out: it leaves what a death before the next call leaves.

const earlierID, earlierText = "request-0", "acknowledged before anything went wrong"

// fault is a way in which a system call can go wrong.
type fault struct {
	name, inject string
	kills        bool
	harmless     bool // the caller must never notice
}

var faults = []fault{
	{name: "SIGKILL", inject: "signal=SIGKILL", kills: true},
	{name: "EIO", inject: "error=EIO"},
	{name: "ENOSPC", inject: "error=ENOSPC"},
	{name: "EINTR", inject: "error=EINTR", harmless: true},
}

// matrix is a run of the writer: what it finds, and from where on calls fail.
type matrix struct {
	atStart bool // calls fail from the process's start on, not only from the call on
	atLeast int  // so many points there must be
	prepare func(t *testing.T, dir string) folder
	earlier bool // a note was acknowledged before
	torn    bool // the ledger ends in half a line
}

func (m matrix) from() string {
	if m.atStart {
		return "start"
	}
	return "call"
}

// TestEveryCallOfAWrite: the stores are open, and there is a note already.
func TestEveryCallOfAWrite(t *testing.T) {
	runMatrix(t, matrix{atLeast: 40, prepare: withEarlierNote, earlier: true})
}

// TestEveryCallOfAFirstStart: there is not even a folder.
func TestEveryCallOfAFirstStart(t *testing.T) {
	runMatrix(t, matrix{atStart: true, atLeast: 50, prepare: func(t *testing.T, dir string) folder {
		return folder(dir)
	}})
}

// TestEveryCallOfARecovery: a process died between its note and its record, another one while it
// wrote to the ledger, a third while it wrote to the claims, a fourth before it published.
func TestEveryCallOfARecovery(t *testing.T) {
	runMatrix(t, matrix{atStart: true, atLeast: 50, prepare: afterCrashes, earlier: true, torn: true})
}

func withEarlierNote(t *testing.T, dir string) folder {
	t.Helper()
	s, err := openStores(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.writeNote(earlierID, earlierText); got != "committed" {
		t.Fatalf("the earlier note: %s", got)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	return folder(dir)
}

const (
	tornRecord = `{"args_digest":"torn`
	tornClaim  = `0123456789abcdef`
)

func afterCrashes(t *testing.T, dir string) folder {
	t.Helper()
	f := withEarlierNote(t, dir)
	copied := f.copyTo(t, dir+"-traced")
	tr := mustTrace(t, copied, "call")
	for _, p := range tr.points() {
		if p.call == "pwrite64" && p.file() == "ledger.jsonl" {
			killed, err := traceWriter(f, "call", fmt.Sprintf("pwrite64:signal=SIGKILL:when=%d", p.n))
			if err != nil || !killed.killed {
				t.Fatalf("the writer was not killed: %v", err)
			}
		}
	}
	err := errors.Join(addTo(f.ledger(), tornRecord), addTo(f.claims(), tornClaim),
		os.WriteFile(f.path("notes", ".tmp-dead"), []byte("half a no"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.note(theID); err != nil {
		t.Fatalf("the crash came too early: %v", err)
	}
	return f
}

func runMatrix(t *testing.T, m matrix) {
	t.Parallel()
	needStrace(t)
	dir := inMemory(t)
	start := m.prepare(t, filepath.Join(dir, "start"))
	clone := func(name string) folder {
		if !exists(string(start)) {
			return folder(filepath.Join(dir, name))
		}
		return start.copyTo(t, filepath.Join(dir, name))
	}
	base := mustRun(t, m, clone("base"))
	points := base.points()
	if m.atStart {
		points = slices.DeleteFunc(points, func(p point) bool { return p.onlyFlags() })
	}
	if len(points) < m.atLeast {
		t.Fatalf("the run has only %d file calls, want at least %d", len(points), m.atLeast)
	}
	type job struct {
		point
		fault
	}
	jobs := make(chan job)
	var wg sync.WaitGroup
	var fired atomic.Int64
	for worker := range 2 {
		wg.Go(func() {
			for j := range jobs {
				f := clone(fmt.Sprintf("%s-%d-%d", j.name, j.index, worker))
				if err := inject(m, f, base, j.point, j.fault); err != nil {
					t.Errorf("%s at %v\n%v", j.name, j.point, err)
				} else {
					fired.Add(1)
				}
				os.RemoveAll(string(f))
			}
		})
	}
	all := 0
	for i, p := range points {
		for _, f := range faults {
			if f.kills && p.changesNothing() && i < len(points)-1 {
				continue
			}
			all++
			jobs <- job{p, f}
		}
	}
	close(jobs)
	wg.Wait()
	t.Logf("%d file calls, %d faults, all well after %d of them", len(points), all, fired.Load())
}

// inMemory is a folder for what outlives its process, but need not outlive the machine: where a call fails or a process dies
// nothing hangs upon the disk, which takes half of the time.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "faults-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// mustRun is the run that nothing goes wrong in.
func mustRun(t *testing.T, m matrix, f folder) *trace {
	t.Helper()
	tr, err := traceWriter(f, m.from(), "")
	if err != nil {
		t.Fatal(err)
	}
	want := "first: committed\nlater: committed\n"
	if m.torn {
		want = "first: replay\nlater: committed\n"
	}
	if tr.stdout != want {
		t.Fatalf("the writer says %q, want %q", tr.stdout, want)
	}
	return tr
}

// inject runs the writer with one fault, and then looks at what it left.
func inject(m matrix, f folder, base *trace, p point, how fault) error {
	tr, err := traceWriter(f, m.from(), fmt.Sprintf("%s:%s:when=%d", p.call, how.inject, p.n))
	if err != nil {
		return err
	}
	if err := hasFired(tr, base, p, how); err != nil {
		return err
	}
	first, later := answers(tr.stdout)
	if err := checkAnswers(m, f, p, how, first, later); err != nil {
		return fmt.Errorf("%w\nthe writer said: %q", err, tr.stdout)
	}
	if err := checkNextProcess(m, f, first, later); err != nil {
		return fmt.Errorf("%w\nthe writer said: %q", err, tr.stdout)
	}
	return nil
}

// hasFired fails unless the fault struck the call that it was meant for.
func hasFired(tr, base *trace, p point, how fault) error {
	if got, want := tr.before[p.call], base.before[p.call]; got != want {
		return fmt.Errorf("the harness is off: %d calls of %s before the mark, want %d", got, p.call, want)
	}
	if how.kills {
		if !tr.killed || len(tr.calls) < p.index {
			return fmt.Errorf("the writer was not killed at call %d: killed %v, %d calls", p.index, tr.killed, len(tr.calls))
		}
		return nil
	}
	if len(tr.calls) <= p.index || !tr.calls[p.index].injected || tr.calls[p.index].call != p.call {
		return fmt.Errorf("the fault did not fire at call %d", p.index)
	}
	return nil
}

// answers takes the answers from what a writer printed; "" where it did not get as far.
func answers(stdout string) (first, later string) {
	for line := range strings.Lines(stdout) {
		name, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "start":
			first = "error: " + answer
		case "first":
			first = answer
		case "later":
			later = answer
		}
	}
	return first, later
}

func done(answer string) bool { return answer == "committed" || answer == "replay" }

// checkAnswers holds what the writer answered against what is on the disk, before anybody mends it.
func checkAnswers(m matrix, f folder, p point, how fault, first, later string) error {
	for _, a := range []struct{ id, text, answer string }{{theID, theText, first}, {laterID, laterText, later}} {
		if !done(a.answer) {
			continue
		}
		if text, err := f.note(a.id); err != nil || text != a.text {
			return fmt.Errorf("%s was acknowledged, but its note says %q: %v", a.id, text, err)
		}
		if by, err := f.outcomes(a.id); err != nil || by["committed"] != 1 {
			return fmt.Errorf("%s was acknowledged with %d committed records: %v", a.id, by["committed"], err)
		}
	}
	printed := p.call == "write" && p.file() == "" // the answer itself
	switch {
	case how.harmless && !printed && p.call != "close" && (!done(first) || later != "committed"):
		return errors.New("an interrupted call was taken for a failed one")
	case how.name == "ENOSPC" && !m.atStart && strings.HasPrefix(first, "error") && !strings.Contains(first, "free some space"):
		return errors.New("the answer does not say that the disk is full")
	}
	return checkPoison(m, p, how, first, later)
}

// checkPoison: a process goes on after a fault, unless a sync of the ledger or the claims failed:
// then it refuses everything until it is started anew.
func checkPoison(m matrix, p point, how fault, first, later string) error {
	if m.atStart || how.kills || how.harmless || later == "" {
		return nil
	}
	poisoned := p.call == "fdatasync"
	switch {
	case poisoned && done(first):
		return errors.New("a failed sync was acknowledged")
	case poisoned && !strings.Contains(later, "restart the server"):
		return errors.New("the process went on after a failed sync")
	case !poisoned && later != "committed":
		return errors.New("the process did not recover from one failed call")
	}
	return nil
}

// checkNextProcess starts anew, retries what was asked for, and holds everything to account.
func checkNextProcess(m matrix, f folder, first, later string) error {
	notes := map[string]string{theID: theText}
	if m.earlier {
		notes[earlierID] = earlierText
	}
	if later != "" {
		notes[laterID] = laterText
	}
	s, err := openStores(string(f))
	if err != nil {
		return fmt.Errorf("starting anew: %w", err)
	}
	if s.mended != nil {
		return fmt.Errorf("mending: %w", s.mended)
	}
	if temps, err := f.temps(); err != nil || len(temps) > 0 {
		return fmt.Errorf("temporary files outlived a start: %q %v", temps, err)
	}
	retry := s.writeNote(theID, theText)
	if retry != "replay" && (retry != "committed" || done(first) || m.torn) {
		return fmt.Errorf("the retry was answered %q", retry)
	}
	if again := s.writeNote(theID, theText); again != "replay" {
		return fmt.Errorf("the second retry was answered %q", again)
	}
	if other := s.writeNote(theID, "another text"); other != "conflict" {
		return fmt.Errorf("another text was answered %q", other)
	}
	if later != "" {
		if again := s.writeNote(laterID, laterText); again != "replay" && (again != "committed" || done(later)) {
			return fmt.Errorf("the retry of the later note was answered %q", again)
		}
	}
	standing, err := s.claims.Look(mutation.Key{Principal: "local", Tool: "write_note", ID: theID})
	if err != nil {
		return err
	}
	if err := s.close(); err != nil {
		return fmt.Errorf("closing: %w", err)
	}
	return checkEvidence(m, f, notes, standing.Attempt)
}

func checkEvidence(m matrix, f folder, notes map[string]string, attempt string) error {
	if err := f.evidence(notes); err != nil {
		return err
	}
	all, err := f.records()
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.RequestID == theID && r.Outcome == "committed" && r.Attempt != attempt {
			return fmt.Errorf("attempt %s stands, but attempt %s is recorded as committed", attempt, r.Attempt)
		}
	}
	if m.torn {
		return f.tornKept(tornRecord)
	}
	return nil
}

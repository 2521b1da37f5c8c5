package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/internal/durable/crashfs"
)

// journalOf is the text of a journal whose lines were written then.
func journalOf(p *Plan, run string, then time.Time, facts ...fact) []byte {
	h := header{run: run, plan: p.digest, name: p.name, principal: "local", text: p.text}
	text, prev := seal(nil, h.members(then), "")
	for _, f := range facts {
		text, prev = seal(text, f.members(p, then), prev)
	}
	return text
}

// What the journals of the tests end with.
var (
	begins  = []fact{{what: intention, args: noArgs, key: "k"}, {what: outcome, how: answered}}
	givenUp = append(slices.Clone(begins), fact{what: ended, step: -1, abandoned: true, reason: "never mind"})
	stops   = append(slices.Clone(begins), fact{what: decision, verdict: Stop, reason: "x"})
)

const longAgo = keepOver + time.Hour

func names(t *testing.T, fs *crashfs.FS) []string {
	t.Helper()
	all, err := fs.Names("runs")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPruneRemovesWhatEndedLongAgo, when a run begins, and nothing else.
func TestPruneRemovesWhatEndedLongAgo(t *testing.T) {
	other := mustPlan(t, plain(undoable("x")))
	now := time.Now()
	long, short := now.Add(-longAgo), now.Add(-keepOver+time.Hour)
	over := func(run string, then time.Time) []byte { return journalOf(other, run, then, givenUp...) }
	flipped := func(run string, at int) []byte {
		text := over(run, long)
		lines := bytes.SplitAfter(text, []byte{'\n'})
		lines[at] = bytes.Replace(lines[at], []byte(`"prev":"`), []byte(`"prev":"0`), 1)
		return bytes.Join(lines, nil)
	}
	spliced := func(run string) []byte { // each line verifies, and one is missing
		lines := bytes.SplitAfter(over(run, long), []byte{'\n'})
		return bytes.Join([][]byte{lines[0], lines[1], lines[3]}, nil)
	}
	for _, c := range []struct {
		name  string
		text  []byte
		stays bool
	}{
		{"over-long", over("over-long", long), false},
		{"over-short", over("over-short", short), true},
		{"over-tomorrow", over("over-tomorrow", now.Add(longAgo)), true}, // some clock is wrong
		{"continued", journalOf(other, "continued", long, append(slices.Clone(begins), fact{what: decision, verdict: Continue}, fact{what: ended, step: -1, end: Continued})...), false},
		{"stopped", journalOf(other, "stopped", long, stops...), true},
		{"cut-off", journalOf(other, "cut-off", long, begins...), true},
		{"begun", journalOf(other, "begun", long), true},
		{"torn", append(over("torn", long), `{"what":"res`...), true},
		{"flipped", flipped("flipped", 1), true},
		{"flipped-header", flipped("flipped-header", 0), true},
		{"spliced", spliced("spliced"), true},
		{"anothers", over("whose", long), true},
		{"no-time", func() []byte {
			text, prev := seal(nil, (&header{run: "no-time", plan: other.digest, principal: "local", text: other.text}).members(long), "")
			end := (&fact{what: ended, step: -1, abandoned: true}).members(other, long)
			delete(end, "ts")
			text, _ = seal(text, end, prev)
			return text
		}(), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := newTrial(t, twoSteps["keyed"])
			write(t, tr.fs, c.name, c.text)
			r, err := tr.runner().Run(context.Background(), tr.plan)
			if err != nil || r.End != Continued {
				t.Fatalf("got %+v, %v", r, err)
			}
			got := names(t, tr.fs)
			if stays := slices.Contains(got, c.name+".jsonl"); stays != c.stays || !slices.Contains(got, r.Run+".jsonl") {
				t.Errorf("it stays: %t, want %t; there are %q", stays, c.stays, got)
			}
			if text, _ := tr.fs.ReadFile("runs/" + c.name + ".jsonl"); c.stays && !bytes.Equal(text, c.text) {
				t.Errorf("it was changed to %q", text)
			}
		})
	}
}

// TestPruneLeavesWhatIsLocked, whatever it says.
func TestPruneLeavesWhatIsLocked(t *testing.T) {
	tr := newTrial(t, twoSteps["keyed"])
	write(t, tr.fs, "held", journalOf(tr.plan, "held", time.Now().Add(-longAgo), givenUp...))
	f, err := tr.fs.Open("runs/held.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if locked, err := f.TryLockByte(runLock); err != nil || !locked {
		t.Fatal(locked, err)
	}
	begin := func() []string {
		t.Helper()
		j, err := tr.runner().begin(tr.plan)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tr.runner().abandon(j, "for the next"), j.close()); err != nil {
			t.Fatal(err)
		}
		return names(t, tr.fs)
	}
	if got := begin(); !slices.Contains(got, "held.jsonl") {
		t.Errorf("there are %q", got)
	}
	f.Close()
	if got := begin(); slices.Contains(got, "held.jsonl") {
		t.Errorf("when it is free there are %q", got)
	}
}

// TestPruneRemovesWhatWasTorn with the journal that it is of, and no other.
func TestPruneRemovesWhatWasTorn(t *testing.T) {
	tr := newTrial(t, twoSteps["keyed"])
	then := time.Now().Add(-longAgo)
	write(t, tr.fs, "old", journalOf(tr.plan, "old", then, givenUp...))
	write(t, tr.fs, "old-2", journalOf(mustPlan(t, plain(undoable("x"))), "old-2", then, stops...))
	for _, name := range []string{"old.jsonl.torn-01", "old.jsonl.torn-02", "old-2.jsonl.torn-01", "older"} {
		f, err := tr.fs.Create("runs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	j, err := tr.runner().begin(tr.plan)
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	want := []string{".lock", j.run + ".jsonl", "old-2.jsonl", "old-2.jsonl.torn-01", "older"}
	if got := names(t, tr.fs); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
}

// TestPruneEndsSomewhere: what was left to grow for years does not hold up the run that begins, and is gone in the end.
func TestPruneEndsSomewhere(t *testing.T) {
	tr := newTrial(t, twoSteps["keyed"])
	then := time.Now().Add(-longAgo)
	big := bytes.Repeat([]byte{'x'}, mostTried/2)
	for i := range 3 {
		write(t, tr.fs, fmt.Sprintf("old-%d", i), journalOf(tr.plan, fmt.Sprintf("old-%d", i), then, fact{what: ended, step: -1, abandoned: true, reason: string(big)}))
	}
	left := 3
	for _, want := range []int{1, 0} {
		j, err := tr.runner().begin(tr.plan)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tr.runner().abandon(j, "for the next"), j.close()); err != nil {
			t.Fatal(err)
		}
		left = 0
		for _, name := range names(t, tr.fs) {
			if strings.HasPrefix(name, "old-") {
				left++
			}
		}
		if left != want {
			t.Errorf("%d are left, want %d", left, want)
		}
	}
}

// TestPruneIsNotHeldUpByWhatStays: journals that cannot be read stay, and come first.
func TestPruneIsNotHeldUpByWhatStays(t *testing.T) {
	tr := newTrial(t, twoSteps["keyed"])
	then := time.Now().Add(-longAgo)
	lines := bytes.SplitAfter(journalOf(tr.plan, "a-damaged", then, givenUp...), []byte{'\n'})
	lines[1] = append(bytes.Repeat([]byte{'x'}, mostTried), '\n')
	write(t, tr.fs, "a-damaged", bytes.Join(lines, nil))
	write(t, tr.fs, "old", journalOf(tr.plan, "old", then, givenUp...))
	for range 64 {
		j, err := tr.runner().begin(tr.plan)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tr.runner().abandon(j, "for the next"), j.close()); err != nil {
			t.Fatal(err)
		}
		left := names(t, tr.fs)
		if !slices.Contains(left, "a-damaged.jsonl") {
			t.Fatal("what cannot be read was removed")
		}
		if !slices.Contains(left, "old.jsonl") {
			return
		}
	}
	t.Error("what is over stays")
}

// old is a disk with what prune removes and what it must not touch.
func old(t *testing.T, tr *trial) (open []byte) {
	t.Helper()
	then := time.Now().Add(-longAgo)
	other := mustPlan(t, plain(undoable("x")))
	open = journalOf(other, "open", then, stops...)
	write(t, tr.fs, "open", open)
	for _, run := range []string{"old-1", "old-2"} {
		write(t, tr.fs, run, journalOf(other, run, then, givenUp...))
	}
	if _, err := tr.fs.Create("runs/old-1.jsonl.torn-01"); err != nil {
		t.Fatal(err)
	}
	if err := tr.fs.SyncDir("runs"); err != nil {
		t.Fatal(err)
	}
	tr.fs.Settle()
	return open
}

// TestADeathWhilePruning kills a run that begins before each change of the disk, takes each state that the disk may be in then,
// and goes on: what is not over is there as it was, what is over is there whole or gone, and in the end it is gone.
func TestADeathWhilePruning(t *testing.T) {
	states, between := 0, 0
	for dies := 1; ; dies++ {
		tr := newTrial(t, twoSteps["keyed"])
		open := old(t, tr)
		whole, _ := tr.fs.ReadFile("runs/old-1.jsonl")
		_, dead := tr.sitting(dies)
		if !dead {
			break
		}
		for c := range tr.fs.Crashes(tr.fs.Changes()) {
			states++
			again := newTrial(t, twoSteps["keyed"])
			*again.desk.world = *tr.desk.world.clone()
			again.desk.continued, again.desk.undone, again.run, again.fs = tr.desk.continued, tr.desk.undone, tr.run, synced(t, c.FS)
			if _, err := again.fs.ReadFile("runs/" + tr.run + ".jsonl"); err != nil {
				again.run = ""
			}
			again.logf("died before change %d; %s", dies, c)
			found := 0
			for _, run := range []string{"old-1", "old-2"} {
				text, err := again.fs.ReadFile("runs/" + run + ".jsonl")
				if err == nil && len(text) != len(whole) {
					again.fault("of %s %d bytes are left", run, len(text))
				} else if err == nil {
					found++
				}
			}
			if found == 1 {
				between++
			}
			if runs, err := List(again.fs, "runs"); err != nil || slices.ContainsFunc(runs, func(l Listed) bool { return l.State == Unreadable }) {
				again.fault("the runs are listed as %+v, %v", runs, err)
			}
			if end := again.goOn().End; end != Continued {
				again.fault("%v", end)
			}
			if text, _ := again.fs.ReadFile("runs/open.jsonl"); !bytes.Equal(text, open) {
				again.fault("what is not over became %q", text)
			}
			again.run = ""
			if r, err := again.runner().Run(context.Background(), again.plan); err != nil {
				again.fault("the next run: %+v, %v", r, err)
			}
			if left := names(t, again.fs); slices.Contains(left, "old-1.jsonl") || slices.Contains(left, "old-2.jsonl") {
				again.fault("in the end there are %q", left)
			}
		}
	}
	t.Logf("%d states of the disk, %d between the two", states, between)
	if states < 40 || between == 0 {
		t.Errorf("%d states of the disk, %d between the two: this proves little", states, between)
	}
}

// TestADiskThatPrunesNothing is no failure of the run that begins: no file can be removed, or that one was cannot be made durable.
func TestADiskThatPrunesNothing(t *testing.T) {
	for _, op := range []crashfs.Op{crashfs.Remove, crashfs.SyncDir} {
		tr := newTrial(t, twoSteps["keyed"])
		old(t, tr)
		fired, torn := 0, false
		tr.fs.FailOn(func(is crashfs.Op, name string, _ int) error {
			torn = torn || is == crashfs.Remove && strings.Contains(name, ".torn-")
			if is == op && torn && fired < 3 {
				fired++
				return syscall.EIO
			}
			return nil
		})
		r, err := tr.runner().Run(context.Background(), tr.plan)
		if err != nil || r.End != Continued || fired == 0 {
			t.Errorf("%s fails (%d times): %+v, %v", op, fired, r, err)
		}
		if got := names(t, tr.fs); !slices.Contains(got, "old-1.jsonl") || op == crashfs.SyncDir && slices.Contains(got, "old-2.jsonl") {
			t.Errorf("%s fails: there are %q", op, got)
		}
	}
}

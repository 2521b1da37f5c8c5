package plan

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
)

// TestListTellsOfEachRun, and changes nothing, whatever lies there.
func TestListTellsOfEachRun(t *testing.T) {
	p := mustPlan(t, "name: \"a\\e[2Jb\"\n"+plain(undoable("x"), undoable("y")))
	then := time.Unix(1000, 7)
	with := func(facts ...fact) []fact { return append(slices.Clone(begins), facts...) }
	back := with(fact{what: decision, verdict: Rollback, reason: "x"}, fact{what: intention, undo: true, args: noArgs}, fact{what: outcome, undo: true, how: lost})
	done := with(fact{what: decision, verdict: Continue})
	known := func(l Listed) Listed {
		l.Name, l.Digest, l.Begun = p.name, p.digest, then
		return l
	}
	over := func(l Listed) Listed { l.Ended = then; return known(l) }
	open := func(l Listed) Listed { l.Resumable, l.Abandonable = true, true; return known(l) }
	other := func(from, to string) func(string) []byte { // a plan or a header of another release
		return func(run string) []byte {
			h := header{run: run, plan: p.digest, name: p.name, principal: "local", text: bytes.Replace(p.text, []byte(from), []byte(to), 1)}
			members := h.members(then)
			if from == "" {
				members["version"] = number(2)
			}
			text, _ := seal(nil, members, "")
			return text
		}
	}
	raw := func(text string) func(string) []byte { return func(string) []byte { return []byte(text) } }
	facts := func(facts ...fact) func(string) []byte {
		return func(run string) []byte { return journalOf(p, run, then, facts...) }
	}
	const damaged = "the journal of the run is damaged"
	for _, c := range []struct {
		name string
		text func(run string) []byte
		held bool
		want Listed
	}{
		{"continued", facts(append(slices.Clone(done), fact{what: ended, step: -1, end: Continued})...), false, over(Listed{State: OverContinued})},
		{"rolled-back", facts(fact{what: ended, step: -1, end: RolledBack}), false, over(Listed{State: OverRolled})},
		{"given-up", facts(givenUp...), false, over(Listed{State: OverAbandoned})},
		{"over-and-held", facts(givenUp...), true, over(Listed{State: OverAbandoned})},
		{"stopped", facts(stops...), false, open(Listed{State: Halted, Step: "a", Reason: "x"})},
		{"begun", facts(), false, open(Listed{State: CutOff, Step: "a"})},
		{"cut-off", facts(done...), false, open(Listed{State: CutOff, Step: "b"})},
		{"cut-off-in-a-line", func(run string) []byte { return append(journalOf(p, run, then, done...), `{"what":"int`...) }, false, open(Listed{State: CutOff, Step: "b"})},
		{"back-cut-off", facts(back...), false, open(Listed{State: CutOff, Step: "a"})},
		{"back-failed", facts(append(slices.Clone(back), fact{what: surrender, undo: true, reason: "y"})...), false, open(Listed{State: HaltedBack, Step: "a", Reason: "y"})},
		{"back-interrupted", facts(append(slices.Clone(back), fact{what: surrender, undo: true, interrupted: true, reason: "y"})...), false, open(Listed{State: Halted, Step: "a", Reason: "y"})},
		{"running", facts(done...), true, known(Listed{State: Running, Step: "b"})},
		{"empty", raw(""), false, Listed{State: Unreadable, Reason: damaged}},
		{"garbage", raw("\x1b[2J\n\x00\n"), false, Listed{State: Unreadable, Reason: damaged}},
		{"half-a-line", raw(`{"what":"begin"`), false, Listed{State: Unreadable, Reason: damaged}},
		{"anothers", func(string) []byte { return journalOf(p, "whose", then) }, false, Listed{State: Unreadable, Reason: damaged + `: it is that of run "whose"`}},
		{"anothers-over", func(string) []byte { return journalOf(p, "whose", then, givenUp...) }, false,
			Listed{State: OverAbandoned, Ended: then, Reason: damaged + `: it is that of run "whose"`}},
		{"of-another-release", other("", ""), false, Listed{State: Unreadable, Reason: damaged + ": its first line is none that this release writes"}},
		{"an-unknown-key", other(`"undone"`, `"undome"`), false, known(Listed{State: Unreadable, Abandonable: true,
			Reason: "this release does not read its plan: "})},
		{"out-of-order", facts(fact{what: decision, verdict: Continue}), false, known(Listed{State: Unreadable, Abandonable: true, Reason: "line 2: this cannot follow what is before it"})},
		{"a-bad-end", func(run string) []byte { return append(journalOf(p, run, then, done...), "x\n"...) }, false, known(Listed{State: Unreadable, Reason: damaged})},
		{"a-bad-middle", func(run string) []byte {
			lines := bytes.SplitAfter(journalOf(p, run, then, done...), []byte{'\n'})
			return bytes.Join(append(lines[:1:1], lines[2:]...), nil)
		}, false, known(Listed{State: Unreadable, Abandonable: true, Reason: "line 2: " + damaged})},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := crashfs.New()
			for _, run := range []string{"0-before", "zz-after"} {
				write(t, fs, run, journalOf(p, run, then, givenUp...))
			}
			write(t, fs, c.name, c.text(c.name))
			f, err := fs.Open("runs/" + c.name + ".jsonl")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if c.held {
				if locked, err := f.TryLockByte(runLock); err != nil || !locked {
					t.Fatal(locked, err)
				}
			}
			for _, name := range []string{"\x1b[2J.jsonl", "a b.jsonl", ".jsonl", c.name + ".jsonl.torn-1", ".tmp-1"} { // no journals
				if _, err := fs.Create("runs/" + name); err != nil {
					t.Fatal(err)
				}
			}
			changes := fs.Changes()
			got, err := List(fs, "runs")
			if err != nil || len(got) != 3 || got[0].Run != "0-before" || got[2].Run != "zz-after" || got[2].State != OverAbandoned {
				t.Fatalf("got %+v, %v", got, err)
			}
			if reason := c.want.Reason; strings.HasSuffix(reason, ": ") && strings.HasPrefix(got[1].Reason, reason) {
				got[1].Reason = reason
			}
			c.want.Run = c.name
			if diff := cmp.Diff(c.want, got[1]); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if fs.Changes() != changes {
				t.Errorf("%d changes of the disk", fs.Changes()-changes)
			}
			if free, err := f.TryLockByte(runLock); err != nil || !free {
				t.Errorf("the run's lock is not free: %t, %v", free, err)
			}
		})
	}
}

// TestListOfNothing is empty.
func TestListOfNothing(t *testing.T) {
	fs := crashfs.New()
	for range 2 {
		if got, err := List(fs, "runs"); err != nil || len(got) > 0 {
			t.Errorf("got %+v, %v", got, err)
		}
		if err := fs.OwnDir("runs"); err != nil {
			t.Fatal(err)
		}
	}
}

// gone is a file system in which a run's journal is removed while it is looked at: at the n-th time that it is opened.
type gone struct {
	*crashfs.FS
	path string
	left int
}

func (g *gone) pass(name string) {
	if g.left--; name == g.path && g.left == 0 {
		g.Remove(name)
	}
}

func (g *gone) Open(name string) (durable.File, error) { g.pass(name); return g.FS.Open(name) }

func (g *gone) OpenRead(name string) (durable.File, error) { g.pass(name); return g.FS.OpenRead(name) }

// TestListOfARunThatGoesAway leaves it out, or tells of it as it was: another process removes what is over.
func TestListOfARunThatGoesAway(t *testing.T) {
	p := mustPlan(t, plain(undoable("x")))
	left := 0
	for n := 1; n <= 6; n++ {
		g := &gone{crashfs.New(), "runs/old.jsonl", n}
		write(t, g.FS, "old", journalOf(p, "old", epoch, givenUp...))
		write(t, g.FS, "new", journalOf(p, "new", epoch, givenUp...))
		g.left += 3 // those of the other one, which comes first
		got, err := List(g, "runs")
		if err != nil || len(got) == 0 || got[0].Run != "new" {
			t.Fatalf("opened for the %d. time: got %+v, %v", n, got, err)
		}
		if len(got) == 2 && got[1].State != OverAbandoned {
			t.Errorf("opened for the %d. time: got %+v", n, got[1])
		}
		left += 2 - len(got)
	}
	if left == 0 {
		t.Error("nothing was removed")
	}
}

// TestListDisturbsNobody: while somebody lists the runs over and over, they are begun, gone on with and given up as ever.
func TestListDisturbsNobody(t *testing.T) {
	for _, fs := range []struct {
		name string
		durable.FS
		dir string
	}{{"memory", crashfs.New(), "runs"}, {"disk", durable.OS, t.TempDir() + "/runs"}} {
		t.Run(fs.name, func(t *testing.T) {
			b := &bench{call: func(context.Context, string, string, string) (string, error) { return `{"ok":false}`, nil }}
			r, p := b.runner(t), mustPlan(t, plain(oneStep))
			r.FS, r.Dir = fs.FS, fs.dir
			ctx, cancel := context.WithCancel(context.Background())
			done, states := make(chan error), map[Standing]int{}
			go func() {
				var err error
				for ctx.Err() == nil && err == nil {
					var all []Listed
					all, err = List(fs.FS, fs.dir)
					for _, l := range all {
						if states[l.State]++; l.State == Unreadable {
							err = fmt.Errorf("%+v", l)
						}
					}
				}
				done <- err
			}()
			for range 15 {
				wantEnd(t, mustRun(t, r, p), Stopped, "what was expected does not hold")
				wantEnd(t, mustResume(t, r, p), Stopped, "what was expected does not hold")
				if err := r.Abandon(p, "", "for the next"); err != nil {
					t.Fatal(err)
				}
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if states[Halted] == 0 && states[Running] == 0 || states[OverAbandoned] == 0 {
				t.Errorf("seen were %v: this proves little", states)
			}
		})
	}
}

// TestListsSeeNotEachOther: whoever lists runs is not taken for somebody who carries one out, and needs no more than to read.
func TestListsSeeNotEachOther(t *testing.T) {
	p, dir := mustPlan(t, plain(undoable("x"))), t.TempDir()
	path := filepath.Join(dir, "stopped.jsonl")
	if err := os.WriteFile(path, journalOf(p, "stopped", time.Now(), stops...), 0o400); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 300 {
				if l, err := List(readOnly{durable.OS}, dir); err != nil || len(l) != 1 || l[0].State != Halted {
					t.Errorf("%+v, %v", l, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// readOnly is a file system in which nothing can be opened for writing.
type readOnly struct{ durable.FS }

func (readOnly) Open(name string) (durable.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EACCES}
}

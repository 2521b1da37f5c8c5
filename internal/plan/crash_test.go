package plan

import (
	"time"

	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/durable/crashfs"
	"sallyport/internal/gate"
)

var twoSteps = map[string][]kind{
	"unkeyed": {{undo: 'u'}, {undo: 'u'}},
	"keyed":   {{undo: 'u', do: keyed, un: keyed}, {undo: 'u', do: keyed, un: keyed}},
	"repeats": {{undo: 'u', do: repeats, un: repeats}, {undo: 'u', do: repeats, un: repeats}},
}

// goOn resumes a run without faults until it is over, or nothing changes.
func (tr *trial) goOn() Report {
	tr.t.Helper()
	tr.desk.faults, tr.desk.notes = nil, nil
	r, _ := tr.sitting(0)
	if r.End == Stopped || r.End == RollbackFailed {
		r, _ = tr.sitting(0)
	}
	return r
}

// wrongSecond makes step b leave something else, so that the run goes back.
func wrongSecond(tool string, _ int) fault {
	if tool == "do_b" {
		return liesWrong
	}
	return fine
}

// TestADeathAtEveryChangeOfTheDisk kills a run of two steps before each change to the disk, forward and in a ROLLBACK, takes
// each state that the disk may be in then, and goes on.
func TestADeathAtEveryChangeOfTheDisk(t *testing.T) {
	for name, kinds := range twoSteps {
		for way, faults := range map[string]func(string, int) fault{"forward": nil, "back": wrongSecond} {
			t.Run(name+" "+way, func(t *testing.T) {
				states, ends := 0, map[End]int{}
				for dies := 1; ; dies++ {
					tr := newTrial(t, kinds)
					tr.desk.faults = faults
					r, dead := tr.sitting(dies)
					if !dead {
						if want := map[string]End{"forward": Continued, "back": RolledBack}[way]; r.End != want || dies < 15 {
							t.Fatalf("after %d changes nobody died: %v, want %v", dies, r.End, want)
						}
						break
					}
					for c := range tr.fs.Crashes(tr.fs.Changes()) {
						again := newTrial(t, kinds)
						*again.desk.world = *tr.desk.world.clone()
						again.desk.continued, again.desk.undone = tr.desk.continued, tr.desk.undone
						again.desk.rollback, again.run, again.fs = tr.desk.rollback, tr.run, synced(t, c.FS)
						if _, err := again.fs.ReadFile("runs/" + tr.run + ".jsonl"); err != nil {
							again.run = "" // it was never begun
						}
						again.logf("died before change %d; %s", dies, c)
						states++
						end := again.goOn().End
						ends[end]++
						if name != "unkeyed" && (end == Stopped || end == RollbackFailed && name == "keyed") {
							again.fault("%v, although the calls could be made again", end)
						}
					}
				}
				t.Logf("%d states of the disk, ends %v", states, ends)
				if states < 40 {
					t.Errorf("only %d states of the disk: this proves little", states)
				}
			})
		}
	}
}

// TestTheJournalCutAtEveryByte: whoever died while a line was written left some of it. What is before it counts, and the
// world is as it was then.
func TestTheJournalCutAtEveryByte(t *testing.T) {
	for name, kinds := range twoSteps {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t, kinds)
			var worlds []*world
			tr.fs.FailOn(func(op crashfs.Op, name string, _ int) error {
				if op == crashfs.Write && strings.HasSuffix(name, ".jsonl") {
					worlds = append(worlds, tr.desk.world.clone())
				}
				return nil
			})
			s, j, err := tr.sit()
			if err != nil {
				t.Fatal(err)
			}
			if r := s.carryOut(context.Background()); r.End != Continued {
				t.Fatalf("got %+v", r)
			}
			j.close()
			text, _ := tr.fs.ReadFile("runs/" + tr.run + ".jsonl")
			first := bytes.IndexByte(text, '\n') + 1
			if lines := bytes.Count(text, []byte{'\n'}); lines != len(worlds)+1 {
				t.Fatalf("%d lines and %d worlds", lines, len(worlds))
			}
			for cut := first; cut < len(text); cut++ {
				line := bytes.Count(text[:cut], []byte{'\n'}) - 1
				again := newTrial(t, kinds)
				*again.desk.world, again.run = *worlds[line].clone(), tr.run
				whole := line
				if text[cut] == '\n' { // only the newline is missing: such a line counts
					whole++
				}
				again.desk.continued = map[string]bool{"a": whole >= 3, "b": whole >= 6}
				write(t, again.fs, tr.run, text[:cut])
				again.logf("cut at byte %d, in line %d", cut, line+2)
				if r := again.goOn(); r.End != Continued && (name != "unkeyed" || r.End != Stopped) {
					again.fault("got %+v", r)
				}
			}
			for cut := range first { // no crash leaves that: somebody was at it
				again := newTrial(t, kinds)
				write(t, again.fs, tr.run, text[:cut])
				if _, err := again.runner().Resume(context.Background(), again.plan, ""); err == nil {
					t.Fatalf("cut at byte %d, Resume went on", cut)
				}
				if _, err := again.runner().Run(context.Background(), again.plan); err == nil {
					t.Fatalf("cut at byte %d, Run began anew", cut)
				}
				if len(again.desk.things) > 0 {
					t.Fatalf("cut at byte %d, something was done", cut)
				}
			}
		})
	}
}

func write(t testing.TB, fs *crashfs.FS, run string, text []byte) {
	t.Helper()
	if err := fs.OwnDir("runs"); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create("runs/" + run + ".jsonl")
	if err == nil {
		_, err = f.WriteAt(text, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// TestAnEditedJournalIsRefused changes each byte of a journal.
func TestAnEditedJournalIsRefused(t *testing.T) {
	tr := newTrial(t, twoSteps["keyed"])
	tr.desk.faults = wrongSecond
	if r, _ := tr.sitting(0); r.End != RolledBack {
		t.Fatalf("got %+v", r)
	}
	text, _ := tr.fs.ReadFile("runs/" + tr.run + ".jsonl")
	if _, err := replay(tr.shape, tr.plan, text); err != nil {
		t.Fatal(err)
	}
	for i := range text {
		edited := bytes.Clone(text)
		edited[i] ^= 1
		if _, err := replay(tr.shape, tr.plan, edited); err == nil {
			t.Fatalf("byte %d was changed, and nobody noticed", i)
		}
	}
	lines := bytes.SplitAfter(text, []byte{'\n'})
	for i := 1; i < len(lines)-2; i++ {
		without := bytes.Join(append(append([][]byte{}, lines[:i]...), lines[i+1:]...), nil)
		if _, err := replay(tr.shape, tr.plan, without); err == nil {
			t.Fatalf("line %d was taken out, and nobody noticed", i+1)
		}
	}
}

// TestAJournalThatSaysWhatCannotBe: its sums are right, but it was not written by this machine.
func TestAJournalThatSaysWhatCannotBe(t *testing.T) {
	p := planOf(t, twoSteps["keyed"])
	shape := shapeOf(p, false)
	for name, facts := range map[string][]fact{
		"an outcome without an intent":  {{what: outcome, how: answered}},
		"two intents":                   {{what: intention, args: noArgs}, {what: intention, args: noArgs}},
		"a second intent without look":  {{what: intention, args: noArgs}, {what: intention, args: noArgs, again: true}},
		"again after an answer":         {{what: intention, args: noArgs}, {what: outcome, how: answered}, {what: resumed, step: -1}, {what: intention, args: noArgs, again: true}},
		"CONTINUE without a call":       {{what: decision, verdict: Continue}},
		"CONTINUE before the outcome":   {{what: intention, args: noArgs}, {what: decision, verdict: Continue}},
		"a call after STOP":             {{what: decision, verdict: Stop, reason: "x"}, {what: intention, args: noArgs}},
		"another step":                  {{what: intention, step: 1, args: noArgs}},
		"ROLLBACK of what is not known": {{what: intention, args: noArgs}, {what: outcome, how: lost}, {what: decision, verdict: Rollback}},
		"an undo without ROLLBACK":      {{what: intention, undo: true, args: noArgs}},
		"undone without an undo":        {{what: intention, args: noArgs}, {what: outcome, how: answered}, {what: decision, verdict: Rollback}, {what: settled, undo: true}},
		"an end before the end":         {{what: ended, step: -1, end: Continued}},
		"more after the end":            {{what: ended, step: -1, abandoned: true}, {what: resumed, step: -1}},
		"a verdict of its own":          {{what: intention, args: noArgs}, {what: outcome, how: answered}, {what: decision, verdict: "FINE"}},
		"an outcome of its own":         {{what: intention, args: noArgs}, {what: outcome}},
	} {
		h := header{run: "r", plan: p.digest, principal: "local", text: p.text}
		text, prev := seal(nil, h.members(epoch), "")
		for _, f := range facts {
			text, prev = seal(text, f.members(p, epoch), prev)
		}
		if _, err := replay(shape, p, text); !errors.Is(err, errOrder) {
			t.Errorf("%s: got %v, want an error", name, err)
		}
	}
}

// TestAFullDisk: each change to the disk fails in turn, once and from then on. What was not noted is not done; when there is
// space again the run goes on, and nothing is done twice.
func TestAFullDisk(t *testing.T) {
	for name, kinds := range twoSteps {
		for way, faults := range map[string]func(string, int) fault{"forward": nil, "back": wrongSecond} {
			for _, stays := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s stays=%t", name, way, stays), func(t *testing.T) {
					for n := 0; ; n++ {
						tr := newTrial(t, kinds)
						tr.desk.faults = faults
						start, fired := tr.fs.Changes(), false
						tr.fs.FailOn(func(_ crashfs.Op, _ string, changes int) error {
							if changes-start == n && (!fired || stays) || stays && fired {
								fired = true
								return syscall.ENOSPC
							}
							return nil
						})
						r, err := tr.runner().Run(context.Background(), tr.plan)
						tr.fs.FailOn(nil)
						if !fired {
							if n < 15 {
								t.Fatalf("only %d changes", n)
							}
							return
						}
						tr.logf("change %d failed: %v %s, %v", n, r.End, r.Reason, err)
						if err == nil && stays && (r.End == Continued || r.End == RolledBack) {
							tr.fault("the journal could not be written, and the run ended with %v", r.End)
						}
						if err == nil {
							tr.run = r.Run
						}
						if end := tr.goOn().End; name == "keyed" && end != Continued && end != RolledBack {
							tr.fault("then %v", end)
						}
					}
				})
			}
		}
	}
}

// TestACancelAtEveryPoint cancels ctx before each thing that a run does outside of itself. That is a STOP; the run can be gone
// on with, and nothing is done twice.
func TestACancelAtEveryPoint(t *testing.T) {
	for name, kinds := range twoSteps {
		for way, faults := range map[string]func(string, int) fault{"forward": nil, "back": wrongSecond} {
			t.Run(name+" "+way, func(t *testing.T) {
				stops := 0
				for n := 0; ; n++ {
					tr := newTrial(t, kinds)
					tr.desk.faults = faults
					ctx, cancel := context.WithCancel(context.Background())
					tr.desk.sit(cancel)
					c := &canceller{desk: tr.desk, left: n, cancel: cancel}
					run := tr.runner()
					run.Tools, run.Book = c, c
					r, err := run.Run(ctx, tr.plan)
					cancel()
					if err != nil {
						t.Fatal(err)
					}
					if c.left >= 0 {
						if n < 10 || stops < n/2 {
							t.Fatalf("only %d points, %d STOPs", n, stops)
						}
						return
					}
					tr.run = r.Run
					tr.logf("cancelled before %d: %v %s", n, r.End, r.Reason)
					if r.End == Stopped {
						stops++
					}
					want := map[string]End{"forward": Continued, "back": RolledBack}[way]
					if r.End != Stopped && r.End != want {
						tr.fault("got %+v", r)
					}
					if r.End == Stopped {
						tr.desk.faults = faults
						if again, _ := tr.sitting(0); again.End != want {
							tr.fault("gone on with: %+v, want %v", again, want)
						}
					}
				}
			})
		}
	}
}

// canceller cancels before the next thing after so many.
type canceller struct {
	*desk
	left   int
	cancel context.CancelFunc
}

func (c *canceller) count() {
	if c.left == 0 {
		c.cancel()
	}
	c.left--
}

func (c *canceller) Call(ctx context.Context, origin, id, tool string, args value) (gate.Result, error) {
	c.count()
	if ctx.Err() != nil {
		return gate.Result{}, ctx.Err()
	}
	return c.desk.Call(ctx, origin, id, tool, args)
}

func (c *canceller) Preview(ctx context.Context, id, tool string, args value) (gate.Preview, error) {
	c.count()
	if ctx.Err() != nil {
		return gate.Preview{}, ctx.Err()
	}
	return c.desk.Preview(ctx, id, tool, args)
}

func (c *canceller) NoteStep(who gate.Caller, s gate.Step) error {
	c.count()
	return c.desk.NoteStep(who, s)
}

type value = canon.Value

var epoch = time.Unix(0, 0)

package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/durable/crashfs"
	"sallyport/internal/gate"
	"sallyport/internal/policy"
)

// TestWhatTheGateSawCounts: the plan's own observation holds, and the gate's does not.
func TestWhatTheGateSawCounts(t *testing.T) {
	latched := false
	b := &bench{}
	b.call = func(_ context.Context, _, tool, _ string) (string, error) {
		if tool == "do" {
			latched = true
			return "differs", nil
		}
		return `{"ok":true}`, nil
	}
	b.preview = func(_, tool, _ string) gate.Preview {
		if tool == "do" && latched {
			return gate.Preview{Rule: gate.LatchRule, Reason: "stopped: look", Stopped: "stopped: look"}
		}
		return gate.Preview{Decision: policy.Allow, ReadOnly: tool == "see"}
	}
	r, p := b.runner(t), mustPlan(t, plain(oneStep))
	report := mustRun(t, r, p)
	wantEnd(t, report, Stopped, "the gate's own verification of the call differs")
	if !report.Held || len(report.Remain) != 1 {
		t.Errorf("got %+v", report)
	}
	for range 2 {
		report = mustResume(t, r, p)
		if wantEnd(t, report, Stopped, "the gate holds back all changes there: stopped: look"); !report.Held {
			t.Error("it does not say what a person can do about it")
		}
	}
	latched = false
	wantEnd(t, mustResume(t, r, p), Continued, "")
	if calls := strings.Count(strings.Join(b.log, "\n"), "do "); calls != 1 {
		t.Errorf("the call was made %d times, want once", calls)
	}
	var verdicts []string
	for _, s := range b.steps {
		verdicts = append(verdicts, s.Verdict)
	}
	if diff := cmp.Diff([]string{Stop, Stop, Stop, Continue}, verdicts); diff != "" {
		t.Errorf("recorded (-want +got)\n%s", diff)
	}
}

// TestWhatTheGateSawOutlivesTheProcess: it dies when the outcome is journaled and nothing is decided. By then an operator may
// have released what was stopped; but nobody was told of it by the run.
func TestWhatTheGateSawOutlivesTheProcess(t *testing.T) {
	b := &bench{call: func(_ context.Context, _, tool, _ string) (string, error) {
		if tool == "do" {
			return "differs", nil
		}
		return `{"ok":true}`, nil
	}}
	r, p := b.runner(t), mustPlan(t, plain(oneStep))
	fs := crashfs.New()
	r.FS, r.Dir = fs, "runs"
	b.note = func(gate.Step) error { panic(died{"before the decision"}) }
	func() {
		defer func() {
			if _, is := recover().(died); !is {
				t.Error("it did not die")
			}
		}()
		r.Run(context.Background(), p)
	}()
	b.note = nil
	other := b.runner(t)
	other.FS, other.Dir = synced(t, fs), "runs"
	wantEnd(t, mustResume(t, other, p), Stopped, "the gate's own verification of the call differs")
	wantEnd(t, mustResume(t, other, p), Continued, "")
}

// TestAnUndoWhoseEffectTheGateDoubts fails the ROLLBACK.
func TestAnUndoWhoseEffectTheGateDoubts(t *testing.T) {
	s := newShelf()
	call := s.call
	s.call = func(ctx context.Context, id, tool, args string) (string, error) {
		body, err := call(ctx, id, tool, args)
		if tool == "take_x" {
			body = "differs"
		}
		return body, err
	}
	p := mustPlan(t, plain(undoable("x"), "call: {tool: see_x}\nread_only: true\nexpect: not result.there"))
	report := mustRun(t, s.runner(t), p)
	wantEnd(t, report, RollbackFailed, "the gate's own verification of the call differs")
	if !report.Held || len(report.Remain) != 1 {
		t.Errorf("got %+v", report)
	}
}

// TestARehearsalThatMayNotUndoDoesNothing: that an undo is denied is found out before the first call.
func TestARehearsalThatMayNotUndoDoesNothing(t *testing.T) {
	for _, denied := range []string{"put_y", "see_y", "take_y"} {
		s := newShelf()
		s.preview = func(_, tool, _ string) gate.Preview {
			if tool == denied {
				return gate.Preview{Rule: "deny", Reason: "no"}
			}
			return gate.Preview{Decision: policy.Allow, ReadOnly: strings.HasPrefix(tool, "see")}
		}
		r := s.runner(t)
		var last Event
		r.Watch = func(e Event) { last = e }
		report, err := r.Rehearse(context.Background(), mustPlan(t, plain(undoable("x"), undoable("y"))))
		if err != nil {
			t.Fatal(err)
		}
		wantEnd(t, report, Stopped, fmt.Sprintf(`step "b" cannot be carried out: %s: rule "deny" denies the call: no`, denied))
		if len(s.log) > 0 || report.Denied != denied || last.What != "end" || last.Verdict != Stop {
			t.Errorf("%s: called %q, denied %q, last event %+v", denied, s.log, report.Denied, last)
		}
	}
}

// TestARehearsalThatFailsEndsInAStop also where it could not undo all.
func TestARehearsalThatFailsEndsInAStop(t *testing.T) {
	s := newShelf()
	s.fails["take_x"] = "nothing"
	r := s.runner(t)
	var last Event
	r.Watch = func(e Event) { last = e }
	report, err := r.Rehearse(context.Background(), mustPlan(t, plain(undoable("x"))))
	if err != nil || report.End != RollbackFailed || last.What != "end" || last.Verdict != Stop {
		t.Errorf("%v, %v, last event %+v", report, err, last)
	}
}

func TestARollbackSaysWhatItUndidAndWhatStays(t *testing.T) {
	check := "call: {tool: see_x}\nread_only: true\nexpect: result.there and not result.there"
	for _, c := range []struct {
		name          string
		steps         []string
		undone, stays []string
	}{
		{"all", []string{undoable("x"), undoable("y"), check}, []string{"b", "a"}, nil},
		{"some", []string{undoable("x"), putStep("y", "undo: none"), check}, []string{"a"}, []string{"step b: undo none, what put_y did stays"}},
		{"none of it", []string{putStep("y", "undo: none"), check}, nil, []string{"step a: undo none, what put_y did stays"}},
		{"nothing was done", []string{check, undoable("x")}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShelf()
			r := s.runner(t)
			var last Event
			r.Watch = func(e Event) { last = e }
			report := mustRun(t, r, mustPlan(t, plain(c.steps...)))
			wantEnd(t, report, RolledBack, "what was expected does not hold")
			if diff := cmp.Diff([][]string{c.undone, c.stays}, [][]string{report.Undone, report.Stays}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if !strings.HasSuffix(last.Reason, strings.Join(append([]string{"hold"}, c.stays...), "; ")) {
				t.Errorf("the last event says %q", last.Reason)
			}
		})
	}
}

// TestEachDecisionHasARequestID: that of the arguments, or else the one by which the gate knows the call.
func TestEachDecisionHasARequestID(t *testing.T) {
	s := newShelf()
	p := mustPlan(t, plain(undoable("x"), strings.Replace(putStep("y", "undo: none"), "as:", "request_id:", 1), "call: {tool: see_x}\nread_only: true\nexpect: not result.there"))
	report := mustRun(t, s.runner(t), p)
	wantEnd(t, report, RolledBack, "")
	var got []string
	for _, step := range s.steps {
		got = append(got, step.RequestID)
	}
	run := report.Run
	if diff := cmp.Diff([]string{run + "/a/call", run, run + "/c/call", run + "/a/undo"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestWhatTheToolSaidIsReportedAndNotRecorded: it is others' text, and may hold anything.
func TestWhatTheToolSaidIsReportedAndNotRecorded(t *testing.T) {
	const said = `{"erased":true,"n":"secret"}`
	b := &bench{call: func(_ context.Context, _, tool, _ string) (string, error) {
		if tool == "do" {
			return said, nil
		}
		return `{"ok":false}`, nil
	}}
	r, p := b.runner(t), mustPlan(t, plain(oneStep))
	for _, report := range []Report{mustRun(t, r, p), mustResume(t, r, p)} { // the second process has it from the journal
		if wantEnd(t, report, Stopped, "what was expected does not hold"); report.Said != said {
			t.Errorf("said %q", report.Said)
		}
	}
	if text := fmt.Sprint(b.steps); len(b.steps) != 2 || strings.Contains(text, "secret") {
		t.Errorf("recorded: %s", text)
	}
	for _, c := range []struct{ body, want string }{
		{`{"isError":true,"content":[{"type":"text","text":"no such "},{"type":"image"},{"type":"text","text":"thing"}]}`, "no such thing"},
		{`{"code":-1,"message":"no"}`, "no"},
		{`{"content":[{"text":"` + strings.Repeat("ä", 300) + `"}]}`, strings.Repeat("ä", maxSaid/2) + "…"},
		{`{"content":{"text":1}}`, ""},
		{`nonsense`, ""},
	} {
		if got := words(gate.Result{Body: []byte(c.body)}); got != c.want {
			t.Errorf("%.80s: got %q, want %q", c.body, got, c.want)
		}
	}
}

// TestAPersonsTimeIsNotTheSteps: the clock is that of synctest.
func TestAPersonsTimeIsNotTheSteps(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer time.Duration // when the call is answered
		end    End
		reason string
		took   time.Duration
	}{
		{"it is answered in time", 4 * time.Minute, Continued, "", 4 * time.Minute},
		{"the call hangs afterwards", time.Hour, Stopped, notInTime, 5*time.Minute + 2*time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asks := make(chan Ask, 1)
				b := &bench{call: func(ctx context.Context, _, tool, _ string) (string, error) {
					if tool == "do" {
						asks <- Ask{Approval: "a1", Expires: time.Now().Add(5 * time.Minute)}
						select {
						case <-time.After(c.answer):
						case <-ctx.Done():
							return "", ctx.Err()
						}
					}
					return `{"ok":true}`, nil
				}}
				r := b.runner(t)
				r.FS, r.Dir, r.Asks = crashfs.New(), "runs", asks
				var asked []string
				r.Watch = func(e Event) {
					if e.What == "ask" {
						asked = append(asked, e.Step+" "+e.Approval)
					}
				}
				start := time.Now()
				wantEnd(t, mustRun(t, r, mustPlan(t, plain(oneStep+"\ntimeout: 2s"))), c.end, c.reason)
				if took := time.Since(start); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				if diff := cmp.Diff([]string{"a a1"}, asked); diff != "" {
					t.Errorf("events (-want +got)\n%s", diff)
				}
			})
		})
	}
}

// TestACallThatIsLostWhenItsTimeIsOverIsLost: that the time was over says nothing of whether it was begun.
func TestACallThatIsLostWhenItsTimeIsOverIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{call: func(ctx context.Context, _, tool, _ string) (string, error) {
			if tool == "do" {
				<-ctx.Done()
				return "", errLost
			}
			return `{"ok":false}`, nil
		}}
		r := b.runner(t)
		r.FS, r.Dir, r.Asks = crashfs.New(), "runs", make(chan Ask)
		wantEnd(t, mustRun(t, r, mustPlan(t, plain(oneStep+"\ntimeout: 2s"))), Stopped, "it is not known whether the call was carried out")
	})
}

// TestLookSaysHowARunStands, and does nothing.
func TestLookSaysHowARunStands(t *testing.T) {
	b := &bench{call: func(context.Context, string, string, string) (string, error) { return `{"ok":false}`, nil }}
	r, p := b.runner(t), mustPlan(t, "name: one\n"+plain(oneStep))
	if _, err := r.Look(p, ""); !errors.As(err, new(*NoRunError)) {
		t.Errorf("before there is a run: got %v, want a *NoRunError", err)
	}
	run := mustRun(t, r, p)
	changed := mustPlan(t, "name: one\n"+plain(strings.Replace(oneStep, "n: 1", "n: 2", 1)))
	calls := len(b.log)
	for _, p := range []*Plan{p, changed} {
		report, err := r.Look(p, "")
		if err != nil || report.Run != run.Run || report.Step != "a" || report.Reason != run.Reason || len(report.Remain) != 1 {
			t.Errorf("got %+v, %v", report, err)
		}
	}
	if len(b.log) != calls || len(b.steps) != 1 {
		t.Errorf("it did something: %q, %v", b.log[calls:], b.steps)
	}
	_, err := r.Run(context.Background(), changed)
	if e, is := errors.AsType[*UnfinishedError](err); !is || !e.Changed || e.Running {
		t.Errorf("got %+v, want one of another version of the plan", err)
	}
	if _, err := r.Resume(context.Background(), changed, run.Run); !errors.As(err, new(*ChangedError)) {
		t.Errorf("got %v, want a *ChangedError", err)
	}
}

// TestAResumedRunTellsWhatWasDecidedEarlier to whoever watches.
func TestAResumedRunTellsWhatWasDecidedEarlier(t *testing.T) {
	well := false
	b := &bench{call: func(_ context.Context, _, tool, _ string) (string, error) {
		return fmt.Sprintf(`{"ok":%t}`, well || tool == "see"), nil
	}}
	p := mustPlan(t, plain(oneStep, strings.Replace(oneStep, "see", "see2", 1)))
	r := b.runner(t)
	mustRun(t, r, p)
	well = true
	var first Event
	r.Watch = func(e Event) {
		if first.What == "" {
			first = e
		}
	}
	wantEnd(t, mustResume(t, r, p), Continued, "")
	if text := string(first.JSON()); first.What != "start" || !strings.HasPrefix(text, `{"earlier":["a"],"run":"`) {
		t.Errorf("the first event is %s", text)
	}
}

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

// shelf is a world of things that steps put there and take away.
type shelf struct {
	bench
	there map[string]bool
	fails map[string]string // tool to the answer: "isError", "lost", "nothing"
}

func newShelf() *shelf {
	s := &shelf{there: map[string]bool{}, fails: map[string]string{}}
	s.call = func(_ context.Context, _, tool, _ string) (string, error) {
		kind, thing, _ := strings.Cut(tool, "_")
		how := s.fails[tool]
		switch {
		case how == "lost":
			return "", errLost
		case how == "isError":
			return how, nil
		case kind == "put" && how == "":
			s.there[thing] = true
		case kind == "take" && how == "":
			delete(s.there, thing)
		}
		return fmt.Sprintf(`{"there":%t}`, s.there[thing]), nil
	}
	return s
}

func putStep(thing string, more ...string) string {
	text := fmt.Sprintf("call: {tool: put_%s, arguments: {as: \"${run.id}\"}}\nobserve: {tool: see_%s}\nexpect: observation.there", thing, thing)
	return text + strings.Join(append([]string{""}, more...), "\n")
}

func undoable(thing string) string {
	return putStep(thing, fmt.Sprintf("undo: {tool: take_%s}", thing), "undone: not observation.there")
}

func rehearse(t *testing.T, s *shelf, p *Plan) Report {
	t.Helper()
	r := s.runner(t)
	report, err := r.Rehearse(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestARehearsalProvesTheUndos(t *testing.T) {
	s := newShelf()
	p := mustPlan(t, plain(undoable("x"), "call: {tool: see_x}\nread_only: true\nexpect: result.there", putStep("y", "undo: none"), undoable("z")))
	report := rehearse(t, s, p)
	wantEnd(t, report, Continued, "")
	want := []string{"a put_x " + p.steps[0].proof, "d put_z " + p.steps[3].proof}
	if diff := cmp.Diff(want, s.proofs); diff != "" {
		t.Errorf("proofs (-want +got)\n%s", diff)
	}
	var calls []string
	for _, line := range s.log {
		tool, _, _ := strings.Cut(line, " ")
		calls = append(calls, tool)
	}
	wantCalls := []string{"see_x", "put_x", "see_x", "see_x", "put_y", "see_y", "see_z", "put_z", "see_z", "take_z", "see_z", "take_x", "see_x"}
	if diff := cmp.Diff(wantCalls, calls); diff != "" {
		t.Errorf("calls (-want +got)\n%s", diff)
	}
	if !strings.HasPrefix(report.Run, "rehearsal-") || !strings.Contains(s.log[1], report.Run) {
		t.Errorf("run %q, first call %s: the run's id should keep them apart", report.Run, s.log[1])
	}
	if len(s.steps) > 0 || s.there["x"] || s.there["z"] {
		t.Errorf("records %v, left %v", s.steps, s.there)
	}
}

func TestARehearsalThatFailsProvesNothingAndUndoesWhatItCan(t *testing.T) {
	for _, c := range []struct {
		name   string
		fails  map[string]string
		plan   string
		end    End
		reason string
		left   string
		remain int
	}{
		{"the call does nothing", map[string]string{"put_y": "nothing"}, plain(undoable("x"), undoable("y"), undoable("z")), Stopped, "what was expected does not hold", "", 0},
		{"the call fails", map[string]string{"put_y": "isError"}, plain(undoable("x"), undoable("y")), Stopped, "the tool says that it failed", "", 0},
		{"the call is lost", map[string]string{"put_y": "lost"}, plain(undoable("x"), undoable("y")), Stopped, "it is not known whether", "", 0},
		{"the observation fails", map[string]string{"see_y": "isError"}, plain(undoable("x"), undoable("y")), RollbackFailed, "the observation failed", "", 1},
		{"the undo does nothing", map[string]string{"take_y": "nothing"}, plain(undoable("x"), undoable("y"), undoable("z")), RollbackFailed, "after the undo", "y", 1},
		{"the undo is lost", map[string]string{"take_y": "lost"}, plain(undoable("x"), undoable("y")), RollbackFailed, "it is not known whether the undo", "y", 1},
		{"two undos fail", map[string]string{"take_x": "nothing", "take_z": "nothing"}, plain(undoable("x"), undoable("y"), undoable("z")), RollbackFailed, "after the undo", "xz", 2},
		{"a condition that proves nothing", nil, plain(undoable("x"), putStep("y", "undo: {tool: take_y}", "undone: observation.there or true")), Stopped, `"undone" holds already before the undo`, "", 0},
		{"a step without an undo", map[string]string{"put_y": "nothing"}, plain(putStep("x"), undoable("y")), Stopped, "what was expected does not hold", "x", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShelf()
			for k, v := range c.fails {
				s.fails[k] = v
			}
			report := rehearse(t, s, mustPlan(t, c.plan))
			wantEnd(t, report, c.end, c.reason)
			left := ""
			for _, thing := range []string{"x", "y", "z"} {
				if s.there[thing] {
					left += thing
				}
			}
			if left != c.left || len(s.proofs) > 0 || len(report.Remain) != c.remain {
				t.Errorf("left %q, want %q; proofs %q; %d remain, want %d: %q", left, c.left, s.proofs, len(report.Remain), c.remain, report.Remain)
			}
		})
	}
}

// TestARehearsalThatIsInterruptedIsUndone cancels at each call.
func TestARehearsalThatIsInterruptedIsUndone(t *testing.T) {
	p := mustPlan(t, plain(undoable("x"), undoable("y")))
	for n := 0; ; n++ {
		s := newShelf()
		ctx, cancel := context.WithCancel(context.Background())
		call := s.call
		s.call = func(c context.Context, id, tool, args string) (string, error) {
			if len(s.log) == n+1 {
				cancel()
			}
			if c.Err() != nil {
				return "", c.Err()
			}
			return call(c, id, tool, args)
		}
		r := s.runner(t)
		report, err := r.Rehearse(ctx, p)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if len(s.there) > 0 {
			t.Errorf("cancelled at call %d: left %v", n, s.there)
		}
		if n >= 6 { // they are all there; what is undone is undone in any case
			wantEnd(t, report, Continued, "")
			return
		}
		wantEnd(t, report, Stopped, "interrupted")
	}
}

// TestRunRehearseRollBack: what Rehearse proves is what Run asks for.
func TestRunRehearseRollBack(t *testing.T) {
	s := newShelf()
	s.proven = func() (time.Time, error) { return time.Time{}, nil }
	p := mustPlan(t, plain(undoable("x"), undoable("y")))
	s.fails["put_y"] = "nothing"
	r := s.runner(t)
	wantEnd(t, mustRun(t, r, p), Stopped, `step "b" cannot be undone: its undo was not rehearsed`)
	if err := r.Abandon(p, "", "to rehearse"); err != nil {
		t.Fatal(err)
	}
	delete(s.fails, "put_y")
	wantEnd(t, rehearse(t, s, p), Stopped, "the step's effect is there already") // that is a real one, and stays
	if !s.there["x"] || len(s.proofs) > 0 {
		t.Errorf("a rehearsal among real effects: left %v, proofs %q", s.there, s.proofs)
	}
	delete(s.there, "x")
	wantEnd(t, rehearse(t, s, p), Continued, "")
	asked := ""
	book := provenBook{s, func(proof string) { asked += proof }}
	r.Book = book
	s.fails["put_y"] = "nothing"
	wantEnd(t, mustRun(t, r, p), RolledBack, "what was expected does not hold")
	if asked != p.steps[1].proof+p.steps[0].proof || len(s.there) > 0 {
		t.Errorf("asked for %q, left %v", asked, s.there)
	}
}

type provenBook struct {
	*shelf
	asked func(string)
}

func (b provenBook) Proven(proof string) (time.Time, error) {
	b.asked(proof)
	for _, line := range b.proofs {
		if strings.HasSuffix(line, proof) {
			return time.Now(), nil
		}
	}
	return time.Time{}, nil
}

// TestTimes: the clock is that of synctest.
func TestTimes(t *testing.T) {
	const retrying = "\nretry_observe_for: 10s\ntimeout: 5s"
	for _, c := range []struct {
		name   string
		see    func(ctx context.Context, since time.Duration, n int) (string, error)
		end    End
		reason string
		took   time.Duration
		looks  int
	}{
		{"at once", func(context.Context, time.Duration, int) (string, error) { return `{"ok":true}`, nil }, Continued, "", 0, 1},
		{"after three seconds", func(_ context.Context, since time.Duration, _ int) (string, error) {
			return fmt.Sprintf(`{"ok":%t}`, since >= 3*time.Second), nil
		}, Continued, "", 3550 * time.Millisecond, 8},
		{"never", func(context.Context, time.Duration, int) (string, error) { return `{"ok":false}`, nil }, Stopped, "what was expected does not hold", 10 * time.Second, 15},
		{"it fails first", func(_ context.Context, _ time.Duration, n int) (string, error) {
			if n < 3 {
				return "isError", nil
			}
			return `{"ok":true}`, nil
		}, Continued, "", 150 * time.Millisecond, 3},
		{"it fails for ever", func(context.Context, time.Duration, int) (string, error) { return "", errLost }, Stopped, "the observation failed: the server gave no answer", 10 * time.Second, 15},
		{"of another shape first", func(_ context.Context, _ time.Duration, n int) (string, error) {
			return []string{`{}`, `{"ok":null}`, `{"ok":true}`}[min(n, 3)-1], nil
		}, Continued, "", 150 * time.Millisecond, 3},
		{"no answer comes", func(ctx context.Context, _ time.Duration, _ int) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, Stopped, "the observation failed: no answer came within 5s", 10050 * time.Millisecond, 2},
		{"denied", func(context.Context, time.Duration, int) (string, error) {
			return "", &gate.DeniedError{Rule: "r", Reason: "no"}
		}, Stopped, `the observation failed: rule "r" denied the call: no`, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, looks := time.Now(), 0
				b := &bench{}
				b.call = func(ctx context.Context, _, tool, _ string) (string, error) {
					if tool == "do" {
						return `{}`, nil
					}
					looks++
					return c.see(ctx, time.Since(start), looks)
				}
				r := b.runner(t)
				r.FS, r.Dir = crashfs.New(), "runs"
				wantEnd(t, mustRun(t, r, mustPlan(t, plain(oneStep+retrying))), c.end, c.reason)
				if took := time.Since(start); took != c.took || looks != c.looks {
					t.Errorf("it took %v and %d looks, want %v and %d", took, looks, c.took, c.looks)
				}
			})
		})
	}
}

// TestACallThatIsNotBegunInTime: the gate says by ctx's error that nothing was begun, so it can be begun later.
func TestACallThatIsNotBegunInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, hangs := 0, true
		b := &bench{call: func(ctx context.Context, _, tool, _ string) (string, error) {
			if tool == "do" {
				if calls++; hangs {
					<-ctx.Done()
					return "", ctx.Err()
				}
			}
			return `{"ok":true}`, nil
		}}
		r := b.runner(t)
		r.FS, r.Dir = crashfs.New(), "runs"
		start, p := time.Now(), mustPlan(t, plain(oneStep+"\ntimeout: 2s"))
		wantEnd(t, mustRun(t, r, p), Stopped, "the call was not begun in time")
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
		hangs = false
		wantEnd(t, mustResume(t, r, p), Continued, "")
		if calls != 2 {
			t.Errorf("%d calls", calls)
		}
	})
}

// TestHowFarACallCame: what is not certain is lost.
func TestHowFarACallCame(t *testing.T) {
	for _, c := range []struct {
		name string
		r    gate.Result
		err  error
		want progress
	}{
		{"answered", gate.Result{Body: []byte("{}")}, nil, answered},
		{"an upstream's answer", gate.Result{Body: []byte("{}"), Form: gate.Whole}, nil, answered},
		{"it failed", gate.Result{Body: []byte("{}"), Failed: true}, nil, failed},
		{"an error object", gate.Result{Body: []byte("{}"), Form: gate.Fault}, nil, failed},
		{"it wants more", gate.Result{Body: []byte("{}"), Open: true}, nil, lost},
		{"a task", gate.Result{Body: []byte("{}"), Open: true, Task: true}, nil, lost},
		{"denied", gate.Result{}, fmt.Errorf("calling: %w", &gate.DeniedError{}), nothing},
		{"hidden", gate.Result{}, &gate.DeniedError{Hidden: true}, nothing},
		{"not made", gate.Result{}, &gate.NotDone{Err: errLost}, nothing},
		{"a person is needed", gate.Result{}, &gate.InputNeededError{}, nothing},
		{"the gate: nothing was done", gate.Result{}, &gate.UnavailableError{}, nothing},
		{"cancelled", gate.Result{}, context.Canceled, nothing},
		{"too late", gate.Result{}, context.DeadlineExceeded, nothing},
		{"anything else", gate.Result{}, errLost, lost},
		{"anything else, joined", gate.Result{}, errors.Join(errLost, errors.New("x")), lost},
	} {
		if got, _ := classify(c.r, c.err); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestADryRunDoesNothing(t *testing.T) {
	s := newShelf()
	s.proven = func() (time.Time, error) { return time.Now().Add(-25 * time.Hour), nil }
	s.preview = func(id, tool, args string) gate.Preview {
		p := gate.Preview{Decision: policy.Allow, ReadOnly: strings.HasPrefix(tool, "see"), Key: id, Reason: args}
		if tool == "gone" {
			p = gate.Preview{Rule: "unknown", Reason: "there is no such tool", Hidden: true}
		}
		return p
	}
	r := s.runner(t)
	p := mustPlan(t, plain(undoable("x"),
		"call: {tool: put_y, arguments: {n: \"${steps.a.result.n}\"}}\nobserve: {tool: see_y, arguments: {n: \"${args.n}\"}}\nexpect: observation.there",
		"call: {tool: gone, arguments: {n: \"${steps.a.result.n}\"}}\nread_only: true\nexpect: result.ok",
		"call: {tool: put_z}\nobserve: {tool: see_z, arguments: {n: \"${result.n}\"}}\nexpect: observation.there\nundo: none"))
	want := []Forecast{
		{Step: "a", Tool: "put_x", HasUndo: true, Observes: "see_x", Undoes: "take_x",
			Call:    gate.Preview{Decision: policy.Allow, Key: "dry-run/a/call", Reason: `{"as":"dry-run"}`},
			Undo:    gate.Preview{Decision: policy.Allow, Key: "dry-run/a/undo", Reason: "{}"},
			Observe: gate.Preview{Decision: policy.Allow, ReadOnly: true, Reason: "{}"}},
		{Step: "b", Tool: "put_y", Unknown: true, Observes: "see_y", ObserveLater: true,
			Warnings: []string{`it has no "undo": where it or a later step goes wrong the run stops, and is not rolled back ("undo: none" if nothing need be undone)`},
			Call:     gate.Preview{Decision: policy.Allow, Key: "dry-run/b/call"},
			Observe:  gate.Preview{Decision: policy.Allow, ReadOnly: true}},
		{Step: "c", Tool: "gone", Unknown: true, Call: gate.Preview{Rule: "unknown", Reason: "there is no such tool", Hidden: true},
			Refusal: `gone: rule "unknown" denies the call: there is no such tool`},
		{Step: "d", Tool: "put_z", Observes: "see_z", ObserveLater: true,
			Call:    gate.Preview{Decision: policy.Allow, Key: "dry-run/d/call", Reason: "{}"},
			Observe: gate.Preview{Decision: policy.Allow, ReadOnly: true}},
	}
	for name, dry := range map[string]func(context.Context, *Plan) ([]Forecast, error){"run": r.DryRun, "rehearsal": r.DryRehearsal} {
		got, err := dry(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i].HasUndo && got[i].Proven.IsZero() {
				t.Errorf("%s: step %d has no time of its rehearsal", name, i)
			}
			got[i].Proven = time.Time{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if names, err := r.FS.Names(r.Dir); len(s.log) > 0 || len(s.steps) > 0 || err == nil {
		t.Errorf("calls %q, records %v, files %q", s.log, s.steps, names)
	}
}

// TestADryRehearsalForetellsWhatARehearsalDoes: where the first says that nothing would be called, nothing is, and else all is.
func TestADryRehearsalForetellsWhatARehearsalDoes(t *testing.T) {
	p := mustPlan(t, plain(undoable("x"), undoable("y")))
	deny := gate.Preview{Rule: "deny", Reason: "no"}
	for _, c := range []struct {
		tool    string // of which the policy says
		says    gate.Preview
		refused string // of a rehearsal
		runs    bool   // a run begins all the same
	}{
		{"", gate.Preview{}, "", true},
		{"put_y", deny, `put_y: rule "deny" denies the call: no`, false},
		{"see_y", deny, `see_y: rule "deny" denies the call: no`, false},
		{"see_y", gate.Preview{Decision: policy.Allow}, "see_y is to be called only to look, but", false},
		{"take_y", deny, `take_y: rule "deny" denies the call: no`, true},
		{"take_y", gate.Preview{Rule: gate.LatchRule, Reason: "held", Stopped: "held"}, `take_y: rule "latch" denies the call: held`, true},
		{"take_y", gate.Preview{Decision: policy.Ask}, "", true},
	} {
		s := newShelf()
		s.preview = func(_, tool, _ string) gate.Preview {
			if tool == c.tool {
				return c.says
			}
			return gate.Preview{Decision: policy.Allow, ReadOnly: strings.HasPrefix(tool, "see")}
		}
		r := s.runner(t)
		got, err := r.DryRehearsal(context.Background(), p)
		if err != nil || len(got) != 2 || got[0].Refusal != "" || (got[1].Refusal == "") != (c.refused == "") || !strings.HasPrefix(got[1].Refusal, c.refused) {
			t.Errorf("%s: got %+v, %v", c.tool, got, err)
		}
		if dry, err := r.DryRun(context.Background(), p); err != nil || (dry[1].Refusal == "") != c.runs {
			t.Errorf("%s: of a run %+v, %v", c.tool, dry, err)
		}
		if len(s.log) > 0 {
			t.Errorf("%s: called %q", c.tool, s.log)
		}
		report := rehearse(t, s, p)
		if called := len(s.log) > 0; called != (c.refused == "") || !strings.Contains(report.Reason, c.refused) {
			t.Errorf("%s: the rehearsal itself: called %q, %+v", c.tool, s.log, report)
		}
	}
}

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

func TestAStepThatOnlyReadsCanSendTheRunBack(t *testing.T) {
	healthy, there := false, false
	b := &bench{call: func(_ context.Context, _, tool, _ string) (string, error) {
		switch tool {
		case "do":
			there = true
		case "undo":
			there = false
		case "see_health":
			return fmt.Sprintf(`{"healthy":%t}`, healthy), nil
		}
		return fmt.Sprintf(`{"ok":%t}`, there), nil
	}}
	health := "call: {tool: see_health}\nread_only: true\nexpect: result.healthy and observation.healthy"
	p := mustPlan(t, plain(oneStep+"\nundo: {tool: undo, arguments: {of: \"${args.n}\"}}\nundone: not observation.ok", health))
	r := b.runner(t)
	report := mustRun(t, r, p)
	wantEnd(t, report, RolledBack, "what was expected does not hold")
	if there || b.log[len(b.log)-2] != `undo {"of":1}` {
		t.Errorf("there: %t; %q", there, b.log)
	}
	var got []string
	for _, s := range b.steps {
		got = append(got, fmt.Sprintf("%s %s %s %t", s.Method, s.Step, s.Verdict, s.Undone))
	}
	want := []string{"plan/step a CONTINUE false", "plan/step b ROLLBACK false", "plan/undo a  true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	healthy = true
	wantEnd(t, mustRun(t, r, p), Continued, "")
}

func TestRollbackNeedsFreshProofsAndAllowedUndos(t *testing.T) {
	base := oneStep + "\nundo: {tool: undo}\nundone: not observation.ok"
	none := oneStep + "\nundo: none"
	wrong := strings.Replace(base, "expect: observation.ok", "expect: observation.other", 1)
	for _, c := range []struct {
		name   string
		steps  []string
		proven time.Duration // ago
		never  bool
		undo   gate.Preview
		end    End
		want   string
	}{
		{"all well", []string{base, wrong}, time.Hour, false, gate.Preview{Decision: policy.Allow}, RolledBack, ""},
		{"nothing to undo", []string{none, wrong}, time.Hour, false, gate.Preview{Decision: policy.Allow}, RolledBack, ""},
		{"at the last moment", []string{base, wrong}, 24 * time.Hour, false, gate.Preview{Decision: policy.Allow}, RolledBack, ""},
		{"too old", []string{base, wrong}, 24*time.Hour + 1, false, gate.Preview{Decision: policy.Allow}, Stopped, `step "b" cannot be undone: its undo was last rehearsed at`},
		{"from the future", []string{base, wrong}, -time.Second, false, gate.Preview{Decision: policy.Allow}, Stopped, "its undo was last rehearsed"},
		{"never", []string{base, wrong}, 0, true, gate.Preview{Decision: policy.Allow}, Stopped, "its undo was not rehearsed"},
		{"denied", []string{base, wrong}, time.Hour, false, gate.Preview{Rule: "r", Reason: "no"}, Stopped, `of its undo, rule "r" denies the call: no`},
		{"asked about", []string{base, wrong}, time.Hour, false, gate.Preview{Decision: policy.Ask}, Stopped, "somebody would have to agree to its undo"},
		{"no undo before", []string{oneStep, wrong}, time.Hour, false, gate.Preview{Decision: policy.Allow}, Stopped, "a step that would have to be undone has no undo"},
		{"stop on a mismatch", []string{base, wrong + "\non_mismatch: stop"}, time.Hour, false, gate.Preview{Decision: policy.Allow}, Stopped, "on_mismatch is stop"},
		{"undo that cannot be made", []string{base, strings.Replace(wrong, "{tool: undo}", `{tool: undo, arguments: {x: "${result.nothing}"}}`, 1)}, time.Hour, false, gate.Preview{Decision: policy.Allow}, Stopped, "the arguments of undo cannot be made"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				undos := 0
				b := &bench{}
				b.call = func(_ context.Context, _, tool, _ string) (string, error) {
					if tool == "undo" {
						undos++
					}
					return fmt.Sprintf(`{"ok":%t,"other":false}`, undos == 0), nil
				}
				b.preview = func(_, tool, _ string) gate.Preview {
					if tool == "undo" {
						return c.undo
					}
					return gate.Preview{Decision: policy.Allow, ReadOnly: tool == "see"}
				}
				b.proven = func() (time.Time, error) {
					if c.never {
						return time.Time{}, nil
					}
					return time.Now().Add(-c.proven), nil
				}
				r := b.runner(t)
				r.FS, r.Dir = crashfs.New(), "runs"
				wantEnd(t, mustRun(t, r, mustPlan(t, plain(c.steps...))), c.end, c.want)
				if (undos > 0) != (c.end == RolledBack) {
					t.Errorf("%d undos", undos)
				}
			})
		})
	}
}

func TestWhatRemainsIsSaidInWords(t *testing.T) {
	base := oneStep + "\nundo: {tool: undo, arguments: {n: \"${args.n}\"}}\nundone: not observation.ok"
	wrong := strings.Replace(base, "expect: observation.ok", "expect: observation.other", 1)
	b := &bench{call: func(_ context.Context, _, tool, _ string) (string, error) {
		if tool == "undo" {
			return "", errLost
		}
		return `{"ok":true,"other":false}`, nil
	}}
	report := mustRun(t, b.runner(t), mustPlan(t, plain(base, oneStep+"\nundo: none", wrong)))
	wantEnd(t, report, RollbackFailed, "it is not known whether the undo was carried out: the server gave no answer")
	want := []string{
		`undo step "c": undo {"n":1} (nobody knows whether it was carried out); then this must hold: not observation.ok`,
		`undo step "a": undo {"n":1}; then this must hold: not observation.ok`,
	}
	if diff := cmp.Diff(want, report.Remain); diff != "" || report.Step != "c" {
		t.Errorf("at %q (-want +got)\n%s", report.Step, diff)
	}
	stopped := mustRun(t, b.runner(t), mustPlan(t, plain(base, wrong+"\non_mismatch: stop")))
	want = []string{
		`step "b": see what do {"n":1,"request_id":"r-1"} left; this should hold: observation.other; it is undone by undo {"n":1}`,
		`step "a": do was carried out and what was expected holds; it stays unless you undo it; it is undone by undo {"n":1}`,
	}
	if diff := cmp.Diff(want, stopped.Remain); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestALedgerThatRefusesIsAStop(t *testing.T) {
	refuses := true
	b := &bench{note: func(gate.Step) error {
		if refuses {
			return errors.New("the ledger takes nothing")
		}
		return nil
	}}
	r, p := b.runner(t), mustPlan(t, plain(oneStep, oneStep))
	wantEnd(t, mustRun(t, r, p), Stopped, "the decision CONTINUE could not be recorded: the ledger takes nothing")
	if diff := cmp.Diff([]string{`do {"n":1,"request_id":"r-1"}`, "see {}"}, b.log); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	refuses = false
	wantEnd(t, mustResume(t, r, p), Continued, "")
	if calls := strings.Count(strings.Join(b.log, "\n"), "do "); calls != 2 || len(b.steps) != 2 {
		t.Errorf("%d calls of 2 steps, records %+v", calls, b.steps)
	}
}

// TestTwoAttemptsWithTwoKeysHaveNone: the second attempt's key tells nothing of the first, even when the policy does not call
// the call harmless any more.
func TestTwoAttemptsWithTwoKeysHaveNone(t *testing.T) {
	now := gate.Preview{}
	b := &bench{}
	b.preview = func(_, tool, _ string) gate.Preview {
		p := now
		p.Decision, p.ReadOnly = policy.Allow, tool == "see"
		return p
	}
	b.call = func(_ context.Context, _, tool, _ string) (string, error) {
		if tool == "do" {
			return "", errLost
		}
		return `{"ok":false}`, nil
	}
	r, p := b.runner(t), mustPlan(t, plain(oneStep))
	mustRun(t, r, p)
	now = gate.Preview{Key: "k", Repeats: true}
	mustResume(t, r, p)
	now = gate.Preview{Key: "k"}
	wantEnd(t, mustResume(t, r, p), Stopped, "it cannot be known whether the call was carried out")
	if calls := strings.Count(strings.Join(b.log, "\n"), "do "); calls != 2 {
		t.Errorf("the call was made %d times, want the first time and the one that was called harmless", calls)
	}
}

// TestAnObservationMustBeOne: what it is called with may be known only after the call; then it is judged there.
func TestAnObservationMustBeOne(t *testing.T) {
	b := &bench{preview: func(string, string, string) gate.Preview { return gate.Preview{Decision: policy.Allow} }}
	p := mustPlan(t, plain(strings.Replace(oneStep, "{tool: see}", `{tool: see, arguments: {of: "${result.ok}"}}`, 1)))
	wantEnd(t, mustRun(t, b.runner(t), p), Stopped, "see is to be called only to look")
	if diff := cmp.Diff([]string{`do {"n":1,"request_id":"r-1"}`}, b.log); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

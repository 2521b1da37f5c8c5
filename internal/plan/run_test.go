package plan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
	"sallyport/internal/gate"
	"sallyport/internal/policy"
)

// The gate is what plans are made for.
var _ Book = (*gate.Gate)(nil)

// bench is tools and a book of which a test says what they do.
type bench struct {
	call    func(ctx context.Context, id, tool, args string) (string, error) // the result's structuredContent
	preview func(id, tool, args string) gate.Preview
	note    func(s gate.Step) error
	proven  func() (time.Time, error)

	log    []string // calls, with their arguments
	steps  []gate.Step
	proofs []string
}

func (b *bench) Call(ctx context.Context, _, id, tool string, args canon.Value) (gate.Result, error) {
	b.log = append(b.log, tool+" "+string(args.Bytes()))
	body, err := `{"ok":true}`, error(nil)
	if b.call != nil {
		body, err = b.call(ctx, id, tool, string(args.Bytes()))
	}
	if err != nil {
		return gate.Result{}, err
	}
	if body == "differs" {
		r, err := ok(`{"ok":true}`)
		r.Checks = gate.Differed
		return r, err
	}
	if body == "isError" {
		return gate.Result{Body: []byte(`{"isError":true,"content":[]}`), Failed: true}, nil
	}
	return ok(body)
}

func (b *bench) Preview(_ context.Context, id, tool string, args canon.Value) (gate.Preview, error) {
	if b.preview != nil {
		return b.preview(id, tool, string(args.Bytes())), nil
	}
	return gate.Preview{Decision: policy.Allow, ReadOnly: strings.HasPrefix(tool, "see")}, nil
}

func (b *bench) NoteStep(_ gate.Caller, s gate.Step) error {
	if b.note != nil {
		if err := b.note(s); err != nil {
			return err
		}
	}
	b.steps = append(b.steps, s)
	return nil
}

func (b *bench) NoteProof(_ gate.Caller, proof, _, _, step, tool string) error {
	b.proofs = append(b.proofs, step+" "+tool+" "+proof)
	return nil
}

func (b *bench) Proven(string) (time.Time, error) {
	if b.proven != nil {
		return b.proven()
	}
	return time.Now(), nil
}

func (b *bench) runner(t testing.TB) *Runner {
	return &Runner{Tools: b, Book: b, Caller: gate.Caller{Principal: "local"}, FS: durable.OS, Dir: t.TempDir() + "/runs"}
}

// plain is a plan of steps that are nothing but what the lines say.
func plain(steps ...string) string {
	text := "version: 1\nsteps:\n"
	for i, lines := range steps {
		text += fmt.Sprintf("  - id: %s\n    %s\n", letter(i), strings.ReplaceAll(lines, "\n", "\n    "))
	}
	return text
}

const oneStep = "call: {tool: do, arguments: {request_id: r-1, n: 1}}\nobserve: {tool: see}\nexpect: observation.ok"

func mustRun(t *testing.T, r *Runner, p *Plan) Report {
	t.Helper()
	report, err := r.Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func mustResume(t *testing.T, r *Runner, p *Plan) Report {
	t.Helper()
	report, err := r.Resume(context.Background(), p, "")
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func wantEnd(t *testing.T, r Report, end End, reason string) {
	t.Helper()
	if r.End != end || !strings.Contains(r.Reason, reason) {
		t.Errorf("got %v at %q: %s\nwant %v: %s", r.End, r.Step, r.Reason, end, reason)
	}
}

func TestARunTellsWhatItDoesAndRecordsWhatItDecides(t *testing.T) {
	b := &bench{}
	r := b.runner(t)
	var events []string
	r.Watch = func(e Event) {
		if e.Run == "" || e.Time.IsZero() {
			t.Errorf("an event without its run or its time: %+v", e)
		}
		e.Time, e.Run = time.Unix(1, 2), "R"
		events = append(events, string(e.JSON()))
	}
	p := mustPlan(t, plain(oneStep))
	report := mustRun(t, r, p)
	wantEnd(t, report, Continued, "")
	if diff := cmp.Diff([]string{
		`{"run":"R","ts":1000000002,"what":"start"}`,
		`{"run":"R","step":"a","tool":"do","ts":1000000002,"what":"call"}`,
		`{"run":"R","step":"a","tool":"see","ts":1000000002,"what":"observe"}`,
		`{"run":"R","step":"a","tool":"do","ts":1000000002,"verdict":"CONTINUE","what":"decide"}`,
		`{"run":"R","ts":1000000002,"verdict":"CONTINUE","what":"end"}`,
	}, events); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	sum := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	want := []gate.Step{{
		Method: gate.MethodStep, Plan: p.Digest(), Run: report.Run, Step: "a", Tool: "do", RequestID: "r-1", Verdict: Continue,
		Args:     sum(`{"n":1,"request_id":"r-1"}`),
		Expected: sum(`{"args":{"n":1,"request_id":"r-1"},"call":"do","expect":"observation.ok"}`),
		Observed: sum(`{"ok":true}`),
	}}
	if diff := cmp.Diff(want, b.steps); diff != "" {
		t.Errorf("records (-want +got)\n%s", diff)
	}
	if _, err := canon.Parse((&Event{Reason: "\"\n\x00", What: "x"}).JSON()); err != nil {
		t.Errorf("an event is not JSON: %v", err)
	}
}

// TestWhatStepsCameToOutlivesTheirProcess: the second step's arguments are made of the first one's result and observation,
// which the process that resumes has only from the journal.
func TestWhatStepsCameToOutlivesTheirProcess(t *testing.T) {
	down := true
	b := &bench{}
	b.call = func(_ context.Context, _, tool, _ string) (string, error) {
		switch {
		case tool == "do":
			return `{"id":"x-7","big":12345678901234567890}`, nil
		case tool == "see":
			return `{"ok":true,"deep":[{"n":1.50}]}`, nil
		case tool == "do2" && down:
			return "", &gate.DeniedError{Rule: "not-yet", Reason: "come again"}
		}
		return `{"ok":true}`, nil
	}
	r := b.runner(t)
	p := mustPlan(t, plain(oneStep,
		"call: {tool: do2, arguments: {id: \"${steps.a.result.id}\", big: \"${steps.a.result.big}\", deep: \"${steps.a.observation.deep.0}\", run: \"r-${run.id}\"}}\n"+
			"observe: {tool: see2}\nexpect: observation.ok and steps.a.result.id == \"x-7\" and steps[\"a\"].observation.ok"))
	first := mustRun(t, r, p)
	wantEnd(t, first, Stopped, `rule "not-yet" denied the call: come again`)
	down = false
	other := b.runner(t)
	other.Dir = r.Dir
	report := mustResume(t, other, p)
	wantEnd(t, report, Continued, "")
	if report.Run != first.Run {
		t.Errorf("the run has another id: %s, was %s", report.Run, first.Run)
	}
	const want = `{"big":12345678901234567890,"deep":{"n":1.5},"id":"x-7","run":"r-`
	var calls []string
	for _, line := range b.log {
		if strings.HasPrefix(line, "do2 ") {
			calls = append(calls, line)
		}
	}
	if len(calls) != 2 || calls[0] != calls[1] || !strings.HasPrefix(calls[0], "do2 "+want+first.Run) {
		t.Errorf("got %q, want twice do2 %s%s…", calls, want, first.Run)
	}
}

func TestWhatIsTooLargeIsAStop(t *testing.T) {
	large := `{"ok":true,"text":"` + strings.Repeat("x", 2<<20) + `"}`
	body := map[string]string{"do": `{"ok":true}`, "see": large}
	b := &bench{call: func(_ context.Context, _, tool, _ string) (string, error) { return body[tool], nil }}
	r, p := b.runner(t), mustPlan(t, plain(oneStep))
	wantEnd(t, mustRun(t, r, p), Stopped, "larger than 1024 KiB")
	body["see"] = `{"ok":true}`
	wantEnd(t, mustResume(t, r, p), Continued, "")
	if err := r.Abandon(p, "", "x"); !errors.As(err, new(*NoRunError)) {
		t.Errorf("a run that is over can be abandoned: %v", err)
	}

	b.log, body["do"] = nil, large
	wantEnd(t, mustRun(t, r, p), Stopped, "what the call came to cannot be kept: it is larger than 1024 KiB")
	wantEnd(t, mustResume(t, r, p), Continued, "") // what it left can be seen; that is what counts
	if calls := strings.Count(strings.Join(b.log, "\n"), "do "); calls != 1 {
		t.Errorf("the call was made %d times, want once", calls)
	}

	body["do"], b.log = `{"t":"`+strings.Repeat("x", 600<<10)+`"}`, nil
	p = mustPlan(t, plain(oneStep, strings.Replace(oneStep, "n: 1", `n: "${steps.a.result.t}${steps.a.result.t}"`, 1)))
	wantEnd(t, mustRun(t, r, p), Stopped, "the arguments of do cannot be made: it is larger than 1024 KiB")
	if calls := strings.Count(strings.Join(b.log, "\n"), "do "); calls != 1 {
		t.Errorf("the calls were made %d times, want once", calls)
	}
	deep := `{"ok":true,"d":` + strings.Repeat("[", 124) + strings.Repeat("]", 124) + `}`
	body["do"], body["see"] = `{}`, deep
	wantEnd(t, mustRun(t, r, mustPlan(t, plain(oneStep+" == true"))), Stopped, "nested too deep")
}

func TestOnlyOneCarriesOutARun(t *testing.T) {
	entered, leave := make(chan bool), make(chan bool)
	b := &bench{call: func(_ context.Context, _, tool, _ string) (string, error) {
		if tool == "do" {
			entered <- true
			<-leave
		}
		return `{"ok":true}`, nil
	}}
	r, p := b.runner(t), mustPlan(t, "name: one\n"+plain(oneStep))
	done := make(chan Report)
	go func() { done <- mustRun(t, r, p) }()
	<-entered
	other := *r
	_, err := other.Resume(context.Background(), p, "")
	if !errors.As(err, new(*RunningError)) {
		t.Errorf("a second Resume: got %v, want a *RunningError", err)
	}
	_, err = other.Run(context.Background(), p)
	if e, ok := errors.AsType[*UnfinishedError](err); !ok || !strings.Contains(e.Reason, "at this moment") {
		t.Errorf("a second Run: got %v, want an *UnfinishedError", err)
	}
	if err := other.Abandon(p, "", "x"); !errors.As(err, new(*RunningError)) {
		t.Errorf("Abandon: got %v, want a *RunningError", err)
	}
	changed := mustPlan(t, "name: one\n"+plain(strings.Replace(oneStep, "n: 1", "n: 2", 1)))
	if _, err = other.Run(context.Background(), changed); !errors.As(err, new(*UnfinishedError)) {
		t.Errorf("a changed plan of the same name: got %v, want an *UnfinishedError", err)
	}
	leave <- true
	wantEnd(t, <-done, Continued, "")
	if calls := strings.Count(strings.Join(b.log, "\n"), "do "); calls != 1 {
		t.Errorf("the call was made %d times, want once", calls)
	}
}

func TestRunsBegunAtOnceAreOne(t *testing.T) {
	p := planOf(t, twoSteps["unkeyed"])
	fs := crashfs.New()
	results := make(chan error)
	for range 4 {
		go func() {
			d := newDesk(newWorld())
			d.faults = func(string, int) fault { return lostNothing } // so that it is not over
			d.sit(func() {})
			r := &Runner{Tools: d, Book: d, FS: fs, Dir: "runs"}
			_, err := r.Run(context.Background(), p)
			results <- err
		}()
	}
	began := 0
	for range 4 {
		if err := <-results; err == nil {
			began++
		} else if !errors.As(err, new(*UnfinishedError)) {
			t.Errorf("got %v, want an *UnfinishedError", err)
		}
	}
	if began != 1 {
		t.Errorf("%d runs began, want one", began)
	}
}

func TestAPlanThatWasChangedIsNotGoneOnWith(t *testing.T) {
	b := &bench{call: func(context.Context, string, string, string) (string, error) { return `{"ok":false}`, nil }}
	r := b.runner(t)
	old, changed := mustPlan(t, plain(oneStep)), mustPlan(t, plain(strings.Replace(oneStep, "n: 1", "n: 2", 1)))
	run := mustRun(t, r, old).Run
	calls := len(b.log)
	if _, err := r.Resume(context.Background(), changed, run); err == nil || !strings.Contains(err.Error(), "the plan was changed since run "+run) {
		t.Errorf("got %v", err)
	}
	if _, err := r.Resume(context.Background(), changed, ""); !errors.As(err, new(*NoRunError)) {
		t.Errorf("without an id: got %v, want a *NoRunError", err)
	}
	if len(b.log) != calls {
		t.Errorf("something was called: %q", b.log[calls:])
	}
	other := *r
	other.Caller.Principal = "somebody"
	if _, err := other.Resume(context.Background(), old, run); err == nil || !strings.Contains(err.Error(), "another caller") {
		t.Errorf("for another caller: got %v", err)
	}
	for _, id := range []string{"../runs/" + run, run + "/", ".", "", "nobody", run + ".jsonl"} {
		if _, err := r.Resume(context.Background(), changed, id); !errors.As(err, new(*NoRunError)) {
			t.Errorf("id %q: got %v, want a *NoRunError", id, err)
		}
	}
	if err := r.Abandon(changed, run, "we start anew"); err != nil {
		t.Errorf("abandoning it by its id: %v", err)
	}
	if _, err := r.Resume(context.Background(), old, run); !errors.As(err, new(*NoRunError)) {
		t.Errorf("after it was abandoned: got %v, want a *NoRunError", err)
	}
	last := b.steps[len(b.steps)-1]
	if last.Verdict != Stop || last.Run != run || last.Plan != old.Digest() || last.Reason != "the run was abandoned: we start anew" {
		t.Errorf("recorded: %+v", last)
	}
}

func TestAbandonIsRecordedFirst(t *testing.T) {
	b := &bench{call: func(context.Context, string, string, string) (string, error) { return `{"ok":false}`, nil }}
	r, p := b.runner(t), mustPlan(t, plain(oneStep))
	mustRun(t, r, p)
	b.note = func(gate.Step) error { return errors.New("the ledger takes nothing") }
	if err := r.Abandon(p, "", "x"); err == nil {
		t.Error("it was abandoned without a record")
	}
	b.note = nil
	if _, err := r.Run(context.Background(), p); !errors.As(err, new(*UnfinishedError)) {
		t.Errorf("got %v, want an *UnfinishedError", err)
	}
	if err := r.Abandon(p, "", "x"); err != nil {
		t.Error(err)
	}
	if report := mustRun(t, r, p); report.End != Stopped {
		t.Errorf("got %+v", report)
	}
}

// TestAKeyThatCameLaterDoesNotMakeACallSafe: the first attempt had no key, so the gate does not know it. A key of today would
// make it run twice.
func TestAKeyThatCameLaterDoesNotMakeACallSafe(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second gate.Preview
		again         bool
	}{
		{"no key, then one", gate.Preview{}, gate.Preview{Key: "k"}, false},
		{"one key, then another", gate.Preview{Key: "k"}, gate.Preview{Key: "other"}, false},
		{"a key, then none", gate.Preview{Key: "k"}, gate.Preview{}, false},
		{"the same key", gate.Preview{Key: "k"}, gate.Preview{Key: "k"}, true},
		{"no key, then harmless", gate.Preview{}, gate.Preview{Repeats: true}, true},
		{"harmless, then not", gate.Preview{Repeats: true}, gate.Preview{}, false},
	} {
		for _, undo := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s undo=%t", c.name, undo), func(t *testing.T) {
				now, lost, there := c.first, true, undo
				tool := map[bool]string{false: "do", true: "undo"}[undo]
				b := &bench{}
				b.preview = func(_, tool, _ string) gate.Preview {
					p := now
					if p.Decision = policy.Allow; tool == "see" {
						p = gate.Preview{Decision: policy.Allow, ReadOnly: true}
					}
					return p
				}
				b.call = func(_ context.Context, _, called, _ string) (string, error) {
					switch {
					case called == tool && lost:
						return "", errLost
					case called == "undo":
						there = false
					case called == "do" && !undo:
						there = true
					}
					return fmt.Sprintf(`{"ok":%t,"there":%t}`, there && !undo, there), nil
				}
				r := b.runner(t)
				p := mustPlan(t, plain(oneStep+"\nundo: {tool: undo}\nundone: not observation.there"))
				first := mustRun(t, r, p)
				wantEnd(t, first, map[bool]End{false: Stopped, true: RollbackFailed}[undo], "it is not known whether")
				now, lost = c.second, false
				b.log = nil
				second := mustResume(t, r, p)
				if called := slicesContain(b.log, tool+" "); called != c.again {
					t.Errorf("the call was made again: %t, want %t; %v: %s", called, c.again, second.End, second.Reason)
				}
			})
		}
	}
}

func slicesContain(lines []string, prefix string) bool {
	for _, line := range lines {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

// TestADenialOfTheSecondAttemptSaysNothingOfTheFirst: whether the first one happened is as unknown as before.
func TestADenialOfTheSecondAttemptSaysNothingOfTheFirst(t *testing.T) {
	answer := errLost
	key := "k"
	b := &bench{}
	b.preview = func(_, tool, _ string) gate.Preview {
		return gate.Preview{Decision: policy.Allow, ReadOnly: tool == "see", Key: key}
	}
	b.call = func(_ context.Context, _, tool, _ string) (string, error) {
		if tool == "do" {
			return "", answer
		}
		return `{"ok":false}`, nil
	}
	r, p := b.runner(t), mustPlan(t, plain(oneStep))
	mustRun(t, r, p)
	answer = &gate.DeniedError{Rule: "r", Reason: "no"}
	wantEnd(t, mustResume(t, r, p), Stopped, "no")
	key, answer, b.log = "", nil, nil
	wantEnd(t, mustResume(t, r, p), Stopped, "it cannot be known whether the call was carried out")
	if slicesContain(b.log, "do ") {
		t.Errorf("it was called again: %q", b.log)
	}
}

func TestWhatIsDeniedStopsTheRunBeforeAnythingIsDone(t *testing.T) {
	second := strings.ReplaceAll(strings.ReplaceAll(oneStep, "do,", "do2,"), "see}", "see2}")
	for name, c := range map[string]struct {
		tool string
		p    gate.Preview
		want string
	}{
		"a call":                     {"do2", gate.Preview{Rule: "r", Reason: "no"}, `step "b" cannot be carried out: do2: rule "r" denies the call: no`},
		"an observation":             {"see2", gate.Preview{Rule: "r", Reason: "no"}, `step "b" cannot be carried out: see2: rule "r" denies the call: no`},
		"an observation that writes": {"see2", gate.Preview{Decision: policy.Allow}, `see2 is to be called only to look`},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{}
			b.preview = func(_, tool, _ string) gate.Preview {
				if tool == c.tool {
					return c.p
				}
				return gate.Preview{Decision: policy.Allow, ReadOnly: strings.HasPrefix(tool, "see")}
			}
			wantEnd(t, mustRun(t, b.runner(t), mustPlan(t, plain(oneStep, second))), Stopped, c.want)
			if len(b.log) > 0 {
				t.Errorf("something was called: %q", b.log)
			}
			if len(b.steps) != 1 || b.steps[0].Verdict != Stop {
				t.Errorf("recorded: %+v", b.steps)
			}
		})
	}
}

// TestAPlansWordDoesNotMakeAToolReadOnly: what may be called over and over is for the policy to say.
func TestAPlansWordDoesNotMakeAToolReadOnly(t *testing.T) {
	b := &bench{}
	p := mustPlan(t, plain("call: {tool: do, arguments: {x: \"${run.id}\"}}\nread_only: true\nexpect: result.ok"))
	wantEnd(t, mustRun(t, b.runner(t), p), Stopped, "do is to be called only to look, but the policy does not say that it only reads")
	if len(b.log) > 0 {
		t.Errorf("it was called: %q", b.log)
	}
}

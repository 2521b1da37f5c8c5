package plan

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/policy"
	"sallyport/internal/postcondition"
)

// survey asks what would become of the calls that are to come, before the first of them is made: of those whose arguments are
// known, and of the tools of the others.
func (t *sitting) survey(ctx context.Context, a action) fact {
	f := fact{what: surveyed, step: a.step}
	for i := a.step; i < len(t.plan.steps) && f.reason == ""; i++ {
		if t.state.steps[i].call.progress != unbegun {
			continue
		}
		if f.reason = t.unfitStep(ctx, i); f.reason != "" {
			f.reason = fmt.Sprintf("step %q cannot be carried out: %s", t.plan.steps[i].id, f.reason)
		}
	}
	return f
}

// unfitStep says why a step that is to come cannot be carried out, "" as far as that is known. In a rehearsal its undo is a part
// of it.
func (t *sitting) unfitStep(ctx context.Context, i int) string {
	step := &t.plan.steps[i]
	reason := t.unfit(ctx, step, &step.call, action{step: i}, step.readOnly)
	if reason == "" && step.observe != nil {
		reason = t.unfit(ctx, step, step.observe, action{step: i, move: look}, true)
	}
	if reason == "" && step.undo != nil && t.shape.rehearse {
		reason = t.unfit(ctx, step, step.undo, action{step: i, undo: true}, false)
	}
	return reason
}

// unfit says why a call that is to come cannot be made, "" as far as that is known.
func (t *sitting) unfit(ctx context.Context, step *step, i *invocation, a action, looks bool) string {
	id := t.requestID(a)
	if a.move == look {
		id = ""
	}
	args, known := t.knownArgs(step, i)
	pre, err := t.Tools.Preview(ctx, id, i.tool, args)
	switch {
	case ctx.Err() != nil:
		return "" // that is noticed anyway
	case err != nil:
		return "what would become of it could not be found out: " + err.Error()
	case !known && !hopeless(pre):
		return ""
	case pre.Decision == policy.Deny:
		if t.answer.Held = stopped(pre) != ""; !t.answer.Held {
			t.answer.Denied = i.tool
		}
		return i.tool + ": " + refusal(pre)
	case known && looks && !pre.ReadOnly:
		return notReadOnly(i.tool)
	}
	return ""
}

// hopeless reports whether no arguments can help a call that was judged without its own.
func hopeless(pre gate.Preview) bool {
	return pre.Decision == policy.Deny && pre.Hidden
}

// knownArgs are arguments that need nothing from other steps, nor from the call itself.
func (t *sitting) knownArgs(step *step, i *invocation) (canon.Value, bool) {
	names := i.args.Names()
	values := postcondition.Values{"run": mustParse(object{"id": quoted(t.run)}.bytes())}
	if i != &step.call && (slices.Contains(names, "args") || slices.Contains(names, "call")) {
		args, known := t.knownArgs(step, &step.call)
		if !known {
			return canon.Value{}, false
		}
		values["args"] = args
		values["call"] = called(step.call.tool, args)
	}
	if slices.Contains(names, "steps") || slices.Contains(names, "result") {
		return canon.Value{}, false
	}
	args, err := i.args.Expand(values)
	if err == nil {
		args, err = kept(args)
	}
	return args, err == nil
}

// weigh asks whether everything that a ROLLBACK from a step must undo can be undone: its undo was rehearsed not too long ago,
// and is allowed now.
func (t *sitting) weigh(ctx context.Context, a action) fact {
	f := fact{what: weighed, step: a.step}
	for i := a.step; i >= 0; i-- {
		step := &t.plan.steps[i]
		if step.undo == nil || t.state.steps[i].call.progress == unbegun {
			continue
		}
		if f.reason = t.unproven(step); f.reason == "" {
			f.reason = t.forbidden(ctx, i)
		}
		if f.reason != "" {
			f.reason = fmt.Sprintf("step %q cannot be undone: %s", step.id, f.reason)
			break
		}
	}
	return f
}

// unproven says why the undo of a step does not count as rehearsed, "" if it does.
func (t *sitting) unproven(step *step) string {
	when, err := t.Book.Proven(step.proof)
	switch {
	case err != nil:
		return "its rehearsal could not be looked up: " + err.Error()
	case when.IsZero():
		return "its undo was not rehearsed"
	case !fresh(when, t.plan.maxAge):
		return fmt.Sprintf("its undo was last rehearsed at %s, and a rehearsal counts for %v", when.UTC().Format(time.RFC3339), t.plan.maxAge)
	}
	return ""
}

// fresh reports whether a proof counts. One from the future does not: some clock is wrong.
func fresh(when time.Time, most time.Duration) bool {
	age := time.Since(when)
	return !when.IsZero() && age >= 0 && age <= most
}

// forbidden says why the undo of a step would not be carried out, "" if it would. Nobody is asked in the midst of a ROLLBACK.
func (t *sitting) forbidden(ctx context.Context, step int) string {
	a := action{step: step, undo: true}
	args, reason := t.expand(t.invocation(a), step)
	if reason != "" {
		return reason
	}
	pre, err := t.Tools.Preview(ctx, t.requestID(a), t.invocation(a).tool, args)
	switch {
	case err != nil:
		return "what would become of its undo could not be found out: " + err.Error()
	case pre.Decision == policy.Ask:
		return "somebody would have to agree to its undo"
	case pre.Decision != policy.Allow:
		return "of its undo, " + refusal(pre)
	}
	return ""
}

// Forecast is what would become of one step.
type Forecast struct {
	Step string

	Tool    string // that it calls
	Call    gate.Preview
	Unknown bool // its arguments depend on earlier steps, so that only the tool could be judged

	Observes     string       // the tool that looks, "" where the call itself does
	Observe      gate.Preview // it must be ReadOnly
	ObserveLater bool         // its arguments depend on what comes before, as Unknown

	HasUndo   bool
	Undoes    string // the tool that undoes it
	Undo      gate.Preview
	UndoLater bool      // as ObserveLater
	Proven    time.Time // when its undo was rehearsed, the zero time if never
	Fresh     bool      // that is not longer ago than the plan allows

	Refusal  string   // why the step would be stopped before anything is done, "" if it would not
	Warnings []string // of what is written in the step, in words: what may be meant otherwise
}

// warnings are what can be said of a step without carrying it out.
func (s *step) warnings() (all []string) {
	looks := func(c *postcondition.Condition) bool {
		return slices.Contains(c.Names(), "observation") || s.observe == nil && slices.Contains(c.Names(), "result")
	}
	if !looks(s.expect) {
		all = append(all, `"expect" does not look at what was observed`)
	}
	if s.undone != nil && !looks(s.undone) {
		all = append(all, `"undone" does not look at what was observed`)
	}
	if !s.readOnly && s.undo == nil && !s.noUndo {
		all = append(all, `it has no "undo": where it or a later step goes wrong the run stops, and is not rolled back ("undo: none" if nothing need be undone)`)
	}
	return all
}

// DryRun says what a run would call, and what the policy would say. It does nothing.
func (r *Runner) DryRun(ctx context.Context, p *Plan) ([]Forecast, error) {
	return r.forecasts(ctx, p, false)
}

// DryRehearsal is DryRun of a rehearsal, in which each undo is to be called as well. Whether an effect is there already before its
// call, which a rehearsal refuses, is not looked at: that would be a call.
func (r *Runner) DryRehearsal(ctx context.Context, p *Plan) ([]Forecast, error) {
	return r.forecasts(ctx, p, true)
}

func (r *Runner) forecasts(ctx context.Context, p *Plan, rehearse bool) ([]Forecast, error) {
	t := &sitting{Runner: r, plan: p, shape: shapeOf(p, rehearse), run: "dry-run"}
	t.state = newState(t.shape)
	var all []Forecast
	for i := range p.steps {
		f, err := t.forecast(ctx, i)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// forecast says what would become of a step.
func (t *sitting) forecast(ctx context.Context, i int) (Forecast, error) {
	step := &t.plan.steps[i]
	f := Forecast{Step: step.id, Tool: step.call.tool, HasUndo: step.undo != nil, Warnings: step.warnings()}
	preview := func(i *invocation, id, of string) (pre gate.Preview, unknown bool, err error) {
		args, known := t.knownArgs(step, i)
		if pre, err = t.Tools.Preview(ctx, id, i.tool, args); err != nil {
			err = fmt.Errorf("asking what would become of %sstep %q: %w", of, step.id, err)
		}
		return pre, !known, err
	}
	var err error
	if f.Call, f.Unknown, err = preview(&step.call, t.requestID(action{step: i}), ""); err != nil {
		return f, err
	}
	if step.observe != nil {
		f.Observes = step.observe.tool
		if f.Observe, f.ObserveLater, err = preview(step.observe, "", "the observation of "); err != nil {
			return f, err
		}
	}
	if step.undo != nil {
		f.Undoes = step.undo.tool
		if f.Undo, f.UndoLater, err = preview(step.undo, t.requestID(action{step: i, undo: true}), "the undo of "); err != nil {
			return f, err
		}
		if f.Proven, err = t.Book.Proven(step.proof); err != nil {
			return f, fmt.Errorf("looking up the rehearsal of step %q: %w", step.id, err)
		}
		f.Fresh = fresh(f.Proven, t.plan.maxAge)
	}
	f.Refusal = t.unfitStep(ctx, i)
	return f, nil
}

package plan

import (
	"context"
	"fmt"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/policy"
)

// Rehearse carries out the steps of a plan and then undoes them, the last first, and looks after each call and each undo. It is
// for a server where that does no harm: ${run.id} keeps its effects apart from those of a run. If everything came out as it
// should, the proofs of all steps with an undo are recorded, and the report's End is Continued. Else its Reason says what
// failed, what could be undone is, and nothing is proven: Stopped, or RollbackFailed if something remains to be undone by hand.
//
// It is not journaled: of a rehearsal that is killed, the effects stay.
func (r *Runner) Rehearse(ctx context.Context, p *Plan) (Report, error) {
	shape := shapeOf(p, true)
	t := &sitting{Runner: r, plan: p, shape: shape, state: newState(shape), run: "rehearsal-" + newRunID(time.Now())}
	return t.carryOut(ctx), nil
}

// unclean says why a step must not be rehearsed here: what its undo must bring about is not so before its call. Then its effect
// is there already, and undoing it would take away what is none of the rehearsal's. It is "" too where that cannot be told yet,
// since it needs what the call comes to, or since nothing can be observed.
func (t *sitting) unclean(ctx context.Context, i int, args canon.Value) string {
	step := &t.plan.steps[i]
	if step.undone == nil {
		return ""
	}
	values := t.values(i)
	values["args"], values["call"] = args, called(step.call.tool, args)
	look, err := step.observe.args.Expand(values)
	if err != nil {
		return ""
	}
	if pre, err := t.Tools.Preview(ctx, "", step.observe.tool, look); err != nil || !pre.ReadOnly || pre.Decision == policy.Deny {
		return "" // the look after the call will say what is wrong
	}
	observation, reason, _ := t.observe(ctx, step, step.observe, look)
	if reason != "" {
		return ""
	}
	values["observation"] = observation
	if as, err := step.undone.Holds(values); err != nil || as {
		return ""
	}
	return `what "undone" says is not so before the call: the step's effect is there already. Rehearse on a server meant for it, ` +
		"and give the step's effects names of their own with ${run.id}"
}

// rehearsed is the report of a rehearsal, whose proofs it records.
func (t *sitting) rehearsed(r Report) Report {
	s := t.state
	r.Reason = s.flaw
	for i := range s.steps {
		if s.steps[i].kept {
			r.End, r.Step = RollbackFailed, t.plan.steps[i].id
		}
	}
	if r.End == RollbackFailed {
		r.Remain = t.remain(r.End)
		return r
	}
	for i := range t.plan.steps {
		step := &t.plan.steps[i]
		if !step.readOnly && step.undo == nil && !step.noUndo && s.steps[i].call.progress != unbegun {
			r.Remain = append(r.Remain, fmt.Sprintf("step %q: %s has no undo; what it did stays", step.id, step.call.tool))
		}
	}
	if r.Reason != "" {
		return r
	}
	if r.Reason = t.prove(); r.Reason == "" {
		r.End = Continued
	}
	return r
}

// prove records the proofs, or says why it cannot.
func (t *sitting) prove() string {
	for i := range t.plan.steps {
		step := &t.plan.steps[i]
		if step.undo == nil {
			continue
		}
		if err := t.Book.NoteProof(t.Caller, step.proof, t.plan.digest, t.run, step.id, step.call.tool); err != nil {
			return fmt.Sprintf("the proof of step %q could not be recorded: %v", step.id, err)
		}
	}
	return ""
}

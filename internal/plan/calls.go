package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/policy"
	"sallyport/internal/postcondition"
)

// invocation is what a step calls, or its undo.
func (t *sitting) invocation(a action) *invocation {
	if a.undo {
		return t.plan.steps[a.step].undo
	}
	return &t.plan.steps[a.step].call
}

// requestID names a call for the gate.
func (t *sitting) requestID(a action) string {
	if a.undo {
		return t.run + "/" + t.plan.steps[a.step].id + "/undo"
	}
	return t.run + "/" + t.plan.steps[a.step].id + "/call"
}

// prepare makes the arguments of a call, and asks what would become of it. A call that was begun before is made with the
// arguments that it was begun with.
func (t *sitting) prepare(ctx context.Context, a action) fact {
	f := fact{what: prepared, step: a.step, undo: a.undo}
	if f.args = t.attempt(a).args; !f.args.Exists() {
		f.args, f.reason = t.expand(t.invocation(a), a.step)
	}
	if f.reason != "" {
		return f
	}
	pre, err := t.Tools.Preview(ctx, t.requestID(a), t.invocation(a).tool, f.args)
	switch readOnly := !a.undo && t.plan.steps[a.step].readOnly; {
	case err != nil:
		f.reason = "what would become of the call could not be found out: " + err.Error()
	case pre.Decision == policy.Deny:
		f.reason = refusal(pre)
	case readOnly && !pre.ReadOnly:
		f.reason = notReadOnly(t.invocation(a).tool)
	}
	f.key, f.repeats, f.stopped = pre.Key, pre.Repeats, stopped(pre)
	t.answer.Held = f.stopped != ""
	if f.reason == "" && t.shape.rehearse && !a.undo {
		f.reason = t.unclean(ctx, a.step, f.args)
	}
	return f
}

// expand makes arguments, or says why they cannot be made.
func (t *sitting) expand(i *invocation, step int) (canon.Value, string) {
	args, err := i.args.Expand(t.values(step))
	if err == nil {
		args, err = kept(args)
	}
	if err != nil {
		return canon.Value{}, fmt.Sprintf("the arguments of %s cannot be made: %v", i.tool, err)
	}
	return args, ""
}

func refusal(pre gate.Preview) string {
	if pre.Reason == "" {
		return fmt.Sprintf("rule %q "+denies, pre.Rule)
	}
	return fmt.Sprintf("rule %q "+denies+": %s", pre.Rule, pre.Reason)
}

// What is said of a denial, before the reason that the policy gives.
const (
	denies    = "denies the call"
	hasDenied = "denied the call"
)

// recordable is as much of a reason as goes into the ledger: what a policy says behind a denial may quote arguments, which are
// for the terminal and the journal.
func recordable(reason string) string {
	for _, own := range []string{denies, hasDenied} {
		if before, _, found := strings.Cut(reason, own+": "); found {
			return before + own
		}
	}
	return reason
}

// stopped says why the gate holds back all changes where a call would be made, "" if it does not.
func stopped(pre gate.Preview) string { return pre.Stopped }

// notReadOnly says that a plan's word does not count for what may be called over and over: the policy's does.
func notReadOnly(tool string) string {
	return fmt.Sprintf("%s is to be called only to look, but the policy does not say that it only reads; give it a rule with read_only: true", tool)
}

// makeCall makes a call that was noted, or one that needs no note.
func (t *sitting) makeCall(ctx context.Context, a action) fact {
	step, i := &t.plan.steps[a.step], t.invocation(a)
	f := fact{what: outcome, step: a.step, undo: a.undo, how: nothing}
	args := t.attempt(a).args
	if step.readOnly {
		args = t.state.prepared.args
		f.args = args
	}
	if ctx.Err() != nil {
		f.reason = "it was interrupted"
		return f
	}
	event := Event{What: "call", Step: step.id, Tool: i.tool}
	if a.undo {
		event.What = "undo"
	}
	t.tell(event)
	result, late, err := t.call(ctx, step, t.requestID(a), i.tool, args)
	if f.how, f.reason = classify(result, err); late && f.how == nothing && f.reason == notBegun {
		f.reason = notInTime
	}
	f.differs = err == nil && result.Checks == gate.Differed && !step.readOnly
	if denied, ok := errors.AsType[*gate.DeniedError](err); ok && denied.Rule == gate.LatchRule {
		f.stopped = denied.Reason
	}
	t.answer.Held = f.differs || f.stopped != ""
	t.said = words(result)
	if step.readOnly && f.how == lost {
		f.how = nothing // nothing is ever done by it
	}
	if f.how == answered && !a.undo {
		f.result, err = t.result(result)
		if err != nil {
			f.reason = fmt.Sprintf("what the call came to cannot be kept: %v", err)
		}
	}
	return f
}

// words are what a tool said of itself, as far as a person wants to read it. They decide nothing, and are on no record.
func words(r gate.Result) string {
	v, err := canon.Parse(r.Body)
	if err != nil {
		return ""
	}
	if v.Get("structuredContent").Kind() == canon.Object {
		return clip(string(v.Get("structuredContent").Bytes()), maxSaid)
	}
	text := textOf(v, "message") // of an error
	for block := range v.Get("content").Elements() {
		text += textOf(block, "text")
	}
	return clip(text, maxSaid)
}

const maxSaid = 256 // bytes

// spoken is what the tool of a step said of itself, to this process or, as far as it is kept, to an earlier one.
func (t *sitting) spoken(step int) string {
	if result := t.state.steps[step].result; t.said == "" && result.Exists() {
		return clip(string(result.Bytes()), maxSaid)
	}
	return t.said
}

// result is what a call came to, as conditions speak of it; absent where they cannot.
func (t *sitting) result(r gate.Result) (canon.Value, error) {
	if len(r.Body) > 4*maxKept {
		return canon.Value{}, fmt.Errorf("it is larger than %d KiB", maxKept>>10)
	}
	v, err := postcondition.Observed(r.Body)
	if err != nil {
		return canon.Value{}, nil // what is expected is looked for in what remained, not in words
	}
	return kept(v)
}

// classify says how far a call came. What is not known to have happened, or not to have, is lost.
func classify(r gate.Result, err error) (progress, string) {
	if err != nil {
		return classifyError(err)
	}
	switch {
	case r.Open:
		return lost, "the server wants something first, or goes on by itself: nobody can answer it here"
	case r.Failed || r.Form == gate.Fault:
		return failed, ""
	}
	return answered, ""
}

// Why a call was not begun.
const (
	notInTime = "the call was not begun in time"
	notBegun  = "it was interrupted before the call was begun"
)

func classifyError(err error) (progress, string) {
	if denied, ok := errors.AsType[*gate.DeniedError](err); ok {
		if denied.Hidden {
			return nothing, "there is no such tool, or it can never be called"
		}
		return nothing, fmt.Sprintf("rule %q "+hasDenied+": %s", denied.Rule, denied.Reason)
	}
	if unavailable, ok := errors.AsType[*gate.UnavailableError](err); ok {
		if unavailable.NothingDone() {
			return nothing, unavailable.Error()
		}
		return lost, unavailable.Error()
	}
	var asks *gate.InputNeededError
	var notDone *gate.NotDone
	switch {
	case errors.As(err, &asks):
		return nothing, "a person must agree to the call first, and nobody could be asked"
	case errors.As(err, &notDone):
		return nothing, "the call was not made: " + err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return nothing, notInTime
	case errors.Is(err, context.Canceled):
		return nothing, notBegun
	}
	return lost, err.Error()
}

// look observes what remained and compares it with what must be true, until it is or the time for that is over.
func (t *sitting) look(ctx context.Context, a action) fact {
	step := &t.plan.steps[a.step]
	observe, must := step.observe, step.expect
	if a.undo {
		must = step.undone
	}
	if observe == nil {
		observe = &step.call
	}
	f := fact{what: seen, step: a.step, undo: a.undo, sight: unclear}
	args, reason := t.lookArgs(ctx, observe, a.step)
	if reason != "" {
		f.reason = reason
		return f
	}
	t.tell(Event{What: "observe", Step: step.id, Tool: observe.tool})
	until := time.Now().Add(step.retry)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		again := t.glance(ctx, step, observe, args, must, &f)
		left := time.Until(until)
		if f.sight == holds || !again || left <= 0 {
			break
		}
		select {
		case <-ctx.Done():
			f.sight, f.reason = unclear, "it was interrupted"
			return f
		case <-time.After(min(pause, left)):
		}
	}
	t.doubt(step, a, &f)
	return f
}

// lookArgs makes the arguments of an observation, which must be one: it is made as often as need be.
func (t *sitting) lookArgs(ctx context.Context, observe *invocation, step int) (canon.Value, string) {
	args, reason := t.expand(observe, step)
	if reason != "" {
		return args, reason
	}
	pre, err := t.Tools.Preview(ctx, "", observe.tool, args)
	switch {
	case err != nil:
		return args, "what would become of the observation could not be found out: " + err.Error()
	case pre.Decision == policy.Deny:
		return args, "of the observation: " + refusal(pre)
	case !pre.ReadOnly:
		return args, notReadOnly(observe.tool)
	}
	return args, ""
}

// glance looks once. It reports whether it may help to look again.
func (t *sitting) glance(ctx context.Context, step *step, observe *invocation, args canon.Value, must *postcondition.Condition, f *fact) bool {
	f.sight, f.reason, f.observation, f.observed = unclear, "", canon.Value{}, ""
	observation, reason, again := t.observe(ctx, step, observe, args)
	if reason != "" {
		f.reason = reason
		return again
	}
	f.observation, f.observed = observation, digestOr(observation)
	values := t.values(f.step)
	values["observation"] = observation
	if step.observe == nil {
		values["result"] = observation
	}
	ok, err := must.Holds(values)
	switch {
	case err != nil:
		f.reason = "it cannot be told whether what was expected holds: " + err.Error()
	case ok:
		f.sight = holds
	default:
		f.sight = differs
	}
	return true
}

// observe makes one observation, or says why there is none, and whether it may help to try again.
func (t *sitting) observe(ctx context.Context, step *step, observe *invocation, args canon.Value) (v canon.Value, reason string, again bool) {
	result, late, err := t.call(ctx, step, "", observe.tool, args)
	if err != nil {
		_, reason := classifyError(err)
		if late {
			reason = fmt.Sprintf("no answer came within %v", step.timeout)
		}
		_, denied := errors.AsType[*gate.DeniedError](err)
		return v, "the observation failed: " + reason, !denied
	}
	switch {
	case result.Open:
		return v, "the observation is not complete: the server wants something first, or goes on by itself", false
	case result.Failed || result.Form == gate.Fault:
		return v, postcondition.ErrFailed.Error(), true
	case len(result.Body) > 4*maxKept:
		return v, fmt.Sprintf("the observation is larger than %d KiB", maxKept>>10), true
	}
	if v, err = postcondition.Observed(result.Body); err == nil {
		v, err = kept(v)
	}
	if err != nil {
		return canon.Value{}, "the observation cannot be used: " + err.Error(), true
	}
	return v, "", true
}

// doubt holds a rehearsal to it that what must be true after the undo is not true before it: else it would prove nothing.
func (t *sitting) doubt(step *step, a action, f *fact) {
	if !t.shape.rehearse || a.undo || f.sight != holds || step.undone == nil {
		return
	}
	values := t.values(a.step)
	values["observation"] = f.observation
	if already, err := step.undone.Holds(values); err == nil && already {
		f.sight, f.reason = unclear, `"undone" holds already before the undo, and so proves nothing about it`
	}
}

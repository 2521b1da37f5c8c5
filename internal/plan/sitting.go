package plan

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
)

// sitting is one process's part in a run: it does what the state machine says, and tells it what came of it.
type sitting struct {
	*Runner
	plan    *Plan
	shape   *shape
	state   *state
	run     string
	journal *journal // nil of a rehearsal, which is not gone on with

	said   string // what the last tool said of itself, as long as that is not decided upon
	answer Report // what else the report says: Said, Denied, Held

	earlier canon.Value // what the steps before the present one came to, as conditions speak of it; see steps
	known   int         // how many of them it is made of
}

func shapeOf(p *Plan, rehearse bool) *shape {
	s := &shape{rehearse: rehearse, steps: make([]outline, len(p.steps))}
	for i := range p.steps {
		from := &p.steps[i]
		s.steps[i] = outline{readOnly: from.readOnly, bare: from.readOnly && from.observe == nil, undo: from.undo != nil, noUndo: from.noUndo, stop: from.stop}
	}
	return s
}

// carryOut goes on until there is nothing to do. What is noted is durable before anything is built upon it.
func (t *sitting) carryOut(ctx context.Context) Report {
	t.tell(Event{What: "start", Earlier: t.decided()})
	for {
		if t.shape.rehearse && t.state.phase == backward {
			ctx = context.WithoutCancel(ctx) // what was done for a rehearsal is undone in any case
		}
		if ctx.Err() != nil && !t.state.interrupted {
			t.apply(fact{what: interruption})
		}
		a := t.shape.next(t.state)
		if a.move == rest {
			return t.over(t.report())
		}
		f := t.perform(ctx, a)
		if t.journal != nil && journaled(f.what) {
			if err := t.journal.note(&f); err != nil {
				return t.over(t.unwritten(f, err))
			}
		}
		t.apply(f)
	}
}

// apply tells the machine. That it does not take what it asked for would be a bug.
func (t *sitting) apply(f fact) {
	if err := t.shape.apply(t.state, f); err != nil {
		panic(fmt.Sprintf("plan: fact %d at step %d: %v", f.what, f.step, err))
	}
}

// journaled reports whether a fact is kept: all but what is asked for anew by whoever goes on.
func journaled(w what) bool {
	switch w {
	case resumed, intention, outcome, decision, settled, surrender, ended:
		return true
	}
	return false
}

// unwritten is the report of a run whose journal takes no more. Nothing more is done: what is not noted could be done twice.
func (t *sitting) unwritten(f fact, err error) Report {
	reason := fmt.Sprintf("the journal of the run cannot be written: %v", err)
	if f.what != intention && f.what != ended { // what it says did happen
		t.apply(f)
	}
	r := t.report()
	r.End, r.Reason = Stopped, reason
	if t.state.phase == backward {
		r.End = RollbackFailed
	}
	if r.Step == "" && t.state.at >= 0 && t.state.at < len(t.plan.steps) {
		r.Step = t.plan.steps[t.state.at].id
	}
	r.Remain = t.remain(r.End)
	if f.what != decision || f.verdict != Stop {
		t.noteStep(gate.Step{Method: gate.MethodStep, Step: r.Step, Verdict: Stop, Reason: reason}) // so that it is known somewhere, if that can be
	}
	return r
}

// perform does one thing, and returns what came of it.
func (t *sitting) perform(ctx context.Context, a action) fact {
	switch a.move {
	case survey:
		return t.survey(ctx, a)
	case prepare:
		return t.prepare(ctx, a)
	case intend:
		at := t.attempt(a)
		return fact{what: intention, step: a.step, undo: a.undo, key: t.state.prepared.key, args: t.state.prepared.args, again: at.progress != unbegun}
	case makeCall:
		return t.makeCall(ctx, a)
	case look:
		return t.look(ctx, a)
	case weigh:
		return t.weigh(ctx, a)
	case decide:
		return t.decide(a)
	case settle, giveUp:
		return t.settle(a)
	case finish:
		return fact{what: ended, step: a.step, end: a.end}
	}
	panic(fmt.Sprintf("plan: there is no move %d", a.move))
}

func (t *sitting) attempt(a action) *attempt {
	if a.undo {
		return &t.state.steps[a.step].undo
	}
	return &t.state.steps[a.step].call
}

// decide records a verdict. What cannot be recorded is not decided so: then it is a STOP.
func (t *sitting) decide(a action) fact {
	step := &t.plan.steps[a.step]
	f := fact{what: decision, step: a.step, verdict: a.verdict, reason: a.reason}
	f.expected = t.expected(a.step, false)
	if seen := t.state.seen; seen != nil {
		f.observed, f.observation = seen.observed, seen.observation
	}
	if f.verdict != Continue {
		t.answer.Said = t.spoken(a.step)
	}
	t.said = ""
	err := t.noteStep(gate.Step{
		Method: gate.MethodStep, Step: step.id, Tool: step.call.tool, RequestID: t.filed(a, t.args(a.step)), Verdict: f.verdict,
		Args: digestOr(t.args(a.step)), Expected: f.expected, Observed: f.observed, Reason: f.reason,
		Untouched: t.state.steps[a.step].call.progress == unbegun,
	})
	if err != nil && f.verdict != Stop {
		f.verdict, f.reason = Stop, fmt.Sprintf("the decision %s could not be recorded: %v", f.verdict, err)
	} else if err != nil {
		f.reason += fmt.Sprintf(" (and that could not be recorded: %v)", err)
	}
	t.tell(Event{What: "decide", Step: step.id, Tool: step.call.tool, Verdict: f.verdict, Reason: f.reason})
	return f
}

// filed is the request_id under which a decision is on record: that of the call's arguments, else the one that it is made with.
func (t *sitting) filed(a action, args canon.Value) string {
	if id := textOf(args, "request_id"); id != "" {
		return id
	}
	return t.requestID(a)
}

// settle records what came of an undo.
func (t *sitting) settle(a action) fact {
	step := &t.plan.steps[a.step]
	f := fact{what: settled, step: a.step, undo: true, reason: a.reason, expected: t.expected(a.step, true)}
	if a.move == giveUp {
		f.what, f.interrupted = surrender, t.state.interrupted
		t.answer.Said = t.said
	}
	if seen := t.state.seen; seen != nil {
		f.observed = seen.observed
	}
	args := t.state.steps[a.step].undo.args
	err := t.noteStep(gate.Step{
		Method: gate.MethodUndo, Step: step.id, Tool: step.undo.tool, RequestID: t.filed(a, args), Undone: f.what == settled,
		Args: digestOr(args), Expected: f.expected, Observed: f.observed, Reason: f.reason,
	})
	if err != nil && f.what == settled {
		f = fact{what: surrender, step: a.step, undo: true, reason: fmt.Sprintf("that it is undone could not be recorded: %v", err)}
	}
	t.tell(Event{What: "undone", Step: step.id, Tool: step.undo.tool, Reason: f.reason})
	return f
}

// noteStep records in the ledger. Of a rehearsal only its proofs are recorded.
func (t *sitting) noteStep(s gate.Step) error {
	if t.shape.rehearse {
		return nil
	}
	s.Plan, s.Run, s.Reason = t.plan.digest, t.run, recordable(s.Reason)
	return t.Book.NoteStep(t.Caller, s)
}

func (t *sitting) tell(e Event) {
	if t.Watch == nil {
		return
	}
	e.Time, e.Run = time.Now(), t.run
	t.Watch(e)
}

// decided are the steps that earlier processes went on from.
func (t *sitting) decided() []string {
	var ids []string
	for i := range t.state.steps {
		if s := &t.state.steps[i]; s.done && !s.undone {
			ids = append(ids, t.plan.steps[i].id)
		}
	}
	return ids
}

// over tells how it ended. A rehearsal that failed is a STOP, whatever could be undone.
func (t *sitting) over(r Report) Report {
	verdict := r.End.verdict()
	if t.shape.rehearse && r.End != Continued {
		verdict = Stop
	}
	t.tell(Event{What: "end", Step: r.Step, Verdict: verdict, Reason: strings.Join(append([]string{r.Reason}, r.Stays...), "; ")})
	return r
}

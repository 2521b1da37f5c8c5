package plan

import (
	"fmt"

	"sallyport/internal/canon"
)

// report is what came of the run so far.
func (t *sitting) report() Report {
	s := t.state
	r := t.answer
	r.Run, r.Reason = t.run, s.reason
	switch {
	case t.shape.rehearse:
		return t.rehearsed(r)
	case s.phase == over:
		r.End = s.end
		if r.Reason = ""; r.End == RolledBack {
			r.Reason, r.Undone, r.Stays = s.cause, t.undone(), t.stays()
		}
		return r
	case s.failed:
		r.End = RollbackFailed
	}
	if s.at >= 0 && s.at < len(t.plan.steps) {
		r.Step = t.plan.steps[s.at].id
		r.Doubt = s.doubt()
	}
	r.Remain = t.remain(r.End)
	return r
}

// doubt is the key of the call at which a run is, where nobody knows whether it was carried out; "" where it has none.
func (s *state) doubt() string {
	at := &s.steps[s.at].call
	if s.phase == backward {
		at = &s.steps[s.at].undo
	}
	if at.progress == intended || at.progress == lost {
		return at.key
	}
	return ""
}

// undone are the steps that were undone, the last one first.
func (t *sitting) undone() []string {
	var ids []string
	for i := len(t.plan.steps) - 1; i >= 0; i-- {
		if t.state.steps[i].undone {
			ids = append(ids, t.plan.steps[i].id)
		}
	}
	return ids
}

// stays says in words what was done and is not undone, since its step says that it need not be.
func (t *sitting) stays() []string {
	var all []string
	for i := range t.plan.steps {
		if step := &t.plan.steps[i]; step.noUndo && !step.readOnly && t.state.steps[i].call.progress != unbegun {
			all = append(all, fmt.Sprintf("step %s: undo none, what %s did stays", step.id, step.call.tool))
		}
	}
	return all
}

// remain says in words what is to be done by hand, in the order in which it is to be done.
func (t *sitting) remain(end End) []string {
	if t.state.phase == forward {
		return t.remainForward()
	}
	var all []string
	for i := len(t.plan.steps) - 1; i >= 0; i-- {
		s, step := &t.state.steps[i], &t.plan.steps[i]
		if step.undo == nil || s.call.progress == unbegun || s.undone || !t.shape.rehearse && i > t.state.at {
			continue
		}
		all = append(all, fmt.Sprintf("undo step %q: %s%s; then this must hold: %s", step.id, t.undoWords(i), undoDoubt(s), step.undone.Source()))
	}
	return all
}

// remainForward says what a STOP leaves: what must be found out about the step at which it is, and what the steps before did.
func (t *sitting) remainForward() []string {
	var all []string
	for i := len(t.plan.steps) - 1; i >= 0; i-- {
		s, step := &t.state.steps[i], &t.plan.steps[i]
		if step.readOnly || s.call.progress == unbegun {
			continue
		}
		text := fmt.Sprintf("step %q: %s was carried out and what was expected holds; it stays unless you undo it", step.id, step.call.tool)
		if !s.done {
			text = fmt.Sprintf("step %q: see what %s left; this should hold: %s", step.id, wordsFor(step.call.tool, s.call.args), step.expect.Source())
			switch s.call.progress {
			case intended, lost:
				text += " (nobody knows whether it was carried out)"
			case failed:
				text += " (the tool says that it failed)"
			}
		}
		if step.undo != nil {
			text += "; it is undone by " + t.undoWords(i)
		}
		all = append(all, text)
	}
	return all
}

// undoWords is the undo of a step as somebody would carry it out by hand.
func (t *sitting) undoWords(i int) string {
	args := t.state.steps[i].undo.args
	if !args.Exists() {
		args, _ = t.expand(t.plan.steps[i].undo, i)
	}
	return wordsFor(t.plan.steps[i].undo.tool, args)
}

func undoDoubt(s *track) string {
	switch s.undo.progress {
	case intended, lost:
		return " (nobody knows whether it was carried out)"
	case answered, failed:
		return " (it was tried)"
	}
	return ""
}

const maxWords = 512 // bytes of arguments in words

func wordsFor(tool string, args canon.Value) string {
	if !args.Exists() {
		return tool
	}
	return tool + " " + clip(string(args.Bytes()), maxWords)
}

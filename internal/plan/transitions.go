package plan

import (
	"errors"
	"fmt"
)

var errOrder = errors.New("this cannot follow what is before it")

// apply makes of a state the one after a fact. A fact that next would not have led to is an error: a journal that says so was
// not written by this package.
func (p *shape) apply(s *state, f fact) error {
	if s.phase == over {
		return fmt.Errorf("the run is over: %w", errOrder)
	}
	switch f.what {
	case resumed:
		p.resume(s)
		return nil
	case interruption:
		s.interrupted = true
		return nil
	case ended:
		return p.end(s, f)
	}
	switch {
	case s.halted:
		return fmt.Errorf("the run is halted: %w", errOrder)
	case f.what == surveyed:
		s.surveyed, s.unfit = true, f.reason
		return nil
	case f.step != s.at || f.step < 0 || f.step >= len(s.steps) || f.undo != (s.phase == backward):
		return fmt.Errorf("the run is at another step: %w", errOrder)
	}
	switch f.what {
	case prepared:
		s.prepared = &f
	case seen:
		s.seen = &f
	case weighed:
		s.weighed = &f
	case intention:
		return p.intended(s, f)
	case outcome:
		return p.outcome(s, f)
	case decision:
		return p.decided(s, f)
	case settled:
		return p.settled(s, f)
	case surrender:
		return p.surrendered(s, f)
	default:
		return errOrder
	}
	return nil
}

// of is the attempt that a fact is about.
func (s *state) of(f fact) *attempt {
	if f.undo {
		return &s.steps[f.step].undo
	}
	return &s.steps[f.step].call
}

// resume begins anew with what is left: whatever was begun is looked at first.
func (p *shape) resume(s *state) {
	s.halted, s.failed, s.scratch = false, false, scratch{}
	for i := range s.steps {
		t := &s.steps[i]
		if p.steps[i].readOnly && !t.done {
			t.call = attempt{} // it can be made as often as one likes
		}
		if !t.done {
			t.call.left = t.call.progress != unbegun
		}
		if !t.undone {
			t.undo.left = t.undo.progress != unbegun
		}
	}
}

// intended: the call is about to be made.
func (p *shape) intended(s *state, f fact) error {
	a := s.of(f)
	known := a.progress == answered || a.progress == failed
	switch {
	case p.steps[f.step].readOnly || f.again != (a.progress != unbegun):
		return errOrder
	case f.again && (!a.left || known && !f.undo):
		return fmt.Errorf("a second call without a look at the first: %w", errOrder)
	}
	if f.again && f.key != a.key {
		f.key = "" // no one key stands for both
	}
	*a = attempt{progress: intended, key: f.key, args: f.args, doubt: f.again}
	s.prepared, s.seen, s.weighed = nil, nil, nil
	return nil
}

// outcome: the call was made, or it certainly was not.
func (p *shape) outcome(s *state, f fact) error {
	a := s.of(f)
	before := intended
	if p.steps[f.step].readOnly {
		before = unbegun
	}
	if a.progress != before || a.left || p.steps[f.step].bare || f.how < answered || f.differs && (f.how == nothing || before != intended) {
		return errOrder
	}
	s.prepared, s.seen, s.weighed, s.last = nil, nil, nil, f.reason
	if p.steps[f.step].readOnly {
		a.args = f.args
	}
	a.differed = f.differs
	if a.progress = f.how; f.how != nothing {
		if f.how == answered && !f.undo {
			s.steps[f.step].result, s.unfit = f.result, f.reason
		}
		return nil
	}
	if a.progress = unbegun; a.doubt {
		a.progress = lost // this time it was not; an earlier time it may have been
	}
	s.prepared = &fact{what: prepared, step: f.step, undo: f.undo, reason: f.reason, stopped: f.stopped} // for this process that is how it stands
	return nil
}

// decided: what remained was compared with what was expected, or could not be.
func (p *shape) decided(s *state, f fact) error {
	t := &s.steps[f.step]
	differed := t.call.differed
	t.call.differed = false // whoever resumes knows of it
	switch f.verdict {
	case Continue:
		if differed || t.call.progress == intended && !t.call.left || t.call.progress == unbegun && !p.steps[f.step].bare {
			return errOrder
		}
		t.done, t.observation, t.call.left = true, f.observation, false
		if p.steps[f.step].bare {
			t.result = f.observation
		}
		s.at++
		s.scratch = scratch{interrupted: s.interrupted, surveyed: s.surveyed}
		if p.rehearse && s.at == len(s.steps) {
			p.turn(s)
		}
	case Stop:
		if s.reason = f.reason; p.rehearse {
			s.flaw = f.reason
			p.turn(s)
			return nil
		}
		s.halted = true
	case Rollback:
		if differed || p.lacksUndo(s) >= 0 || t.call.progress == intended || t.call.progress == lost {
			return errOrder
		}
		s.cause = f.reason
		p.turn(s)
	default:
		return errOrder
	}
	return nil
}

// turn goes back from where the run is.
func (p *shape) turn(s *state) {
	s.phase, s.at = backward, p.pending(s, min(s.at, len(s.steps)-1))
	s.scratch = scratch{interrupted: s.interrupted && !p.rehearse}
}

// settled: the step is undone.
func (p *shape) settled(s *state, f fact) error {
	t := &s.steps[f.step]
	if t.undo.differed || t.undo.progress == unbegun || t.undo.progress == intended && !t.undo.left {
		return errOrder
	}
	t.undone, t.undo.left = true, false
	p.further(s)
	return nil
}

func (p *shape) further(s *state) {
	s.at = p.pending(s, s.at-1)
	s.scratch = scratch{interrupted: s.interrupted}
}

// surrendered: the step cannot be undone, or was not for now.
func (p *shape) surrendered(s *state, f fact) error {
	s.steps[f.step].undo.differed = false
	if p.rehearse {
		s.steps[f.step].kept = true
		if s.flaw == "" {
			s.flaw = f.reason
		}
		p.further(s)
		return nil
	}
	s.halted, s.failed, s.reason = true, !f.interrupted, f.reason
	return nil
}

func (p *shape) end(s *state, f fact) error {
	continued := s.phase == forward && s.at == len(s.steps) && f.end == Continued
	undone := s.phase == backward && s.at < 0 && f.end == RolledBack
	if !f.abandoned && !continued && !undone {
		return errOrder
	}
	s.phase, s.end = over, f.end
	return nil
}

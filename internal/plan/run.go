package plan

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"sallyport/internal/durable"
	"sallyport/internal/gate"
)

// Run begins a new run of a plan. While an earlier run of the same plan is not over it is refused: an *UnfinishedError. Runs
// belong to the same plan if its digest is the same, or its name. An error means that nothing was done; what goes wrong
// later, the end of ctx too, is a STOP.
func (r *Runner) Run(ctx context.Context, p *Plan) (Report, error) {
	j, err := r.begin(p)
	if err != nil {
		return Report{}, err
	}
	defer j.close()
	return r.sit(p, j).carryOut(ctx), nil
}

// sit begins a sitting over a run's journal that has no lines but the first.
func (r *Runner) sit(p *Plan, j *journal) *sitting {
	shape := shapeOf(p, false)
	return &sitting{Runner: r, plan: p, shape: shape, state: newState(shape), run: j.run, journal: j}
}

// begin makes the journal of a new run, unless there is one that is not over.
func (r *Runner) begin(p *Plan) (*journal, error) {
	unlock, err := r.hold()
	if err != nil {
		return nil, err
	}
	defer unlock()
	runs, err := findRuns(r.FS, r.Dir)
	if err != nil {
		return nil, err
	}
	if earlier := unfinished(runs, p); len(earlier) > 0 {
		return nil, r.describe(p, earlier[len(earlier)-1])
	}
	if err := durable.Sweep(r.FS, r.Dir); err != nil {
		return nil, fmt.Errorf("looking through the runs: %w", err)
	}
	now := time.Now()
	h := header{run: newRunID(now), plan: p.digest, name: p.name, principal: r.Caller.Principal, tenant: r.Caller.Tenant, text: p.text}
	j, err := createJournal(r.FS, r.Dir, p, h, now)
	if err != nil {
		return nil, fmt.Errorf("beginning the journal of the run: %w", err)
	}
	r.prune(runs, now)
	return j, nil
}

// hold keeps others from looking for runs and beginning them.
func (r *Runner) hold() (unlock func(), err error) {
	if err := r.FS.OwnDir(r.Dir); err != nil {
		return nil, fmt.Errorf("opening the folder of the runs: %w", err)
	}
	lock, err := durable.OpenLocked(r.FS, filepath.Join(r.Dir, lockName), lockWait)
	if err != nil {
		return nil, fmt.Errorf("locking the folder of the runs: %w", err)
	}
	return func() { lock.Close() }, nil
}

// unfinished are those of the runs that are runs of a plan, and not over.
func unfinished(runs []found, p *Plan) (open []found) {
	for _, f := range runs {
		if !f.over && f.of(p) {
			open = append(open, f)
		}
	}
	return open
}

func (f *found) of(p *Plan) bool { return f.plan == p.digest || f.name != "" && f.name == p.name }

// describe says how an earlier run stands.
func (r *Runner) describe(p *Plan, f found) error {
	e := &UnfinishedError{Run: f.run}
	if f.plan != p.digest {
		e.Reason, e.Changed = "it is of another version of the plan", true
	}
	report, err := r.standing(f)
	switch {
	case err == nil:
		if e.Step = report.Step; e.Reason == "" {
			e.Reason = report.Reason
		}
	case errors.As(err, new(*RunningError)):
		e.Reason, e.Running = "it is being carried out at this moment", true
	case errors.As(err, new(*Error)): // a release that read other plans wrote it
	default:
		return fmt.Errorf("looking at run %s: %w", f.run, err)
	}
	return e
}

// Look says how a run stands that is not over, as Resume and Abandon find it: where it is, and what it would leave. It does
// nothing. Errors are those of Resume; with any but a *NoRunError the report has the run's id.
func (r *Runner) Look(p *Plan, id string) (Report, error) {
	f, err := r.find(p, id)
	if err != nil {
		return Report{}, err
	}
	report, err := r.standing(f)
	if err != nil {
		return Report{Run: f.run}, fmt.Errorf("looking at run %s: %w", f.run, err)
	}
	return report, nil
}

// standing replays the journal of a run, whose plan is the one that stands there. While it looks nobody else carries it out.
func (r *Runner) standing(f found) (Report, error) {
	p, err := Parse(f.run, f.text)
	if err != nil {
		return Report{}, err
	}
	j, err := openJournal(r.FS, r.Dir, p, f.header)
	if err != nil {
		return Report{}, err
	}
	defer j.close()
	t := r.sit(p, j)
	if t.state, err = j.replay(t.shape); err != nil {
		return Report{}, err
	}
	report := t.report()
	if !t.state.halted {
		report.Reason = "it was cut off"
	}
	return report, nil
}

// Resume goes on with the run of a plan that is not over; the newest, or the one of that id. A *NoRunError says that there is
// none, a *RunningError that somebody is at it. A plan that was changed since is refused, and so is another caller.
func (r *Runner) Resume(ctx context.Context, p *Plan, id string) (Report, error) {
	f, err := r.find(p, id)
	if err != nil {
		return Report{}, err
	}
	switch {
	case f.plan != p.digest:
		return Report{}, &ChangedError{Run: f.run, Journal: filepath.Join(r.Dir, f.run+journalSuffix)}
	case f.principal != r.Caller.Principal || f.tenant != r.Caller.Tenant:
		return Report{}, fmt.Errorf("run %s was begun by another caller, for whom the gate knows its calls", f.run)
	}
	j, err := openJournal(r.FS, r.Dir, p, f.header)
	if err != nil {
		return Report{}, fmt.Errorf("opening the journal of run %s: %w", f.run, err)
	}
	defer j.close()
	t, err := r.resit(p, j)
	if err != nil {
		return Report{}, err
	}
	return t.carryOut(ctx), nil
}

// resit begins another sitting where the last one ended.
func (r *Runner) resit(p *Plan, j *journal) (*sitting, error) {
	t := r.sit(p, j)
	s, err := j.replay(t.shape)
	if err != nil {
		return nil, fmt.Errorf("reading the journal of run %s: %w", j.run, err)
	}
	if s.phase == over {
		return nil, &NoRunError{Run: j.run, Reason: "run " + j.run + " is over"}
	}
	anew := fact{what: resumed, step: -1}
	if err := j.note(&anew); err != nil {
		return nil, fmt.Errorf("writing the journal of run %s: %w", j.run, err)
	}
	t.state = s
	t.apply(anew)
	return t, nil
}

// find returns the run of that id, or the newest of the plan that is not over.
func (r *Runner) find(p *Plan, id string) (found, error) {
	unlock, err := r.hold()
	if err != nil {
		return found{}, err
	}
	defer unlock()
	if id == "" {
		runs, err := findRuns(r.FS, r.Dir)
		if err != nil {
			return found{}, err
		}
		open := unfinished(runs, p)
		if len(open) == 0 {
			return found{}, &NoRunError{Reason: "there is no run of this plan that is not over"}
		}
		return open[len(open)-1], nil
	}
	names, err := r.FS.Names(r.Dir)
	if err != nil {
		return found{}, fmt.Errorf("looking through the runs: %w", err)
	}
	for _, name := range names {
		if name == id+journalSuffix && isRunID(id) {
			f, err := findRun(r.FS, r.Dir, id)
			if err == nil && f.over {
				err = &NoRunError{Run: id, Reason: "run " + id + " is over"}
			}
			return f, err
		}
	}
	return found{}, &NoRunError{Run: id, Reason: fmt.Sprintf("there is no run %q", clip(id, maxID))}
}

// Abandon ends a run that is not over, by an operator's word, so that a new one may begin. Nothing is undone. It is recorded
// first. Runs of earlier versions of the plan can be abandoned too: by their id, or if the plan has a name.
func (r *Runner) Abandon(p *Plan, id, reason string) error {
	f, err := r.find(p, id)
	if err != nil {
		return err
	}
	j, err := openJournal(r.FS, r.Dir, p, f.header)
	if err != nil {
		return fmt.Errorf("opening the journal of run %s: %w", f.run, err)
	}
	return errors.Join(r.abandon(j, reason), j.close())
}

func (r *Runner) abandon(j *journal, reason string) error {
	again, err := findRun(r.FS, r.Dir, j.run) // now that nobody else is at it
	if err != nil {
		return err
	}
	if again.over {
		return &NoRunError{Run: j.run, Reason: "run " + j.run + " is over"}
	}
	note := gate.Step{Method: gate.MethodStep, Plan: j.header.plan, Run: j.run, Verdict: Stop, Reason: "the run was abandoned: " + reason}
	if err := r.Book.NoteStep(r.Caller, note); err != nil {
		return fmt.Errorf("recording that run %s is abandoned: %w", j.run, err)
	}
	if err := j.note(&fact{what: ended, step: -1, abandoned: true, reason: reason}); err != nil {
		return fmt.Errorf("writing the journal of run %s: %w", j.run, err)
	}
	return nil
}

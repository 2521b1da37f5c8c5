package plan

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"sallyport/internal/durable"
)

// Standing is how a run stands, in a word.
type Standing string

const (
	Unreadable    Standing = "unreadable" // its journal does not say
	Running       Standing = "running"    // a living process carries it out
	CutOff        Standing = "cut_off"    // its process is gone, in the midst of it
	Halted        Standing = Stop
	HaltedBack    Standing = "ROLLBACK_FAILED" // something is left to be done by hand
	OverContinued Standing = Continue          // to the end
	OverRolled    Standing = Rollback          // done
	OverAbandoned Standing = abandonedWord     // given up by an operator
)

// Over reports whether nothing more is to come.
func (s Standing) Over() bool { return s == OverContinued || s == OverRolled || s == OverAbandoned }

// Listed is what a run's journal tells of it. What it holds is others' text.
type Listed struct {
	Run    string
	Name   string // the plan's, "" where it has none or the journal does not say
	Digest string // the plan's, SHA-256 in hex; "" where the journal does not say
	Begun  time.Time
	Ended  time.Time // of a run that is over; the zero time, as Begun, where the journal does not say

	State  Standing
	Step   string // at which it is, or stopped; "" where it is over, at its end, or unknown
	Reason string // in words: why it stopped, or why its journal cannot be read

	Resumable   bool // Resume goes on with it
	Abandonable bool // Abandon gives it up
}

// List tells of the runs whose journals are in dir, the oldest first; there may be none, and no dir. A journal that cannot be
// read is listed as Unreadable, with the reason. It changes nothing, takes no lock and waits for nobody. What happens meanwhile it
// may or may not see.
func List(fsys durable.FS, dir string) ([]Listed, error) {
	ids, err := runIDs(fsys, dir)
	if err != nil {
		return nil, err
	}
	var all []Listed
	for _, run := range ids {
		l := list(fsys, dir, run)
		if status, err := fsys.Look(filepath.Join(dir, run+journalSuffix)); l.State == Unreadable && err == nil && !status.Exists {
			continue // it was removed meanwhile
		}
		all = append(all, l)
	}
	return all, nil
}

// list tells of one run.
func list(fsys durable.FS, dir, run string) Listed {
	l := Listed{Run: run, State: Unreadable}
	h, headerErr := findHeader(fsys, dir, run)
	if headerErr == nil {
		l.Name, l.Digest, l.Begun = h.name, h.plan, h.begun
	}
	running, err := isRunning(fsys, filepath.Join(dir, run+journalSuffix))
	if err != nil {
		l.Reason = err.Error()
		return l
	}
	f, err := findRun(fsys, dir, run) // after that, since then what it says was written by those whose lock was seen
	switch {
	case err != nil:
		l.Reason = err.Error()
	case f.over:
		l.State, l.Ended = f.last.standing(), f.ended
		if headerErr != nil {
			l.Reason = headerErr.Error()
		}
	default:
		l.stand(fsys, dir, f.header, running)
	}
	return l
}

// standing is how a run stands that ended so.
func (f *fact) standing() Standing {
	switch {
	case f.abandoned:
		return OverAbandoned
	case f.end == RolledBack:
		return OverRolled
	}
	return OverContinued
}

// stand says how a run stands that is not over.
func (l *Listed) stand(fsys durable.FS, dir string, h header, running bool) {
	l.Abandonable = !running
	if running {
		l.State = Running
	}
	t, err := read(fsys, dir, h)
	if err != nil {
		l.Reason = err.Error()
		return
	}
	report := t.report()
	l.Step = report.Step
	switch {
	case running:
		return
	case t.state.phase == over: // meanwhile
		l.State, l.Abandonable = (&fact{end: t.state.end}).standing(), false
		return
	case t.state.failed:
		l.State, l.Reason = HaltedBack, report.Reason
	case t.state.halted:
		l.State, l.Reason = Halted, report.Reason
	default:
		l.State = CutOff
	}
	l.Resumable = true
}

// read returns a sitting that can only tell how the run stands to which the whole lines of its journal lead. It takes no lock.
func read(fsys durable.FS, dir string, h header) (*sitting, error) {
	p, err := Parse(h.run, h.text)
	if err != nil {
		return nil, fmt.Errorf("this release does not read its plan: %w", err)
	}
	f, err := fsys.OpenRead(filepath.Join(dir, h.run+journalSuffix))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	text, err := journalText(f, size)
	if err != nil {
		return nil, err
	}
	t := &sitting{Runner: &Runner{}, plan: p, shape: shapeOf(p, false), run: h.run}
	t.state, err = replay(t.shape, p, text[:bytes.LastIndexByte(text, '\n')+1])
	return t, err
}

// isRunning reports whether somebody carries out the run of a journal.
func isRunning(fsys durable.FS, path string) (bool, error) {
	f, err := fsys.OpenRead(path)
	if err != nil {
		return false, err
	}
	taken, err := f.ByteLocked(runLock)
	return taken, errors.Join(err, f.Close())
}

package plan

import (
	"fmt"
	"strconv"
	"time"

	"sallyport/internal/canon"
)

// End is how a run ended.
type End int

const (
	Stopped        End = iota // STOP: somebody must look
	Continued                 // CONTINUE to the end
	RolledBack                // ROLLBACK, and all that had to be undone is
	RollbackFailed            // ROLLBACK, and something remains to be done by hand
)

// String is the end in words.
func (e End) String() string {
	switch e {
	case Continued:
		return "CONTINUE to the end"
	case RolledBack:
		return "ROLLBACK done"
	case RollbackFailed:
		return "ROLLBACK failed"
	default:
		return Stop
	}
}

// verdict is the word for an end that an event has.
func (e End) verdict() string {
	switch e {
	case Continued:
		return Continue
	case RolledBack, RollbackFailed:
		return Rollback
	default:
		return Stop
	}
}

// Report is what came of a run.
type Report struct {
	Run    string
	End    End
	Step   string   // at which it ended, "" at the end of the plan
	Reason string   // in words
	Remain []string // of RollbackFailed, and of Stopped after effects: what is to be done by hand, in words, in order

	Undone []string // the steps that a ROLLBACK undid, the last one first
	Stays  []string // of RolledBack: what was done and is not undone, since its step says that nothing need be; in words
	Said   string   // what the tool said of itself where the run did not go on, a beginning of it; others' text
	Denied string   // of Stopped before anything was done: the tool that the policy denies
	Held   bool     // the gate holds back all changes there: sallyport release
	Doubt  string   // the key by which the gate knows a call of which nobody knows whether it was carried out
}

// Event is something that happened in a run, for whoever watches.
type Event struct {
	Time    time.Time
	Run     string
	Step    string // "" of the run itself
	What    string // "start", "call", "ask", "observe", "decide", "undo", "undone", "end"
	Verdict string // of "decide" and "end": CONTINUE, STOP or ROLLBACK
	Reason  string // in words
	Tool    string

	Approval string   // of "ask": the id under which the call waits for a person
	Earlier  []string // of "start": the steps for which earlier processes decided to CONTINUE, and that are not undone
}

// JSON is the event as one line of canonical JSON without the newline: approval, earlier, reason, run, step, tool, ts
// (nanoseconds since the epoch), verdict and what, each but ts and what only where there is something to say.
func (e *Event) JSON() []byte {
	line := []byte{'{'}
	add := func(key, text string) {
		if text != "" {
			line = append(canon.AppendString(line, key), ':')
			line = append(canon.AppendString(line, text), ',')
		}
	}
	add("approval", e.Approval)
	if len(e.Earlier) > 0 {
		line = append(line, `"earlier":[`...)
		for _, step := range e.Earlier {
			line = append(canon.AppendString(line, step), ',')
		}
		line = append(line[:len(line)-1], "],"...)
	}
	add("reason", e.Reason)
	add("run", e.Run)
	add("step", e.Step)
	add("tool", e.Tool)
	line = append(line, `"ts":`...)
	line = append(strconv.AppendInt(line, e.Time.UnixNano(), 10), ',')
	add("verdict", e.Verdict)
	line = append(line, `"what":`...)
	return append(canon.AppendString(line, e.What), '}')
}

// UnfinishedError says that an earlier run of the plan is not over.
type UnfinishedError struct {
	Run, Step, Reason string

	Changed bool // it is of another text of the plan, with which alone it can be gone on with
	Running bool // somebody is at it
}

func (e *UnfinishedError) Error() string {
	text := "an earlier run of this plan is not over: " + e.Run
	if e.Step != "" {
		text += ", at step " + strconv.Quote(e.Step)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// ChangedError says that a run is of another text of the plan.
type ChangedError struct{ Run, Journal string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("the plan was changed since run %s began, which goes on with the text that it began with (it is in %s) or not at all", e.Run, e.Journal)
}

// RunningError says that somebody is carrying out the run at this moment.
type RunningError struct{ Run string }

func (e *RunningError) Error() string { return "run " + e.Run + " is being carried out at this moment" }

// NoRunError says that there is no run that could be gone on with.
type NoRunError struct {
	Run    string // that was asked for; "" was any
	Reason string
}

func (e *NoRunError) Error() string { return e.Reason }

// Package hook answers a coding agent's hooks: one event on stdin, one verdict in the host's own dialect, one record.
//
// [Run] reads the event to its end, brings it into one form, judges it by the policies in force, records the decision and
// says it. It fails closed: whatever goes wrong, the host is told to deny, with a reason that a person can act on, and
// in time: at the deadline a denial is written, whatever else is still under way. Exit codes are 0 and 2, no other.
//
// Each host has a file of its own, which knows the host's events and how to speak to it. What a call would do is found by
// package effects, and whether it may by package policy.
package hook

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"sallyport/internal/durable"
	"sallyport/internal/policy"
)

// Options are what the command line of a hook says.
type Options struct {
	Host     string
	Policy   string        // a file instead of the starter pack, the user's and the project's policies; "" for those
	Ledger   string        // the ledger's folder; "" is the one in the user's state folder
	Checks   bool          // the checks of package pretool count as well
	Deadline time.Duration // from the end of the event on; 0 is DefaultDeadline
}

// DefaultDeadline is when a denial is written if there is no decision yet.
const DefaultDeadline = 250 * time.Millisecond

// hearing is how many deadlines after System.Start the host may take to give the event. How long a busy machine lets it
// wait is not for the call to pay for.
const hearing = 3

// maxEvent is how large an event may be, in bytes.
const maxEvent = 16 << 20

// System is what a hook sees of the machine.
type System struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            func(name string) string // "" where a variable is not set
	Start          time.Time                // when the process began

	FS      durable.FS    // nil is durable.OS
	Account func() string // the user's home by the user database, "" if unknown; nil asks it
	Managed string        // the machine's policy file; "" is the usual one

	looking func(path string) // if not nil, is called before a file is held against a claim; for tests
}

// Ruling is what is decided of an event.
type Ruling struct {
	Decision policy.Decision
	Rule     string // "" where there is nothing to name
	Reason   string
	Asked    bool // it was an ask, and nobody can be asked
	Skip     bool // of an allow: the host's own prompt is spared
	Hints    []string
}

// Reply is what the host is told.
type Reply struct {
	Stdout, Stderr []byte
	Code           int // 0 or 2
}

// run is one hook process at work. Its two goroutines are the worker, which does everything, and the caller's, which
// keeps the time. Whoever sets told first speaks to the host; the other one is silent.
type run struct {
	Options
	sys     System
	dialect dialect

	heard   chan struct{} // closed when the event is there to its end
	stage   atomic.Int32
	event   atomic.Pointer[Event]   // as soon as it is known
	pending atomic.Pointer[pending] // a decision that is being recorded
	told    atomic.Pointer[told]

	verifying atomic.Pointer[verifying] // whoever takes it away says how it ended
}

// The stages of a worker.
const (
	reading   int32 = iota
	judging         // the event is there to its end
	abandoned       // the deadline came while the event was still being read
)

// pending is a decision that is being recorded.
type pending struct {
	ruling     Ruling
	bestEffort bool
}

// told is what the host is told.
type told struct {
	decision policy.Decision
	code     int
}

// grace is how long after the deadline the process may still see to its record.
func (r *run) grace() time.Duration { return min(r.Deadline/10, 100*time.Millisecond) }

// Run answers one event and returns the exit code. At the deadline it returns even if a goroutine of its own is still held
// up by the disk or by stdin: the process has to end then.
func Run(opt Options, sys System) int {
	if opt.Deadline <= 0 {
		opt.Deadline = DefaultDeadline
	}
	if sys.FS == nil {
		sys.FS = durable.OS
	}
	r := &run{Options: opt, sys: sys, dialect: dialectOf(opt.Host), heard: make(chan struct{})}
	if r.dialect == nil {
		r.refuseHost()
		return 2
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.recover()
		r.work()
	}()
	r.wait(done)
	if t := r.told.Load(); t != nil {
		return t.code
	}
	return 2 // not reachable: both ways say something
}

// wait returns when the host was told: by the worker, or else at the deadline by us.
func (r *run) wait(done <-chan struct{}) {
	timer := time.NewTimer(time.Until(r.sys.Start.Add(hearing * r.Deadline)))
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-r.heard:
		timer.Reset(r.Deadline)
	case <-timer.C:
		r.late(done)
		return
	}
	select {
	case <-done:
	case <-timer.C:
		r.late(done)
	}
}

// recover makes a panic a denial.
func (r *run) recover() {
	if p := recover(); p != nil {
		r.say(Ruling{
			Rule:   "internal",
			Reason: fmt.Sprintf("sallyport failed on this event (%.200v), so the call must not run; this is a bug, please report it", p),
		})
	}
}

// late speaks at the deadline, and gives what is under way a last moment to be recorded.
func (r *run) late(done <-chan struct{}) {
	defer r.recover()
	grace := time.NewTimer(r.grace())
	defer grace.Stop()
	unread := r.stage.CompareAndSwap(reading, abandoned)
	reason := fmt.Sprintf("there was no decision within %v", r.Deadline)
	if unread {
		reason = fmt.Sprintf("the event was not there to its end within %v", hearing*r.Deadline)
	}
	ruling := Ruling{Rule: "deadline", Reason: reason + ", so the call must not run; try again, and if this stays see sallyport doctor"}
	if p := r.pending.Load(); p != nil {
		ruling = p.late()
	}
	r.say(ruling)
	recorded := done
	if unread {
		recorded = r.recordAlone(ruling, nil)
	}
	if stopped := r.stopLate(); stopped != nil {
		recorded = stopped
		grace.Reset(r.Deadline) // the host waits much longer, and nobody would look again
	}
	select {
	case <-recorded:
	case <-grace.C:
	}
}

// late is what is said at the deadline of a decision that could not be recorded in time.
func (p *pending) late() Ruling {
	if p.bestEffort || p.ruling.Decision == policy.Deny {
		return p.ruling
	}
	return Ruling{Rule: "ledger", Reason: "the decision could not be recorded in time, so the call must not run: another process holds the ledger's lock, or the disk does not answer"}
}

// say tells the host, unless it was told already, and reports whether it did. It returns when it is written.
func (r *run) say(ruling Ruling) bool {
	e := r.event.Load()
	if e == nil {
		e = r.dialect.unknown()
	}
	reply := e.reply(r.dialect, ruling)
	if !r.told.CompareAndSwap(nil, &told{decision: ruling.Decision, code: reply.Code}) {
		return false
	}
	if err := write(r.sys.Stdout, reply.Stdout); err != nil {
		// The host did not hear it. A block by exit code is all that is left.
		r.told.Store(&told{decision: policy.Deny, code: 2})
		reply.Stderr = append(reply.Stderr, "sallyport: the verdict could not be written\n"...)
	}
	write(r.sys.Stderr, reply.Stderr) // a reason for people; the code stands without it
	return true
}

func write(w io.Writer, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	_, err := w.Write(text)
	return err
}

// work does everything: it reads, judges, records and says.
func (r *run) work() {
	text, err := readAll(r.sys.Stdin)
	if !r.stage.CompareAndSwap(reading, judging) {
		return
	}
	close(r.heard)
	if err != nil {
		r.refuse(nil, text, err)
		return
	}
	e, err := r.read(text)
	r.event.Store(e)
	switch {
	case e.Phase == Other:
		r.say(Ruling{Decision: policy.Allow})
	case e.Phase == Prompt, e.Phase == SessionStart, e.Phase == SessionEnd:
		r.followSession(e)
		r.say(Ruling{Decision: policy.Allow})
	case e.Phase == After:
		r.observe(e)
		r.say(Ruling{Decision: policy.Allow})
	case err != nil:
		r.refuse(e, text, err)
	default:
		r.decide(e)
	}
}

// refuse denies an event that cannot be judged, and records that.
func (r *run) refuse(e *Event, text []byte, why error) {
	ruling := Ruling{Rule: "event", Reason: why.Error()}
	r.pending.Store(&pending{ruling: ruling})
	<-r.recordAlone(ruling, text)
	r.say(ruling)
}

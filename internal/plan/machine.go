package plan

import "sallyport/internal/canon"

// The state machine. It does nothing itself: next says what is to be done, whoever does it tells apply what came of it. Facts
// that are durable before anything is built upon them are the journal; apply of the same facts gives the same state. All else
// that it is told is forgotten with the process, and asked for anew.

// shape is what the machine knows of a plan.
type shape struct {
	steps    []outline
	rehearse bool // undo everything at the end, and go on undoing whatever fails
}

// outline is what the machine knows of a step.
type outline struct {
	readOnly bool // has no effect: nothing is noted before it, and nothing is undone
	bare     bool // the call itself is what is looked at
	undo     bool // there is one
	noUndo   bool // and none is needed
	stop     bool // on a mismatch
}

func (o *outline) undoable() bool { return o.readOnly || o.undo || o.noUndo }

// progress is how far a call of the step has come.
type progress int

const (
	unbegun  progress = iota
	intended          // it is about to be made, or was when the process died
	answered          // the tool answered
	failed            // the tool answered that it failed
	lost              // nobody knows whether it happened
	nothing           // of an outcome only: it certainly did not happen
)

// sight is what came of looking.
type sight int

const (
	unseen  sight = iota
	holds         // what must be true is
	differs       // it definitely is not
	unclear       // it cannot be told
)

// phase is where a run is.
type phase int

const (
	forward phase = iota
	backward
	over
)

// attempt is a call of a step, or its undo.
type attempt struct {
	progress progress
	left     bool        // by an earlier process, or before a stop: look before anything is done
	doubt    bool        // an earlier attempt may have happened
	differed bool        // the gate's own look at it differed, and that was not decided upon yet
	key      string      // what names the call for the gate, for all that may have happened; "" is nothing
	args     canon.Value // as they were sent
}

// track is how a step stands.
type track struct {
	call, undo attempt
	done       bool // what had to hold did: CONTINUE
	undone     bool
	kept       bool // of a rehearsal: its undo failed

	result, observation canon.Value // absent where they are not known
}

// state is how a run stands.
type state struct {
	phase  phase
	at     int // forward: the step that is next; backward: the last step that may have to be undone
	halted bool
	failed bool   // halted in ROLLBACK, not by an interruption
	reason string // of what it is halted for
	cause  string // of the ROLLBACK
	last   string // what was said of the last call
	end    End    // where it is over
	flaw   string // of a rehearsal: why it turned back
	steps  []track

	scratch
}

// scratch is what holds only within one process, and for one step.
type scratch struct {
	interrupted bool
	surveyed    bool
	unfit       string // what is wrong with a call that is to come, or with what one came to
	prepared    *fact  // of the call that is next
	seen        *fact
	weighed     *fact
}

// What is to be done.
type move int

const (
	rest     move = iota // nothing: the run is halted or over
	survey               // ask what would become of all calls from that step on
	prepare              // make the arguments of a call, and ask what would become of it
	intend               // note that it is about to be made
	makeCall             // make it, and note what came of it
	look                 // observe, and compare
	weigh                // ask whether all that must be undone can be
	decide               // record the verdict
	settle               // record that the step is undone
	giveUp               // record that it is not
	finish               // note that the run is over
)

// action is a move, of which step, and whether of its undo.
type action struct {
	move    move
	step    int
	undo    bool
	verdict string // of decide
	end     End    // of finish
	reason  string // of decide and giveUp
}

// what says what a fact is about.
type what int

const (
	noted    what = iota // nothing
	resumed              // another process goes on
	surveyed             // *
	prepared             // *
	intention
	outcome
	seen    // *
	weighed // *
	decision
	settled
	surrender
	ended
	interruption // *
)

// fact is what came of a move. Those that a star marks above are not in the journal.
type fact struct {
	what   what
	step   int
	undo   bool
	reason string // why it cannot go on; of surveyed, prepared and weighed "" means that it can

	key     string // of prepared and intention
	repeats bool   // of prepared: it does no harm to make the call again
	stopped string // of prepared, and of outcome where nothing was done: why the gate holds back all changes there, "" if it does not
	again   bool   // of intention
	args    canon.Value
	how     progress    // of outcome
	result  canon.Value // of outcome
	differs bool        // of outcome: what the gate itself saw is not what its rules expect, or could not be told

	sight       sight // of seen
	observation canon.Value
	expected    string // digests
	observed    string

	verdict     string
	interrupted bool // of surrender
	end         End
	abandoned   bool
}

// next says what is to be done. It changes nothing.
func (p *shape) next(s *state) action {
	switch {
	case s.phase == over || s.halted:
		return action{move: rest}
	case s.phase == backward:
		return p.back(s)
	case s.at == len(s.steps):
		return action{move: finish, step: s.at, end: Continued}
	}
	call := &s.steps[s.at].call
	switch {
	case call.progress == intended && !call.left: // if nobody makes it any more, that is noted as well
		return action{move: makeCall, step: s.at}
	case call.differed: // whatever the plan itself would see
		return verdict(s, Stop, gateDiffered)
	case s.interrupted && (s.seen == nil || s.seen.sight != holds):
		return verdict(s, Stop, "it was interrupted")
	case call.progress == unbegun:
		return p.begin(s)
	case call.progress == lost && !call.left && (!call.doubt || s.seen != nil && s.seen.sight != holds):
		return verdict(s, Stop, "it is not known whether the call was carried out: "+s.last)
	}
	return p.compare(s)
}

func verdict(s *state, v, reason string) action {
	return action{move: decide, step: s.at, verdict: v, reason: reason}
}

// begin begins a step. What has no effect needs no note.
func (p *shape) begin(s *state) action {
	step := &p.steps[s.at]
	switch {
	case !s.surveyed:
		return action{move: survey, step: s.at}
	case s.unfit != "":
		return verdict(s, Stop, s.unfit)
	case s.prepared == nil:
		return action{move: prepare, step: s.at}
	case s.prepared.reason != "":
		return verdict(s, Stop, s.prepared.reason)
	case step.bare:
		return p.compare(s)
	case step.readOnly:
		return action{move: makeCall, step: s.at}
	}
	return action{move: intend, step: s.at}
}

// compare looks at what a call left, and decides.
func (p *shape) compare(s *state) action {
	step, call := &p.steps[s.at], &s.steps[s.at].call
	unsure := call.left || call.progress == lost
	switch {
	case s.unfit != "":
		return verdict(s, Stop, s.unfit)
	case s.seen == nil:
		return action{move: look, step: s.at}
	case unsure && s.seen.sight == holds && s.prepared == nil:
		return action{move: prepare, step: s.at}
	case unsure && s.seen.sight == holds && s.prepared.stopped != "":
		return verdict(s, Stop, heldBack(s.prepared))
	case call.left && (call.progress == intended || call.progress == lost):
		return p.takeUp(s, call)
	}
	switch s.seen.sight {
	case holds:
		return verdict(s, Continue, "")
	case differs:
	default:
		return verdict(s, Stop, s.seen.reason)
	}
	reason := mismatch(call.progress)
	switch {
	case p.rehearse:
		return verdict(s, Stop, reason)
	case step.stop:
		return verdict(s, Stop, reason+"; on_mismatch is stop")
	case p.lacksUndo(s) >= 0:
		return verdict(s, Stop, reason+"; a step that would have to be undone has no undo")
	case s.weighed == nil:
		return action{move: weigh, step: s.at}
	case s.weighed.reason != "":
		return verdict(s, Stop, reason+"; "+s.weighed.reason)
	}
	return verdict(s, Rollback, reason)
}

// gateDiffered is why a call stops whose rules in the policy verify it.
const gateDiffered = "the gate's own verification of the call differs, or could not be made: changes there are stopped until an operator releases them"

// heldBack is why a call that is taken up is not gone on from: CONTINUE would speak against what the gate says.
func heldBack(prepared *fact) string {
	return "the gate holds back all changes there: " + prepared.stopped
}

func mismatch(call progress) string {
	if call == failed {
		return "the tool says that it failed, and what was expected does not hold"
	}
	return "what was expected does not hold"
}

// lacksUndo returns a step that ROLLBACK would have to undo and nothing can, or -1.
func (p *shape) lacksUndo(s *state) int {
	for i := s.at; i >= 0; i-- {
		if s.steps[i].call.progress != unbegun && !p.steps[i].undoable() {
			return i
		}
	}
	return -1
}

// takeUp goes on with a call that another process began and of which nobody knows whether it was made, after a look. Where the
// gate knows it by its key the gate is asked, whatever was seen: it gives the answer that the call had, which later steps may
// need, or carries it out if it never was, also where what was expected happens to hold without it. What the gate itself has
// called inconclusive, and what it does not know again, goes by what was seen.
func (p *shape) takeUp(s *state, call *attempt) action {
	seen := s.seen.sight == holds
	switch {
	case seen && (call.progress == lost || call.key == ""):
		return verdict(s, Continue, "")
	case s.prepared == nil:
		return action{move: prepare, step: s.at}
	case seen && (s.prepared.reason != "" || s.prepared.key != call.key):
		return verdict(s, Continue, "")
	case s.seen.sight == unclear && s.prepared.reason == "" && !s.prepared.repeats && (s.prepared.key == "" || s.prepared.key != call.key):
		return verdict(s, Stop, s.seen.reason)
	}
	return p.again(s, call, false)
}

// again makes a call once more of which nobody knows whether it was made: only where the gate knows it again by its key, or
// where that does no harm.
func (p *shape) again(s *state, earlier *attempt, undo bool) action {
	switch {
	case s.prepared == nil:
		return action{move: prepare, step: s.at, undo: undo}
	case s.prepared.reason != "":
		return halt(s, undo, s.prepared.reason)
	case s.prepared.repeats, s.prepared.key != "" && s.prepared.key == earlier.key:
		return action{move: intend, step: s.at, undo: undo}
	}
	return halt(s, undo, "it cannot be known whether the call was carried out: no effect is to be seen, it may yet come, and nothing tells a second call from the first")
}

func halt(s *state, undo bool, reason string) action {
	if undo {
		return action{move: giveUp, step: s.at, undo: true, reason: reason}
	}
	return verdict(s, Stop, reason)
}

// back undoes what was done, the last step first.
func (p *shape) back(s *state) action {
	if s.at < 0 {
		return action{move: finish, step: s.at, end: RolledBack}
	}
	undo := &s.steps[s.at].undo
	switch {
	case undo.differed:
		return halt(s, true, gateDiffered)
	case s.interrupted && undo.progress != intended:
		return halt(s, true, "it was interrupted")
	case undo.progress == unbegun && s.prepared == nil:
		return action{move: prepare, step: s.at, undo: true}
	case undo.progress == unbegun && s.prepared.reason != "":
		return halt(s, true, s.prepared.reason)
	case undo.progress == unbegun:
		return action{move: intend, step: s.at, undo: true}
	case undo.progress == intended && !undo.left:
		return action{move: makeCall, step: s.at, undo: true}
	case undo.progress == lost && !undo.left:
		return halt(s, true, "it is not known whether the undo was carried out: "+s.last)
	case s.seen == nil:
		return action{move: look, step: s.at, undo: true}
	case undo.left && s.seen.sight == holds && s.prepared == nil:
		return action{move: prepare, step: s.at, undo: true}
	case undo.left && s.seen.sight == holds && s.prepared.stopped != "":
		return halt(s, true, heldBack(s.prepared))
	case s.seen.sight == holds:
		return action{move: settle, step: s.at, undo: true}
	case undo.left:
		return p.again(s, undo, true)
	case s.seen.sight == unclear:
		return halt(s, true, s.seen.reason)
	}
	return halt(s, true, "after the undo, what was expected of it does not hold")
}

// pending returns the last step, not after from, that has to be undone; -1 if there is none.
func (p *shape) pending(s *state, from int) int {
	for ; from >= 0; from-- {
		t := &s.steps[from]
		if p.steps[from].undo && t.call.progress != unbegun && !t.undone && !t.kept {
			break
		}
	}
	return from
}

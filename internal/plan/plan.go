// Package plan executes, verifies and stops: it runs the steps of a plan through the gate, looks after each at the state that
// really remained, and decides to CONTINUE, to STOP or to ROLLBACK.
//
// [Parse] reads a plan, [Runner.Run] and [Runner.Resume] run it, [Runner.Rehearse] proves that its undos work. What is done is
// journaled before and after each call, so that a run which was killed at any point can be gone on with and no step is
// executed twice. What decides is a state machine without input and output (machine.go); the journal is the list of what was
// put into it, and so replays to the state in which it was left.
//
// A plan is YAML or JSON:
//
//	version: 1
//	name: text                      optional; runs of plans with the same name are taken for runs of the same plan
//	rehearsal: {max_age: 24h}       how old the proof of an undo may be; a day if it is left out
//	steps:
//	  - id: word                    unique: letters, digits, "-" and "_"
//	    call: {tool: NAME, arguments: {…}}
//	    read_only: true             it has no effect; needs no undo; without "observe" the call itself is what is looked at
//	    observe: {tool: NAME, arguments: {…}}
//	    expect: EXPRESSION          what must hold afterwards
//	    retry_observe_for: 10s      how long to look again while it does not; also "retry observe for"
//	    undo: {tool: NAME, arguments: {…}}    or none: there is nothing to undo
//	    undone: EXPRESSION          what must hold after the undo; needed with one
//	    on_mismatch: rollback       or stop
//	    timeout: 30s                of each call and each observation
//
// Arguments left out are {}. In those of "call" stand ${run.id} and ${steps.ID.result.…}, ${steps.ID.observation.…} of earlier
// steps; in those of "observe" and "undo" also ${call.arguments.…}, ${args.…} and ${result.…}, what the call came to. Conditions
// are over observation, call, args, result, steps and run.
//
// A run's journal is runs/RUN.jsonl: canonical JSON, a line for each thing that was done, each with the "sum" of the line
// before as "prev". "sum" is the SHA-256 of the line without its "sum", in hex. Every line has "what" and "ts", nanoseconds
// since the epoch:
//
//	begin         plan (digest), text (the plan itself), name, principal, tenant, run, version
//	resume        another process goes on from here
//	intend        step, args, key, again: a call is about to be made; key is what names it for the gate
//	outcome       step, how (ok, failed, nothing, lost), result, reason, differs: the gate's own look at it differed
//	decide        step, verdict (CONTINUE, STOP, ROLLBACK), reason, expected, observed (digests), observation
//	undo-intend, undo-outcome      the same for the undo
//	undone        step, expected, observed
//	undo-stop     step, reason, interrupted: what remains is for people
//	end           end (CONTINUE, ROLLBACK, ABANDONED), reason: nothing more is to come
//
// The journal of a run that is over is removed when a run begins more than 30 days later. [List] tells of those that are there.
package plan

import (
	"context"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/gate"
	"sallyport/internal/postcondition"
)

// Plan is a plan that was read. It is immutable.
type Plan struct {
	name   string
	text   []byte // canonical
	digest string
	maxAge time.Duration // of a proof
	steps  []step
}

// step is one step of a plan.
type step struct {
	id       string
	call     invocation
	readOnly bool
	observe  *invocation // nil: the call itself is what is looked at
	expect   *postcondition.Condition
	retry    time.Duration
	undo     *invocation // nil: there is none
	noUndo   bool        // and none is needed
	undone   *postcondition.Condition
	stop     bool // on a mismatch
	timeout  time.Duration
	proof    string // digest of what a rehearsal proves; "" without an undo
}

// invocation is a call as a plan writes it.
type invocation struct {
	tool string
	args *postcondition.Template
}

// Digest is the SHA-256 of the plan in its canonical form, in hex.
func (p *Plan) Digest() string { return p.digest }

// Name is the plan's name, "" if it has none.
func (p *Plan) Name() string { return p.name }

// Steps are the ids of the steps, in order.
func (p *Plan) Steps() []string {
	ids := make([]string, len(p.steps))
	for i := range p.steps {
		ids[i] = p.steps[i].id
	}
	return ids
}

// Tools are how a plan calls tools: gateway.Inside.
type Tools interface {
	// Call calls a tool. requestID names the call for the gate where a policy's rule has the key policy.MetaKey; it is "" for
	// observations. A *gate.DeniedError, and ctx's own error, say that nothing was done; a *gate.UnavailableError how far it came.
	// After any other error nobody knows.
	Call(ctx context.Context, origin, requestID, tool string, args canon.Value) (gate.Result, error)
	// Preview says what would become of a call. It does nothing.
	Preview(ctx context.Context, requestID, tool string, args canon.Value) (gate.Preview, error)
}

// Book is where decisions and proofs are recorded: gate.Gate.
type Book interface {
	NoteStep(c gate.Caller, s gate.Step) error
	NoteProof(c gate.Caller, proof, plan, run, step, tool string) error
	Proven(proof string) (time.Time, error)
}

// Runner runs plans. Its fields are set before it is used; it is then safe for concurrent use, as far as Tools, Book and Watch
// are.
type Runner struct {
	Tools  Tools
	Book   Book
	Caller gate.Caller
	FS     durable.FS
	Dir    string      // of the journals
	Watch  func(Event) // nil: nobody watches. It is never called twice at once
	Asks   <-chan Ask  // tells of calls of this runner that wait for a person; nil: nothing does. Then it runs one plan at a time
}

// Ask is a call that waits for a person to agree to it.
type Ask struct {
	Approval string    // the id under which it waits
	Expires  time.Time // when nobody agrees any more
}

// The words of a plan's runner for what it decides.
const (
	Continue = gate.Continue
	Stop     = gate.Stop
	Rollback = gate.Rollback
)

// origin is what the gate records as the origin of a plan's calls.
const origin = "plan"

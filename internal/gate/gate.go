// Package gate is the one door: nothing has an effect that did not pass through [Gate.Do].
//
// Do decides by the policy before anything is touched, records every decision, runs a mutation
// once for its key, and fails closed: what cannot be recorded is not done, and what cannot be
// known is said to be inconclusive. Where the policy says how to verify a call, Do looks at what it left, and
// stops what comes after it unless that is what it should be. [Gate.Visible] says which tools can be seen. A tool's Invoke
// runs only with a [Permit], which only Do can make.
package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
)

// Gate decides, runs, verifies and records. It is safe for concurrent use. Its fields are set before it is used.
type Gate struct {
	// World is what the paths in calls are judged in; the zero World knows no folder.
	World effects.World

	// Limits counts the calls of rules with a limit. Without it, and where it cannot count, such rules allow nothing.
	Limits Limits

	// Stops are the stop latches. Without them a call that is to be verified is denied; where they cannot be read, every call
	// that may have an effect is.
	Stops *interlock.Stops

	// Approvals are what people are asked to agree to. Without them a call that the policy asks about is denied.
	Approvals *interlock.Approvals

	// Ending, where there is one, is done when the process is about to end: a mutation that an upstream has not answered by
	// then is inconclusive.
	Ending context.Context

	// Unattended, where there is one, is done when no client is there any more to take an answer: calls that wait for a person
	// end, and nothing was done by them.
	Unattended context.Context

	// CallTimeout bounds an upstream's mutation, which goes on without its caller; 0 is ten minutes.
	CallTimeout time.Duration

	// InTurn makes an outcome durable before the call is concluded, and not meanwhile: for those who follow one thread.
	InTurn bool

	policy atomic.Pointer[policy.Policy]
	ledger *ledger.Ledger
	claims *mutation.Claims
	log    *slog.Logger
}

// Limits counts calls, for all processes of a user together. Take takes a token of each limit, or of none, and returns the
// first one that is used up, with how long until it allows a call.
type Limits interface {
	Take(now time.Time, limits []interlock.Limit) (*interlock.Refusal, error)
}

// New returns a gate over its policy, ledger and claims; none may be nil.
func New(p *policy.Policy, l *ledger.Ledger, c *mutation.Claims, log *slog.Logger) *Gate {
	g := &Gate{ledger: l, claims: c, log: log}
	g.policy.Store(p)
	return g
}

// Policy is what decides calls that begin now.
func (g *Gate) Policy() *policy.Policy { return g.policy.Load() }

// SetPolicy makes p decide all calls that begin from now on.
func (g *Gate) SetPolicy(p *policy.Policy) { g.policy.Store(p) }

// Visible reports whether the policy could allow some call of t by a caller. What is not visible is
// not listed, and answered as if it did not exist.
func (g *Gate) Visible(c Caller, t *Tool) bool { return g.policy.Load().VisibleTo(c.who(), t.Name) }

// MethodVisible reports whether the policy could allow a caller some request for a method other than tools/call.
func (g *Gate) MethodVisible(c Caller, method string) bool {
	return g.policy.Load().MethodVisibleTo(c.who(), method)
}

func (c Caller) who() policy.Who { return policy.Who{Principal: c.Principal, Tenant: c.Tenant} }

// Do carries out one call, or refuses it. It is the only function that runs an effect.
//
// A *DeniedError means that the call was refused and recorded before anything was touched, an
// *InputNeededError that a person must agree first and the call must come again, an
// *UnavailableError that the gate could not do its own work and how far it came; ctx's error
// that the caller went away before anything was begun. Once a mutation is begun it is finished,
// verified and recorded without its caller.
func (g *Gate) Do(ctx context.Context, c Call) (Result, error) {
	for {
		w, err := g.judge(&c)
		if err != nil {
			return Result{}, err
		}
		result, err := g.carryOut(ctx, &c, w)
		if err == errVoid {
			continue
		}
		return result, err
	}
}

// carryOut carries out an allowed call. What its terms ask of the result is done last, when the result itself is stored and
// recorded.
func (g *Gate) carryOut(ctx context.Context, c *Call, w *course) (Result, error) {
	var result Result
	var err error
	switch own := c.Tool.Upstream == ""; {
	case w.keyed && own:
		return g.once(ctx, c, w)
	case w.keyed:
		result, err = g.passOnce(ctx, c, w)
	case w.asks != nil:
		result, err = g.onceAgreed(ctx, c, w)
	case w.readOnly && own:
		return g.observe(ctx, c, w.rec)
	case w.readOnly:
		result, err = g.passBeside(ctx, c, w)
	default:
		result, err = g.forward(ctx, c, w)
	}
	if err != nil || result.Form == Own {
		return result, err
	}
	if result.Body, err = w.terms.Output.Apply(result.Body); err != nil {
		return Result{}, g.unavailable(carriedOut, &withheldError{err})
	}
	return result, nil
}

// observe carries out a call that only reads.
func (g *Gate) observe(ctx context.Context, c *Call, rec *ledger.Record) (Result, error) {
	result, err := g.invoke(ctx, c, rec.ArgsDigest)
	rec.Outcome = ledger.Observed
	if err != nil {
		rec.Outcome = ledger.Failed
	}
	if err := g.ledger.Append(rec); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	if err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	return result, nil
}

// forward carries out a call that may have an effect and has no key, so that nobody can tell a retry from another call: the
// record comes first.
func (g *Gate) forward(ctx context.Context, c *Call, w *course) (Result, error) {
	cl, err := g.admit(ctx, c, w)
	if err != nil {
		return Result{}, err
	}
	defer cl.leave()
	if w.verified() {
		return g.forwardVerified(ctx, c, w, cl)
	}
	rec := w.rec
	rec.Outcome = ledger.Forwarded
	if err := g.ledger.Append(rec); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	own := c.Tool.Upstream == ""
	if own {
		ctx = context.WithoutCancel(ctx)
	}
	result, err := g.invoke(ctx, c, rec.ArgsDigest)
	switch {
	case err != nil && own:
		return Result{}, g.unavailable(unkeyed, err)
	case err != nil:
		return Result{}, g.unanswered(ctx, rec, unkeyed, err)
	}
	return result, nil
}

// forwardVerified is forward of a call that is verified. What comes first is what is left in its lane, from which the record
// is made if the process dies; else it has one record, with the verdict.
func (g *Gate) forwardVerified(ctx context.Context, c *Call, w *course, cl *clearance) (Result, error) {
	if err := g.ledger.ReadyWithRoom(); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	if ctx.Err() != nil {
		return g.gone(ctx, w.rec)
	}
	if c.Tool.Upstream == "" {
		ctx = context.WithoutCancel(ctx)
	} else { // what a caller gives up would be looked at before it is there
		var done context.CancelFunc
		ctx, done = g.unhurried(ctx)
		defer done()
	}
	w.rec.Attempt, w.rec.Outcome = mutation.NewAttempt(), ledger.Inconclusive
	if err := g.begin(c, w, cl, nil); err != nil {
		w.rec.Outcome = ledger.Failed // whatever stands in the lane all the same: the call is known not to have been made
		return Result{}, g.unavailable(nothing, errors.Join(err, g.ledger.Append(w.rec)))
	}
	result, cause := g.invoke(ctx, c, w.rec.ArgsDigest)
	if cause != nil {
		return Result{}, g.unfinished(ctx, c, w, cl, nil, cause)
	}
	w.rec.Outcome = w.outcomeOf(&result)
	checks, err := g.conclude(ctx, c, w, cl, result)
	switch result.Checks = checks; {
	case errors.Is(err, errEnding):
		return Result{}, g.unavailable(carriedOut, err)
	case err != nil && (w.rec.Outcome == ledger.Committed || result.Task):
		return Result{}, g.unavailable(owed, err)
	case err != nil: // the server says that it did nothing, or asks something, which cannot be passed on now
		return Result{}, g.unavailable(unkeyed, err)
	}
	return result, nil
}

// invoke runs the tool with a permit for this call. A panic is an error of which nobody knows
// what it left behind.
func (g *Gate) invoke(ctx context.Context, c *Call, digest string) (Result, error) {
	return g.invokeMeanwhile(ctx, c, digest, nil)
}

// invokeMeanwhile is invoke, with something to be done before it returns that may go on while an upstream works.
func (g *Gate) invokeMeanwhile(ctx context.Context, c *Call, digest string, meanwhile func()) (result Result, err error) {
	id, _ := c.key()
	p := newPermit(c.Tool.Name, Grant{Caller: c.Caller, Args: c.Args, ID: id}, digest)
	p.meanwhile = meanwhile
	defer p.Meanwhile()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in %s: %v", c.Tool.Name, p)
		}
	}()
	run := c.Tool.Invoke
	if run == nil {
		run = c.Invoke
	}
	return run(ctx, p)
}

// digestArgs is the SHA-256 of the canonical arguments; absent ones are {}. Where there is no
// canonical form, of a number that is out of range, it is that of the bytes, and an error.
func digestArgs(args canon.Value) (string, error) {
	if !args.Exists() {
		return emptyDigest, nil
	}
	digest, err := args.Digest()
	var refused *canon.Error
	if errors.As(err, &refused) {
		return digestBytes(args.Bytes()), fmt.Errorf("the arguments cannot be recorded: %s", refused.Detail)
	}
	return digest, err
}

package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
)

// callTimeout bounds an upstream's mutation that goes on without its caller, where the gate names no other time.
const callTimeout = 10 * time.Minute

// mostKey is how long a key may be, in bytes.
const mostKey = 1024

// terms are a policy's terms for one call to an upstream, with the key that the call has.
type terms struct {
	policy.Terms
	id      string // the key's value; not empty where the terms name a key
	batched bool   // reads may be recorded a moment later
}

// terms returns what the rules that allow a call ask of how it is carried out, or why it does not meet them.
func (g *Gate) terms(pol *policy.Policy, r policy.Request, c *Call) (*terms, *DeniedError) {
	t := &terms{Terms: pol.Terms(r), batched: pol.BatchedReads()}
	if t.Key == "" {
		return t, nil
	}
	from, what := c.Args.Get(t.Key), "argument"
	if t.Key == policy.MetaKey {
		from, what = c.Meta.Get(policy.MetaKey), "the member of _meta"
	}
	id, ok := from.Text()
	if !ok || id == "" || len(id) > mostKey {
		return t, &DeniedError{Tool: c.Name, Rule: t.Rule,
			Reason: fmt.Sprintf("%s %q names this call, so that it is carried out once: it must be a string of 1 to %d bytes", what, t.Key, mostKey)}
	}
	t.id = id
	return t, nil
}

// pass carries out an allowed call to an upstream, as its terms say. What the terms ask of the result is done last, when
// the result itself is stored and recorded.
func (g *Gate) pass(ctx context.Context, c *Call, rec *ledger.Record, t *terms) (Result, error) {
	var result Result
	var err error
	switch {
	case t.Key != "":
		rec.RequestID = t.id
		result, err = g.passOnce(ctx, c, rec, t)
	case t.ReadOnly:
		result, err = g.passBeside(ctx, c, rec, t.batched)
	default:
		result, err = g.passAfter(ctx, c, rec)
	}
	if err != nil || result.Form == Own {
		return result, err
	}
	if result.Body, err = t.Output.Apply(result.Body); err != nil {
		return Result{}, g.unavailable(carriedOut, &withheldError{err})
	}
	return result, nil
}

// passBeside sends a call that only reads while its record becomes durable. The answer waits for both, unless the policy
// lets the record come a moment later.
func (g *Gate) passBeside(ctx context.Context, c *Call, rec *ledger.Record, batched bool) (Result, error) {
	rec.Outcome = ledger.Forwarded
	if batched {
		if err := g.ledger.AppendSoon(rec, g.lostRecord); err != nil {
			return Result{}, g.unavailable(nothing, err)
		}
	}
	var recordErr error
	result, err := g.invokeMeanwhile(ctx, c, rec.ArgsDigest, func() {
		if !batched {
			recordErr = g.ledger.Append(rec)
		}
	})
	if recordErr != nil {
		return Result{}, g.unavailable(nothing, errors.Join(recordErr, err))
	}
	if err != nil {
		return Result{}, g.unanswered(ctx, rec, unread, err)
	}
	return result, nil
}

// lostRecord tells operators of a read that was answered and whose record could not be written.
func (g *Gate) lostRecord(err error) {
	g.log.Error("the record of a call that was answered could not be written; calls are refused until it is", "error", err)
}

// passAfter sends a call that may have an effect and has no key, so that nobody can tell a retry from another call: the
// record comes first.
func (g *Gate) passAfter(ctx context.Context, c *Call, rec *ledger.Record) (Result, error) {
	rec.Outcome = ledger.Forwarded
	if err := g.ledger.Append(rec); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	result, err := g.invoke(ctx, c, rec.ArgsDigest)
	if err != nil {
		return Result{}, g.unanswered(ctx, rec, unkeyed, err)
	}
	return result, nil
}

// unanswered answers for a call without a key that was recorded as forwarded and got no answer, and records that it did
// not. how is what is known of it if it was sent.
func (g *Gate) unanswered(ctx context.Context, rec *ledger.Record, how done, cause error) error {
	rec.Outcome = ledger.Inconclusive
	var notDone *NotDone
	if errors.As(cause, &notDone) {
		rec.Outcome, how = ledger.Failed, nothing
	}
	err := errors.Join(upstreamError(cause), g.ledger.Append(rec))
	if ctx.Err() != nil {
		g.log.Info("a call was given up after it was sent", "effect", doneWords[how], "error", err)
		return &UnavailableError{done: how, err: err} // and not ctx's error, which would say that nothing was begun
	}
	return g.unavailable(how, err)
}

// errUpstream marks what went wrong at a server behind us.
var errUpstream = errors.New("an upstream failed")

func upstreamError(cause error) error { return fmt.Errorf("%w: %w", errUpstream, cause) }

// passOnce carries out a mutation at an upstream, or answers for it if its key was used before.
func (g *Gate) passOnce(ctx context.Context, c *Call, rec *ledger.Record, t *terms) (Result, error) {
	key := mutation.Key{Principal: c.Caller.Principal, Tool: c.Name, ID: t.id, Upstream: c.Tool.Upstream}
	if len(c.Round) > 0 {
		key.Round = digestBytes(c.Round)
	}
	claim, err := g.claims.Begin(ctx, key)
	switch {
	case errors.Is(err, mutation.ErrInFlight):
		return g.known(c, t, rec, ledger.InFlight, inFlightAdvice)
	case ctx.Err() != nil:
		return g.gone(ctx, rec)
	case err != nil:
		return Result{}, g.unavailable(nothing, err)
	}
	defer claim.Release()
	if err := g.settleForwarded(claim); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	switch {
	case claim.State == mutation.None:
		return g.send(ctx, c, rec, t, claim)
	case claim.Fingerprint != rec.ArgsDigest:
		return g.known(c, t, rec, ledger.Conflict, conflictAdvice)
	case claim.State == mutation.Done:
		return g.replay(rec, claim)
	case t.Idempotent:
		return g.send(ctx, c, rec, t, claim)
	}
	rec.Outcome, rec.Attempt = ledger.Inconclusive, claim.Attempt
	return Result{}, g.unavailable(unsettled, errors.Join(errInconclusive, g.ledger.Append(rec)))
}

// send carries out a mutation whose claim is free, or may be tried again: the intent, the upstream's answer and the record
// are each durable before the next step, and all before our answer.
func (g *Gate) send(ctx context.Context, c *Call, rec *ledger.Record, t *terms, claim *mutation.Claim) (Result, error) {
	if err := g.ledger.Ready(); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	if ctx.Err() != nil {
		return g.gone(ctx, rec)
	}
	timeout := g.CallTimeout
	if timeout == 0 {
		timeout = callTimeout
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if g.Ending != nil {
		defer context.AfterFunc(g.Ending, cancel)()
	}
	rec.Attempt, rec.Outcome = mutation.NewAttempt(), ledger.Inconclusive
	if err := claim.Intend(g.intent(rec, rec.Body())); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	result, err := g.invoke(ctx, c, rec.ArgsDigest)
	if err != nil {
		return Result{}, g.unfinished(rec, t, claim, err)
	}
	rec.Outcome = outcomeOf(result)
	stored := mutation.Outcome{Word: string(rec.Outcome), Form: formWords[result.Form], Result: result.Body, Record: rec.Body()}
	lost := claim.Complete(stored)
	if lost != nil && !errors.Is(lost, mutation.ErrAnswerLost) {
		return Result{}, g.unavailable(unsettled, lost)
	}
	if err := g.ledger.Append(rec); err != nil {
		return Result{}, g.unavailable(unrecorded, errors.Join(err, lost))
	}
	claim.MarkRecorded(g.ledger.End())
	if lost != nil { // what cannot be given again is not given once: a retry must find the same
		return Result{}, g.unavailable(carriedOut, lost)
	}
	return result, nil
}

// unfinished answers for a mutation that was intended and got no answer. Where not a byte was sent its key is free again.
func (g *Gate) unfinished(rec *ledger.Record, t *terms, claim *mutation.Claim, cause error) error {
	var notDone *NotDone
	if errors.As(cause, &notDone) {
		rec.Outcome = ledger.Failed
		return g.unavailable(nothing, errors.Join(upstreamError(cause), claim.Free(), g.ledger.Append(rec)))
	}
	how := unsettled
	if t.Idempotent {
		how = harmless
	}
	return g.unavailable(how, errors.Join(upstreamError(cause), g.ledger.Append(rec)))
}

// outcomeOf is what a mutation came to by its upstream's answer.
func outcomeOf(r Result) ledger.Outcome {
	switch {
	case r.Open:
		return ledger.Forwarded
	case r.Failed:
		return ledger.Failed
	}
	return ledger.Committed
}

// formWords are the forms of answers as they stand in claims.
var formWords = [...]string{Own: "", Whole: "whole", Fault: "fault"}

// replay gives the stored answer of a mutation again.
func (g *Gate) replay(rec *ledger.Record, claim *mutation.Claim) (Result, error) {
	stored, err := claim.Answer()
	form := Form(-1)
	for f, word := range formWords {
		if word == claim.Form {
			form = Form(f)
		}
	}
	if err == nil && form < 0 {
		err = fmt.Errorf("the claims have an answer of the form %q, which this release does not know", claim.Form)
	}
	if err != nil {
		rec.Outcome = ledger.NotExecuted
		return Result{}, g.unavailable(before, errors.Join(err, g.ledger.Append(rec)))
	}
	was := ledger.Outcome(claim.Outcome)
	if rec.Outcome = ledger.Replay; was == ledger.Inconclusive {
		rec.Outcome, rec.Attempt = was, claim.Attempt // an operator gave it up
	}
	if err := g.ledger.Append(rec); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	failed := was == ledger.Failed || was == ledger.Inconclusive
	return Result{Body: stored, Form: form, Failed: failed, Open: was == ledger.Forwarded}, nil
}

// known records an outcome that took no dispatch, and words it: as a result where a tool was called, else as a refusal.
func (g *Gate) known(c *Call, t *terms, rec *ledger.Record, outcome ledger.Outcome, advice string) (Result, error) {
	rec.Outcome = outcome
	if err := g.ledger.Append(rec); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	if c.method() != toolsCall {
		return Result{}, &DeniedError{Tool: c.Name, Rule: t.Rule, Reason: advice}
	}
	r := statusOf(t.id, outcome, advice)
	r.Failed = true
	return r, nil
}

// settleForwarded brings into the ledger what a crash kept out of it. The caller holds the claim, so whoever left it is
// dead. Of an intent nothing more can be known: it is inconclusive, and stays as it is.
func (g *Gate) settleForwarded(claim *mutation.Claim) error {
	if claim.State != mutation.Intended {
		return g.settleRecord(claim)
	}
	held, err := g.ledger.Holds(claim.Attempt, ledger.Inconclusive, claim.Offset)
	if err != nil {
		return fmt.Errorf("looking for an attempt in the ledger: %w", err)
	}
	if held {
		return nil
	}
	g.log.Warn("a call to an upstream was cut off, and nobody can know whether it was carried out: see sallyport claims list",
		"upstream", claim.Key().Upstream, "tool", claim.Key().Tool, "attempt", claim.Attempt)
	return g.ledger.AppendRecovered(claim.Record)
}

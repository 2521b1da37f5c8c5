package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
)

// callTimeout bounds an upstream's mutation that goes on without its caller, where the gate names no other time.
const callTimeout = 10 * time.Minute

// mostKey is how long a key may be, in bytes.
const mostKey = 1024

// keyOf returns what names a call to an upstream by the policy's terms, or why it does not meet them.
func keyOf(c *Call, t *policy.Terms) (string, *DeniedError) {
	from, what := c.Args.Get(t.Key), "argument"
	if t.Key == policy.MetaKey {
		from, what = c.Meta.Get(policy.MetaKey), "the member of _meta"
	}
	id, ok := from.Text()
	if !ok || id == "" || len(id) > mostKey {
		return "", &DeniedError{Tool: c.Name, Rule: t.Rule,
			Reason: fmt.Sprintf("%s %q names this call, so that it is carried out once: it must be a string of 1 to %d bytes", what, t.Key, mostKey)}
	}
	return id, nil
}

// passBeside sends a call that only reads while its record becomes durable. The answer waits for both, unless the policy
// lets the record come a moment later.
func (g *Gate) passBeside(ctx context.Context, c *Call, w *course) (Result, error) {
	rec := w.rec
	rec.Outcome = ledger.Forwarded
	record := g.ledger.Append
	if w.batched {
		if err := g.ledger.Refuses(); err != nil {
			return Result{}, g.unavailable(nothing, err)
		}
		record = func(r *ledger.Record) error { return g.ledger.AppendSoon(r, g.lostRecord) }
	}
	var recordErr error
	result, err := g.invokeMeanwhile(ctx, c, rec.ArgsDigest, func() { recordErr = record(rec) })
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
func (g *Gate) passOnce(ctx context.Context, c *Call, w *course) (Result, error) {
	key, _ := w.key(c)
	claim, err := g.claims.Begin(ctx, key)
	switch {
	case errors.Is(err, mutation.ErrInFlight):
		return g.known(c, w, ledger.InFlight, inFlightAdvice)
	case ctx.Err() != nil:
		return g.gone(ctx, w.rec)
	case err != nil:
		return Result{}, g.unavailable(nothing, err)
	}
	defer claim.Release()
	said, err := g.settleForwarded(claim)
	if err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	switch {
	case claim.State == mutation.None:
		return g.send(ctx, c, w, claim)
	case claim.Fingerprint != w.rec.ArgsDigest:
		return g.known(c, w, ledger.Conflict, conflictAdvice)
	}
	if claim.State == mutation.Intended && w.terms.Idempotent {
		w.approval = w.agreedTo(claim)
		return g.send(ctx, c, w, claim)
	}
	checks, err := g.checksOf(ctx, c, w, claim.Attempt, claim.Offset)
	switch {
	case claim.State == mutation.Done && err != nil:
		return Result{}, g.unavailable(before, err)
	case claim.State == mutation.Done:
		return g.replay(w.rec, claim, checks)
	case said != ledger.Inconclusive:
		w.rec.Outcome = ledger.NotExecuted
		return Result{}, g.unavailable(carriedOut, errors.Join(errAnswered, err, g.ledger.Append(w.rec)))
	}
	w.rec.Outcome, w.rec.Attempt = ledger.Inconclusive, claim.Attempt
	return Result{}, g.unavailable(unsettled, errors.Join(errInconclusive, seenAs[checks], err, g.ledger.Append(w.rec)))
}

// send carries out a call whose claim is free, or that may be tried again: the intent, the answer and the record are each
// durable before the next step, and all before our answer.
func (g *Gate) send(ctx context.Context, c *Call, w *course, claim *mutation.Claim) (Result, error) {
	cl, err := g.admit(ctx, c, w)
	if err != nil {
		return Result{}, err
	}
	defer cl.leave()
	if err := g.ledger.Ready(); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	if ctx.Err() != nil {
		return g.gone(ctx, w.rec)
	}
	ctx, cancel := g.unhurried(ctx)
	defer cancel()
	if err := g.intend(c, w, cl, claim, ledger.Inconclusive); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	result, err := g.invoke(ctx, c, w.rec.ArgsDigest)
	if err != nil {
		return Result{}, g.unfinished(ctx, c, w, cl, claim, err)
	}
	defer g.used(w)
	w.rec.Outcome = w.outcomeOf(&result)
	stored := mutation.Outcome{Word: string(w.rec.Outcome), Form: formWords[result.Form], Result: result.Body, Record: w.rec.Body()}
	lost, recordErr := g.finish(ctx, c, w, cl, claim, stored, &result)
	if lost != nil && !errors.Is(lost, mutation.ErrAnswerLost) {
		return Result{}, g.unavailable(unsettled, errors.Join(lost, recordErr))
	}
	if recordErr != nil {
		return Result{}, g.unconcluded(errors.Join(recordErr, lost))
	}
	claim.MarkRecorded(g.ledger.End())
	if lost != nil { // what cannot be given again is not given once: a retry must find the same
		return Result{}, g.unavailable(carriedOut, lost)
	}
	return result, nil
}

// finish makes the outcome of a claim durable, and concludes the call: what it left is looked at where its rules want that, and
// it is recorded. lost says what became of the outcome, err what of the record, of which there is none where the outcome could
// not be written. What was committed is concluded while its outcome is synced: the record is written after the outcome, so that
// only the death of the machine can leave the one without the other, and whoever comes next looks for that.
func (g *Gate) finish(ctx context.Context, c *Call, w *course, cl *clearance, claim *mutation.Claim, stored mutation.Outcome, result *Result) (lost, err error) {
	conclude := func() { result.Checks, err = g.conclude(ctx, c, w, cl, *result) }
	if g.InTurn || w.rec.Outcome != ledger.Committed {
		if lost = claim.Complete(stored); lost == nil || errors.Is(lost, mutation.ErrAnswerLost) {
			conclude()
		}
		return lost, err
	}
	written, completed := make(chan bool, 2), make(chan error, 1)
	go func() {
		err := claim.CompleteNoting(stored, func() { written <- true })
		written <- false
		completed <- err
	}()
	defer func() { lost = <-completed }() // the claim is in use until then, also where conclude panics
	if <-written {
		conclude()
	}
	return nil, err
}

// unhurried is the context of a mutation at an upstream, which goes on without its caller, but not for ever.
func (g *Gate) unhurried(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := g.CallTimeout
	if timeout == 0 {
		timeout = callTimeout
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	if g.Ending == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(g.Ending, cancel)
	return ctx, func() { stop(); cancel() }
}

// intend makes a claim's intent durable, and whatever else must be before the call. The record of an intent of which nothing
// more becomes known has the outcome that is given.
func (g *Gate) intend(c *Call, w *course, cl *clearance, claim *mutation.Claim, outcome ledger.Outcome) error {
	rec := w.rec
	rec.Attempt, rec.Outcome, rec.Approval = mutation.NewAttempt(), outcome, w.approval
	err := g.begin(c, w, cl, func() error { return claim.Intend(g.intent(rec, rec.Body())) })
	if err != nil && claim.Attempt == rec.Attempt { // the intent is there, but not what must be beside it
		err = errors.Join(err, claim.Free())
	}
	return err
}

// unfinished answers for a call that was intended and got no answer. Where not a byte was sent its key, if it has a claim, is
// free again.
func (g *Gate) unfinished(ctx context.Context, c *Call, w *course, cl *clearance, claim *mutation.Claim, cause error) error {
	if c.Tool.Upstream != "" {
		cause = upstreamError(cause)
	}
	var notDone *NotDone
	if errors.As(cause, &notDone) {
		w.rec.Outcome = ledger.Failed
		var freed error
		if claim != nil {
			freed = claim.Free()
		}
		g.clear(cl)
		return g.unavailable(nothing, errors.Join(cause, freed, g.ledger.Append(w.rec)))
	}
	defer g.used(w)
	how := unsettled
	switch {
	case !w.keyed:
		how = unkeyed
	case w.terms.Idempotent:
		how = harmless
	}
	checks, err := g.conclude(ctx, c, w, cl, Result{})
	return g.unavailable(how, errors.Join(cause, seenAs[checks], err))
}

// unconcluded answers for a call that was answered, and of which what came of it could not be looked at or recorded.
func (g *Gate) unconcluded(err error) error {
	if errors.Is(err, errEnding) {
		return g.unavailable(carriedOut, err)
	}
	return g.unavailable(unrecorded, err)
}

// outcomeOf is what a call came to by its answer.
func (w *course) outcomeOf(r *Result) ledger.Outcome {
	switch {
	case r.Open:
		return ledger.Forwarded
	case r.Failed || r.Form == Own && saysFailed(r.Body):
		return ledger.Failed
	case w.readOnly:
		return ledger.Observed
	}
	return ledger.Committed
}

// saysFailed reports whether a result of our own says that the call failed.
func saysFailed(body []byte) bool {
	v, err := canon.Skim(body)
	if err != nil {
		return false
	}
	failed, _ := v.Get("isError").Bool()
	return failed
}

// formWords are the forms of answers as they stand in claims.
var formWords = [...]string{Own: "", Whole: "whole", Fault: "fault"}

// replay gives the stored answer of a mutation again.
func (g *Gate) replay(rec *ledger.Record, claim *mutation.Claim, checks Checks) (Result, error) {
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
	failed, open := was == ledger.Failed || was == ledger.Inconclusive, was == ledger.Forwarded
	return Result{Body: stored, Form: form, Failed: failed, Open: open, Task: open && !awaitsInput(stored), Checks: checks}, nil
}

// known records an outcome that took no dispatch, and words it: as a result where a tool was called, else as a refusal.
func (g *Gate) known(c *Call, w *course, outcome ledger.Outcome, advice string) (Result, error) {
	w.rec.Outcome = outcome
	if err := g.ledger.Append(w.rec); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	if c.method() != toolsCall {
		return Result{}, &DeniedError{Tool: c.Name, Rule: w.terms.Rule, Reason: advice}
	}
	r := statusOf(w.id, outcome, advice)
	r.Failed = true
	return r, nil
}

// settleForwarded brings into the ledger what a crash kept out of it. The caller holds the claim, so whoever left it is
// dead. An intent stays as it is, and said is what the ledger says of it: that it is inconclusive, since nothing more can be
// known; or that it was committed, where the machine died while outcome and record became durable, and the outcome was lost.
func (g *Gate) settleForwarded(claim *mutation.Claim) (said ledger.Outcome, err error) {
	if claim.State != mutation.Intended {
		return "", g.settleRecord(claim)
	}
	trace, err := g.ledger.Trace(claim.Attempt, claim.Offset)
	if err != nil {
		return "", fmt.Errorf("looking for an attempt in the ledger: %w", err)
	}
	for _, said := range []ledger.Outcome{ledger.Inconclusive, ledger.Committed} {
		if trace.Has(said) {
			return said, nil
		}
	}
	g.log.Warn("a call to an upstream was cut off, and nobody can know whether it was carried out: see sallyport claims list",
		"upstream", claim.Key().Upstream, "tool", claim.Key().Tool, "attempt", claim.Attempt)
	return ledger.Inconclusive, g.ledger.AppendRecovered(claim.Record)
}

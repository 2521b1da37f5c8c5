package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
)

// once carries out a mutation, or answers for it if its key was used before.
func (g *Gate) once(ctx context.Context, c *Call, w *course) (Result, error) {
	id, rec := w.id, w.rec
	key := mutation.Key{Principal: c.Caller.Principal, Tool: c.Tool.Name, ID: id}
	claim, err := g.claims.Begin(ctx, key)
	switch {
	case errors.Is(err, mutation.ErrInFlight):
		return g.answer(c.Tool, id, rec, ledger.InFlight, Result{})
	case ctx.Err() != nil:
		return g.gone(ctx, rec)
	case err != nil:
		return Result{}, g.unavailable(nothing, err)
	}
	defer claim.Release()
	err = g.settle(ctx, c.Tool, claim)
	if errors.Is(err, errUnverified) && w.verified() {
		if _, err = g.checksOf(ctx, c, w, claim.Attempt, claim.Offset); err == nil {
			err = g.settle(ctx, c.Tool, claim)
		}
	}
	if err != nil {
		return Result{}, g.leftOpen(rec, err)
	}
	switch {
	case claim.State == mutation.None:
		return g.execute(ctx, c, w, claim)
	case claim.Fingerprint != rec.ArgsDigest:
		return g.answer(c.Tool, id, rec, ledger.Conflict, Result{})
	}
	stored, err := claim.Answer()
	if err != nil {
		return Result{}, g.unavailable(before, err)
	}
	checks, err := g.checksOf(ctx, c, w, claim.Attempt, claim.Offset)
	if err != nil {
		return Result{}, g.unavailable(before, err)
	}
	result, err := g.answer(c.Tool, id, rec, ledger.Replay, Result{Body: stored})
	result.Checks = checks
	return result, err
}

// execute runs a mutation whose claim is free: the intent, the effect, the outcome and the
// record are each durable before the next step, and all before the answer.
func (g *Gate) execute(ctx context.Context, c *Call, w *course, claim *mutation.Claim) (Result, error) {
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
	ctx = context.WithoutCancel(ctx)
	if err := g.intend(c, w, cl, claim, ledger.Committed); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	body := claim.Record
	result, err := g.invoke(ctx, c, w.rec.ArgsDigest)
	if errors.Is(err, ErrDone) { // by somebody whose claim is lost
		w.rec.Outcome = ledger.Replay
		body = w.rec.Body()
		result, err = c.Tool.word(c.Caller, claim.Key().ID, ledger.Replay, Result{})
	}
	if err != nil {
		return g.failed(ctx, c, w, cl, claim, err)
	}
	defer g.used(w)
	stored := mutation.Outcome{Word: string(w.rec.Outcome), Result: result.Body, Record: body}
	lost, err := g.finish(ctx, c, w, cl, claim, stored, &result)
	if lost != nil {
		return Result{}, g.unavailable(unknown, errors.Join(lost, err))
	}
	if err != nil {
		return Result{}, g.unconcluded(err)
	}
	claim.MarkRecorded(g.ledger.End())
	return result, nil
}

// intent is what is written down before the attempt of a record. body belongs to it if nothing more becomes known.
func (g *Gate) intent(rec *ledger.Record, body []byte) mutation.Intent {
	return mutation.Intent{Attempt: rec.Attempt, Fingerprint: rec.ArgsDigest, Offset: g.ledger.End(), Time: time.Now().UnixNano(), Record: body, Approval: rec.Approval}
}

// failed answers for a mutation whose tool returned an error after the intent.
func (g *Gate) failed(ctx context.Context, c *Call, w *course, cl *clearance, claim *mutation.Claim, cause error) (Result, error) {
	var notDone *NotDone
	switch {
	case errors.Is(cause, ErrConflict):
		if err := claim.Free(); err != nil {
			return Result{}, g.unavailable(nothing, err)
		}
		g.clear(cl)
		return g.answer(c.Tool, claim.Key().ID, w.rec, ledger.Conflict, Result{})
	case errors.As(cause, &notDone):
		w.rec.Outcome = ledger.Failed
		freed := claim.Free() // an intent that cannot be taken back is looked into by the next attempt
		g.clear(cl)
		return Result{}, g.unavailable(nothing, errors.Join(cause, freed, g.ledger.Append(w.rec)))
	}
	w.rec.Outcome = ledger.Inconclusive
	checks, err := g.conclude(ctx, c, w, cl, Result{})
	return Result{}, g.unavailable(unknown, errors.Join(cause, seenAs[checks], err))
}

// answer records an outcome that took no invocation, and words it.
func (g *Gate) answer(t *Tool, id string, rec *ledger.Record, outcome ledger.Outcome, stored Result) (Result, error) {
	rec.Outcome = outcome
	if err := g.ledger.Append(rec); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	result, err := t.word(Caller{Principal: rec.Principal, Tenant: rec.Tenant}, id, outcome, stored)
	if err != nil {
		return Result{}, g.unavailable(before, err)
	}
	return result, nil
}

// gone records that an allowed call was given up by its caller before anything was begun.
func (g *Gate) gone(ctx context.Context, rec *ledger.Record) (Result, error) {
	rec.Outcome = ledger.NotExecuted
	if err := g.ledger.Append(rec); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	return Result{}, ctx.Err()
}

// errInconclusive says that an effect was begun before a crash and nobody can know whether it happened.
var errInconclusive = errors.New("an earlier attempt was cut off, and whether it happened cannot be known")

// errAnswered says that an effect was answered before a crash that took the answer, so that it cannot be given again.
var errAnswered = errors.New("an earlier attempt was carried out, and its answer was lost in a crash")

// leftOpen answers for a call whose key has an earlier attempt that could not be settled.
func (g *Gate) leftOpen(rec *ledger.Record, cause error) error {
	if errors.Is(cause, errInconclusive) {
		rec.Outcome = ledger.Inconclusive
		cause = errors.Join(cause, g.ledger.Append(rec))
	}
	return g.unavailable(unknown, cause)
}

// errUnverified says that there is something else than an attempt was to put there, while some attempt in its scope is still
// to be verified: it may have been this one.
var errUnverified = errors.New("an earlier attempt was cut off before what it left was looked at")

// leftSomething reports whether a call in the scope of a key is still to be verified, as far as can be told.
func (g *Gate) leftSomething(key mutation.Key) bool {
	if g.Stops == nil {
		return false
	}
	standing, _, err := g.Stops.Check(interlock.Scope{Principal: key.Principal, Server: key.Upstream})
	return err != nil || standing == interlock.Left || standing == interlock.Unknown
}

// settle brings a claim that a crash left half way to where it can be judged: after it the claim
// is None, or Done with its record in the ledger. The caller holds the claim, so whoever left it
// is dead.
func (g *Gate) settle(ctx context.Context, t *Tool, claim *mutation.Claim) error {
	if claim.State == mutation.Intended {
		if err := g.settleIntent(ctx, t, claim); err != nil {
			return err
		}
	}
	return g.settleRecord(claim)
}

// settleRecord makes sure that the record of an outcome is in the ledger.
func (g *Gate) settleRecord(claim *mutation.Claim) error {
	if claim.State != mutation.Done || claim.Recorded {
		return nil
	}
	held, err := g.ledger.Holds(claim.Attempt, ledger.Outcome(claim.Outcome), claim.Offset)
	if err != nil {
		return fmt.Errorf("looking for an outcome in the ledger: %w", err)
	}
	if !held {
		if err := g.ledger.AppendRecovered(claim.Record); err != nil {
			return err
		}
		g.log.Info("an outcome from before a crash was recorded", "tool", claim.Key().Tool, "attempt", claim.Attempt)
	}
	claim.MarkRecorded(g.ledger.End())
	return nil
}

// settleIntent looks at the world: the effect is there, or it is not and the key is free again.
func (g *Gate) settleIntent(ctx context.Context, t *Tool, claim *mutation.Claim) error {
	if t.Look == nil {
		return errInconclusive
	}
	key := claim.Key()
	digest, found, err := t.Look(ctx, Caller{Principal: key.Principal}, key.ID)
	switch {
	case err != nil:
		return fmt.Errorf("looking for an effect from before a crash: %w", err)
	case found && digest == claim.Fingerprint:
		return g.completeLate(t, claim)
	}
	recorded, err := g.ledger.Holds(claim.Attempt, ledger.Committed, claim.Offset)
	switch {
	case err != nil:
		return fmt.Errorf("looking for an attempt in the ledger: %w", err)
	case recorded: // and somebody took away what it left
		return g.completeLate(t, claim)
	case found && g.leftSomething(key):
		return errUnverified
	}
	// Nothing is there, or something that this intent did not put there.
	return claim.Free()
}

// completeLate writes the outcome of an attempt that was carried out, as its tool words it now.
func (g *Gate) completeLate(t *Tool, claim *mutation.Claim) error {
	result := t.Status(claim.Key().ID, ledger.Committed, Result{})
	return claim.Complete(mutation.Outcome{Word: string(ledger.Committed), Result: result.Body, Record: claim.Record})
}

// Recover settles what crashes left behind, for those of the tools that are given and for upstreams' tools, of which it
// records what is known and no more; so it does of verified calls without a claim. What another process is at this moment is left to it. The errors say what could not
// be settled; a call for the same key will try again.
func (g *Gate) Recover(ctx context.Context, tools []*Tool) error {
	if err := g.ledger.Ready(); err != nil {
		return fmt.Errorf("looking at the ledger: %w", err)
	}
	keys, err := g.claims.Unsettled()
	if err != nil {
		return fmt.Errorf("reading the claims: %w", err)
	}
	byName := map[string]*Tool{}
	for _, t := range tools {
		byName[t.Name] = t
	}
	errs := []error{g.claims.Sweep(), g.recordOwed(ctx)}
	for _, key := range keys {
		if ctx.Err() != nil {
			return errors.Join(append(errs, ctx.Err())...)
		}
		if t := byName[key.Tool]; t != nil || key.Upstream != "" {
			errs = append(errs, g.recoverKey(ctx, t, key))
		}
	}
	return errors.Join(errs...)
}

func (g *Gate) recoverKey(ctx context.Context, t *Tool, key mutation.Key) error {
	claim, err := g.claims.TryBegin(ctx, key)
	if errors.Is(err, mutation.ErrInFlight) {
		return nil
	}
	if err != nil {
		return err
	}
	defer claim.Release()
	if key.Upstream != "" || t.Key == "" { // what was agreed to, and has no key, cannot be looked for
		_, err := g.settleForwarded(claim)
		return err
	}
	if err := g.settle(ctx, t, claim); !errors.Is(err, errUnverified) {
		return err
	}
	return nil // the next change looks first
}

package gate

import (
	"context"
	"errors"
	"fmt"

	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
)

// Operator is the principal of what a person does at the gate itself.
const Operator = "operator"

// MethodResolve is the method of the record of a settlement.
const MethodResolve = "claims/resolve"

// The verdicts of an operator over an attempt that is inconclusive.
const (
	AsCommitted = "committed" // it was carried out
	AsAbsent    = "absent"    // it was not, and can be tried again
	AsAbandoned = "abandoned" // nobody will find out, and nobody shall try again
)

// Settlement is what an operator says of an attempt.
type Settlement struct {
	Attempt string
	As      string // a verdict
	Reason  string // in the operator's words, for the record
	Result  []byte // optional, of a committed one: the tools/call result that retries get
	Form    Form   // of Result
}

// ErrSettled says that an attempt is not inconclusive, or not any more.
var ErrSettled = errors.New("the attempt is not inconclusive, or not any more")

// ErrCarriedOut says that the ledger has an attempt as committed, so that it cannot be settled as anything else.
var ErrCarriedOut = errors.New("by its record in the ledger the attempt was carried out")

// Resolve settles an upstream's mutation that a crash or a lost connection left inconclusive, by an operator's word, and
// records it. The record comes first: nothing is settled without it. An attempt that is in flight is refused
// (mutation.ErrInFlight). Where it fails after the record, it can be called again.
func (g *Gate) Resolve(ctx context.Context, key mutation.Key, s Settlement) error {
	outcome, ok := map[string]ledger.Outcome{AsCommitted: ledger.Committed, AsAbsent: ledger.NotExecuted, AsAbandoned: ledger.Inconclusive}[s.As]
	if !ok || key.Upstream == "" {
		return fmt.Errorf("settling a claim as %q: there is no such verdict for it", s.As)
	}
	claim, err := g.claims.TryBegin(ctx, key)
	if err != nil {
		return err
	}
	defer claim.Release()
	if claim.State != mutation.Intended || claim.Attempt != s.Attempt {
		return ErrSettled
	}
	rec := &ledger.Record{
		RequestID:  key.ID,
		Method:     MethodResolve,
		Name:       key.Tool,
		Decision:   "allow",
		Outcome:    outcome,
		ArgsDigest: claim.Fingerprint,
		Principal:  Operator,
		Rule:       s.As,
		Attempt:    s.Attempt,
		Reason:     s.Reason,
		Upstream:   key.Upstream,
	}
	if err := g.recordSettlement(rec, claim); err != nil {
		return err
	}
	if s.As == AsAbsent {
		return claim.Free()
	}
	if err := claim.Complete(s.outcome(key.ID, rec)); err != nil {
		return err
	}
	claim.MarkRecorded(g.ledger.End())
	return nil
}

// recordSettlement records a settlement, unless an earlier try did and came no further.
func (g *Gate) recordSettlement(rec *ledger.Record, claim *mutation.Claim) error {
	said, err := g.settleForwarded(claim) // that it was inconclusive comes before
	if err != nil {
		return err
	}
	if said == ledger.Committed && rec.Rule != AsCommitted {
		return ErrCarriedOut
	}
	held, err := g.ledger.HoldsFor(rec.Method, rec.Rule, rec.Attempt, claim.Offset)
	if err != nil {
		return fmt.Errorf("looking for the settlement in the ledger: %w", err)
	}
	if held {
		return nil
	}
	return g.ledger.Append(rec)
}

// outcome is what retries of a settled mutation are answered with.
func (s Settlement) outcome(id string, rec *ledger.Record) mutation.Outcome {
	answer := Result{Body: s.Result, Form: s.Form}
	switch {
	case s.As == AsAbandoned:
		answer = settledStatus(id, AsAbandoned, abandonedAdvice)
	case s.Result == nil:
		answer = settledStatus(id, AsCommitted, "")
	}
	return mutation.Outcome{Word: string(rec.Outcome), Form: formWords[answer.Form], Result: answer.Body, Record: rec.Body()}
}

// Note records that a request was refused before it could become a call, such as one without a good token. It bounds
// nothing: whoever calls it sees to it that a flood of refusals is no flood of records.
func (g *Gate) Note(method, name, principal, rule, reason string) error {
	return g.ledger.Append(&ledger.Record{
		RequestID:    ledger.Missing,
		Method:       method,
		Name:         name,
		Decision:     "deny",
		Outcome:      ledger.NotExecuted,
		ArgsDigest:   emptyDigest, // there were none
		PolicyDigest: g.policy.Load().Digest(),
		Principal:    principal,
		Rule:         rule,
		Reason:       reason,
	})
}

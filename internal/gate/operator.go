package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
)

// The methods of records of what a person did at the gate itself, besides MethodResolve, and of plans.
const (
	MethodApprove  = "approvals/approve"
	MethodDeny     = "approvals/deny"
	MethodRelease  = "interlock/release"
	MethodStep     = "plan/step"
	MethodUndo     = "plan/undo"
	MethodRehearse = "plan/rehearse"
)

// Preview is what would become of a call.
type Preview struct {
	Decision policy.Decision
	Rule     string
	Reason   string // of a decision that is not Allow
	ReadOnly bool   // it has no effect
	Key      string // what names the mutation, "" where nothing does: then nobody can tell a retry from another call
	Repeats  bool   // carried out twice it does no harm: the tool, or the operator's rule, says so
	Verified bool   // rules verify it
	Hidden   bool   // the caller can never call the tool, whatever the arguments
	Stopped  string // why changes are held back where the call would make one, "" if they are not; said also of a call that the claims would answer
}

// Preview says what Do would decide of a call. It touches and records nothing, and takes no token of a limit.
func (g *Gate) Preview(c Call) Preview {
	w, _, denied := g.weigh(g.policy.Load(), &c)
	p := Preview{Decision: policy.Allow, ReadOnly: w.readOnly, Verified: w.verified()}
	if w.keyed {
		p.Key = w.id
	}
	if c.Tool != nil {
		p.Repeats = w.readOnly || w.terms.Idempotent || c.Tool.Upstream == "" && c.Tool.Key == "" && c.Tool.Idempotent
	}
	held := g.heldNow(&c, w)
	if held != nil {
		p.Stopped = held.Reason
	}
	if denied == nil {
		denied = g.foresee(&c, w, held)
	}
	switch {
	case denied != nil:
		p.Decision, p.Rule, p.Reason, p.Hidden = policy.Deny, denied.Rule, denied.Reason, denied.Hidden
	case w.asks != nil:
		p.Decision, p.Rule, p.Reason = policy.Ask, w.asks.Rule, w.asks.Reason
	}
	return p
}

// heldNow returns why changes are held back in a call's scope until an operator looks; nil if they are not.
func (g *Gate) heldNow(c *Call, w *course) *DeniedError {
	if w.readOnly || g.Stops == nil || c.Tool == nil {
		return nil
	}
	standing, stop, err := g.Stops.Check(c.scope())
	if err == nil && standing != interlock.Stopped && standing != interlock.Unknown {
		return nil
	}
	return heldBack(c, standing, stop)
}

// foresee returns why a call would be held back, as far as that can be told without touching anything. A call of which the
// claims know already is answered for by them.
func (g *Gate) foresee(c *Call, w *course, held *DeniedError) *DeniedError {
	switch {
	case held != nil:
		if w.keyed {
			key, _ := w.key(c)
			if claim, err := g.claims.Look(key); err == nil && claim.State == mutation.Done {
				return nil
			}
		}
		return held
	case w.asks != nil || !w.verified():
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	return g.blind(ctx, c, w)
}

// Release releases a stop by an operator's word, and records it first. It is an error (interlock.ErrNoStop) if that very stop
// does not hold.
func (g *Gate) Release(ctx context.Context, stop interlock.Stop, reason string) error {
	if g.Stops == nil {
		return interlock.ErrNoStop
	}
	stops, err := g.Stops.List()
	if err != nil {
		return err
	}
	held := slices.IndexFunc(stops, func(s interlock.Stop) bool {
		return s.Slot == stop.Slot && (s.Slot != "" || s.Scope == stop.Scope && s.Time == stop.Time && s.Attempt == stop.Attempt)
	})
	if held < 0 {
		return interlock.ErrNoStop
	}
	found := stops[held]
	return g.Stops.ReleaseAfter(ctx, found, func(lane *interlock.Lane) error {
		if _, now, _ := lane.Found(); now != nil {
			if err := g.payOffStop(lane, *now); err != nil {
				return err
			}
		}
		return g.ledger.Append(&ledger.Record{
			RequestID:    ledger.Missing,
			Method:       MethodRelease,
			Name:         found.Tool,
			Decision:     policy.Allow.String(),
			Outcome:      ledger.Permitted,
			ArgsDigest:   emptyDigest, // there were none
			PolicyDigest: g.policy.Load().Digest(),
			Principal:    Operator,
			Rule:         found.Rule,
			Attempt:      found.Attempt,
			Reason:       reason,
			Upstream:     found.Server,
			Scope:        found.Principal,
		})
	})
}

// Answer is what a person says to an approval at the terminal. It is recorded first. It is an error
// (interlock.ErrNoApproval) if nothing waits under that id.
func (g *Gate) Answer(id string, v interlock.Verdict, note string) error {
	if v != interlock.Agreed && v != interlock.Refused {
		return fmt.Errorf("answering an approval with %q: there is no such answer", v)
	}
	if g.Approvals == nil {
		return interlock.ErrNoApproval
	}
	waiting, unread := g.Approvals.List(time.Now()) // one that cannot be read keeps nobody from the others
	for i := range waiting {
		a := &waiting[i]
		if a.ID != id || a.Verdict != interlock.Waiting {
			continue
		}
		rec := answerRecord(a, v)
		rec.Principal, rec.Reason = Operator, note
		if err := g.ledger.Append(rec); err != nil {
			return err
		}
		_, err := g.Approvals.Decide(id, v, byOperator, note, time.Now())
		return err
	}
	return errors.Join(interlock.ErrNoApproval, unread)
}

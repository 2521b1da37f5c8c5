package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
)

const (
	// approvalKey is before the id of an approval in the claim of a call that has no other key.
	approvalKey = "approval/"
	// byElicitation is by whom an approval is decided at the client.
	byElicitation = "elicitation"
	// byOperator is by whom it is decided at the terminal.
	byOperator = Operator
	// mostShown is how many bytes of arguments a person is shown.
	mostShown = 64 << 10
	// expiry is how long a person has to agree where the policy does not say it.
	expiry = 15 * time.Minute
)

// onceAgreed carries out a call that has no key, once a person agreed to it: the claim is on the approval, so that it is
// good for one call. Whoever waited for the same approval and was not the first asks anew.
func (g *Gate) onceAgreed(ctx context.Context, c *Call, w *course) (Result, error) {
	for ; ; w.approval = "" {
		if err := g.allowedOn(ctx, c, w); err != nil {
			return Result{}, err
		}
		key, _ := w.key(c)
		claim, err := g.claims.Begin(ctx, key)
		switch {
		case ctx.Err() != nil:
			if err == nil {
				claim.Release()
			}
			return g.gone(ctx, w.rec)
		case errors.Is(err, mutation.ErrInFlight):
			continue
		case err != nil:
			return Result{}, g.unavailable(nothing, err)
		}
		if claim.State == mutation.None {
			defer claim.Release()
			return g.send(ctx, c, w, claim)
		}
		claim.Release()
	}
}

// agreedTo is the approval by which an earlier attempt at the very same call was begun, "" if the policy is another by now.
func (w *course) agreedTo(claim *mutation.Claim) string {
	body, err := canon.Parse(claim.Record)
	if err != nil {
		return ""
	}
	if digest, _ := body.Get("policy_digest").Text(); digest != w.pol.Digest() {
		return ""
	}
	return claim.Approval
}

// matter is what a person is asked to agree to.
func (w *course) matter(c *Call) interlock.Matter {
	m := interlock.Matter{
		Principal: c.Caller.Principal,
		Tenant:    c.Caller.Tenant,
		Upstream:  c.upstream(),
		Method:    c.method(),
		Tool:      c.Name,
		Digest:    w.agreeable(c),
		Round:     c.round(),
		Policy:    w.pol.Digest(),
	}
	if w.keyed {
		m.Key = w.id
	}
	return m
}

// agreeable is the digest of what a person agrees to: the arguments; of another method the params without _meta, which may
// differ each time that the request comes.
func (w *course) agreeable(c *Call) string {
	if c.method() == toolsCall || !c.Args.Get("_meta").Exists() {
		return w.rec.ArgsDigest
	}
	rest := []byte{'{'}
	for key, value := range c.Args.Members() {
		if key != "_meta" {
			rest = append(append(canon.AppendString(rest, key), ':'), value.Bytes()...)
			rest = append(rest, ',')
		}
	}
	rest[max(0, len(rest)-1)] = '}'
	if len(rest) == 1 {
		return emptyDigest
	}
	v, err := canon.Parse(rest)
	if err != nil {
		return digestBytes(rest)
	}
	return sumOf(v)
}

// agree returns the approval by which a call may happen, and waits for it. While it does, nothing is begun and only the
// call's own claim is held; if the caller goes away the approval stays, and a retry finds it.
func (g *Gate) agree(ctx context.Context, c *Call, w *course) (string, error) {
	for {
		a, err := g.approval(c, w)
		switch {
		case errors.Is(err, interlock.ErrTooManyApprovals):
			return "", g.deny(w, &DeniedError{Tool: c.Name, Rule: w.asks.Rule, Reason: interlock.ErrTooManyApprovals.Error()})
		case err != nil:
			return "", g.unavailable(nothing, err)
		}
		w.rec.Approval = a.ID
		switch a.Verdict {
		case interlock.Agreed:
			w.expires = a.Expires
			return a.ID, nil
		case interlock.Refused:
			return "", g.deny(w, &DeniedError{Tool: c.Name, Rule: w.asks.Rule, Reason: "a person denied this call"})
		}
		decided, err := g.ask(ctx, c, w, a)
		switch {
		case err != nil:
			return "", err
		case !decided && time.Now().UnixNano() < a.Expires: // it was used up by somebody else's call
			continue
		case !decided:
			return "", g.deny(w, &DeniedError{Tool: c.Name, Rule: w.asks.Rule, Reason: "nobody agreed in time"})
		}
	}
}

// approval finds the approval of a call, or puts the call to a person, which is recorded.
func (g *Gate) approval(c *Call, w *course) (*interlock.Approval, error) {
	now, matter := time.Now(), w.matter(c)
	a, err := g.Approvals.Find(matter, now)
	if err != nil {
		return nil, fmt.Errorf("looking for an approval: %w", err)
	}
	if a != nil && a.Verdict == interlock.Agreed {
		spent, err := g.claims.Spent(a.ID)
		if err != nil {
			return nil, fmt.Errorf("looking whether an approval was used: %w", err)
		}
		if spent {
			a = nil
		}
	}
	if a != nil {
		return a, nil
	}
	p := interlock.Approval{Matter: matter, Rule: w.asks.Rule, Reason: w.asks.Reason, Created: now.UnixNano()}
	if len(c.Args.Bytes()) <= mostShown {
		p.Args = c.Args
	}
	expires := w.terms.Expires
	if expires == 0 {
		expires = expiry
	}
	p.Expires = now.Add(expires).UnixNano()
	if a, err = g.Approvals.Put(p, now); err != nil {
		return nil, fmt.Errorf("putting a call to a person: %w", err)
	}
	if a.Created != p.Created { // somebody else put it to them
		return a, nil
	}
	rec := *w.rec
	rec.Decision, rec.Outcome, rec.Rule, rec.Approval = policy.Ask.String(), ledger.Asked, w.asks.Rule, a.ID
	if err := g.ledger.Append(&rec); err != nil {
		return nil, errors.Join(err, g.Approvals.Remove(a.ID))
	}
	return a, nil
}

// ask asks the person at the client, where there is one, while it waits for an operator: whoever answers first decides. It
// returns false if nobody did in time.
func (g *Gate) ask(ctx context.Context, c *Call, w *course, a *interlock.Approval) (decided bool, err error) {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	for _, end := range []context.Context{g.Ending, g.Unattended} {
		if end != nil {
			defer context.AfterFunc(end, stop)()
		}
	}
	asking, hush := context.WithCancel(waiting)
	said := make(chan Said, 1)
	go func() {
		answer := Unasked
		if !w.terms.Operator {
			answer = g.hear(asking, c, a)
		}
		if answer != Unasked {
			stop() // nobody else need be waited for
		} else if asking.Err() == nil {
			g.waits(c, a)
		}
		said <- answer
	}()
	latest, err := g.Approvals.Await(waiting, a.ID)
	hush()
	switch answer := <-said; {
	case answer == Agreed && (err != nil || latest == nil || latest.Verdict == interlock.Waiting):
		return true, g.heard(c, a, interlock.Agreed)
	case answer == Refused && (err != nil || latest == nil || latest.Verdict == interlock.Waiting):
		return true, g.heard(c, a, interlock.Refused)
	case latest != nil:
		return true, nil
	case answer == Later:
		return false, &InputNeededError{a}
	case err == nil:
		return false, nil
	case ctx.Err() != nil || g.ending() || g.Unattended != nil && g.Unattended.Err() != nil:
		return false, g.parked(ctx, w)
	}
	return false, g.unavailable(nothing, fmt.Errorf("waiting for an approval: %w", err))
}

// waits tells that a call waits for an operator.
func (g *Gate) waits(c *Call, a *interlock.Approval) {
	g.log.Info("a call waits for a person: see sallyport approvals list", "approval", a.ID, "tool", a.Tool, "rule", a.Rule)
	if c.Parked != nil {
		c.Parked(a)
	}
}

// hear asks the person at the client. A client that fails cannot ask.
func (g *Gate) hear(ctx context.Context, c *Call, a *interlock.Approval) (said Said) {
	if c.Ask == nil {
		return Unasked
	}
	defer func() {
		if p := recover(); p != nil {
			g.log.Error("asking a person failed", "error", fmt.Errorf("panic: %v", p))
			said = Unasked
		}
	}()
	said, err := c.Ask(ctx, a)
	if err != nil {
		g.log.Info("a person could not be asked at the client; the call waits for an operator", "approval", a.ID, "error", err)
		return Unasked
	}
	return said
}

// heard makes durable what the person at the client said, on record first. That an operator was quicker is no error: what
// the operator said counts.
func (g *Gate) heard(c *Call, a *interlock.Approval, v interlock.Verdict) error {
	rec := answerRecord(a, v)
	rec.Principal, rec.Tenant, rec.Rule = c.Caller.Principal, c.Caller.Tenant, byElicitation
	if err := g.ledger.Append(rec); err != nil {
		return g.unavailable(nothing, err)
	}
	if _, err := g.Approvals.Decide(a.ID, v, byElicitation, "", time.Now()); err != nil && !errors.Is(err, interlock.ErrNoApproval) {
		return g.unavailable(nothing, err)
	}
	return nil
}

// parked records that an allowed call's caller went away while a person was asked.
func (g *Gate) parked(ctx context.Context, w *course) error {
	w.rec.Outcome = ledger.NotExecuted
	if err := g.ledger.Append(w.rec); err != nil {
		return g.unavailable(nothing, err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return g.unavailable(nothing, errUnattended)
}

// used removes an approval whose call was begun, and will not be taken back. By the claims it is used up anyway.
func (g *Gate) used(w *course) {
	if w.approval == "" || g.Approvals == nil {
		return
	}
	if err := g.Approvals.Remove(w.approval); err != nil {
		g.log.Error("an approval that was used could not be removed; it counts no more", "approval", w.approval, "error", err)
	}
}

// answerRecord is the record of what a person said to an approval.
func answerRecord(a *interlock.Approval, v interlock.Verdict) *ledger.Record {
	rec := &ledger.Record{
		RequestID:    a.Key,
		Method:       MethodApprove,
		Name:         a.Tool,
		Decision:     policy.Allow.String(),
		Outcome:      ledger.Permitted,
		ArgsDigest:   a.Digest,
		PolicyDigest: a.Policy,
		Rule:         a.Rule,
		Approval:     a.ID,
		Upstream:     a.Upstream,
	}
	if rec.RequestID == "" {
		rec.RequestID = ledger.Missing
	}
	if v != interlock.Agreed {
		rec.Method, rec.Decision, rec.Outcome = MethodDeny, policy.Deny.String(), ledger.NotExecuted
	}
	return rec
}

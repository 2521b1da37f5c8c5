package gate

import (
	"fmt"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/ledger"
	"sallyport/internal/policy"
)

// course is one call on its way: what was decided of it, once for all of it, and its record.
type course struct {
	pol   *policy.Policy
	rec   *ledger.Record // not yet written
	terms policy.Terms   // Verify is empty where nothing is verified: of what only reads
	asks  *policy.Why    // why a person must agree first; nil: nobody is asked

	readOnly bool
	keyed    bool   // something names the mutation, so that a retry is known
	id       string // that name
	batched  bool   // reads may be recorded a moment later

	args     []byte // canonical, of a call that is verified
	approval string // by which it may happen, once a person agreed
	expires  int64  // of that: nanoseconds since the epoch, 0 where it was begun already
}

// verified reports whether what the call leaves is looked at.
func (w *course) verified() bool { return len(w.terms.Verify) > 0 }

// judge decides a call. It returns how one goes on that is allowed, or that a person may allow; or else why it is not
// carried out, on record. It is apart from the rest of Do since ten thousand calls may wait there for their upstreams, with
// all that is on the stack.
func (g *Gate) judge(c *Call) (*course, error) {
	w, judged, denied := g.weigh(g.policy.Load(), c) // one snapshot for the whole call
	if denied == nil {
		denied = g.limit(c.Name, judged.Limits())
	}
	if denied != nil {
		return nil, g.deny(w, denied)
	}
	return w, nil
}

// deny records that a call is refused, and returns the refusal.
func (g *Gate) deny(w *course, denied *DeniedError) error {
	rec := w.rec
	rec.Decision, rec.Outcome, rec.Rule = policy.Deny.String(), ledger.NotExecuted, denied.Rule
	if err := g.ledger.Append(rec); err != nil {
		return g.unavailable(nothing, err)
	}
	return denied
}

// weigh says what becomes of a call by a policy, and why it is not carried out. It touches and records nothing, and takes
// no token of a limit.
func (g *Gate) weigh(pol *policy.Policy, c *Call) (*course, policy.Judgment, *DeniedError) {
	if c.Args.Kind() == canon.Null {
		c.Args = canon.Value{} // what the official Go SDK sends where there are no arguments
	}
	digest, digestErr := digestArgs(c.Args)
	w := &course{pol: pol, rec: &ledger.Record{
		RequestID:    c.requestID(),
		Method:       c.method(),
		Name:         c.Name,
		Decision:     policy.Allow.String(),
		ArgsDigest:   digest,
		PolicyDigest: pol.Digest(),
		Principal:    c.Caller.Principal,
		Tenant:       c.Caller.Tenant,
		Upstream:     c.upstream(),
		TraceID:      c.TraceID,
		Origin:       c.Origin,
	}}
	request := g.request(pol, c)
	judged := judgedBy(pol, c, request)
	asked, denied := g.decide(c, judged, digestErr)
	noteJudged(w.rec, judged.Why.Observed, &request)
	if asked {
		asks := judged.Why
		w.asks = &asks
	}
	if denied == nil {
		denied = w.settle(c, judged)
	}
	if denied == nil {
		denied = g.unverifiable(c, w, digestErr)
	}
	return w, judged, denied
}

// settle finds out how a call that may happen is carried out, or why it does not meet the policy's terms.
func (w *course) settle(c *Call, judged policy.Judgment) *DeniedError {
	w.terms, w.batched = judged.Terms(), w.pol.BatchedReads()
	if c.Tool.Upstream == "" { // the tool itself says what it is
		if w.readOnly = c.Tool.ReadOnly && c.Tool.Key == ""; w.readOnly {
			w.terms.Verify = nil
		}
		w.keyed = c.Tool.Key != ""
		w.id, _ = c.key()
		return nil
	}
	w.readOnly, w.keyed = w.terms.ReadOnly, w.terms.Key != ""
	if !w.keyed {
		return nil
	}
	id, denied := keyOf(c, &w.terms)
	if denied == nil {
		w.id, w.rec.RequestID = id, id
	}
	return denied
}

// request is a call as a policy judges it. What it would do is looked for only where the policy's language speaks of that.
func (g *Gate) request(pol *policy.Policy, c *Call) policy.Request {
	r := policy.Request{Principal: c.Caller.Principal, Tenant: c.Caller.Tenant, Method: c.method(), Tool: c.Name, Args: c.Args}
	if pol.Version() < 2 || c.Tool == nil {
		return r
	}
	world := g.World
	r.World = &world
	if r.Method != toolsCall {
		r.Effects = policy.MethodEffects(r.Method, r.Args, r.World)
		return r
	}
	declared := pol.Declares(c.Name)
	if declared == nil {
		declared = c.Tool.Effects
	}
	r.Effects = effects.Of(c.Name, c.Args, declared, r.World)
	return r
}

// judgedBy is what a policy makes of a call. Of a tool that is not there it makes nothing.
func judgedBy(pol *policy.Policy, c *Call, r policy.Request) policy.Judgment {
	if c.Tool == nil {
		return policy.Judgment{}
	}
	return pol.Judge(r)
}

// decide returns whether a person must agree to a call first, and why it may not be carried out, or nil. It touches nothing.
func (g *Gate) decide(c *Call, judged policy.Judgment, digestErr error) (asked bool, denied *DeniedError) {
	if c.Tool == nil {
		return false, &DeniedError{Tool: c.Name, Rule: "unknown", Reason: "there is no such tool", Hidden: true}
	}
	why := judged.Why
	asked = judged.Decision == policy.Ask && !why.Hidden
	switch {
	case asked && g.Approvals == nil:
		return false, &DeniedError{Tool: c.Name, Rule: why.Rule, Reason: why.Reason + " (nobody can be asked here)"}
	case !asked && judged.Decision != policy.Allow:
		return false, &DeniedError{Tool: c.Name, Rule: why.Rule, Reason: why.Reason, Hidden: why.Hidden}
	case c.Refuse != nil:
		refused := *c.Refuse
		refused.Tool = c.Name
		return asked, &refused
	}
	return asked, c.malformed(digestErr)
}

// malformed returns why the tool cannot take the arguments of a call, or nil.
func (c *Call) malformed(digestErr error) *DeniedError {
	upstreams := c.Tool.Upstream != ""
	// An upstream's arguments go there as they are, so they are recorded by the digest of their bytes.
	if digestErr != nil && !upstreams {
		return &DeniedError{Tool: c.Name, Rule: "arguments", Reason: digestErr.Error()}
	}
	if c.Tool.Check != nil || !upstreams { // its other methods have no schema
		if err := c.Tool.Check(c.Args); err != nil {
			return &DeniedError{Tool: c.Name, Rule: "schema", Reason: err.Error()}
		}
	}
	if upstreams {
		return nil
	}
	if _, ok := c.key(); !ok && c.Tool.Key != "" {
		return &DeniedError{Tool: c.Name, Rule: "schema", Reason: fmt.Sprintf("argument %q must be a string", c.Tool.Key)}
	}
	return nil
}

// limit takes a token for each rule that allows a call with a limit, or returns why there is none.
func (g *Gate) limit(tool string, limits []policy.Limit) *DeniedError {
	if len(limits) == 0 {
		return nil
	}
	if rule, reason := takeLimits(g.Limits, limits); reason != "" {
		return &DeniedError{Tool: tool, Rule: rule, Reason: reason}
	}
	return nil
}

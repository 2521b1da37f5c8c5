package gate

import (
	"fmt"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/policy"
)

// Question is a call that somebody else will carry out if the gate lets it: a hook's host asks it.
type Question struct {
	Caller    Caller
	Method    string // what is recorded as the method, such as "hook/PreToolUse"
	Tool      string // the tool's name in the host
	Args      canon.Value
	RequestID string // the host's id of the call, "" if it has none
	Host      string
	Session   string
	Effects   []effects.Effect
	World     *effects.World
}

// Verdict is the gate's answer to a question.
type Verdict struct {
	Decision policy.Decision
	Why      policy.Why

	question Question
	policy   *policy.Policy
	judged   policy.Judgment
	digest   string
}

// Decide judges a question by the policy. It touches nothing and records nothing: see Record.
func (g *Gate) Decide(q Question) Verdict {
	v := Verdict{question: q, policy: g.policy.Load()}
	var err error
	if v.digest, err = digestArgs(q.Args); err != nil {
		v.Why = policy.Why{Rule: "arguments", Reason: err.Error()}
		return v
	}
	v.judged = v.policy.Judge(v.request())
	v.Decision, v.Why = v.judged.Decision, v.judged.Why
	return v
}

// Tighten makes a verdict stricter, never milder, and says why.
func (v *Verdict) Tighten(d policy.Decision, rule, reason string) {
	if d < v.Decision {
		v.Decision, v.Why = d, policy.Why{Rule: rule, Reason: reason, Observed: v.Why.Observed}
	}
}

// Count takes a token for each rule that allows the call with a limit. Where there is none, or it cannot be counted, the
// verdict becomes a denial.
func (g *Gate) Count(v *Verdict) {
	if v.Decision != policy.Allow {
		return
	}
	if limits := v.judged.Limits(); len(limits) > 0 {
		if rule, reason := takeLimits(g.Limits, limits); reason != "" {
			v.Tighten(policy.Deny, rule, reason)
		}
	}
}

// takeLimits returns which limit does not let a call pass, and why; reason is "" if all do.
func takeLimits(store Limits, limits []policy.Limit) (rule, reason string) {
	if store == nil {
		return limits[0].Rule, "the rule has a limit, and there is nowhere to count its calls"
	}
	wanted := make([]interlock.Limit, len(limits))
	for i, l := range limits {
		wanted[i] = interlock.Limit{Name: l.Bucket, Calls: l.Calls, Per: l.Per, Burst: l.Burst}
	}
	refused, err := store.Take(time.Now(), wanted)
	switch {
	case err != nil:
		return limits[0].Rule, "the rule has a limit, and its calls could not be counted: " + err.Error()
	case refused != nil:
		return ruleOf(limits, refused.Name), fmt.Sprintf("the rule's limit is used up: the next call is allowed in %v", refused.Wait.Round(time.Second)+time.Second)
	}
	return "", ""
}

// ruleOf returns the rule whose calls are counted in a bucket.
func ruleOf(limits []policy.Limit, bucket string) string {
	for _, l := range limits {
		if l.Bucket == bucket {
			return l.Rule
		}
	}
	return bucket
}

func (v *Verdict) request() policy.Request { return v.question.Request() }

// Request is the question as a policy judges it.
func (q Question) Request() policy.Request {
	return policy.Request{
		Principal: q.Caller.Principal,
		Tenant:    q.Caller.Tenant,
		Method:    q.Method,
		Tool:      q.Tool,
		Args:      q.Args,
		Host:      q.Host,
		Session:   q.Session,
		Effects:   q.Effects,
		World:     q.World,
	}
}

// Record makes a verdict durable, so that the host can be told. Where that cannot be done the verdict becomes a denial,
// unless the policy says that the ledger is kept as well as can be; the error is what went wrong, in both cases.
func (g *Gate) Record(v *Verdict) error {
	err := g.ledger.Append(v.record())
	if err != nil && !v.policy.BestEffort() {
		v.Tighten(policy.Deny, "ledger", "the decision could not be recorded, so the call must not run")
	}
	return err
}

// Correct records that the host was told this verdict after a record of another one.
func (g *Gate) Correct(v Verdict) error {
	rec := v.record()
	rec.Corrects = true
	return g.ledger.Append(rec)
}

func (v *Verdict) record() *ledger.Record {
	q := v.question
	rec := &ledger.Record{
		RequestID:    q.RequestID,
		Method:       q.Method,
		Name:         q.Tool,
		Decision:     v.Decision.String(),
		ArgsDigest:   v.digest,
		PolicyDigest: v.policy.Digest(),
		Principal:    q.Caller.Principal,
		Tenant:       q.Caller.Tenant,
		Host:         q.Host,
		Session:      q.Session,
		Rule:         v.Why.Rule,
	}
	r := v.request()
	noteJudged(rec, v.Why.Observed, &r)
	if q.RequestID == "" {
		rec.RequestID = ledger.Missing
	}
	switch v.Decision {
	case policy.Allow:
		rec.Outcome = ledger.Permitted
	case policy.Ask:
		rec.Outcome = ledger.Asked
	default:
		rec.Outcome = ledger.NotExecuted
	}
	return rec
}

// noteJudged puts into a record what a call would do, and what rules in mode observe would have made of it.
func noteJudged(rec *ledger.Record, observed policy.Observed, r *policy.Request) {
	if len(r.Effects) > 0 {
		rec.Effects = spellSummary(effects.Summarize(r.Effects, r.World))
	}
	if observed.Rule != "" {
		rec.Observed, rec.ObservedRule = observed.Decision.String(), observed.Rule
	}
}

// spellSummary is a summary as a canonical JSON object, or nil where there is nothing to say.
func spellSummary(s effects.Summary) []byte {
	buf := []byte{'{'}
	list := func(key string, values []string) {
		if len(values) == 0 {
			return
		}
		buf = append(append(append(buf, '"'), key...), `":[`...)
		for _, value := range values {
			buf = append(canon.AppendString(buf, value), ',')
		}
		buf[len(buf)-1] = ']'
		buf = append(buf, ',')
	}
	list("connects", s.Connects) // in the order of canonical keys
	if s.Opaque {
		buf = append(buf, `"opaque":true,`...)
	}
	list("reads", s.Reads)
	list("runs", s.Runs)
	list("spawns", s.Spawns)
	list("writes", s.Writes)
	if len(buf) == 1 {
		return nil
	}
	buf[len(buf)-1] = '}'
	return buf
}

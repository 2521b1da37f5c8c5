package gate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
	"sallyport/internal/postcondition"
)

// left is what is written down before a call that is verified, so that whoever comes after a crash can verify it, by the rules
// as they were then, whatever the policy says by now; and record it, where there is no claim that has its record.
func (w *course) left(c *Call, offset int64) []byte {
	rec := w.rec
	b := []byte{'{'}
	if rec.Approval != "" {
		b = append(canon.AppendString([]byte(`{"approval":`), rec.Approval), ',')
	}
	b = append(append(b, `"args":`...), w.args...)
	text := func(key, value string) {
		if value != "" {
			b = canon.AppendString(append(append(append(b, `,"`...), key...), `":`...), value)
		}
	}
	text("args_digest", rec.ArgsDigest)
	text("attempt", rec.Attempt)
	if len(rec.Effects) > 0 {
		b = append(append(b, `,"effects":`...), rec.Effects...)
	}
	if key, keyed := w.key(c); keyed {
		b = canon.AppendString(append(b, `,"id":`...), key.ID)
	}
	text("method", rec.Method)
	text("observed", rec.Observed)
	text("observed_rule", rec.ObservedRule)
	b = strconv.AppendInt(append(b, `,"offset":`...), offset, 10)
	text("origin", rec.Origin)
	text("policy_digest", rec.PolicyDigest)
	text("principal", rec.Principal)
	text("request_id", rec.RequestID)
	text("round", c.round())
	text("tenant", rec.Tenant)
	text("tool", rec.Name)
	text("trace_id", rec.TraceID)
	text("upstream", rec.Upstream)
	b = append(b, `,"verify":[`...)
	for i, v := range w.terms.Verify {
		if i > 0 {
			b = append(b, ',')
		}
		b = canon.AppendString(append(b, `{"expect":`...), v.Expect.Source())
		b = strconv.AppendInt(append(b, `,"for":`...), int64(v.For), 10)
		b = v.Args.AppendCanonical(append(b, `,"observe":`...))
		b = canon.AppendString(append(b, `,"rule":`...), v.Rule)
		b = append(canon.AppendString(append(b, `,"tool":`...), v.Tool), '}')
	}
	return append(b, "]}"...)
}

// key is what a call's claim is filed under; false of one that has none.
func (w *course) key(c *Call) (mutation.Key, bool) {
	key := mutation.Key{Principal: c.Caller.Principal, Tool: c.Name, ID: w.id, Upstream: c.upstream(), Round: c.round()}
	if !w.keyed && w.asks != nil {
		key.ID, key.Round = approvalKey+w.approval, ""
	}
	return key, w.keyed || w.asks != nil
}

// round is the digest of what the retry of a request that needed input brings with it. Our own tools need none.
func (c *Call) round() string {
	if len(c.Round) == 0 || c.upstream() == "" {
		return ""
	}
	return digestBytes(c.Round)
}

// remnant is what left wrote, read again.
type remnant struct {
	remains
	rec    ledger.Record
	offset int64
	keyed  bool
	key    mutation.Key

	unclear error // why the rules cannot be read: those of another release, say
}

// leftAttempt is the attempt of what left wrote, "" if it cannot be read.
func leftAttempt(left []byte) string {
	v, err := canon.Parse(left)
	if err != nil {
		return ""
	}
	attempt, _ := v.Get("attempt").Text()
	return attempt
}

// readLeft reads what left wrote. Of what has no rules that can be read the call is known all the same.
func readLeft(left []byte) (*remnant, error) {
	v, err := canon.Parse(left)
	if err != nil {
		return nil, err
	}
	text := func(key string) string {
		s, _ := v.Get(key).Text()
		return s
	}
	offset, hasOffset := v.Get("offset").Int()
	r := &remnant{offset: offset, rec: ledger.Record{
		RequestID:    text("request_id"),
		Method:       text("method"),
		Name:         text("tool"),
		Decision:     policy.Allow.String(),
		ArgsDigest:   text("args_digest"),
		PolicyDigest: text("policy_digest"),
		Principal:    text("principal"),
		Tenant:       text("tenant"),
		Upstream:     text("upstream"),
		Origin:       text("origin"),
		Approval:     text("approval"),
		Attempt:      text("attempt"),
		Observed:     text("observed"),
		ObservedRule: text("observed_rule"),
		TraceID:      text("trace_id"),
		Recovered:    true,
	}}
	if effects := v.Get("effects"); effects.Exists() {
		r.rec.Effects, _ = effects.AppendCanonical(nil)
	}
	id, keyed := v.Get("id").Text()
	r.keyed, r.key = keyed, mutation.Key{Principal: r.rec.Principal, Tool: r.rec.Name, ID: id, Upstream: r.rec.Upstream, Round: text("round")}
	r.remains = remains{
		caller:  Caller{Principal: r.rec.Principal, Tenant: r.rec.Tenant},
		tool:    r.rec.Name,
		args:    v.Get("args"),
		digest:  r.rec.ArgsDigest,
		attempt: r.rec.Attempt,
	}
	if r.attempt == "" || !r.args.Exists() || !hasOffset {
		return nil, errors.New("it lacks the attempt, the arguments or the ledger's end")
	}
	for member := range v.Get("verify").Elements() {
		rule, err := readVerification(member)
		r.unclear = errors.Join(r.unclear, err)
		r.verify = append(r.verify, rule)
	}
	if len(r.verify) == 0 {
		r.unclear = errors.New("it has no rule by which to verify")
	}
	return r, nil
}

func readVerification(v canon.Value) (*policy.Verification, error) {
	rule := &policy.Verification{}
	rule.Rule, _ = v.Get("rule").Text()
	rule.Tool, _ = v.Get("tool").Text()
	nanoseconds, _ := v.Get("for").Int()
	rule.For = time.Duration(nanoseconds)
	var err error
	if rule.Args, err = postcondition.ParseTemplate(v.Get("observe"), policy.VerifyObserveNames); err != nil {
		return nil, err
	}
	source, _ := v.Get("expect").Text()
	rule.Expect, err = postcondition.Compile(source, policy.VerifyNames)
	return rule, err
}

// seeTo verifies what a process left that died between an effect and its verification. It returns the stop, if that is what
// comes of it. The caller has the lane. c is the next call of the same principal at the same server, by whose way it looks.
// An error says that it could not be found out yet; the next one will try again.
func (g *Gate) seeTo(ctx context.Context, c *Call, pol *policy.Policy, lane *interlock.Lane, left []byte) (*interlock.Stop, error) {
	const unreadable = "an earlier call was cut off before it was verified, and what it left cannot be read"
	r, err := readLeft(left)
	if err != nil {
		g.log.Error(unreadable, "server", c.upstream(), "error", err)
		return g.stopLane(lane, interlock.Stop{Scope: c.scope(), Reason: unreadable})
	}
	trace, err := g.ledger.Trace(r.attempt, r.offset)
	switch {
	case errors.Is(err, ledger.ErrRecordsLost): // which will not change: an operator must look
		g.log.Error("what a crash left to be verified cannot be found in the ledger", "server", c.upstream(), "attempt", r.attempt, "error", err)
		stop := r.stop(c, "an earlier call was cut off before it was verified, and the ledger has lost records since")
		if !r.keyed { // it may have had its record among those
			r.rec.Outcome, r.rec.Verdict, r.rec.Reason = ledger.Inconclusive, Stop, stop.Reason
			stop.Record = keptRecord(&r.rec)
		}
		return g.stopLane(lane, stop)
	case err != nil:
		return nil, fmt.Errorf("looking for the verdict on attempt %s: %w", r.attempt, err)
	case trace.Verdict == Continue:
		return nil, lane.Clear()
	case trace.Verdict != "":
		return g.stopLane(lane, r.stop(c, "what an earlier call left was looked at, and is not what the rule expects: the ledger has it under its attempt"))
	}
	fate, answer, err := g.fate(r, trace)
	var f finding
	switch {
	case err != nil:
		return nil, err
	case fate == notSent || fate == ledger.Failed || answer.Open && !answer.Task: // there is nothing to be verified
		return nil, lane.Clear()
	case r.unclear != nil:
		g.log.Error(unreadable, "server", c.upstream(), "attempt", r.attempt, "error", r.unclear)
		return g.stopLane(lane, r.stop(c, unreadable))
	case c.Observe == nil:
		return nil, errors.New("an earlier call must be verified first, and nothing can be observed on this way")
	case answer.Task:
		f = taskFinding(r.verify)
	default:
		r.result = observedOf(answer.Body)
		f = g.verify(ctx, c, pol, &r.remains)
	}
	if !f.settled {
		return nil, errEnding
	}
	if r.rec.Outcome = ledger.Observed; r.keyed && fate == ledger.Inconclusive { // else the call has a record of its own
		r.rec.Outcome = fate
	}
	return g.followUp(c, lane, r, f)
}

// followUp records what was found, after a crash, of a call, beside the call's own record, which may be there by now or come
// later.
func (g *Gate) followUp(c *Call, lane *interlock.Lane, r *remnant, f finding) (*interlock.Stop, error) {
	f.mark(&r.rec)
	checks, err := g.settleFound(lane, c.scope(), &r.rec, f, r.keyed)
	if checks == Differed {
		stop := r.stop(c, f.reason)
		stop.Rule = f.rule
		return &stop, nil
	}
	return nil, err
}

func (r *remnant) stop(c *Call, reason string) interlock.Stop {
	stop := interlock.Stop{Scope: c.scope(), Tool: r.tool, Reason: reason, Attempt: r.attempt}
	if r.unclear == nil {
		stop.Rule = r.verify[0].Rule
	}
	return stop
}

// stopLane stops a scope for what was found out earlier.
func (g *Gate) stopLane(lane *interlock.Lane, stop interlock.Stop) (*interlock.Stop, error) {
	stop.Time = time.Now().UnixNano()
	if err := lane.Stop(stop); err != nil {
		return nil, fmt.Errorf("writing down a stop: %w", err)
	}
	return &stop, nil
}

// notSent is the fate of a call of which it is certain that it was not sent.
const notSent ledger.Outcome = ""

// fate finds out how far a call came that was cut off: its outcome as far as it is known, and the answer where there is one. trace is
// what the ledger has of it.
func (g *Gate) fate(r *remnant, trace ledger.Trace) (ledger.Outcome, Result, error) {
	if !r.keyed {
		fate, err := g.fateOfUnkeyed(r, trace)
		return fate, Result{Open: fate == ledger.Forwarded}, err
	}
	claim, err := g.claims.Look(r.key)
	switch {
	case err != nil:
		return notSent, Result{}, fmt.Errorf("looking for the claim of attempt %s: %w", r.attempt, err)
	case claim.State == mutation.None || claim.Attempt != r.attempt: // there is no intent, or it was taken back
		return notSent, Result{}, nil
	case claim.State == mutation.Intended:
		return ledger.Inconclusive, Result{}, nil
	}
	fate := ledger.Outcome(claim.Outcome)
	answer := Result{Body: claim.Result, Open: fate == ledger.Forwarded}
	answer.Task = answer.Open && !awaitsInput(claim.Result)
	if r.rec.Upstream != "" && claim.Form != formWords[Whole] { // an operator settled it: the server's own answer is not known
		answer.Body = nil
	}
	return fate, answer, nil
}

// fateOfUnkeyed is fate of a call of which there is no claim. It is recorded when it is over: one that has no record may have
// been sent, and gets its record now.
func (g *Gate) fateOfUnkeyed(r *remnant, trace ledger.Trace) (ledger.Outcome, error) {
	for _, outcome := range []ledger.Outcome{ledger.Committed, ledger.Inconclusive, ledger.Forwarded, ledger.Failed} {
		if trace.Has(outcome) {
			return outcome, nil
		}
	}
	g.log.Warn("a call was cut off, and nobody can know whether it was carried out: what it left is looked at before the next change",
		"server", r.rec.Upstream, "tool", r.tool, "attempt", r.attempt)
	rec := r.rec
	rec.Outcome = ledger.Inconclusive
	return rec.Outcome, g.ledger.Append(&rec)
}

// awaitsInput reports whether a result that is not the end of its call certainly is one that wants something of the client,
// and no task that goes on by itself.
func awaitsInput(body []byte) bool {
	v, err := canon.Skim(body)
	if err != nil {
		return false
	}
	asks := false
	for name, value := range v.Members() {
		switch name {
		case "resultType":
			kind, _ := value.Text()
			asks = kind == "input_required"
		case "task", "taskId":
			return false
		}
	}
	return asks
}

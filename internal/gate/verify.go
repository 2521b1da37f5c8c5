package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/policy"
	"sallyport/internal/postcondition"
)

// The verdicts on what a call left, as they stand in records.
const (
	Continue = "CONTINUE"
	Stop     = "STOP"
	Rollback = "ROLLBACK" // of plans
)

const (
	lookTime     = 10 * time.Second             // how long one look may take
	firstPause   = 50 * time.Millisecond        // before looking again, where the rule says so; doubling,
	longestPause = time.Second                  // up to this
	mostObserved = 1 << 20                      // bytes of a result that conditions are told
	mostVerified = interlock.MostLeft - 128<<10 // bytes of canonical arguments: besides them there are the rules
	originVerify = "verify"
)

// remains is a call of which it is to be seen what it left.
type remains struct {
	caller Caller
	tool   string
	args   canon.Value
	digest string      // SHA-256 of the arguments
	result canon.Value // what the call came to, absent where that is not known
	verify []*policy.Verification

	attempt string
}

// finding is what came of looking.
type finding struct {
	settled  bool   // there is nothing more to be looked at
	verdict  string // "" where there was nothing to be looked at, or the process ended before it was known
	rule     string // of STOP: the rule that is not met
	reason   string // of STOP
	expected string // SHA-256 of the conditions and what they were told
	observed string // SHA-256 of what was observed, "" where nothing could be

	looks []*ledger.Record // of the calls that looked
}

// taskFinding is what is found of a call that its server goes on with by itself.
func taskFinding(rules []*policy.Verification) finding {
	return finding{settled: true, verdict: Stop, rule: rules[0].Rule,
		reason: "the server goes on with it as a task, and what that leaves cannot be verified"}
}

// mark puts what was found into a call's record.
func (f *finding) mark(rec *ledger.Record) {
	rec.Verdict, rec.Expected, rec.ObservedSum = f.verdict, f.expected, f.observed
	if f.verdict == Stop {
		rec.Reason = f.reason
	}
}

// remains is a call that was just carried out. Of a result that conditions cannot be told, they are told nothing.
func (w *course) remains(c *Call, result Result) *remains {
	m := &remains{caller: c.Caller, tool: c.Name, digest: w.rec.ArgsDigest, verify: w.terms.Verify, attempt: w.rec.Attempt}
	m.args, _ = canon.Parse(w.args) // which was spelt by us
	m.result = observedOf(result.Body)
	return m
}

// observedOf is a call's own result as conditions are told of it, absent where it has no such form.
func observedOf(body []byte) canon.Value {
	if len(body) == 0 || len(body) > mostObserved {
		return canon.Value{}
	}
	v, err := postcondition.Observed(body)
	if err != nil {
		return canon.Value{}
	}
	return v
}

// values are what templates and conditions may speak of.
func (m *remains) values() postcondition.Values {
	call := append([]byte(`{"arguments":`), m.args.Bytes()...)
	call = append(canon.AppendString(append(call, `,"tool":`...), m.tool), '}')
	who := canon.AppendString([]byte(`{"name":`), m.caller.Principal)
	who = append(canon.AppendString(append(who, `,"tenant":`...), m.caller.Tenant), '}')
	values := postcondition.Values{"args": m.args, "result": m.result}
	values["call"], _ = canon.Parse(call)
	values["principal"], _ = canon.Parse(who)
	return values
}

// expected is the SHA-256 of the conditions and of what they are told besides the observation.
func (m *remains) expected() string {
	b := canon.AppendString([]byte(`{"args":`), m.digest)
	b = append(b, `,"expect":[`...)
	for i, v := range m.verify {
		if i > 0 {
			b = append(b, ',')
		}
		b = canon.AppendString(b, v.Expect.Source())
	}
	b = canon.AppendString(append(b, `],"principal":`...), m.caller.Principal)
	b = canon.AppendString(append(b, `,"result":`...), sumOf(m.result))
	b = canon.AppendString(append(b, `,"tenant":`...), m.caller.Tenant)
	b = canon.AppendString(append(b, `,"tool":`...), m.tool)
	return digestBytes(append(b, '}'))
}

// sumOf is the SHA-256 of a value, "" of an absent one.
func sumOf(v canon.Value) string {
	if !v.Exists() {
		return ""
	}
	digest, err := v.Digest()
	if err != nil { // a number without a canonical spelling
		return digestBytes(v.Bytes())
	}
	return digest
}

// verify looks at what a call left, by each of its rules in turn until one is not met. c is by whose way it looks: the very
// call's, or after a crash that of the same principal's next one. It goes on without its caller.
func (g *Gate) verify(ctx context.Context, c *Call, pol *policy.Policy, m *remains) finding {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if g.Ending != nil {
		defer context.AfterFunc(g.Ending, cancel)()
	}
	f := finding{settled: true, verdict: Continue, expected: m.expected()}
	values := m.values()
	var sums []string
	for _, v := range m.verify {
		saw := g.lookUntil(ctx, c, pol, m, v, values)
		if saw.rec != nil {
			f.looks = append(f.looks, saw.rec)
		}
		if saw.sum != "" {
			sums = append(sums, saw.sum)
		}
		if !saw.holds {
			f.verdict, f.rule, f.reason = Stop, v.Rule, saw.reason
			break
		}
	}
	f.observed = joined(sums)
	if f.verdict == Stop && g.ending() {
		return finding{expected: f.expected, observed: f.observed, looks: f.looks}
	}
	return f
}

// ending reports whether the process is about to end.
func (g *Gate) ending() bool { return g.Ending != nil && g.Ending.Err() != nil }

// joined is one digest for what several looks saw.
func joined(sums []string) string {
	switch len(sums) {
	case 0:
		return ""
	case 1:
		return sums[0]
	}
	var all []byte
	for _, sum := range sums {
		all = append(append(all, sum...), '\n')
	}
	return digestBytes(all)
}

// sight is what came of one look.
type sight struct {
	holds  bool
	final  bool           // looking again would not help
	reason string         // why it does not hold, without arguments
	sum    string         // SHA-256 of what was observed, "" if nothing was
	rec    *ledger.Record // of the call that looked; nil where it was not made
}

// lookUntil looks until a rule is met, or its time is over.
func (g *Gate) lookUntil(ctx context.Context, c *Call, pol *policy.Policy, m *remains, v *policy.Verification, values postcondition.Values) sight {
	args, err := v.Args.Expand(values)
	if err != nil {
		return sight{reason: fmt.Sprintf("the observation that rule %q asks for cannot be made: %v", v.Rule, err)}
	}
	end := time.Now().Add(v.For)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		saw := g.look(ctx, c, pol, m, v, args, values)
		left := time.Until(end)
		if saw.holds || saw.final || left <= 0 || ctx.Err() != nil {
			return saw
		}
		select {
		case <-time.After(min(pause, left)):
		case <-ctx.Done():
			return saw
		}
	}
}

// look makes one observation and compares. It is judged as a call of the caller's own, of a tool that only reads.
func (g *Gate) look(ctx context.Context, c *Call, pol *policy.Policy, m *remains, v *policy.Verification, args canon.Value, values postcondition.Values) (saw sight) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	o, err := observation(ctx, c, v.Tool, args)
	if err != nil {
		g.log.Error("an observation could not be made", "tool", v.Tool, "error", err)
		return sight{reason: fmt.Sprintf("the observation that rule %q asks for could not be made", v.Rule)}
	}
	o.Caller, o.Origin = m.caller, originVerify
	w, _, denied := g.weigh(pol, &o)
	rec := w.rec
	rec.Attempt, saw.rec = m.attempt, rec
	if denied == nil {
		denied = w.unfitToLook(&o)
	}
	if denied != nil {
		rec.Decision, rec.Outcome, rec.Rule = policy.Deny.String(), ledger.NotExecuted, denied.Rule
		saw.final, saw.reason = true, fmt.Sprintf("the observation that rule %q asks for is denied by %q", v.Rule, denied.Rule)
		return saw
	}
	result, err := g.invoke(ctx, &o, rec.ArgsDigest)
	rec.Outcome = ledger.Failed
	if err != nil {
		g.log.Error("an observation failed", "tool", v.Tool, "error", err)
		saw.reason = fmt.Sprintf("the observation that rule %q asks for failed", v.Rule)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			saw.reason = fmt.Sprintf("the observation that rule %q asks for took longer than %v", v.Rule, lookTime)
		}
		return saw
	}
	seen, err := seenIn(result)
	if err != nil {
		saw.reason = fmt.Sprintf("the observation that rule %q asks for shows nothing: %v", v.Rule, err)
		return saw
	}
	rec.Outcome, saw.sum = ledger.Observed, sumOf(seen)
	rec.ObservedSum = saw.sum
	saw.holds, saw.reason = compare(v, values, seen)
	return saw
}

// blind returns why it is certain, before anything is done, that what a call leaves could not be looked at; nil if it is not.
// An observation that needs the call's own result is judged when that is there.
func (g *Gate) blind(ctx context.Context, c *Call, w *course) *DeniedError {
	values := w.remains(c, Result{}).values()
	for _, v := range w.terms.Verify {
		args, err := v.Args.Expand(values)
		known := err == nil
		if err != nil && !slices.Contains(v.Args.Names(), "result") {
			return &DeniedError{Tool: c.Name, Rule: v.Rule, Reason: "what the call leaves could not be looked at, so it was not made: " + err.Error()}
		}
		o, err := observation(ctx, c, v.Tool, args)
		switch {
		case err != nil:
			continue // its server may be there by then; if not, that is a stop
		case o.Tool == nil:
			return &DeniedError{Tool: c.Name, Rule: v.Rule,
				Reason: fmt.Sprintf("what the call leaves could not be looked at, so it was not made: no server here has the tool %q (names are as clients see them)", v.Tool)}
		case !known:
			continue
		}
		o.Caller, o.Origin = c.Caller, originVerify
		look, _, denied := g.weigh(w.pol, &o)
		if denied == nil {
			denied = look.unfitToLook(&o)
		}
		if denied != nil {
			return &DeniedError{Tool: c.Name, Rule: v.Rule,
				Reason: fmt.Sprintf("what the call leaves could not be looked at, so it was not made: rule %q denies the call of %q that looks", denied.Rule, v.Tool)}
		}
	}
	return nil
}

// compare reports whether a rule is met by what is seen, or why not.
func compare(v *policy.Verification, values postcondition.Values, seen canon.Value) (holds bool, reason string) {
	told := postcondition.Values{"observation": seen}
	for name, value := range values {
		told[name] = value
	}
	holds, err := v.Expect.Holds(told)
	switch {
	case err != nil:
		return false, fmt.Sprintf("whether rule %q is met cannot be told: %v", v.Rule, err)
	case !holds:
		return false, fmt.Sprintf("what is there is not what rule %q expects", v.Rule)
	}
	return true, ""
}

// seenIn is what an observation's result shows.
func seenIn(r Result) (canon.Value, error) {
	switch {
	case r.Failed:
		return canon.Value{}, errors.New("the tool says that it failed")
	case r.Open:
		return canon.Value{}, errors.New("the tool wants something before it goes on")
	case len(r.Body) > mostObserved:
		return canon.Value{}, fmt.Errorf("its result is larger than %d bytes", mostObserved)
	}
	return postcondition.Observed(bytes.TrimSpace(r.Body))
}

// observation is the call that looks. A panic is an error.
func observation(ctx context.Context, c *Call, tool string, args canon.Value) (o Call, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return c.Observe(ctx, tool, args)
}

// unfitToLook returns why a call that the policy lets through must not be the one that looks: a look has no effect, needs
// nobody's word, and is not looked at itself.
func (w *course) unfitToLook(o *Call) *DeniedError {
	switch {
	case o.method() != toolsCall:
		return &DeniedError{Tool: o.Name, Rule: originVerify, Reason: "only a tool can observe"}
	case w.asks != nil:
		return &DeniedError{Tool: o.Name, Rule: w.asks.Rule, Reason: "a person would have to agree"}
	case !w.readOnly || w.verified():
		return &DeniedError{Tool: o.Name, Rule: originVerify, Reason: "no rule that allows it says that it only reads"}
	}
	return nil
}

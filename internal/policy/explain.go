package policy

import (
	"fmt"

	"sallyport/internal/effects"
)

// Step says what one rule makes of a call.
type Step struct {
	Rule     string // its id as records have it
	Level    Level
	Decision Decision
	Observe  bool   // it is not enforced
	Matches  Match  // for a rule that allows: whether it covers the call, or a part of it
	Note     string // why
}

// Match is how a rule fits a call.
type Match string

// The ways in which a rule fits a call.
const (
	Matches    Match = "yes"
	MayMatch   Match = "maybe" // it cannot be told before the call runs
	MatchesIn  Match = "partly"
	MatchesNot Match = "no"
)

// Explain says what each rule makes of a call, in the order in which they are told. Evaluate decides.
func (p *Policy) Explain(r Request) []Step {
	if p == nil {
		return nil
	}
	v, ok := p.rules.(*version2)
	if one, isOne := p.rules.(*version1); isOne {
		v, ok = one.translated(), true
	}
	if !ok {
		return nil
	}
	c := v.newCall(&r)
	c.scan()
	var steps []Step
	for i := range v.rules {
		rule := &v.rules[i]
		step := Step{Rule: rule.name, Level: rule.level, Decision: rule.decision, Observe: rule.observe}
		step.Matches, step.Note = c.explain(i, rule)
		for _, verified := range rule.terms.Verify {
			if step.Matches != MatchesNot && isToolCall(r.Method) {
				step.Note += "; verified by " + verified.String()
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// explain says how a rule fits the call, and why.
func (c *call) explain(i int, r *placed) (Match, string) {
	if c.found[i].out {
		return MatchesNot, c.outside(r.rule)
	}
	if note, ok := c.misfit(r.rule); ok {
		return MatchesNot, note
	}
	if r.decision == Allow {
		return c.explainAllow(i, r)
	}
	got := c.byRule(i, r)
	switch {
	case got.rule == nil:
		return MatchesNot, "the call does nothing that it speaks of"
	case r.broken != nil:
		why, _ := r.broken.check(c.req.Args)
		return Matches, why.Reason
	case got.match == effects.Maybe:
		return MayMatch, c.doubt(got)
	case c.applies(i) == failed:
		return Matches, "a condition of it cannot be evaluated, which counts as matching"
	case got.effect >= 0:
		return Matches, r.sentence(r.decision, describe(&c.req.Effects[got.effect], got.pattern))
	}
	return Matches, "it speaks of all that such a call does"
}

// outside says why a rule does not speak of a call at all.
func (c *call) outside(r *rule) string {
	switch {
	case !r.speaksOfMethod(c.req.Method):
		return "it speaks of other methods"
	case !matchesAny(r.tools, c.req.Tool) && isToolCall(c.req.Method):
		return "it speaks of other tools"
	case !matchesAny(r.hosts, c.req.Host):
		return "it speaks of other hosts"
	case !matchesAny(r.tenants, c.req.Tenant):
		return "it speaks of other tenants"
	default:
		return "it speaks of other principals"
	}
}

// misfit says which argument or condition of a rule does not fit the call.
func (c *call) misfit(r *rule) (note string, ok bool) {
	allows := r.decision == Allow
	for i := range r.args {
		got := r.args[i].check(c, allows)
		if got == no || allows && got != yes {
			return fmt.Sprintf("argument %q is not what it demands", r.args[i].name), true
		}
	}
	if r.broken != nil {
		if _, ok := r.broken.check(c.req.Args); ok {
			return fmt.Sprintf("argument %q is what it demands", r.broken.name), true
		}
	}
	if r.when == nil {
		return "", false
	}
	switch got := r.when.check(c, allows); {
	case got == no:
		return "its condition does not hold", true
	case allows && got == failed:
		return "its condition cannot be evaluated, which counts as not matching", true
	}
	return "", false
}

// explainAllow says how much of the call a rule that allows covers.
func (c *call) explainAllow(i int, r *placed) (Match, string) {
	all := len(c.req.Effects)
	switch {
	case !r.keyed:
		return Matches, "it speaks of all that such a call does"
	case all == 0:
		return MatchesNot, "it speaks of effects, and the call has none"
	}
	covered, left := 0, -1
	for j := range c.req.Effects {
		if c.coveredBy([]int{i}, j) != nil {
			covered++
		} else if left < 0 {
			left = j
		}
	}
	switch {
	case covered == all:
		return Matches, "it covers all that the call does"
	case covered == 0:
		return MatchesNot, "it covers nothing of what the call does; first " + c.left(left)
	}
	return MatchesIn, fmt.Sprintf("it covers %d of %d effects; not %s", covered, all, c.left(left))
}

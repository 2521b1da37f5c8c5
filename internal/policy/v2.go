package policy

import (
	"sync"

	"sallyport/internal/effects"
	"sallyport/internal/output"
)

// version2 is the second policy language: rules that deny, ask or allow, by tool, by arguments, by condition, and by what a
// call would do. Their order does not matter: deny beats ask beats allow beats the default. One may come of several files.
type version2 struct {
	rules    []placed
	defaults []fallback
	declared []declaration
	starter  string // "on", "off", or "" where the file does not say
	ledger   ledgerTerms
	token    string // SHA-256 of the operator's token in hex, or ""
	outputs  []output.Rule
	requires []requirement

	indexed sync.Once
	index   index
}

// placed is a rule and what it counts for where its file stands.
type placed struct {
	*rule
	name    string // its id, unique among all rules
	level   Level
	observe bool // it is not enforced
	lifts   bool // what it allows, or asks about, is no longer for the default to decide
	certain bool // it speaks only of what can be read
}

// fallback is the default of a file.
type fallback struct {
	decision Decision
	observe  bool
}

// defaultRule is the id under which a default decides.
const defaultRule = "default"

// fallback returns the strictest default. Where all files only observe, nothing is enforced; where there is none, nothing
// is allowed.
func (v *version2) fallback(observed bool) Decision {
	strictest, found := Allow, false
	for _, f := range v.defaults {
		if found = true; observed || !f.observe {
			strictest = min(strictest, f.decision)
		}
	}
	if !found {
		return Deny
	}
	return strictest
}

func (v *version2) evaluate(req Request) (Decision, Why) { return v.newCall(&req).decide() }

// decide decides the call, and says what would be different if all that is only observed were enforced.
func (c *call) decide() (Decision, Why) {
	c.scan()
	d, why := c.judge(false)
	if c.v.index.observes {
		if seen, by := c.judge(true); seen != d {
			why.Observed = Observed{Rule: by.Rule, Decision: seen}
		}
	}
	return d, why
}

// visible: a tool is hidden if a rule denies all of its calls, or if the default denies them and no rule could lift that,
// or if none that could has what the policy requires.
func (v *version2) visible(who *Who, tool string) bool {
	required := v.required(false)
	lifted, have := v.fallback(false) != Deny, Terms{}
	for i := range v.rules {
		r := &v.rules[i]
		if r.observe || !matchesAny(r.tools, tool) || !r.speaksOfMethod(toolCall) || !r.mayBeBy(who) {
			continue
		}
		if r.deniesAll(who, toolCall) {
			return false
		}
		if r.lifts && r.decision != Deny {
			if lifted = true; !required.nothing() {
				have.gather(r.terms)
			}
		}
	}
	return lifted && (required.nothing() || required.metBy(have))
}

// limits returns the limits of the rules that allow the call, or a part of it.
func (c *call) limits() []Limit {
	var limits []Limit
	for _, i := range c.v.index.limited {
		if r := &c.v.rules[i]; c.surely(i) && (!r.keyed || c.coversOne(r)) {
			limits = append(limits, r.limitOf(c.req))
		}
	}
	return limits
}

// call is one request while it is judged.
type call struct {
	v   *version2
	req *Request

	scanned bool
	found   []finding // what each rule has to do with the effects, once they were scanned; by its index
	opaque  [5]int    // for each kind, 1 + the index of the first effect that cannot be read
	env     map[string]any
}

// finding is what a rule that denies or asks has to do with the effects of a call.
type finding struct {
	match   effects.Match // of the effect that fits best
	out     bool          // the rule does not speak of this call's tool, principal or host
	asked   bool          // applies is known
	applies answer
	effect  int32
	pattern pattern // nil for what needs none to be described
}

func (v *version2) newCall(req *Request) *call {
	v.indexed.Do(v.buildIndex)
	c := &call{v: v, req: req, found: make([]finding, len(v.rules))}
	for i := range v.rules {
		c.found[i].out = !v.rules[i].inScope(req)
	}
	return c
}

// nowhere is the world of a caller who knows none.
var nowhere effects.World

func (c *call) world() *effects.World {
	if c.req.World == nil {
		return &nowhere
	}
	return c.req.World
}

// applies says whether a rule's arguments and condition fit the call. It is asked at most once.
func (c *call) applies(i int) answer {
	f := &c.found[i]
	if !f.asked {
		f.asked, f.applies = true, c.v.rules[i].applies(c)
	}
	return f.applies
}

// surely reports whether a rule speaks of the call beyond doubt, as a rule that allows must.
func (c *call) surely(i int) bool {
	return !c.found[i].out && c.applies(i) == yes
}

// verdict is what one rule makes of a call.
type verdict struct {
	decision Decision
	rule     *placed // nil: none
	match    effects.Match
	effect   int // -1: none
	pattern  pattern
	aside    bool // what the rule speaks of is only taken along: another rule may know better what is wrong with the call
}

// judge decides by the rules that are enforced, or by the observed ones too.
func (c *call) judge(observed bool) (Decision, Why) {
	strict := c.strictest(observed)
	if strict.rule != nil && strict.decision == Deny {
		return Deny, c.whyStrict(strict)
	}
	base := c.coverage(observed)
	if base.decision == Deny {
		return Deny, c.whyDefault(base)
	}
	asked := base.decision == Ask || strict.rule != nil
	why, missing := c.unmet(observed, asked)
	switch {
	case missing:
		return Deny, why
	case strict.rule != nil:
		return Ask, c.whyStrict(strict)
	case base.rule != nil && !asked:
		return Allow, Why{Rule: base.rule.name, Reason: allowed.Reason, SkipPrompt: c.skipsPrompt(observed)}
	case base.rule != nil:
		return Ask, c.whyStrict(base)
	default:
		return base.decision, c.whyDefault(base)
	}
}

// strictest returns what the rules that deny and ask make of the call.
func (c *call) strictest(observed bool) verdict {
	best := verdict{decision: Allow, effect: -1}
	for _, i := range c.v.index.strict {
		r := &c.v.rules[i]
		if c.found[i].out || r.observe && !observed {
			continue
		}
		if got := c.byRule(i, r); got.rule != nil && got.stricter(best) {
			if best = got; best.decision == Deny && !best.aside {
				break
			}
		}
	}
	return best
}

// stricter reports whether a verdict is to be told rather than another one.
func (v verdict) stricter(other verdict) bool {
	if v.decision != other.decision {
		return v.decision < other.decision
	}
	return other.rule == nil || other.aside && !v.aside || v.match > other.match
}

// byRule returns what one rule that denies or asks makes of the call: nothing, where its rule is nil.
func (c *call) byRule(i int, r *placed) verdict {
	f := &c.found[i]
	v := verdict{decision: r.decision, match: effects.Yes, effect: -1}
	if r.keyed {
		v.match, v.effect, v.pattern = f.match, int(f.effect), f.pattern
		if v.match == effects.No {
			v.match, v.effect = c.unreadable(r)
			v.pattern = nil
		}
	}
	if v.match == effects.No {
		return v
	}
	switch c.applies(i) {
	case no:
		return v
	case perhaps:
		v.match = effects.Maybe
	}
	if v.rule = r; v.match == effects.Maybe {
		v.decision = Ask
	}
	v.aside = r.level == BuiltIn && v.effect >= 0 && c.takesAlong(r, v.effect)
	return v
}

// takesAlong reports whether an effect is no write of what a rule names, but takes it along with a folder above it.
func (c *call) takesAlong(r *placed, effect int) bool {
	e := &c.req.Effects[effect]
	if !e.Deep {
		return false
	}
	for _, l := range r.writes {
		if p, err := l.get(); err != nil || p.Match(e.Path, false, c.world()) != effects.No {
			return false
		}
	}
	return true
}

// unreadable reports whether the call has an effect that cannot be read, of a kind that the rule speaks of.
func (c *call) unreadable(r *placed) (match effects.Match, effect int) {
	if r.certain {
		return effects.No, -1
	}
	for kind, at := range c.opaque {
		if at > 0 && r.speaksOf(effects.Kind(kind)) {
			return effects.Maybe, at - 1
		}
	}
	return effects.No, -1
}

// coverage returns what is left to the rules that allow, and to the default: the call is allowed, or asked about, if they
// cover all of its effects, and is for the default to decide else.
func (c *call) coverage(observed bool) verdict {
	fallback := verdict{decision: c.v.fallback(observed), effect: -1}
	if len(c.v.index.lenient) == 0 {
		return fallback
	}
	var buf [16]int
	rules := buf[:0]
	for _, i := range c.v.index.lenient {
		if (observed || !c.v.rules[i].observe) && c.surely(i) {
			rules = append(rules, i)
		}
	}
	covered, missing := c.coverAll(rules)
	if covered.rule != nil {
		return covered
	}
	fallback.effect = missing
	return fallback
}

// coverAll reports whether rules together cover the whole call: by the first of those that do, with the strictest
// decision of all that are needed. If they do not, missing is the first effect that is left, or -1.
func (c *call) coverAll(rules []int) (v verdict, missing int) {
	for _, i := range rules {
		if r := &c.v.rules[i]; !r.keyed {
			return verdict{decision: r.decision, rule: r, match: effects.Yes, effect: -1}, -1
		}
	}
	v = verdict{decision: Allow, match: effects.Yes, effect: -1}
	for i := range c.req.Effects {
		r := c.coveredBy(rules, i)
		if r == nil {
			return verdict{}, i
		}
		if v.rule == nil || r.decision < v.decision {
			v.rule, v.decision, v.effect = r, r.decision, i
		}
	}
	return v, -1
}

// coveredBy returns the rule that covers an effect, or the run by which it happens.
func (c *call) coveredBy(rules []int, i int) *placed {
	e := &c.req.Effects[i]
	program := ""
	if e.Command != nil {
		program = e.Command.Program()
	}
	for _, j := range rules {
		if r := &c.v.rules[j]; r.covers(e, program, c.world()) {
			return r
		}
	}
	if e.Kind != effects.Run && e.Opaque == "" && e.By >= 0 && e.By < len(c.req.Effects) && c.req.Effects[e.By].Kind == effects.Run {
		return c.coveredBy(rules, e.By)
	}
	return nil
}

// coversOne reports whether a rule covers any effect of the call.
func (c *call) coversOne(r *placed) bool {
	for i := range c.req.Effects {
		e := &c.req.Effects[i]
		program := ""
		if e.Command != nil {
			program = e.Command.Program()
		}
		if r.covers(e, program, c.world()) {
			return true
		}
	}
	return false
}

// skipsPrompt reports whether the rules that say so cover the whole call alone.
func (c *call) skipsPrompt(observed bool) bool {
	if !c.v.index.skips {
		return false
	}
	var rules []int
	for _, i := range c.v.index.lenient {
		if r := &c.v.rules[i]; r.skipPrompt && (observed || !r.observe) && c.surely(i) {
			rules = append(rules, i)
		}
	}
	covered, _ := c.coverAll(rules)
	return covered.rule != nil
}

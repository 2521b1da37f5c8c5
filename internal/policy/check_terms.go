package policy

import (
	"fmt"
	"slices"

	"sallyport/internal/canon"
)

// fileTerms warns of what a file asks of all calls and does not get.
func (c *checker) fileTerms(root canon.Value, v *version2) {
	if d := v.defaults[0].decision; d != Deny && !v.required(true).nothing() {
		c.warnKey(root.Get("default"), fmt.Sprintf(`"require" denies what only the default %s`, verb(d)), `name the tools that only read in a rule with "decision": "allow" and "read_only": true`)
	}
	if asked := root.Get("output"); asked.Exists() && v.defaults[0].observe {
		c.warnKey(asked, `"output" is not enforced in mode observe`, "")
	}
}

// stepBack warns of rules that allow calls, or ask about them, which the file's own requirements deny: there a tool should
// step back to reading, or be given what is required.
func (c *checker) stepBack(member canon.Value, r *placed, v *version2) {
	q := v.required(true)
	if q.nothing() || r.decision == Deny || r.decision == Ask && r.tools == nil || !r.speaksOfMethod(toolCall) {
		return
	}
	have := Terms{}
	have.gather(r.terms)
	for i := range v.rules {
		other := &v.rules[i]
		if other.rule != r.rule && other.decision != Deny && !other.observe && other.includes(r.rule) {
			have.gather(other.terms)
		}
	}
	switch {
	case q.metBy(have):
	case q.verify && !have.verifies():
		c.warn(member, fmt.Sprintf(`rule %q: "require" denies its calls, since it does not say how they are verified`, r.id),
			`write "verify": {"observe": …, "expect": …}, or let its tools step back to those that only read, and say "read_only": true`)
	default:
		c.warn(member, fmt.Sprintf(`rule %q: "require" denies its calls, since it names no key`, r.id),
			`write "mutation": {"key": "request_id"}, or let its tools step back to those that only read, and say "read_only": true`)
	}
}

// verification warns of a "verify" that finds out nothing, or is alone where it should not be.
func (c *checker) verification(member canon.Value, r *placed, v *version2) {
	said := member.Get("verify")
	switch {
	case !said.Exists():
	case r.observe:
		c.warnKey(said, fmt.Sprintf("rule %q: nothing is verified in mode observe", r.id), "")
	case r.terms.Verify[0].Content:
		if c.writesNothing(r) {
			c.warnKey(said, fmt.Sprintf("rule %q: calls of its tools write no file whose content could be verified", r.id), "")
		}
	case r.hosts != nil || r.methods != nil && !matchesAny(r.methods, toolCall):
		c.warnKey(said, fmt.Sprintf("rule %q: calls of hooks are not verified by another call", r.id), `write "verify": "content" for what they write into files`)
	default:
		c.tool(said.Get("observe").Get("tool"), glob{text: r.terms.Verify[0].Tool, literal: true})
		c.expects(said.Get("expect"), r)
		if !c.keyKnown(r, v) {
			c.warnKey(said, fmt.Sprintf("rule %q: a retry of its calls is not known, so that one may be done twice whose answer was lost", r.id),
				`write "mutation": {"key": "request_id"}, or "`+MetaKey+`" for that member of _meta`)
		}
	}
}

// expects looks at what a condition compares.
func (c *checker) expects(v canon.Value, r *placed) {
	expect := r.terms.Verify[0].Expect
	if !slices.Contains(expect.Names(), "observation") {
		c.warn(v, fmt.Sprintf("rule %q: the condition does not look at what was observed", r.id), `compare "observation" with "args", "call" or "result"`)
	}
	members, _ := expect.Members("args")
	for _, name := range members {
		c.argument(v, r.tools, name)
	}
}

// keyKnown reports whether a retry of the rule's calls is known: this rule, or another that speaks of all of them, names the
// key, or its tools are known to have one of their own.
func (c *checker) keyKnown(r *placed, v *version2) bool {
	for i := range v.rules {
		if other := &v.rules[i]; other.terms.Key != "" && !other.observe && (other.rule == r.rule || other.includes(r.rule)) {
			return true
		}
	}
	return r.tools != nil && !slices.ContainsFunc(r.tools, func(g glob) bool {
		known := slices.IndexFunc(c.tools, func(t KnownTool) bool { return g.literal && t.Name == g.text })
		return known < 0 || !slices.Contains(c.tools[known].Args, "request_id")
	})
}

// writesNothing reports whether all of the rule's tools are known, and none of them writes files.
func (c *checker) writesNothing(r *placed) bool {
	return r.tools != nil && !slices.ContainsFunc(r.tools, func(g glob) bool {
		known := slices.IndexFunc(c.tools, func(t KnownTool) bool { return g.literal && t.Name == g.text })
		return known < 0 || c.tools[known].Effects == nil || slices.Contains(c.tools[known].Effects, "writes")
	})
}

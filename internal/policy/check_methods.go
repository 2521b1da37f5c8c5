package policy

import (
	"fmt"
	"slices"
	"strings"

	"sallyport/internal/canon"
)

// paramsOf are the params by which a request of a method can be told from another one, nil where they are not known.
func paramsOf(method string) []string {
	switch method {
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return []string{"uri"}
	case "prompts/get":
		return []string{"name", "arguments"}
	case "completion/complete":
		return []string{"ref", "argument", "context"}
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/update":
		return []string{"taskId"}
	case "logging/setLevel":
		return []string{"level"}
	default:
		return nil
	}
}

// methodNames warns of methods that are nearly those of the protocol, and of params that requests of the rule's methods do
// not have.
func (c *checker) methodNames(member canon.Value, r *placed) {
	known := append(GovernedMethods(), toolCall)
	var params []string
	certain := r.methods != nil
	i := 0
	for v := range member.Get("methods").Elements() {
		name := r.methods[i]
		i++
		if !name.literal || paramsOf(name.text) == nil {
			certain = false
		}
		params = append(params, paramsOf(name.text)...)
		if !name.literal || slices.Contains(known, name.text) {
			continue
		}
		if meant := nearestName(name.text, known); meant != "" {
			c.warn(v, fmt.Sprintf("no known method is called %q", name.text), fmt.Sprintf("did you mean %q?", meant))
		}
	}
	for name, v := range member.Get("args").Members() {
		if !certain || name[0] == '/' || slices.Contains(params, name) {
			continue
		}
		slices.Sort(params)
		params = slices.Compact(params)
		hint := "known there: " + strings.Join(params, ", ")
		if meant := nearestName(name, params); meant != "" {
			hint = fmt.Sprintf("did you mean %q?", meant)
		}
		c.warnKey(v, fmt.Sprintf("no request of the rule's methods has %q", name), hint)
	}
}

// fileTerms warns of what a file asks of all calls and does not get.
func (c *checker) fileTerms(root canon.Value, v *version2) {
	if v.defaults[0].decision == Allow && !v.required(true).nothing() {
		c.warnKey(root.Get("default"), `"require" denies what only the default allows`, `name the tools that only read in a rule with "decision": "allow" and "read_only": true`)
	}
	if asked := root.Get("output"); asked.Exists() && v.defaults[0].observe {
		c.warnKey(asked, `"output" is not enforced in mode observe`, "")
	}
}

// stepBack warns of rules that allow calls which the file's own requirements deny: there a tool should step back to
// reading, or be given what is required.
func (c *checker) stepBack(member canon.Value, r *placed, v *version2) {
	q := v.required(true)
	if q.nothing() || r.decision != Allow || !r.speaksOfMethod(toolCall) || q.metBy(r.terms) {
		return
	}
	for i := range v.rules {
		other := &v.rules[i]
		if other.rule != r.rule && other.decision == Allow && !other.observe && q.metBy(other.terms) && other.includes(r.rule) {
			return
		}
	}
	if q.verify {
		c.warn(member, fmt.Sprintf(`rule %q: "require" denies its calls, since nothing can be verified in this release`, r.id),
			`let its tools step back to those that only read, and say "read_only": true`)
		return
	}
	c.warn(member, fmt.Sprintf(`rule %q: "require" denies its calls, since it names no key`, r.id),
		`write "mutation": {"key": "request_id"}, or let its tools step back to those that only read, and say "read_only": true`)
}

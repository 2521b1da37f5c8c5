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

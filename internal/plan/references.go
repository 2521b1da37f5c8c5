package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sallyport/internal/canon"
	"sallyport/internal/postcondition"
)

// A step may speak of what the steps before it came to: steps.ID.result and steps.ID.observation. What it says of others would
// stand for nothing when it is needed, and a condition about nothing may well be false: so it is an error when the plan is read.

// templateSteps looks at what a template says of steps.
func (d *document) templateSteps(v canon.Value, t *postcondition.Template, earlier []string) error {
	for _, path := range t.References() {
		if path[0] != "steps" {
			continue
		}
		path = append(path, "", "")
		if err := d.reference(v, path[1], path[2], earlier); err != nil {
			return err
		}
	}
	return nil
}

// stepMember finds the member of a step that a condition names. It is compiled when it is first needed: a hook, which needs
// none, is a process for each call.
var stepMember = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bsteps\s*\??\.?\s*(?:\w+|\[\s*"[^"]*"\s*\]|\[\s*'[^']*'\s*\])\s*\??\.\s*(\w+)`)
})

// conditionSteps looks at what a condition says of steps. An id that is computed cannot be checked, and is refused.
func (d *document) conditionSteps(v canon.Value, c *postcondition.Condition, earlier []string) error {
	ids, all := c.Members("steps")
	if all {
		ids = append(ids, "")
	}
	for _, id := range ids {
		if err := d.reference(v, id, stepMembers[0], earlier); err != nil {
			return err
		}
	}
	for _, m := range stepMember().FindAllStringSubmatch(c.Source(), -1) {
		if !slices.Contains(stepMembers, m[1]) {
			return d.errorAt(v, fmt.Sprintf("a step has no %q", clip(m[1], maxID)), meant(m[1], stepMembers))
		}
	}
	return nil
}

// stepMembers are what can be said of a step.
var stepMembers = []string{"result", "observation"}

// reference checks what is said of one step.
func (d *document) reference(v canon.Value, id, member string, earlier []string) error {
	switch {
	case id == "":
		return d.errorAt(v, `"steps" is spoken of without the id of a step`, `write steps.ID.result, or steps["ID"].observation in a condition`)
	case !slices.Contains(earlier, id):
		return d.errorAt(v, fmt.Sprintf("there is no step %q before this one", clip(id, maxID)), meant(id, earlier))
	case member == "":
		return d.errorAt(v, fmt.Sprintf("of step %q it is not said what is meant", id), "known here: "+strings.Join(stepMembers, ", "))
	case !slices.Contains(stepMembers, member):
		return d.errorAt(v, fmt.Sprintf("a step has no %q", clip(member, maxID)), meant(member, stepMembers))
	}
	return nil
}

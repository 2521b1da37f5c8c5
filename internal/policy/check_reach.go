package policy

import (
	"fmt"
	"slices"
	"strings"

	"sallyport/internal/canon"
)

// unreachable warns of a rule, or a part of one, that no call can match.
func (c *checker) unreachable(member canon.Value, r *placed, v *version2) {
	c.constant(member, r)
	c.effectless(member, r, v)
	if r.tools == nil || r.hosts == nil || slices.ContainsFunc(r.hosts, func(h glob) bool { return h.text != "windsurf" }) {
		return
	}
	if !slices.ContainsFunc(r.tools, windsurfCalls) {
		c.warnKey(member.Get("tools"), fmt.Sprintf("rule %q can never decide: Windsurf has no such tools", r.id),
			"its commands are Bash, its reads Read, its writes MultiEdit, and the tools of servers mcp__SERVER__TOOL")
	}
}

// windsurfCalls reports whether a tool's name can be one that a hook gives to a call of Windsurf, which names no tools.
func windsurfCalls(tool glob) bool {
	if !tool.literal {
		return true
	}
	switch tool.text {
	case "Bash", "Read", "MultiEdit":
		return true
	}
	return strings.HasPrefix(tool.text, "mcp__")
}

// constant warns of a condition that does not depend on the call.
func (c *checker) constant(member canon.Value, r *placed) {
	if r.when == nil {
		return
	}
	e, err := r.when.get()
	if err != nil {
		return
	}
	switch value, constant := e.Constant(); {
	case constant && value:
		c.warnKey(member.Get("when"), fmt.Sprintf("rule %q: its condition is always true", r.id), "leave it out")
	case constant:
		c.warnKey(member.Get("when"), fmt.Sprintf("rule %q can never decide: its condition is always false", r.id), "remove the rule, or say when it holds")
	}
}

// effectless warns of effects that calls of the rule's tools cannot have, if all of the tools are known.
func (c *checker) effectless(member canon.Value, r *placed, v *version2) {
	var possible []string
	for _, tool := range r.tools {
		known := slices.IndexFunc(c.tools, func(t KnownTool) bool { return tool.literal && t.Name == tool.text })
		if known < 0 || c.tools[known].Effects == nil || slices.ContainsFunc(v.declared, func(d declaration) bool { return d.tool.match(tool.text) }) {
			return
		}
		possible = append(possible, c.tools[known].Effects...)
	}
	if r.tools == nil {
		return
	}
	never := map[string]canon.Value{}
	some := false
	for _, kind := range kinds {
		key := kind.String()
		if list := member.Get(key); list.Exists() && !slices.Contains(possible, key) {
			never[key] = list
		} else if list.Exists() {
			some = true
		}
	}
	for key, list := range never {
		msg := fmt.Sprintf("rule %q can never decide: calls of its tools have nothing for %q", r.id, key)
		if some {
			msg = fmt.Sprintf("rule %q: %q has no effect: calls of its tools have nothing for it", r.id, key)
		}
		c.warnKey(list, msg, effectsHint(possible))
	}
}

// effectsHint says which effects there can be.
func effectsHint(possible []string) string {
	if len(possible) == 0 {
		return "they have no effects that a rule could name"
	}
	possible = slices.Clone(possible)
	slices.Sort(possible)
	return "known there: " + strings.Join(slices.Compact(possible), ", ")
}

package policy

import (
	"fmt"
	"slices"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/cond"
)

// KnownTool is a tool of which something is known.
type KnownTool struct {
	Name    string
	Args    []string // all of its arguments by name; nil where AnyArgs
	AnyArgs bool     // its arguments are not known

	// Effects are the kinds of effects that its calls can have, by the names of the rule keys: "runs", "reads". nil is any.
	Effects []string
}

// Warning is something in a policy that is no error, but hardly what was meant.
type Warning struct {
	Line, Col int
	Msg, Hint string
}

// Check reads a policy file as Parse does, and also says what in it is hardly meant: rules that can never decide, names
// that no known tool has, and keys that have no effect.
func Check(name string, text []byte, tools []KnownTool) (*Policy, []Warning, error) {
	p, err := Parse(name, text)
	if err != nil {
		return nil, nil, err
	}
	d, root, err := document{name: name, text: text}.root()
	if err != nil {
		return nil, nil, err
	}
	c := checker{document: d, tools: tools}
	switch rules := p.rules.(type) {
	case *version1:
		c.version1(root, rules)
	case *version2:
		c.version2(root, rules)
	}
	slices.SortStableFunc(c.warnings, func(a, b Warning) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Col - b.Col
	})
	return p, c.warnings, nil
}

// checker looks a policy over.
type checker struct {
	document
	tools    []KnownTool
	warnings []Warning
}

// warn blames a value.
func (c *checker) warn(v canon.Value, msg, hint string) { c.warnAt(v.OffsetIn(c.text), msg, hint) }

// warnKey blames the key of a member by the member's value.
func (c *checker) warnKey(v canon.Value, msg, hint string) { c.warnAt(c.keyOffset(v), msg, hint) }

func (c *checker) warnAt(offset int, msg, hint string) {
	line, col := c.place(offset)
	c.warnings = append(c.warnings, Warning{Line: line, Col: col, Msg: msg, Hint: hint})
}

func (c *checker) version1(root canon.Value, rules *version1) {
	for tool, args := range root.Get("arg_rules").Members() {
		if !rules.allow[tool] || rules.deny[tool] {
			c.warnKey(args, fmt.Sprintf("the rules for tool %q can never decide: it is not allowed", tool), "")
		}
		for name, v := range args.Members() {
			c.argument(v, []glob{{text: tool, literal: true}}, name)
		}
	}
	for _, list := range []string{"allow", "deny"} {
		for v := range root.Get(list).Elements() {
			name, _ := v.Text()
			c.tool(v, glob{text: name, literal: true})
			if list == "allow" && rules.deny[name] {
				c.warn(v, fmt.Sprintf("tool %q is denied as well, which wins", name), "remove one of the two")
			}
		}
	}
}

func (c *checker) version2(root canon.Value, v *version2) {
	if len(v.rules) == 0 {
		c.warn(root, "the policy has no rules", "")
	}
	allows := slices.ContainsFunc(v.rules, func(r placed) bool { return r.decision == Allow })
	if len(v.rules) > 0 && !allows && !root.Get("default").Exists() {
		c.warn(root, "nothing is allowed: no rule allows anything, and a default that is left out denies", `write "default": "allow" if all else may run`)
	}
	c.fileTerms(root, v)
	i := 0
	for member := range root.Get("rules").Elements() {
		r := &v.rules[i]
		i++
		c.names(member, r)
		c.unreachable(member, r, v)
		c.idle(member, r, v)
		c.methodNames(member, r)
		c.stepBack(member, r, v)
		c.verification(member, r, v)
		c.shadowed(member, r, v)
	}
}

// names looks for tools and arguments that do not exist.
func (c *checker) names(member canon.Value, r *placed) {
	i := 0
	for tool := range member.Get("tools").Elements() {
		c.tool(tool, r.tools[i])
		i++
	}
	for name, v := range member.Get("args").Members() {
		if name[0] != '/' && r.methods == nil {
			c.argument(v, r.tools, name)
		}
	}
	if r.when == nil || r.methods != nil {
		return
	}
	if e, err := r.when.get(); err == nil {
		names, _ := e.Args()
		for _, name := range names {
			c.argument(member.Get("when"), r.tools, name)
		}
	}
}

// tool warns of the name of a tool that is nearly that of a known one.
func (c *checker) tool(v canon.Value, name glob) {
	if !name.literal {
		return
	}
	var names []string
	for _, t := range c.tools {
		if t.Name == name.text {
			return
		}
		names = append(names, t.Name)
	}
	// Servers have tools of their own, such as create_directory beside the known list_directory: only a slip of the finger
	// is told.
	if meant := nearestName(name.text, names); meant != "" && cond.Distance(name.text, meant) <= 2 {
		c.warn(v, fmt.Sprintf("no known tool is called %q", name.text), fmt.Sprintf("did you mean %q?", meant))
	}
}

// argument warns of an argument that none of the tools has, if all of them are known.
func (c *checker) argument(v canon.Value, tools []glob, name string) {
	var names []string
	for _, tool := range tools {
		known := slices.IndexFunc(c.tools, func(t KnownTool) bool { return tool.literal && t.Name == tool.text })
		if known < 0 || c.tools[known].AnyArgs {
			return
		}
		names = append(names, c.tools[known].Args...)
	}
	if tools == nil || slices.Contains(names, name) {
		return
	}
	hint := "they have no arguments"
	if len(names) > 0 {
		slices.Sort(names)
		hint = "known there: " + strings.Join(slices.Compact(names), ", ")
	}
	if meant := nearestName(name, names); meant != "" {
		hint = fmt.Sprintf("did you mean %q?", meant)
	}
	c.warnKey(v, fmt.Sprintf("no argument of the rule's tools is called %q", name), hint)
}

// nearestName is nearest for names whose case counts.
func nearestName(name string, known []string) string {
	best, least := "", max(len(name)/3, 1)+1
	for _, candidate := range known {
		if n := cond.Distance(name, candidate); n < least {
			best, least = candidate, n
		}
	}
	return best
}

// idle warns of what has no effect.
func (c *checker) idle(member canon.Value, r *placed, v *version2) {
	limit := member.Get("limit")
	switch {
	case limit.Exists() && r.observe:
		c.warnKey(limit, fmt.Sprintf("rule %q: a limit is not enforced in mode observe", r.id), "")
	case r.decision == Allow && v.defaults[0].decision == Allow && !r.observe && r.limit.Calls == 0 && !r.skipPrompt && r.terms.none():
		c.warn(member, fmt.Sprintf("rule %q changes nothing: the default allows", r.id), `with "default": "deny" it says what is allowed`)
	case r.decision == Allow && r.blanket() && r.tools == nil && r.speaksOfMethod(toolCall):
		c.warn(member, fmt.Sprintf("rule %q allows every call of every tool", r.id), `name its "tools", or what it allows: "runs", "reads", "writes"`)
	}
}

// shadowed warns of a rule whose calls another one decides in any case, at least as strictly.
func (c *checker) shadowed(member canon.Value, r *placed, v *version2) {
	for i := range v.rules {
		other := &v.rules[i]
		if other.rule == r.rule || other.decision > r.decision || other.observe && !r.observe {
			continue
		}
		if other.decision != Deny && (r.limit.Calls > 0 || !r.terms.none()) { // which count beside what the other one says
			continue
		}
		if other.decision == Allow && (other.limit.Calls > 0 || other.skipPrompt != r.skipPrompt) {
			continue
		}
		if other.includes(r.rule) && (other.decision < r.decision || !r.includes(other.rule) || before(v, other, r)) {
			c.warn(member, fmt.Sprintf("rule %q can never decide: rule %q speaks of all its calls and %s them", r.id, other.id, verb(other.decision)),
				"remove it, or say in which calls they differ")
			return
		}
	}
}

// before reports whether a rule stands before another one: of two that say the same, the second is one too many.
func before(v *version2, a, b *placed) bool {
	for i := range v.rules {
		switch &v.rules[i] {
		case a:
			return true
		case b:
			return false
		}
	}
	return false
}

func verb(d Decision) string {
	switch d {
	case Allow:
		return "allows"
	case Ask:
		return "asks about"
	default:
		return "denies"
	}
}

package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Combine makes one policy of layers. They are one rule set: deny beats ask beats allow wherever a rule stands, and the
// default is the strictest among the files that count. The order of the layers does not matter. The Starter layer is left
// out where a file that counts says "starter: off", unless another says "starter: on". The digest is one over all layers.
// A layer without a policy denies everything.
func Combine(layers ...Layer) *Policy {
	layers = withoutStarter(slices.Clone(layers))
	slices.SortStableFunc(layers, func(a, b Layer) int { return cmp.Compare(a.rank(), b.rank()) })
	sum := &version2{}
	var names, digests []string
	for _, l := range layers {
		names = append(names, l.Policy.Name())
		digests = append(digests, fmt.Sprintf("%d %t %s\n", l.Level, l.Trusted, l.Policy.Digest()))
		sum.add(l)
	}
	sum.nameApart()
	slices.Sort(digests)
	return &Policy{name: strings.Join(names, ", "), digest: digestOf([]byte(strings.Join(digests, ""))), version: 2, rules: sum}
}

// rank orders layers as their rules are told where several decide alike.
func (l Layer) rank() int {
	switch l.Level {
	case BuiltIn:
		return 0
	case Managed:
		return 1
	case Named:
		return 2
	case User:
		return 3
	case Project:
		return 4
	default:
		return 5
	}
}

// counts reports whether what the layer allows and sets counts, rather than only what it forbids.
func (l Layer) counts() bool {
	switch l.Level {
	case User, Managed, Named, Starter:
		return true
	case Project:
		return l.Trusted
	default:
		return false
	}
}

func withoutStarter(layers []Layer) []Layer {
	on, off := false, false
	for _, l := range layers {
		if v, ok := l.Policy.version2(); ok && l.counts() && l.Level != Starter {
			on, off = on || v.starter == "on", off || v.starter == "off"
		}
	}
	if !off || on {
		return layers
	}
	return slices.DeleteFunc(layers, func(l Layer) bool { return l.Level == Starter })
}

// add adds the rules of a layer.
func (v *version2) add(l Layer) {
	var rules ruleset
	if l.Policy != nil {
		rules = l.Policy.rules
	}
	switch rules := rules.(type) {
	case *version2:
		v.addVersion2(l, rules)
	case *version1:
		v.addVersion2(l, rules.translated())
	default:
		v.rules = append(v.rules, placed{rule: &rule{id: defaultRule, reason: unlisted.Reason}, name: defaultRule, level: l.Level})
	}
}

func (v *version2) addVersion2(l Layer, other *version2) {
	v.outputs = append(v.outputs, other.outputs...) // which only make results stricter, whoever asks for it
	v.requires = append(v.requires, other.requires...)
	for _, r := range other.rules {
		r.level = l.Level
		r.lifts = r.lifts && l.counts() && l.Level != Starter
		switch {
		case l.Level == BuiltIn:
			r.observe = false
			r.certain = true
		case r.decision == Allow && !r.lifts:
			continue
		}
		v.rules = append(v.rules, r)
	}
	if !l.counts() {
		return
	}
	v.defaults = append(v.defaults, other.defaults...)
	v.declared = append(v.declared, other.declared...)
	v.ledger = v.ledger.stricter(other.ledger)
	if other.starter != "" && v.starter != "on" {
		v.starter = other.starter
	}
}

// nameApart puts the level before the ids that several files use.
func (v *version2) nameApart() {
	count := make(map[string]int, len(v.rules))
	level := make(map[string]Level, len(v.rules))
	for i := range v.rules {
		r := &v.rules[i]
		if n := count[r.id]; n == 0 || level[r.id] != r.level {
			count[r.id]++
			level[r.id] = r.level
		}
	}
	for i := range v.rules {
		if r := &v.rules[i]; count[r.id] > 1 {
			r.name = r.level.String() + ":" + r.id
		}
	}
}

// String returns the level as it stands before a rule's id.
func (l Level) String() string {
	switch l {
	case BuiltIn:
		return "built-in"
	case Starter:
		return "starter"
	case Project:
		return "project"
	case User:
		return "user"
	case Managed:
		return "managed"
	default:
		return "named"
	}
}

// translated returns the rules of a version 1 file in the terms of version 2.
func (r *version1) translated() *version2 {
	v := &version2{defaults: []fallback{{decision: Deny}}}
	add := func(one *rule) { v.rules = append(v.rules, placed{rule: one, name: one.id, lifts: true}) }
	if len(r.deny) > 0 {
		add(&rule{id: denied.Rule, decision: Deny, tools: literal(r.deny), reason: denied.Reason})
	}
	if len(r.allow) > 0 {
		add(&rule{id: allowed.Rule, decision: Allow, tools: literal(r.allow)})
	}
	for _, tool := range slices.Sorted(maps.Keys(r.args)) {
		for i := range r.args[tool] {
			broken := &r.args[tool][i]
			add(&rule{id: broken.id, decision: Deny, tools: []glob{{text: tool, literal: true}}, broken: broken})
		}
	}
	return v
}

// literal returns the names of version 1, in which nothing is a pattern.
func literal(names map[string]bool) []glob {
	globs := make([]glob, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		globs = append(globs, glob{text: name, literal: true})
	}
	return globs
}

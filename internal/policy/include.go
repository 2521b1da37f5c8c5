package policy

import (
	"slices"
	"strings"

	"sallyport/internal/effects"
)

// includes reports whether a rule surely speaks of every call of which another one speaks. It may say no where it does.
func (r *rule) includes(other *rule) bool {
	switch {
	case r.args != nil, r.when != nil && (other.when == nil || r.when.source != other.when.source):
		return false
	case !includesNames(r.tools, other.tools), !includesNames(r.hosts, other.hosts), !includesNames(r.principals, other.principals),
		!includesNames(r.tenants, other.tenants), !r.includesMethods(other):
		return false
	case !r.keyed:
		return true
	case !other.keyed:
		return false
	}
	return includesAll(r.runs, other.runs, includesPattern(includesRun)) &&
		includesAll(r.reads, other.reads, includesPattern(includesPath)) &&
		includesAll(r.writes, other.writes, includesPattern(includesPath)) &&
		includesAll(r.connects, other.connects, includesPattern(includesHost)) &&
		(other.spawns == nil || r.spawns != nil && includesNames(r.spawns, other.spawns))
}

// includesMethods reports whether a rule surely speaks of all methods of which another one speaks.
func (r *rule) includesMethods(other *rule) bool {
	switch {
	case r.methods == nil && other.methods == nil: // a rule that denies may speak of more than one that allows, never of less
		return r.decision != Allow && !r.namesTools() || other.decision == Allow || other.namesTools()
	case other.methods == nil:
		return other.decision == Allow && matchesAny(r.methods, toolCall)
	case r.methods == nil:
		return !slices.ContainsFunc(other.methods, func(g glob) bool { return !g.literal || !r.speaksOfMethod(g.text) })
	}
	return includesNames(r.methods, other.methods)
}

// includesNames reports whether some patterns speak of all names of which others speak; nil is all names.
func includesNames(all, some []glob) bool {
	if all == nil || some == nil {
		return all == nil
	}
	for _, g := range some {
		if !slices.ContainsFunc(all, func(a glob) bool { return a.includes(g) }) {
			return false
		}
	}
	return true
}

func includesAll[P any](all, some []P, includes func(a, b P) bool) bool {
	for _, p := range some {
		if !slices.ContainsFunc(all, func(a P) bool { return includes(a, p) }) {
			return false
		}
	}
	return true
}

// includesPattern compares patterns that can be read.
func includesPattern[P any](includes func(a, b P) bool) func(a, b *lazy[P]) bool {
	return func(a, b *lazy[P]) bool {
		all, err := a.get()
		some, otherErr := b.get()
		return err == nil && otherErr == nil && includes(all, some)
	}
}

// includesRun: what matches the words of a pattern, and more words behind, matches all that the pattern does.
func includesRun(a, b *effects.RunPattern) bool {
	if a.String() == b.String() {
		return true
	}
	words := strings.Fields(b.String())
	open := len(words) > 0 && words[len(words)-1] == "*"
	if open {
		words = words[:len(words)-1]
	}
	if strings.ContainsAny(strings.Join(words, ""), `*?[]{}"'\$`) || len(words) == 0 {
		return false
	}
	cmd := &effects.Command{}
	for _, w := range words {
		cmd.Words = append(cmd.Words, effects.Word{Text: w})
	}
	if open {
		cmd.Words = append(cmd.Words, effects.Word{Text: "any-other-word"})
	}
	takesMore := strings.HasSuffix(a.String(), "*") || len(strings.Fields(a.String())) == 1
	return takesMore && a.Match(cmd) == effects.Yes
}

func includesPath(a, b *effects.PathPattern) bool {
	if a.String() == b.String() {
		return true
	}
	folder, ok := strings.CutSuffix(a.String(), "**")
	return ok && strings.HasSuffix(folder, "/") && strings.HasPrefix(b.String(), folder)
}

// includesHost: a pattern without a port speaks of all ports.
func includesHost(a, b *effects.HostPattern) bool {
	if a.String() == b.String() {
		return true
	}
	return !strings.ContainsAny(b.String(), "*?[") && !strings.Contains(a.String(), ":") && a.Match(b.String()) == effects.Yes
}

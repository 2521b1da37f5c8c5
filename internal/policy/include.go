package policy

import (
	"slices"
	"strings"

	"sallyport/internal/effects"
)

// includes reports whether a rule surely speaks of every call of which another one speaks. It may say no where it does.
func (r *rule) includes(other *rule) bool {
	switch {
	case r.args != nil || r.when != nil:
		return false
	case !includesNames(r.tools, other.tools), !includesNames(r.hosts, other.hosts), !includesNames(r.principals, other.principals):
		return false
	case !r.keyed:
		return true
	case !other.keyed:
		return false
	}
	return includesAll(r.runs, other.runs, includesRun) &&
		includesAll(r.reads, other.reads, includesPath) &&
		includesAll(r.writes, other.writes, includesPath) &&
		includesAll(r.connects, other.connects, func(a, b *effects.HostPattern) bool { return a.String() == b.String() }) &&
		(other.spawns == nil || r.spawns != nil && includesNames(r.spawns, other.spawns))
}

// includesNames reports whether some patterns speak of all names of which others speak; nil is all names.
func includesNames(all, some []glob) bool {
	if all == nil || some == nil {
		return all == nil
	}
	for _, g := range some {
		if !slices.ContainsFunc(all, func(a glob) bool { return a.text == g.text || g.literal && a.match(g.text) }) {
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

package policy

import "strings"

// glob is a pattern for names, in which * stands for any text and ? for one character. Case counts.
type glob struct {
	text    string
	literal bool // no * and ? in it, or none that is meant so
}

func newGlob(text string) glob { return glob{text: text, literal: !strings.ContainsAny(text, "*?")} }

// match reports whether the pattern speaks of a name.
func (g glob) match(name string) bool {
	if g.literal {
		return g.text == name
	}
	return globMatch(g.text, name, false)
}

// includes reports whether the pattern surely speaks of every name of which another one speaks.
func (g glob) includes(other glob) bool {
	return g.text == other.text || !g.literal && globMatch(g.text, other.text, !other.literal)
}

// globMatch goes back to the last * only, so that it takes no more time than the product of the lengths. Where the name is a
// pattern itself, no ? of the first one takes a * of it.
func globMatch(pattern, name string, isPattern bool) bool {
	star, retry := -1, 0 // where the last * stood, and how far it has eaten
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, retry = p, n
			p++
		case p < len(pattern) && pattern[p] == '?' && !(isPattern && name[n] == '*'):
			p++
			n = nextRune(name, n)
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0:
			retry = nextRune(name, retry)
			p, n = star+1, retry
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// nextRune returns where the character after the one at i begins.
func nextRune(s string, i int) int {
	for i++; i < len(s) && s[i]&0xC0 == 0x80; i++ {
	}
	return i
}

// matchesAny reports whether a name is spoken of by one of the patterns; no patterns speak of all names.
func matchesAny(globs []glob, name string) bool {
	if globs == nil {
		return true
	}
	for _, g := range globs {
		if g.match(name) {
			return true
		}
	}
	return false
}

// globFault says what is wrong with a pattern for names, if anything is, and what to try.
func globFault(what, text string) (msg, hint string) {
	if msg, hint := nameFault(what, text); msg != "" {
		return msg, hint
	}
	if i := strings.IndexAny(text, `[]{}\`); i >= 0 {
		return what + " pattern " + quoted(text) + " holds " + quoted(text[i:i+1]), "only * (any text) and ? (one character) are special in a pattern"
	}
	return "", ""
}

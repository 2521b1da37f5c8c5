package output

import (
	"slices"
	"strings"
)

// candidates returns the rules that could match in a text, and for each where its keywords end there.
func (d *detector) candidates(text string) map[int][]int {
	var found map[int][]int
	d.words.find(text, func(word, end int) {
		if found == nil {
			found = map[int][]int{}
		}
		for _, rule := range d.rules[word] {
			found[rule] = append(found[rule], end)
		}
	})
	return found
}

// find returns the secrets of one kind in a text, given the places where its keywords end. A match has a keyword in it, so
// only what is near one is looked at: the expressions are slow.
func (r *secretRule) find(text string, places []int, global []allowlist, work *effort) ([]secret, error) {
	e, err := r.get()
	if err != nil {
		return nil, err
	}
	var found []secret
	seen := 0 // how far the text was searched
	note := func(m []int) {
		if s, ok := r.judge(text, m, global); ok {
			found = append(found, s)
		}
		seen = m[1]
	}
	for i := 0; i < len(places); i++ {
		if e.leads != nil {
			if m, err := e.matchAt(text, places[i], seen, work); err != nil {
				return nil, err
			} else if m != nil {
				note(m)
			}
			continue
		}
		if r.generic && !assigns(text[places[i]:]) {
			continue
		}
		from, to := max(seen, places[i]-e.before), places[i]+e.behind
		for i+1 < len(places) && places[i+1]-e.before <= to {
			i++
			to = places[i] + e.behind
		}
		matches, err := e.matchesIn(text, from, to, work)
		if err != nil {
			return nil, err
		}
		for _, m := range matches {
			note(m)
		}
	}
	return found, nil
}

// assigns reports whether a text soon has a sign by which a rule for any secret knows an assignment.
func assigns(text string) bool {
	return strings.ContainsAny(text[:min(len(text), 28)], "=>|:?,")
}

// judge says whether a match is a secret, and what of it is.
func (r *secretRule) judge(text string, m []int, global []allowlist) (secret, bool) {
	s := secret{match: m[0], id: r.id, generic: r.generic}
	s.from, s.to = m[0], m[1]
	if r.group > 0 {
		if 2*r.group+1 >= len(m) || m[2*r.group] < 0 {
			return s, false
		}
		s.from, s.to = m[2*r.group], m[2*r.group+1]
	} else {
		for g := 2; g+1 < len(m); g += 2 {
			if m[g] >= 0 && m[g] < m[g+1] {
				s.from, s.to = m[g], m[g+1]
				break
			}
		}
	}
	value, match := text[s.from:s.to], text[m[0]:m[1]]
	s.to -= len(value) - len(strings.TrimRight(value, "\n"))
	s.from += len(value) - len(strings.TrimLeft(value, "\n"))
	if s.from >= s.to {
		return s, false
	}
	value = text[s.from:s.to]
	if r.entropy > 0 && entropyOf(value) <= r.entropy {
		return s, false
	}
	line := lineOf(text, m[0], m[1])
	allows := func(a allowlist) bool { return a.allows(value, match, line) }
	return s, !slices.ContainsFunc(global, allows) && !slices.ContainsFunc(r.allow, allows)
}

// lineOf is the line in which a match stands, or the lines; of a long one what is near.
func lineOf(text string, from, to int) string {
	const near = 1024
	begin := strings.LastIndexByte(text[max(0, from-near):from], '\n') + 1 + max(0, from-near)
	end := len(text)
	if n := strings.IndexByte(text[to:min(len(text), to+near)], '\n'); n >= 0 {
		end = to + n
	} else {
		end = min(end, to+near)
	}
	return text[begin:end]
}

package effects

import "strings"

// passedOver is the name of a subcommand that says nothing: docker container run is docker run.
const passedOver = "-"

// Match says whether the pattern speaks of a command, for rules that deny or ask: whether the command has at least the
// options of the pattern, and its operands. Global options that stand before a subcommand do not count.
func (p *RunPattern) Match(c *Command) Match {
	m := p.matchWords(c)
	if m == No && c.Code != "" && p.mentionedIn(c) {
		return Maybe
	}
	return m
}

// matchWords matches the words of a command.
func (p *RunPattern) matchWords(c *Command) Match {
	is := p.isProgram(c.Program())
	if is == No || len(p.words) == 1 {
		return is
	}
	q := p.parts(c.Program())
	r := c.reading()
	m := min(is, q.matchOptions(tableName(c.Program()), r))
	if m == No {
		return No
	}
	return min(m, q.matchOperands(r, p.rest))
}

// reading returns how the words of a command are read. Many patterns ask for it.
func (c *Command) reading() *reading {
	if c.read == nil {
		known, _ := programNamed(tableName(c.Program()))
		r := read(known, c.Words, make([]token, 0, len(c.Words)))
		c.read = &r
	}
	return c.read
}

// isProgram says whether a program, by its key, is the pattern's.
func (p *RunPattern) isProgram(key string) Match {
	switch {
	case p.program == key && key != "":
		return Yes
	case key == "" || p.program != "" && !hasUnknown(key):
		return No
	}
	return matchGlob(programKey(p.name), key)
}

// matchOptions says whether a command has the options of the pattern.
func (q *parts) matchOptions(name string, r *reading) Match {
	m := Yes
	for i := range q.options {
		o := &q.options[i]
		if o.global && q.subs > 0 {
			continue
		}
		if m = min(m, o.in(name, r)); m == No {
			return No
		}
	}
	return m
}

// in says whether a command has the option.
func (o *option) in(name string, r *reading) (best Match) {
	for i := range r.tokens {
		t := &r.tokens[i]
		m := No
		switch {
		case t.kind != optionToken && t.loose:
			m = Maybe
		case t.kind == optionToken:
			m = o.is(t, r)
		}
		for _, names := range impliedBy(name, r.sub(), *t) {
			if sameOption(o.names, names) && !o.valued {
				m = Yes
			}
		}
		if best = max(best, m); best == Yes {
			return Yes
		}
	}
	if best == No && o.short && len(o.names) > 1 {
		return o.spelled(r)
	}
	return best
}

// is says whether a token is the option.
func (o *option) is(t *token, r *reading) Match {
	switch {
	case t.loose && (t.names == "" || begins(o.names, t.names)):
		return Maybe
	case t.loose:
		return No
	case sameOption(o.names, t.names):
		return o.hasValue(t, r)
	case !t.listed && !t.short && begins(o.names, t.names): // an abbreviation that several options have
		return Maybe
	case !t.listed && t.short && len(t.names) > 1 && len(o.names) == 1 && strings.Contains(t.names, o.names):
		if len(t.names) > maxCluster { // more likely one option, of a program that we do not know
			return Maybe
		}
		return Yes
	}
	return No
}

// maxCluster is how many letters behind a dash are taken for options of one letter each, where nothing is known of the
// program.
const maxCluster = 4

// hasValue says whether an option has the value of the pattern.
func (o *option) hasValue(t *token, r *reading) Match {
	switch {
	case o.value == "" || o.value == "*":
		return Yes
	case t.valued:
		return matchGlob(o.value, t.value.Text)
	case !t.listed && t.end < len(r.words): // the next word may be its value
		return matchGlob(o.value, r.words[t.end].Text)
	}
	return No
}

// spelled says whether the letters of an option such as -rf are there one by one.
func (o *option) spelled(r *reading) Match {
	for i := range len(o.names) {
		found := No
		letter := option{names: o.names[i : i+1]}
		for j := range r.tokens {
			if t := &r.tokens[j]; t.kind == optionToken && t.short {
				found = max(found, letter.is(t, r))
			}
		}
		if found == No {
			return No
		}
	}
	return Yes
}

// sameOption reports whether two entries have a name in common.
func sameOption(a, b string) bool {
	if a == b {
		return true
	}
	for len(a) > 0 {
		var one string
		one, a, _ = strings.Cut(a, "|")
		if hasName(b, one) {
			return true
		}
	}
	return false
}

// sub returns the name of the first subcommand, or "".
func (r *reading) sub() string {
	for i := range r.tokens {
		if t := &r.tokens[i]; t.kind == subToken && t.names != passedOver {
			return t.names
		}
	}
	return ""
}

// impliedBy returns what options a word stands for that does not name them.
func impliedBy(program, sub string, t token) []string {
	switch {
	case program == "git" && sub == "push":
		return impliedInPush(t)
	case program == "git" && sub == "branch" && t.kind == optionToken && !t.global:
		switch t.names {
		case "D":
			return []string{"d|delete", "f|force"}
		case "M":
			return []string{"m|move", "f|force"}
		case "C":
			return []string{"c|copy", "f|force"}
		}
	case program == "cp" && t.kind == optionToken && t.names == "a|archive":
		return []string{"R|r|recursive"}
	case program == "npm" && t.kind == optionToken && t.names == "location" && t.value.Text == "global":
		return []string{"g|global"}
	}
	return nil
}

// impliedInPush are the ways in which git push is told to force and to delete (git-push(1)).
func impliedInPush(t token) []string {
	switch {
	case t.kind == optionToken && t.names == "mirror":
		return []string{"f|force", "d|delete"}
	case t.kind != operandToken || len(t.value.Text) < 2:
		return nil
	case t.value.Text[0] == '+':
		return []string{"f|force"}
	case t.value.Text[0] == ':':
		return []string{"d|delete"}
	}
	return nil
}

// matchOperands says whether the operands of a command are those of the pattern, in order. A word that may be the value
// of an option that we do not know may be passed over, and one that may split may be none or several.
func (q *parts) matchOperands(r *reading, rest bool) Match {
	n := len(q.operands)
	if n == 0 && rest {
		return Yes
	}
	var few [16]Match
	next := few[:]
	if n >= len(few) {
		next = make([]Match, n+1)
	}
	next = next[:n+1] // next[i] is how the words from the next one on match the operands from i on
	next[n] = Yes
	for j := len(r.tokens) - 1; j >= 0; j-- {
		t := &r.tokens[j]
		word, ok := t.operand()
		if !ok {
			continue
		}
		skip := No
		if t.kind == optionToken {
			skip = Yes
		} else if t.loose || j > 0 && r.tokens[j-1].mayTake(t) {
			skip = Maybe
		}
		diagonal := next[n] // next[i+1] as it was
		if !rest {
			next[n] = min(skip, next[n])
		}
		for i := n - 1; i >= 0; i-- {
			was := next[i]
			best := min(t.matches(q.operands[i], word, i < q.subs), diagonal)
			best = max(best, min(skip, was))
			if t.loose {
				best = max(best, min(Maybe, next[i+1]))
			}
			next[i], diagonal = best, was
		}
	}
	return next[0]
}

// operand returns the word that a token has among the operands: also the value of an option that is not known, since a
// pattern may have it as a word of its own.
func (t *token) operand() (Word, bool) {
	switch {
	case t.kind == subToken && t.names == passedOver:
		return Word{}, false
	case t.kind == subToken:
		return Word{Text: t.names}, true
	case t.kind == operandToken:
		return t.value, true
	}
	return t.value, t.kind == optionToken && !t.listed && t.valued
}

// mayTake reports whether an option may have the word behind it as its value.
func (t *token) mayTake(next *token) bool {
	return t.kind == optionToken && !t.listed && !t.valued && !t.loose && t.end == next.at && next.kind != optionToken
}

// matches says whether a word is an operand of the pattern. What a shell finds for a pattern of file names is no
// subcommand.
func (t *token) matches(operand string, word Word, sub bool) Match {
	m := matchGlob(operand, word.Text)
	if m == Maybe && sub && strings.IndexByte(word.Text, anyText) < 0 {
		return No
	}
	return m
}

// matchGlob matches a text, parts of which may not be known, with a pattern in which "*" is any text.
func matchGlob(pattern, text string) Match {
	if !hasUnknown(text) {
		if strings.IndexByte(pattern, '*') < 0 {
			if pattern == text {
				return Yes
			}
			return No
		}
		if meetGlob(pattern, text) {
			return Yes
		}
		return No
	}
	if surelyGlob(pattern, text) {
		return Yes
	}
	if meetGlob(pattern, text) {
		return Maybe
	}
	return No
}

// meetGlob reports whether some text fits both.
func meetGlob(pattern, text string) bool {
	var few [64]bool
	row := few[:]
	if len(text) >= len(few) {
		row = make([]bool, len(text)+1)
	}
	row = row[:len(text)+1] // row[j]: the pattern from here on fits the text from j on
	row[len(text)] = true
	for j := len(text) - 1; j >= 0 && (text[j] == anyText || text[j] == anyName); j-- {
		row[j] = true
	}
	for i := len(pattern) - 1; i >= 0; i-- {
		diagonal := row[len(text)]
		if pattern[i] != '*' {
			row[len(text)] = false
		}
		for j := len(text) - 1; j >= 0; j-- {
			was := row[j]
			switch {
			case pattern[i] == '*':
				row[j] = row[j] || row[j+1]
			case text[j] == anyText || text[j] == anyName:
				row[j] = row[j] || row[j+1] // it takes the pattern's letter, or is at its end
			default:
				row[j] = (pattern[i] == text[j] || text[j] == anyRune) && diagonal
			}
			diagonal = was
		}
	}
	return row[0]
}

// surelyGlob reports whether a text fits whatever its unknown parts are: only a star takes those.
func surelyGlob(pattern, text string) bool {
	p, t := 0, 0
	starP, starT := -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			starP, starT = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case starP >= 0:
			starT++
			p, t = starP+1, starT
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

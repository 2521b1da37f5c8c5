package effects

import "strings"

// Covers reports whether the pattern surely allows a command: it matches, the program is spelled as in the pattern, and
// all that the pattern does not say is in its "*" at the end. Words that may become options are covered by nothing, nor
// is what decides over other programs without being a run of its own.
func (p *RunPattern) Covers(c *Command) bool {
	if len(c.Words) == 0 || !p.coversProgram(c.Words[0].Text) {
		return false
	}
	for _, w := range c.Words {
		if w.Splits && strings.IndexByte(w.Text, anyText) >= 0 {
			return false
		}
	}
	if p.matchWords(c) != Yes || invoke(c.Words).opaque != "" || decidesUnknown(c) {
		return false
	}
	return len(p.words) == 1 || p.parts(c.Program()).coversOptions(c, p.rest)
}

// coversProgram reports whether a program is spelled as in the pattern.
func (p *RunPattern) coversProgram(word string) bool {
	name := baseName(word)
	if hasUnknown(name) {
		return false
	}
	if matchGlob(p.name, name) == Yes {
		return true
	}
	short, isWindows := strings.CutSuffix(name, ".exe")
	return isWindows && matchGlob(p.name, short) == Yes
}

// coversOptions reports whether the options of a command are those of the pattern.
func (q *parts) coversOptions(c *Command, rest bool) bool {
	r := c.reading()
	for _, o := range q.options {
		if o.global && q.subs > 0 && o.in("", r) != Yes {
			return false
		}
	}
	if rest {
		return true
	}
	for i := range r.tokens {
		t := &r.tokens[i]
		if t.kind == operandToken && t.value.unknown() {
			return false
		}
		if t.kind == optionToken && !q.hasOption(t) && !isHarmlessGlobal(t, q.subs > 0) {
			return false
		}
	}
	return true
}

// hasOption reports whether an option is one of the pattern.
func (q *parts) hasOption(t *token) bool {
	for i := range q.options {
		o := &q.options[i]
		if sameOption(o.names, t.names) && (o.valued || o.value != "" || !t.valued) {
			return true
		}
		if o.short && t.short && !t.listed && strings.Trim(t.names, o.names) == "" { // the letters of -rf
			return true
		}
	}
	return false
}

// isHarmlessGlobal reports whether an option of the program does not count beside a subcommand: git -C x status.
func isHarmlessGlobal(t *token, sub bool) bool {
	runs := strings.HasPrefix(t.says, "=s") || strings.HasPrefix(t.says, "=c")
	return sub && t.global && t.listed && !runs && !t.value.unknown()
}

// decidesUnknown reports whether a command is given a setting that only the running shell knows, and that may decide
// over what is run.
func decidesUnknown(c *Command) bool {
	if _, ok := programNamed(tableName(c.Program())); !ok {
		return false
	}
	r := c.reading()
	for i := range r.tokens {
		t := &r.tokens[i]
		if t.kind != optionToken {
			continue
		}
		if t.loose {
			return true
		}
		name, _, _ := strings.Cut(t.names, "|")
		setting := name == "c" && tableName(c.Program()) == "git" || name == "o" && strings.HasPrefix(c.Program(), "s")
		if setting && t.value.unknown() {
			before, _, _ := strings.Cut(t.value.Text, "=")
			if hasUnknown(before) || !strings.Contains(t.value.Text, "=") {
				return true
			}
		}
	}
	return false
}

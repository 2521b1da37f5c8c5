package effects

import "strings"

// awkProgram judges awk's program: the commands and files that its string literals name. Where a command is made of more
// than a literal, the whole program is code.
func awkProgram(c *call) {
	var programs []Word
	variables := ""
	for _, t := range c.tokens {
		switch {
		case t.kind != optionToken:
		case t.names == "e|source":
			programs = append(programs, t.value)
		case t.names == "f|file" || t.names == "E|exec":
			c.scripts = append(c.scripts, t.value)
		case t.names == "v|assign":
			variables += " " + t.value.Text
		case t.names == "i|include" && t.value.Text == "inplace":
			c.also += "w"
		}
	}
	if strings.HasPrefix(c.shape, "-") && len(c.operands) > 0 {
		programs = append(programs, c.operands[0])
	}
	for _, w := range programs {
		a := awkText{call: c, text: w.Text}
		if isUnknown(w.Text) || !a.judge() {
			c.code = append(c.code, Word{Text: w.Text + variables, Splits: w.Splits})
		}
	}
}

// awkText is a program of awk (POSIX awk; gawk 5).
type awkText struct {
	call *call
	text string
	at   int
	last awkToken // the one before
}

// awkToken is a token of a program.
type awkToken struct {
	kind byte   // a letter for a word, '"' for a string, '0' for a number, '/' for a regular expression, else itself
	text string // of a word, or of a string without its escapes
}

// judge finds the commands and files. It is false where one of them is not a string literal alone.
func (a *awkText) judge() (readable bool) {
	readable = true
	for {
		t := a.next()
		switch {
		case t.kind == 0:
			return readable
		case t.kind == 'a' && t.text == "system":
			if open := a.next(); open.kind == '(' {
				readable = a.literal('s', ")") && readable
			}
		case t.kind == '|':
			readable = a.pipe() && readable
		case t.kind == 'a' && t.text == "getline":
			readable = a.getline() && readable
		case t.kind == 'a' && (t.text == "print" || t.text == "printf"):
			readable = a.print() && readable
		}
	}
}

// pipe judges what stands behind a bar: a command that is printed to, unless a command is read from.
func (a *awkText) pipe() bool {
	before, was := a.last, a.at
	if t := a.next(); t.kind == 'a' && t.text == "getline" {
		if before.kind == '"' {
			a.call.use('s', Word{Text: before.text})
			return true
		}
		return false
	}
	a.at = was
	return a.literal('s', ";}\n#")
}

// getline judges "getline [VARIABLE] < FILE".
func (a *awkText) getline() bool {
	was := a.at
	t := a.next()
	if t.kind == 'a' {
		t = a.next()
	}
	if t.kind != '<' {
		a.at = was
		return true
	}
	return a.literal('r', "") // a file that only the running program knows is judged by the program's text
}

// print judges the output of a print statement: > FILE, >> FILE or | COMMAND outside parentheses.
func (a *awkText) print() bool {
	depth := 0
	for {
		before := a.at
		switch t := a.next(); t.kind {
		case 0:
			return true
		case '(':
			depth++
		case ')':
			depth--
		case ';', '}', '\n':
			if depth <= 0 {
				a.at = before
				return true
			}
		case '|':
			if depth <= 0 {
				return a.pipe()
			}
		case '>':
			if depth <= 0 {
				return a.literal('w', ";}\n#")
			}
		case 'a':
			if t.text == "system" || t.text == "getline" {
				a.at = before
				return true
			}
		}
	}
}

// literal judges a string literal behind which one of the ends must stand, any if there are none named.
func (a *awkText) literal(use byte, ends string) bool {
	t := a.next()
	if t.kind == '>' && use == 'w' {
		t = a.next()
	}
	if t.kind != '"' {
		return false
	}
	was := a.at
	end := a.next()
	a.at = was
	if end.kind != 0 && ends != "" && strings.IndexByte(ends, end.kind) < 0 {
		return false
	}
	if !strings.HasPrefix(t.text, "/dev/std") {
		a.call.use(use, Word{Text: t.text})
	}
	return true
}

// next reads a token; its kind is 0 at the end. The one before it stays in last.
func (a *awkText) next() (t awkToken) {
	defer func() {
		if t.kind != '|' { // what is piped is asked for behind the bar
			a.last = t
		}
	}()
	for a.at < len(a.text) && strings.IndexByte(" \t\r", a.text[a.at]) >= 0 {
		a.at++
	}
	if a.at >= len(a.text) {
		return awkToken{}
	}
	start := a.at
	ch := a.text[start]
	a.at++
	switch {
	case ch == '"':
		return awkToken{'"', a.quoted()}
	case ch == '/' && !a.divides():
		a.at = sedDelimited(a.text, a.at, '/')
		return awkToken{kind: '/'}
	case ch == '#':
		for a.at < len(a.text) && a.text[a.at] != '\n' {
			a.at++
		}
		return awkToken{kind: '\n'}
	case ch == '|' && a.at < len(a.text) && a.text[a.at] == '|':
		a.at++
		return awkToken{kind: 'o'}
	case isNameByte(ch):
		for a.at < len(a.text) && isNameByte(a.text[a.at]) {
			a.at++
		}
		if ch >= '0' && ch <= '9' {
			return awkToken{'0', a.text[start:a.at]}
		}
		return awkToken{'a', a.text[start:a.at]}
	}
	return awkToken{kind: ch}
}

// divides reports whether a slash behind the last token is a division.
func (a *awkText) divides() bool {
	switch a.last.kind {
	case '"', '0', ')', ']', '$':
		return true
	case 'a':
		return a.last.text != "print" && a.last.text != "printf" && a.last.text != "return" && a.last.text != "in"
	}
	return false
}

// quoted reads the rest of a string literal.
func (a *awkText) quoted() string {
	start := a.at
	a.at = sedDelimited(a.text, a.at, '"')
	text := a.text[start:max(start, a.at-1)]
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
			switch text[i] {
			case 'n':
				b.WriteByte('\n')
				continue
			case 't':
				b.WriteByte('\t')
				continue
			case 'x', '0', '1', '2', '3':
				b.WriteByte(anyText)
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// isNameByte reports whether a byte may stand in a name or number.
func isNameByte(ch byte) bool {
	return ch == '_' || ch|0x20 >= 'a' && ch|0x20 <= 'z' || ch >= '0' && ch <= '9'
}

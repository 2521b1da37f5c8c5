package effects

import "strings"

// psLexer splits a text for PowerShell into words.
type psLexer struct {
	text   string
	at     int
	p      *powershell
	broken bool
}

// command returns the words up to the next separator, and the files of its redirections.
func (l *psLexer) command() (words []psWord, redirects []string) {
	for !l.broken && l.at < len(l.text) {
		switch ch := l.text[l.at]; {
		case ch == ' ' || ch == '\t' || ch == '\r':
			l.at++
		case ch == '`' && l.at+1 < len(l.text) && (l.text[l.at+1] == '\n' || l.text[l.at+1] == '\r'):
			l.at += 2
		case ch == '#' || strings.HasPrefix(l.text[l.at:], "<#"):
			l.comment()
		case ch == ',':
			l.at++
			if len(words) > 0 {
				words[len(words)-1].comma = true
			}
		case ch == '&' && (len(words) == 0 || len(words) == 2 && words[1].text == "="):
			l.at++
			words = append(words, psWord{text: "&", bare: true})
		case ch == ';' || ch == '\n' || ch == '|' || ch == '&':
			l.at++
			if len(words) > 0 || len(redirects) > 0 {
				return words, redirects
			}
		case ch == ')' || ch == '}':
			l.broken = true
		case len(words) == 1 && words[0].target:
			words = append(words, psWord{text: l.operator(), bare: true})
		case l.isRedirect():
			if file, ok := l.redirect(); ok {
				redirects = append(redirects, file)
			}
		default:
			words = append(words, l.word())
		}
	}
	return words, redirects
}

func (l *psLexer) comment() {
	end := strings.IndexByte(l.text[l.at:], '\n')
	if strings.HasPrefix(l.text[l.at:], "<#") {
		if end = strings.Index(l.text[l.at:], "#>"); end >= 0 {
			end += 2
		} else {
			l.broken = true
		}
	}
	if end < 0 {
		end = len(l.text) - l.at
	}
	l.at += end
}

// isRedirect reports whether a redirection stands here: >, 2>, *>.
func (l *psLexer) isRedirect() bool {
	rest := l.text[l.at:]
	return rest[0] == '>' || len(rest) > 1 && rest[1] == '>' && (rest[0] == '*' || '0' <= rest[0] && rest[0] <= '9')
}

// redirect reads a redirection; ok is false if it leads to no file.
func (l *psLexer) redirect() (file string, ok bool) {
	l.at += strings.IndexByte(l.text[l.at:], '>')
	l.at += len(l.text[l.at:]) - len(strings.TrimLeft(l.text[l.at:], ">"))
	if strings.HasPrefix(l.text[l.at:], "&") {
		l.at = min(l.at+2, len(l.text))
		return "", false
	}
	l.at += len(l.text[l.at:]) - len(strings.TrimLeft(l.text[l.at:], " \t"))
	if l.at == len(l.text) || strings.IndexByte(";|\n)}", l.text[l.at]) >= 0 {
		l.broken = true
		return "", false
	}
	file = l.word().text
	return file, !strings.EqualFold(file, "NUL")
}

// word reads one word.
func (l *psLexer) word() (w psWord) {
	w.bare = true
	start := l.at
	var b strings.Builder
	for !l.broken && l.at < len(l.text) {
		ch := l.text[l.at]
		switch {
		case strings.IndexByte(" \t\r\n;|,)}&", ch) >= 0 && !(ch == '}' && l.at == start):
			w.text = b.String()
			return w
		case ch == '>' && l.at > start && w.text == "" && b.Len() > 0 && !isPSExpression(l.text[start:l.at]):
			w.text = b.String()
			return w
		case ch == '@' && l.at == start && l.at+1 < len(l.text) && (l.text[l.at+1] == '\'' || l.text[l.at+1] == '"'):
			w.bare = false
			l.hereString(&b, &w)
		case ch == '\'' || ch == '"':
			w.bare = w.bare && l.at > start
			l.quoted(&b, &w, ch)
		case ch == '(' || ch == '{' || ch == '@' && l.at+1 < len(l.text) && (l.text[l.at+1] == '(' || l.text[l.at+1] == '{'):
			l.nested(&b, &w)
		case ch == '$':
			if l.dollar(&b, &w); w.target {
				w.text = b.String()
				return w
			}
		case ch == '`' && l.at+1 < len(l.text):
			b.WriteByte(l.text[l.at+1])
			l.at += 2
		default:
			b.WriteByte(ch)
			l.at++
		}
	}
	w.text = b.String()
	return w
}

// nested reads (…), {…}, @(…) or @{…}: code, whose value is known only when it runs.
func (l *psLexer) nested(b *strings.Builder, w *psWord) {
	table, script := false, l.text[l.at] == '{'
	if l.text[l.at] == '@' {
		l.at++
		table = l.text[l.at] == '{'
	}
	inner, ok := l.enclosed()
	if !ok {
		return
	}
	if table {
		w.tables = append(w.tables, inner)
	} else {
		w.blocks = append(w.blocks, inner)
	}
	if b.Len() == 0 && (l.at == len(l.text) || strings.IndexByte(" \t\r\n;|,)}&", l.text[l.at]) >= 0) {
		w.block, w.script = true, script
		return
	}
	b.WriteString("(" + unknownText + ")")
}

// enclosed reads from an opening bracket to the one that closes it, and returns what is between.
func (l *psLexer) enclosed() (inner string, ok bool) {
	start, depth := l.at+1, 0
	for i := l.at; i < len(l.text); i++ {
		switch l.text[i] {
		case '`':
			i++
		case '(', '{':
			depth++
		case ')', '}':
			if depth--; depth == 0 {
				l.at = i + 1
				return l.text[start:i], true
			}
		case '\'', '"':
			i = l.quoteEnd(i)
		case '#':
			if i > 0 && strings.IndexByte(" \t\n;({", l.text[i-1]) >= 0 {
				if end := strings.IndexByte(l.text[i:], '\n'); end >= 0 {
					i += end
				}
			}
		}
	}
	l.broken = true
	return "", false
}

// quoteEnd returns where the quote that opens at i closes, or the end.
func (l *psLexer) quoteEnd(i int) int {
	quote := l.text[i]
	if i > 0 && l.text[i-1] == '@' {
		if end := strings.Index(l.text[i:], "\n"+string(quote)+"@"); end >= 0 {
			return i + end + 2
		}
	}
	for i++; i < len(l.text); i++ {
		switch {
		case l.text[i] == '`' && quote == '"':
			i++
		case l.text[i] == quote && i+1 < len(l.text) && l.text[i+1] == quote:
			i++
		case l.text[i] == quote:
			return i
		}
	}
	return len(l.text)
}

// quoted reads '…' or "…", in which a quote is written twice.
func (l *psLexer) quoted(b *strings.Builder, w *psWord, quote byte) {
	l.at++
	for l.at < len(l.text) {
		ch := l.text[l.at]
		switch {
		case ch == quote && l.at+1 < len(l.text) && l.text[l.at+1] == quote:
			b.WriteByte(quote)
			l.at += 2
		case ch == quote:
			l.at++
			return
		case quote == '"' && ch == '`' && l.at+1 < len(l.text):
			b.WriteByte(l.text[l.at+1])
			l.at += 2
		case quote == '"' && ch == '$':
			l.dollar(b, w)
			if l.broken {
				return
			}
		default:
			b.WriteByte(ch)
			l.at++
		}
	}
	l.broken = true
}

// hereString reads @'…'@ or @"…"@.
func (l *psLexer) hereString(b *strings.Builder, w *psWord) {
	quote := l.text[l.at+1]
	body, rest, found := strings.Cut(l.text[l.at+2:], "\n"+string(quote)+"@")
	if !found {
		l.broken = true
		return
	}
	_, body, _ = strings.Cut(body, "\n")
	l.at = len(l.text) - len(rest)
	if quote == '\'' {
		b.WriteString(body)
		return
	}
	inner := psLexer{text: body, p: l.p}
	for inner.at < len(body) && !inner.broken {
		switch {
		case body[inner.at] == '$':
			inner.dollar(b, w)
		case body[inner.at] == '`' && inner.at+1 < len(body):
			b.WriteByte(body[inner.at+1])
			inner.at += 2
		default:
			b.WriteByte(body[inner.at])
			inner.at++
		}
	}
	l.broken = inner.broken
}

// dollar reads a variable or a subexpression.
func (l *psLexer) dollar(b *strings.Builder, w *psWord) {
	l.at++
	rest := l.text[l.at:]
	switch {
	case strings.HasPrefix(rest, "("):
		if inner, ok := l.enclosed(); ok {
			w.blocks = append(w.blocks, inner)
			b.WriteString(unknownText)
			w.splits = true
		}
		return
	case strings.HasPrefix(rest, "{"):
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			l.broken = true
			return
		}
		l.at += end + 1
		l.addVariable(b, w, rest[1:end])
		return
	}
	end := 0
	for end < len(rest) && (isPSName(rest[end]) || rest[end] == ':' && end+1 < len(rest) && isPSName(rest[end+1])) {
		end++
	}
	if end == 0 {
		if rest != "" && strings.IndexByte("$?^", rest[0]) >= 0 {
			l.at++
			b.WriteString(unknownText)
			return
		}
		b.WriteByte('$')
		return
	}
	l.at += end
	l.addVariable(b, w, rest[:end])
}

// addVariable writes the value of a variable; at the start of a statement it is the name that counts.
func (l *psLexer) addVariable(b *strings.Builder, w *psWord, name string) {
	if w.bare && b.Len() == 0 && l.isTarget() {
		b.WriteString("$" + name)
		w.target = true
		return
	}
	value := l.p.variable(name)
	w.splits = w.splits || value == unknownText
	b.WriteString(value)
}

// isTarget reports whether an assignment follows.
func (l *psLexer) isTarget() bool {
	rest := strings.TrimLeft(l.text[l.at:], " \t")
	for _, operator := range [...]string{"=", "+=", "-=", "*=", "/=", "%=", "??="} {
		if strings.HasPrefix(rest, operator) && !strings.HasPrefix(rest, "==") {
			return true
		}
	}
	return false
}

// operator reads the operator of an assignment.
func (l *psLexer) operator() string {
	start := l.at
	l.at += strings.IndexByte(l.text[l.at:], '=') + 1
	return l.text[start:l.at]
}

func isPSName(ch byte) bool {
	return isLetter(ch) || '0' <= ch && ch <= '9' || ch == '_' || ch >= 0x80 && ch < anyRune
}

// isPSKeyword reports whether a word at the start of a statement is one of the language, with code behind it.
func isPSKeyword(word string) bool {
	switch strings.ToLower(word) {
	case "if", "elseif", "else", "while", "for", "foreach", "switch", "try", "catch", "finally", "return", "throw", "param", "begin",
		"process", "end", "do", "until", "trap", "in", "function", "filter", "class", "exit", "break", "continue", "dynamicparam":
		return true
	}
	return false
}

// isPSExpression reports whether a statement that begins with a word is an expression rather than a command.
func isPSExpression(word string) bool {
	if word == "" {
		return true
	}
	switch ch := word[0]; {
	case ch == '$', ch == '[', ch == '(', ch == '@', ch == '!', ch == '+', ch >= anyRune:
		return true
	case '0' <= ch && ch <= '9':
		return strings.Trim(word, "0123456789.xXabcdefABCDEFkKmMgGtTpP-+*/%()") == ""
	case ch == '-':
		return true
	}
	return false
}

func isPSAssignment(word string) bool {
	switch word {
	case "=", "+=", "-=", "*=", "/=", "%=", "??=":
		return true
	}
	return false
}

// psCallsOut reports whether an expression calls something that may reach beyond the text: a method of a type, or one
// whose name says so.
func psCallsOut(text string) bool {
	lowered := strings.ToLower(text)
	for rest := lowered; ; {
		_, after, found := strings.Cut(rest, "::")
		if !found {
			break
		}
		before := rest[:len(rest)-len(after)-2]
		if !isHarmlessType(before[strings.LastIndexByte(before, '[')+1:]) && strings.Contains(after, "(") {
			return true
		}
		rest = after
	}
	for _, method := range [...]string{".invoke", ".delete", ".moveto", ".copyto", ".download", ".start(", ".create", ".shellexecute", ".run(",
		".exec(", ".upload", ".openread", ".openwrite", ".kill(", ".getmethod", ".newscriptblock", ".addscript", ".write"} {
		if strings.Contains(lowered, method) {
			return true
		}
	}
	return false
}

func isHarmlessType(name string) bool {
	switch strings.TrimPrefix(strings.TrimSuffix(name, "]"), "system.") {
	case "math", "string", "datetime", "guid", "convert", "int", "int32", "int64", "double", "char", "timespan", "io.path", "text.encoding",
		"regex", "text.regularexpressions.regex", "array", "uri", "version", "bool", "console", "globalization.cultureinfo":
		return true
	}
	return false
}

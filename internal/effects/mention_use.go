package effects

import (
	"strings"
)

const (
	// maxSide is how much code beside a mention is looked at.
	maxSide = 2000

	// maxUses is how many uses of a variable are looked at.
	maxUses = 1000
)

// isUsed reports whether a mention may be used as a path anywhere in the code.
func (m *mentions) isUsed(text *mention) bool {
	if !m.looked {
		m.looked = true
		m.runs = canRun(m.program, m.code)
		m.opens = canOpen(m.program, m.code)
	}
	if !m.runs && !m.opens {
		return false
	}
	if len(text.places) > maxPlaces {
		return true
	}
	for _, place := range text.places {
		if m.isUse(place, place+text.length) {
			return true
		}
	}
	return false
}

// isUse reports whether a mention may be used as a path where it stands.
func (m *mentions) isUse(start, end int) bool {
	line := strings.LastIndexByte(m.code[:start], '\n') + 1
	if m.isComment(strings.TrimLeft(m.code[line:start], " \t")) {
		return false
	}
	s, ok := stringAround(m.code, line, start, end)
	if !ok {
		return m.runs || !m.isProse(start, end) || !inLongString(m.code[:start])
	}
	if m.isProse(start, end) && !m.runs {
		return false
	}
	before := m.code[max(0, s.start-maxSide):s.start]
	after := strings.TrimLeft(m.code[min(s.end+1, len(m.code)):], " \t")
	return !isShown(before, after, s.quote) && !isLeftOut(before, after, m.code)
}

// isComment reports whether a line that begins so is one for people.
func (m *mentions) isComment(line string) bool {
	switch tableName(m.program) {
	case "python", "ipython", "pypy", "ruby", "irb", "perl", "rscript", "r", "awk", "gawk", "mawk", "nawk", "julia":
		return strings.HasPrefix(line, "#")
	case "node", "deno", "bun", "tsx", "ts-node":
		return strings.HasPrefix(line, "//")
	case "php":
		return strings.HasPrefix(line, "//") || strings.HasPrefix(line, "# ")
	case "lua":
		return strings.HasPrefix(line, "--")
	}
	return strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "// ")
}

// isProse reports whether a text has blanks beside it.
func (m *mentions) isProse(start, end int) bool {
	return start > 0 && isBlank(m.code[start-1]) || end < len(m.code) && isBlank(m.code[end])
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\n' }

// inLongString reports whether a string between three quotes, as Python has them, is open behind a code.
func inLongString(code string) bool {
	return strings.Count(code, `"""`)%2 == 1 || strings.Count(code, "'''")%2 == 1
}

// span is a string in code: where its text is, and its quote.
type span struct {
	start, end int // of the quotes; a prefix such as r or f is before
	quote      byte
}

// stringAround returns the string of a line in which a text stands; ok is false if it stands in none, or beside other
// code in it, as in f"{open('x')}".
func stringAround(code string, line, start, end int) (s span, ok bool) {
	if start-line > maxSide {
		return span{}, false
	}
	open := -1
	for i := line; i < start; i++ {
		switch {
		case code[i] == '\\':
			i++
		case open >= 0 && code[i] == code[open]:
			open = -1
		case open < 0 && isQuote(code[i]):
			open = i
		}
	}
	if open < 0 || strings.ContainsAny(code[open+1:start], "\"'`{") && !onlyApostrophes(code[open+1:start]) {
		return span{}, false
	}
	for i := end; i < min(len(code), end+maxSide) && code[i] != '\n'; i++ {
		switch code[i] {
		case '\\':
			i++
		case code[open]:
			return span{start: open, end: i, quote: code[open]}, true
		}
	}
	return span{}, false
}

// onlyApostrophes reports whether what looks like quotes in a text stands within words: don't.
func onlyApostrophes(text string) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"', '`', '{':
			return false
		case '\'':
			if i < 2 || i+1 >= len(text) || !isLetter(text[i-1]) || !isLetter(text[i-2]) || !isLetter(text[i+1]) {
				return false
			}
		}
	}
	return true
}

// isShown reports whether a string is an argument of what shows texts to people.
func isShown(before, after string, quote byte) bool {
	if strings.HasPrefix(after, ".") && !strings.HasPrefix(after, ".format(") { // ".env".then { … }
		return false
	}
	before = codeBefore(before)
	if strings.HasSuffix(before, ",") {
		if open := openBracket(before); open >= 0 && before[open] == '(' {
			before = before[:open+1]
		}
	}
	called, isCall := strings.CutSuffix(before, "(")
	name := called[nameStart(called):]
	if quote == '`' && !strings.HasPrefix(name, "console.") {
		return false
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch strings.ToLower(last) {
	case "print", "println", "puts", "printf", "say", "warn", "die", "echo", "raise", "pp":
		return true
	case "log", "info", "debug", "error", "warning", "eprintln", "print_r", "var_dump", "cat", "message", "abort", "fail",
		"exception", "runtimeerror", "valueerror", "systemexit", "assert":
		return isCall
	}
	return false
}

// codeBefore returns code before a string without the blanks there and the letter that some strings have: f"x".
func codeBefore(before string) string {
	start := nameStart(before)
	switch strings.ToLower(before[start:]) {
	case "r", "f", "b", "u", "rb", "br", "fr", "rf":
		before = before[:start]
	}
	return strings.TrimRight(before, " \t")
}

// nameStart returns where the name at the end of a code begins, with what it is a member of.
func nameStart(code string) int {
	start := len(code)
	for start > 0 && (isNameByte(code[start-1]) || code[start-1] == '.') {
		start--
	}
	return start
}

// openBracket returns the last bracket that is open behind a code, or -1.
func openBracket(code string) int {
	depth := 0
	for i := len(code) - 1; i >= 0; i-- {
		switch code[i] {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			if depth--; depth < 0 {
				return i
			}
		}
	}
	return -1
}

// isLeftOut reports whether a string only says what is left out: f != ".env", d not in (".git", ".env"),
// skip = {".git", ".env"}, dirs.remove(".git"), ".env" in line.
func isLeftOut(before, after, code string) bool {
	before = codeBefore(before)
	switch {
	case endsInWord(before, "not in"), strings.HasSuffix(before, "!="), strings.HasSuffix(before, "!=="),
		strings.HasPrefix(after, "!="), beginsWithWord(after, "in"), beginsWithWord(after, "not in"):
		return true
	}
	for range 3 { // brackets round it
		open := openBracket(before)
		if open < 0 {
			return false
		}
		end := strings.IndexAny(after, ")]}")
		bracket := before[open]
		before = strings.TrimRight(before[:open], " \t")
		if end >= 0 {
			after = strings.TrimLeft(after[end+1:], " \t")
		}
		switch name := before[nameStart(before):]; {
		case endsInWord(before, "not in"):
			return true
		case bracket == '[' && strings.HasSuffix(before, "!") && strings.HasPrefix(after, ".inclu"):
			return true
		case bracket == '(' && name != "":
			if saysLeftOut(name) {
				return true
			}
			if !isCollection(name) {
				return false
			}
			before = strings.TrimSuffix(strings.TrimRight(strings.TrimSuffix(before, name), " \t"), "new")
		case strings.HasSuffix(before, "=") && !strings.HasSuffix(before, "=="):
			return isExclusion(before, code)
		}
		before = strings.TrimRight(before, " \t")
		if strings.HasSuffix(before, "=") && !strings.HasSuffix(before, "==") {
			return isExclusion(before, code)
		}
	}
	return false
}

func endsInWord(code, word string) bool {
	rest, ok := strings.CutSuffix(code, word)
	return ok && (rest == "" || !isNameByte(rest[len(rest)-1]))
}

func beginsWithWord(code, word string) bool {
	rest, ok := strings.CutPrefix(code, word)
	return ok && (rest == "" || !isNameByte(rest[0]))
}

// isCollection reports whether a function makes a collection of its arguments.
func isCollection(name string) bool {
	switch name {
	case "set", "Set", "frozenset", "tuple", "list", "Set.new", "new.Set":
		return true
	}
	return false
}

// saysLeftOut reports whether the name of a variable or function says that its values are left out.
func saysLeftOut(name string) bool {
	switch name = strings.ToLower(name); name {
	case "dirs.remove", "dirnames.remove", "subdirs.remove", "files.remove", "filenames.remove", "names.remove":
		return true
	}
	for _, word := range [...]string{"skip", "ignor", "exclu", "omit", "prune", "without", "blocklist", "denylist", "forbid"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// isExclusion reports whether the variable that is set at the end of a code has a name that says that its values are left
// out, or is only ever asked for what is not in it.
func isExclusion(before, code string) bool {
	before = strings.TrimRight(before[:len(before)-1], " \t")
	name := before[nameStart(before):]
	if name == "" || strings.Contains(name, ".") {
		return false
	}
	if saysLeftOut(name) {
		return true
	}
	asked, uses := false, 0
	for at := nextWord(code, name, 0); at >= 0; at = nextWord(code, name, at+1) {
		rest := strings.TrimLeft(code[at+len(name):], " \t")
		uses++
		switch {
		case uses > maxUses:
			return false
		case endsInWord(strings.TrimRight(code[max(0, at-maxSide):at], " \t"), "not in"):
			asked = true
		case strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "=="):
		default:
			return false
		}
	}
	return asked
}

// canOpen reports whether code could open a file, or give its name to what does. Of languages of which nothing is known
// it could.
func canOpen(program, code string) bool {
	ways := ""
	switch tableName(program) {
	case "python", "ipython", "pypy", "bpython", "jython":
		ways = "open read write load dump copy move rename replace remove unlink rmtree rmdir mkdir listdir scandir walk glob " +
			"stat chmod chown link exist is_file isfile isdir path Path file File parse import exec eval"
	case "node", "deno", "bun", "tsx", "ts-node", "zx":
		ways = "fs open read Read write Write load require import file File copy cp rename rm unlink stat access watch path config"
	case "ruby", "irb":
		ways = "File IO Dir Pathname open read write load require copy FileUtils path parse"
	default:
		return true
	}
	for way := range strings.SplitSeq(ways, " ") {
		if strings.Contains(code, way) {
			return true
		}
	}
	return false
}

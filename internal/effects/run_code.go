package effects

import "strings"

// mentionedIn reports whether code that a command is given to run mentions the pattern as a command: its program as a
// whole word, and behind it its subcommands, or, if it has none, its options. What only prints or computes is not
// looked at.
func (p *RunPattern) mentionedIn(c *Command) bool {
	word := p.program
	if word == "" {
		word = strings.Trim(programKey(p.name), "*") // of a glob the longest that is sure
		if word == "" || strings.Contains(word, "*") {
			return canRun(c.Program(), c.Code)
		}
	}
	at := nextWord(c.Code, word, 0)
	if at < 0 || !canRun(c.Program(), c.Code) {
		return false
	}
	q := p.parts(word)
	variables, unsure := false, false
	for ; at >= 0; at = nextWord(c.Code, word, at+1) {
		m, operand := q.follow(word, c.Code, at+len(word))
		switch {
		case m == Yes:
			return true
		case m == Maybe:
			variables = true
		case operand:
			unsure = true
		}
	}
	return variables && q.scattered(c.Code) || unsure && q.hasScattered(c.Code)
}

// follow says whether the parts stand in the code from a place on: Maybe where a variable stands there, so that the
// words may be anywhere. Operand says that the subcommand, or the first literal operand, is there.
func (q *parts) follow(program, code string, at int) (m Match, operand bool) {
	first := q.firstOperand()
	if first == "" && len(q.options) == 0 {
		return Yes, false
	}
	operand = first == ""
	var found codeOptions
	words := codeWords{code: code, at: at}
	for n := range maxCodeWords {
		w, kind := words.next()
		switch {
		case kind == codeEnd:
			return No, operand && first != ""
		case kind == codeVariable && operand && first != "": // it may be the option
			return Yes, operand
		case kind == codeVariable:
			return Maybe, operand
		case len(w) > 1 && w[0] == '-':
			found.add(w)
		case operand: // rm x -rf
		case matchGlob(first, usualSub(program, w)) == Yes:
			operand = true
		case n == 0 || !words.behindOption: // but git -C DIR push
			return No, operand && first != ""
		}
		if operand && q.hasOptions(&found) {
			return Yes, operand
		}
	}
	return No, operand && first != ""
}

// codeOptions are the options that were found in code.
type codeOptions struct {
	letters []string // behind one dash
	longs   []string // behind two
}

// add adds a word that begins with a dash.
func (o *codeOptions) add(word string) {
	if long, found := strings.CutPrefix(word, "--"); found {
		o.longs = append(o.longs, long)
	} else {
		o.letters = append(o.letters, word[1:])
	}
}

// maxCodeWords is how many words behind the name of a program are looked at.
const maxCodeWords = 12

// firstOperand is the subcommand, or the first literal operand; "" if there is none.
func (q *parts) firstOperand() string {
	if len(q.operands) == 0 || strings.Trim(q.operands[0], "*") == "" {
		return ""
	}
	return q.operands[0]
}

// usualSub returns the usual name of a subcommand.
func usualSub(program, word string) string {
	if known, _ := programNamed(tableName(program)); known.sub != nil {
		if name, _ := known.sub(word); name != "" {
			return name
		}
	}
	return word
}

// hasOptions reports whether the options are among those found.
func (q *parts) hasOptions(found *codeOptions) bool {
	for i := range q.options {
		if !q.options[i].amongst(found) {
			return false
		}
	}
	return true
}

// amongst reports whether the option is one of those found.
func (o *option) amongst(found *codeOptions) bool {
	for _, text := range found.longs {
		name, _, _ := strings.Cut(text, "=")
		if hasName(o.names, name) || begins(o.names, name) {
			return true
		}
	}
	for _, text := range found.letters {
		if sameOption(o.names, text) {
			return true
		}
		for i := 0; i < len(text) && len(text) <= 2*maxCluster; i++ {
			if hasName(o.names, text[i:i+1]) {
				return true
			}
		}
	}
	return false
}

// scattered reports whether the parts stand anywhere in the code.
func (q *parts) scattered(code string) bool {
	if operand := q.firstOperand(); operand != "" {
		return nextWord(code, strings.Trim(operand, "*"), 0) >= 0
	}
	return q.hasScattered(code)
}

// hasScattered reports whether the options stand anywhere in the code.
func (q *parts) hasScattered(code string) bool {
	var found codeOptions
	for i := 0; i+1 < len(code) && len(found.letters)+len(found.longs) < maxScattered; i++ {
		if code[i] != '-' || i > 0 && strings.IndexByte(" \t\"'`,[(=", code[i-1]) < 0 {
			continue
		}
		end := i + 1
		for end < len(code) && (isNameByte(code[end]) || code[end] == '-') {
			end++
		}
		if word := code[i:end]; len(word) > 1 && (word[1] == '-' || len(word) <= maxCluster+1) {
			found.add(word)
		}
		i = end - 1
	}
	return q.hasOptions(&found)
}

// maxScattered is how many options of a code are looked at.
const maxScattered = 1000

// nextWord returns where a word stands in code as a whole word, from a place on; -1 if nowhere. What is a part of a
// name, a member or a host, as in fs.rm and curl.se, is no whole word.
func nextWord(code, word string, from int) int {
	for word != "" && from <= len(code) {
		i := strings.Index(code[from:], word)
		if i < 0 {
			return -1
		}
		i += from
		end := i + len(word)
		before := i == 0 || !isNameByte(code[i-1]) && strings.IndexByte(".-@$", code[i-1]) < 0 && code[i-1] < 0x80
		if before && (end == len(code) || !isNameByte(code[end]) && code[end] != '-' && !isMember(code[end:])) {
			return i
		}
		from = i + 1
	}
	return -1
}

// isMember reports whether a text goes on with a dot and a name, but for .exe.
func isMember(text string) bool {
	return len(text) > 1 && text[0] == '.' && isNameByte(text[1]) && !strings.HasPrefix(text[1:], "exe")
}

// codeWords reads the words behind the name of a program in code of any language: as in a text for a shell, or as
// strings of a list.
type codeWords struct {
	code         string
	at           int
	option       bool // the last word is an option
	behindOption bool // the one before it is
}

// codeKind is what stands at a place of code.
type codeKind uint8

const (
	codeEnd      codeKind = iota // the command ends
	codeWord                     // a word that is written
	codeVariable                 // something that only the running program knows
)

// next returns the next word.
func (c *codeWords) next() (word string, kind codeKind) {
	for ; c.at < len(c.code); c.at++ {
		switch ch := c.code[c.at]; {
		case strings.IndexByte(" \t\r,([\"'`", ch) >= 0:
		case ch == '\n' && strings.IndexByte(",[(", lastBefore(c.code, c.at)) >= 0:
		case ch == '\\' && c.at+1 < len(c.code) && isQuote(c.code[c.at+1]):
		case strings.IndexByte("+%${*", ch) >= 0:
			return "", codeVariable
		case strings.IndexByte("-/._~", ch) < 0 && !isNameByte(ch) && ch < 0x80:
			return "", codeEnd // ; ) ] | & and the end of the line
		default:
			return c.word()
		}
	}
	return "", codeEnd
}

// word reads a word. In a list, outside the quotes, it is the name of a variable.
func (c *codeWords) word() (string, codeKind) {
	start := c.at
	for c.at < len(c.code) && strings.IndexByte(" \t\n\r,\"'`()[];|&\\", c.code[c.at]) < 0 {
		c.at++
	}
	word := c.code[start:c.at]
	before := strings.TrimRight(c.code[:start], " \t\r\n")
	if strings.HasSuffix(before, ",") && isQuote(lastBefore(before, len(before)-1)) {
		return word, codeVariable // ["git", sub]
	}
	c.behindOption, c.option = c.option, word[0] == '-'
	return word, codeWord
}

// lastBefore returns the last byte before a place that is no blank, or 0.
func lastBefore(text string, at int) byte {
	text = strings.TrimRight(text[:at], " \t\n")
	if text == "" {
		return 0
	}
	return text[len(text)-1]
}

// canRun reports whether code could run a command at all. Of languages of which nothing is known it could.
func canRun(program, code string) bool {
	ways := ""
	switch tableName(program) {
	case "python", "ipython", "pypy", "bpython", "jython":
		if tableName(program) == "ipython" && strings.Contains(code, "!") {
			return true
		}
		ways = "system popen Popen subprocess exec spawn pty. run( call( check_ shell eval getattr __import __builtin " +
			"__globals importlib ctypes compile( fork pexpect plumbum fabric invoke sarge from\tsh\t"
	case "node", "deno", "bun", "tsx", "ts-node", "zx":
		ways = "exec spawn child_ process.binding fork( Command( run( shell eval Function( $` import( vm. cluster"
	case "ruby", "irb":
		ways = "system exec spawn popen ` %x \"| '| eval send( Open3 Kernel PTY shell fork"
	case "perl", "raku":
		ways = "system exec ` qx eval fork IPC syscall \"| |\" '| |' -| |- run( shell"
	case "php":
		ways = "system exec passthru popen proc_ ` eval pcntl assert call_user"
	case "lua":
		ways = "execute popen load dofile ffi"
	case "rscript", "r", "littler":
		ways = "system shell eval pipe( source("
	case "julia":
		ways = "run( ` pipeline( open( Cmd ccall eval("
	case "osascript":
		ways = "shell script NSTask ObjC doShell Terminal iTerm keystroke"
	case "mongosh", "mongo":
		ways = "exec spawn child_ fork( runProgram shell eval require( load( import("
	case "psql", "mysql", "mariadb":
		ways = "\\! program PROGRAM Program system sys_ |"
	case "sqlite3", "sqlite", "duckdb":
		ways = ".sh .sy edit( load_ext shellfs .once .out |"
	default:
		return true
	}
	for way := range strings.SplitSeq(ways, " ") {
		if strings.Contains(code, strings.ReplaceAll(way, "\t", " ")) {
			return true
		}
	}
	return false
}

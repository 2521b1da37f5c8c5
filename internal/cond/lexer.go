package cond

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind says what a token is.
type tokenKind uint8

const (
	endToken tokenKind = iota
	nameToken
	numberToken
	textToken
	bytesToken
	operatorToken
	bracketToken
)

func (k tokenKind) String() string {
	return [...]string{"EOF", "Identifier", "Number", "String", "Bytes", "Operator", "Bracket"}[k]
}

// token is a word of an expression.
type token struct {
	kind tokenKind
	text string // of a text literal what it stands for
	at   int    // where it begins, in code points from 0
}

func (t token) is(kind tokenKind, text string) bool { return t.kind == kind && t.text == text }

func (t token) String() string {
	if t.text == "" {
		return t.kind.String()
	}
	return fmt.Sprintf("%s(%#v)", t.kind, t.text)
}

// place is a position in the source.
type place struct{ bytes, runes int }

// lexer reads the tokens of a source one by one. It takes what the lexer of expr-lang takes, odd cases included.
type lexer struct {
	source     string
	start, end place   // of the token that is being read
	ended      bool    // next has met the end, and backup has not taken that back
	queue      []token // read and not given out
	fault      *Error
	done       bool // the token of the end was read
}

// endOfSource is what next and peek give at the end.
const endOfSource rune = -1

// token returns the next token; ok is false behind that of the end.
func (l *lexer) token() (t token, ok bool, fault *Error) {
	for len(l.queue) == 0 && l.fault == nil && !l.done {
		l.read()
	}
	switch {
	case l.fault != nil:
		return token{}, false, l.fault
	case len(l.queue) == 0:
		return token{}, false, nil
	}
	t, l.queue = l.queue[0], l.queue[1:]
	return t, true, nil
}

// read reads one token, two where they stand together, or none behind spaces and comments.
func (l *lexer) read() {
	switch r := l.next(); {
	case r == endOfSource:
		l.done = true
		l.start.runes = max(l.end.runes-1, 0)
		l.emitText(endToken, "")
	case unicode.IsSpace(r):
		l.start = l.end
	case r == '\'' || r == '"':
		l.quoted(r, textToken)
	case r == '`':
		l.raw()
	case (r == 'b' || r == 'B') && (l.peek() == '\'' || l.peek() == '"'):
		l.start.bytes++ // the value begins at the quote
		l.quoted(l.next(), bytesToken)
	case '0' <= r && r <= '9':
		l.backup()
		l.number()
	case r == '/':
		l.slash()
	case r == '#':
		l.pointer()
	case r == '.':
		l.dot()
	case strings.ContainsRune("([{)]}", r):
		l.emit(bracketToken)
	case strings.ContainsRune("?|:,;%+-^&!=*<>", r):
		l.accept(second(r))
		l.emit(operatorToken)
	case isNamePart(r):
		l.backup()
		l.name()
	default:
		l.fail("unrecognized character: %#U", r)
	}
}

// second returns what may stand behind the first character of an operator.
func second(r rune) string {
	switch r {
	case '?':
		return ".?"
	case '|':
		return "|"
	case ':':
		return ":"
	case '&', '!', '=', '*', '<', '>':
		return "&=*"
	}
	return ""
}

func isNamePart(r rune) bool { return isNameStart(r) || unicode.IsDigit(r) }

func isNameStart(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) }

// isName reports whether a text could be a name.
func isName(text string) bool {
	for i, r := range text {
		if !isNamePart(r) || i == 0 && !isNameStart(r) {
			return false
		}
	}
	return text != ""
}

func (l *lexer) next() rune {
	if l.end.bytes >= len(l.source) {
		l.ended = true
		return endOfSource
	}
	r, size := utf8.DecodeRuneInString(l.source[l.end.bytes:])
	l.end.bytes += size
	l.end.runes++
	return r
}

func (l *lexer) peek() rune {
	if l.end.bytes >= len(l.source) {
		return endOfSource
	}
	r, _ := utf8.DecodeRuneInString(l.source[l.end.bytes:])
	return r
}

// backup takes the last next back.
func (l *lexer) backup() {
	if l.ended {
		l.ended = false
	} else if l.end.runes > 0 {
		_, size := utf8.DecodeLastRuneInString(l.source[:l.end.bytes])
		l.end.bytes -= size
		l.end.runes--
	}
}

func (l *lexer) accept(valid string) bool {
	if r := l.peek(); r == endOfSource || !strings.ContainsRune(valid, r) {
		return false
	}
	l.next()
	return true
}

func (l *lexer) acceptRun(valid string) {
	for l.accept(valid) {
	}
}

// acceptName reads on to the end of a name.
func (l *lexer) acceptName() {
	for isNamePart(l.peek()) {
		l.next()
	}
}

func (l *lexer) word() string { return l.source[l.start.bytes:l.end.bytes] }

func (l *lexer) emit(kind tokenKind) { l.emitText(kind, l.word()) }

func (l *lexer) emitText(kind tokenKind, text string) {
	l.queue = append(l.queue, token{kind: kind, text: text, at: l.start.runes})
	l.start = l.end
}

// fail notes the first error, at the character that was read last.
func (l *lexer) fail(format string, args ...any) {
	if l.fault != nil {
		return
	}
	at := l.end.runes - 1
	if l.ended {
		at++
	}
	l.fault = errorAt(l.source, at, fmt.Sprintf(format, args...))
}

func (l *lexer) number() {
	if !l.scanNumber() {
		l.fail("bad number syntax: %q", l.word())
		return
	}
	l.emit(numberToken)
}

func (l *lexer) scanNumber() bool {
	digits := "0123456789_"
	if l.accept("0") {
		switch {
		case l.accept("xX"):
			digits = "0123456789abcdefABCDEF_"
		case l.accept("oO"):
			digits = "01234567_"
		case l.accept("bB"):
			digits = "01_"
		}
	}
	l.acceptRun(digits)
	end := l.end
	if l.accept(".") {
		if l.peek() == '.' { // 1..2 is a range
			l.end = end
			return true
		}
		l.acceptRun(digits)
	}
	if l.accept("eE") {
		l.accept("+-")
		l.acceptRun(digits)
	}
	if isNamePart(l.peek()) {
		l.next()
		return false
	}
	return true
}

// dot reads what begins with a point: a number, a range or a member.
func (l *lexer) dot() {
	if r := l.peek(); '0' <= r && r <= '9' {
		l.number()
		return
	}
	l.accept(".")
	l.emit(operatorToken)
}

func (l *lexer) name() {
	l.acceptName()
	switch l.word() {
	case "not":
		l.emit(operatorToken)
		l.not()
	case "in", "or", "and", "matches", "contains", "startsWith", "endsWith", "let", "if", "else":
		l.emit(operatorToken)
	default:
		l.emit(nameToken)
	}
}

// not reads the operator that "not" stands before, where there is one: "not in".
func (l *lexer) not() {
	l.acceptRun(" ")
	l.start = l.end
	l.acceptName()
	switch l.word() {
	case "in", "matches", "contains", "startsWith", "endsWith":
		l.emit(operatorToken)
	default:
		l.end = l.start
	}
}

// slash reads a comment or a division.
func (l *lexer) slash() {
	switch {
	case l.accept("/"):
		for r := l.next(); r != endOfSource && r != '\n'; {
			r = l.next()
		}
		l.start = l.end
	case l.accept("*"):
		for {
			r := l.next()
			if r == endOfSource {
				l.fail("unclosed comment")
				return
			}
			if r == '*' && l.accept("/") {
				break
			}
		}
		l.start = l.end
	default:
		l.emit(operatorToken)
	}
}

// pointer reads "#" and the name that stands at it.
func (l *lexer) pointer() {
	l.accept("#")
	l.emit(operatorToken)
	l.acceptName()
	if l.word() != "" {
		l.emit(nameToken)
	}
}

package cond

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// quoted reads a literal between quotes, the first of which was read.
func (l *lexer) quoted(quote rune, kind tokenKind) {
	l.scanQuoted(quote)
	if l.fault != nil {
		return
	}
	text, err := unescape(l.word(), kind == bytesToken)
	if err != nil {
		l.fail("%v", err)
		return
	}
	l.emitText(kind, text)
}

func (l *lexer) scanQuoted(quote rune) {
	r := l.next()
	for r != quote && l.fault == nil {
		switch r {
		case '\n', endOfSource:
			l.fail("literal not terminated")
		case '\\':
			r = l.scanEscape(quote)
		default:
			r = l.next()
		}
	}
}

// scanEscape reads what stands behind a backslash, and returns the character behind it.
func (l *lexer) scanEscape(quote rune) rune {
	r := l.next()
	switch r {
	case 'a', 'b', 'f', 'n', 'r', 't', 'v', '\\', quote:
		return l.next()
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return l.scanDigits(r, 8, 3)
	case 'x':
		return l.scanDigits(l.next(), 16, 2)
	case 'u':
		if l.accept("{") {
			return l.scanBraces()
		}
		return l.scanDigits(l.next(), 16, 4)
	case 'U':
		return l.scanDigits(l.next(), 16, 8)
	}
	l.fail("invalid char escape")
	return r
}

// scanBraces reads the digits of \u{…}.
func (l *lexer) scanBraces() rune {
	digits := 0
	for ; digits < 6 && digit(l.peek()) < 16; digits++ {
		l.next()
	}
	if digits == 0 || !l.accept("}") {
		l.fail("invalid char escape")
		return endOfSource
	}
	return l.next()
}

func (l *lexer) scanDigits(r rune, base, n int) rune {
	for ; n > 0 && digit(r) < base; n-- {
		r = l.next()
	}
	if n > 0 {
		l.fail("invalid char escape")
	}
	return r
}

// digit returns the value of a digit, 16 for what is none.
func digit(r rune) int {
	switch {
	case '0' <= r && r <= '9':
		return int(r - '0')
	case 'a' <= r && r <= 'f':
		return int(r-'a') + 10
	case 'A' <= r && r <= 'F':
		return int(r-'A') + 10
	}
	return 16
}

// raw reads a literal between backticks. Two of them within it stand for one.
func (l *lexer) raw() {
	for {
		r := l.next()
		for r == '`' && l.peek() == '`' {
			l.next()
			r = l.next()
		}
		if r == '`' {
			break
		}
		if r == endOfSource {
			l.fail("literal not terminated")
			return
		}
	}
	text := l.source[l.start.bytes+1 : l.end.bytes-1]
	if strings.Contains(text, "`") {
		text = strings.ReplaceAll(string([]rune(text)), "``", "`")
	}
	l.emitText(textToken, text)
}

var errEscape = errors.New("unable to unescape string")

// unescape returns what a quoted literal stands for. Of bytes, \x and octal escapes are single bytes; of text they are code
// points.
func unescape(quoted string, asBytes bool) (string, error) {
	text := quoted[1 : len(quoted)-1]
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var b strings.Builder
	for text != "" {
		if text[0] != '\\' {
			r, size := utf8.DecodeRuneInString(text)
			b.WriteRune(r)
			text = text[size:]
			continue
		}
		r, rest, err := escaped(text[1:], asBytes)
		if err != nil {
			return "", err
		}
		if asBytes || r < utf8.RuneSelf { // \U beyond 31 bits is a byte, too, as expr-lang has it
			b.WriteByte(byte(r))
		} else {
			b.WriteRune(r)
		}
		text = rest
	}
	return b.String(), nil
}

// escaped reads an escape without its backslash.
func escaped(s string, asBytes bool) (r rune, rest string, err error) {
	if s == "" {
		return 0, "", errEscape
	}
	c, s := s[0], s[1:]
	if i := strings.IndexByte(`abfnrtv\'"`, c); i >= 0 {
		return rune("\a\b\f\n\r\t\v\\'\""[i]), s, nil
	}
	switch {
	case c == 'x':
		return coded(s, 2, 16)
	case '0' <= c && c <= '3':
		r, rest, err = coded(s, 2, 8)
		return rune(c-'0')*64 + r, rest, err
	case asBytes:
		return 0, "", errEscape
	case c == 'u' && strings.HasPrefix(s, "{"):
		digits, rest, closed := strings.Cut(s[1:], "}")
		if !closed {
			return 0, "", errEscape
		}
		r, _, err = coded(digits, len(digits), 16)
		return r, rest, err
	case c == 'u':
		return coded(s, 4, 16)
	case c == 'U':
		return coded(s, 8, 16)
	}
	return 0, "", errEscape
}

// coded reads a code point that is written in n digits.
func coded(s string, n, base int) (r rune, rest string, err error) {
	if len(s) < n {
		return 0, "", errEscape
	}
	for i := range n {
		d := digit(rune(s[i]))
		if d >= base {
			return 0, "", errEscape
		}
		r = r*rune(base) + rune(d)
	}
	if r > utf8.MaxRune {
		return 0, "", errEscape
	}
	return r, s[n:], nil
}

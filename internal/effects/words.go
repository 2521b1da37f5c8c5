package effects

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// unknown stands in code for what only the running shell knows. No program has that name.
const unknown = "_"

// maxBraces is how many braces a word may have for its expansion to be looked at: splitting takes time in proportion to
// their square.
const maxBraces = 16

// literal returns a word without its quotes, as the shell takes it; constant is false where a part of it is known only
// when it runs. Of {a,b} it is the first: that is the word which can be a command.
func literal(word *syntax.Word) (text string, constant bool) {
	if n := braces(word); n > 0 && n <= maxBraces {
		split := syntax.Word{Parts: slices.Clone(word.Parts)} // SplitBraces changes its word
		syntax.SplitBraces(&split)
		word = &split
	}
	var b strings.Builder
	constant = appendParts(&b, word.Parts, false)
	return b.String(), constant
}

// braces counts what may open a brace expansion in a word.
func braces(word *syntax.Word) (n int) {
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	return n
}

func appendParts(b *strings.Builder, parts []syntax.WordPart, quoted bool) (constant bool) {
	constant = true
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			appendUnescaped(b, part.Value, quoted)
		case *syntax.SglQuoted:
			if part.Dollar {
				b.Write(appendANSI(nil, part.Value))
			} else {
				b.WriteString(part.Value)
			}
		case *syntax.DblQuoted:
			constant = appendParts(b, part.Parts, true) && constant
		case *syntax.BraceExp:
			if len(part.Elems) > 0 {
				constant = appendParts(b, part.Elems[0].Parts, quoted) && constant
			}
		default:
			b.WriteString(unknown)
			constant = false
		}
	}
	return constant
}

// appendUnescaped appends a literal without its backslashes. Within double quotes a backslash escapes only what would
// be special there (POSIX shell command language, 2.2.3).
func appendUnescaped(b *strings.Builder, text string, quoted bool) {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0) {
			i++
			if text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
}

// appendANSI appends the contents of $'…' (bash 5.2, QUOTING). An escape that is none stays as it is.
func appendANSI(b []byte, text string) []byte {
	return unescape(b, text, false)
}

// appendEscaped appends a text as echo -e and printf take it.
func appendEscaped(b []byte, text string) []byte {
	return unescape(b, text, true)
}

// unescape appends a text with its escapes replaced. With zero, \0 may stand before an octal number.
func unescape(b []byte, text string, zero bool) []byte {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b = append(b, text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case 'x', 'u', 'U':
			most := 2
			if c != 'x' {
				most = 4
			}
			if c == 'U' {
				most = 8
			}
			n, digits := number(text[i+1:], 16, most)
			switch {
			case digits == 0:
				b = append(b, '\\', c)
			case c == 'x':
				b = append(b, byte(n))
			default:
				b = utf8.AppendRune(b, rune(n))
			}
			i += digits
		case '0', '1', '2', '3', '4', '5', '6', '7':
			most := 3
			if zero && c == '0' {
				most = 4
			}
			n, digits := number(text[i:], 8, most)
			b = append(b, byte(n))
			i += digits - 1
		case 'c':
			if zero { // what follows is not said
				return b
			}
			if i++; i < len(text) {
				b = append(b, text[i]&0x1f)
			}
		default:
			if j := strings.IndexByte(`abtnvfrEe`, c); j >= 0 {
				b = append(b, "\a\b\t\n\v\f\r\x1b\x1b"[j])
			} else if strings.IndexByte(`\'"?`, c) >= 0 {
				b = append(b, c)
			} else {
				b = append(b, '\\', c)
			}
		}
	}
	return b
}

// number reads a number at the beginning of a text.
func number(text string, base, most int) (n, digits int) {
	for digits < min(most, len(text)) {
		d := strings.IndexByte("0123456789abcdef", text[digits]|0x20)
		if text[digits] < 'A' {
			d = int(text[digits]) - '0'
		}
		if d < 0 || d >= base {
			break
		}
		n = n*base + d
		digits++
	}
	return n, digits
}

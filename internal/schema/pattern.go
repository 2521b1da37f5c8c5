package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
)

const (
	maxPattern      = 4096    // bytes of a pattern
	maxProgram      = 5_000   // instructions of a pattern
	maxPrograms     = 100_000 // of all patterns of a schema
	maxNotes        = 16
	spaces          = `\s\v\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	lineTerminators = `\n\r\x{2028}\x{2029}`
)

// pattern is a regular expression. One that Go cannot run, such as a look-ahead, matches nobody knows what.
type pattern struct {
	expression *regexp.Regexp // nil if it cannot be run
	size       int            // instructions
}

// compilePattern compiles a pattern as JavaScript, in which schemas have theirs, would understand it. A pattern that Go
// cannot run, or that would cost too much, is left to the upstream, and reason says why.
func compilePattern(text string, room int) (p *pattern, reason string) {
	if len(text) > maxPattern {
		return &pattern{}, fmt.Sprintf("it is longer than %d bytes", maxPattern)
	}
	translated, ok := translate(text)
	if !ok {
		return &pattern{}, "it has an escape that is not supported"
	}
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		return &pattern{}, "look-arounds, back references and the like are not supported"
	}
	size := programSize(tree)
	if size > maxProgram || size > room {
		return &pattern{}, "it costs too much to run"
	}
	expression, err := regexp.Compile(translated)
	if err != nil {
		return &pattern{}, "it is not supported"
	}
	return &pattern{expression, size}, ""
}

// programSize bounds how many instructions a parsed expression becomes, up to some more than is allowed.
func programSize(tree *syntax.Regexp) int {
	size := 2
	if tree.Op == syntax.OpLiteral {
		size += len(tree.Rune)
	}
	for _, sub := range tree.Sub {
		size += programSize(sub)
	}
	if tree.Op == syntax.OpRepeat {
		size *= max(tree.Min, tree.Max, 1)
	}
	return min(size, maxProgram+1)
}

// cost is what matching a text counts for.
func (p *pattern) cost(text string) int { return len(text) * (1 + p.size/16) }

// translate writes a JavaScript expression in Go's syntax, where the two differ: \uXXXX, \cX, \s, a dot. It is not ok
// where there is an escape without a counterpart.
func translate(text string) (translated string, ok bool) {
	var out strings.Builder
	inClass := false
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\\':
			size, ok := translateEscape(&out, text[i:], inClass)
			if !ok {
				return "", false
			}
			i += size
			continue
		case inClass:
			if c == '[' { // Go could take it for the beginning of a [:name:]
				out.WriteByte('\\')
			}
			inClass = c != ']'
			out.WriteByte(c)
		case c == '.':
			out.WriteString("[^" + lineTerminators + "]")
		case c == '[':
			inClass = true
			out.WriteByte(c)
			if strings.HasPrefix(text[i:], "[]") || strings.HasPrefix(text[i:], "[^]") {
				return "", false // nothing, and anything: Go reads it otherwise
			}
		default:
			out.WriteByte(c)
		}
		i++
	}
	return out.String(), true
}

// translateEscape writes the escape that text begins with, and returns its length.
func translateEscape(out *strings.Builder, text string, inClass bool) (size int, ok bool) {
	if len(text) < 2 {
		return 0, false
	}
	switch c := text[1]; c {
	case 's':
		if inClass {
			out.WriteString(spaces)
		} else {
			out.WriteString("[" + spaces + "]")
		}
	case 'S':
		if inClass {
			out.WriteString(`\S`)
		} else {
			out.WriteString("[^" + spaces + "]")
		}
	case 'c':
		if len(text) < 3 || !strings.Contains("abcdefghijklmnopqrstuvwxyz", strings.ToLower(text[2:3])) {
			return 0, false
		}
		fmt.Fprintf(out, `\x{%x}`, text[2]&31)
		return 3, true
	case 'u':
		return translateUnicode(out, text)
	case '0':
		if len(text) > 2 && text[2] >= '0' && text[2] <= '9' {
			return 0, false
		}
		out.WriteString(`\x{0}`)
	case 'b', 'B':
		if inClass {
			out.WriteString(`\x{8}`)
			return 2, c == 'b'
		}
		out.WriteString(text[:2])
	case 'd', 'D', 'w', 'W', 'f', 'n', 'r', 't', 'v', 'x', 'p', 'P':
		out.WriteString(text[:2])
	default:
		if c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c < ' ' || c == ' ' || c == '_' {
			return 0, false // back references, and escapes that Go has for something else
		}
		out.WriteString(text[:2])
	}
	return 2, true
}

// translateUnicode writes \uXXXX, also a pair of surrogates, and \u{X}.
func translateUnicode(out *strings.Builder, text string) (size int, ok bool) {
	if strings.HasPrefix(text, `\u{`) {
		end := strings.IndexByte(text, '}')
		if end < 4 {
			return 0, false
		}
		r, err := strconv.ParseUint(text[3:end], 16, 21)
		fmt.Fprintf(out, `\x{%x}`, r)
		return end + 1, err == nil
	}
	unit := func(text string) (uint64, bool) {
		if len(text) < 6 || text[:2] != `\u` {
			return 0, false
		}
		r, err := strconv.ParseUint(text[2:6], 16, 16)
		return r, err == nil
	}
	r, ok := unit(text)
	if !ok || r >= 0xDC00 && r <= 0xDFFF {
		return 0, false
	}
	size = 6
	if r >= 0xD800 && r <= 0xDBFF {
		low, ok := unit(text[6:])
		if !ok || low < 0xDC00 || low > 0xDFFF {
			return 0, false
		}
		r, size = 0x10000+(r-0xD800)<<10+(low-0xDC00), 12
	}
	fmt.Fprintf(out, `\x{%x}`, r)
	return size, true
}

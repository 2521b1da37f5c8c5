package effects

import (
	"slices"
	"strconv"
	"strings"

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
				appendANSI(b, part.Value)
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

// appendANSI appends the contents of $'…'. An escape that we do not know stays as it is.
func appendANSI(b *strings.Builder, text string) {
	for len(text) > 0 {
		r, multibyte, rest, err := strconv.UnquoteChar(text, 0)
		switch {
		case err != nil && strings.HasPrefix(text, `\`) && len(text) > 1 && strings.IndexByte(`'"?`, text[1]) >= 0:
			b.WriteByte(text[1])
			text = text[2:]
		case err != nil:
			b.WriteByte(text[0])
			text = text[1:]
		case multibyte:
			b.WriteRune(r)
			text = rest
		default:
			b.WriteByte(byte(r))
			text = rest
		}
	}
}

package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// controlEdits returns what is done to the control characters of a text.
func controlEdits(how Treatment) func(t *text) []edit {
	return func(t *text) []edit {
		if !mayHide(t.decoded) {
			return nil
		}
		var edits []edit
		replace := func(from, to int, mark string) {
			if how == Remove {
				mark = ""
			}
			edits = append(edits, edit{from, to, mark})
		}
		last := rune(0) // the character before this one, if it stays
		var marks marker
		for i := 0; i < len(t.decoded); {
			r, size := utf8.DecodeRune(t.decoded[i:])
			if n := ansi(t.decoded[i:]); n > 0 {
				replace(i, i+n, "⟦ANSI⟧")
				last = 0
				i += n
				continue
			}
			half := rune(0)
			if r == utf8.RuneError {
				half = t.halfAt(i)
			}
			switch {
			case half != 0: // of two such halves, brought together, anything could be made
				replace(i, i+size, marks.of(half))
				last = 0
			case isHidden(r) && !belongs(r, last, t.decoded[i+size:]):
				replace(i, i+size, marks.of(r))
				last = 0
			default:
				last = r
			}
			i += size
		}
		return edits
	}
}

// marker makes marks. It keeps the last one: what is hidden comes in runs.
type marker struct {
	character rune
	mark      string
}

func (m *marker) of(r rune) string {
	if m.mark == "" || m.character != r {
		m.character, m.mark = r, fmt.Sprintf("⟦U+%04X⟧", r)
	}
	return m.mark
}

// mayHide reports whether a text has a byte with which a character begins that might be hidden.
func mayHide(text []byte) bool {
	for _, c := range text {
		switch {
		case c >= ' ' && c < 0x7f, c == '\n', c == '\t', c == '\r':
		case c < utf8.RuneSelf:
			return true
		default:
			switch c {
			case 0xC2, 0xCD, 0xD8, 0xE1, 0xE2, 0xE3, 0xEF, 0xF0, 0xF3:
				return true
			}
		}
	}
	return false
}

// isHidden reports whether a character does something that nobody sees, or is nothing that anybody sees.
func isHidden(r rune) bool {
	switch {
	case r < ' ':
		return r != '\t' && r != '\n' && r != '\r'
	case r < 0x7f:
		return false
	case r <= 0x9f, r == 0xad: // C1; the soft hyphen
		return true
	case r < 0x034f:
		return false
	}
	switch {
	case r == 0x034f, r == 0x061c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x180b, r == 0x180c, r == 0x180d, r == 0x180e, r == 0x180f,
		r >= 0x200b && r <= 0x200f, // zero width, and marks of direction
		r >= 0x202a && r <= 0x202e, // embeddings and overrides of direction
		r >= 0x2060 && r <= 0x206f, // invisible operators, isolates, deprecated ones
		r == 0x3164, r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r == 0xffa0, r >= 0xfff0 && r <= 0xfffb,
		r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a,
		r >= 0xe0000 && r <= 0xe0fff: // tags, and variation selectors
		return true
	}
	return false
}

// belongs reports whether a hidden character does what it is there for: a joiner, or what keeps from joining, between
// characters of a script, or signs, that are joined; one variation selector behind a character that can have variants.
func belongs(r, last rune, rest []byte) bool {
	switch r {
	case 0x200c, 0x200d:
		next, _ := utf8.DecodeRune(rest)
		return joins(last) && joins(next)
	case 0xfe0e, 0xfe0f:
		return unicode.IsSymbol(last) || unicode.IsDigit(last) || strings.ContainsRune("#*‼⁉〰", last)
	}
	return false
}

// joins reports whether a character is a sign, or of a script, in which neighbours join: letters without case, and marks.
func joins(r rune) bool {
	return r == 0xfe0f || unicode.In(r, unicode.Lo, unicode.Mn, unicode.Mc, unicode.So, unicode.Sk) && !isHidden(r)
}

// longestString is how long what an ANSI escape gives a terminal to keep may be, such as the address of a link, in bytes.
// What is longer is shown rather than hidden.
const longestString = 4096

// ansi returns the length of the ANSI escape that a text begins with, 0 if it begins with none (ECMA-48, 5.4 and 5.6).
func ansi(text []byte) int {
	kind, size := byte(0), 2
	switch {
	case len(text) < 2:
		return 0
	case text[0] == 0x1b:
		kind = text[1]
	case text[0] == 0xC2 && text[1] >= 0x80 && text[1] <= 0x9f: // C1: ESC and a letter in one
		kind = text[1] - 0x40
		if kind != '[' && kind != ']' && kind != 'P' && kind != 'X' && kind != '^' && kind != '_' {
			return 0
		}
	default:
		return 0
	}
	switch {
	case kind == '[':
		return controlSequence(text, size)
	case kind == ']', kind == 'P', kind == 'X', kind == '^', kind == '_':
		return controlString(text, size)
	}
	for size = 1; size < len(text) && text[size] >= 0x20 && text[size] <= 0x2f; size++ {
	}
	if size < len(text) && text[size] >= 0x30 && text[size] <= 0x7e {
		return size + 1
	}
	return 0
}

// controlSequence: parameters, intermediate bytes, and a final one.
func controlSequence(text []byte, i int) int {
	for ; i < len(text) && i < longestString && text[i] >= 0x20 && text[i] <= 0x3f; i++ {
	}
	if i < len(text) && text[i] >= 0x40 && text[i] <= 0x7e {
		return i + 1
	}
	return 0
}

// controlString: anything up to a string terminator or, as terminals take it, a bell. One that does not end is only its
// beginning.
func controlString(text []byte, begin int) int {
	for i := begin; i < len(text) && i < longestString; i++ {
		switch {
		case text[i] == 0x07:
			return i + 1
		case text[i] == 0x1b && i+1 < len(text) && text[i+1] == '\\', text[i] == 0xC2 && i+1 < len(text) && text[i+1] == 0x9c:
			return i + 2
		case text[i] < ' ' && text[i] != '\t', text[i] == 0xC2 && i+1 < len(text) && text[i+1] >= 0x80 && text[i+1] <= 0x9f:
			return begin // a terminal would give it up here, too
		}
	}
	return begin
}

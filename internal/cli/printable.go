package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"sallyport/internal/canon"
)

// printable is others' text as it may reach a terminal: whatever could be a control sequence, hide text or turn its
// direction is escaped, a newline too.
func printable(s string) string {
	var b strings.Builder
	for i, width := 0, 0; i < len(s); i += width {
		var r rune
		switch r, width = utf8.DecodeRuneInString(s[i:]); {
		case r == utf8.RuneError && width == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// printableJSON is JSON without white space as it may reach a terminal: the same value, with such characters escaped.
func printableJSON(text []byte) string {
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case strconv.IsPrint(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}

// fact writes what is known under a name, on a line of its own. The text is others' and may be anything.
func fact(w io.Writer, name, text string) { fmt.Fprintf(w, "%-11s %s\n", name, printable(text)) }

// moment is a time in nanoseconds since the epoch, for people.
func moment(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }

// textMember appends a member with a text and a comma to an object, unless the text is empty.
func textMember(b []byte, key, value string) []byte {
	if value == "" {
		return b
	}
	return append(canon.AppendString(append(canon.AppendString(b, key), ':'), value), ',')
}

// textsMember is textMember with a list of texts, unless that is empty.
func textsMember(b []byte, key string, texts []string) []byte {
	if len(texts) == 0 {
		return b
	}
	b = append(canon.AppendString(b, key), ":["...)
	for i, text := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = canon.AppendString(b, text)
	}
	return append(b, "],"...)
}

// serverWords is a server's name for people; "" is ourselves.
func serverWords(name string) string {
	if name == "" {
		return "sallyport itself"
	}
	return name
}

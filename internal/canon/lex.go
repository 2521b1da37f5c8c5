package canon

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Eight bytes of a string are looked at as one word. In each mask below the lowest byte that matches has its top bit
// set and no byte below it has; what stands above a match is not to be relied on, since subtraction borrows.
const (
	ones  = 0x0101010101010101
	tops  = 0x80 * ones
	quote = '"' * ones
	slash = '\\' * ones
)

// plain returns the offset of the first byte from i on that is not plain ASCII within a string: a quote, a backslash, a
// control character or part of a longer rune. It is len(text) if there is none.
func plain(text []byte, i int) int {
	for ; i <= len(text)-8; i += 8 {
		if m := notPlain(text[i:]); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(text) && isPlain(text[i]) {
		i++
	}
	return i
}

// notPlain is the mask of the bytes that are not plain among the first eight of text.
func notPlain(text []byte) uint64 {
	w := binary.LittleEndian.Uint64(text)
	// Flipping bit 1 makes the quote 0x20, so that it lies with the control characters below the rest. What is not ASCII
	// keeps its top bit in one of the two.
	low := (w ^ 2*ones) - 0x21*ones
	return (low | ((w ^ slash) - ones)) & tops
}

func isPlain(c byte) bool { return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' }

// skipString returns the end of the string whose opening quote is at i. The string must have been checked.
func skipString(text []byte, i int) int {
	i++
	for long := i + 256; i < long; {
		for i+8 <= len(text) {
			w := binary.LittleEndian.Uint64(text[i:])
			m := (((w ^ quote) - ones) | ((w ^ slash) - ones)) &^ w & tops
			if m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i += 2
		default:
			i++
		}
	}
	return skipLongString(text, i)
}

// skipLongString goes from quote to quote, since a long text has escapes in every line. i is not behind a backslash that
// escapes.
func skipLongString(text []byte, i int) int {
	start := i
	for {
		i += bytes.IndexByte(text[i:], '"')
		escapes := 0
		for i-escapes > start && text[i-1-escapes] == '\\' {
			escapes++
		}
		i++
		if escapes%2 == 0 {
			return i
		}
	}
}

// skip returns the end of the value that starts at i. The value must have been checked.
func skip(text []byte, i int) int {
	depth := 0
	for {
		switch text[i] {
		case '"':
			i = skipString(text, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
			continue // only within a container
		default:
			for i < len(text) && !ends[text[i]] {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}

// ends are the bytes that may follow a number or a literal.
var ends = [256]bool{',': true, ']': true, '}': true, ' ': true, '\t': true, '\n': true, '\r': true}

func skipSpace(text []byte, i int) int {
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func digits(text []byte, i int) int {
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	return i
}

// hex4 reads the four hexadecimal digits that text starts with.
func hex4(text []byte) (rune, bool) {
	if len(text) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range text[:4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape appends the contents of a string, given without its quotes and checked, with all escapes resolved.
func unescape(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		r, size := unescapeRune(raw[i:])
		dst = utf8.AppendRune(dst, r)
		raw = raw[i+size:]
	}
}

// unescapeRune resolves the checked escape sequence that raw starts with, and gives its length.
func unescapeRune(raw []byte) (r rune, size int) {
	switch c := raw[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, _ = hex4(raw[2:])
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
			low, _ := hex4(raw[8:])
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6 // half of a pair: Parse refuses it, and Skim does not
	default:
		return rune(c), 2
	}
}

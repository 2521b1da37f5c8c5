package canon

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// AppendCanonical appends the canonical spelling of v to dst. It refuses an absent value, and a number whose float is
// infinite; the error is an *Error whose offset is one in v.Bytes(), and nothing is appended.
func (v Value) AppendCanonical(dst []byte) ([]byte, error) {
	if !v.Exists() {
		return dst, syntax(0, "no value")
	}
	out, err := appendCanonical(dst, v.raw, 0)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// Digest returns the SHA-256 of the canonical spelling of v in lower-case hexadecimal. It fails where AppendCanonical
// does.
func (v Value) Digest() (string, error) {
	canonical, err := v.AppendCanonical(make([]byte, 0, len(v.raw)))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

// appendCanonical appends the canonical spelling of the value at i in a checked text.
func appendCanonical(dst, text []byte, i int) ([]byte, error) {
	e := encoder{text: text}
	dst, _, err := e.value(dst, i)
	if err != nil {
		return nil, err
	}
	return dst, nil
}

// encoder spells a checked text canonically.
type encoder struct {
	text    []byte
	members stack[member] // those of all open objects, outermost first
}

// member is a member of an object as it stands in the output.
type member struct {
	start, keyEnd, end int
	prefix             uint64 // the first bytes of the unescaped key, as a number: where two differ, so they sort
}

// value appends the value at i and gives its end in the text. Its depth is that of the text, which is bounded.
func (e *encoder) value(dst []byte, i int) ([]byte, int, error) {
	switch e.text[i] {
	case '{':
		return e.object(dst, i)
	case '[':
		return e.array(dst, i)
	case '"':
		end := skipString(e.text, i)
		return appendString(dst, e.text[i:end]), end, nil
	case 't', 'f', 'n':
		end := skip(e.text, i)
		return append(dst, e.text[i:end]...), end, nil
	default:
		return e.number(dst, i)
	}
}

func (e *encoder) array(dst []byte, i int) ([]byte, int, error) {
	dst = append(dst, '[')
	for i = skipSpace(e.text, i+1); e.text[i] != ']'; {
		if e.text[i] == ',' {
			dst = append(dst, ',')
			i = skipSpace(e.text, i+1)
		}
		var err error
		if dst, i, err = e.value(dst, i); err != nil {
			return dst, i, err
		}
		i = skipSpace(e.text, i)
	}
	return append(dst, ']'), i + 1, nil
}

// object appends the members in the order of the text and sorts them afterwards, where they are not sorted already:
// so each value is read once, however deep it stands.
func (e *encoder) object(dst []byte, i int) ([]byte, int, error) {
	base, inOrder := e.members.n, true
	dst = append(dst, '{')
	for i = skipSpace(e.text, i+1); e.text[i] != '}'; {
		if e.text[i] == ',' {
			dst = append(dst, ',')
			i = skipSpace(e.text, i+1)
		}
		m := member{start: len(dst)}
		end := skipString(e.text, i)
		dst = appendString(dst, e.text[i:end])
		m.keyEnd = len(dst)
		m.prefix = keyPrefix(dst[m.start+1 : m.keyEnd-1])
		dst = append(dst, ':')
		i = skipSpace(e.text, end)
		var err error
		if dst, i, err = e.value(dst, skipSpace(e.text, i+1)); err != nil {
			return dst, i, err
		}
		m.end = len(dst)
		if inOrder && e.members.n > base {
			inOrder = compareMembers(dst, *e.members.top(), m) < 0
		}
		e.members.push(m)
		i = skipSpace(e.text, i)
	}
	if !inOrder {
		dst = sortMembers(dst, e.members.from(base))
	}
	e.members.cut(base)
	return append(dst, '}'), i + 1, nil
}

// sortMembers puts the members that dst ends with, and the commas between them, in order.
func sortMembers(dst []byte, members []member) []byte {
	start, end := members[0].start, len(dst)
	slices.SortFunc(members, func(a, b member) int { return compareMembers(dst, a, b) })
	for _, m := range members {
		dst = append(dst, dst[m.start:m.end]...)
		dst = append(dst, ',')
	}
	copy(dst[start:end], dst[end:])
	return dst[:end]
}

func compareMembers(dst []byte, a, b member) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	return compareKeys(dst[a.start+1:a.keyEnd-1], dst[b.start+1:b.keyEnd-1])
}

func keyPrefix(raw []byte) uint64 {
	var buf [64]byte
	copy(buf[:8], raw)
	if bytes.IndexByte(raw, '\\') >= 0 {
		clear(buf[:8])
		copy(buf[:8], unescape(buf[8:8], raw))
	}
	return binary.BigEndian.Uint64(buf[:8])
}

func (e *encoder) number(dst []byte, i int) ([]byte, int, error) {
	end := skip(e.text, i)
	raw := e.text[i:end]
	switch {
	case string(raw) == "-0":
		return append(dst, '0'), end, nil
	case bytes.ContainsAny(raw, ".eE"):
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			return dst, i, rangeError(i)
		}
		return appendFloat(dst, f), end, nil
	}
	return append(dst, raw...), end, nil
}

func rangeError(i int) *Error {
	return &Error{Reason: Range, Offset: i, Detail: "number too large for a float"}
}

// appendFloat appends a finite float as Python's repr spells it: the shortest digits that give it back, with an
// exponent if that is below -4 or above 15, and always with a sign that it is a float.
func appendFloat(dst []byte, f float64) []byte {
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if bytes.IndexByte(dst[start:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// AppendString appends s as a canonical JSON string, with its quotes. What is not UTF-8 in s becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0 // how much of s has been appended
	for i := 0; i < len(s); {
		if isPlain(s[i]) {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		dst = append(dst, s[done:i]...)
		dst = appendRune(dst, r)
		i += size
		done = i
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

// appendString appends a checked string, given with its quotes, in canonical spelling.
func appendString(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		r, size := unescapeRune(raw[i:])
		dst = appendRune(dst, r)
		raw = raw[i+size:]
	}
}

// appendRune appends a rune as it is spelt within a canonical string.
func appendRune(dst []byte, r rune) []byte {
	if r == '"' || r == '\\' {
		return append(dst, '\\', byte(r))
	}
	if r >= ' ' {
		return utf8.AppendRune(dst, r)
	}
	if c := short[r]; c != 0 {
		return append(dst, '\\', c)
	}
	const hexDigits = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
}

// short holds the letters of the control characters that have a short escape.
var short = [' ']byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

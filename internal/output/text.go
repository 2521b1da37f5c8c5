package output

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// text is the content of a JSON string, its escapes resolved, which knows where in the JSON each part of it stands.
type text struct {
	key     []byte // of the member whose value the string is; nil if it is none, or is a key
	raw     []byte // without the quotes
	decoded []byte // half a surrogate pair is U+FFFD

	// A place in raw and the same one in decoded: places are asked for in order, mostly.
	rawPlace, place int
}

// edit puts a text in the place of a part of a decoded text.
type edit struct {
	from, to int
	with     string // has no characters that JSON escapes
}

// rewrite returns the JSON in raw, which was proved to be some, with what find wants changed in its strings; raw itself
// where it wants nothing. The edits of a string come in order and do not overlap. It goes through the tokens without
// regard to what stands in what, so that depth costs nothing.
func rewrite(raw []byte, find func(t *text) []edit) []byte {
	var out []byte
	copied := 0
	var key []byte
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '"':
		case ',', '{', '[', ']', '}':
			key = nil
			i++
			continue
		default:
			i++
			continue
		}
		end := endOfString(raw, i)
		isKey := followedByColon(raw, end)
		t := text{key: key, raw: raw[i+1 : end-1]}
		t.decode()
		if edits := find(&t); len(edits) > 0 {
			if out == nil {
				out = make([]byte, 0, len(raw)+64)
			}
			for _, e := range edits {
				out = append(out, raw[copied:i+1+t.rawAt(e.from)]...)
				out = append(out, e.with...)
				copied = i + 1 + t.rawAt(e.to)
			}
		}
		if key = nil; isKey {
			key = t.decoded
		}
		i = end
	}
	if out == nil {
		return raw
	}
	return append(out, raw[copied:]...)
}

// endOfString returns where a string that begins at i ends, behind its closing quote.
func endOfString(raw []byte, i int) int {
	quote := i // the next one, where it is behind i
	for i++; ; {
		if quote < i {
			quote = i + bytes.IndexByte(raw[i:], '"')
		}
		backslash := bytes.IndexByte(raw[i:quote], '\\')
		if backslash < 0 {
			return quote + 1
		}
		i += backslash + 2
	}
}

func followedByColon(raw []byte, i int) bool {
	for ; i < len(raw); i++ {
		switch raw[i] {
		case ' ', '\t', '\n', '\r':
		default:
			return raw[i] == ':'
		}
	}
	return false
}

// decode resolves the escapes.
func (t *text) decode() {
	raw := t.raw
	i := bytes.IndexByte(raw, '\\')
	if i < 0 {
		t.decoded = raw
		return
	}
	t.decoded = append(make([]byte, 0, len(raw)), raw[:i]...)
	for i < len(raw) {
		if raw[i] == '\\' {
			r, size := unescape(raw[i:])
			t.decoded = utf8.AppendRune(t.decoded, r)
			i += size
			continue
		}
		n := bytes.IndexByte(raw[i:], '\\')
		if n < 0 {
			n = len(raw) - i
		}
		t.decoded = append(t.decoded, raw[i:i+n]...)
		i += n
	}
}

// unescape returns what the escape that raw begins with stands for, half a pair too, and its length.
func unescape(raw []byte) (rune, int) {
	switch raw[1] {
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
		r := hex4(raw[2:6])
		if utf16.IsSurrogate(r) && len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
			if whole := utf16.DecodeRune(r, hex4(raw[8:12])); whole != utf8.RuneError {
				return whole, 12
			}
		}
		return r, 6
	default:
		return rune(raw[1]), 2
	}
}

func hex4(digits []byte) rune {
	var r rune
	for _, c := range digits {
		switch {
		case c <= '9':
			c -= '0'
		default:
			c = c | 0x20 - 'a' + 10
		}
		r = r<<4 | rune(c)
	}
	return r
}

// rawAt returns where in raw a place of the decoded text is. A place within what an escape stands for is where that begins.
func (t *text) rawAt(at int) int {
	if at < t.place {
		t.rawPlace, t.place = 0, 0
	}
	for t.place < at {
		if t.raw[t.rawPlace] != '\\' {
			n := bytes.IndexByte(t.raw[t.rawPlace:t.rawPlace+at-t.place], '\\')
			if n < 0 {
				n = at - t.place
			}
			t.rawPlace += n
			t.place += n
			continue
		}
		r, size := unescape(t.raw[t.rawPlace:])
		if utf16.IsSurrogate(r) {
			r = utf8.RuneError
		}
		if t.place+utf8.RuneLen(r) > at {
			break
		}
		t.rawPlace += size
		t.place += utf8.RuneLen(r)
	}
	return t.rawPlace
}

// halfAt returns the half of a surrogate pair that stands at a place of the decoded text, or 0.
func (t *text) halfAt(at int) rune {
	i := t.rawAt(at)
	if t.raw[i] != '\\' {
		return 0
	}
	if r, _ := unescape(t.raw[i:]); utf16.IsSurrogate(r) {
		return r
	}
	return 0
}

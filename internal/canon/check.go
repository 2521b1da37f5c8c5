package canon

import (
	"bytes"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// CheckObject proves in one pass that line is, byte for byte, the canonical spelling of an object. It gives each
// member of that object, not of those within it, to visit in turn: the key as it stands, without its quotes; the value
// as it stands; and where in line the member stands, without the commas round it. What was visited holds only if the
// error is nil; visit may be nil. CheckObject allocates nothing for a line that passes.
//
// An error is an *Error and says what Parse says of the line, or NotCanonical if it is JSON that Parse takes.
func CheckObject(line []byte, visit func(key, value []byte, start, end int)) error {
	c := checker{text: line}
	if c.at(0) != '{' {
		c.refuse(0, "not an object")
	} else if end := c.object(0, 1, visit); end != failed && end < len(line) {
		c.unexpected(end)
	}
	if c.err == nil {
		return nil
	}
	if _, err := Parse(line); err != nil {
		return err
	}
	return c.err
}

// checker walks a line that is to be canonical, and refuses whatever it does not know at once. Its methods check what
// stands at an offset and return the offset behind it, or failed.
type checker struct {
	text []byte
	err  *Error
}

const failed = -1

func (c *checker) refuse(i int, detail string) int {
	c.err = &Error{Reason: NotCanonical, Offset: i, Detail: detail}
	return failed
}

// unexpected refuses what Parse refuses as well, and in better words. What Parse takes where canonical JSON has to go on
// otherwise can only be white space.
func (c *checker) unexpected(i int) int { return c.refuse(i, "white space") }

// at returns the byte at i, or 0 past the end: a byte that nothing canonical has.
func (c *checker) at(i int) byte {
	if i < len(c.text) {
		return c.text[i]
	}
	return 0
}

// value checks a value that is nested in depth containers.
func (c *checker) value(i, depth int) int {
	switch c.at(i) {
	case '"':
		return c.string(i)
	case '{':
		return c.object(i, depth+1, nil)
	case '[':
		return c.array(i, depth+1)
	case 't':
		return c.literal(i, "true")
	case 'f':
		return c.literal(i, "false")
	case 'n':
		return c.literal(i, "null")
	default:
		return c.number(i)
	}
}

func (c *checker) object(i, depth int, visit func(key, value []byte, start, end int)) int {
	if depth > MaxDepth {
		return c.unexpected(i)
	}
	if c.at(i+1) == '}' {
		return i + 2
	}
	var last []byte // the key before, nil if there is none
	for {
		start := i + 1
		if c.at(start) != '"' {
			return c.unexpected(start)
		}
		colon := c.string(start)
		if colon == failed {
			return failed
		}
		key := c.text[start+1 : colon-1 : colon-1]
		if last != nil && !ascending(last, key) {
			return c.refuse(start, "keys out of order")
		}
		last = key
		if c.at(colon) != ':' {
			return c.unexpected(colon)
		}
		if c.at(colon+1) == '"' { // most values are strings: this spares them a call
			i = c.string(colon + 1)
		} else {
			i = c.value(colon+1, depth)
		}
		if i == failed {
			return failed
		}
		if visit != nil {
			visit(key, c.text[colon+1:i:i], start, i)
		}
		switch c.at(i) {
		case ',':
		case '}':
			return i + 1
		default:
			return c.unexpected(i)
		}
	}
}

func (c *checker) array(i, depth int) int {
	if depth > MaxDepth {
		return c.unexpected(i)
	}
	if c.at(i+1) == ']' {
		return i + 2
	}
	for {
		if i = c.value(i+1, depth); i == failed {
			return failed
		}
		switch c.at(i) {
		case ',':
		case ']':
			return i + 1
		default:
			return c.unexpected(i)
		}
	}
}

// string checks a string. It has the loop of plain within, since a call for each string tells in the whole.
func (c *checker) string(i int) int {
	text := c.text
	for i++; i <= len(text)-8; i += 8 {
		if m := notPlain(text[i:]); m != 0 {
			if i += bits.TrailingZeros64(m) / 8; text[i] == '"' {
				return i + 1
			}
			break
		}
	}
	return c.restOfString(plain(text, i))
}

// restOfString checks a string from i on, where something else than plain ASCII begins.
func (c *checker) restOfString(i int) int {
	for {
		switch b := c.at(i); {
		case b == '"':
			return i + 1
		case b == '\\':
			size := c.escape(i)
			if size == 0 {
				return c.refuse(i, "escape not canonical")
			}
			i += size
		case b < utf8.RuneSelf:
			return c.unexpected(i)
		default:
			_, size := utf8.DecodeRune(c.text[i:])
			if size == 1 {
				return c.unexpected(i)
			}
			i += size
		}
		i = plain(c.text, i)
	}
}

// escape returns the length of the escape sequence at i, or 0 if it is not how its character is spelt canonically.
func (c *checker) escape(i int) int {
	switch c.at(i + 1) {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		var buf [6]byte
		r, ok := hex4(c.text[i+2:])
		if ok && bytes.HasPrefix(c.text[i:], appendRune(buf[:0], r)) {
			return len(buf)
		}
	}
	return 0
}

func (c *checker) number(i int) int {
	first := i
	if c.at(first) == '-' {
		first++
	}
	end := digits(c.text, first)
	switch b := c.at(end); {
	case end == first || c.text[first] == '0' && end > first+1:
		return c.unexpected(i)
	case b == '.' || b|0x20 == 'e':
		return c.float(i, end)
	case c.text[first] == '0' && first > i:
		return c.refuse(i, "number not canonical")
	case end-first > MaxIntDigits:
		return c.unexpected(i)
	}
	return end
}

// float checks a float whose first digits go on to end.
func (c *checker) float(i, end int) int {
	for end < len(c.text) && !ends[c.text[end]] {
		end++
	}
	raw := c.text[i:end]
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		c.err = rangeError(i)
		return failed
	}
	var buf [32]byte
	if !bytes.Equal(appendFloat(buf[:0], f), raw) {
		return c.refuse(i, "number not canonical")
	}
	return end
}

func (c *checker) literal(i int, name string) int {
	if end := i + len(name); end <= len(c.text) && string(c.text[i:end]) == name {
		return end
	}
	return c.unexpected(i)
}

package canon

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Parse reads text, which must be one JSON value with nothing but white space round it. The Value aliases text, which
// must not be changed after. Parse allocates nothing for ordinary texts, and time grows in proportion to the text.
//
// An error is an *Error. It is Malformed if and only if text is not JSON: a text that is refused for another reason is
// still read to its end, to tell. Where several things are wrong, that aside, it is one of them.
func Parse(text []byte) (Value, error) {
	s := scanner{text: text}
	start := skipSpace(text, 0)
	end, err := s.value(start)
	if err != nil {
		return Value{}, err
	}
	if rest := skipSpace(text, end); rest < len(text) {
		return Value{}, s.unexpected(rest)
	}
	if s.refused.reason != 0 {
		return Value{}, refusal(text, s.refused.reason, s.refused.at)
	}
	return Value{raw: text[start:end:end]}, nil
}

// scanner walks a text once. It keeps its own stack rather than recurse, so that it reads texts of any depth.
type scanner struct {
	text    []byte
	open    stack[bool] // the containers round the value at hand: true for an object
	keys    stack[key]  // the keys of the objects among them, outermost first
	base    int         // where in keys those of the innermost object begin
	refused struct {    // the first thing that is JSON but refused; from then on keys are not looked at
		reason Reason
		at     int
	}
}

// value reads the value that starts at i, with all that it contains, and returns its end.
func (s *scanner) value(i int) (int, error) {
	for more := true; more; {
		end, opened, err := s.begin(i)
		if err != nil {
			return end, err
		}
		if i, more, err = s.advance(end, opened); err != nil {
			return i, err
		}
	}
	return i, nil
}

// begin reads what a value at i begins with: a whole scalar, or the bracket that opens a container.
func (s *scanner) begin(i int) (end int, opened bool, err error) {
	switch c := s.at(i); c {
	case '"':
		end, err = s.string(i)
	case '{', '[':
		s.enter(i, c == '{')
		return i + 1, true, nil
	case 't':
		end, err = s.literal(i, "true")
	case 'f':
		end, err = s.literal(i, "false")
	case 'n':
		end, err = s.literal(i, "null")
	default:
		end, err = s.number(i)
	}
	return end, false, err
}

// advance goes on to where the next value starts, from i, where a value has ended or a container has opened. It closes
// the containers that end in between; there are no more values once the outermost has.
func (s *scanner) advance(i int, opened bool) (next int, more bool, err error) {
	for s.open.n > 0 {
		i = skipSpace(s.text, i)
		object, closing := *s.open.top(), byte(']')
		if object {
			closing = '}'
		}
		switch c := s.at(i); {
		case c == closing:
			s.leave()
			i, opened = i+1, false
			continue
		case opened:
		case c == ',':
			i = skipSpace(s.text, i+1)
		default:
			return i, false, s.unexpected(i)
		}
		if object {
			i, err = s.key(i)
		}
		return i, true, err
	}
	return i, false, nil
}

// key reads the key at i, and the colon behind it with the white space round that.
func (s *scanner) key(i int) (int, error) {
	if s.at(i) != '"' {
		return i, s.unexpected(i)
	}
	end, err := s.string(i)
	if err != nil {
		return end, err
	}
	if s.refused.reason == 0 {
		s.keys.push(key{hash: hashKey(s.text[i+1 : end-1]), at: i})
	}
	if end = skipSpace(s.text, end); s.at(end) != ':' {
		return end, s.unexpected(end)
	}
	return skipSpace(s.text, end+1), nil
}

// enter notes that the container at i opens.
func (s *scanner) enter(i int, object bool) {
	if s.open.n == MaxDepth {
		s.refuse(Depth, i)
	}
	s.open.push(object)
	if object && s.refused.reason == 0 {
		s.keys.push(key{at: s.base})
		s.base = s.keys.n
	}
}

// leave notes that the innermost container closes.
func (s *scanner) leave() {
	if *s.open.top() && s.refused.reason == 0 {
		s.checkKeys(s.keys.from(s.base))
		outer := s.keys.from(s.base - 1)[0].at
		s.keys.cut(s.base - 1)
		s.base = outer
	}
	s.open.cut(s.open.n - 1)
}

// string reads the string whose opening quote is at i.
func (s *scanner) string(i int) (int, error) {
	i++
	for {
		i = plain(s.text, i)
		if i == len(s.text) {
			return i, s.unexpected(i)
		}
		switch c := s.text[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			end, err := s.escape(i)
			if err != nil {
				return end, err
			}
			i = end
		case c < utf8.RuneSelf:
			return i, syntax(i, fmt.Sprintf("raw %q in a string", c))
		default:
			_, size := utf8.DecodeRune(s.text[i:])
			if size == 1 {
				return i, s.unexpected(i)
			}
			i += size
		}
	}
}

// escape reads the escape sequence at i; a surrogate pair is one.
func (s *scanner) escape(i int) (int, error) {
	if i+1 == len(s.text) {
		return i, s.unexpected(i + 1)
	}
	switch s.text[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, nil
	case 'u':
	default:
		return i, syntax(i, "invalid escape")
	}
	unit, ok := hex4(s.text[i+2:])
	if !ok {
		return i, syntax(i, "invalid escape")
	}
	if unit < 0xD800 || unit > 0xDFFF {
		return i + 6, nil
	}
	if unit < 0xDC00 && len(s.text) >= i+12 && s.text[i+6] == '\\' && s.text[i+7] == 'u' {
		if low, ok := hex4(s.text[i+8:]); ok && low >= 0xDC00 && low <= 0xDFFF {
			return i + 12, nil
		}
	}
	s.refuse(Surrogate, i)
	return i + 6, nil
}

// number reads the number at i, or finds that none is there.
func (s *scanner) number(i int) (int, error) {
	first := i
	if s.at(i) == '-' {
		first++
	}
	whole := digits(s.text, first)
	if whole == first || s.text[first] == '0' && whole > first+1 {
		return first, s.unexpected(min(whole, first+1))
	}
	end := whole
	if s.at(end) == '.' {
		fraction := end + 1
		if end = digits(s.text, fraction); end == fraction {
			return end, s.unexpected(end)
		}
	}
	if s.at(end)|0x20 == 'e' {
		exponent := end + 1
		if c := s.at(exponent); c == '+' || c == '-' {
			exponent++
		}
		if end = digits(s.text, exponent); end == exponent {
			return end, s.unexpected(end)
		}
	}
	if end == whole && whole-first > MaxIntDigits {
		s.refuse(Range, i)
	}
	return end, nil
}

func (s *scanner) literal(i int, name string) (int, error) {
	for j := range len(name) {
		if i+j == len(s.text) || s.text[i+j] != name[j] {
			return i, s.unexpected(i + j)
		}
	}
	return i + len(name), nil
}

// at returns the byte at i, or 0 past the end: a byte that no JSON has outside strings, nor raw within them.
func (s *scanner) at(i int) byte {
	if i < len(s.text) {
		return s.text[i]
	}
	return 0
}

// refuse notes something that is JSON but that we do not take.
func (s *scanner) refuse(reason Reason, i int) {
	if s.refused.reason == 0 {
		s.refused.reason, s.refused.at = reason, i
	}
}

// refusal is the error for what refuse noted.
func refusal(text []byte, reason Reason, i int) *Error {
	e := &Error{Reason: reason, Offset: i}
	switch reason {
	case Surrogate:
		e.Detail = "half of a surrogate pair"
	case Duplicate:
		e.Detail = "duplicate key " + shorten(contents(keyAt(text, i)))
	case Depth:
		e.Detail = fmt.Sprintf("nesting deeper than %d", MaxDepth)
	case Range:
		e.Detail = fmt.Sprintf("integer of more than %d digits", MaxIntDigits)
	}
	return e
}

// shorten quotes a key for a message.
func shorten(key string) string {
	const most = 40
	n := 0
	for i := range key {
		if n++; n > most {
			return strconv.Quote(key[:i]) + "..."
		}
	}
	return strconv.Quote(key)
}

// unexpected is the error for a text that ends at i or has a byte there that cannot be.
func (s *scanner) unexpected(i int) error {
	if i >= len(s.text) {
		return syntax(len(s.text), "unexpected end")
	}
	r, size := utf8.DecodeRune(s.text[i:])
	switch {
	case r == utf8.RuneError && size == 1:
		return &Error{Reason: Encoding, Offset: i, Detail: "invalid UTF-8"}
	case r == '\uFEFF' && i == 0:
		return syntax(i, "byte order mark")
	}
	return syntax(i, fmt.Sprintf("unexpected %q", r))
}

func syntax(i int, detail string) error {
	return &Error{Reason: Syntax, Offset: i, Detail: detail}
}

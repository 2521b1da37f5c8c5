package upstream

import (
	"bytes"

	"sallyport/internal/canon"
)

// glimpse tells which request a response that could not be read whole would have answered, from the two ends of its line:
// the bytes of the id, or nil where that is not certain. The line need not be JSON, but if it is, the id is the one that
// a reader of the whole would find.
func glimpse(head, tail []byte) []byte {
	seen, whole := lookAtHead(head)
	switch {
	case !seen.answers || seen.method || seen.odd || seen.ids > 1:
		return nil
	case seen.ids == 1:
		return seen.id
	case whole:
		return nil
	}
	return idAtEnd(tail)
}

// sight is what was seen of the outermost object of a message.
type sight struct {
	id      []byte
	ids     int
	method  bool // it has a method, so it answers nothing
	answers bool // it has a result or an error
	odd     bool // it has a key that may mean one of these in other clothes
}

// lookAtHead looks at the keys of the outermost object as far as head goes; whole says that the object ended there.
func lookAtHead(head []byte) (s sight, whole bool) {
	i := skipSpace(head, 0)
	if i == len(head) || head[i] != '{' {
		s.odd = true
		return s, false
	}
	depth, key := 0, false // key: a string that comes now is a key of the outermost object
	for ; i < len(head); i++ {
		switch head[i] {
		case '{', '[':
			depth++
			key = depth == 1
		case '}', ']':
			if depth--; depth == 0 {
				return s, true
			}
		case ',':
			key = depth == 1
		case '"':
			end := stringEnd(head, i)
			if end < 0 {
				return s, false
			}
			if key {
				s.note(head[i+1:end-1], head[end:])
			}
			key = false
			i = end - 1
		}
	}
	return s, false
}

// note takes in a key as it is spelt, and what comes behind it.
func (s *sight) note(key, rest []byte) {
	switch {
	case bytes.IndexByte(key, '\\') >= 0:
		s.odd = true
	case string(key) == "method":
		s.method = true
	case string(key) == "result", string(key) == "error":
		s.answers = true
	case string(key) == "id":
		s.ids++
		s.id = scalarBehindColon(rest)
		s.odd = s.odd || s.id == nil
	}
}

// scalarBehindColon returns the string or number that a member whose key has just ended has as its value; nil if it is
// cut off or something else.
func scalarBehindColon(rest []byte) []byte {
	i := skipSpace(rest, 0)
	if i == len(rest) || rest[i] != ':' {
		return nil
	}
	rest = rest[skipSpace(rest, i+1):]
	if len(rest) == 0 {
		return nil
	}
	end := 0
	if rest[0] == '"' {
		if end = stringEnd(rest, 0); end < 0 {
			return nil
		}
	} else {
		for end < len(rest) && isNumeric(rest[end]) {
			end++
		}
		if end == 0 || end == len(rest) || bytes.IndexByte([]byte(",} \t\r\n"), rest[end]) < 0 { // it may go on
			return nil
		}
	}
	return rest[:end]
}

// idAtEnd returns the id that stands among the last members of the outermost object, behind everything that is nested.
// No bracket may stand between it and the end, so it can only be the outermost object's.
func idAtEnd(tail []byte) []byte {
	tail = bytes.TrimRight(tail, " \t\r\n")
	if len(tail) == 0 || tail[len(tail)-1] != '}' {
		return nil
	}
	tail = tail[:len(tail)-1]
	for {
		tail = bytes.TrimRight(tail, " \t\r\n")
		value := scalarAtEnd(tail)
		if value == nil {
			return nil
		}
		tail = bytes.TrimRight(tail[:len(tail)-len(value)], " \t\r\n")
		if len(tail) == 0 || tail[len(tail)-1] != ':' {
			return nil
		}
		tail = bytes.TrimRight(tail[:len(tail)-1], " \t\r\n")
		key := scalarAtEnd(tail)
		tail = bytes.TrimRight(tail[:len(tail)-len(key)], " \t\r\n")
		switch {
		case len(tail) == 0 || tail[len(tail)-1] != ',': // the key may be cut off, or the first one
			return nil
		case string(key) == `"id"`:
			return value
		case string(key) != `"jsonrpc"`:
			return nil
		}
		tail = tail[:len(tail)-1]
	}
}

// scalarAtEnd returns the string or number that text ends with, nil if it ends with neither.
func scalarAtEnd(text []byte) []byte {
	end := len(text)
	if end > 0 && text[end-1] == '"' {
		for i := end - 2; i >= 0; i-- {
			if text[i] == '"' && !escaped(text, i) {
				return text[i:]
			}
		}
		return nil
	}
	start := end
	for start > 0 && isNumeric(text[start-1]) {
		start--
	}
	if start == end || start == 0 {
		return nil
	}
	return text[start:]
}

// escaped reports whether an odd number of backslashes stands before the byte at i.
func escaped(text []byte, i int) bool {
	n := 0
	for n < i && text[i-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// stringEnd returns the end of the JSON string whose opening quote is at i, -1 if text ends before.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

func isNumeric(c byte) bool { return c >= '0' && c <= '9' || c == '-' }

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}

// keyOf makes an id or a token comparable: a string and a number are never equal, and a string is what it means, however
// it is escaped. What means nothing, half a surrogate pair, is compared as it is spelt.
func keyOf(v canon.Value) string { return keyOfBytes(v.Bytes()) }

func keyOfBytes(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return "n" + string(raw)
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		if strict, err := canon.Parse(raw); err == nil {
			text, _ := strict.Text()
			return "s" + text
		}
	}
	return "s" + string(raw[1:len(raw)-1])
}

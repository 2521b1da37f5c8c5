package wire

import "sallyport/internal/canon"

// glance tells what it can of a message that is JSON which canon refuses, so that the refusal reaches the request that
// it is about. It looks only at the keys of the outermost object: an id is believed if there is exactly one, and a
// message that has none is a notification if it has exactly one method, a string.
//
// line must be JSON, of which a canon.Error that is not Malformed is the proof.
func glance(line []byte) Message {
	var (
		id, method   canon.Value
		ids, methods int
		depth        int
		key          bool // a string that comes now is a key of the outermost object
	)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '{', '[':
			if depth == 0 && c == '[' {
				return Message{}
			}
			depth++
			key = depth == 1
		case '}', ']':
			depth--
		case ',':
			key = depth == 1
		case '"':
			end := stringEnd(line, i)
			if key {
				switch name := stringText(line[i:end]); {
				case name == "id":
					id, ids = memberValue(line[end:]), ids+1
				case name == "method":
					method, methods = memberValue(line[end:]), methods+1
				case lookalike(name, envelopeKeys) != "":
					return Message{}
				}
			}
			key = false
			i = end - 1
		}
	}
	switch {
	case ids == 1 && validID(id):
		return Message{ID: id}
	case ids == 0 && methods == 1 && method.Kind() == canon.String:
		return Message{Kind: Notification}
	}
	return Message{}
}

// stringEnd returns the end of the JSON string whose opening quote is at i.
func stringEnd(line []byte, i int) int {
	for i++; line[i] != '"'; i++ {
		if line[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// stringText returns what the JSON string raw means; "" also if canon refuses it.
func stringText(raw []byte) string {
	v, err := canon.Parse(raw)
	if err != nil {
		return ""
	}
	text, _ := v.Text()
	return text
}

// memberValue returns the string or the number behind the colon that rest begins with; it is absent if another value is
// there, or one that canon refuses.
func memberValue(rest []byte) canon.Value {
	start := 0
	for isSpace(rest[start]) || rest[start] == ':' {
		start++
	}
	end := start
	switch c := rest[start]; {
	case c == '"':
		end = stringEnd(rest, start)
	case c == '-' || c >= '0' && c <= '9':
		for rest[end] != ',' && rest[end] != '}' && !isSpace(rest[end]) {
			end++
		}
	}
	v, err := canon.Parse(rest[start:end])
	if err != nil {
		return canon.Value{}
	}
	return v
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

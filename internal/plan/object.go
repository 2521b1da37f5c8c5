package plan

import (
	"maps"
	"slices"
	"strconv"

	"sallyport/internal/canon"
)

// object is a JSON object whose members are canonical JSON already; its bytes are canonical too. Members that are nil are left
// out.
type object map[string][]byte

func (o object) bytes() []byte {
	out := []byte{'{'}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if o[key] == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(canon.AppendString(out, key), ':')
		out = append(out, o[key]...)
	}
	return append(out, '}')
}

// quoted is a text as canonical JSON.
func quoted(text string) []byte { return canon.AppendString(nil, text) }

// word is quoted, or nil for a text that is empty.
func word(text string) []byte {
	if text == "" {
		return nil
	}
	return quoted(text)
}

// yes is true as JSON, or nil for false.
func yes(b bool) []byte {
	if b {
		return []byte("true")
	}
	return nil
}

func number(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

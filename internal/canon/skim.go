package canon

// Skim reads text as Parse does, but takes all that is JSON: duplicate keys, half surrogate pairs, any depth and any
// number too. It is for what is only passed on, where no reader's idea of it must matter. Of its Value only Bytes, Kind,
// Members and Elements are to be relied on, and Members yields a key as often as it is there. Text that is no JSON, or
// no UTF-8, is refused as by Parse.
func Skim(text []byte) (Value, error) {
	s := scanner{text: text}
	start := skipSpace(text, 0)
	end, err := s.value(start)
	if err != nil {
		return Value{}, err
	}
	if rest := skipSpace(text, end); rest < len(text) {
		return Value{}, s.unexpected(rest)
	}
	return Value{raw: text[start:end:end]}, nil
}

// Edit puts other bytes in the place of a value.
type Edit struct {
	Old Value  // a view of the text that is edited; not absent
	New []byte // JSON, or nothing to take away what is there
}

// Splice returns text with edits made, none of which may overlap another one, in any order. All other bytes stay as
// they are. It panics if an Old is no view of text.
func Splice(text []byte, edits ...Edit) []byte {
	size := len(text)
	places := make([]int, len(edits))
	for i, e := range edits {
		places[i] = e.Old.mustOffsetIn(text)
		size += len(e.New) - len(e.Old.raw)
	}
	out := make([]byte, 0, size)
	for from := 0; ; {
		next := -1
		for i, at := range places {
			if at >= from && (next < 0 || at < places[next]) {
				next = i
			}
		}
		if next < 0 {
			return append(out, text[from:]...)
		}
		out = append(out, text[from:places[next]]...)
		out = append(out, edits[next].New...)
		from = places[next] + len(edits[next].Old.raw)
	}
}

func (v Value) mustOffsetIn(text []byte) int {
	at := v.offsetIn(text)
	if at < 0 {
		panic("canon: a value that is no view of the text")
	}
	return at
}

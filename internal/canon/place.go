package canon

import (
	"bytes"
	"unicode/utf8"
)

// OffsetIn returns where in text, of which v is a part, v begins; 0 if it is no part of it. The first byte is found by
// identity, which walks the text: it is for the one error that ends the reading.
func (v Value) OffsetIn(text []byte) int {
	for i := range text {
		if len(v.raw) > 0 && &text[i] == &v.raw[0] {
			return i
		}
	}
	return 0
}

// Place returns the line and the column of the byte at offset, both from 1, as people count them: columns in code points.
// The end of the text is the place of what is missing there.
func Place(text []byte, offset int) (line, column int) {
	before := text[:min(max(offset, 0), len(text))]
	lineStart := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[lineStart:]) + 1
}

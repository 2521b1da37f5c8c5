package canon

import (
	"bytes"
	"unicode/utf8"
	"unsafe"
)

// OffsetIn returns where in text, of which v is a part, v begins; 0 if it is no part of it.
func (v Value) OffsetIn(text []byte) int { return max(v.offsetIn(text), 0) }

// offsetIn is OffsetIn, and -1 for what is no part of the text.
func (v Value) offsetIn(text []byte) int {
	if len(v.raw) == 0 || len(text) == 0 {
		return -1
	}
	at := uintptr(unsafe.Pointer(&v.raw[0])) - uintptr(unsafe.Pointer(&text[0])) // wraps to a huge one if v is before
	if at > uintptr(len(text)-len(v.raw)) || len(v.raw) > len(text) {
		return -1
	}
	return int(at)
}

// Place returns the line and the column of the byte at offset, both from 1, as people count them: columns in code points.
// The end of the text is the place of what is missing there.
func Place(text []byte, offset int) (line, column int) {
	before := text[:min(max(offset, 0), len(text))]
	lineStart := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[lineStart:]) + 1
}

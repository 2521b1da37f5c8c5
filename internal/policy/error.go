package policy

import (
	"bytes"
	"fmt"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/cond"
)

// Error is a policy file that cannot be used.
type Error struct {
	File string // as given to Parse
	Line int    // from 1
	Col  int    // from 1, in characters (Unicode code points)
	Msg  string // what is wrong
	Hint string // what to try; may be empty
}

// Error returns the place and what is wrong there; the hint is left for the caller to show.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// errorAt blames a value.
func (d document) errorAt(v canon.Value, msg, hint string) error {
	return d.errorAtOffset(v.OffsetIn(d.text), msg, hint)
}

// errorAtKey blames the key of a member by the member's value.
func (d document) errorAtKey(v canon.Value, msg, hint string) error {
	return d.errorAtOffset(d.keyOffset(v), msg, hint)
}

// errorAtOffset blames the byte at offset; the end of the text is the place of what is missing there.
func (d document) errorAtOffset(offset int, msg, hint string) error {
	line, column := d.place(offset)
	return &Error{File: d.name, Line: line, Col: column, Msg: msg, Hint: hint}
}

// place returns where in the file stands what is at an offset of the text.
func (d document) place(offset int) (line, column int) {
	if d.yaml != nil {
		return d.yaml.Place(offset)
	}
	return canon.Place(d.text, offset)
}

// unknown blames a key that is not one of the known ones and says which one may be meant.
func (d document) unknown(what, key string, v canon.Value, known []string) error {
	hint := "known here: " + strings.Join(known, ", ")
	if meant := cond.Nearest(key, known); meant != "" {
		hint = fmt.Sprintf("did you mean %q?", meant)
	}
	return d.errorAtKey(v, fmt.Sprintf("unknown %s %q", what, key), hint)
}

// keyOffset returns where the key of the member with that value begins. Going back from the value, the key ends at the
// nearest quote, and begins at the next one that no backslash escapes.
func (d document) keyOffset(v canon.Value) int {
	for i := bytes.LastIndexByte(d.text[:v.OffsetIn(d.text)], '"') - 1; i > 0; i-- {
		if d.text[i] == '"' && d.text[i-1] != '\\' {
			return i
		}
	}
	return 0
}

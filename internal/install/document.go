package install

import (
	"bytes"
	"errors"
	"fmt"

	"sallyport/internal/canon"
)

// document is the text of a settings file that was proved to be a strict JSON object.
type document struct {
	text []byte
	root canon.Value
}

// item is a member of an object, its key included, or an element of an array, as it stands in a text.
type item struct {
	key        string // of a member
	start, end int
	value      canon.Value
}

func parse(text []byte) (*document, error) {
	d := &document{text: text}
	if bytes.HasPrefix(text, []byte("\uFEFF")) {
		return nil, d.errorAt(0, "the file begins with a byte order mark", "save it as UTF-8 without one")
	}
	root, err := canon.Parse(text)
	if err != nil {
		return nil, d.refused(err)
	}
	if root.Kind() != canon.Object {
		return nil, d.errorAt(root.OffsetIn(text), "the settings are not a JSON object", "")
	}
	d.root = root
	return d, nil
}

// errorAt blames the byte at an offset.
func (d *document) errorAt(offset int, msg, hint string) error {
	line, col := canon.Place(d.text, offset)
	return &Error{Line: line, Col: col, Msg: msg, Hint: hint}
}

// refused says in words for people why canon refused the text.
func (d *document) refused(err error) error {
	e, ok := errors.AsType[*canon.Error](err)
	if !ok {
		return &Error{Msg: err.Error()}
	}
	rest := d.text[min(e.Offset, len(d.text)):]
	switch {
	case e.Reason == canon.Duplicate:
		return d.errorAt(e.Offset, e.Detail+": a host would read only one of the two", "merge them by hand, then try again")
	case e.Reason == canon.Encoding:
		return d.errorAt(e.Offset, e.Detail, "save it as UTF-8")
	case e.Reason != canon.Syntax:
		return d.errorAt(e.Offset, e.Detail, "")
	case bytes.HasPrefix(rest, []byte("//")), bytes.HasPrefix(rest, []byte("/*")):
		return d.errorAt(e.Offset, "a comment: only strict JSON is edited, so that nothing in it gets lost",
			"take the comments out, or put the entry in by hand")
	case bytes.HasPrefix(rest, []byte("}")), bytes.HasPrefix(rest, []byte("]")):
		return d.errorAt(e.Offset, "not strict JSON: "+e.Detail, "is there a comma behind the last value?")
	}
	return d.errorAt(e.Offset, "not JSON: "+e.Detail, "mend the file first; a host may be ignoring all of it")
}

// items returns what is in an object or array, in order.
func (d *document) items(v canon.Value) []item {
	var items []item
	at := v.OffsetIn(d.text) + 1
	add := func(key string, value canon.Value) {
		for isSpace(d.text[at]) || d.text[at] == ',' {
			at++
		}
		end := value.OffsetIn(d.text) + len(value.Bytes())
		items = append(items, item{key: key, start: at, end: end, value: value})
		at = end
	}
	if v.Kind() == canon.Array {
		for element := range v.Elements() {
			add("", element)
		}
		return items
	}
	for key, value := range v.Members() {
		add(key, value)
	}
	return items
}

// hooks returns the object that holds the events, absent where there is none, after a look at its shape.
func (d *document) hooks() (canon.Value, error) {
	hooks := d.root.Get("hooks")
	if !hooks.Exists() {
		return hooks, nil
	}
	if hooks.Kind() != canon.Object {
		return hooks, d.errorAt(hooks.OffsetIn(d.text), `"hooks" is not an object`, "mend it by hand, then try again")
	}
	for event, list := range hooks.Members() {
		if list.Kind() != canon.Array {
			return hooks, d.errorAt(list.OffsetIn(d.text), fmt.Sprintf("%q is not an array", event), "mend it by hand, then try again")
		}
	}
	return hooks, nil
}

// splice replaces the bytes from start to end, and reads the result anew.
func (d *document) splice(start, end int, with string) (*document, error) {
	text := make([]byte, 0, len(d.text)+len(with))
	text = append(append(append(text, d.text[:start]...), with...), d.text[end:]...)
	next, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("an edit of ours would break the file: %w", err)
	}
	return next, nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// spaceBefore returns the white space in front of an offset.
func (d *document) spaceBefore(offset int) string {
	start := offset
	for start > 0 && isSpace(d.text[start-1]) {
		start--
	}
	return string(d.text[start:offset])
}

package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/postcondition"
	"sallyport/internal/yaml"
)

// Error is what is wrong with a plan as it was written.
type Error struct {
	Name         string // as given to Parse
	Line, Column int    // from 1; the column in code points
	Msg, Hint    string // what is wrong, and what to try; Hint may be empty
}

// Error returns the place and what is wrong there; the hint is left for the caller to show.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d:%d: %s", e.Name, e.Line, e.Column, e.Msg) }

// Parse reads a plan, strictly: JSON if it begins with a brace or a bracket, else YAML. name is its path, as errors shall show
// it. It keeps no reference to text. An error is an *Error at the first place that is wrong.
func Parse(name string, text []byte) (*Plan, error) {
	d := document{name: name, text: bytes.Clone(text)}
	root, err := d.root()
	if err != nil {
		return nil, err
	}
	return d.plan(root)
}

// document is a plan being read.
type document struct {
	name string
	text []byte         // JSON, once root has read it
	yaml *yaml.Document // what text was made of, nil if it was JSON all along
}

const example = `a plan is {version: 1, steps: [{id: note, call: {tool: write_note, arguments: {…}}, observe: {tool: read_ledger}, expect: '…'}]}`

// root returns the object that is the whole plan.
func (d *document) root() (canon.Value, error) {
	trimmed := bytes.TrimSpace(d.text)
	switch {
	case len(trimmed) == 0:
		return canon.Value{}, d.errorAtOffset(0, "the plan is empty", example)
	case bytes.HasPrefix(d.text, []byte("\uFEFF")):
		return canon.Value{}, d.errorAtOffset(0, "the plan begins with a byte order mark", "save it as UTF-8 without one")
	case len(d.text) > maxPlan:
		return canon.Value{}, d.errorAtOffset(0, fmt.Sprintf("the plan is longer than %d KiB", maxPlan>>10), "make several of it")
	case trimmed[0] != '{' && trimmed[0] != '[':
		read, err := yaml.Parse(d.text)
		if e, ok := errors.AsType[*yaml.Error](err); ok {
			return canon.Value{}, &Error{Name: d.name, Line: e.Line, Column: e.Column, Msg: e.Msg, Hint: e.Hint}
		}
		d.yaml, d.text = &read, read.JSON
	}
	root, err := canon.Parse(d.text)
	if err != nil {
		return canon.Value{}, d.refused(err)
	}
	if root.Kind() != canon.Object {
		return canon.Value{}, d.errorAt(root, "the plan is not an object", example)
	}
	return root, nil
}

// maxPlan is how long a plan may be, in bytes.
const maxPlan = 256 << 10

// refused translates canon's error to a place in the plan.
func (d *document) refused(err error) error {
	e, ok := errors.AsType[*canon.Error](err)
	if !ok {
		return d.errorAtOffset(0, err.Error(), "")
	}
	msg, hint := e.Detail, ""
	switch e.Reason {
	case canon.Syntax:
		msg, hint = "not JSON: "+e.Detail, "JSON has no comments, and no comma behind the last value"
	case canon.Encoding:
		hint = "save it as UTF-8"
	case canon.Duplicate:
		hint = "remove one"
	}
	return d.errorAtOffset(e.Offset, msg, hint)
}

// plan reads the whole plan.
func (d *document) plan(root canon.Value) (*Plan, error) {
	if err := d.version(root); err != nil {
		return nil, err
	}
	p := &Plan{maxAge: defaultMaxAge}
	var steps canon.Value
	for key, member := range root.Members() {
		var err error
		switch key {
		case "version": // read before
		case "name":
			p.name, err = d.phrase(key, member)
		case "rehearsal":
			p.maxAge, err = d.rehearsal(member)
		case "steps":
			steps = member
		default:
			err = d.unknown("key", key, member, planKeys())
		}
		if err != nil {
			return nil, err
		}
	}
	if err := d.steps(p, root, steps); err != nil {
		return nil, err
	}
	text, err := root.AppendCanonical(nil)
	if e, ok := errors.AsType[*canon.Error](err); ok {
		return nil, d.errorAtOffset(root.OffsetIn(d.text)+e.Offset, e.Detail, "")
	}
	p.text, p.digest = text, digestOf(text)
	return p, err
}

func planKeys() []string { return []string{"version", "name", "rehearsal", "steps"} }

// version looks at the version first, since it says what the rest means.
func (d *document) version(root canon.Value) error {
	const hint = `write "version: 1"`
	v := root.Get("version")
	n, ok := v.Int()
	switch {
	case !v.Exists():
		return d.errorAt(root, `"version" is missing`, hint)
	case !ok:
		return d.errorAt(v, `"version" is not a whole number`, hint)
	case n != 1:
		return d.errorAt(v, fmt.Sprintf("plan version %d is not supported", n), "this release reads version 1")
	}
	return nil
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// errorAt blames a value.
func (d *document) errorAt(v canon.Value, msg, hint string) error {
	return d.errorAtOffset(v.OffsetIn(d.text), msg, hint)
}

// errorAtKey blames the key of a member by the member's value.
func (d *document) errorAtKey(v canon.Value, msg, hint string) error {
	return d.errorAtOffset(d.keyOffset(v), msg, hint)
}

// errorAtOffset blames the byte at offset; the end of the text is the place of what is missing there.
func (d *document) errorAtOffset(offset int, msg, hint string) error {
	e := &Error{Name: d.name, Msg: msg, Hint: hint}
	if d.yaml != nil {
		e.Line, e.Column = d.yaml.Place(offset)
	} else {
		e.Line, e.Column = canon.Place(d.text, offset)
	}
	return e
}

// unknown blames a key that is not one of the known ones and says which one may be meant.
func (d *document) unknown(what, key string, v canon.Value, known []string) error {
	return d.errorAtKey(v, fmt.Sprintf("unknown %s %q", what, key), meant(key, known))
}

// keyOffset returns where the key of the member with that value begins. Going back from the value, the key ends at the
// nearest quote, and begins at the next one that no backslash escapes.
func (d *document) keyOffset(v canon.Value) int {
	for i := bytes.LastIndexByte(d.text[:v.OffsetIn(d.text)], '"') - 1; i > 0; i-- {
		if d.text[i] == '"' && d.text[i-1] != '\\' {
			return i
		}
	}
	return 0
}

// fault translates what is wrong with a template or a condition to a place in the plan.
func (d *document) fault(v canon.Value, what string, err error) error {
	if f, ok := errors.AsType[*postcondition.Fault](err); ok {
		if f.At.Exists() {
			v = f.At
		}
		return d.errorAt(v, strconv.Quote(what)+": "+f.Msg, f.Hint)
	}
	return d.errorAt(v, "the condition "+strconv.Quote(what)+" cannot be read: "+err.Error(), "names here: "+strings.Join(conditionNames(), ", "))
}

package policy

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for builtin.json
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"sallyport/internal/canon"
	"sallyport/internal/cond"
	"sallyport/internal/yaml"
)

//go:embed builtin.json
var builtinText []byte

var builtin = sync.OnceValue(func() *Policy {
	p, err := Parse("built-in", builtinText)
	if err != nil {
		panic(err)
	}
	return p
})

// Builtin returns the policy that holds where there is no file: every built-in tool but those that erase.
func Builtin() *Policy { return builtin() }

// Parse compiles the text of a policy file, which is JSON if it begins with a brace or a bracket, and YAML else; name is
// its path, as errors shall show it. It keeps no reference to text. The error is an *Error at the first place that is
// wrong. See Compile for a way to do the costly half of it but once.
func Parse(name string, text []byte) (*Policy, error) {
	d := document{name: name, text: text}
	return d.parse(text)
}

// parse reads the document, whose digest is that of text.
func (d document) parse(text []byte) (*Policy, error) {
	d, root, err := d.root()
	if err != nil {
		return nil, err
	}
	version, err := d.version(root)
	if err != nil {
		return nil, err
	}
	var rules ruleset
	switch version {
	case 1:
		rules, err = d.version1(root)
	case 2:
		rules, err = d.version2(root)
	default:
		err = d.errorAt(root.Get("version"), fmt.Sprintf("policy version %d is not supported", version), "this release reads versions 1 and 2")
	}
	if err != nil {
		return nil, err
	}
	return &Policy{name: d.name, digest: digestOf(text), version: int(version), rules: rules}, nil
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// document is a policy file being read.
type document struct {
	name string
	text []byte         // JSON, once root has read it
	yaml *yaml.Document // what text was made of, nil if it was JSON all along
	lazy bool           // expressions are not compiled to see whether they can be
}

// root returns the object that is the whole file, and the document in JSON.
func (d document) root() (document, canon.Value, error) {
	const example = `a policy is an object in YAML or JSON; {"version": 1, "allow": ["read_ledger"]} allows one tool`
	trimmed := bytes.TrimSpace(d.text)
	switch {
	case len(trimmed) == 0:
		return d, canon.Value{}, d.errorAtOffset(0, "the file is empty", example)
	case bytes.HasPrefix(d.text, []byte("\uFEFF")):
		return d, canon.Value{}, d.errorAtOffset(0, "the file begins with a byte order mark", "save it as UTF-8 without one")
	case trimmed[0] != '{' && trimmed[0] != '[':
		read, err := yaml.Parse(d.text)
		if e, ok := errors.AsType[*yaml.Error](err); ok {
			return d, canon.Value{}, &Error{File: d.name, Line: e.Line, Col: e.Column, Msg: e.Msg, Hint: e.Hint}
		}
		d.yaml, d.text = &read, read.JSON
	}
	root, err := canon.Parse(d.text)
	if err != nil {
		return d, canon.Value{}, d.refused(err)
	}
	if root.Kind() != canon.Object {
		return d, canon.Value{}, d.errorAt(root, "the policy is not an object", example)
	}
	return d, root, nil
}

// refused translates canon's error to a place in the file.
func (d document) refused(err error) error {
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

// version returns the version that the file declares. It is read before all else, since it says what the rest means.
func (d document) version(root canon.Value) (int64, error) {
	const hint = `write "version": 2, or 1 for the first language`
	v := root.Get("version")
	if !v.Exists() {
		for key, value := range root.Members() {
			if cond.Nearest(key, []string{"version"}) != "" {
				return 0, d.unknown("key", key, value, []string{"version"})
			}
		}
		return 0, d.errorAt(root, `"version" is missing`, hint)
	}
	n, ok := v.Int()
	if !ok {
		return 0, d.errorAt(v, `"version" is not a whole number`, hint)
	}
	return n, nil
}

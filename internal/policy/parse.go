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

// Parse compiles the text of a policy file; name is its path, as errors shall show it. It keeps no reference to text.
// The error is an *Error at the first place that is wrong.
func Parse(name string, text []byte) (*Policy, error) {
	d := document{name: name, text: text}
	root, err := d.root()
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
	default:
		err = d.errorAt(root.Get("version"), fmt.Sprintf("policy version %d is not supported", version), "this release reads version 1")
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return &Policy{name: name, digest: hex.EncodeToString(sum[:]), version: int(version), rules: rules}, nil
}

// document is a policy file being read.
type document struct {
	name string
	text []byte
}

// root returns the object that is the whole file.
func (d document) root() (canon.Value, error) {
	const example = `a policy is a JSON object; {"version": 1, "allow": ["read_ledger"]} allows one tool`
	switch {
	case len(bytes.TrimSpace(d.text)) == 0:
		return canon.Value{}, d.errorAtOffset(0, "the file is empty", example)
	case bytes.HasPrefix(d.text, []byte("\uFEFF")):
		return canon.Value{}, d.errorAtOffset(0, "the file begins with a byte order mark", "save it as UTF-8 without one")
	}
	root, err := canon.Parse(d.text)
	if err != nil {
		return canon.Value{}, d.refused(err)
	}
	if root.Kind() != canon.Object {
		return canon.Value{}, d.errorAt(root, "the policy is not an object", example)
	}
	return root, nil
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
	const hint = `write "version": 1`
	v := root.Get("version")
	if !v.Exists() {
		for key, value := range root.Members() {
			if nearest(key, []string{"version"}) != "" {
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

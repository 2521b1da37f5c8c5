package policy

import (
	"bytes"
	"fmt"
)

// compiledFormat is raised whenever a file that was good could be read otherwise, or not at all, by a new release.
const compiledFormat = 3

// Compile checks the text of a policy file as Parse does and returns a form of it for a cache, from which ParseCompiled
// makes the policy in less time. The form is bound to the text.
func Compile(name string, text []byte) ([]byte, error) {
	d := document{name: name, text: text}
	if _, err := d.parse(text); err != nil {
		return nil, err
	}
	_, root, err := d.root()
	if err != nil {
		return nil, err
	}
	compiled := append(make([]byte, 0, len(root.Bytes())+128), compiledHead(text)...)
	return append(append(compiled, root.Bytes()...), '}'), nil
}

func compiledHead(text []byte) []byte {
	return fmt.Appendf(nil, `{"format":%d,"sha256":"%s","policy":`, compiledFormat, digestOf(text))
}

// ParseCompiled is Parse with what Compile made of the same text by an earlier process. Expressions and
// patterns are read when a call first needs them; one that then cannot be fails, and so does what it stands in. Where compiled is not what belongs to the text,
// ParseCompiled parses the text itself, so that neither a policy nor an error is ever that of another text.
func ParseCompiled(name string, text, compiled []byte) (*Policy, error) {
	rest, ok := bytes.CutPrefix(compiled, compiledHead(text))
	if !ok || !bytes.HasSuffix(rest, []byte("}")) {
		return Parse(name, text)
	}
	d := document{name: name, text: rest[:len(rest)-1], lazy: true}
	p, err := d.parse(text)
	if err != nil {
		return Parse(name, text)
	}
	return p, nil
}

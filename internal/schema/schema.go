// Package schema holds arguments against a tool's own input schema, within bounds: nothing is fetched, and neither a
// schema nor a value can cost more than a fixed amount of work, whoever wrote it.
//
// Compile reads a schema and Check holds arguments against it. The language is JSON Schema 2020-12; a schema that names
// an older draft (04, 06, 07, 2019-09) is read as that draft has it. Numbers are compared exactly. `format` and all that
// only describes is not looked at.
//
// The evaluator is our own, since the schema is a stranger's: the validators that there are recurse without end on
// {"$ref":"#"}, take exponential time where alternatives nest, and quote the value in what they say. One of them is
// held beside this one in the tests, with the language's official test suite.
package schema

import (
	"errors"
	"fmt"

	"sallyport/internal/canon"
)

// The bounds of a schema.
const (
	MaxText    = 1 << 20 // bytes
	MaxDepth   = 64      // schemas within each other
	MaxSchemas = 10_000  // with those within them

	maxDigits = 5_000 // of a number, in a schema or held against one
)

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	root  *node
	notes []string
}

// Compile reads a schema, the JSON of an inputSchema. An error says why it cannot be used; what it was to check must
// then not be called.
func Compile(text []byte) (*Schema, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("the schema is larger than %d KiB", MaxText>>10)
	}
	doc, err := canon.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the schema: %w", err)
	}
	c := newCompiler(doc)
	root, err := c.compile()
	if err != nil {
		return nil, err
	}
	return &Schema{root: root, notes: c.notes}, nil
}

// Notes says what of the schema is not checked here, but left to the upstream: patterns that Go has no way to run. There
// are few of them, each one line for the log.
func (s *Schema) Notes() []string { return s.notes }

// Check returns what is wrong with the arguments, absent ones being {}, without quoting them; nil if nothing is. The
// error is an *Error.
func (s *Schema) Check(args canon.Value) error {
	if s == nil || s.root == nil {
		return &Error{Detail: "there is no schema to check them with"}
	}
	if !args.Exists() {
		args = none
	}
	e := evaluation{left: budget(len(args.Bytes()))}
	if f := e.apply(s.root, args, nil, nil); f != nil {
		return f.error()
	}
	return nil
}

var none = func() canon.Value {
	v, err := canon.Parse([]byte("{}"))
	if err != nil {
		panic(err)
	}
	return v
}()

// Error says what is wrong with arguments.
type Error struct {
	Pointer string // where, a JSON pointer; long ones are cut
	Keyword string // of the schema; "" where no keyword is at fault
	Detail  string // what, such as "must be a string"
}

func (e *Error) Error() string {
	text := "arguments" + e.Pointer + ": " + e.Detail
	if e.Keyword != "" {
		text += " (" + e.Keyword + ")"
	}
	return text
}

// errTooMuch says that a schema goes past a bound.
var errTooMuch = errors.New("the schema has more than may be checked")

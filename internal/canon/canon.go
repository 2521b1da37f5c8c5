// Package canon is the one reader of JSON: it takes a text strictly or not at all, and spells a value canonically.
//
// Parse proves in one pass that a text is JSON and that it can be read in one way only: no duplicate keys, no invalid
// UTF-8, no half of a surrogate pair, bounded depth. The Value that it gives is a view of those bytes.
// Canonical gives the one spelling that digests and the ledger are made of: Python's
// json.dumps(v, sort_keys=True, separators=(",", ":"), ensure_ascii=False) in UTF-8, wherever that is JSON at all.
// CheckObject proves that a line is spelt so already.
//
// What the members of an object mean, and which of them may be there, is for others to say.
package canon

import "fmt"

const (
	// MaxDepth is how deep arrays and objects may be nested: 128 within each other are read, 129 are refused.
	MaxDepth = 128

	// MaxIntDigits is the number of digits an integer may have, its sign not counted. It is Python's limit.
	MaxIntDigits = 4300
)

// Reason is why a text was refused.
type Reason int

const (
	// NotCanonical means that a line is JSON that we take, but not the canonical spelling of an object. Only
	// CheckObject says so.
	NotCanonical Reason = iota

	// Syntax means that the text is not JSON: a bad or missing byte, a byte order mark, NaN, a second value.
	Syntax

	// Encoding means that the text is not UTF-8.
	Encoding

	// Surrogate means that a \u escape is half of a surrogate pair, so that the string has no UTF-8.
	Surrogate

	// Duplicate means that an object has the same key twice, however the key is escaped.
	Duplicate

	// Depth means that arrays and objects are nested deeper than MaxDepth.
	Depth

	// Range means an integer of more than MaxIntDigits digits or, where canonical bytes are made or checked, a
	// number too large for a float: its canonical form would be Infinity, which is not JSON.
	Range
)

// Error says why a text was refused, and where.
type Error struct {
	Reason Reason
	Offset int    // byte offset of what is refused
	Detail string // a phrase such as `duplicate key "a"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s at byte %d", e.Detail, e.Offset) }

// Malformed reports whether the text is no JSON text at all, rather than JSON that we refuse.
func (e *Error) Malformed() bool { return e.Reason == Syntax || e.Reason == Encoding }

// Canonical returns the canonical spelling of the JSON in text. An error is an *Error.
func Canonical(text []byte) ([]byte, error) {
	if _, err := Parse(text); err != nil {
		return nil, err
	}
	return appendCanonical(make([]byte, 0, len(text)), text, skipSpace(text, 0))
}

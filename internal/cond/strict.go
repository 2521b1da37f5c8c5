package cond

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// An expression of CompileNames finds out what is the case, and what it cannot tell must not look like an answer. So a strict
// machine ends with an error where the language goes on with nil, with a number that has wrapped round, or with "not equal".

// tooLargeResult is the error of a calculation that leaves the whole numbers.
const tooLargeResult = "the result is no 64-bit integer"

// lenient notes at a node which members may be missing: those behind "?.", and those that "??" is about.
func lenient(n *node) {
	switch {
	case n.kind == memberNode && n.optional:
		n.lenient = true
	case n.kind == binaryNode && n.op == opCoalesce:
		coalesced(n.a)
	}
}

// coalesced notes that a side of "??" may be missing.
func coalesced(n *node) {
	switch {
	case n.kind == memberNode:
		n.lenient = true
	case n.kind == chainNode:
		coalesced(n.a)
	case n.kind == binaryNode && n.op == opCoalesce:
		coalesced(n.a)
		coalesced(n.b)
	}
}

// plainTypes are the types of values in words that their authors know.
var plainTypes = strings.NewReplacer("map[string]interface {}", "map", "[]interface {}", "list", "[]string", "list", "[]int", "list", "<nil>", "nil", "float64", "float", "cond.Number", "large number")

// failHint is fail with a hint.
func (m *machine) failHint(n *node, hint, format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if m.strict {
		msg = plainTypes.Replace(msg)
	}
	panic(failure{err: &Error{Column: n.at + 1, Msg: msg, Hint: hint}})
}

// mayFetch ends the evaluation where a member is missing that must not be, and where an element of a text, which is a byte,
// would be compared with texts.
func (m *machine) mayFetch(n *node, from, index any) {
	switch from := from.(type) {
	case map[string]any:
		name, ok := index.(string)
		if !ok {
			m.fail(n, "cannot fetch %s from %T", told(n.b, index), from)
		}
		if _, found := from[name]; found || n.lenient {
			return
		}
		if _, literal := n.b.literalText(); !literal {
			name = "with the name that is computed"
		}
		m.failHint(n, `where it may be missing write has(x.y), x?.y or x.y ?? …`, "there is no member %s", name)
	case string:
		m.failHint(n, "a part of a text is text[0:1]", "a text has no elements")
	case []any, []string, []int:
		if !isNumber(index) {
			m.fail(n, "cannot fetch %s from %T", told(n.b, index), from)
		}
	}
}

// isList reports whether a value is a list of values.
func isList(v any) bool {
	switch v.(type) {
	case []any, []string, []int:
		return true
	}
	return false
}

// truncated returns a float without what is behind its point.
func (m *machine) truncated(n *node, f float64) int {
	if m.strict && !(-0x1p63 <= f && f < 0x1p63) {
		m.fail(n, tooLargeResult)
	}
	return int(f)
}

// finite returns the result of a calculation.
func (m *machine) finite(n *node, v any) any {
	if f, ok := v.(float64); ok && m.strict && (math.IsInf(f, 0) || math.IsNaN(f)) {
		m.fail(n, "the result is no number")
	}
	return v
}

// overflows reports whether a calculation with whole numbers leaves them.
func overflows(op operator, x, y int) bool {
	switch op {
	case opAdd:
		return (x+y > x) != (y > 0) && y != 0
	case opSubtract:
		return (x-y < x) != (y > 0) && y != 0
	case opMultiply:
		return x != 0 && (x*y/x != y || x == -1 && y == math.MinInt)
	}
	return false
}

// compared returns -1, 0 or 1 for two numbers.
func (m *machine) compared(n *node, a, b any) int {
	for _, v := range [...]any{a, b} {
		if number, ok := v.(Number); ok {
			m.spend(n, len(number.text)/textPerStep)
		}
	}
	order, ok := compareNumbers(a, b)
	if !ok {
		m.fail(n, "these numbers cannot be compared")
	}
	return order
}

// mapSteps is what it costs to put the keys of a map in order, so that which error is told does not depend on chance.
const mapSteps = 8

// alike reports whether two values are equal as JSON is: numbers by what they are worth, lists and maps by what is in them.
// Values of different kinds are not equal.
func (m *machine) alike(n *node, a, b any) bool {
	if isNumber(a) && isNumber(b) {
		return m.compared(n, a, b) == 0
	}
	switch x := a.(type) {
	case nil:
		return isNil(b)
	case bool:
		return a == b
	case string:
		y, ok := b.(string)
		m.spend(n, min(len(x), len(y))/textPerStep)
		return ok && x == y
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		m.spend(n, mapSteps+2*len(x))
		for _, key := range slices.Sorted(maps.Keys(x)) {
			other, found := y[key]
			if !found || !m.equal(n, x[key], other) {
				return false
			}
		}
		return true
	case []any, []string, []int, []byte:
		_, isText := b.(string)
		_, isMap := b.(map[string]any)
		if _, ok := lengthOf(b); !ok || isText || isMap {
			return false
		}
		return m.elements(n, a, b, m.equal)
	}
	return false
}

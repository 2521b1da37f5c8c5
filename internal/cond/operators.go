package cond

import (
	"math"
	"strings"
)

func (m *machine) unary(n *node, v any) any {
	switch n.op {
	case opNot:
		return !m.truth(n, v)
	case opPlus:
		return v
	}
	switch v := v.(type) {
	case int:
		if m.strict && v == math.MinInt {
			m.fail(n, tooLargeResult)
		}
		return -v
	case float64:
		return -v
	case uint8:
		if m.strict {
			return -int(v)
		}
		return -v
	}
	m.fail(n, "invalid operation: - %T", v)
	return nil
}

func (m *machine) binary(n *node) any {
	switch n.op {
	case opAnd:
		return m.both(n, false)
	case opOr:
		return m.both(n, true)
	case opCoalesce:
		if v := m.side(n.a); !isNil(v) {
			return v
		}
		return m.side(n.b)
	case opMatches:
		return m.matches(n, m.eval(n.a))
	}
	a := m.eval(n.a)
	b := m.eval(n.b)
	switch n.op {
	case opEqual:
		return m.same(n, a, b)
	case opUnequal:
		return !m.same(n, a, b)
	case opLess, opMore, opLessEqual, opMoreEqual:
		return m.ordered(n, n.op, a, b)
	case opIn:
		return m.in(n, a, b)
	case opContains, opStartsWith, opEndsWith:
		return m.holds(n, a, b)
	case opRange:
		return m.rangeOf(n, m.whole(n, a), m.whole(n, b))
	case opPower:
		return m.finite(n, math.Pow(m.float(n, a), m.float(n, b)))
	}
	return m.finite(n, m.calculate(n, a, b))
}

// both evaluates "and" and "or". What the second side gives need not be true or false.
func (m *machine) both(n *node, deciding bool) any {
	if m.truth(n, m.eval(n.a)) == deciding {
		return deciding
	}
	return m.eval(n.b)
}

// side evaluates a side of "??".
func (m *machine) side(n *node) any {
	if n.kind == chainNode {
		return m.chain(n)
	}
	return m.eval(n)
}

func (m *machine) matches(n *node, v any) bool {
	switch v := v.(type) {
	case string:
		m.spend(n, len(v)*n.weight/patternPerStep)
		return n.pattern.MatchString(v)
	case []byte:
		m.spend(n, len(v)*n.weight/patternPerStep)
		return v != nil && n.pattern.Match(v)
	}
	if m.strict || !isNil(v) {
		m.fail(n, "expected string, but got %T", v)
	}
	return false
}

// holds evaluates what looks for a text in a text.
func (m *machine) holds(n *node, a, b any) bool {
	if !m.strict && (isNil(a) || isNil(b)) {
		return false
	}
	text, part := m.text(n, a), m.text(n, b)
	switch n.op {
	case opContains:
		m.spend(n, len(text)/textPerStep)
		return strings.Contains(text, part)
	case opStartsWith:
		return strings.HasPrefix(text, part)
	}
	return strings.HasSuffix(text, part)
}

func (m *machine) rangeOf(n *node, from, to int) any {
	if m.strict && to >= from && to-from+1 <= 0 {
		m.fail(n, tooLargeResult)
	}
	size := max(to-from+1, 0) // 0, too, where it does not fit
	m.grow(n, size)
	list := make([]int, size)
	for i := range list {
		list[i] = from + i
	}
	return list
}

// float returns a number as a float.
func (m *machine) float(n *node, v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int:
		return float64(v)
	case uint8:
		return float64(v)
	}
	m.fail(n, "invalid operation: float(%T)", v)
	return 0
}

// numbers takes two values for numbers: both whole, or both as floats.
func numbers(a, b any) (x, y int, f, g float64, whole, ok bool) {
	x, f, whole, ok = number(a)
	if !ok {
		return 0, 0, 0, 0, false, false
	}
	y, g, both, ok := number(b)
	return x, y, f, g, whole && both, ok
}

func number(v any) (i int, f float64, whole, ok bool) {
	switch v := v.(type) {
	case int:
		return v, float64(v), true, true
	case uint8:
		return int(v), float64(v), true, true
	case float64:
		return 0, v, false, true
	}
	return 0, 0, false, false
}

// calculate evaluates + - * / and %.
func (m *machine) calculate(n *node, a, b any) any {
	x, y, f, g, whole, ok := numbers(a, b)
	switch {
	case ok && n.op == opDivide:
		return f / g
	case ok && whole:
		return m.calculateWhole(n, x, y)
	case ok && n.op == opAdd:
		return f + g
	case ok && n.op == opSubtract:
		return f - g
	case ok && n.op == opMultiply:
		return f * g
	}
	text, isText := a.(string)
	if tail, alsoText := b.(string); isText && alsoText && n.op == opAdd {
		m.made(n, len(text)+len(tail))
		return text + tail
	}
	m.fail(n, "invalid operation: %T %s %T", a, n.op, b)
	return nil
}

func (m *machine) calculateWhole(n *node, x, y int) any {
	if m.strict && overflows(n.op, x, y) {
		m.fail(n, tooLargeResult)
	}
	switch n.op {
	case opAdd:
		return x + y
	case opSubtract:
		return x - y
	case opMultiply:
		return x * y
	}
	if y == 0 {
		m.fail(n, "runtime error: integer divide by zero")
	}
	return x % y
}

// ordered evaluates < > <= and >=.
func (m *machine) ordered(n *node, op operator, a, b any) bool {
	if m.strict && isNumber(a) && isNumber(b) {
		return before(op, m.compared(n, a, b), 0)
	}
	x, y, f, g, whole, ok := numbers(a, b)
	switch {
	case ok && whole:
		return before(op, x, y)
	case ok:
		return before(op, f, g)
	}
	text, isText := a.(string)
	other, alsoText := b.(string)
	if !isText || !alsoText {
		m.fail(n, "invalid operation: %T %s %T", a, op, b)
	}
	m.spend(n, min(len(text), len(other))/textPerStep)
	return before(op, text, other)
}

func before[T int | float64 | string](op operator, x, y T) bool {
	switch op {
	case opLess:
		return x < y
	case opMore:
		return x > y
	case opLessEqual:
		return x <= y
	}
	return x >= y
}

// in reports whether a value is an element of a list or a key of a map.
func (m *machine) in(n *node, needle, of any) bool {
	switch of := of.(type) {
	case nil:
		if m.strict {
			break
		}
		return false
	case map[string]any:
		key, ok := needle.(string)
		if !ok && (m.strict || needle != nil) {
			m.fail(n, "cannot use %T as a key", needle)
		}
		_, found := of[key]
		return found
	case []any, []string, []int, []byte:
		length, _ := lengthOf(of)
		for i := range length {
			if m.equal(n, itemOf(of, i), needle) {
				return true
			}
		}
		return false
	}
	m.fail(n, "operator \"in\" not defined on %T", of)
	return false
}

// same evaluates == where the types may be known.
func (m *machine) same(n *node, a, b any) bool {
	switch n.operands {
	case ofInt:
		x, ok := a.(int)
		y, also := b.(int)
		if !ok || !also {
			m.fail(n, "expected int, but got %T and %T", a, b)
		}
		return x == y
	case ofText:
		x, y := m.text(n, a), m.text(n, b)
		m.spend(n, min(len(x), len(y))/textPerStep)
		return x == y
	}
	return m.equal(n, a, b)
}

// equal reports whether two values are equal: numbers by what they are worth, lists by their elements, whatever they are
// lists of, and what is in maps only if it is of the same type, too.
func (m *machine) equal(n *node, a, b any) bool {
	m.spend(n, 1)
	if m.strict {
		return m.alike(n, a, b)
	}
	if x, y, f, g, whole, ok := numbers(a, b); ok {
		return whole && x == y || !whole && f == g
	}
	if isNil(a) && isNil(b) {
		return true
	}
	if sameLists(a, b) {
		return m.elements(n, a, b, m.equal)
	}
	return m.identical(n, a, b)
}

// sameLists reports whether two values are lists that can be equal: of the same type, or one of anything.
func sameLists(a, b any) bool {
	switch a.(type) {
	case []any:
		switch b.(type) {
		case []any, []string, []int, []byte:
			return true
		}
	case []string:
		switch b.(type) {
		case []any, []string:
			return true
		}
	case []int:
		switch b.(type) {
		case []any, []int:
			return true
		}
	case []byte:
		switch b.(type) {
		case []any, []byte:
			return true
		}
	}
	return false
}

func (m *machine) elements(n *node, a, b any, equal func(*node, any, any) bool) bool {
	length, _ := lengthOf(a)
	if other, _ := lengthOf(b); length != other {
		return false
	}
	for i := range length {
		if !equal(n, itemOf(a, i), itemOf(b, i)) {
			return false
		}
	}
	return true
}

// identical reports whether two values are of the same type and equal, and all in them is.
func (m *machine) identical(n *node, a, b any) bool {
	m.spend(n, 1)
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		m.spend(n, min(len(x), len(y))/textPerStep)
		return ok && x == y
	case bool, int, uint8, float64:
		return a == b
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) || isNil(x) != isNil(y) {
			return false
		}
		for key, value := range x {
			other, found := y[key]
			if !found || !m.identical(n, value, other) {
				return false
			}
		}
		return true
	}
	return sameType(a, b) && isNil(a) == isNil(b) && m.elements(n, a, b, m.identical)
}

// sameType reports whether two values are lists of the same type.
func sameType(a, b any) (same bool) {
	switch a.(type) {
	case []any:
		_, same = b.([]any)
	case []string:
		_, same = b.([]string)
	case []int:
		_, same = b.([]int)
	case []byte:
		_, same = b.([]byte)
	}
	return same
}

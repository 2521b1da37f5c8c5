package cond

import (
	"fmt"
	"math"
)

// What an evaluation may cost beside what it may make, which maxMemory says.
const (
	maxSteps = 5_000_000 // parts evaluated, values compared, and pieces of text gone through
	maxText  = 1 << 20   // bytes of a text that is made

	textPerStep    = 256 // bytes of text that cost a step
	patternPerStep = 64  // bytes by instructions of a pattern that is looked for in them
)

// machine evaluates one expression once.
type machine struct {
	env       map[string]any
	strict    bool // what is missing, or cannot be compared, ends the evaluation; see CompileNames
	variables []any
	loop      *loop // the innermost one
	memory    int   // values made
	steps     int
}

// loop is a predicate that goes through a list.
type loop struct {
	list  any
	index int
	outer *loop
}

// mistake begins the error for what should not happen.
const mistake = "the expression cannot be evaluated"

// failure is what ends an evaluation; run turns it into an error.
type failure struct {
	err   *Error
	spent bool // a bound was met: nothing goes on behind that
}

// run evaluates an expression as a policy does.
func run(root *node, slots int, env map[string]any) (value any, err error) {
	m := machine{env: env}
	return m.run(root, slots)
}

// run evaluates an expression. A mistake of ours in it must not end a server: it is an error, too, and that counts against
// the call.
func (m *machine) run(root *node, slots int) (value any, err error) {
	if slots > 0 {
		m.variables = make([]any, slots+1)
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.err
		default:
			value, err = nil, &Error{Column: 1, Msg: fmt.Sprintf("%s: %v", mistake, r)}
		}
	}()
	return m.eval(root), nil
}

// fail ends the evaluation.
func (m *machine) fail(n *node, format string, args ...any) {
	m.failHint(n, "", format, args...)
}

// exhausted ends the evaluation since a bound was met.
func (m *machine) exhausted(n *node, msg string) {
	panic(failure{err: &Error{Column: n.at + 1, Msg: msg}, spent: true})
}

// spend counts steps.
func (m *machine) spend(n *node, steps int) {
	if m.steps += steps; m.steps > maxSteps {
		m.exhausted(n, "the expression takes too long")
	}
}

// grow counts values that are made.
func (m *machine) grow(n *node, values int) {
	if values >= maxMemory || m.memory+values >= maxMemory {
		m.exhausted(n, "memory budget exceeded")
	}
	m.memory += values
}

// made counts a text that is made.
func (m *machine) made(n *node, size int) {
	if size > maxText {
		m.exhausted(n, "memory budget exceeded")
	}
	m.spend(n, size/textPerStep)
}

func (m *machine) eval(n *node) any {
	m.spend(n, 1)
	switch n.kind {
	case literalNode:
		return n.value
	case nameNode:
		if n.slot > 0 {
			return m.variables[n.slot]
		}
		return m.env[n.text]
	case unaryNode:
		return m.unary(n, m.eval(n.a))
	case binaryNode:
		return m.binary(n)
	case chainNode:
		if v := m.chain(n); !isNil(v) {
			return v
		}
		return nil
	case memberNode:
		return m.fetch(n, m.eval(n.a), m.eval(n.b))
	case sliceNode:
		return m.slice(n)
	case callNode, macroNode, methodNode:
		v, _ := m.link(n)
		return v
	case hasNode:
		return m.has(n)
	case builtinNode:
		return m.builtin(n)
	case predicateNode:
		return m.eval(n.a)
	case pointerNode:
		return m.pointer(n)
	case letNode:
		m.variables[n.slot] = m.eval(n.a)
		return m.eval(n.b)
	case conditionalNode:
		if m.truth(n.a, m.eval(n.a)) {
			return m.eval(n.b)
		}
		return m.eval(n.c)
	case listNode:
		return m.list(n)
	case mapNode:
		return m.mapping(n)
	}
	var last any
	for _, part := range n.list { // of a sequence
		last = m.eval(part)
	}
	return last
}

// truth returns a value that has to be true or false.
func (m *machine) truth(n *node, v any) bool {
	b, ok := v.(bool)
	if !ok {
		m.fail(n, "expected bool, but got %T", v)
	}
	return b
}

// text returns a value that has to be a text.
func (m *machine) text(n *node, v any) string {
	s, ok := v.(string)
	if !ok {
		m.fail(n, "expected string, but got %T", v)
	}
	return s
}

// whole returns a number without what is behind its point.
func (m *machine) whole(n *node, v any) int {
	switch v := v.(type) {
	case int:
		return v
	case uint8:
		return int(v)
	case float64:
		if m.strict && v != math.Trunc(v) {
			m.fail(n, "a number with a fraction stands where a whole one is needed")
		}
		return m.truncated(n, v)
	}
	m.fail(n, "invalid operation: int(%T)", v)
	return 0
}

// chain evaluates a chain of members, of which "?." leaves out the rest behind what is nil.
func (m *machine) chain(n *node) any {
	v, _ := m.link(n.a)
	return v
}

// told returns an index for an error: as it is written, else only of which type it is. Errors quote no values.
func told(index *node, v any) string {
	if index.kind == literalNode || index.kind == unaryNode && index.a.kind == literalNode {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%T", v)
}

// link evaluates a part of a chain. It stops where "?." is behind nil.
func (m *machine) link(n *node) (v any, stopped bool) {
	switch n.kind {
	case memberNode:
		m.spend(n, 1)
		base, stopped := m.link(n.a)
		if stopped || n.optional && isNil(base) {
			return base, true
		}
		return m.fetch(n, base, m.eval(n.b)), false
	case callNode:
		return m.called(n)
	case macroNode, methodNode:
		m.spend(n, 1)
		base, stopped := m.link(n.a)
		if stopped || n.optional && isNil(base) {
			return base, true
		}
		if n.kind == macroNode {
			return m.macro(n, base), false
		}
		return m.method(n, base), false
	}
	return m.eval(n), false
}

// called evaluates a call of what is no builtin function, which fails if it comes to that: nothing in a call of a tool
// can be called.
func (m *machine) called(n *node) (v any, stopped bool) {
	for _, argument := range n.list {
		m.eval(argument)
	}
	v, stopped = m.link(n.a)
	if !stopped {
		m.fail(n, "invalid operation: cannot call non-function of type %T", v)
	}
	return v, stopped
}

// fetch returns a member of a map or an element.
func (m *machine) fetch(n *node, from, index any) any {
	if m.strict {
		m.mayFetch(n, from, index)
	}
	switch from := from.(type) {
	case map[string]any:
		name, ok := index.(string)
		if !ok && index != nil {
			m.fail(n, "cannot fetch %s from %T", told(n.b, index), from)
		}
		return from[name]
	case string, []any, []string, []int, []byte:
		length, _ := lengthOf(from)
		i := m.whole(n, index)
		if i < 0 {
			i += length
		}
		if i < 0 || i >= length {
			m.fail(n, "index out of range: %s (array length is %v)", told(n.b, i), length)
		}
		return itemOf(from, i)
	}
	m.fail(n, "cannot fetch %s from %T", told(n.b, index), from)
	return nil
}

// lengthOf returns how many items a value has. Of a text they are its bytes.
func lengthOf(v any) (length int, ok bool) {
	switch v := v.(type) {
	case []any:
		return len(v), true
	case []string:
		return len(v), true
	case []int:
		return len(v), true
	case []byte:
		return len(v), true
	case string:
		return len(v), true
	case map[string]any:
		return len(v), true
	}
	return 0, false
}

// itemOf returns an item of what has an order.
func itemOf(v any, i int) any {
	switch v := v.(type) {
	case []any:
		return v[i]
	case []string:
		return v[i]
	case []int:
		return v[i]
	case []byte:
		return v[i]
	}
	return v.(string)[i]
}

func (m *machine) slice(n *node) any {
	v := m.eval(n.a)
	length, ok := lengthOf(v)
	to, from := length, 0
	if n.c != nil {
		to = m.whole(n, m.eval(n.c))
	}
	if n.b != nil {
		from = m.whole(n, m.eval(n.b))
	}
	if _, isMap := v.(map[string]any); !ok || isMap {
		m.fail(n, "cannot slice %T", v)
	}
	if from < 0 {
		from = max(length+from, 0)
	}
	if to < 0 {
		to = max(length+to, 0)
	}
	to = min(to, length)
	from = min(from, to)
	switch v := v.(type) {
	case []any:
		return v[from:to]
	case []string:
		return v[from:to]
	case []int:
		return v[from:to]
	case []byte:
		return v[from:to]
	}
	return v.(string)[from:to]
}

func (m *machine) pointer(n *node) any {
	if n.text == "index" {
		return m.loop.index
	}
	if _, isMap := m.loop.list.(map[string]any); isMap {
		m.fail(n, "a map has no order")
	}
	return itemOf(m.loop.list, m.loop.index)
}

func (m *machine) list(n *node) any {
	list := make([]any, len(n.list))
	for i, part := range n.list {
		list[i] = m.eval(part)
	}
	m.grow(n, len(list))
	return list
}

// mapping makes a map. Of two pairs with the same key the first one counts, as expr-lang has it.
func (m *machine) mapping(n *node) any {
	made := make(map[string]any, len(n.list))
	for _, pair := range n.list {
		key := m.text(pair, m.eval(pair.a))
		value := m.eval(pair.b)
		if _, taken := made[key]; !taken {
			made[key] = value
		}
	}
	m.grow(n, len(n.list))
	return made
}

// isNil reports whether a value is nil, or a list or map that is.
func isNil(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return v == nil
	case []string:
		return v == nil
	case []int:
		return v == nil
	case []byte:
		return v == nil
	case map[string]any:
		return v == nil
	}
	return false
}

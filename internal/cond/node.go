package cond

import (
	"regexp"
	"unicode/utf8"
)

// nodeKind says what a node of an expression is, and what is in its fields.
type nodeKind uint8

const (
	literalNode     nodeKind = iota // value: nil, bool, int, float64, string or []byte
	nameNode                        // text; slot, where let has declared it
	unaryNode                       // op, a
	binaryNode                      // a, op, b
	chainNode                       // a, and what a "?." in it leaves out
	memberNode                      // a, b: the name or index; optional
	sliceNode                       // a, b: from, c: to; both may be missing
	callNode                        // a: what is called, list
	builtinNode                     // text: its name, list
	predicateNode                   // a
	pointerNode                     // text: "" or "index"
	letNode                         // text, slot, a: the value, b: what it is declared for
	sequenceNode                    // list
	conditionalNode                 // a: the condition, b, c
	listNode                        // list
	mapNode                         // list of pairs
	pairNode                        // a: the key, b
	macroNode                       // text: its name, a: the list, value: the name of the item, slot, b: what is said of it; optional
	methodNode                      // text: its name, a, list; optional
	hasNode                         // a: a member
)

// node is a part of an expression.
type node struct {
	kind     nodeKind
	op       operator
	operands typeKind // of a comparison for equality whose sides are both texts or both whole numbers: what they are
	optional bool     // a member, macro or method behind "?."
	lenient  bool     // a member that may be missing, whatever the machine
	at       int      // where it stands, in code points from 0
	slot     int      // of a variable, from 1
	text     string
	value    any
	pattern  *regexp.Regexp // of "matches"
	weight   int            // of the pattern: its instructions
	a, b, c  *node
	list     []*node
}

// literalText returns the text that a node is a literal of.
func (n *node) literalText() (text string, ok bool) {
	if n.kind != literalNode {
		return "", false
	}
	text, ok = n.value.(string)
	return text, ok
}

// isName reports whether a node is a name.
func (n *node) isName(name string) bool { return n.kind == nameNode && n.text == name }

// walk calls visit for a node and all in it, the inner ones first.
func (n *node) walk(visit func(*node)) {
	for _, part := range [...]*node{n.a, n.b, n.c} {
		if part != nil {
			part.walk(visit)
		}
	}
	for _, part := range n.list {
		part.walk(visit)
	}
	visit(n)
}

// errorAt makes an error from a place in a source, in code points from 0.
func errorAt(source string, at int, msg string) *Error {
	return &Error{Column: min(at, utf8.RuneCountInString(source)) + 1, Msg: msg}
}

// operator is what an expression does with one or two values.
type operator uint8

const (
	noOperator operator = iota
	opNot
	opPlus
	opMinus
	opOr
	opAnd
	opEqual
	opUnequal
	opLess
	opMore
	opLessEqual
	opMoreEqual
	opIn
	opMatches
	opContains
	opStartsWith
	opEndsWith
	opRange
	opAdd
	opSubtract
	opMultiply
	opDivide
	opModulo
	opPower
	opCoalesce
	opPipe
)

func (op operator) String() string {
	return [...]string{"", "not", "+", "-", "or", "and", "==", "!=", "<", ">", "<=", ">=", "in", "matches", "contains", "startsWith", "endsWith", "..",
		"+", "-", "*", "/", "%", "**", "??", "|"}[op]
}

// comparison reports whether an operator is one of those that stand in a row: 1 < x < 5.
func (op operator) comparison() bool { return opLess <= op && op <= opMoreEqual }

// unaryOperator returns the operator before a value and how strongly it binds.
func unaryOperator(text string) (op operator, binds int) {
	switch text {
	case "not", "!":
		return opNot, 50
	case "-":
		return opMinus, 90
	case "+":
		return opPlus, 90
	}
	return noOperator, 0
}

// binaryOperator returns the operator between two values and how strongly it binds. Powers bind to the right, all
// others to the left.
func binaryOperator(text string) (op operator, binds int) {
	switch text {
	case "|":
		return opPipe, 0
	case "or", "||":
		return opOr, 10
	case "and", "&&":
		return opAnd, 15
	case "==":
		return opEqual, 20
	case "!=":
		return opUnequal, 20
	case "<":
		return opLess, 20
	case ">":
		return opMore, 20
	case "<=":
		return opLessEqual, 20
	case ">=":
		return opMoreEqual, 20
	case "..":
		return opRange, 25
	case "+":
		return opAdd, 30
	case "-":
		return opSubtract, 30
	case "*":
		return opMultiply, 60
	case "/":
		return opDivide, 60
	case "%":
		return opModulo, 60
	case "**", "^":
		return opPower, 100
	case "??":
		return opCoalesce, 500
	}
	if op := negatable(text); op != noOperator {
		return op, 20
	}
	return noOperator, 0
}

// negatable returns the operator that "not" may stand before.
func negatable(text string) operator {
	switch text {
	case "in":
		return opIn
	case "matches":
		return opMatches
	case "contains":
		return opContains
	case "startsWith":
		return opStartsWith
	case "endsWith":
		return opEndsWith
	}
	return noOperator
}

package cond

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
)

// checker finds the types in an expression, and what in it cannot be meant. The first error counts.
type checker struct {
	source string
	strict bool         // the names are those of CompileNames, else those of a policy
	known  []string     // the names of CompileNames
	lists  []collection // what the predicates are about that are open
	names  []variable   // that are declared
	slots  int          // given to variables so far
	fault  *Error
}

type collection struct {
	list    nature
	indexed bool // #index is known
}

type variable struct {
	name string
	of   nature
	slot int
}

// check checks an expression and returns how many variables it has.
func (c *checker) check(root *node) (slots int, fault *Error) {
	t := c.visit(root)
	if c.fault == nil && !t.is(ofNothing|ofBool) {
		c.fault = &Error{Column: 1, Msg: "expected bool, but got " + t.String()}
	}
	return c.slots, c.fault
}

func (c *checker) fail(n *node, format string, args ...any) nature {
	if c.fault == nil {
		c.fault = errorAt(c.source, n.at, fmt.Sprintf(format, args...))
	}
	return nature{kind: ofUnknown}
}

// failHint is fail with a hint.
func (c *checker) failHint(n *node, hint, format string, args ...any) nature {
	if c.fault == nil {
		c.fail(n, format, args...)
		c.fault.Hint = hint
	}
	return nature{kind: ofUnknown}
}

func (c *checker) visit(n *node) nature {
	switch n.kind {
	case literalNode:
		return natureOf(n.value)
	case nameNode:
		return c.name(n)
	case unaryNode:
		return c.unary(n)
	case binaryNode:
		return c.binary(n)
	case chainNode, predicateNode:
		return c.visit(n.a)
	case memberNode:
		return c.member(n)
	case sliceNode:
		return c.slice(n)
	case callNode:
		return c.call(n)
	case macroNode:
		return c.macro(n)
	case methodNode:
		return c.method(n)
	case hasNode:
		c.visit(n.a)
		return nature{kind: ofBool}
	case builtinNode:
		return c.builtin(n)
	case pointerNode:
		return c.pointer(n)
	case letNode:
		return c.let(n)
	case conditionalNode:
		return c.conditional(n)
	case listNode:
		return c.list(n)
	case mapNode:
		for _, pair := range n.list {
			c.visit(pair.a)
			c.visit(pair.b)
		}
		return nature{kind: ofMap}
	}
	var last nature
	for _, part := range n.list { // of a sequence
		last = c.visit(part)
	}
	return last
}

// natureOf returns the type of a literal.
func natureOf(literal any) nature {
	switch literal.(type) {
	case bool:
		return nature{kind: ofBool}
	case int:
		return nature{kind: ofInt}
	case float64:
		return nature{kind: ofFloat}
	case string:
		return nature{kind: ofText}
	case []byte:
		return nature{kind: ofBytes}
	}
	return nature{kind: ofNil}
}

// variable returns the variable of a name, nil if there is none.
func (c *checker) variable(name string) *variable {
	for i := len(c.names) - 1; i >= 0; i-- {
		if c.names[i].name == name {
			return &c.names[i]
		}
	}
	return nil
}

// given returns the type of a name whose value the caller gives.
func (c *checker) given(name string) (t nature, ok bool) {
	if c.strict {
		return nature{kind: ofUnknown}, slices.Contains(c.known, name)
	}
	return callFields.field(name)
}

// givenNames returns the names whose values the caller gives.
func (c *checker) givenNames() []string {
	if c.strict {
		return c.known
	}
	return callFields.names()
}

func (c *checker) name(n *node) nature {
	if v := c.variable(n.text); v != nil {
		n.slot = v.slot
		return v.of
	}
	if n.text == "$env" { // the survey refuses it
		return nature{kind: ofUnknown}
	}
	if t, ok := c.given(n.text); ok {
		return t
	}
	if signature := signatureOf(n.text); signature != "" {
		if c.strict { // it would be nil
			return c.failHint(n, fmt.Sprintf("to call it write %s(…)", n.text), "%s is a function", n.text)
		}
		return nature{kind: ofFunction, function: signature}
	}
	return c.failHint(n, didYouMean(n.text, c.names, c.givenNames(), functions), "unknown name %s", n.text)
}

func (c *checker) unary(n *node) nature {
	t := c.visit(n.a)
	switch {
	case n.op == opNot && t.is(ofBool|ofNothing):
		return nature{kind: ofBool}
	case n.op != opNot && t.is(ofNumber):
		return t
	case n.op != opNot && t.is(ofNothing):
		return nature{kind: ofUnknown}
	}
	return c.fail(n, "invalid operation: %s (mismatched type %s)", n.op, t)
}

func (c *checker) binary(n *node) nature {
	l, r := c.visit(n.a), c.visit(n.b)
	if pattern, ok := n.b.literalText(); ok && n.op == opMatches {
		var err error
		if n.pattern, err = regexp.Compile(pattern); err != nil {
			return c.fail(n, "%v", err)
		}
		n.weight = weigh(pattern)
	}
	if n.op == opIn {
		return c.in(n, l, r)
	}
	if l.kind == r.kind && l.is(ofText|ofInt) {
		n.operands = l.kind
	}
	if t := result(n.op, l, r); t.kind != 0 {
		return t
	}
	return c.fail(n, "invalid operation: %s (mismatched types %s and %s)", n.op, l, r)
}

// weigh returns how many instructions a pattern is made of, each of which may have to look at each byte of a text.
func weigh(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return maxSteps
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return maxSteps
	}
	return len(program.Inst)
}

// result returns the type of what an operator makes of two types, and none if it makes nothing of them.
func result(op operator, l, r nature) nature {
	unknown := nature{kind: ofUnknown}
	test := func(ok bool, kind typeKind) nature {
		if !ok {
			return nature{}
		}
		return nature{kind: kind}
	}
	switch op {
	case opEqual, opUnequal:
		return test(l.comparable(r), ofBool)
	case opOr, opAnd:
		return test(both(l, r, ofBool) || maybe(l, r, ofBool), ofBool)
	case opLess, opMore, opLessEqual, opMoreEqual:
		return test(both(l, r, ofNumber) || both(l, r, ofText) || maybe(l, r, ofNumber|ofText), ofBool)
	case opMatches:
		return test(l.is(ofText|ofBytes) && r.is(ofText) || maybe(l, r, ofText), ofBool)
	case opContains, opStartsWith, opEndsWith:
		return test(both(l, r, ofText) || maybe(l, r, ofText), ofBool)
	case opDivide, opPower:
		return test(both(l, r, ofNumber) || maybe(l, r, ofNumber), ofFloat)
	case opModulo:
		return test(both(l, r, ofInteger) || maybe(l, r, ofInteger), ofInt)
	case opRange:
		if both(l, r, ofInteger) || maybe(l, r, ofInteger) {
			return listOf(nature{kind: ofInt})
		}
	case opAdd, opSubtract, opMultiply:
		switch {
		case both(l, r, ofNumber) && (l.is(ofFloat) || r.is(ofFloat)):
			return nature{kind: ofFloat}
		case both(l, r, ofNumber):
			return nature{kind: ofInt}
		case op == opAdd && both(l, r, ofText):
			return l
		case maybe(l, r, ofNumber) || op == opAdd && maybe(l, r, ofText):
			return unknown
		}
	case opCoalesce:
		switch {
		case l.is(ofNil):
			return r
		case r.is(ofNil) || r.assignable(l):
			return l
		}
		return unknown
	}
	return nature{}
}

func (c *checker) in(n *node, l, r nature) nature {
	switch {
	case r.is(ofMap) && !l.is(ofNothing|ofText):
		return c.fail(n, "cannot use %s as type string in map key", l)
	case r.is(ofArray) && !l.comparable(r.element()):
		return c.fail(n, "cannot use %s as type %s in array", l, r.element())
	case r.is(ofMap|ofArray|ofNothing) || r.is(ofText) && l.is(ofNothing):
		return nature{kind: ofBool}
	}
	return c.fail(n, "invalid operation: in (mismatched types %s and %s)", l, r)
}

func (c *checker) member(n *node) nature {
	base, index := c.visit(n.a), c.visit(n.b)
	name, named := n.b.literalText()
	switch {
	case base.is(ofNothing):
		return nature{kind: ofUnknown}
	case base.is(ofNil) && named:
		return c.fail(n, "type nil has no field %s", name)
	case base.is(ofMap):
		if !index.is(ofText | ofNothing) {
			return c.fail(n.b, "cannot use %s to get an element from %s", index, base)
		}
		if named && base.fields != anyFields {
			if t, ok := base.fields.field(name); ok {
				return t
			}
			return c.failHint(n.b, didYouMean(name, nil, base.fields.names()), "unknown field %s", name)
		}
		return base.element()
	case base.is(ofArray):
		if !index.is(ofInteger | ofNothing) {
			return c.fail(n.b, "array elements can only be selected using an integer (got %s)", index)
		}
		return base.element()
	case named:
		return c.fail(n, "type %s has no field %s", base, name)
	}
	return c.fail(n, "type %s[%s] is undefined", base, index)
}

// slice checks the bounds also where the type of what they are of is not known, which expr-lang does not.
func (c *checker) slice(n *node) nature {
	base := c.visit(n.a)
	if !base.is(ofText | ofArray | ofNothing) {
		return c.fail(n, "cannot slice %s", base)
	}
	for _, bound := range [...]*node{n.b, n.c} {
		if bound == nil {
			continue
		}
		if t := c.visit(bound); !t.is(ofInteger | ofNothing) {
			return c.fail(bound, "non-integer slice index %s", t)
		}
	}
	if base.is(ofNothing) {
		return nature{kind: ofUnknown}
	}
	return base
}

// call checks a call of what is no function, macro or method. There is nothing that can be called, but what is not known may
// stand there, and fails when it is evaluated; over names it is refused.
func (c *checker) call(n *node) nature {
	hint, name := "", ""
	if n.a.kind == memberNode {
		name, _ = n.a.b.literalText()
		hint = didYouMean(name, nil, macros, methods)
	}
	t := c.visit(n.a)
	if c.strict && name != "" {
		return c.failHint(n, hint, "unknown function %s", name)
	}
	before := c.fault
	for _, argument := range n.list {
		c.visit(argument)
	}
	if before == nil && c.fault != nil && hint != "" { // the name of an item, most likely
		c.fault.Hint = hint
	}
	if c.strict {
		return c.fail(n, "what is no function is called")
	}
	if !t.is(ofNothing) {
		return c.fail(n, "%s is not callable", t)
	}
	return nature{kind: ofUnknown}
}

func (c *checker) pointer(n *node) nature {
	if len(c.lists) == 0 {
		return c.fail(n, "cannot use pointer accessor outside predicate")
	}
	about := c.lists[len(c.lists)-1]
	switch {
	case n.text == "" && about.list.is(ofNothing):
		return nature{kind: ofUnknown}
	case n.text == "":
		return about.list.element()
	case n.text == "index" && about.indexed:
		return nature{kind: ofInt}
	}
	return c.fail(n, "unknown pointer #%s", n.text)
}

func (c *checker) let(n *node) nature {
	if c.taken(n.text) {
		return c.fail(n, "cannot redeclare %s", n.text)
	}
	return c.declare(n, n.text, c.visit(n.a), n.b)
}

// taken reports whether a name stands for something already.
func (c *checker) taken(name string) bool {
	_, ok := c.given(name)
	return ok || signatureOf(name) != "" || c.variable(name) != nil
}

// declare visits a part in which a name stands for a value of a type, and returns the part's type.
func (c *checker) declare(n *node, name string, of nature, in *node) nature {
	c.slots++
	n.slot = c.slots
	c.names = append(c.names, variable{name: name, of: of, slot: n.slot})
	t := c.visit(in)
	c.names = c.names[:len(c.names)-1]
	return t
}

func (c *checker) conditional(n *node) nature {
	if t := c.visit(n.a); !t.is(ofBool | ofNothing) {
		return c.fail(n.a, "non-bool expression (type %s) used as condition", t)
	}
	yes, no := c.visit(n.b), c.visit(n.c)
	switch {
	case yes.is(ofNil):
		return no
	case no.is(ofNil):
		return yes
	case !yes.assignable(no):
		return nature{kind: ofUnknown}
	case both(yes, no, ofArray):
		if a, b := yes.element(), no.element(); !a.assignable(b) || !b.assignable(a) {
			return nature{kind: ofList}
		}
	}
	return yes
}

func (c *checker) list(n *node) nature {
	elem := nature{kind: ofUnknown}
	mixed := false
	for i, part := range n.list {
		t := c.visit(part)
		mixed = mixed || i > 0 && !sameKind(t, elem)
		elem = t
	}
	if mixed {
		return nature{kind: ofList}
	}
	return listOf(elem)
}

package cond

import (
	"fmt"
)

// parser makes nodes of tokens. The first error stops it: what it returns after that has no meaning.
type parser struct {
	lexer   lexer
	current token
	stashed *token // to be given out after current
	inside  int    // predicates that are open
	nodes   int    // made so far
	fault   *Error
}

// parse reads an expression.
func parse(source string) (*node, *Error) {
	p := &parser{lexer: lexer{source: source}}
	p.next()
	root := p.sequence()
	if p.current.kind != endToken {
		p.unexpected()
	}
	return root, p.fault
}

func (p *parser) next() {
	if p.stashed != nil {
		p.current, p.stashed = *p.stashed, nil
		return
	}
	t, ok, fault := p.lexer.token()
	switch {
	case fault != nil:
		p.fault = fault
	case !ok:
		p.fail("unexpected end of expression")
	default:
		p.current = t
	}
}

func (p *parser) fail(format string, args ...any) { p.failAt(p.current, format, args...) }

func (p *parser) failAt(t token, format string, args ...any) {
	if p.fault == nil {
		p.fault = errorAt(p.lexer.source, t.at, fmt.Sprintf(format, args...))
	}
}

func (p *parser) unexpected() { p.fail("unexpected token %v", p.current) }

// isOperator reports whether the current token is an operator.
func (p *parser) isOperator(text string) bool { return p.current.is(operatorToken, text) }

// isBracket reports whether the current token is a bracket.
func (p *parser) isBracket(text string) bool { return p.current.is(bracketToken, text) }

func (p *parser) expectOperator(text string) {
	if !p.isOperator(text) {
		p.unexpected()
		return
	}
	p.next()
}

func (p *parser) expectBracket(text string) {
	if !p.isBracket(text) {
		p.unexpected()
		return
	}
	p.next()
}

// expectName reads a name.
func (p *parser) expectName() token {
	t := p.current
	if t.kind != nameToken {
		p.unexpected()
		return t
	}
	p.next()
	return t
}

// make counts a node and places it.
func (p *parser) make(t token, n node) *node {
	if p.nodes++; p.nodes > maxNodes {
		p.fail("compilation failed: expression exceeds maximum allowed nodes")
	}
	n.at = t.at
	return &n
}

// sequence reads expressions with semicolons between them.
func (p *parser) sequence() *node {
	first := p.current
	list := []*node{p.expression(0)}
	for p.isOperator(";") && p.fault == nil {
		p.next()
		if p.current.kind == endToken {
			break
		}
		list = append(list, p.expression(0))
	}
	if len(list) == 1 {
		return list[0]
	}
	return p.make(first, node{kind: sequenceNode, list: list})
}

// expression reads an expression of operators that bind at least so strongly.
func (p *parser) expression(binds int) *node {
	switch {
	case p.fault != nil:
		return nil
	case binds == 0 && p.isOperator("let"):
		return p.declaration()
	case binds == 0 && p.isOperator("if"):
		return p.choice()
	}
	left := p.primary()
	previous := noOperator
	for p.current.kind == operatorToken && p.fault == nil {
		negated := p.current.text == "not"
		if negated && !p.negation(binds) {
			break
		}
		t := p.current
		op, strength := binaryOperator(t.text)
		if op == noOperator || strength < binds {
			break
		}
		p.next()
		switch {
		case op == opPipe:
			left = p.call(p.expectName(), []*node{left})
		case previous == opCoalesce && op != opCoalesce:
			p.failAt(t, "Operator (%v) and coalesce expressions (??) cannot be mixed. Wrap either by parentheses.", t.text)
		case op.comparison():
			left = p.comparisons(left, t, op)
		default:
			if op != opPower {
				strength++
			}
			left = p.make(t, node{kind: binaryNode, op: op, a: left, b: p.expression(strength)})
			if negated {
				left = p.make(t, node{kind: unaryNode, op: opNot, a: left})
			}
		}
		previous = op
	}
	if binds == 0 {
		left = p.ternary(left)
	}
	return left
}

// negation moves from "not" to the operator behind it, unless that binds less than it has to.
func (p *parser) negation(binds int) bool {
	not := p.current
	p.next()
	op := negatable(p.current.text)
	if op == noOperator {
		p.unexpected()
		return false
	}
	if _, strength := binaryOperator(p.current.text); strength < binds {
		p.stashed, p.current = new(p.current), not
		return false
	}
	return true
}

// comparisons reads what is compared in a row: 1 < x < 5 is 1 < x and x < 5.
func (p *parser) comparisons(left *node, t token, op operator) *node {
	var all *node
	_, binds := binaryOperator(t.text)
	for {
		right := p.expression(binds + 1)
		one := p.make(t, node{kind: binaryNode, op: op, a: left, b: right})
		if all == nil {
			all = one
		} else {
			all = p.make(t, node{kind: binaryNode, op: opAnd, a: all, b: one})
		}
		if p.fault != nil || p.current.kind != operatorToken {
			return all
		}
		left, t = right, p.current
		if op, _ = binaryOperator(t.text); !op.comparison() {
			return all
		}
		p.next()
	}
}

func (p *parser) declaration() *node {
	p.expectOperator("let")
	name := p.expectName()
	p.expectOperator("=")
	value := p.expression(0)
	p.expectOperator(";")
	rest := p.sequence()
	return p.make(name, node{kind: letNode, text: name.text, a: value, b: rest})
}

// choice reads if … { … } else { … }. It stands at no place of its own, and does not count, as expr-lang has it.
func (p *parser) choice() *node {
	p.next()
	if p.fault != nil {
		return nil
	}
	condition := p.expression(0)
	yes := p.block()
	p.expectOperator("else")
	var no *node
	if p.isOperator("if") {
		no = p.choice()
	} else {
		no = p.block()
	}
	return &node{kind: conditionalNode, a: condition, b: yes, c: no}
}

func (p *parser) block() *node {
	p.expectBracket("{")
	n := p.sequence()
	p.expectBracket("}")
	return n
}

// ternary reads what may stand behind a condition: ? … : …, or ?: ….
func (p *parser) ternary(condition *node) *node {
	for p.isOperator("?") && p.fault == nil {
		p.next()
		yes := condition
		if p.isOperator(":") {
			p.next()
		} else {
			yes = p.expression(0)
			p.expectOperator(":")
		}
		no := p.expression(0)
		condition = p.make(p.current, node{kind: conditionalNode, a: condition, b: yes, c: no})
	}
	return condition
}

// primary reads a value and what is fetched from it.
func (p *parser) primary() *node {
	t := p.current
	if t.kind == operatorToken {
		if op, binds := unaryOperator(t.text); op != noOperator {
			p.next()
			return p.postfix(p.make(t, node{kind: unaryNode, op: op, a: p.expression(binds)}))
		}
	}
	switch {
	case p.isBracket("("):
		p.next()
		n := p.sequence()
		p.expectBracket(")")
		return p.postfix(n)
	case p.inside > 0 && p.isOperator("."):
		return p.postfix(p.make(t, node{kind: pointerNode}))
	case p.inside > 0 && p.isOperator("#"):
		p.next()
		pointer := node{kind: pointerNode}
		if p.current.kind == nameToken {
			pointer.text = p.current.text
			p.next()
		}
		return p.postfix(p.make(t, pointer))
	case p.isOperator("::"):
		p.next()
		return p.postfix(p.call(p.expectName(), nil))
	}
	return p.secondary()
}

func (p *parser) secondary() *node {
	t := p.current
	switch {
	case t.kind == nameToken:
		p.next()
		switch t.text {
		case "true":
			return p.make(t, node{kind: literalNode, value: true})
		case "false":
			return p.make(t, node{kind: literalNode, value: false})
		case "nil":
			return p.make(t, node{kind: literalNode})
		}
		if p.isBracket("(") {
			return p.postfix(p.call(t, nil))
		}
		return p.postfix(p.make(t, node{kind: nameNode, text: t.text}))
	case t.kind == numberToken:
		p.next()
		return p.make(t, node{kind: literalNode, value: p.number(t.text)})
	case t.kind == textToken:
		p.next()
		return p.postfix(p.make(t, node{kind: literalNode, value: t.text}))
	case t.kind == bytesToken:
		p.next()
		return p.postfix(p.make(t, node{kind: literalNode, value: []byte(t.text)}))
	case p.isBracket("["):
		return p.postfix(p.listOf(t))
	case p.isBracket("{"):
		return p.postfix(p.mapOf(t))
	}
	p.unexpected()
	return nil
}

package cond

import (
	"strconv"
	"strings"
)

// number returns the value of a number. An error is at the token behind it, as expr-lang has it.
func (p *parser) number(text string) any {
	text = strings.ReplaceAll(text, "_", "")
	lower := strings.ToLower(text)
	kind, base := "integer", 10
	switch {
	case strings.HasPrefix(lower, "0x"):
		kind, base = "hex", 0
	case strings.ContainsAny(lower, ".e"):
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			p.fail("invalid float literal: %v", err)
		}
		return f
	case strings.HasPrefix(lower, "0b"):
		kind, base = "binary", 0
	case strings.HasPrefix(lower, "0o"):
		kind, base = "octal", 0
	}
	n, err := strconv.ParseInt(text, base, 64)
	if err != nil {
		p.fail("invalid %s literal: %v", kind, err)
	}
	return int(n)
}

// call reads the arguments of a function, of which the first may stand before a pipe.
func (p *parser) call(name token, given []*node) *node {
	switch functionKind(name.text) {
	case predicateFunction:
		return p.predicateCall(name, given)
	case plainFunction:
		return p.make(name, node{kind: builtinNode, text: name.text, list: p.arguments(given)})
	case unknownFunction:
		if name.text == "has" && given == nil {
			return p.has(name)
		}
		callee := p.make(name, node{kind: nameNode, text: name.text})
		return p.make(name, node{kind: callNode, a: callee, list: p.arguments(given)})
	}
	p.failAt(name, "unknown name %s", name.text)
	return nil
}

// predicateCall reads a list and a predicate.
func (p *parser) predicateCall(name token, given []*node) *node {
	p.expectBracket("(")
	piped := len(given) > 0
	if !piped {
		p.missing(2)
		given = append(given, p.expression(0))
	}
	if name.text == "count" && p.isBracket(")") {
		p.next()
		return p.make(name, node{kind: builtinNode, text: name.text, list: given})
	}
	if piped {
		p.missing(1)
	} else {
		p.missing(2)
		p.expectOperator(",")
	}
	given = append(given, p.predicate())
	if p.isOperator(",") {
		p.next()
	}
	p.expectBracket(")")
	return p.make(name, node{kind: builtinNode, text: name.text, list: given})
}

// missing fails where a call ends before it has all arguments.
func (p *parser) missing(want int) {
	if p.isBracket(")") {
		p.fail("expected at least %d arguments", want)
	}
}

func (p *parser) predicate() *node {
	start := p.current
	braces := p.isBracket("{")
	p.inside++
	var body *node
	if braces {
		p.next()
		body = p.sequence()
	} else if body = p.expression(0); p.isOperator(";") {
		p.fail("wrap predicate with brackets { and }")
	}
	p.inside--
	if braces {
		p.expectBracket("}")
	}
	return p.make(start, node{kind: predicateNode, a: body})
}

func (p *parser) arguments(given []*node) []*node {
	p.expectBracket("(")
	for first := true; !p.isBracket(")") && p.fault == nil; first = false {
		if !first {
			p.expectOperator(",")
		}
		if p.isBracket(")") {
			break
		}
		given = append(given, p.expression(0))
	}
	p.expectBracket(")")
	return given
}

func (p *parser) listOf(open token) *node {
	p.expectBracket("[")
	var list []*node
	for !p.isBracket("]") && p.fault == nil {
		if len(list) > 0 {
			p.expectOperator(",")
			if p.isBracket("]") {
				break
			}
		}
		list = append(list, p.expression(0))
	}
	p.expectBracket("]")
	return p.make(open, node{kind: listNode, list: list})
}

func (p *parser) mapOf(open token) *node {
	p.expectBracket("{")
	var list []*node
	for !p.isBracket("}") && p.fault == nil {
		if len(list) > 0 {
			p.expectOperator(",")
			if p.isBracket("}") {
				break
			}
		}
		key := p.key()
		p.expectOperator(":")
		value := p.expression(0)
		list = append(list, p.make(open, node{kind: pairNode, a: key, b: value}))
	}
	p.expectBracket("}")
	return p.make(open, node{kind: mapNode, list: list})
}

// key reads the key of a pair: a name, a text or a number, which stand for their text, or an expression in parentheses.
func (p *parser) key() *node {
	switch t := p.current; {
	case t.kind == numberToken || t.kind == textToken || t.kind == nameToken:
		key := p.make(t, node{kind: literalNode, value: t.text})
		p.next()
		return key
	case p.isBracket("("):
		return p.expression(0)
	}
	p.fail("a map key must be a quoted string, a number, a identifier, or an expression enclosed in parentheses (unexpected token %v)", p.current)
	return nil
}

// postfix reads what is fetched from a value: members, elements and slices.
func (p *parser) postfix(n *node) *node {
	for p.fault == nil {
		t := p.current
		optional := p.isOperator("?.")
		switch {
		case optional || p.isOperator("."):
			p.next()
			if optional && p.isBracket("[") {
				n = p.index(n, true)
			} else {
				n = p.member(n, optional)
			}
		case t.is(bracketToken, "["):
			n = p.index(n, false)
		default:
			return n
		}
	}
	return n
}

// member reads the name of a member, and the arguments of a call of it.
func (p *parser) member(n *node, optional bool) *node {
	t := p.current
	p.next()
	if t.kind != nameToken && (t.kind != operatorToken || !isName(t.text)) {
		p.fail("expected name")
	}
	if p.fault != nil {
		return nil
	}
	name := p.make(t, node{kind: literalNode, value: t.text})
	chained := n.kind == chainNode
	if chained {
		n = n.a
	}
	n = p.make(t, node{kind: memberNode, a: n, b: name, optional: optional})
	if p.isBracket("(") {
		n = p.memberCall(t, n)
	}
	if chained || optional {
		n = p.make(t, node{kind: chainNode, a: n})
	}
	return n
}

// index reads an index or a slice.
func (p *parser) index(n *node, optional bool) *node {
	t := p.current
	p.next()
	var from, to *node
	if !p.isOperator(":") {
		from = p.expression(0)
	}
	if p.isOperator(":") {
		p.next()
		if !p.isBracket("]") {
			to = p.expression(0)
		}
		n = p.make(t, node{kind: sliceNode, a: n, b: from, c: to})
	} else {
		n = p.make(t, node{kind: memberNode, a: n, b: from, optional: optional})
		if optional {
			n = p.make(t, node{kind: chainNode, a: n})
		}
	}
	p.expectBracket("]")
	return n
}

package cond

import (
	"fmt"
	"strings"
)

// What is called like a member is ours, in the manner of CEL: expr-lang has no such calls, and where it reads them it
// fails to evaluate them. Macros go through a list and name its items: list.exists(n, n.id == 1). Methods are of values.

// macros and methods are their names, for hints.
var (
	macros  = []string{"exists", "all", "exists_one", "filter", "map"}
	methods = []string{"size", "startsWith", "endsWith", "contains"}
)

func isMacro(name string) bool {
	switch name {
	case "exists", "all", "exists_one", "filter", "map":
		return true
	}
	return false
}

func isMethod(name string) bool {
	switch name {
	case "size", "startsWith", "endsWith", "contains":
		return true
	}
	return false
}

// failHint is failAt with a hint.
func (p *parser) failHint(t token, hint, format string, args ...any) {
	if p.fault == nil {
		p.failAt(t, format, args...)
		p.fault.Hint = hint
	}
}

// memberCall reads the arguments of what is called like a member.
func (p *parser) memberCall(t token, member *node) *node {
	made := node{text: t.text, a: member.a, optional: member.optional}
	switch {
	case isMacro(t.text):
		made.kind = macroNode
		p.macro(t, &made)
	case isMethod(t.text):
		made.kind = methodNode
		made.list = p.arguments(nil)
	default:
		made = node{kind: callNode, a: member, list: p.arguments(nil)}
	}
	return p.make(t, made)
}

// macro reads the name of an item and what is said of it.
func (p *parser) macro(t token, made *node) {
	p.expectBracket("(")
	hint := fmt.Sprintf("it is written as list.%s(x, …), where x in the second part stands for an item", t.text)
	item := p.current
	if item.kind != nameToken || item.text == "true" || item.text == "false" || item.text == "nil" {
		p.failHint(item, hint, "%s takes a name and an expression", t.text)
		return
	}
	made.value = item.text
	p.next()
	if !p.isOperator(",") {
		p.failHint(item, hint, "%s takes a name and an expression", t.text)
		return
	}
	p.next()
	made.b = p.expression(0)
	p.expectBracket(")")
}

// has reads a member behind "has", whether it is there.
func (p *parser) has(name token) *node {
	p.expectBracket("(")
	at := p.current
	member := p.expression(0)
	p.expectBracket(")")
	if member != nil && member.kind == chainNode {
		member = member.a
	}
	if p.fault == nil && (member == nil || member.kind != memberNode) {
		p.failHint(at, "such as has(observation.note)", "has takes a member")
	}
	return p.make(name, node{kind: hasNode, a: member})
}

// macro checks a macro.
func (c *checker) macro(n *node) nature {
	list := c.visit(n.a)
	if !list.is(ofList | ofNothing) {
		return c.fail(n, "%s takes only a list (got %s)", n.text, list)
	}
	name := n.value.(string)
	if c.taken(name) {
		return c.fail(n, "cannot redeclare %s", name)
	}
	item := nature{kind: ofUnknown}
	if !list.is(ofNothing) {
		item = list.element()
	}
	body := c.declare(n, name, item, n.b)
	switch {
	case n.text == "map":
		return listOf(body)
	case !body.is(ofBool | ofNothing):
		return c.fail(n.b, "what %s says of an item must be true or false (got %s)", n.text, body)
	case n.text != "filter":
		return nature{kind: ofBool}
	case list.is(ofNothing):
		return nature{kind: ofList}
	}
	return list
}

// method checks a method.
func (c *checker) method(n *node) nature {
	of := c.visit(n.a)
	takes, gives, arguments := ofText, ofBool, 1
	if n.text == "size" {
		takes, gives, arguments = ofText|ofList|ofMap, ofInt, 0
	}
	if !of.is(takes | ofNothing) {
		return c.fail(n, "type %s has no method %s", of, n.text)
	}
	if len(n.list) != arguments {
		return c.fail(n, "%s takes %d arguments", n.text, arguments)
	}
	for _, argument := range n.list {
		if t := c.visit(argument); !t.is(ofText | ofNothing) {
			return c.fail(argument, "cannot use %s as an argument of %s", t, n.text)
		}
	}
	return nature{kind: gives}
}

// method evaluates a method. Of nil, and with it, it fails, unlike the operators of the same names.
func (m *machine) method(n *node, of any) any {
	if n.text == "size" {
		switch of.(type) {
		case string, []any, []string, []int, map[string]any:
			return m.length(n, of)
		}
		m.fail(n, "size of %T", of)
	}
	text, part := m.text(n, of), m.text(n, m.eval(n.list[0]))
	m.spend(n, len(text)/textPerStep)
	switch n.text {
	case "startsWith":
		return strings.HasPrefix(text, part)
	case "endsWith":
		return strings.HasSuffix(text, part)
	}
	return strings.Contains(text, part)
}

// has reports whether a map has a member, which may be nil.
func (m *machine) has(n *node) any {
	member := n.a
	base, stopped := m.link(member.a)
	if stopped || member.optional && isNil(base) {
		return false
	}
	members, isMap := base.(map[string]any)
	if !isMap {
		m.fail(n, "has of a member of %T", base)
	}
	_, found := members[m.text(n, m.eval(member.b))]
	return found
}

// macro goes through a list.
func (m *machine) macro(n *node, list any) any {
	if !isList(list) {
		m.fail(n, "%s of %T, which is no list", n.text, list)
	}
	length, _ := lengthOf(list)
	if n.text != "filter" && n.text != "map" {
		return m.quantified(n, list, length)
	}
	made := []any{}
	for i := range length {
		m.spend(n, 1)
		item := itemOf(list, i)
		m.variables[n.slot] = item
		out := m.eval(n.b)
		if n.text == "map" {
			made = append(made, out)
		} else if m.truth(n.b, out) {
			made = append(made, item)
		}
	}
	m.grow(n, len(made))
	return made
}

// faultSteps is what it costs to go on behind an item of which nothing can be said.
const faultSteps = 64

// quantified evaluates exists, exists_one and all. The order of the items does not count: an item that decides does so also
// where nothing can be said of another one, and if none decides, that is the error.
func (m *machine) quantified(n *node, list any, length int) any {
	found := 0
	var fault *Error
	for i := range length {
		m.spend(n, 1)
		m.variables[n.slot] = itemOf(list, i)
		holds, err := m.said(n.b)
		switch {
		case err != nil:
			m.spend(n, faultSteps)
			if fault == nil {
				fault = err
			}
		case n.text == "all" && !holds:
			return false
		case holds:
			found++
		}
		switch {
		case n.text == "exists" && found > 0:
			return true
		case n.text == "exists_one" && found > 1:
			return false
		}
	}
	if fault != nil {
		panic(failure{err: fault})
	}
	return n.text == "all" || n.text == "exists_one" && found == 1
}

// said evaluates what is said of an item, or returns why nothing can be said. What meets a bound ends the evaluation.
func (m *machine) said(n *node) (holds bool, fault *Error) {
	loop := m.loop
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok || f.spent {
				panic(r)
			}
			m.loop, fault = loop, f.err
		}
	}()
	return m.truth(n, m.eval(n)), nil
}

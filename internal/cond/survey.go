package cond

import (
	"fmt"
)

// survey is what an expression uses, and what in it is not taken.
type survey struct {
	source                string
	args                  []string // the members of args that are named
	argsUses, argsMembers int      // how often args stands there, and how often before the name of a member
	effects               bool
	deepest               int // predicates within each other
	fault                 *Error
}

// look takes a node into account, after all that is in it.
func (s *survey) look(n *node) {
	switch n.kind {
	case nameNode:
		switch n.text {
		case "args":
			s.argsUses++
		case "effects":
			s.effects = true
		case "$env":
			s.refuse(n, "$env is not known here")
		}
	case memberNode:
		if name, named := n.b.literalText(); named && n.a.isName("args") {
			s.argsMembers++
			s.args = append(s.args, name)
		}
	case binaryNode:
		if n.op == opMatches && n.pattern == nil {
			s.refuse(n, "the pattern behind \"matches\" must be written out in quotes")
		}
	case predicateNode, macroNode:
		if s.deepest = max(s.deepest, nesting(n)); s.deepest > maxNested {
			s.refuse(n, fmt.Sprintf("predicates stand in each other more than %d deep", maxNested))
		}
	}
}

func (s *survey) refuse(n *node, msg string) {
	if s.fault == nil {
		s.fault = errorAt(s.source, n.at, msg)
	}
}

// nesting returns how deep predicates stand in each other in a node, itself counted.
func nesting(n *node) int {
	deepest := 0
	for _, part := range append([]*node{n.a, n.b, n.c}, n.list...) {
		if part == nil {
			continue
		}
		inner := nesting(part)
		if n.kind == predicateNode || n.kind == macroNode && part == n.b { // the list of a macro is not within it
			inner++
		}
		deepest = max(deepest, inner)
	}
	return deepest
}

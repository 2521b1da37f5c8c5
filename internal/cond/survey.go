package cond

import (
	"fmt"

	"github.com/expr-lang/expr/ast"
)

// survey walks an expression and finds what it uses, and what is not taken.
type survey struct {
	args                  []string // the members of args that are named
	argsUses, argsMembers int      // how often args stands there, and how often before the name of a member
	effects               bool
	deepest               int // predicates within each other
	fault                 *Error
}

// Visit implements ast.Visitor.
func (s *survey) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		switch n.Value {
		case "args":
			s.argsUses++
		case "effects":
			s.effects = true
		case "$env":
			s.refuse(n, "$env is not known here")
		}
	case *ast.MemberNode:
		name, named := n.Property.(*ast.StringNode)
		if of, ok := n.Node.(*ast.IdentifierNode); ok && of.Value == "args" && named {
			s.argsMembers++
			s.args = append(s.args, name.Value)
		}
	case *ast.BinaryNode:
		if _, constant := n.Right.(*ast.StringNode); n.Operator == "matches" && !constant {
			s.refuse(n, "the pattern behind \"matches\" must be written out in quotes")
		}
	case *ast.PredicateNode:
		if s.deepest = max(s.deepest, nesting(n)); s.deepest > maxNested {
			s.refuse(n, fmt.Sprintf("predicates stand in each other more than %d deep", maxNested))
		}
	}
}

func (s *survey) refuse(node ast.Node, msg string) {
	if s.fault == nil {
		s.fault = &Error{Column: node.Location().From + 1, Msg: msg}
	}
}

// nesting returns how deep predicates stand in each other, this one counted.
func nesting(p *ast.PredicateNode) int {
	inner := &predicates{}
	ast.Walk(&p.Node, inner)
	return 1 + inner.deepest
}

// predicates finds how deep the predicates below a node are nested.
type predicates struct{ deepest int }

// Visit implements ast.Visitor.
func (v *predicates) Visit(node *ast.Node) {
	if p, ok := (*node).(*ast.PredicateNode); ok {
		v.deepest = max(v.deepest, nesting(p))
	}
}

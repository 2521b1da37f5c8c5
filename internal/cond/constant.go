package cond

import (
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// Constant reports whether the expression surely gives the same for every call, and what. It may say that it does not where
// it does.
func (e *Expr) Constant() (value, constant bool) { return fold(e.program.Node()) }

// fold is Constant for a part of an expression.
func fold(node ast.Node) (value, constant bool) {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			value, constant = fold(n.Node)
			return !value, constant
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&":
			return foldBoth(n, false)
		case "or", "||":
			return foldBoth(n, true)
		}
	}
	var look closed
	ast.Walk(&node, &look)
	if look.open {
		return false, false
	}
	program, err := compile(node.String())
	if err != nil {
		return false, false
	}
	machine := vm.VM{MemoryBudget: maxMemory}
	out, err := machine.Run(program, nil)
	value, constant = out.(bool)
	return value, constant && err == nil
}

// foldBoth folds "and" and "or". One side can decide alone only if it is the first: the other one may fail before it.
func foldBoth(n *ast.BinaryNode, deciding bool) (value, constant bool) {
	left, leftKnown := fold(n.Left)
	right, rightKnown := fold(n.Right)
	switch {
	case leftKnown && left == deciding:
		return deciding, true
	case leftKnown && rightKnown:
		return right, true
	case rightKnown && right == deciding && !canFail(n.Left):
		return deciding, true
	}
	return false, false
}

// closed finds whether an expression looks at the call.
type closed struct{ open bool }

// Visit implements ast.Visitor.
func (c *closed) Visit(node *ast.Node) {
	switch (*node).(type) {
	case *ast.IdentifierNode, *ast.PointerNode, *ast.PredicateNode, *ast.VariableDeclaratorNode:
		c.open = true
	}
}

// canFail reports whether an expression could be impossible to evaluate for some call: it is anything but a comparison of
// names of the call, whose types are known, with texts.
func canFail(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.BoolNode, *ast.StringNode, *ast.ConstantNode:
		return false
	case *ast.IdentifierNode:
		return n.Value == "args"
	case *ast.MemberNode:
		of, ok := n.Node.(*ast.IdentifierNode)
		return !ok || of.Value != "principal"
	case *ast.BinaryNode:
		switch n.Operator {
		case "==", "!=", "and", "or", "&&", "||", "startsWith", "endsWith", "contains":
			return canFail(n.Left) || canFail(n.Right)
		}
	}
	return true
}

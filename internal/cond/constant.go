package cond

// Constant reports whether the expression surely gives the same for every call, and what. It may say that it does not where
// it does, and does so for what CompileNames has made.
func (e *Expr) Constant() (value, constant bool) {
	if e.strict {
		return false, false
	}
	return fold(e.root)
}

// fold is Constant for a part of an expression.
func fold(n *node) (value, constant bool) {
	switch {
	case n.kind == unaryNode && n.op == opNot:
		value, constant = fold(n.a)
		return !value, constant
	case n.kind == binaryNode && n.op == opAnd:
		return foldBoth(n, false)
	case n.kind == binaryNode && n.op == opOr:
		return foldBoth(n, true)
	case open(n):
		return false, false
	}
	out, err := run(n, 0, nil)
	value, constant = out.(bool)
	return value, constant && err == nil
}

// foldBoth folds "and" and "or". One side can decide alone only if it is the first: the other one may fail before it.
func foldBoth(n *node, deciding bool) (value, constant bool) {
	left, leftKnown := fold(n.a)
	right, rightKnown := fold(n.b)
	switch {
	case leftKnown && left == deciding:
		return deciding, true
	case leftKnown && rightKnown:
		return right, true
	case rightKnown && right == deciding && !canFail(n.a):
		return deciding, true
	}
	return false, false
}

// open reports whether an expression looks at the call.
func open(n *node) (found bool) {
	n.walk(func(part *node) {
		switch part.kind {
		case nameNode, pointerNode, predicateNode, letNode, macroNode:
			found = true
		}
	})
	return found
}

// canFail reports whether an expression could be impossible to evaluate for some call: it is anything but a comparison of
// names of the call, whose types are known, with texts.
func canFail(n *node) bool {
	switch n.kind {
	case literalNode:
		switch n.value.(type) {
		case bool, string:
			return false
		}
	case nameNode:
		return n.text == "args"
	case memberNode:
		return !n.a.isName("principal")
	case binaryNode:
		switch n.op {
		case opEqual, opUnequal, opAnd, opOr, opStartsWith, opEndsWith, opContains:
			return canFail(n.a) || canFail(n.b)
		}
	}
	return true
}

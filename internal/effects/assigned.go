package effects

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// siteList has the places in a text at which variables are set.
type siteList struct {
	root syntax.Node
	list []site
	read bool
}

// site is a place at which a variable is set, or the arguments are: @.
type site struct {
	at   uint
	name string
	to   value
}

// all returns the places in their order.
func (l *siteList) all() []site {
	if !l.read {
		l.read = true
		visit(l.root, l.collect)
		slices.SortStableFunc(l.list, func(a, b site) int { return int(a.at) - int(b.at) })
	}
	return l.list
}

// within returns the places in a part of the text.
func (l *siteList) within(node syntax.Node) []site {
	if l == nil {
		return nil
	}
	list := l.all()
	search := func(at uint) int {
		i, _ := slices.BinarySearchFunc(list, at, func(s site, at uint) int { return int(s.at) - int(at) })
		return i
	}
	from, to := search(node.Pos().Offset()), search(node.End().Offset())
	if to < from { // the end of what was not closed
		to = len(list)
	}
	return list[from:to]
}

func (l *siteList) collect(node syntax.Node) {
	add := func(name *syntax.Lit, to value) {
		if name != nil {
			l.list = append(l.list, site{name.Pos().Offset(), name.Value, to})
		}
	}
	switch node := node.(type) {
	case *syntax.Assign:
		if !node.Naked {
			add(node.Name, assignedConstant(node))
		}
	case *syntax.WordIter:
		add(node.Name, unknownValue)
	case *syntax.ParamExp:
		if node.Exp != nil && (node.Exp.Op == syntax.AssignUnset || node.Exp.Op == syntax.AssignUnsetOrNull) {
			add(node.Param, unknownValue)
		}
	case *syntax.CallExpr:
		l.call(node)
	}
}

// call collects what a builtin sets.
func (l *siteList) call(node *syntax.CallExpr) {
	if len(node.Args) == 0 {
		return
	}
	at := node.Args[0].Pos().Offset()
	switch node.Args[0].Lit() {
	case "set":
		l.list = append(l.list, site{at, "@", nil})
	case "shift":
		l.list = append(l.list, site{at, "@", unknownValue})
	case "read", "mapfile", "readarray", "getopts", "printf", "unset":
		for _, arg := range node.Args[1:] {
			if name := arg.Lit(); isName(name) {
				l.list = append(l.list, site{at, name, unknownValue})
			}
		}
	}
}

// assignedConstant returns the value that an assignment gives, if it is written there.
func assignedConstant(a *syntax.Assign) value {
	if a.Value == nil || a.Append || a.Index != nil || a.Array != nil {
		return unknownValue
	}
	text, constant := literal(a.Value)
	if !constant || strings.HasPrefix(text, "~") {
		return unknownValue
	}
	return textOf(text)
}

// widen says that variables may hold what is assigned to them at any of some places.
func (s *shell) widen(sites []site) {
	for _, site := range sites {
		if site.name == "@" {
			if site.to != nil && (s.args.known || s.args.some) && len(s.args.words) <= maxTold {
				s.args.some, s.args.known = true, false
			} else {
				s.args = arguments{name: s.args.name}
			}
			continue
		}
		now, has := s.vars.get(site.name)
		if !has {
			now = absent(site.name)
		}
		union, all := now.or(site.to)
		if !all {
			s.unreadable(errTooMuch)
		}
		if !has || len(union) != len(now) {
			s.vars.set(site.name, union)
		}
	}
}

// visit visits the nodes of a tree. The parser reads a chain such as a|b|c in a loop and makes of it a tree as deep as
// the chain is long, so we must not follow it by recursion alone.
func visit(root syntax.Node, each func(syntax.Node)) {
	const most = 100
	for roots := []syntax.Node{root}; len(roots) > 0; {
		next := roots[len(roots)-1]
		roots = roots[:len(roots)-1]
		depth := 0
		syntax.Walk(next, func(node syntax.Node) bool {
			if node == nil { // after the last child
				depth--
				return false
			}
			if depth == most {
				roots = append(roots, node)
				return false
			}
			each(node)
			depth++
			return true
		})
	}
}

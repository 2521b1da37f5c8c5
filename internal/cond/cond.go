// Package cond evaluates conditions: expressions in the language of expr-lang that give true or false.
//
// Compile reads a condition of a policy, and Eval judges one call by it. CompileNames reads one over other names, of whose
// values nothing is known before; where nobody can tell, it is neither met nor not met. An expression is pure: it has no
// clock, no state and no effects, and what it may cost is bounded, whatever it is given. What the names in it stand for is
// given by the caller; Eval says which there are.
//
// The language is that of expr-lang/expr 1.17.8, its odd cases included. The tests hold the package to the module, which
// is not linked: it would cost each process more than all of the rest. Macros and methods in the manner of CEL, such as
// list.exists(n, n.id == 1), are added: the module fails there.
package cond

import (
	"fmt"
	"strings"
)

// Limits of an expression.
const (
	maxSource = 2048   // bytes
	maxNodes  = 256    // names, values and operators
	maxNested = 2      // predicates within each other, such as any(…, all(…, …))
	maxMemory = 20_000 // values made while it is evaluated

	// What an expression may be given to look through: fewer items where predicates stand in each other.
	maxItems       = 1024
	maxItemsNested = 96
)

// Expr is a compiled expression that gives true or false. It is safe for concurrent use.
type Expr struct {
	root    *node
	strict  bool             // see CompileNames
	looks   map[string]*Look // see Look
	slots   int              // of variables
	args    []string         // the members of args that it looks at
	allArgs bool             // it may look at others, too
	effects bool             // it looks at effects
	items   int              // see MaxItems
}

// Error is an expression that cannot be compiled.
type Error struct {
	Column int // from 1, in code points, of the whole source
	Msg    string
	Hint   string // what to try; may be empty
}

func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Msg) }

// Compile reads an expression, which must give true or false as far as that can be known. An error is an *Error.
func Compile(source string) (*Expr, error) { return compile(&checker{source: source}) }

// compile reads and checks the checker's source.
func compile(c *checker) (*Expr, error) {
	source := c.source
	switch {
	case len(source) > maxSource:
		return nil, &Error{Column: 1, Msg: fmt.Sprintf("the expression is longer than %d bytes", maxSource)}
	case strings.TrimSpace(source) == "":
		return nil, &Error{Column: 1, Msg: "the expression is empty"}
	}
	root, fault := parse(source)
	if fault != nil {
		return nil, fault
	}
	if c.strict {
		root.walk(lenient)
	}
	slots, fault := c.check(root)
	if fault != nil {
		return nil, fault
	}
	look := survey{source: source}
	root.walk(look.look)
	if look.fault != nil {
		return nil, look.fault
	}
	e := &Expr{root: root, strict: c.strict, slots: slots, args: look.args, allArgs: look.argsUses > look.argsMembers, effects: look.effects, items: maxItems}
	if look.deepest > 1 {
		e.items = maxItemsNested
	}
	return e, nil
}

// Args says which members of args the expression looks at, so that the caller need not convert the others; all says that
// it may look at any.
func (e *Expr) Args() (names []string, all bool) { return e.args, e.allArgs }

// Effects reports whether the expression looks at effects.
func (e *Expr) Effects() bool { return e.effects }

// MaxItems is how many items a list that is given to Eval may have, and how many values args may have in all: with more,
// the time that it takes is not bounded as it should be.
func (e *Expr) MaxItems() int { return e.items }

// Eval judges by the expression. The keys of env are the names that an expression may use: tool, method, host, session, workspace
// and home are strings, principal holds strings, effects holds lists of at most e.MaxItems() strings, and args is made of what JSON
// has: nil, bool, int, float64, string, []any and map[string]any. Other things in env are not seen. Of an expression of
// CompileNames the keys are the names that it was given. An expression that cannot be evaluated, or does not give true or
// false, is an error.
func (e *Expr) Eval(env map[string]any) (bool, error) {
	m := machine{env: env, strict: e.strict}
	out, err := m.run(e.root, e.slots)
	if err != nil {
		return false, err
	}
	switch value := out.(type) {
	case nil:
		if !e.strict {
			return false, nil
		}
	case bool:
		return value, nil
	}
	msg := fmt.Sprintf("invalid operation: bool(%T)", out)
	if e.strict {
		msg = plainTypes.Replace(fmt.Sprintf("the expression gives neither true nor false, but %T", out))
	}
	return false, &Error{Column: 1, Msg: msg}
}

// Package cond evaluates the conditions of a policy: expressions of expr-lang/expr that give true or false.
//
// Compile reads an expression and Eval judges one call by it. An expression is pure: it has no clock, no state and no
// effects, and what it may cost is bounded, whatever it is given. What the names in it stand for is given by the caller;
// Env says which there are.
package cond

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
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
	program *vm.Program
	args    []string // the members of args that it looks at
	allArgs bool     // it may look at others, too
	effects bool     // it looks at effects
	items   int      // see MaxItems
}

// Error is an expression that cannot be compiled.
type Error struct {
	Column int // from 1, in code points, of the whole source
	Msg    string
}

func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Msg) }

// Compile reads an expression, which must give true or false as far as that can be known. An error is an *Error.
func Compile(source string) (*Expr, error) {
	switch {
	case len(source) > maxSource:
		return nil, &Error{Column: 1, Msg: fmt.Sprintf("the expression is longer than %d bytes", maxSource)}
	case strings.TrimSpace(source) == "":
		return nil, &Error{Column: 1, Msg: "the expression is empty"}
	}
	program, err := compile(source)
	if err != nil {
		return nil, compileError(source, err)
	}
	var look survey
	node := program.Node()
	ast.Walk(&node, &look)
	if look.fault != nil {
		return nil, look.fault
	}
	e := &Expr{program: program, args: look.args, allArgs: look.argsUses > look.argsMembers, effects: look.effects, items: maxItems}
	if look.deepest > 1 {
		e.items = maxItemsNested
	}
	return e, nil
}

func compile(source string) (*vm.Program, error) {
	names := builtins()
	options := append(make([]expr.Option, 0, len(names)+5),
		expr.Env(environment()), expr.AsBool(), expr.Optimize(false), expr.MaxNodes(maxNodes), expr.DisableAllBuiltins())
	for _, name := range names {
		options = append(options, expr.EnableBuiltin(name))
	}
	return expr.Compile(source, options...)
}

// environment says which names an expression may use, and what they are.
func environment() types.Map {
	list := types.Array(types.String)
	return types.Map{
		"principal": types.Map{"name": types.String, "tenant": types.String},
		"tool":      types.String,
		"args":      types.Any,
		"method":    types.String,
		"host":      types.String,
		"session":   types.String,
		"workspace": types.String,
		"home":      types.String,
		"effects":   types.Map{"runs": list, "reads": list, "writes": list, "connects": list, "spawns": list},
	}
}

// builtins are the functions that an expression may use: those that neither look at a clock nor make much of little.
func builtins() []string {
	return []string{
		"all", "any", "none", "one", "filter", "map", "find", "count", "len", "type", "int", "float", "string", "abs", "min", "max",
		"lower", "upper", "trim", "trimPrefix", "trimSuffix", "hasPrefix", "hasSuffix", "indexOf", "lastIndexOf",
		"keys", "values", "first", "last",
	}
}

// compileError says where and why an expression cannot be compiled.
func compileError(source string, err error) error {
	e, ok := errors.AsType[*file.Error](err)
	if !ok {
		return &Error{Column: 1, Msg: err.Error()}
	}
	msg, _, _ := strings.Cut(e.Message, "\n")
	return &Error{Column: min(e.From, utf8.RuneCountInString(source)) + 1, Msg: msg}
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
// has: nil, bool, int, float64, string, []any and map[string]any. Other things in env are not seen. An expression that
// cannot be evaluated, or does not give true or false, is an error.
func (e *Expr) Eval(env map[string]any) (bool, error) {
	machine := vm.VM{MemoryBudget: maxMemory}
	out, err := machine.Run(e.program, env)
	if err != nil {
		if fault, ok := errors.AsType[*file.Error](err); ok {
			msg, _, _ := strings.Cut(fault.Message, "\n")
			return false, &Error{Column: fault.From + 1, Msg: msg}
		}
		return false, err
	}
	value, ok := out.(bool)
	if !ok {
		return false, &Error{Column: 1, Msg: "the expression gives neither true nor false"}
	}
	return value, nil
}

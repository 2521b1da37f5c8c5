package cond

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	modulechecker "github.com/expr-lang/expr/checker"
	natures "github.com/expr-lang/expr/checker/nature"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// The language is that of expr-lang. What follows compiles and evaluates by the module, and holds this package to it.

// known are the names that stand for something, as the module is told them.
func known() types.Map {
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

// settings are what the module is told: to compile to true or false, or to anything. It reads them only, so that they
// serve for all compilations.
var settings = sync.OnceValue(func() (all [2]*conf.Config) {
	for i := range all {
		all[i] = conf.CreateNew()
		options := []expr.Option{expr.Env(known()), expr.Optimize(false), expr.MaxNodes(maxNodes), expr.DisableAllBuiltins()}
		for _, name := range []string{
			"all", "any", "none", "one", "filter", "map", "find", "count", "len", "type", "int", "float", "string", "abs", "min", "max",
			"lower", "upper", "trim", "trimPrefix", "trimSuffix", "hasPrefix", "hasSuffix", "indexOf", "lastIndexOf",
			"keys", "values", "first", "last",
		} {
			options = append(options, expr.EnableBuiltin(name))
		}
		if i == 1 {
			options = append(options, expr.AsBool())
		}
		for _, set := range options {
			set(all[i])
		}
		for name := range all[i].Disabled {
			delete(all[i].Builtins, name)
		}
	}
	return all
})

// reference compiles by the module, as expr.Compile does.
func reference(source string, truth bool) (*vm.Program, error) {
	config := settings()[0]
	if truth {
		config = settings()[1]
	}
	tree, err := modulechecker.ParseCheck(source, config)
	if err != nil {
		return nil, err
	}
	program, err := compiler.Compile(tree, config)
	if err != nil {
		return nil, err
	}
	root := program.Node()
	var look ownRules
	ast.Walk(&root, &look)
	if look.deepest > maxNested {
		look.refused = true
	}
	if look.refused {
		return nil, errors.New("refused by our own rules")
	}
	return program, nil
}

// ownRules finds what is not taken although the module takes it.
type ownRules struct {
	refused bool
	deepest int
}

func (o *ownRules) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		o.refused = o.refused || n.Value == "$env"
	case *ast.BuiltinNode:
		o.refused = o.refused || functionKind(n.Name) == withheldFunction
	case *ast.BinaryNode:
		_, constant := n.Right.(*ast.StringNode)
		o.refused = o.refused || n.Operator == "matches" && !constant
	case *ast.PredicateNode:
		var inner ownRules
		ast.Walk(&n.Node, &inner)
		o.deepest = max(o.deepest, inner.deepest+1)
	}
}

// adds reports whether an expression calls a macro or a method, which the module does not know.
func adds(source string) bool {
	var before [2]token
	for l := (lexer{source: source}); ; {
		t, ok, fault := l.token()
		if !ok || fault != nil {
			return false
		}
		name := before[1].text
		if t.is(bracketToken, "(") && (name == "has" || (isMacro(name) || isMethod(name)) && (before[0].text == "." || before[0].text == "?.")) {
			return true
		}
		before[0], before[1] = before[1], t
	}
}

// unchecked reports whether the module has left a part of an expression unchecked that is checked here: the bounds of a slice
// of what is not known, and the arguments of a call of what is not known. calls is whether there is any call at all.
func unchecked(program *vm.Program) (found, calls bool) {
	root := program.Node()
	var look looseEnds
	ast.Walk(&root, &look)
	return look.slices || look.calls, look.calls
}

type looseEnds struct{ slices, calls bool }

func (l *looseEnds) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.SliceNode:
		l.slices = l.slices || n.Node.Nature().IsUnknown(new(natures.Cache))
	case *ast.CallNode:
		l.calls = true
	}
}

// own compiles here, to anything.
func own(source string) (*node, int, *Error) {
	if strings.TrimSpace(source) == "" {
		return nil, 0, &Error{Column: 1, Msg: "empty"}
	}
	root, fault := parse(source)
	if fault != nil {
		return nil, 0, fault
	}
	c := &checker{source: source}
	c.visit(root)
	look := survey{source: source}
	root.walk(look.look)
	if c.fault == nil {
		c.fault = look.fault
	}
	return root, c.slots, c.fault
}

// alike reports whether two results are the same, of the same types; what is no number is alike.
func alike(a, b any) bool {
	if x, ok := a.(float64); ok {
		y, ok := b.(float64)
		return ok && (x == y && math.Signbit(x) == math.Signbit(y) || math.IsNaN(x) && math.IsNaN(y))
	}
	if x, ok := a.([]any); ok {
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, alike)
	}
	if x, ok := a.(map[string]any); ok {
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for key := range x {
			if other, found := y[key]; !found || !alike(x[key], other) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

// membersPattern finds expressions whose result by the module depends on the order of a map, which is another one each time.
var membersPattern = regexp.MustCompile(`\b(keys|values)\b`)

// costly finds what the module cannot be given, since it takes time or memory without bound.
func costly(source string) bool {
	return len(source) > maxSource || strings.Count(source, "trim") > 6 || strings.Count(source, "let") > 8 ||
		strings.Count(source, "..") > 3
}

// tally counts what was compared.
type tally struct{ refused, failed, values int }

// compare holds this package to the module for one expression and all calls.
func compare(t *testing.T, source string) (counted tally) {
	t.Helper()
	if costly(source) {
		return
	}
	program, wantErr := reference(source, false)
	if wantErr == nil {
		compareTruth(t, source)
	} else if _, err := Compile(source); err == nil && !adds(source) {
		t.Errorf("%s\nCompile: got nothing, want %v", source, wantErr)
	}
	root, slots, fault := own(source)
	if wantErr != nil || fault != nil {
		counted.refused++
		if wantErr != nil && fault != nil || adds(source) {
			return
		}
		if program != nil {
			if loose, _ := unchecked(program); loose {
				return
			}
		}
		t.Errorf("%s\ngot error %v, want %v", source, fault, wantErr)
		return
	}
	_, calls := unchecked(program)
	for i, env := range sampleCalls() {
		want, wantErr := evaluate(program, env)
		got, err := run(root, slots, env)
		if err != nil && strings.Contains(err.Error(), mistake) {
			t.Errorf("%s\ncall %d: %v", source, i, err)
		}
		if err != nil && bounded(err) {
			continue
		}
		switch {
		case (err != nil) != (wantErr != nil) || err == nil && !alike(got, want):
			if membersPattern.MatchString(source) && unsure(program, env) || calls {
				continue
			}
			t.Errorf("%s\ncall %d: got %#v, %v, want %#v, %v", source, i, got, err, want, wantErr)
			return
		case err != nil:
			counted.failed++
		default:
			counted.values++
		}
	}
	return counted
}

// compareTruth holds Compile and Eval to the module.
func compareTruth(t *testing.T, source string) {
	t.Helper()
	program, wantErr := reference(source, true)
	e, err := Compile(source)
	if wantErr != nil || err != nil {
		if program != nil {
			if loose, _ := unchecked(program); loose {
				return
			}
		}
		if (wantErr == nil) != (err == nil) && !adds(source) {
			t.Errorf("%s\nCompile: got %v, want %v", source, err, wantErr)
		}
		return
	}
	_, calls := unchecked(program)
	for i, env := range sampleCalls() {
		want, wantErr := evaluate(program, env)
		got, err := e.Eval(env)
		if value, constant := e.Constant(); constant && (err != nil || value != got) {
			t.Errorf("%s\nis %v, %v for call %d, but always %v", source, got, err, i, value)
		}
		if _, truth := want.(bool); wantErr == nil && !truth {
			wantErr = errors.New("no truth value")
		}
		if (err != nil) != (wantErr != nil) || err == nil && got != want {
			if membersPattern.MatchString(source) && unsure(program, env) || calls || err != nil && bounded(err) {
				continue
			}
			t.Errorf("%s\ncall %d: got %v, %v, want %v, %v", source, i, got, err, want, wantErr)
			return
		}
	}
}

// bounded reports whether an evaluation was ended by a bound that the module does not have.
func bounded(err error) bool {
	return strings.Contains(err.Error(), "takes too long") || strings.Contains(err.Error(), "memory budget")
}

func evaluate(program *vm.Program, env map[string]any) (any, error) {
	machine := vm.VM{MemoryBudget: maxMemory}
	return machine.Run(program, env)
}

// unsure reports whether the module gives now this and now that.
func unsure(program *vm.Program, env map[string]any) bool {
	first, firstErr := evaluate(program, env)
	for range 100 {
		if again, err := evaluate(program, env); (err == nil) != (firstErr == nil) || err == nil && !alike(first, again) {
			return true
		}
	}
	return false
}

// sampleCalls are calls of all sorts.
func sampleCalls() []map[string]any {
	call := func(args any) map[string]any {
		return map[string]any{
			"principal": map[string]any{"name": "ada", "tenant": "a"},
			"tool":      "Bash", "method": "hook/PreToolUse", "host": "claude", "session": "s", "workspace": "/w", "home": "",
			"args": args,
			"effects": map[string]any{"runs": []string{"git push", "ls"}, "reads": []string{}, "writes": []string{"/w/a"}, "connects": []string(nil),
				"spawns": []string{"é", "1", ""}},
		}
	}
	first := call(map[string]any{"n": 7, "z": 0, "f": 2.5, "s": "hello", "t": true, "l": []any{1, "x", 2.0, nil}, "m": map[string]any{"a": 1}})
	second := call(map[string]any{"n": -3, "z": math.MinInt, "f": 3.0, "s": "añb", "t": false, "l": []any{}, "m": map[string]any{}, "x": []any{[]any{1, 2}, []any{3.5}}})
	third := call(map[string]any{"n": "12", "z": nil, "f": 1e300, "s": "", "t": "true", "l": []any{3, 1, 2}, "m": map[string]any(nil), "x": []any{true, false},
		"y": []any(nil)})
	fourth := call(nil)
	fourth["principal"] = map[string]any{"name": "ada"}
	fifth := call("text")
	delete(fifth, "home")
	fifth["effects"] = map[string]any{"runs": []string{"a"}}
	return []map[string]any{first, second, third, fourth, fifth}
}

// errorColumns returns where the module and this package see the error of an expression that cannot be compiled.
func errorColumns(source string) (want, got string) {
	_, err := reference(source, true)
	if fault, ok := errors.AsType[*file.Error](err); ok {
		msg, _, _ := strings.Cut(fault.Message, "\n")
		want = fmt.Sprintf("%d %s", fault.From+1, msg)
	}
	_, err = Compile(source)
	if fault, ok := errors.AsType[*Error](err); ok {
		got = fmt.Sprintf("%d %s", fault.Column, fault.Msg)
	}
	return want, got
}

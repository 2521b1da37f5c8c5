package cond_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sallyport/internal/cond"
)

// doubled declares a name whose value holds that of the one before twice, so often that it would fill any machine.
func doubled(first, twice, last string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "let v0 = %s; ", first)
	for i := 1; i < 26; i++ {
		fmt.Fprintf(&b, "let v%d = %s; ", i, strings.ReplaceAll(twice, "#", fmt.Sprintf("v%d", i-1)))
	}
	return b.String() + strings.ReplaceAll(last, "#", "v25")
}

// TestEvalEndsWhateverTheExpression has expressions that would take time or memory without bound.
func TestEvalEndsWhateverTheExpression(t *testing.T) {
	long := strings.Repeat("a", 60<<10)
	items := make([]any, 1024)
	for i := range items {
		items[i] = long
	}
	args := map[string]any{"text": long, "list": items}
	for name, source := range map[string]string{
		"text that doubles":            doubled(`"0123456789"`, "# + #", `# == ""`),
		"text of lists that double":    doubled(`["x"]`, "[#, #]", `string(#) == ""`),
		"text of maps that double":     doubled(`{a: "x"}`, "{a: #, b: #}", `string(#) == ""`),
		"equality of what doubles":     doubled(`["x"]`, "[#, #]", "# == #"),
		"equality of maps that double": doubled(`{a: 1}`, "{a: #, b: #}", "# == #"),
		"greatest of what doubles":     doubled(`[1]`, "[#, #]", "max(#) == 2"),
		"membership of what doubles":   doubled(`[1]`, "[#, #]", "# in [#]"),
		"ranges in ranges":             "let r = 1..9900; any(r, any(r, # == -1))",
		"a long range":                 "any(1..9223372036854775806, false)",
		"pattern over and over":        `any(1..9000, args.text matches "(x+x+)+y$")`,
		"heavy pattern":                `any(args.list, # matches "(.*?,){900}P")`,
		"upper case over and over":     "any(1..9000, any(1..2, upper(args.text) == lower(args.text)))",
		"comparison over and over":     `let r = 1..9000; any(r, any(1..2, args.text + "x" == args.text + "y"))`,
	} {
		t.Run(name, func(t *testing.T) {
			e, err := cond.Compile(source)
			if err != nil {
				t.Fatal(err)
			}
			call := env()
			call["args"] = args
			start := time.Now()
			_, err = e.Eval(call)
			if took := time.Since(start); took > time.Minute { // it is about a second on a machine that is quiet, and ten times that with the race detector
				t.Errorf("took %v", took)
			}
			fault, ok := errors.AsType[*cond.Error](err)
			if !ok || fault.Msg != "the expression takes too long" && fault.Msg != "memory budget exceeded" {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestEvalHasEnoughForWhatIsPromised fills what an expression may have, and what it may be given.
func TestEvalHasEnoughForWhatIsPromised(t *testing.T) {
	body := "# == tool" + strings.Repeat(" or # == tool", 55)
	for _, source := range []string{
		"any(effects.runs, any(effects.reads, " + body + "))",
		"any(effects.runs, " + body + ")",
		`any(effects.runs, any(effects.reads, # == args.text + "x"))`,
		`any(effects.runs, # matches "^(rm|git|terraform|kubectl) .*(--force|-f)( |$)")`,
	} {
		e, err := cond.Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		list := make([]string, e.MaxItems())
		for i := range list {
			list[i] = "git push " + strings.Repeat("y", 200)
		}
		call := env()
		call["args"] = map[string]any{"text": strings.Repeat("x", 64<<10)}
		call["effects"] = map[string]any{"runs": list, "reads": list}
		if holds, err := e.Eval(call); holds || err != nil {
			t.Errorf("%.60s: got %v, %v", source, holds, err)
		}
	}
}

// TestCompileEndsWhateverTheExpression has expressions that are hard to read: deep ones, and such as a checker that looks
// at arguments twice would look at for ever.
func TestCompileEndsWhateverTheExpression(t *testing.T) {
	for _, source := range []string{
		strings.Repeat("trimPrefix(", 150) + "tool" + strings.Repeat(")", 150) + ` == ""`,
		strings.Repeat(`trim(`, 80) + "tool" + strings.Repeat(`, " ")`, 80) + ` == ""`,
		strings.Repeat("(", 1000) + "true" + strings.Repeat(")", 1000),
		strings.Repeat("any([1], ", 220), strings.Repeat("{(", 1000), strings.Repeat("[", 2000), strings.Repeat("not ", 500), strings.Repeat("-", 2047) + "1",
		strings.Repeat("if ", 600), strings.Repeat("/**/", 500) + "true", strings.Repeat("#", 2000), strings.Repeat("args?.", 300) + "x", strings.Repeat("a?", 1000),
	} {
		start := time.Now()
		_, err := cond.Compile(source)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%.40s took %v", source, took)
		}
		if fault, ok := errors.AsType[*cond.Error](err); err != nil && (!ok || fault.Column < 1) {
			t.Errorf("%.40s: got %#v", source, err)
		}
	}
}

// TestWithheldFunctionsAreNotKnown has the functions with a predicate that expr-lang lets pass although it is told not to.
// One of them makes much of little: reduce(1..60, #acc + #acc, "x").
func TestWithheldFunctionsAreNotKnown(t *testing.T) {
	for name, source := range map[string]string{
		"reduce":        `reduce(1..60, #acc + #acc, "x") == ""`,
		"sum":           `sum([1]) == 1`,
		"sortBy":        `sortBy([1], #) == [1]`,
		"groupBy":       `groupBy([1], #) == {}`,
		"findIndex":     `findIndex([1], true) == 0`,
		"findLast":      `[1] | findLast(true) == 1`,
		"findLastIndex": `::findLastIndex([1], true) == 0`,
	} {
		if _, err := cond.Compile(source); err == nil || !strings.HasSuffix(err.Error(), "unknown name "+name) {
			t.Errorf("%s: got %v", source, err)
		}
	}
}

// TestMembersHaveAnOrder: a condition is a function of the call.
func TestMembersHaveAnOrder(t *testing.T) {
	for _, source := range []string{`keys({c: 1, a: 2, b: 3}) == ["a", "b", "c"]`, `values({c: 1, a: 2, b: 3}) == [2, 3, 1]`} {
		e, err := cond.Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if holds, err := e.Eval(env()); !holds || err != nil {
				t.Fatalf("%s: got %v, %v", source, holds, err)
			}
		}
	}
}

// TestWhatExprLangLeavesUncheckedIsChecked: names in the bounds of a slice and in arguments, of what is not known.
func TestWhatExprLangLeavesUncheckedIsChecked(t *testing.T) {
	for source, want := range map[string]string{
		`args.path[0:len(tol)] == "x"`:  "column 17: unknown name tol",
		`args.path[principal.tenent:]`:  "column 21: unknown field tenent",
		`args.f(tol)`:                   "column 8: unknown name tol",
		`let f = lower; f(tool) == "x"`: "column 16: func(string) string is not callable",
	} {
		if _, err := cond.Compile(source); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", source, err, want)
		}
	}
}

package cond_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/cond"
)

func env() map[string]any {
	return map[string]any{
		"principal": map[string]any{"name": "ada", "tenant": "a"},
		"tool":      "Bash", "method": "hook/PreToolUse", "host": "claude", "session": "s", "workspace": "/w", "home": "/h",
		"args":    map[string]any{"tenant": "a", "n": 9007199254740993, "f": 1.5, "yes": true, "text": "hello", "list": []any{1, "x"}, "big": "12345678901234567890123"},
		"effects": map[string]any{"runs": []string{"git push", "ls"}, "reads": []string{}, "writes": []string{"/w/a"}, "connects": []string{}, "spawns": []string{}},
	}
}

func TestEval(t *testing.T) {
	for _, tc := range []struct {
		source string
		want   string // true, false or an error
	}{
		{`principal.tenant == args.tenant`, "true"},
		{`principal.name == "eve"`, "false"},
		{`args.n == 9007199254740993`, "true"},
		{`args.n > 9007199254740992 and args.f < 2`, "true"},
		{`args.big == "12345678901234567890123"`, "true"},
		{`args.big > 1`, "column 10: invalid operation: string > int"},
		{`args.yes`, "true"},
		{`args.none`, "false"},
		{`args.text`, "column 1: invalid operation: bool(string)"},
		{`args.none.deeper == 1`, "column 11: cannot fetch deeper from <nil>"},
		{`args?.none?.deeper == nil`, "true"},
		{`tool in ["Bash", "Read"] and not (host == "codex")`, "true"},
		{`any(effects.runs, # startsWith "git ")`, "true"},
		{`all(effects.writes, # startsWith workspace + "/")`, "true"},
		{`len(effects.runs | filter(# != "ls")) == 1`, "true"},
		{`len(args.list) == 2 and args.list[0] == 1`, "true"},
		{`args.list[5] == 1`, "column 10: index out of range: 5 (array length is 2)"},
		{`args.text matches "^h.*o$"`, "true"},
		{`lower(upper(args.text)) == trim(" hello ")`, "true"},
		{`let t = args.tenant; t == "a"`, "true"},
		{`args.f > 1 ? true : args.none.x`, "true"},
		{`1 / 0 > 1`, "true"},
		{`1 % 0 == 1`, "column 3: runtime error: integer divide by zero"},
		{`len(1..100000000) > 1`, "column 6: memory budget exceeded"},
		{`len(map(1..1000, map(1..1000, #))) > 1`, "column 23: memory budget exceeded"},
	} {
		e, err := cond.Compile(tc.source)
		if err != nil {
			t.Errorf("%s: %v", tc.source, err)
			continue
		}
		got := ""
		switch holds, err := e.Eval(env()); {
		case err != nil:
			got = err.Error()
		case holds:
			got = "true"
		default:
			got = "false"
		}
		if got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.source, got, tc.want)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for source, want := range map[string]string{
		``:                              "column 1: the expression is empty",
		" \n":                           "column 1: the expression is empty",
		`tool ==`:                       "column 7: unexpected token EOF",
		`tool`:                          "column 1: expected bool, but got string",
		`len(tool)`:                     "column 1: expected bool, but got int",
		`tol == "x"`:                    "column 1: unknown name tol",
		`é == "x"`:                      "column 1: unknown name é",
		`principal.tenent == "x"`:       "column 11: unknown field tenent",
		`effects.run == []`:             "column 9: unknown field run",
		`tool == 1`:                     "column 6: invalid operation: == (mismatched types string and int)",
		`now() == nil`:                  "column 1: unknown name now",
		`date("2020") == nil`:           "column 1: unknown name date",
		`duration("1h") == nil`:         "column 1: unknown name duration",
		`repeat("x", 9) == ""`:          "column 1: unknown name repeat",
		`toJSON(args) == ""`:            "column 1: unknown name toJSON",
		`$env.tool == "x"`:              "column 1: $env is not known here",
		`tool matches host`:             `column 6: the pattern behind "matches" must be written out in quotes`,
		`tool matches "("`:              "column 6: error parsing regexp: missing closing ): `(`",
		`args.n == 9999999999999999999`: "column 29: invalid integer literal: strconv.ParseInt: parsing \"9999999999999999999\": value out of range",
		`any(effects.runs, any(effects.runs, any(effects.runs, # == "x")))`:      "column 19: predicates stand in each other more than 2 deep",
		strings.Repeat(`tool == "x" or `, 90) + "true":                           "column 973: compilation failed: expression exceeds maximum allowed nodes",
		`tool == "` + strings.Repeat("x", 2048) + `"`:                            "column 1: the expression is longer than 2048 bytes",
		strings.Repeat("(", 1000) + "true" + strings.Repeat(")", 1000) + " or x": "column 2009: unknown name x",
	} {
		_, err := cond.Compile(source)
		e, ok := errors.AsType[*cond.Error](err)
		if !ok {
			t.Errorf("%.60s: got %v", source, err)
			continue
		}
		if diff := cmp.Diff(want, e.Error()); diff != "" {
			t.Errorf("%.60s (-want +got)\n%s", source, diff)
		}
	}
}

func TestExprSaysWhatItLooksAt(t *testing.T) {
	for source, want := range map[string]struct {
		names   []string
		all     bool
		effects bool
	}{
		`tool == "x"`:                            {},
		`args.a == 1 and args["b"].c == args.a`:  {names: []string{"a", "b", "a"}},
		`args[tool] == 1`:                        {all: true},
		`args == nil`:                            {all: true},
		`any(args, # == 1) or args.a == 1`:       {names: []string{"a"}, all: true},
		`let x = args; x.a == 1`:                 {all: true},
		`"x" in effects.runs`:                    {effects: true},
		`all(effects.reads, # == args.path)`:     {names: []string{"path"}, effects: true},
		`map([1], args).a == 1 and args?.b == 1`: {names: []string{"b"}, all: true},
	} {
		e, err := cond.Compile(source)
		if err != nil {
			continue // some are refused for their types, which is as good
		}
		names, all := e.Args()
		if !cmp.Equal(names, want.names) || all != want.all || e.Effects() != want.effects {
			t.Errorf("%s: got %v, %v, %v", source, names, all, e.Effects())
		}
	}
}

func TestEvalIsBoundedAndShared(t *testing.T) {
	e, err := cond.Compile(`any(effects.runs, any(effects.reads, # == tool + "x"))`)
	if err != nil {
		t.Fatal(err)
	}
	if flat, err := cond.Compile(`any(effects.runs, # == "x")`); err != nil || flat.MaxItems() <= e.MaxItems() {
		t.Errorf("nesting costs nothing: %v", err)
	}
	large := env()
	lists := map[string]any{}
	for _, kind := range []string{"runs", "reads", "writes", "connects", "spawns"} {
		list := make([]string, e.MaxItems())
		for i := range list {
			list[i] = strings.Repeat("y", 20)
		}
		lists[kind] = list
	}
	large["effects"] = lists
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			start := time.Now()
			holds, err := e.Eval(large)
			if holds || err != nil {
				t.Errorf("got %v, %v", holds, err)
			}
			if took := time.Since(start); took > 5*time.Second { // it is a few milliseconds on a machine that is quiet
				t.Errorf("took %v", took)
			}
		})
	}
	wait.Wait()
}

// FuzzCompile holds Compile and Eval to their promises: no panic, an error has a column, and the same expression and call
// give the same answer.
func FuzzCompile(f *testing.F) {
	for _, source := range []string{`principal.tenant == args.tenant`, `any(effects.runs, # startsWith "git ")`, `tool matches "^B"`, `args.list[0] in [1, 2]`, `let x = args.n; x > 5 ? true : false`,
		`len(map(1..9, # * 2)) == 9`, `not (host == "x") and args?.a?.b ?? true`, `args.text[1:3] == "el"`, "`raw` == tool", `{"a": 1}.a == 1`, `-1 ** 2 < 3.5e1`} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		e, err := cond.Compile(source)
		if err != nil {
			if fault, ok := errors.AsType[*cond.Error](err); !ok || fault.Column < 1 || fault.Msg == "" {
				t.Fatalf("%q: got %#v", source, err)
			}
			return
		}
		holds, err := e.Eval(env())
		again, errAgain := e.Eval(env())
		if holds != again || (err == nil) != (errAgain == nil) {
			t.Errorf("%q: %v, %v, and then %v, %v", source, holds, err, again, errAgain)
		}
	})
}

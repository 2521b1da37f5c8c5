package cond

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// outcome is what an expression comes to, for tables: true, false or an error.
func outcome(e *Expr, env map[string]any) string {
	holds, err := e.Eval(env)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(holds)
}

// notes is a list such as tools return.
func notes() map[string]any {
	note := func(id, text string) any { return map[string]any{"id": id, "text": text, "tags": []any{"x", id}} }
	return map[string]any{"notes": []any{note("1", "one"), note("2", "two"), note("3", "three")}, "none": []any{}, "n": 3, "s": "añb", "null": nil,
		"mixed": []any{map[string]any{}, map[string]any{"id": "1"}, "text"}, "m": map[string]any{"a": 1}}
}

// macroCases hold in both modes, with notes under args.
var macroCases = []struct{ source, want string }{
	{`args.notes.exists(n, n.id == "2" && n.text == "two")`, "true"},
	{`args.notes.exists(n, n.id == "2" && n.text == "one")`, "false"},
	{`args.none.exists(n, true)`, "false"},
	{`args.none.all(n, false)`, "true"},
	{`args.notes.all(n, n.id in ["1", "2", "3"])`, "true"},
	{`args.notes.all(n, n.id != "3")`, "false"},
	{`args.notes.exists_one(n, n.id == "3")`, "true"},
	{`args.notes.exists_one(n, n.text startsWith "t")`, "false"},
	{`args.notes.exists_one(n, n.id == "4")`, "false"},
	{`args.notes.filter(n, n.text.startsWith("t")).map(n, n.id) == ["2", "3"]`, "true"},
	{`args.notes.filter(n, n.text.startsWith("t")).size() == 2`, "true"},
	{`args.notes.map(n, n.text).exists(t, t.endsWith("ee"))`, "true"},
	{`args.notes.all(n, n.tags.exists(t, t == n.id))`, "true"},
	{`args.notes.all(n, any(n.tags, # == n.id))`, "true"},
	{`any(args.notes, .tags.exists(t, t == "2"))`, "true"},
	{`any([2, 3], args.none.exists(x, true) or # == 3)`, "true"},
	{`any([[1], [5]], #.exists(x, x == 5 and # == [5]))`, "true"},
	{`let id = "3"; args.notes.exists(n, n.id == id)`, "true"},
	{`args.notes.exists(n, let t = n.text; t == "two")`, "true"},
	{`[1, 2].exists(x, x == 2) and (1..9).exists_one(x, x == 9)`, "true"},
	{`!args.notes.exists(n, n.id == "9")`, "true"},
	{`args.s.size() == 3 and args.m.size() == 1 and args.notes.size() == 3`, "true"},
	{`args.s.contains("ñ") && args.s.startsWith("a") && args.s.endsWith("b")`, "true"},
	{`"abc".contains("d")`, "false"},
	{`has(args.n) and has(args.null) and not has(args.gone)`, "true"},
	{`has(args.m.a) and !has(args.m.b) and !has(args?.gone?.b)`, "true"},
	{`args?.gone?.exists(n, n.x.y == 1) == nil`, "true"},
	{`args?.gone?.size() == nil and args?.gone?.a.filter(n, true).size() == nil`, "true"},
	{`args.mixed.exists(n, n.id == "1")`, "true"},
	{`args.n.exists(x, true)`, "column 8: exists of int, which is no list"},
	{`args.s.exists(x, true)`, "column 8: exists of string, which is no list"},
	{`args.notes.exists(n, n.id)`, "column 24: expected bool, but got string"},
	{`args.notes.filter(n, n.id).size() == 1`, "column 24: expected bool, but got string"},
	{`args.n.size() == 1`, "column 8: size of int"},
	{`args.n.contains("x")`, "column 8: expected string, but got int"},
	{`args.s.contains(args.n)`, "column 8: expected string, but got int"},
	{`has(args.n.x)`, "column 1: has of a member of int"},
}

func TestMacros(t *testing.T) {
	for _, tc := range macroCases {
		named, err := CompileNames(tc.source, []string{"args"})
		if err != nil {
			t.Errorf("%s: %v", tc.source, err)
			continue
		}
		call := map[string]any{"args": notes()}
		if got := outcome(named, call); got != tc.want {
			t.Errorf("%s: over names got %s, want %s", tc.source, got, tc.want)
		}
		policy, err := Compile(tc.source)
		if err != nil {
			t.Errorf("%s: %v", tc.source, err)
			continue
		}
		if got := outcome(policy, call); got != tc.want {
			t.Errorf("%s: of a policy got %s, want %s", tc.source, got, tc.want)
		}
	}
}

// TestTheOrderOfItemsDoesNotCount has lists of which nothing can be said of some items, in every order.
func TestTheOrderOfItemsDoesNotCount(t *testing.T) {
	yes, no, dim := map[string]any{"ok": true}, map[string]any{"ok": false}, map[string]any{}
	const dimmed = "column 28: there is no member ok"
	for _, tc := range []struct {
		items             []any
		exists, all, once string
	}{
		{[]any{yes, no, dim}, "true", "false", dimmed},
		{[]any{yes, dim}, "true", dimmed, dimmed},
		{[]any{no, dim}, dimmed, "false", dimmed},
		{[]any{yes, yes, dim}, "true", dimmed, "false"},
		{[]any{dim}, dimmed, dimmed, dimmed},
	} {
		for turn := range tc.items {
			items := append(append([]any{}, tc.items[turn:]...), tc.items[:turn]...)
			for source, want := range map[string]string{"list     .exists(n, true and n.ok)": tc.exists, "list        .all(n, true and n.ok)": tc.all, "list .exists_one(n, true and n.ok)": tc.once} {
				e, err := CompileNames(source, []string{"list"})
				if err != nil {
					t.Fatal(err)
				}
				got := outcome(e, map[string]any{"list": items})
				if strings.HasPrefix(want, "column") {
					want = fmt.Sprintf("column %d: there is no member ok", strings.Index(source, ".ok")+2)
				}
				if got != want {
					t.Errorf("%s of %v: got %s, want %s", source, items, got, want)
				}
			}
		}
	}
}

// untold has expressions over names, and what each comes to for the value of o in TestWhatCannotBeToldIsNoAnswer.
var untold = map[string]string{
	// Members that are missing.
	`o.x != "a"`:                  "column 3: there is no member x",
	`o["x"] != "a"`:               "column 2: there is no member x",
	`o.x == nil`:                  "column 3: there is no member x",
	`not (o.x in ["a"])`:          "column 8: there is no member x",
	`o[o.s] == nil`:               "column 2: there is no member with the name that is computed",
	`o[o.null] == nil`:            "column 2: cannot fetch nil from map",
	`o.m.x != 1`:                  "column 5: there is no member x",
	`o?.m.x != 1`:                 "column 6: there is no member x",
	`o.l.exists(i, i == o.x)`:     "column 22: there is no member x",
	`none(o.l, # == o.x)`:         "column 18: there is no member x",
	`none([o], .x == "a")`:        "column 12: there is no member x",
	`{a: 1}.b == nil`:             "column 8: there is no member b",
	`o?.x != "a"`:                 "true",
	`o?.["x"] == nil`:             "true",
	`(o.x ?? "b") != "a"`:         "true",
	`(o.x ?? o.y ?? "b") == "b"`:  "true",
	`(o.x ?? o.y) == nil`:         "column 11: there is no member y",
	`(o.x.y ?? "b") == "b"`:       "column 4: there is no member x",
	`(o?.x?.y ?? "b") == "b"`:     "true",
	`(o.x?.y ?? "b") == "b"`:      "column 4: there is no member x",
	`"x" in o`:                    "false",
	`"s" in o and not ("x" in o)`: "true",
	`has(o.x)`:                    "false",
	`has(o.null)`:                 "true",
	`has(o.x.y)`:                  "column 7: there is no member x",
	`has(o?.x?.y)`:                "false",
	`none.x == 1`:                 "column 6: cannot fetch x from nil",
	`none == nil`:                 "true",
	// Nil where something is needed.
	`o.null == nil`:               "true",
	`o.null != "a"`:               "true",
	`not (o.null contains "a")`:   "column 13: expected string, but got nil",
	`not (o.null startsWith "a")`: "column 13: expected string, but got nil",
	`not ("a" endsWith o.null)`:   "column 10: expected string, but got nil",
	`not (o.null matches "a")`:    "column 13: expected string, but got nil",
	`o.null.contains("a")`:        "column 8: expected string, but got nil",
	`"a" not in o.null`:           `column 9: operator "in" not defined on nil`,
	`"a" not in (o?.x ?? [])`:     "true",
	`nil in o`:                    "column 5: cannot use nil as a key",
	`o.null`:                      "column 1: the expression gives neither true nor false, but nil",
	`o?.x`:                        "column 1: the expression gives neither true nor false, but nil",
	`o?.x?.size() == nil`:         "true",
	`o.m`:                         "column 1: the expression gives neither true nor false, but map",
	`not o.null`:                  "column 1: expected bool, but got nil",
	`first(o.n) != 1`:             "column 1: first of int",
	`last(o.s) != "a"`:            "column 1: last of string",
	`first([]) == nil`:            "true",
	`max(o.s) != 1`:               "column 1: invalid argument for max (type string)",
	`min(o.null) == nil`:          "column 1: invalid argument for min (type nil)",
	`len(o.null) == 0`:            "column 1: invalid argument for len (type nil)",
	`none(o.null, true)`:          "column 1: none of nil",
	// Bytes of texts.
	`o.s[0] != "a"`:       "column 4: a text has no elements",
	`o.s[0:1] == "a"`:     "true",
	`none(o.s, # == "a")`: "column 1: none of string",
	// Numbers.
	`o.n == 5.0 and 5 in [5.0] and {a: 1} == {a: 1.0}`: "true",
	`o.n == "5"`:                                         "false",
	`o.max == 9223372036854775808.0`:                     "column 7: these numbers cannot be compared",
	`9007199254740993 == 9007199254740992.0`:             "column 18: these numbers cannot be compared",
	`9007199254740993 > 9007199254740992.0`:              "column 18: these numbers cannot be compared",
	`o.big == "12345678901234567890"`:                    "false",
	`o.big == o.big and o.big > o.max and o.min < o.big`: "true",
	`o.big in [1, o.big]`:                                "true",
	`o.vast == o.vast`:                                   "column 8: these numbers cannot be compared",
	`o.vast > 1`:                                         "column 8: these numbers cannot be compared",
	`[o.vast] == [1]`:                                    "column 10: these numbers cannot be compared",
	`o.big + 1 == 1`:                                     "column 7: invalid operation: large number + int",
	`o.max + 1 < 0`:                                      "column 7: the result is no 64-bit integer",
	`o.min - 1 > 0`:                                      "column 7: the result is no 64-bit integer",
	`o.max * 2 == -2`:                                    "column 7: the result is no 64-bit integer",
	`-1 * o.min == o.min`:                                "column 4: the result is no 64-bit integer",
	`-o.min == o.min`:                                    "column 1: the result is no 64-bit integer",
	`abs(o.min) < 0`:                                     "column 1: the result is no 64-bit integer",
	`o.max + o.min == -1 and o.min + 0 == o.min and 3 - -4 == 7`:    "true",
	`o.max - 1 + 1 == o.max and o.min * 1 == o.min and 0 * -1 == 0`: "true",
	`o.n / o.zero > 1`:       "column 5: the result is no number",
	`1e300 * 1e300 > 1`:      "column 7: the result is no number",
	`10 ** 400 > 1`:          "column 4: the result is no number",
	`float("NaN") != 1`:      "column 14: these numbers cannot be compared",
	`int(1e300) > 1`:         "column 1: the result is no 64-bit integer",
	`int(o.f) == 1`:          "true",
	`o.l.x == 1`:             "column 5: cannot fetch x from list",
	`o.l[o.s] == 1`:          "column 4: cannot fetch string from list",
	`o.l[o.f] == "b"`:        "column 4: a number with a fraction stands where a whole one is needed",
	`len(o.min..o.max) == 0`: "column 10: the result is no 64-bit integer",
	`len(5..1) == 0`:         "true",
	`int("x") == 1`:          "column 1: invalid operation: int of a string that is no whole number",
	// Values of different kinds, and lists and maps.
	`o.l == ["a", "b"] and o.l != ["a"] and o.l != "ab" and o.m != o.l and o.yes != 1`: "true",
	`o.m == {k: 1} and o.m != {k: 2} and o.m != {j: 1} and o.m != {}`:                  "true",
	`[1, 2] == 1..2 and [] == 2..1 and 1..2 == [1.0, 2]`:                               "true",
}

// TestWhatCannotBeToldIsNoAnswer has, for expressions over names, what the language would call true or false although
// nobody knows.
func TestWhatCannotBeToldIsNoAnswer(t *testing.T) {
	json := map[string]any{"s": "a", "n": 5, "f": 1.5, "null": nil, "l": []any{"a", "b"}, "m": map[string]any{"k": 1}, "big": ParseNumber("12345678901234567890"), "vast": ParseNumber("1e99999999999999999999"),
		"max": int(9223372036854775807), "min": -9223372036854775808, "zero": 0, "yes": true}
	for source, want := range untold {
		e, err := CompileNames(source, []string{"o", "none"})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got := outcome(e, map[string]any{"o": json}); got != want {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
	}
}

// TestAPolicyGoesOnWithNil: what holds for expressions over names changes nothing for a policy.
func TestAPolicyGoesOnWithNil(t *testing.T) {
	for _, source := range []string{`args.gone != "a"`, `args.null not contains "a"`, `"a" not in args.null`, `1 / 0 > 1`, `args.notes[0].gone == nil`, `args.mixed[0].id == nil`, `first(5 ?? args) == nil`, `{a: 1} != {a: 1.0}`,
		`args.s[0] != "a"`, `9007199254740993 == 9007199254740992.0`} {
		e, err := Compile(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got := outcome(e, map[string]any{"args": notes()}); got != "true" {
			t.Errorf("%s: got %s", source, got)
		}
	}
}

func TestFaultsOfExpressionsOverNames(t *testing.T) {
	names := []string{"observation", "call", "args", "result"}
	for _, tc := range []struct{ source, want, hint string }{
		{`obsevation.x == 1`, "column 1: unknown name obsevation", `did you mean "observation"?`},
		{`tool == "x"`, "column 1: unknown name tool", ""},
		{`leng(observation) == 1`, "column 1: unknown name leng", `did you mean "len"?`},
		{`observation.notes.exist(n, n.x == 1)`, "column 19: unknown function exist", `did you mean "exists"?`},
		{`observation.notes.existsOne(n, n.x == 1)`, "column 19: unknown function existsOne", `did you mean "exists_one"?`},
		{`observation.text.startswith("a")`, "column 18: unknown function startswith", `did you mean "startsWith"?`},
		{`observation.text.frobnicate("a")`, "column 18: unknown function frobnicate", ""},
		{`observation.notes.exists(n, m.x == 1)`, "column 29: unknown name m", `did you mean "n"?`},
		{`observation.notes.exists(n.x == 1)`, "column 26: exists takes a name and an expression", `it is written as list.exists(x, …), where x in the second part stands for an item`},
		{`observation.notes.exists()`, "column 26: exists takes a name and an expression", `it is written as list.exists(x, …), where x in the second part stands for an item`},
		{`observation.notes.exists(n)`, "column 26: exists takes a name and an expression", `it is written as list.exists(x, …), where x in the second part stands for an item`},
		{`observation.notes.exists(true, true)`, "column 26: exists takes a name and an expression", `it is written as list.exists(x, …), where x in the second part stands for an item`},
		{`observation.notes.exists(n, )`, "column 29: unexpected token Bracket(\")\")", ""},
		{`observation.notes.exists(n, true, 1)`, "column 33: unexpected token Operator(\",\")", ""},
		{`observation.notes.exists(n, "x")`, "column 29: what exists says of an item must be true or false (got string)", ""},
		{`observation.notes.exists(call, true)`, "column 19: cannot redeclare call", ""},
		{`observation.notes.exists(len, true)`, "column 19: cannot redeclare len", ""},
		{`observation.a.exists(n, observation.b.exists(n, true))`, "column 39: cannot redeclare n", ""},
		{`observation.a.exists(a, a.b.exists(b, b.c.exists(c, true)))`, "column 15: predicates stand in each other more than 2 deep", ""},
		{`any(observation.a, .b.exists(b, b.c.exists(c, true)))`, "column 20: predicates stand in each other more than 2 deep", ""},
		{`observation.text.startsWith()`, "column 18: startsWith takes 1 arguments", ""},
		{`observation.text.size(1) == 1`, "column 18: size takes 0 arguments", ""},
		{`"x".exists(n, true)`, "column 5: exists takes only a list (got string)", ""},
		{`[1].startsWith("a")`, "column 5: type []interface {} has no method startsWith", ""},
		{`"a".startsWith(1)`, "column 16: cannot use int as an argument of startsWith", ""},
		{`observation.n.size()`, "column 1: expected bool, but got int", ""},
		{`has(observation)`, "column 5: has takes a member", "such as has(observation.note)"},
		{`has()`, "column 5: unexpected token Bracket(\")\")", ""},
		{`observation.x == lower`, "column 18: lower is a function", "to call it write lower(…)"},
		{`observation()`, "column 1: what is no function is called", ""},
		{`observation["x"]()`, "column 17: unexpected token Bracket(\"(\")", ""},
		{`observation.notes | exists(n, true)`, "column 21: unknown name exists", ""},
		{`$env.x == 1`, "column 1: $env is not known here", ""},
	} {
		_, err := CompileNames(tc.source, names)
		fault, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%s: got %v", tc.source, err)
			continue
		}
		if fault.Error() != tc.want || fault.Hint != tc.hint {
			t.Errorf("%s: got %s (%s), want %s (%s)", tc.source, fault, fault.Hint, tc.want, tc.hint)
		}
	}
	for source, hint := range map[string]string{`principal.tenent == "x"`: `did you mean "tenant"?`, `tol == "x"`: `did you mean "tool"?`, `args.a.exist(n, n.id == 1)`: `did you mean "exists"?`} {
		_, err := Compile(source)
		if fault, ok := errors.AsType[*Error](err); !ok || fault.Hint != hint {
			t.Errorf("%s: got %#v", source, err)
		}
	}
}

// shown is a Look as a text.
func shown(l *Look) string {
	switch {
	case l == nil:
		return "-"
	case l.All:
		return "*"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(l.Members)) {
		parts = append(parts, name+shown(l.Members[name]))
	}
	if l.Items != nil {
		parts = append(parts, "[]"+shown(l.Items))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

func TestLooks(t *testing.T) {
	for source, want := range map[string]string{
		`a.b.c == a["d"]`:                                        "{b{c*} d*} -",
		`a == b`:                                                 "* *",
		`a.b == 1 and a == b.c`:                                  "* {c*}",
		`a[b.x] == 1`:                                            "* {x*}",
		`a.l[0].x == 1`:                                          "{l*} -",
		`a?.b?.c == 1 and has(a.d.e)`:                            "{b{c*} d{e*}} -",
		`let v = a.x; v.y == 1`:                                  "{x*} -",
		`"x" in a and a.y.size() == 1`:                           "* -",
		`any(a.l, #.x == b)`:                                     "{l*} *",
		`{k: a.x}.k == (true ? b.y : a.z ?? 1)`:                  "{x* z*} {y*}",
		`a.l.exists(n, n.x == b.y)`:                              "{l{[]{x*}}} {y*}",
		`a.l.exists(n, true)`:                                    "{l{[]{}}} -",
		`a.l.all(n, n == b)`:                                     "{l{[]*}} *",
		`a.l.all(n, "k" in n or n.z)`:                            "{l{[]*}} -",
		`a.l.all(n, n[b] == 1)`:                                  "{l{[]*}} *",
		`a.l.all(n, let m = n; m.x)`:                             "{l{[]*}} -",
		`a.l.all(n, has(n.x) and n?.y?.z == 1)`:                  "{l{[]{x* y{z*}}}} -",
		`a.l.exists(n, n.tags.all(t, t.x == n.y))`:               "{l{[]{tags{[]{x*}} y*}}} -",
		`a.l.filter(n, n.x).exists(m, m.y)`:                      "{l*} -",
		`a.l.map(n, n.x).exists(m, m.y)`:                         "{l{[]{x*}}} -",
		`a.l.map(n, n).size() == 1`:                              "{l{[]*}} -",
		`a.l.exists(n, n.x) and a.l.exists(n, n.y) and a.m == 1`: "{l{[]{x* y*}} m*} -",
		`a.l.exists(n, n.x) and a.l.size() == 1`:                 "{l*} -",
		`a?.l?.exists(n, n.x)`:                                   "{l{[]{x*}}} -",
		`[1].exists(n, n == a.x)`:                                "{x*} -",
	} {
		e, err := CompileNames(source, []string{"a", "b"})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got := shown(e.Look("a")) + " " + shown(e.Look("b")); got != want {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
	}
}

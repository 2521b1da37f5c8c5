package cond

import (
	"strings"
	"testing"
)

// oddities are expressions that say where the language has its edges.
func oddities() []string {
	return []string{
		// Tokens.
		"", " ", "\t", "true//x", "true // x\n and false", "true /* x */ and /**/ true", "/* x", "true /", "a b", "1 2", "é", "tool == 'Bash'", "tool == `Bash`", "`a``b`", "`a``", "`\xff``x`", "`\r\n`",
		`"\x41\101\u0041\U00000041\u{41}"`, `"\u{}"`, `"\u{1234567}"`, `"\u{110000}"`, `"\u{10ffff}"`, `"\ud800"`, `"\UFFFFFFFF"`, `"\U7FFFFFFF"`, `"\400"`, `"\8"`, `"\18"`, `"\x4"`, `"\xg1"`, `"\q"`, `"\'"`, `'\''`, `'\"'`,
		`"\` + "`" + `"`, `"\?"`, `"\a\b\f\n\r\t\v\\"`, "\"a\rb\"", "\"a\r\nb\"", "\"a\nb\"", `"a`, `'a"`, `"\`, "\"\xff\"", `b"\xff\377\n"`, `b'\u0041'`, `B"x"`, `b"é"`, `b "x"`, `bx`, `b"\400"`,
		"1_000", "1__0", "_1", "1_", "0x", "0xFF", "0XfF", "0x1_F", "0b101", "0B1", "0b2", "0o17", "0O7", "0o8", "017", "08", "0b1e5", "0x1.8", "0x1p3", "1.5", "1.", "1.e5", ".5", "..5", "1..2", "1...2", "1.5.5", ".5.5", "1e5", "1E+5",
		"1e-5", "1e", "1e400", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "0x8000000000000000", "1a", "1é", "1.a", "1 .a", "10..12", "1.0..2", "1e2..3", "1_0.5_0",
		"not", "notin", "not in", "1 not in [2]", "1 not  in [2]", "1 not\nin [2]", "not(true)", "not true", "nottrue", "true not", "true not and false", "1 not not in [1]", "!true", "! true", "!!true", "- -1", "--1", "+-1", "1--1", "1 - -1", "1**-1", "-1**2", "2**3**2",
		"2^3", "2 ** 0.5", "true &&false", "true&false", "true|| false", "true|false", "1<2<3", "1<2>0", "3>2>1>0", "1<2==true", "1==1==true", "1<2<\"a\"", "args.n<8<args.z", "1 <= 1 < 2 and 2 > 1", "1 ? 2 : 3", "true?1:2", "true ? 1", "true ? : 1", "nil ?: 1",
		"true ? false ? 1 : 2 : 3", "true ? 1 : false ? 2 : 3", "args.t?.5:1", "args.t ? .5 : 1", "a?.b", "args?.a.b.c", "args.none?.a.b.c", "args.none?.a[0]", "args.none?.[0].a", "args.none?.[0][1]", "args?.", "args?.[", "args?.[0", "args.", "args..a", "args.1", "args.'a'",
		"args.not", "args.in", "args.if", "args.let", "args.true", "args.nil", "args.and.or", "args.+", "args?.not?.in", "args.none?.a + 1", "(args.none?.a).b", "(args?.m).a", "args.m?.a ?? 5", "args.none?.x ?? args?.n ?? 1", "1 ?? 2 ?? 3", "1 ?? 2 + 3", "(1 ?? 2) + 3", "1 + 2 ?? 3",
		"nil ?? tool", "tool ?? nil", "nil ?? nil", "nil", "effects.connects ?? [\"x\"]", "effects?.connects ?? 1", "1 ?? effects?.connects", "effects.connects == []", "effects.connects == nil", "[] == nil", "{} == nil", "effects.reads == 3..1", "3..1 == []", "[1, 2] == 1..2", "1..2 == [1.0, 2]",
		"1..2 == args.l", "[\"a\"] == effects.runs", "b\"a\" == [97]", "[97] == b\"a\"", "b\"a\" == \"a\"", "b\"ab\" == effects.runs", "{a: 1} == {a: 1.0}", "{a: 1} == {a: 1}", "{a: [1]} == {a: 1..1}", "{a: []} == {a: []}", "{a: nil} == {b: nil}", "[{a: 1}] == [{a: 1}]", "nil == nil", "1 == 1.0",
		"9007199254740993 == 9007199254740992.0", "9007199254740993 == 9007199254740993", "0.1 + 0.2 == 0.3", "1 / 2", "7 / 0", "-7 / 0", "0 / 0", "7 % 0", "7 % -2", "-7 % 2", "7.0 % 2", "args.f % 2", "1 + 1.5", "\"a\" + \"b\"", "\"a\" + 1", "\"a\" * 2", "9223372036854775807 + 1", "args.z - 1",
		"args.z % -1", "args.z / -1", "-args.z", "abs(args.z)", "2 ** 62", "-2 ** 2", "-args.s?.[0]", "args.s[0] + 1", "args.s[0] == \"h\"", "args.s[-1]", "args.s[0:1]", "args.s[1.9:]", "args.l[1.9]", "args.l[\"0\"]", "args.l[nil]", "args[nil]", "args[0]", "args.m[true]", "args.s.x", "args.n.x", "args.t[0]",
		// Lists, maps, calls.
		"[", "[1", "[1,", "[1,]", "[,]", "[1,,2]", "[1 2]", "{", "{a", "{a:", "{a:1", "{a:1,", "{a:1,}", "{,}", "{a:1,,b:2}", "{1: 2}", "{1.5: 2}[\"1.5\"]", "{\"a b\": 1}[\"a b\"]", "{true: 1}.true", "{(\"a\" + \"b\"): 1}.ab", "{[1]: 1}", "{if: 1}", "{not: 1}", "{a: 1, a: 2}.a", "{a: b}", "{(nil): 1}", "{-1: 2}",
		"()", "(true", "true)", "(true))", "((true))", "[(1)]", "len(", "len(tool", "len(tool,", "len(tool,)", "len(,)", "len tool", "tool()", "args()", "args.f()", "args.f(1)", "args.none?.f()", "args.s()", "len()()", "[lower][0](tool)", "principal.name()", "tool.lower()", "nil()", "true()", "1()", "\"a\"()", "nil.a",
		"true.a", "1.5.a", "\"a\".b", "\"abc\"[1]", "\"abc\"[1:]", "tool[0]", "tool[1:2]", "tool[1:\"a\"]", "tool[nil:]", "tool[1:2:3]", "tool[", "tool[]", "tool[:", "tool[::]", "tool[:][0:1]", "[1,2,3][1:][0]", "(1..5)[1:3]", "b\"abc\"[1:]", "principal[0]", "principal[\"name\"]", "principal[tool]", "principal[\"bad\"]",
		"principal.bad", "principal?.bad", "effects[\"runs\"][0]", "effects.runs.x", "effects.runs[\"x\"]", "effects.runs[0].x", "effects.runs[0][0]", "effects.runs[1:]", "effects.runs[99]", "$env", "$env.tool", "$env[\"tool\"]", "$env()", "$", "_", "let $env = 1; true", "let $env = 1; $env == 1", "foo", "foo.bar", "foo()", "foo[0]",
		"[principal, {}][0].name", "[{}, principal][0].bad", "[{}, principal][0].name", "[nil, principal][1].bad", "(true ? principal : {}).bad", "(true ? {} : principal).bad", "(principal ?? {}).bad", "({} ?? principal).bad", "[principal] | map(.bad)", "[principal] | map(.name)", "first([principal]).bad", "find([principal], true).bad",
		"(true ? nil : 1) == 1", "(true ? nil : \"a\") == \"a\"", "find(effects.runs, false) == \"x\"", "find(effects.runs, true) == \"git push\"", "[nil, 1][0] == 1", "[1, args.n][1] == 7", "[1, args.s][1] == 7", "(1 ?? 2) == 1", "(nil ?? 1) == 1", "(true and args.n) == args.n", "(false or args.s) == args.s", "true and 1", "false or nil",
		"principal.tenant == \"a\"", "home == \"\"", "home == nil", "home + \"x\"", "len(home)", "tool in effects", "tool in principal", "\"name\" in principal", "1 in principal", "nil in principal", "args.n in principal", "args.none in args.m", "1 in effects.runs", "\"ls\" in effects.runs", "nil in effects.runs", "args.s in effects.runs", "1 in 1..3", "1.0 in 1..3",
		"\"a\" in \"abc\"", "args.s in tool", "tool in args.s", "1 in nil", "1 in args.none", "1 in 1", "1 in args.n", "[1] in [[1]]", "{a: 1} in [{a: 1}]", "nil in []", "nil in [nil]", "lower in [upper]", "lower == upper", "lower == hasPrefix", "len == abs", "all == any", "all == filter", "lower in {}", "lower", "lower.x", "lower()", "not lower", "lower + lower",
		// let, if, sequences, pointers.
		"let x = 1", "let x = 1;", "let x = 1; x", "let x = 1; let x = 2; x", "let x = (let x = 1; x); x", "let tool = 1; tool", "let len = 1; len", "let now = 1; now", "let args = 1; args", "let 1 = 1; 1", "let x == 1; x", "let let = 1; 1", "let x = y; x", "let x = x; x", "1 + let x = 1; x", "(let x = 1; x) + 1", "[let x = 1; x]",
		"let x = 1; let y = x + 1; x + y == 3", "let x = args.none; x?.y", "let x = principal; x.bad", "let x = principal; x.name", "let x = nil; x == nil", "let x = nil; x.a", "let x = lower; x(\"A\")", "let x = args.n; x()", "let x = 1; 2; x", "1; 2; true", "1; 2;", ";", "1;;2", "true;", "(1; true)", "[1; 2]", "foo; true", "any([1], 1; true)",
		"any([1], {1; # == 1})", "any([1], {let x = #; x == 1})", "any([1], let x = #; x == 1)", "if true {1} else {2}", "if true {1}", "if true {1} else 2", "if true {1} else if false {2} else {3}", "if 1 {1} else {2}", "if args.t {args.n} else {nil}", "if true {1} else {2} + 1", "1 + if true {1} else {2}", "(if true {1} else {2}) + 1", "if true {} else {}",
		"if true {1; 2} else {let x = 3; x}", "if nil {1} else {2}", "if", "else", "if(true)", "#", "#index", ".a", "..a", "##", "# in [1]", "any([1], ##)", "any([1], # #)", "any([1], #in == 1)", "map([5, 6], #index)", "map([5, 6], # + #index)", "map([5], map([6], #index + #))", "map([5], any([6], #index == 0))", "filter([1], #index == 0)", "map([1], #acc)",
		"map([[1]], #[0])", "map([{a: 1}], .a)", "map([{a: 1}], .a + 1)", "map([{a: {b: 2}}], .a.b)", "map([{a: 1}], .b?.c)", "map([1], {a: #})", "map([1], {#})", "map([1], ({a: #}))", "map([1], [#, #])", "map(effects.runs, len(#))", "map(effects.runs, # + \"x\")", "map(effects.runs, #.x)", "map(effects.runs, nil)", "count([true, false])", "count([1])", "count([])",
		"count(args.l)", "count(args.x)", "any(args.s, # == 104)", "map(args.s, #)", "filter(args.m, true)", "count(args.m, true)", "all(args.m, true)", "any(args.m, # == 1)", "any(args.n, true)", "any(nil, true)", "any(args.none, true)", "any(1, true)", "any(tool, true)", "any(principal, true)", "any(b\"ab\", # == 97)", "map(b\"ab\", #)", "filter(b\"ab\", true)", "find(b\"ab\", # == 98)",
		"any(1..3, # == 2)", "filter(1..5, # % 2 == 0)", "find(1..5, # > 2)", "one([1, 2], # == 1)", "none([], true)", "all([], false)", "any([], true)", "any([1], #foo)", "any([1], any([2], any([3], true)))", "any([1], any([2], # == 2)) and any([3], any([4], # == 4))", "map(map([1, 2], # * 2), # + 1)", "any(effects.runs, # in args.l)", "len(1..19999) > 1", "len(1..20000) > 1", "len(1..10000) + len(1..9998)",
		"len(1..10000) + len(1..10000)", "1..9223372036854775807", "-9223372036854775807..9223372036854775807", "5..1", "1..args.none", "1..\"a\"", "1.5..3", "args.f..4", "tool matches \"^B\"", "tool matches \"(\"", "tool matches host", "tool matches (\"^B\")", "tool matches \"^\" + \"B\"", "tool not matches \"x\"", "nil matches \"x\"", "args.none matches \"x\"", "args.n matches \"x\"", "b\"ab\" matches \"b\"", "1 matches \"x\"",
		"effects.connects matches \"x\"", "args.m contains \"x\"", "args.none contains \"x\"", "\"x\" contains args.none", "tool contains \"as\" and tool startsWith \"B\" and tool endsWith \"h\"", "tool contains nil", "effects.connects startsWith \"x\"", "min()", "min(1)", "min(1, 2.0, -1)", "min([3, 1], 2)", "min([])", "max([], 1)", "max(\"a\")", "max(args.s)", "max(args.none)", "max(args.m)", "max(args.n, args.s)", "max([\"a\"])",
		"max([nil])", "max([[1, [5]], 3])", "max(effects.runs)", "max(effects.reads)", "max(1..3, 2.5)", "max(b\"ab\", 1)", "max(5, [0/0, 3, 9])", "max(0/0, 1..3)", "min(1, args.s, \"x\")", "max(1, true)", "first([])", "first(tool)", "first(args.s)", "last(args.s)", "first(args.m)", "first(args.none)", "first(1)", "first(args.n)", "last(1..3)", "first(b\"ab\")", "first(effects.connects)", "keys({a: 1})", "values({a: 1})", "keys([])", "keys(args.l)", "keys(nil)",
		"string(nil)", "string(1.0)", "string(1e21)", "string([1, \"a\", nil, [2.5], {b: 1, a: true}])", "string(b\"ab\")", "string(effects.runs)", "string(1..3)", "string(args.l)", "type(b\"a\"[0])", "type(args.s[0])", "type(nil)", "type(1..2)", "type(lower)", "type(args)", "int(\"1_0\")", "int(\"+5\")", "int(2.9)", "int(-2.9)", "int(true)", "int(args.t)", "int([])", "float(\"0x1p-2\")", "float(\"inf\")", "float(\"1_0\")", "float(true)", "trim(\"xax\", \"x\")",
		"trim(1)", "trimPrefix(\" a\")", "trimSuffix(\"a \")", "trimPrefix(\"aab\", \"a\")", "indexOf(\"añb\", \"b\")", "lastIndexOf(\"aba\", \"a\")", "indexOf(\"a\")", "len(\"añb\")", "len(args.s)", "len(args.m)", "len(args.n)", "len(nil)", "len(1)", "len(b\"añ\")", "tool | lower | upper()", "tool | lower()", "tool | lower() | upper() == \"BASH\"", "tool | lower() == \"bash\"", "1 + 2 | string()", "-1 | abs()", "tool | foo()", "tool | 1", "tool |", "| lower()", "[1] | any(# == 1) and true",
		"[1] | count()", "[1] | map(# + 1) | filter(# > 1) | len()", "tool | lower().x", "args | keys() | len()", "args.n | int()", "tool | ::lower()", "::lower(tool)", "::foo(tool)", "::", "::tool", "::any([1], true)", "a::b", "true and", "and true", "true or or true", "== 1", "1 ==", "1 === 1", "1 = 1", "1 <> 2", "1 => 2", "1 =< 2", "true & true", "~1", "1 @ 2", "a ? b", "a : b", "\\", "\x00", "\ufeff1", "1\u00a0+ 1", "tool\u2028== \"Bash\"",
		"[args.m, nil][0].a", "[nil, args.m][1].a", "[args.n, nil][0] + 1", "map([args.m, nil], .a)", `[b"a", ["x"]][0][0] == 1`, `[b"a", ["x"]][1][0] == 1`, `[[1], b"a"][0][0] == "x"`, `[[1], b"a"][1][0] == 97`,
		"{a: args.m} == {a: {}}", "{a: {}} == {a: args.m}", "[{a: effects.connects}] == [{a: effects.reads}]", "type(nil ?? effects?.connects)", "type(effects?.connects)", "type(effects.connects)",
		"args.y ?? 1", "args.y == nil", "args.y?.z", "type(args.y)", "args.y == args.m", "args.y == []", "any(args.y, true)", "args.y contains \"x\"", "args.y in [nil]", "{a: args.y} == {a: []}",
		"args.l[foo:]", "args.l[1:foo]", "args.f(foo)", "tool[foo:]", strings.Repeat("(", 900) + "true" + strings.Repeat(")", 900), strings.Repeat("not ", 254) + "true", strings.Repeat("not ", 255) + "true", strings.Repeat("not ", 256) + "true", strings.Repeat("[", 250) + strings.Repeat("]", 250), strings.Repeat("-", 1000) + "1", "true" + strings.Repeat(" and true", 127), "true" + strings.Repeat(" and true", 128),
		strings.Repeat("if true {", 100) + "true" + strings.Repeat("} else {true}", 100), strings.Repeat("true ? ", 60) + "1" + strings.Repeat(" : 2", 60), strings.Repeat("{", 500), strings.Repeat("any([1], ", 100), "args" + strings.Repeat(".a", 120), "args" + strings.Repeat("?.a", 80), "args" + strings.Repeat("[0]", 120), "1" + strings.Repeat(" ** 1", 120), "[" + strings.Repeat("1,", 254) + "]", "[" + strings.Repeat("1,", 255) + "]", "[" + strings.Repeat("1,", 256) + "]",
	}
}

// TestOdditiesAreAsInExprLang also counts how many errors are told at the place where the module tells them.
func TestOdditiesAreAsInExprLang(t *testing.T) {
	same, other := 0, 0
	for _, source := range oddities() {
		compare(t, source)
		want, got := errorColumns(source)
		column, _, _ := strings.Cut(want, " ")
		switch {
		case want == "" || got == "":
		case strings.HasPrefix(got, column+" "):
			same++
		default:
			other++
			t.Logf("%.80q\nat %s\nand by the module at %s", source, got, want)
		}
	}
	if same < 20*other {
		t.Errorf("%d errors are at the place where the module tells them, %d are not", same, other)
	}
}

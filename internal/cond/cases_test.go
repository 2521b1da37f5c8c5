package cond

import (
	"strings"
	"testing"
)

// operands are values of every type, of types that are known and of such as are not.
func operands() []string {
	return []string{"nil", "true", "2", "-3", "2.5", `"ab"`, `b"ab"`, "[1, 2]", "[]", "1..3", `{"ab": 1}`, "effects.runs", "effects.connects", "principal", "lower",
		"args.none", "args.t", "args.n", "args.f", "args.s", "args.l", "args.m", "args.s?.[0]", `[b"a"[0]][0]`, "tool"}
}

// TestOperatorsAreAsInExprLang has every operator between values of every pair of types.
func TestOperatorsAreAsInExprLang(t *testing.T) {
	for _, op := range binaryOperators() {
		for _, l := range operands() {
			for _, r := range operands() {
				if op != "matches" {
					compare(t, l+" "+op+" "+r)
				}
			}
			compare(t, l+" "+op+` "a"`)
		}
	}
	for _, v := range operands() {
		for _, form := range []string{"-%", "+%", "not %", "!%", "-(%)", "not (%)", "%.ab", "%?.ab", "(%).ab", "(%)?.ab", "(%)[0]", "(%)[-1]", "(%)[5]", `(%)["ab"]`, "(%)[nil]",
			"(%)[1.5]", "(%)[1:]", "(%)[:1]", "(%)[:]", "(%)[-1:9]", "(%)[2:1]", "(%)[args.n:]", "(%)?.[0]", `(%)?.["ab"]`, "(%)()", "(%).ab()", "% ? 1 : 2", "% ?: 2", "true ? % : nil", "args.t ? % : 1",
			"args.t ? % : [nil]", "if % {1} else {2}", "let x = %; x", "let x = %; x == x", "[%, %]", "[1, %][1]", `{"a": %}.a`, `{(%): 1}`, "[%] == [%]", "{a: %} == {a: %}", "% == nil", "nil != %",
			"% ?? 1", "(% ?? nil) == 1", "true and %", "false or %", "% and true", "1; %"} {
			compare(t, strings.ReplaceAll(form, "%", v))
		}
	}
}

func binaryOperators() []string {
	return []string{"|", "or", "||", "and", "&&", "==", "!=", "<", ">", ">=", "<=", "in", "not in", "matches", "not matches", "contains", "not contains", "startsWith", "endsWith",
		"..", "+", "-", "*", "/", "%", "**", "^", "??", "=", "&", "!", "=>", "not"}
}

// TestPrecedenceIsAsInExprLang has every pair of operators, and those that stand before a value.
func TestPrecedenceIsAsInExprLang(t *testing.T) {
	for _, one := range binaryOperators() {
		for _, other := range binaryOperators() {
			compare(t, "args.n "+one+" 2 "+other+" args.f")
			compare(t, "7 "+one+" 2 "+other+" 3")
			compare(t, "true "+one+" args.t "+other+" false")
			compare(t, `"b" `+one+` args.s `+other+` ["b"]`)
		}
		for _, before := range []string{"not ", "-", "+", "!", "not -", "not not "} {
			compare(t, before+"2 "+one+" 3")
			compare(t, "2 "+one+" "+before+"3")
			compare(t, before+"args.t "+one+" true")
			compare(t, "2 "+one+" 3 ? 1 : "+before+"2 "+one+" 4")
		}
	}
}

// TestFunctionsAreAsInExprLang has every function with arguments of every type, with too few and too many.
func TestFunctionsAreAsInExprLang(t *testing.T) {
	odd := []string{`"12"`, `" 1"`, `"0x1f"`, `"1e3"`, `"NaN"`, `"-Inf"`, "9223372036854775807", "-9223372036854775807 - 1", "1e300", "0/0.0", "-0.0", "-2.5", "args.z - 0.5", "[[1, 2], 3.5]", "[nil]", `["a"]`,
		"[[], [5]]", `[b"ab"]`, "1.5e-7", "1e21", "100000000.0", "{}", "{a: {b: [1, nil, true, \"x\"]}}", `"ÄÖß"`, `"\u0130"`, `"\xff"`, "args", "effects", "$env", "unknown"}
	for _, name := range []string{"len", "type", "int", "float", "string", "abs", "min", "max", "lower", "upper", "trim", "trimPrefix", "trimSuffix", "hasPrefix", "hasSuffix", "indexOf", "lastIndexOf",
		"keys", "values", "first", "last", "now", "repeat", "reduce", "sum", "get", "toJSON", "unknown", "args"} {
		compare(t, name)
		compare(t, name+" == nil")
		compare(t, name+"()")
		compare(t, "::"+name+"(args.l)")
		compare(t, "let "+name+" = 1; true")
		compare(t, "let f = "+name+"; f")
		for _, v := range append(operands(), odd...) {
			for _, form := range []string{"%(#)", "# | %()", `%(#, "a")`, `%("abab", #)`, "%(1, #)", "%(#, #, #)", "%([#])", "%(#,)"} {
				compare(t, strings.ReplaceAll(strings.ReplaceAll(form, "%", name), "#", v))
			}
		}
	}
}

// TestPredicatesAreAsInExprLang has every function that has a predicate, over values of every type.
func TestPredicatesAreAsInExprLang(t *testing.T) {
	for _, name := range []string{"all", "any", "none", "one", "filter", "map", "find", "count"} {
		for _, list := range append(operands(), "[true, false]", "[[1], [2, 3]]", "[{a: 1}, {a: 2}]", "[1, nil]", "args.x", "[]") {
			for _, body := range []string{"true", "false", "nil", "#", "# == 1", "#index == 1", "#acc", "#index", ".a", ".a == 1", "# in args.l", "args.t", "len(#) > 0", "{# == 1}", "{let y = #; y == 1}", "{1; true}",
				"any(#, # == 1)", "any(effects.runs, {# == \"ls\"})", "any(args.l, any(args.l, true))", "#[0] == 1", "#.a?.b == nil", "# startsWith \"g\"", "# foo", "not #", ". a == 1", "#a", "lower"} {
				compare(t, name+"("+list+", "+body+")")
			}
			compare(t, name+"("+list+")")
			compare(t, name+"("+list+",)")
			compare(t, list+" | "+name+"(# == 1)")
			compare(t, list+" | "+name+"()")
			compare(t, list+" | "+name+"(#, true)")
			compare(t, name+"("+list+", true, 1)")
			compare(t, name+"("+list+", true,)")
		}
	}
}

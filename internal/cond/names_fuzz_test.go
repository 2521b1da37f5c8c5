package cond

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// macroPieces are parts of expressions over names, to be put together.
func macroPieces() []string {
	return []string{"o", "o.l", "o.m", "o.s", "o.n", "o.big", "o.x", "o?.x", ".exists(a, ", ".all(b, ", ".exists_one(c, ", ".filter(d, ", ".map(e, ", "?.exists(f, ", "a", "b", "c", "d", "e", ")", ".size()", ".startsWith(", ".contains(o.s)", "?.endsWith(\"a\")",
		"has(", "has(o.m.k)", " == ", " != ", " < ", " and ", " or ", " ?? ", " in ", "not ", "1..9000", "1", "2.5", "\"a\"", "nil", "true", "any(o.l, ", "#", "let v = ", "; ", "v", " + ", " * ", "[", "]", ", ", "string(", "o.l.map(g, o.l)", "(", " ? ", " : "}
}

// FuzzNames holds expressions over names to their promises: no panic, no more steps than an expression may take, the same
// answer each time.
func FuzzNames(f *testing.F) {
	for _, tc := range macroCases {
		f.Add(tc.source, uint64(0))
	}
	for seed := range uint64(40) {
		f.Add(generate(seed), seed)
		f.Add(overNames(seed), seed)
	}
	f.Add(`o.l.exists(a, o.l.all(b, a == b))`, uint64(1))
	f.Fuzz(func(t *testing.T, source string, seed uint64) {
		checkBounds(t, source)
		random := rand.New(rand.NewPCG(seed, 2))
		var b strings.Builder
		pieces := macroPieces()
		for range 3 + random.IntN(12) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		checkBounds(t, b.String())
		checkBounds(t, garble(b.String(), []byte(source)))
	})
}

// boundedCall is what the names in an expression of the fuzz target stand for.
func boundedCall() map[string]any {
	list := make([]any, 0, 64)
	for i := range 64 {
		list = append(list, map[string]any{"k": i, "id": strings.Repeat("x", i)}, i, ParseNumber("1e400"))
	}
	return map[string]any{"o": map[string]any{"l": list, "m": map[string]any{"k": nil}, "s": "añ", "n": 1.5, "big": ParseNumber("123456789012345678901")}, "args": notes()}
}

// checkBounds evaluates an expression in both modes, and reports whether it gave true or false over names.
func checkBounds(t *testing.T, source string) (told bool) {
	t.Helper()
	if e, err := Compile(source); err == nil {
		checkRun(t, source, e)
	}
	e, err := CompileNames(source, []string{"o", "args"})
	if err != nil {
		if fault, ok := err.(*Error); !ok || fault.Column < 1 || fault.Msg == "" {
			t.Errorf("%q: got %#v", source, err)
		}
		return false
	}
	return checkRun(t, source, e)
}

func checkRun(t *testing.T, source string, e *Expr) (told bool) {
	t.Helper()
	m := machine{env: boundedCall(), strict: e.strict}
	got, err := m.run(e.root, e.slots)
	if err != nil && strings.Contains(err.Error(), mistake) {
		t.Errorf("%q: %v", source, err)
	}
	if m.steps > maxSteps && (err == nil || !strings.Contains(err.Error(), "takes too long")) {
		t.Errorf("%q: %d steps and then %v, %v", source, m.steps, got, err)
	}
	if m.memory > maxMemory {
		t.Errorf("%q: %d values made", source, m.memory)
	}
	holds, evalErr := e.Eval(boundedCall())
	again, againErr := e.Eval(boundedCall())
	if holds != again || (evalErr == nil) != (againErr == nil) || evalErr != nil && evalErr.Error() != againErr.Error() {
		t.Errorf("%q: %v, %v, and then %v, %v", source, holds, evalErr, again, againErr)
	}
	return evalErr == nil
}

// TestMacrosEndWhateverTheyAreGiven has macros that would take time or memory without bound.
func TestMacrosEndWhateverTheyAreGiven(t *testing.T) {
	list := make([]any, 10_000)
	for i := range list {
		list[i] = map[string]any{"id": i}
	}
	env := map[string]any{"o": map[string]any{"l": list, "s": strings.Repeat("x", 1<<20), "vast": ParseNumber("1" + strings.Repeat("0", 4000) + "1")}}
	for _, source := range []string{
		`o.l.exists(a, o.l.exists(b, a.id == b.id + 100000))`,
		`o.l.all(a, o.l.exists_one(b, a.id == b.id))`,
		`o.l.exists(a, o.l.exists(b, b.none == 1))`, // nothing can be said of any item
		`o.l.all(a, o.s.contains("y") or o.s.endsWith("x"))`,
		`o.l.exists(a, any(o.l, .id == -1))`,
		`o.l.exists(a, a.id == o.vast) or o.l.exists(a, o.l.exists(b, o.vast < 1))`,
		`o.l.map(a, o.l.map(b, b)).size() == 1`,
		`o.l.map(a, a).map(a, a).map(a, a).size() == 1`,
		`(1..9000).map(a, o.l.filter(b, true)).size() == 1`,
		`o.l.map(a, o.s + o.s).size() == 1`,
		`let m = o.l.filter(a, true); o.l.all(x, m == m)`,
		`(1..9000).exists(a, (1..9000).exists(b, false))`,
	} {
		e, err := CompileNames(source, []string{"o"})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		start := time.Now()
		_, err = e.Eval(env)
		if took := time.Since(start); took > time.Minute { // it is a quarter of a second on a machine that is quiet
			t.Errorf("%s took %v", source, took)
		}
		if err == nil || !bounded(err) {
			t.Errorf("%s: got %v", source, err)
		}
	}
}

// TestMacrosAreAdditions: what calls a macro or a method, the module refuses, or fails to evaluate for every call, or gives
// nil, where "?." leaves the call out.
func TestMacrosAreAdditions(t *testing.T) {
	refused, failed, left := 0, 0, 0
	for _, base := range append(operands(), "args.gone?", "effects.runs?", "args", "args.l?") {
		for _, call := range []string{"exists(x, true)", "all(args.n, args.n == 1)", "exists_one(1, true)", "filter(args.l, true)", "map(tool, 1)", "size()", "startsWith(\"h\")", "endsWith(args.s)", "contains(tool)", "size().a", "exists(args.n, true).a"} {
			source := "(" + base + ")." + call
			if inner, ok := strings.CutSuffix(base, "?"); ok {
				source = inner + "?." + call
			}
			if !adds(source) {
				t.Fatalf("%s is not seen", source)
			}
			program, err := reference(source, false)
			if err != nil {
				refused++
				continue
			}
			root, slots, fault := own(source)
			for i, env := range sampleCalls() {
				want, err := evaluate(program, env)
				switch {
				case err != nil:
					failed++
				case want != nil:
					t.Errorf("%s\ncall %d: the module gives %#v", source, i, want)
				case fault == nil:
					left++
					if got, err := run(root, slots, env); err != nil || got != nil {
						t.Errorf("%s\ncall %d: got %#v, %v, want nil", source, i, got, err)
					}
				}
			}
		}
	}
	if refused == 0 || failed == 0 || left == 0 {
		t.Errorf("one-sided: %d refused, %d failed, %d left out", refused, failed, left)
	}
}

// overNames writes a macro over names, most of which can be evaluated.
func overNames(seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 3))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	item := "x"
	predicate := func() string {
		return item + pick(" == 5", " != nil", ".id == \"2\"", ".tags.exists(y, y == x.id)", " in args.none", "?.k == 1", ".text.size() > 2", " > 0", " < o.big", ".none ?? true", ".id.startsWith(\"1\")", " == o.l[2]") +
			pick("", " and true", " or has("+item+".id)")
	}
	list := pick("o.l", "(1..50)", "args.notes", "args.none", "[1, 2.0, o.big]", "args.mixed", "o.s", "o?.x?")
	if pick("", "", "chained") != "" {
		list += ".filter(" + item + ", " + predicate() + ")"
	}
	switch random.IntN(4) {
	case 0:
		return list + ".map(" + item + ", " + item + pick("", ".id", " == 1") + ")" + pick(".size() > 1", " == [1]", ".exists(z, z == 1)")
	case 1:
		return list + ".filter(" + item + ", " + predicate() + ").size() == " + pick("0", "1", "2")
	}
	return pick("", "not ") + list + pick(".exists(", ".all(", ".exists_one(") + item + ", " + predicate() + ")"
}

// TestGeneratedExpressionsOverNamesAreBounded is the fuzz target with what the generators write.
func TestGeneratedExpressionsOverNamesAreBounded(t *testing.T) {
	told := 0
	for seed := range uint64(1500) {
		source := overNames(seed)
		if checkBounds(t, source) {
			told++
		}
		checkBounds(t, garble(source, []byte{byte(seed), byte(seed >> 2), byte(seed >> 4)}))
		checkBounds(t, strings.ReplaceAll(generate(seed), "tool", "o.s"))
	}
	if told < 300 || told > 1300 {
		t.Errorf("the generator has become one-sided: %d of 1500 can be told", told)
	}
}

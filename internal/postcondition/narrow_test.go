package postcondition

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/cond"
)

// randomExpression writes a condition over a and b, and over what macros and let name.
func randomExpression(random *rand.Rand, names []string, depth int) string {
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	value := func() string {
		v := names[random.IntN(len(names))]
		for range random.IntN(3) {
			v += pick(".k", ".l", ".m", "?.k", "?.l", `["m"]`, "[0]", `[b.k]`)
		}
		return v
	}
	if depth == 0 {
		return pick(value()+pick(" == ", " != ")+pick(value(), "1", `"x"`, "nil", "[]", "{k: 1}"), "has("+value()+pick(".k", ".m")+")", `"k" in `+value(), "len("+value()+") > 1", value()+".size() == 2",
			"("+value()+" ?? "+value()+") == 1", "any("+value()+", # == "+value()+")", "string("+value()+`) contains "m"`, value()+" == "+value()+".filter(z, z != 1)")
	}
	inner := func(more ...string) string {
		return randomExpression(random, append(names[:len(names):len(names)], more...), depth-1)
	}
	name := "v" + fmt.Sprint(depth)
	switch random.IntN(6) {
	case 0:
		return "(" + inner() + pick(" and ", " or ") + inner() + ")"
	case 1:
		return "not (" + inner() + ")"
	case 2:
		return "(let " + name + " = " + value() + "; " + inner(name) + ")"
	case 3:
		return value() + ".map(" + name + ", " + pick(name, name+".k", inner(name)) + ")" + pick(".size() == 2", ".exists(w"+name+", w"+name+".k == 1)", " == [1]")
	}
	return value() + pick(".exists(", ".all(", ".exists_one(", "?.exists(") + name + ", " + inner(name) + ")"
}

// randomJSON writes JSON in which much of what the expressions look at is there.
func randomJSON(random *rand.Rand, depth int) string {
	if depth == 0 || random.IntN(6) == 0 {
		return []string{"1", "2.0", `"x"`, "null", "true", `"k"`, "[]", "{}"}[random.IntN(8)]
	}
	var parts []string
	if random.IntN(2) == 0 {
		for range random.IntN(4) {
			parts = append(parts, randomJSON(random, depth-1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	for _, key := range []string{"k", "l", "m"} {
		if random.IntN(5) > 0 {
			parts = append(parts, `"`+key+`":`+randomJSON(random, depth-1))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// TestWhatIsLeftOutDoesNotCount evaluates conditions with what they look at, and with everything: both come to the same, errors
// included.
func TestWhatIsLeftOutDoesNotCount(t *testing.T) {
	counts := map[string]int{}
	random := rand.New(rand.NewPCG(7, 7))
	for range 6000 {
		source := randomExpression(random, []string{"a", "a", "b"}, random.IntN(3))
		c, err := Compile(source, []string{"a", "b"})
		if err != nil {
			counts["refused"]++
			continue
		}
		for range 4 {
			values := Values{"a": read(t, randomJSON(random, 4)), "b": read(t, randomJSON(random, 3))}
			env := map[string]any{}
			for name, v := range values {
				all := conversion{text: maxText, items: maxItems}
				if env[name], err = all.value(v, everything); err != nil {
					t.Fatal(err)
				}
			}
			want := ""
			if holds, err := c.expr.Eval(env); err != nil {
				want = "evaluating the condition: " + err.Error()
			} else {
				want = fmt.Sprint(holds)
			}
			got := outcome(c, values)
			if got != want {
				t.Errorf("%s\na is %s\nb is %s\ngot %s, want %s", source, values["a"].Bytes(), values["b"].Bytes(), got, want)
			}
			if len(want) > 5 {
				want = "error"
			}
			counts[want]++
		}
	}
	if counts["true"] < 1000 || counts["false"] < 1000 || counts["error"] < 1000 || counts["refused"] > 3000 {
		t.Errorf("one-sided: %v", counts)
	}
}

// TestOnlyWhatIsLookedAtIsConverted has a ledger of more notes than a condition may see whole.
func TestOnlyWhatIsLookedAtIsConverted(t *testing.T) {
	values := Values{"observation": ledger(t, 6000)}
	for source, want := range map[string]string{
		`observation.notes.exists(n, n.request_id == "req-005999" and n.text != "")`: "true",
		`observation.notes.exists(n, n == 1)`:                                        "reading observation: " + errTooLarge.Error(),
	} {
		if got := outcome(compiled(t, source, "observation"), values); got != want {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
	}
	n := conversion{text: maxText, items: maxItems}
	v, err := n.value(read(t, `{"l":[{"x":1,"y":{"big":[1,2,3]}},[[5]],7],"m":{"deep":[1,2]}}`), &cond.Look{Members: map[string]*cond.Look{"l": {Items: &cond.Look{Members: map[string]*cond.Look{"x": {All: true}}}}}})
	if got := fmt.Sprint(v); err != nil || got != "map[l:[map[x:1] [] 7]]" {
		t.Errorf("got %s, %v", got, err)
	}
	if spent := maxItems - n.items; spent != 6 {
		t.Errorf("%d values count", spent)
	}
}

// TestDeepValuesEnd has lists within each other, the innermost of which is larger than a condition may see.
func TestDeepValuesEnd(t *testing.T) {
	text := strings.Repeat("[", canon.MaxDepth-1) + strings.Repeat("0,", 400_000) + "0" + strings.Repeat("]", canon.MaxDepth-1)
	values := Values{"observation": read(t, `{"l":`+text+`}`)}
	for source, want := range map[string]string{
		`observation.l.exists(n, n == 1)`:    "reading observation: " + errTooLarge.Error(),
		`observation.l == 1`:                 "reading observation: " + errTooLarge.Error(),
		`observation.l.exists(n, n[0] == 1)`: "reading observation: " + errTooLarge.Error(),
		`observation.l.exists(n, n.x == 1)`:  "evaluating the condition: column 27: cannot fetch x from list",
		`observation.l.exists(n, true)`:      "true",
	} {
		if got := outcome(compiled(t, source, "observation"), values); got != want {
			t.Errorf("%s: got %.80s, want %s", source, got, want)
		}
	}
}

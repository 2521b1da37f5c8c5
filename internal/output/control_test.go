package output

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

func apply(t *testing.T, r Rule, result string) string {
	t.Helper()
	out, err := r.Apply([]byte(result))
	if err != nil {
		t.Fatalf("%s: %v", result, err)
	}
	return string(out)
}

func TestControl(t *testing.T) {
	for _, tc := range []struct{ name, result, mark, remove string }{
		{"nothing", `{"a":"b\n\t\r","n":1e400,"n":0.10}`, `{"a":"b\n\t\r","n":1e400,"n":0.10}`, `{"a":"b\n\t\r","n":1e400,"n":0.10}`},
		{"all that is not found stays as it is", `{ "a" : "\u00e9\/\u0041\u0007" , "b":"\/"}`, `{ "a" : "\u00e9\/\u0041⟦U+0007⟧" , "b":"\/"}`, `{ "a" : "\u00e9\/\u0041" , "b":"\/"}`},
		{"escaped", `"a\u0000b\bc\f\u007f\u0085"`, `"a⟦U+0000⟧b⟦U+0008⟧c⟦U+000C⟧⟦U+007F⟧⟦U+0085⟧"`, `"abc"`},
		{"as it is", "\"a\u007fb\u0085c\"", `"a⟦U+007F⟧b⟦U+0085⟧c"`, `"abc"`},
		{"colours", `"\u001b[1;31mred\u001B[0m \u009b2Jx"`, `"⟦ANSI⟧red⟦ANSI⟧ ⟦ANSI⟧x"`, `"red x"`},
		{"a colour that does not end", `"\u001b[1;31"`, `"⟦U+001B⟧[1;31"`, `"[1;31"`},
		{"a link", `"\u001b]8;;https://evil.example\u0007safe\u001b]8;;\u001b\\"`, `"⟦ANSI⟧safe⟦ANSI⟧"`, `"safe"`},
		{"a link by C1", `"\u009d8;;https://evil.example\u009csafe"`, `"⟦ANSI⟧safe"`, `"safe"`},
		{"the clipboard", `"\u001b]52;c;cm0gLXJm\u0007"`, `"⟦ANSI⟧"`, `""`},
		{"a string that does not end hides nothing", `"\u001b]0;rm -rf\nx"`, `"⟦ANSI⟧0;rm -rf\nx"`, `"0;rm -rf\nx"`},
		{"a string within a string", `"\u001b]0;a\u001b]0;b\u0007c"`, `"⟦ANSI⟧0;a⟦ANSI⟧c"`, `"0;ac"`},
		{"device control", `"\u001bPq#0\u001b\\x\u001b(B\u001bcy"`, `"⟦ANSI⟧x⟦ANSI⟧⟦ANSI⟧y"`, `"xy"`},
		{"right to left", `"\u202egnp.exe\u2066x\u2069"`, `"⟦U+202E⟧gnp.exe⟦U+2066⟧x⟦U+2069⟧"`, `"gnp.exex"`},
		{"right to left as it is", "\"\u202egnp\u200f\"", `"⟦U+202E⟧gnp⟦U+200F⟧"`, `"gnp"`},
		{"zero width", "\"pass\u200bword\ufeff\u2060\u00ad\"", `"pass⟦U+200B⟧word⟦U+FEFF⟧⟦U+2060⟧⟦U+00AD⟧"`, `"password"`},
		{"tags", "\"hi\U000E0049\U000E0067\"", `"hi⟦U+E0049⟧⟦U+E0067⟧"`, `"hi"`},
		{"tags in escapes", `"hi\udb40\udc49"`, `"hi⟦U+E0049⟧"`, `"hi"`},
		{"variation selectors that carry something", "\"x\U000E0100\U000E01EF\"", `"x⟦U+E0100⟧⟦U+E01EF⟧"`, `"x"`},
		{"a half that would find the other one", `"\udb40` + "\u200b" + `\udc49"`, `"⟦U+DB40⟧⟦U+200B⟧⟦U+DC49⟧"`, `""`},
		{"keys", `{"a\u001b[1m":1,"\u202e":{"b":[]}}`, `{"a⟦ANSI⟧":1,"⟦U+202E⟧":{"b":[]}}`, `{"a":1,"":{"b":[]}}`},
		{"an emoji of several", `"👩‍👩‍👧 ❤️ 1️⃣ 👁️‍🗨️"`, `"👩‍👩‍👧 ❤️ 1️⃣ 👁️‍🗨️"`, `"👩‍👩‍👧 ❤️ 1️⃣ 👁️‍🗨️"`},
		{"joiners in Persian and Hindi", "\"می\u200cخواهم क्\u200dष\"", "\"می\u200cخواهم क्\u200dष\"", "\"می\u200cخواهم क्\u200dष\""},
		{"joiners among letters that do not join", "\"a\u200db\u200cc\"", `"a⟦U+200D⟧b⟦U+200C⟧c"`, `"abc"`},
		{"a message in joiners", "\"👩\u200d\u200d\u200c👩\"", `"👩⟦U+200D⟧⟦U+200D⟧⟦U+200C⟧👩"`, `"👩👩"`},
		{"the character that says that there is none", `"� \ufffd"`, `"� \ufffd"`, `"� \ufffd"`},
		{"an escaped backslash", `"\\u001b[1m"`, `"\\u001b[1m"`, `"\\u001b[1m"`},
		{"another language", `"Größe 日本語 Ελλάδα"`, `"Größe 日本語 Ελλάδα"`, `"Größe 日本語 Ελλάδα"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.mark, apply(t, Rule{Control: Mark}, tc.result)); diff != "" {
				t.Errorf("marked (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tc.remove, apply(t, Rule{Control: Remove}, tc.result)); diff != "" {
				t.Errorf("removed (-want +got)\n%s", diff)
			}
		})
	}
}

// TestNothingHiddenIsOverlooked holds the quick look at bytes to what it spares.
func TestNothingHiddenIsOverlooked(t *testing.T) {
	hidden := 0
	for r := range rune(utf8.MaxRune + 1) {
		if !utf8.ValidRune(r) || !isHidden(r) {
			continue
		}
		if hidden++; !mayHide([]byte(string(r))) {
			t.Errorf("U+%04X is overlooked", r)
		}
	}
	if hidden < 4000 {
		t.Errorf("only %d characters are hidden", hidden)
	}
}

func TestResultsThatAreNotTouched(t *testing.T) {
	for _, result := range []string{`{"content":[{"type":"text","text":"a\u00e9"}],"x":[1.0,9007199254740993]}`, `null`, strings.Repeat("[", 5000) + strings.Repeat("]", 5000)} {
		for _, r := range []Rule{{}, {MaxBytes: 1 << 20}, {Control: Mark}, {Control: Remove, Secrets: true}} {
			in := []byte(result)
			out, err := r.Apply(in)
			if err != nil || len(out) != len(in) || &out[0] != &in[0] {
				t.Errorf("%+v: %.40s is copied, %v", r, result, err)
			}
		}
	}
}

func TestResultsThatMayNotPass(t *testing.T) {
	for _, tc := range []struct {
		name, result string
		rule         Rule
		want         string
	}{
		{"too large", `"12345678"`, Rule{MaxBytes: 9}, "the result is larger than the policy allows: 10 bytes, and 9 may pass"},
		{"too large once it is marked", `"\u0007\u0007"`, Rule{MaxBytes: 20, Control: Mark}, "the result is larger than the policy allows: 26 bytes, and 20 may pass"},
		{"too large, though something would be removed", `"\u0007\u0007"`, Rule{MaxBytes: 10, Control: Remove}, "the result is larger than the policy allows: 14 bytes, and 10 may pass"},
		{"no JSON", `{"a":"\u001b`, Rule{Control: Mark}, "the result cannot be searched as the policy asks, since it is no JSON"},
		{"marks without end", `"` + strings.Repeat("\u007f", 1<<16) + `"`, Rule{Control: Mark}, "the result has too many control characters to mark them"},
	} {
		out, err := tc.rule.Apply([]byte(tc.result))
		if out != nil && err != nil && tc.rule.MaxBytes == 0 || err == nil || err.Error() != tc.want {
			t.Errorf("%s: got %v", tc.name, err)
		}
	}
}

func TestStricter(t *testing.T) {
	for _, tc := range []struct{ a, b, want Rule }{
		{Rule{}, Rule{}, Rule{}},
		{Rule{MaxBytes: 5}, Rule{}, Rule{MaxBytes: 5}},
		{Rule{MaxBytes: 5}, Rule{MaxBytes: 4, Control: Mark}, Rule{MaxBytes: 4, Control: Mark}},
		{Rule{Control: Remove}, Rule{Control: Mark, Secrets: true}, Rule{Control: Remove, Secrets: true}},
	} {
		if got := tc.a.Stricter(tc.b); got != tc.want {
			t.Errorf("%+v and %+v: got %+v", tc.a, tc.b, got)
		}
		if got := tc.b.Stricter(tc.a); got != tc.want {
			t.Errorf("%+v and %+v: got %+v", tc.b, tc.a, got)
		}
	}
}

// TestDepthCostsNothing: what stands deep is found as what stands at the top.
func TestDepthCostsNothing(t *testing.T) {
	const depth = 100_000
	deep := []byte(strings.Repeat(`{"a":[`, depth) + `"\u0007"` + strings.Repeat("]}", depth))
	if out := apply(t, Rule{Control: Remove, Secrets: true}, string(deep)); len(out) != len(deep)-len(`\u0007`) {
		t.Errorf("%d bytes become %d", len(deep), len(out))
	}
}

// shape is JSON without its strings' contents.
func shape(v canon.Value, depth int) string {
	switch v.Kind() {
	case canon.String:
		return `""`
	case canon.Array:
		s := "["
		for e := range v.Elements() {
			if depth < 50 {
				s += shape(e, depth+1) + ","
			}
		}
		return s + "]"
	case canon.Object:
		s := "{"
		for _, e := range v.Members() {
			if depth < 50 {
				s += shape(e, depth+1) + ","
			}
		}
		return s + "}"
	default:
		return string(v.Bytes())
	}
}

// FuzzApply: what was JSON stays JSON of the same shape, of valid text; what is left has nothing hidden in it, and nothing
// is left to do.
func FuzzApply(f *testing.F) {
	for _, seed := range []string{`{"a\u001b[1m":"\u202ex\udb40\udc49","b":["\ud83d\u200b\ude00",1e400]}`, "\"\u009d8;;x\u009c\u200d\"", `{"text":"AKIAQWERTYUIOPASDFGH \u001b]0;"}`, `["` + "👩‍👩‍👧" + `\u0000"]`,
		`{"aws_secret":"key = wJalrXUtnFEMIK7MDENGbPxRfiCYzyxwvutsrqpo"}`, `"\\\u001b\\"`, `"\"\u001b\""`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, result []byte) {
		before, err := canon.Skim(result)
		if err != nil {
			return
		}
		for _, r := range []Rule{{Control: Mark}, {Control: Remove}, {Secrets: true}, {Control: Remove, Secrets: true}} {
			out, err := r.Apply(bytes.Clone(result))
			if err != nil {
				continue
			}
			after, err := canon.Skim(out)
			if err != nil {
				t.Fatalf("%+v: %s becomes %s: %v", r, result, out, err)
			}
			if a, b := shape(before, 0), shape(after, 0); a != b {
				t.Fatalf("%+v: %s becomes %s", r, result, out)
			}
			if r.Control == Keep {
				continue
			}
			if again, err := (Rule{Control: r.Control}).Apply(out); err != nil || !bytes.Equal(again, out) {
				t.Fatalf("%+v: %q becomes %q, and then %q, %v", r, result, out, again, err)
			}
		}
	})
}

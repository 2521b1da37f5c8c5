package canon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		want       canon.Error
	}{
		{"nothing", "", canon.Error{Reason: canon.Syntax, Offset: 0, Detail: "unexpected end"}},
		{"white space only", " \n", canon.Error{Reason: canon.Syntax, Offset: 2, Detail: "unexpected end"}},
		{"byte order mark", "\uFEFF{}", canon.Error{Reason: canon.Syntax, Offset: 0, Detail: "byte order mark"}},
		{"a word", `{"a":nul}`, canon.Error{Reason: canon.Syntax, Offset: 8, Detail: `unexpected '}'`}},
		{"upper case", "True", canon.Error{Reason: canon.Syntax, Offset: 0, Detail: `unexpected 'T'`}},
		{"NaN", "NaN", canon.Error{Reason: canon.Syntax, Offset: 0, Detail: `unexpected 'N'`}},
		{"-Infinity", "-Infinity", canon.Error{Reason: canon.Syntax, Offset: 1, Detail: `unexpected 'I'`}},
		{"minus alone", "-", canon.Error{Reason: canon.Syntax, Offset: 1, Detail: "unexpected end"}},
		{"leading zero", "-012", canon.Error{Reason: canon.Syntax, Offset: 2, Detail: `unexpected '1'`}},
		{"fraction without digits", "[1.]", canon.Error{Reason: canon.Syntax, Offset: 3, Detail: `unexpected ']'`}},
		{"exponent without digits", "1e+", canon.Error{Reason: canon.Syntax, Offset: 3, Detail: "unexpected end"}},
		{"second value", "{} 1", canon.Error{Reason: canon.Syntax, Offset: 3, Detail: `unexpected '1'`}},
		{"NUL behind", "1\x00", canon.Error{Reason: canon.Syntax, Offset: 1, Detail: `unexpected '\x00'`}},
		{"comma before the end", "[1,]", canon.Error{Reason: canon.Syntax, Offset: 3, Detail: `unexpected ']'`}},
		{"comma at the start", "{,}", canon.Error{Reason: canon.Syntax, Offset: 1, Detail: `unexpected ','`}},
		{"no comma", "[1 2]", canon.Error{Reason: canon.Syntax, Offset: 3, Detail: `unexpected '2'`}},
		{"wrong bracket", `{"a":1]`, canon.Error{Reason: canon.Syntax, Offset: 6, Detail: `unexpected ']'`}},
		{"key without quotes", "{a:1}", canon.Error{Reason: canon.Syntax, Offset: 1, Detail: `unexpected 'a'`}},
		{"no colon", `{"a" 1}`, canon.Error{Reason: canon.Syntax, Offset: 5, Detail: `unexpected '1'`}},
		{"open array", "[[1]", canon.Error{Reason: canon.Syntax, Offset: 4, Detail: "unexpected end"}},
		{"open string", `"abc`, canon.Error{Reason: canon.Syntax, Offset: 4, Detail: "unexpected end"}},
		{"open escape", `"\`, canon.Error{Reason: canon.Syntax, Offset: 2, Detail: "unexpected end"}},
		{"raw newline", "\"a\nb\"", canon.Error{Reason: canon.Syntax, Offset: 2, Detail: `raw '\n' in a string`}},
		{"unknown escape", `"\x41"`, canon.Error{Reason: canon.Syntax, Offset: 1, Detail: "invalid escape"}},
		{"short escape", `"\u12"`, canon.Error{Reason: canon.Syntax, Offset: 1, Detail: "invalid escape"}},
		{"no-break space", "\u00A01", canon.Error{Reason: canon.Syntax, Offset: 0, Detail: `unexpected '\u00a0'`}},

		{"stray byte", "\xff", canon.Error{Reason: canon.Encoding, Offset: 0, Detail: "invalid UTF-8"}},
		{"stray byte in a string", "\"a\x80\"", canon.Error{Reason: canon.Encoding, Offset: 2, Detail: "invalid UTF-8"}},
		{"overlong", "\"\xc0\xaf\"", canon.Error{Reason: canon.Encoding, Offset: 1, Detail: "invalid UTF-8"}},
		{"surrogate in UTF-8", "\"\xed\xa0\x80\"", canon.Error{Reason: canon.Encoding, Offset: 1, Detail: "invalid UTF-8"}},
		{"beyond U+10FFFF", "\"\xf4\x90\x80\x80\"", canon.Error{Reason: canon.Encoding, Offset: 1, Detail: "invalid UTF-8"}},
		{"cut rune", "\"é\xe2\x82\"", canon.Error{Reason: canon.Encoding, Offset: 3, Detail: "invalid UTF-8"}},

		{"high surrogate", `["\ud800"]`, canon.Error{Reason: canon.Surrogate, Offset: 2, Detail: "half of a surrogate pair"}},
		{"low surrogate", `"x\uDC00"`, canon.Error{Reason: canon.Surrogate, Offset: 2, Detail: "half of a surrogate pair"}},
		{"reversed pair", `"\ude00\ud83d"`, canon.Error{Reason: canon.Surrogate, Offset: 1, Detail: "half of a surrogate pair"}},
		{"two high surrogates", `"\ud83d\ud83d\ude00"`, canon.Error{Reason: canon.Surrogate, Offset: 1, Detail: "half of a surrogate pair"}},
		{"two low surrogates", `"\udc00\udc00"`, canon.Error{Reason: canon.Surrogate, Offset: 1, Detail: "half of a surrogate pair"}},
		{"pair without backslash", `"\ud83dxude00"`, canon.Error{Reason: canon.Surrogate, Offset: 1, Detail: "half of a surrogate pair"}},
		{"surrogate in a key", `{"\ud800":1}`, canon.Error{Reason: canon.Surrogate, Offset: 2, Detail: "half of a surrogate pair"}},

		{"duplicate", `{"a":1,"b":2,"a":3}`, canon.Error{Reason: canon.Duplicate, Offset: 13, Detail: `duplicate key "a"`}},
		{"duplicate, escaped", `{"\u0061/":1,"a\/":2}`, canon.Error{Reason: canon.Duplicate, Offset: 13, Detail: `duplicate key "a/"`}},
		{"duplicate surrogate pair", `{"😀":1,"\ud83d\ude00":2}`, canon.Error{Reason: canon.Duplicate, Offset: 10, Detail: `duplicate key "😀"`}},
		{"duplicate within", `[{"x":{"":[],"":{}}}]`, canon.Error{Reason: canon.Duplicate, Offset: 13, Detail: `duplicate key ""`}},
		{"duplicate around", `{"a":{"a":1},"b":{},"a":2}`, canon.Error{Reason: canon.Duplicate, Offset: 20, Detail: `duplicate key "a"`}},
		{"long duplicate", `{"` + strings.Repeat("é", 99) + `":1,"` + strings.Repeat("é", 99) + `":1}`,
			canon.Error{Reason: canon.Duplicate, Offset: 204, Detail: `duplicate key "` + strings.Repeat("é", 40) + `"...`}},

		{"129 arrays", nested("[", "]", 129), canon.Error{Reason: canon.Depth, Offset: 128, Detail: "nesting deeper than 128"}},
		{"129 objects", strings.Repeat(`{"a":`, 128) + "{}" + strings.Repeat("}", 128),
			canon.Error{Reason: canon.Depth, Offset: 640, Detail: "nesting deeper than 128"}},
		{"4301 digits", "[-" + strings.Repeat("1", 4301) + "]", canon.Error{Reason: canon.Range, Offset: 1, Detail: "integer of more than 4300 digits"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v, err := canon.Parse([]byte(test.text))
			got, ok := errors.AsType[*canon.Error](err)
			if !ok {
				t.Fatalf("Parse(%.80q) = %s, error %v", test.text, v.Bytes(), err)
			}
			if diff := cmp.Diff(test.want, *got); diff != "" {
				t.Errorf("Parse(%.80q), error (-want +got):\n%s", test.text, diff)
			}
			if v.Exists() {
				t.Errorf("Parse(%.80q) = %s with an error", test.text, v.Bytes())
			}
			malformed := test.want.Reason == canon.Syntax || test.want.Reason == canon.Encoding
			if got.Malformed() != malformed {
				t.Errorf("Malformed() = %v, want %v", got.Malformed(), malformed)
			}
		})
	}
}

func TestErrorSaysWhatAndWhere(t *testing.T) {
	_, err := canon.Parse([]byte(`{"b":{},"a":[],"a":0}`))
	const want = `duplicate key "a" at byte 15`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// What is no JSON is said to be malformed, even if something else had to be refused before.
func TestMalformedOutranksOtherReasons(t *testing.T) {
	for _, refused := range []string{`{"a":1,"a":2}`, `"\ud800"`, strings.Repeat("1", 4301), nested("[", "]", 5000)} {
		for _, rest := range []string{"", "]]", ",", ",\"\xff\"]"} {
			_, err := canon.Parse([]byte("[" + refused + rest))
			e, ok := errors.AsType[*canon.Error](err)
			if !ok || !e.Malformed() {
				t.Errorf("Parse([%.20s...%s) = %v, which is not malformed", refused, rest, err)
			}
		}
		_, err := canon.Parse([]byte("[" + refused + "]"))
		if e, ok := errors.AsType[*canon.Error](err); !ok || e.Malformed() {
			t.Errorf("Parse([%.20s...]) = %v, want it refused but not malformed", refused, err)
		}
	}
}

func TestParseTakesWhatIsJustWithinTheLimits(t *testing.T) {
	for _, text := range []string{
		nested("[", "]", 128),
		nested(`{"a":[`, "]}", 64),
		strings.Repeat(`{"a":`, 127) + "{}" + strings.Repeat("}", 127),
		"[" + strings.Repeat("[[]],", 1000) + "0]",
		strings.Repeat("9", 4300),
		"-" + strings.Repeat("9", 4300),
		strings.Repeat("9", 5000) + ".0",
		"1e400",
		`"\ud83d\ude00\uD83D\uDE00"`,
		`{"a":1,"A":2,"a ":3,"á":4,"a\u0000":5,"":6}`,
		"\t\r\n 0 \t\r\n",
	} {
		v, err := canon.Parse([]byte(text))
		if err != nil {
			t.Errorf("Parse(%.40q): %v", text, err)
		}
		if got, want := string(v.Bytes()), strings.TrimSpace(text); got != want {
			t.Errorf("Parse(%.40q) has bytes %.40q", text, got)
		}
	}
}

// Each byte is put at each place of a string, so that it is met in words and in what is left after them.
func TestParseOfEveryByteAtEveryPlace(t *testing.T) {
	for length := 1; length <= 18; length++ {
		for at := range length {
			for b := range 256 {
				text := []byte(`"` + strings.Repeat("x", length) + `"`)
				text[1+at] = byte(b)
				_, err := canon.Parse(text)
				if got, want := err == nil, json.Valid(text) && utf8.Valid(text); got != want {
					t.Fatalf("Parse(%q) = %v", text, err)
				}
				line := []byte(`{"k":` + string(text) + `}`)
				if got, want := canon.CheckObject(line, nil) == nil, err == nil; got != want {
					t.Fatalf("CheckObject(%q) = %v, want %v", line, got, want)
				}
			}
		}
	}
}

func TestDuplicatesInLargeObjects(t *testing.T) {
	for _, n := range []int{15, 16, 17, 18, 100, 5000} {
		object := manyKeys(n)
		if _, err := canon.Parse(object); err != nil {
			t.Fatalf("%d keys: %v", n, err)
		}
		last := bytes.LastIndexByte(object, ',')
		for _, twin := range []int{0, n / 2, n - 2} {
			again := fmt.Sprintf(`,"\u006b%d":0}`, uint32(twin)*2654435761)
			_, err := canon.Parse(append(object[:last:last], again...))
			if e, ok := errors.AsType[*canon.Error](err); !ok || e.Reason != canon.Duplicate || e.Offset != last+1 {
				t.Errorf("%d keys, the last like number %d: error %v, want a duplicate at byte %d", n, twin, err, last+1)
			}
		}
	}
}

// Texts that would exhaust a parser's stack or are as long as a message can be.
func TestHostileTextsAreJudged(t *testing.T) {
	const mib = 1 << 20
	tests := []struct {
		name string
		text []byte
		want canon.Reason // 0 if it is taken
	}{
		{"deep arrays", []byte(nested("[", "]", 200_000)), canon.Depth},
		{"deep objects", []byte(strings.Repeat(`{"a":`, 200_000) + "0" + strings.Repeat("}", 200_000)), canon.Depth},
		{"open arrays", bytes.Repeat([]byte("["), 2*mib), canon.Syntax},
		{"equal keys", []byte("{" + strings.Repeat(`"k":0,`, 100_000) + `"k":0}`), canon.Duplicate},
		{"long text", []byte(`{"text":"` + strings.Repeat(`All work, no play: é\n!`, 16*mib/24) + `"}`), 0},
		{"long integer", bytes.Repeat([]byte("1"), 16*mib), canon.Range},
		{"long float", append([]byte("0."), bytes.Repeat([]byte("1"), 16*mib)...), 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := canon.Reason(0)
			canonical, err := canon.Canonical(test.text)
			if err != nil {
				got = reasonOf(t, err)
			}
			if got != test.want {
				t.Errorf("error %v, want reason %d", err, test.want)
			}
			if err == nil && canonical[0] == '{' {
				if err := canon.CheckObject(canonical, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Sixteen times the text takes about sixteen times as long, and not 256 times.
func TestTimeGrowsInProportionToTheText(t *testing.T) {
	const small, large, most = 10_000, 160_000, 80
	for name, generate := range map[string]func(n int) []byte{
		"keys":                       manyKeys,
		"escaped keys":               func(n int) []byte { return bytes.ReplaceAll(manyKeys(n), []byte("k"), []byte(`\u006b`)) },
		"out of order at each depth": func(n int) []byte { return outOfOrder(127, n) },
	} {
		took := func(n int) time.Duration {
			text := generate(n)
			best := time.Hour
			for range 3 {
				start := time.Now()
				canonical, err := canon.Canonical(text)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if err := canon.CheckObject(canonical, nil); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				best = min(best, time.Since(start))
			}
			return best
		}
		if short, long := took(small), took(large); long > most*short {
			t.Errorf("%s: %v for %d, %v for %d", name, short, small, long, large)
		}
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	record := records(1)[0]
	message := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,"é"]}}}`)
	v, err := canon.Parse(message)
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(){
		"Parse":       func() { _, err = canon.Parse(message) },
		"CheckObject": func() { err = canon.CheckObject(record, func(_, _ []byte, _, _ int) {}) },
		"Get":         func() { v.Get("params").Get("arguments").Get("none") },
	} {
		if allocs := testing.AllocsPerRun(100, read); allocs != 0 || err != nil {
			t.Errorf("%s: %v allocations, error %v", name, allocs, err)
		}
	}
}

// nested puts depth pairs of brackets within each other.
func nested(opening, closing string, depth int) string {
	return strings.Repeat(opening, depth) + strings.Repeat(closing, depth)
}

// outOfOrder makes an object of the given depth in which, at each depth, all that lies deeper has to move.
func outOfOrder(depth, size int) []byte {
	return []byte(strings.Repeat(`{"b":`, depth) + `"` + strings.Repeat("x", size) + `"` + strings.Repeat(`,"a":0}`, depth))
}

package canon_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

func TestCheckObjectVisitsTopLevelMembers(t *testing.T) {
	const line = `{"":0,"a\n":{"b":[1,{}],"c":"}"},"é":"\"","😀":[]}`
	type member struct {
		Key, Value string
		Start, End int
	}
	var got []member
	err := canon.CheckObject([]byte(line), func(key, value []byte, start, end int) {
		got = append(got, member{string(key), string(value), start, end})
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []member{
		{"", "0", 1, 5},
		{`a\n`, `{"b":[1,{}],"c":"}"}`, 6, 32},
		{"é", `"\""`, 33, 42},
		{"😀", "[]", 43, 52},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if err := canon.CheckObject([]byte("{}"), func(_, _ []byte, _, _ int) { t.Error("visited {}") }); err != nil {
		t.Error(err)
	}
}

func TestCheckObjectRefusesWhatIsNotCanonical(t *testing.T) {
	deep := func(n int) string { return `{"a":` + nested("[", "]", n) + `}` }
	tests := []struct {
		line string
		want string // the error
	}{
		{"[]", "not an object at byte 0"},
		{"1", "not an object at byte 0"},
		{` {}`, "not an object at byte 0"},
		{"{}\n", "white space at byte 2"},
		{"{}\r", "white space at byte 2"},
		{`{ }`, "white space at byte 1"},
		{`{ "a":1}`, "white space at byte 1"},
		{`{"a" :1}`, "white space at byte 4"},
		{`{"a": 1}`, "white space at byte 5"},
		{`{"a":1 }`, "white space at byte 6"},
		{`{"a":1, "b":2}`, "white space at byte 7"},
		{`{"a":[ ]}`, "white space at byte 6"},
		{`{"a":[1 ,2]}`, "white space at byte 7"},
		{`{"a":[1,	2]}`, "white space at byte 8"},
		{`{"b":1,"a":2}`, "keys out of order at byte 7"},
		{`{"a":{"b":1,"a":2}}`, "keys out of order at byte 12"},
		{`{"a":[{"b":1,"a":2}]}`, "keys out of order at byte 13"},
		{`{"a":"\/"}`, "escape not canonical at byte 6"},
		{`{"a":"\u0061"}`, "escape not canonical at byte 6"},
		{`{"\u0061":1}`, "escape not canonical at byte 2"},
		{`{"a":"\u000a"}`, "escape not canonical at byte 6"},
		{`{"a":"\u001F"}`, "escape not canonical at byte 6"},
		{`{"a":"\u0022"}`, "escape not canonical at byte 6"},
		{`{"a":"\u007f"}`, "escape not canonical at byte 6"},
		{`{"a":"\ud83d\ude00"}`, "escape not canonical at byte 6"},
		{`{"a":-0}`, "number not canonical at byte 5"},
		{`{"a":1E5}`, "number not canonical at byte 5"},
		{`{"a":1e5}`, "number not canonical at byte 5"},
		{`{"a":1.50}`, "number not canonical at byte 5"},
		{`{"a":1.0e+16}`, "number not canonical at byte 5"},
		{`{"a":1e16}`, "number not canonical at byte 5"},
		{`{"a":1e-5}`, "number not canonical at byte 5"},
		{`{"a":0.00001}`, "number not canonical at byte 5"},
		{`{"a":0.1000000000000000055511151231257827}`, "number not canonical at byte 5"},
		{`{"a":[0.10]}`, "number not canonical at byte 6"},
		{`{"a":1e400}`, "number too large for a float at byte 5"},

		// What Parse refuses is refused in its words.
		{"", "unexpected end at byte 0"},
		{`{`, "unexpected end at byte 1"},
		{`{"a":1`, "unexpected end at byte 6"},
		{`{"a":1}}`, "unexpected '}' at byte 7"},
		{`{"a":1,}`, "unexpected '}' at byte 7"},
		{`{"a":01}`, "unexpected '1' at byte 6"},
		{`{"a":1.}`, "unexpected '}' at byte 7"},
		{`{"a":NaN}`, "unexpected 'N' at byte 5"},
		{`{"a":Infinity}`, "unexpected 'I' at byte 5"},
		{"{\"a\":\"\xff\"}", "invalid UTF-8 at byte 6"},
		{`{"a":1,"a":2}`, `duplicate key "a" at byte 7`},
		{`{"a":"\ud800"}`, "half of a surrogate pair at byte 6"},
		{deep(128), "nesting deeper than 128 at byte 132"},
		{`{"a":` + strings.Repeat("1", 4301) + `}`, "integer of more than 4300 digits at byte 5"},
	}
	for _, test := range tests {
		err := canon.CheckObject([]byte(test.line), nil)
		if err == nil || err.Error() != test.want {
			t.Errorf("CheckObject(%.60q) = %v, want %s", test.line, err, test.want)
		}
		checkAgreement(t, []byte(test.line))
	}
}

func TestCheckObjectTakesWhatIsCanonical(t *testing.T) {
	for _, line := range []string{
		`{}`,
		`{"":{},"a":[],"b":[[],{}]}`,
		`{"a":{"b":1,"c":2},"b":{"a":1}}`,
		`{"a":[0,-1,1.0,-0.0,1e+16,1e-05,0.0001,5e-324,1.7976931348623157e+308]}`,
		`{"a":` + strings.Repeat("9", 4300) + `}`,
		`{"a":-` + strings.Repeat("9", 4300) + `}`,
		`{"a":` + nested("[", "]", 127) + `}`,
		"{\"a\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\u2028é漢😀\uFFFD\uFFFF\"}",
		`{"a":true,"b":false,"c":null}`,
	} {
		if err := canon.CheckObject([]byte(line), nil); err != nil {
			t.Errorf("CheckObject(%.60q) = %v", line, err)
		}
		checkAgreement(t, []byte(line))
	}
}

// A canonical line with any one byte changed, left out or doubled is still judged as Parse and Canonical judge it.
func TestCheckObjectOfMutatedLines(t *testing.T) {
	line := []byte("{\"a\":[-1,0.5,1e-05,true,null],\"b\\n\":\"\\u001fé😀\\\\\",\"c\":{\"\":{},\"d\":10}}")
	if err := canon.CheckObject(line, nil); err != nil {
		t.Fatal(err)
	}
	for at := range line {
		for b := range 256 {
			changed := append([]byte(nil), line...)
			changed[at] = byte(b)
			checkAgreement(t, changed)
			checkAgreement(t, append(append(line[:at:at], byte(b)), line[at:]...))
		}
		checkAgreement(t, append(line[:at:at], line[at+1:]...))
		checkAgreement(t, line[:at])
	}
}

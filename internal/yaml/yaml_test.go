package yaml_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/yaml"
)

var reads = []struct{ name, text, want string }{
	{"nothing", "", `null`},
	{"a comment", "# only\n", `null`},
	{"a word", "hello", `"hello"`},
	{"block style", "version: 2\nrules:\n  - id: a\n    runs:\n      - git push *\n  - id: b\n", `{"version":2,"rules":[{"id":"a","runs":["git push *"]},{"id":"b"}]}`},
	{"a list at the depth of its key", "a:\n- x\n- y\nb: 1\n", `{"a":["x","y"],"b":1}`},
	{"flow style", "a: {b: c, d: [e, 1]}\n", `{"a":{"b":"c","d":["e",1]}}`},
	{"flow style over lines", "a: [\n  x, # first\n  y,\n]\nb: 2", `{"a":["x","y"],"b":2}`},
	{"JSON within", `a: {"b": ["c", true, null]}`, `{"a":{"b":["c",true,null]}}`},
	{"words of YAML 1.1", "on: yes\nstarter: off\nx: [no, y, n, On]\n", `{"on":"yes","starter":"off","x":["no","y","n","On"]}`},
	{"truth and null", "a: true\nb: False\nc: ~\nd:\ne: null\n", `{"a":true,"b":false,"c":null,"d":null,"e":null}`},
	{"quoted words are strings", `a: "true"` + "\nb: '1'\nc: \"\"\n", `{"a":"true","b":"1","c":""}`},
	{"numbers", "a: [0, -1, 10, 1.5, 1e3, -0.5E-2]", `{"a":[0,-1,10,1.5,1e3,-0.5E-2]}`},
	{"large numbers lose nothing", "a: 123456789012345678901234567890", `{"a":123456789012345678901234567890}`},
	{"what is no number", "a: [1:30, 2001-01-01, 1.2.3.4/8, 10m, -x]", `{"a":["1:30","2001-01-01","1.2.3.4/8","10m","-x"]}`},
	{"quotes", `a: "x\ty\u00e9\n"` + "\nb: 'it''s'\n", `{"a":"x\u0009yé\n","b":"it's"}`},
	{"a folded text", "a: >-\n  one\n  two\nb: 1\n", `{"a":"one two","b":1}`},
	{"a literal text", "a: |\n  one\n    two\n", `{"a":"one\n  two\n"}`},
	{"a document marker", "---\na: 1\n", `{"a":1}`},
	{"a comment before the marker", "# policy\n---\na: 1\n", `{"a":1}`},
	{"CRLF", "a: 1\r\nb:\r\n  - c\r\n", `{"a":1,"b":["c"]}`},
	{"keys in quotes", "\"a b\": 1\n'*': 2\n", `{"a b":1,"*":2}`},
	{"a hash within a word", "a: b#c\nd: 'e # f' # g\n", `{"a":"b#c","d":"e # f"}`},
	{"a colon within a word", "a: http://x:80/y\n", `{"a":"http://x:80/y"}`},
	{"home and variables", "a: [~/.ssh, \"${workspace}/**\"]", `{"a":["~/.ssh","${workspace}/**"]}`},
}

func TestParseReads(t *testing.T) {
	for _, tc := range reads {
		t.Run(tc.name, func(t *testing.T) {
			d, err := yaml.Parse([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(d.JSON)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

var refuses = []struct{ name, text, want string }{
	{"an anchor", "a: &x 1\n", "1:4: an anchor (&) is not read here"},
	{"an alias", "a: *x\n", "1:4: an alias (*) is not read here"},
	{"a pattern without quotes", "reads:\n  - **/.env\n", "2:5: an alias (*) is not read here"},
	{"a merge key", "a:\n  <<: {b: 1}\n", "2:3: a merge key (<<) is not read here"},
	{"a tag", "a: !x b\n", "1:4: a tag (!) is not read here"},
	{"a type", "!!map\na: b\n", "1:1: a tag (!) is not read here"},
	{"a directive", "%YAML 1.2\n---\na: 1\n", "1:1: a directive (%) is not read here"},
	{"a second document", "a: 1\n---\nb: 2\n", "2:1: a second document is not read here"},
	{"two markers", "---\n---\nb: 2\n", "2:1: a second document is not read here"},
	{"an end marker", "a: 1\n...\nb: 2\n", "2:1: a second document is not read here"},
	{"a complex key", "? a\n: b\n", "1:1: a key with a question mark (?) is not read here"},
	{"a key that is a number", "1: a\n", `1:1: the key "1" is not a word`},
	{"a key that is null", "~: a\n", `1:1: the key "~" is not a word`},
	{"a key twice", "a: 1\nb: 2\na: 3\n", `3:1: duplicate key "a"`},
	{"a key twice in other quotes", "a: 1\n\"a\": 2\n", `2:1: duplicate key "a"`},
	{"a key twice in flow style", "x: {a: 1, a: 2}\n", `1:11: duplicate key "a"`},
	{"an octal number", "a: 010", `1:4: the number "010" can be read in several ways`},
	{"a new octal number", "a: 0o17", `1:4: the number "0o17" can be read in several ways`},
	{"a hexadecimal number", "a: 0x1F", `1:4: the number "0x1F" can be read in several ways`},
	{"a binary number", "a: 0b1", `1:4: the number "0b1" can be read in several ways`},
	{"digits in groups", "a: 1_000", `1:4: the number "1_000" can be read in several ways`},
	{"a plus", "a: +1", `1:4: the number "+1" can be read in several ways`},
	{"a bare point", "a: .5", `1:4: the number ".5" can be read in several ways`},
	{"a point at the end", "a: 5.", `1:4: the number "5." can be read in several ways`},
	{"infinity", "a: -.inf", `1:4: the number "-.inf" can be read in several ways`},
	{"not a number", "a: .nan", `1:4: the number ".nan" can be read in several ways`},
	{"a tab in the indentation", "a:\n\t- b\n", "2:1: a tab in the indentation"},
	{"a NUL", "a: b\x00c\n", "1:5: the invisible character U+0000"},
	{"an escape character", "a:\n  é: \x1b\n", "2:6: the invisible character U+001B"},
	{"a line separator", "a: b\u2028c: d\n", "1:5: the invisible character U+2028"},
	{"a byte order mark within", "a: b\n\uFEFFc: d\n", "2:1: the invisible character U+FEFF"},
	{"a lone carriage return", "a: b\rc: d\n", "1:5: the invisible character U+000D"},
	{"invalid UTF-8", "a: é\xff\n", "1:5: invalid UTF-8"},
	{"an unclosed list", "a: [1, 2\nb: 3\n", "2:1: not YAML: ',' or ']' must be specified"},
	{"an unclosed quote", "a: \"b\n", "1:4: not YAML: could not find end character of double-quoted text"},
	{"a value too deep", "a: b\n  c: d\n", "1:4: not YAML: mapping value is not allowed in this context"},
	{"half a character", `a: "\ud800"`, "1:5: not YAML: not enough length for escaped UTF-16 surrogate pair"},
	{"an unknown escape", `a: "\q"`, "1:6: not YAML: found unknown escape character 'q'"},
	{"too deep", strings.Repeat("- ", 40) + "x", "1:67: nesting deeper than 32"},
	{"too long", "# " + strings.Repeat("x", 256<<10), "1:1: the text is longer than 256 KiB"},
	{"too many words", strings.Repeat("- x\n", 10_001), "1:1: the text has more than 20000 words and marks"},
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range refuses {
		t.Run(tc.name, func(t *testing.T) {
			d, err := yaml.Parse([]byte(tc.text))
			if err == nil {
				t.Fatalf("got %s, want an error", d.JSON)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if d.JSON != nil {
				t.Errorf("got JSON %s beside the error", d.JSON)
			}
		})
	}
}

func TestPlaceLeadsBack(t *testing.T) {
	const text = "# rules\nversion: 2\nrules:\n  - id: é\n    runs: [\"a\", b]\n    x: {y: |\n      z\n"
	const good = "# rules\nversion: 2\nrules:\n  - id: é\n    runs: [\"a\", b]\n    reason: >\n      z\n"
	if _, err := yaml.Parse([]byte(text)); err == nil {
		t.Error("a block within flow style was read")
	}
	d, err := yaml.Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	type place struct{ line, column int }
	for what, want := range map[string]place{
		`{"version"`: {2, 1}, `"version"`: {2, 1}, `2`: {2, 10}, `[{`: {4, 3}, `{"id"`: {4, 5}, `"é"`: {4, 9}, `"runs"`: {5, 5},
		`["a"`: {5, 11}, `"b"`: {5, 17}, `"reason"`: {6, 5}, `"z\n"`: {6, 13},
	} {
		line, column := d.Place(strings.Index(string(d.JSON), what))
		if got := (place{line, column}); got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	if line, column := (yaml.Document{}).Place(7); line != 1 || column != 1 {
		t.Errorf("a document without places: got %d:%d", line, column)
	}
}

// FuzzParse holds Parse to its promises: what it gives is strict JSON, whose places are in the text, and JSON that is YAML
// means the same to it.
func FuzzParse(f *testing.F) {
	for _, tc := range reads {
		f.Add(tc.text)
	}
	for _, tc := range refuses {
		if len(tc.text) < 1000 {
			f.Add(tc.text)
		}
	}
	f.Add(`{"version": 2, "rules": [{"id": "a", "x": [1, true, null, "\u00e9\n"]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := yaml.Parse([]byte(text))
		if err != nil {
			checkError(t, text, err)
			return
		}
		v, err := canon.Parse(d.JSON)
		if err != nil {
			t.Fatalf("%q is %s: %v", text, d.JSON, err)
		}
		for offset := range len(d.JSON) {
			line, column := d.Place(offset)
			if line < 1 || column < 1 || line > strings.Count(text, "\n")+1 {
				t.Fatalf("%q: offset %d of %s is at %d:%d", text, offset, d.JSON, line, column)
			}
		}
		again, err := yaml.Parse(v.Bytes())
		if err == nil && len(v.Bytes()) > 0 && v.Kind() == canon.Object && !sameJSON(d.JSON, again.JSON) {
			t.Errorf("%q is %s, and that is %s", text, d.JSON, again.JSON)
		}
	})
}

func checkError(t *testing.T, text string, err error) {
	e, ok := errors.AsType[*yaml.Error](err)
	if !ok || e.Msg == "" || e.Line < 1 || e.Column < 1 || !utf8.ValidString(e.Msg) {
		t.Fatalf("%q: got %#v", text, err)
	}
	if e.Line > strings.Count(text, "\n")+1 {
		t.Errorf("%q: got line %d", text, e.Line)
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return string(a) == string(b)
	}
	return cmp.Equal(x, y)
}

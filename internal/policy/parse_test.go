package policy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/policy"
)

func TestExampleIsThePublishedPolicy(t *testing.T) {
	const published = `{"version":1,"allow":["write_note","read_ledger"],"deny":["rm_rf"],` +
		`"arg_rules":{"write_note":{"request_id":{"min_len":8},"text":{"max_len":2000}}}}`
	text := readExample(t)
	want, err := canon.Canonical([]byte(published))
	if err != nil {
		t.Fatal(err)
	}
	got, err := canon.Canonical(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := policy.Parse(example, text); err != nil {
		t.Error(err)
	}
}

func TestParseKeepsNameVersionAndDigest(t *testing.T) {
	text := []byte("  {\"version\":1}\r\n")
	p, err := policy.Parse("some/p.json", text)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	if got, want := p.Digest(), hex.EncodeToString(sum[:]); got != want {
		t.Errorf("digest: got %s, want %s", got, want)
	}
	if p.Name() != "some/p.json" || p.Version() != 1 {
		t.Errorf("got name %q, version %d", p.Name(), p.Version())
	}
	if other := mustParse(t, `{"version":1}`); other.Digest() == p.Digest() {
		t.Error("texts that differ in white space have one digest, want one each: it is the file's")
	}
}

func TestParseKeepsNoReferenceToText(t *testing.T) {
	text := readExample(t)
	p, err := policy.Parse(example, text)
	if err != nil {
		t.Fatal(err)
	}
	clear(text)
	if got := evaluate(p, call(t, "write_note", `{"request_id":"req-0001","text":"x"}`)); got != allowed {
		t.Errorf("after the text was cleared: got %v, want allowed", got)
	}
	want := broken("request_id.min_len", `argument "request_id" is 1 character long; the policy requires at least 8`)
	if diff := cmp.Diff(want, evaluate(p, call(t, "write_note", `{"request_id":"r","text":"x"}`))); diff != "" {
		t.Errorf("after the text was cleared (-want +got)\n%s", diff)
	}
}

const (
	hintPolicy  = `a policy is an object in YAML or JSON; {"version": 1, "allow": ["read_ledger"]} allows one tool`
	hintVersion = `write "version": 2, or 1 for the first language`
	hintJSON    = "JSON has no comments, and no comma behind the last value"
	hintKeys    = "known here: version, allow, deny, arg_rules"
	hintLimits  = "known here: min_len, max_len"
	hintName    = "a tool name is a string"
	hintEmpty   = "names match exactly; remove it or write a name"
	hintSeen    = "names match exactly; write it with visible characters only"
	hintByTool  = `rules stand by tool and argument: {"write_note": {"text": {"max_len": 2000}}}`
	hintByArg   = `rules stand by argument: {"text": {"max_len": 2000}}`
	hintWrite   = `write limits: {"min_len": 8, "max_len": 2000}`
	hintLength  = "a length is a whole number of characters, 0 or more"
)

// limits returns a policy with a rule, whose column is 23.
func limits(rule string) string {
	return "{\"version\":1,\n\"arg_rules\":{\"t\":{\"s\":" + rule + "}}}"
}

var parseErrors = []struct{ name, text, want, hint string }{
	// Not a JSON object.
	{"empty", ``, `p.json:1:1: the file is empty`, hintPolicy},
	{"only white space", " \n\t\n", `p.json:1:1: the file is empty`, hintPolicy},
	{"byte order mark", "\uFEFF{\"version\":1}", `p.json:1:1: the file begins with a byte order mark`, "save it as UTF-8 without one"},
	{"UTF-16", "\xff\xfe{\x00", `p.json:1:1: invalid UTF-8`, "save it as UTF-8"},
	{"comment", "{\"version\":1, // one\n}", `p.json:1:15: not JSON: unexpected '/'`, hintJSON},
	{"comma behind the last", "{\"version\":1,\n \"allow\":[\"a\",]}", `p.json:2:15: not JSON: unexpected ']'`, hintJSON},
	{"cut off", "{\"version\":1,\n", `p.json:2:1: not JSON: unexpected end`, hintJSON},
	{"second value", "{\"version\":1}\n{}", `p.json:2:1: not JSON: unexpected '{'`, hintJSON},
	{"invalid UTF-8", "{\"version\":1,\"allow\":[\"é\xff\"]}", `p.json:1:25: invalid UTF-8`, "save it as UTF-8"},
	{"half of a pair", `{"version":1,"allow":["\ud800"]}`, `p.json:1:24: half of a surrogate pair`, ""},
	{"too deep", `{"version":1,"x":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}`, `p.json:1:145: nesting deeper than 128`, ""},
	{"array", ` ["write_note"]`, `p.json:1:2: the policy is not an object`, hintPolicy},
	{"string", `"allow"`, `p.json:1:1: the policy is not an object`, hintPolicy},
	{"null", "\n\nnull", `p.json:3:1: the policy is not an object`, hintPolicy},

	// Duplicate keys.
	{"key twice", "{\"version\":1,\n \"deny\":[\"a\"],\n \"deny\":[]}", `p.json:3:2: duplicate key "deny"`, "remove one"},
	{"key twice in escapes", `{"version":1,"deny":["a"],"d\u0065ny":[]}`, `p.json:1:27: duplicate key "deny"`, "remove one"},
	{"version twice", `{"version":2,"version":1}`, `p.json:1:14: duplicate key "version"`, "remove one"},
	{"ruled tool twice", `{"version":1,"arg_rules":{"t":{},"t":{}}}`, `p.json:1:34: duplicate key "t"`, "remove one"},
	{"limit twice", limits(`{"min_len":8,"min_len":0}`), `p.json:2:36: duplicate key "min_len"`, "remove one"},

	// Version.
	{"no version", "\n {}", `p.json:2:2: "version" is missing`, hintVersion},
	{"no version but rules", `{"allow":["a"]}`, `p.json:1:1: "version" is missing`, hintVersion},
	{"version misspelt", `{"allow":["a"],"verson":1}`, `p.json:1:16: unknown key "verson"`, `did you mean "version"?`},
	{"version in capitals", `{"Version":1}`, `p.json:1:2: unknown key "Version"`, `did you mean "version"?`},
	{"version 3", "{\n  \"version\": 3,\n  \"rules\": []\n}", `p.json:2:14: policy version 3 is not supported`, "this release reads versions 1 and 2"},
	{"version 0", `{"version":0}`, `p.json:1:12: policy version 0 is not supported`, "this release reads versions 1 and 2"},
	{"version -1", `{"version":-1}`, `p.json:1:12: policy version -1 is not supported`, "this release reads versions 1 and 2"},
	{"version that is 1 in 32 bits", `{"version":4294967297}`, `p.json:1:12: policy version 4294967297 is not supported`, "this release reads versions 1 and 2"},
	{"version 1.0", `{"version":1.0}`, `p.json:1:12: "version" is not a whole number`, hintVersion},
	{"version 1e0", `{"version":1e0}`, `p.json:1:12: "version" is not a whole number`, hintVersion},
	{"version too large", `{"version":99999999999999999999}`, `p.json:1:12: "version" is not a whole number`, hintVersion},
	{"version is a string", `{"version":"1"}`, `p.json:1:12: "version" is not a whole number`, hintVersion},
	{"version is true", `{"version":true}`, `p.json:1:12: "version" is not a whole number`, hintVersion},
	{"version is null", `{"version":null}`, `p.json:1:12: "version" is not a whole number`, hintVersion},
	{"version is judged first", `{"x":1,"version":3}`, `p.json:1:18: policy version 3 is not supported`, "this release reads versions 1 and 2"},

	// Keys.
	{"key misspelt", "{\"version\":1,\n  \"alow\": []}", `p.json:2:3: unknown key "alow"`, `did you mean "allow"?`},
	{"key in capitals", `{"version":1,"Deny":["a"]}`, `p.json:1:14: unknown key "Deny"`, `did you mean "deny"?`},
	{"key all in capitals", `{"version":1,"DENY":["a"]}`, `p.json:1:14: unknown key "DENY"`, `did you mean "deny"?`},
	{"key with a wrong letter", `{"version":1,"dany":["a"]}`, `p.json:1:14: unknown key "dany"`, `did you mean "deny"?`},
	{"key not near enough", `{"version":1,"denied":["a"]}`, `p.json:1:14: unknown key "denied"`, hintKeys},
	{"version once more in capitals", `{"version":1,"Version":1}`, `p.json:1:14: unknown key "Version"`, `did you mean "version"?`},
	{"key with a space", `{"version":1,"deny ":["a"]}`, `p.json:1:14: unknown key "deny "`, `did you mean "deny"?`},
	{"key in camel case", `{"version":1,"argRules":{}}`, `p.json:1:14: unknown key "argRules"`, `did you mean "arg_rules"?`},
	{"key far from all", `{"version":1,"tools":[]}`, `p.json:1:14: unknown key "tools"`, hintKeys},
	{"empty key", `{"version":1,"":[]}`, `p.json:1:14: unknown key ""`, hintKeys},
	{"key with quotes", `{"version":1, "a\"\\\"" : 1}`, `p.json:1:15: unknown key "a\"\\\""`, hintKeys},
	{"key that ends in a backslash", `{"version":1, "\\" : 1}`, `p.json:1:15: unknown key "\\"`, hintKeys},
	{"first of two", `{"version":1,"one":1,"two":2}`, `p.json:1:14: unknown key "one"`, hintKeys},

	// Lists of tools.
	{"allow is a string", `{"version":1,"allow":"a"}`, `p.json:1:22: "allow" is not an array of tool names`, ""},
	{"allow is null", `{"version":1,"allow":null}`, `p.json:1:22: "allow" is not an array of tool names`, ""},
	{"deny is an object", `{"version":1,"deny":{}}`, `p.json:1:21: "deny" is not an array of tool names`, ""},
	{"name is a number", `{"version":1,"allow":["a", 5]}`, `p.json:1:28: "allow" holds a value that is not a tool name`, hintName},
	{"name is null", `{"version":1,"deny":[null]}`, `p.json:1:22: "deny" holds a value that is not a tool name`, hintName},
	{"name is an array", `{"version":1,"deny":[["a"]]}`, `p.json:1:22: "deny" holds a value that is not a tool name`, hintName},
	{"empty name", `{"version":1,"allow":[""]}`, `p.json:1:23: tool name "" is empty`, hintEmpty},
	{"name of white space", `{"version":1,"allow":[" "]}`, `p.json:1:23: tool name " " is empty`, hintEmpty},
	{"space before a name", `{"version":1,"deny":[" rm_rf"]}`, `p.json:1:22: tool name " rm_rf" has white space around it`, `names match exactly; did you mean "rm_rf"?`},
	{"newline behind a name", `{"version":1,"deny":["rm_rf\n"]}`, `p.json:1:22: tool name "rm_rf\n" has white space around it`, `names match exactly; did you mean "rm_rf"?`},
	{"wide space behind a name", "{\"version\":1,\"deny\":[\"rm_rf\u3000\"]}", `p.json:1:22: tool name "rm_rf\u3000" has white space around it`, `names match exactly; did you mean "rm_rf"?`},
	{"NUL in a name", `{"version":1,"deny":["rm\u0000rf"]}`, `p.json:1:22: tool name "rm\x00rf" holds the invisible character U+0000`, hintSeen},
	{"NUL behind a name", `{"version":1,"deny":["rm_rf\u0000"]}`, `p.json:1:22: tool name "rm_rf\x00" holds the invisible character U+0000`, hintSeen},
	{"tab in a name", `{"version":1,"deny":["rm\trf"]}`, `p.json:1:22: tool name "rm\trf" holds the invisible character U+0009`, hintSeen},
	{"hard space in a name", "{\"version\":1,\"deny\":[\"rm\u00a0rf\"]}", `p.json:1:22: tool name "rm\u00a0rf" holds the invisible character U+00A0`, hintSeen},
	{"nothing wide in a name", "{\"version\":1,\"deny\":[\"rm\u200brf\"]}", `p.json:1:22: tool name "rm\u200brf" holds the invisible character U+200B`, hintSeen},
	{"variation selector in a name", "{\"version\":1,\"deny\":[\"rm_rf\uFE0F\"]}", "p.json:1:22: tool name \"rm_rf\uFE0F\" holds the invisible character U+FE0F", hintSeen},
	{"filler in a name", "{\"version\":1,\"deny\":[\"rm_rf\u3164\"]}", "p.json:1:22: tool name \"rm_rf\u3164\" holds the invisible character U+3164", hintSeen},
	{"name twice in allow", "{\"version\":1,\"allow\":[\"é\",\n\"b\", \"é\"]}", `p.json:2:6: "é" is twice in "allow"`, "remove one"},
	{"name twice in escapes", `{"version":1,"deny":["b","\u0062"]}`, `p.json:1:26: "b" is twice in "deny"`, "remove one"},
	{"column behind other scripts", `{"version":1,"allow":["日本語","😀é", ""]}`, `p.json:1:35: tool name "" is empty`, hintEmpty},
	{"line behind CRLF", "{\r\n\"version\":1,\r\n\"allow\":[\"\"]}", `p.json:3:10: tool name "" is empty`, hintEmpty},

	// Rules for arguments.
	{"rules are an array", `{"version":1,"arg_rules":[]}`, `p.json:1:26: "arg_rules" is not an object`, hintByTool},
	{"rules are null", `{"version":1,"arg_rules":null}`, `p.json:1:26: "arg_rules" is not an object`, hintByTool},
	{"rules of a tool are a number", `{"version":1,"arg_rules":{"t":3}}`, `p.json:1:31: the rules for tool "t" are not an object`, hintByArg},
	{"ruled tool without a name", `{"version":1,"arg_rules":{"":{}}}`, `p.json:1:27: tool name "" is empty`, hintEmpty},
	{"ruled tool with a space", `{"version":1,"arg_rules":{ "t " : {}}}`, `p.json:1:28: tool name "t " has white space around it`, `names match exactly; did you mean "t"?`},
	{"argument without a name", `{"version":1,"arg_rules":{"t":{"":{}}}}`, `p.json:1:32: argument name "" is empty`, hintEmpty},
	{"argument with an escape", `{"version":1,"arg_rules":{"t":{"a\u001b":{}}}}`, `p.json:1:32: argument name "a\x1b" holds the invisible character U+001B`, hintSeen},
	{"rule is a number", limits(`8`), `p.json:2:23: the rule for argument "s" is not an object`, hintWrite},
	{"rule key misspelt", limits(`{"max_length":2000}`), `p.json:2:24: unknown rule key "max_length"`, `did you mean "max_len"?`},
	{"rule key misspelt low", limits(`{"min_length":8}`), `p.json:2:24: unknown rule key "min_length"`, `did you mean "min_len"?`},
	{"rule key in camel case", limits(`{"maxLen":8}`), `p.json:2:24: unknown rule key "maxLen"`, `did you mean "max_len"?`},
	{"rule key of a later language", limits(`{"pattern":"^a"}`), `p.json:2:24: unknown rule key "pattern"`, hintLimits},
	{"negative length", limits(`{"min_len":-1}`), `p.json:2:34: "min_len" is not a length`, hintLength},
	{"fractional length", limits(`{"max_len":2.5}`), `p.json:2:34: "max_len" is not a length`, hintLength},
	{"length with a fraction of nothing", limits(`{"max_len":2.0}`), `p.json:2:34: "max_len" is not a length`, hintLength},
	{"length with an exponent", limits(`{"max_len":2e3}`), `p.json:2:34: "max_len" is not a length`, hintLength},
	{"length too large", limits(`{"max_len":9223372036854775808}`), `p.json:2:34: "max_len" is not a length`, hintLength},
	{"length is a string", limits(`{"max_len":"9"}`), `p.json:2:34: "max_len" is not a length`, hintLength},
	{"length is null", limits(`{"min_len":null}`), `p.json:2:34: "min_len" is not a length`, hintLength},
	{"lengths crossed", limits(`{"max_len":3, "min_len":9}`), `p.json:2:47: "min_len" 9 is more than "max_len" 3; no string can meet both`, ""},
}

func TestParseErrors(t *testing.T) {
	for _, tc := range parseErrors {
		t.Run(tc.name, func(t *testing.T) {
			p, err := policy.Parse("p.json", []byte(tc.text))
			if p != nil || err == nil {
				t.Fatalf("got policy %v, error %v, want only an error", p, err)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			e, ok := errors.AsType[*policy.Error](err)
			if !ok {
				t.Fatalf("got a %T, want a *policy.Error", err)
			}
			if diff := cmp.Diff(tc.hint, e.Hint); diff != "" {
				t.Errorf("hint (-want +got)\n%s", diff)
			}
		})
	}
}

// TestEveryCutFails cuts the example short at each byte: half a file is no policy.
func TestEveryCutFails(t *testing.T) {
	text := bytes.TrimSpace(readExample(t))
	for n := range text {
		if p, err := policy.Parse("p.json", text[:n]); err == nil {
			t.Errorf("the first %d bytes load as %v", n, p)
		}
	}
}

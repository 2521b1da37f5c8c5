package policy_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/policy"
)

// example is the policy file that the project ships.
const example = "../../policy.json"

func readExample(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func mustParse(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("p.json", []byte(text))
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	return p
}

// call is a request for a tool; empty arguments are absent ones.
func call(t testing.TB, tool, args string) policy.Request {
	t.Helper()
	r := policy.Request{Principal: "local", Method: "tools/call", Tool: tool}
	if args != "" {
		v, err := canon.Parse([]byte(args))
		if err != nil {
			t.Fatalf("arguments %s: %v", args, err)
		}
		r.Args = v
	}
	return r
}

// verdict is all that Evaluate says.
type verdict struct {
	Decision policy.Decision
	Why      policy.Why
}

func evaluate(p *policy.Policy, r policy.Request) verdict {
	d, why := p.Evaluate(r)
	return verdict{d, why}
}

var (
	allowed  = verdict{policy.Allow, policy.Why{Rule: "allow", Reason: "the policy allows this call"}}
	denied   = verdict{policy.Deny, policy.Why{Rule: "deny", Reason: "the policy denies this tool", Hidden: true}}
	unlisted = verdict{policy.Deny, policy.Why{Rule: "default", Reason: "the policy does not allow this tool", Hidden: true}}
)

// broken is the denial of a call that breaks a rule for an argument of write_note.
func broken(rule, reason string) verdict {
	return verdict{policy.Deny, policy.Why{Rule: "arg_rules.write_note." + rule, Reason: reason}}
}

var exampleDecides = []struct {
	name, tool, args string
	want             verdict
}{
	{"good note", "write_note", `{"request_id":"req-0001","text":"hello"}`, allowed},
	{"empty text", "write_note", `{"request_id":"req-0001","text":""}`, allowed},
	{"other arguments are not ruled", "write_note", `{"z":[1],"text":"x","request_id":"req-0001"}`, allowed},
	{"text at the limit", "write_note", `{"request_id":"req-0001","text":"` + strings.Repeat("é", 2000) + `"}`, allowed},
	{"unruled tool", "read_ledger", `{}`, allowed},
	{"unruled tool without arguments", "read_ledger", ``, allowed},
	{"unruled tool with odd arguments", "read_ledger", `[null]`, allowed},

	{"short id", "write_note", `{"request_id":"req-1","text":"x"}`,
		broken("request_id.min_len", `argument "request_id" is 5 characters long; the policy requires at least 8`)},
	{"id of one character", "write_note", `{"request_id":"r","text":"x"}`,
		broken("request_id.min_len", `argument "request_id" is 1 character long; the policy requires at least 8`)},
	{"empty id", "write_note", `{"request_id":"","text":"x"}`,
		broken("request_id.min_len", `argument "request_id" is 0 characters long; the policy requires at least 8`)},
	{"long text", "write_note", `{"request_id":"req-0001","text":"` + strings.Repeat("é", 2001) + `"}`,
		broken("text.max_len", `argument "text" is 2001 characters long; the policy allows at most 2000`)},
	{"no id", "write_note", `{"text":"x"}`,
		broken("request_id.type", `argument "request_id" is missing; the policy requires a string`)},
	{"no text", "write_note", `{"request_id":"req-0001"}`,
		broken("text.type", `argument "text" is missing; the policy requires a string`)},
	{"no arguments", "write_note", ``,
		broken("request_id.type", `argument "request_id" is missing; the policy requires a string`)},
	{"first rule of the file speaks first", "write_note", `{"text":5}`,
		broken("request_id.type", `argument "request_id" is missing; the policy requires a string`)},
	{"argument names are exact", "write_note", `{"Request_ID":"req-0001","text":"x"}`,
		broken("request_id.type", `argument "request_id" is missing; the policy requires a string`)},
	{"arguments are an array", "write_note", `["req-0001","x"]`,
		broken("request_id.type", `argument "request_id" is missing; the policy requires a string`)},
	{"arguments are a string", "write_note", `"request_id"`,
		broken("request_id.type", `argument "request_id" is missing; the policy requires a string`)},
	{"nested argument is another", "write_note", `{"a":{"request_id":"req-0001"},"text":"x"}`,
		broken("request_id.type", `argument "request_id" is missing; the policy requires a string`)},
	{"id is a number", "write_note", `{"request_id":123456789,"text":"x"}`,
		broken("request_id.type", `argument "request_id" is not a string; the policy requires one`)},
	{"id is null", "write_note", `{"request_id":null,"text":"x"}`,
		broken("request_id.type", `argument "request_id" is not a string; the policy requires one`)},
	{"id is a bool", "write_note", `{"request_id":true,"text":"x"}`,
		broken("request_id.type", `argument "request_id" is not a string; the policy requires one`)},
	{"text is an array", "write_note", `{"request_id":"req-0001","text":["x"]}`,
		broken("text.type", `argument "text" is not a string; the policy requires one`)},
	{"text is an object", "write_note", `{"request_id":"req-0001","text":{"text":"x"}}`,
		broken("text.type", `argument "text" is not a string; the policy requires one`)},

	{"denied", "rm_rf", `{"path":"/"}`, denied},
	{"unknown tool", "mkfs", `{}`, unlisted},
	{"no tool", "", `{}`, unlisted},
	{"tool names are exact in case", "WRITE_NOTE", `{"request_id":"req-0001","text":"x"}`, unlisted},
	{"tool names are exact in space", "write_note ", `{"request_id":"req-0001","text":"x"}`, unlisted},
	{"tool names are exact to the end", "write_note\x00", `{"request_id":"req-0001","text":"x"}`, unlisted},
	{"look-alike is another tool", "read_l\u0435dger", `{}`, unlisted},
	{"denied in other case is still not allowed", "RM_RF", `{}`, unlisted},
}

func TestExampleDecides(t *testing.T) {
	p := mustParse(t, string(readExample(t)))
	for _, tc := range exampleDecides {
		t.Run(tc.name, func(t *testing.T) {
			got := evaluate(p, call(t, tc.tool, tc.args))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestLengthsCountCodePoints(t *testing.T) {
	p := mustParse(t, `{"version":1,"allow":["t"],"arg_rules":{"t":{"s":{"min_len":3,"max_len":3}}}}`)
	for _, literal := range []string{
		`abc`, `äöü`, `日本語`, `😀😀😀`, `a\nb`, `\"\\\/`, `\u0041\u00e9\u0000`,
		`\ud83d\ude00\uD83D\uDE00\ud83d\ude00`, // a pair is one code point
		`a\u0301b`,                             // a combining mark is one of its own
		"\u200da\ufeff",                        // what cannot be seen counts
	} {
		if got := evaluate(p, call(t, "t", `{"s":"`+literal+`"}`)); got != allowed {
			t.Errorf("%s: got %v, want allowed", literal, got)
		}
		if got := evaluate(p, call(t, "t", `{"s":"`+literal+`x"}`)); got.Why.Rule != "arg_rules.t.s.max_len" {
			t.Errorf("%s and one more: got %v, want it too long", literal, got)
		}
	}
	if got := evaluate(p, call(t, "t", `{"s":"\ud83d\ude00"}`)); got.Why.Reason != `argument "s" is 1 character long; the policy requires at least 3` {
		t.Errorf("one escaped pair: got %v", got)
	}
}

func TestRulesBetweenLists(t *testing.T) {
	const ruled = `"arg_rules":{"t":{"s":{"min_len":1}}}`
	for _, tc := range []struct {
		name, policy, tool, args string
		want                     string // rule
		visible                  bool
	}{
		{"only a version", `{"version":1}`, "t", `{}`, "default", false},
		{"only a deny", `{"version":1,"deny":["x"]}`, "t", `{}`, "default", false},
		{"empty lists", `{"version":1,"allow":[],"deny":[],"arg_rules":{}}`, "t", `{}`, "default", false},
		{"deny wins", `{"version":1,"allow":["t"],"deny":["t"]}`, "t", `{}`, "deny", false},
		{"deny wins wherever it stands", `{"deny":["t"],"allow":["t"],"version":1}`, "t", `{}`, "deny", false},
		{"deny speaks before the arguments", `{"version":1,"allow":["t"],"deny":["t"],` + ruled + `}`, "t", `{}`, "deny", false},
		{"a rule does not allow", `{"version":1,` + ruled + `}`, "t", `{"s":"x"}`, "default", false},
		{"a rule before its tool", `{` + ruled + `,"allow":["t"],"version":1}`, "t", `{}`, "arg_rules.t.s.type", true},
		{"a rule for another tool", `{"version":1,"allow":["u"],` + ruled + `}`, "u", `{}`, "allow", true},
		{"a tool without rules", `{"version":1,"allow":["t"],"arg_rules":{"t":{}}}`, "t", `{}`, "allow", true},
		{"a rule without limits asks for a string", `{"version":1,"allow":["t"],"arg_rules":{"t":{"s":{}}}}`, "t", `{"s":1}`, "arg_rules.t.s.type", true},
		{"a rule without limits takes any string", `{"version":1,"allow":["t"],"arg_rules":{"t":{"s":{}}}}`, "t", `{"s":"x"}`, "allow", true},
		{"only the empty string", `{"version":1,"allow":["t"],"arg_rules":{"t":{"s":{"max_len":0}}}}`, "t", `{"s":""}`, "allow", true},
		{"more than the empty string", `{"version":1,"allow":["t"],"arg_rules":{"t":{"s":{"max_len":0}}}}`, "t", `{"s":"x"}`, "arg_rules.t.s.max_len", true},
		{"the largest limit", `{"version":1,"allow":["t"],"arg_rules":{"t":{"s":{"min_len":9223372036854775807}}}}`, "t", `{"s":"x"}`, "arg_rules.t.s.min_len", true},
		{"argument names are exact", `{"version":1,"allow":["t"],"arg_rules":{"t":{"S":{}}}}`, "t", `{"s":"x"}`, "arg_rules.t.S.type", true},
		{"names in escapes", `{"version":1,"\u0061llow":["\u0074"]}`, "t", `{}`, "allow", true},
		{"names beyond ASCII", `{"version":1,"allow":["søk 日本"]}`, "søk 日本", `{}`, "allow", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := mustParse(t, tc.policy)
			got, why := p.Evaluate(call(t, tc.tool, tc.args))
			if why.Rule != tc.want {
				t.Errorf("rule: got %q, want %q", why.Rule, tc.want)
			}
			if want := tc.want == "allow"; (got == policy.Allow) != want {
				t.Errorf("decision: got %v by rule %q", got, why.Rule)
			}
			if got := p.Visible(tc.tool); got != tc.visible {
				t.Errorf("Visible: got %v, want %v", got, tc.visible)
			}
			if why.Hidden == tc.visible {
				t.Errorf("Hidden: got %v for a tool with Visible %v", why.Hidden, tc.visible)
			}
		})
	}
}

func TestNoPolicyDenies(t *testing.T) {
	for name, p := range map[string]*policy.Policy{"nil": nil, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			for _, tool := range []string{"", "read_ledger", "rm_rf"} {
				if diff := cmp.Diff(unlisted, evaluate(p, call(t, tool, `{}`))); diff != "" {
					t.Errorf("Evaluate %q (-want +got)\n%s", tool, diff)
				}
				if p.Visible(tool) {
					t.Errorf("Visible(%q) = true", tool)
				}
			}
			if p.Name() != "" || p.Digest() != "" || p.Version() != 0 {
				t.Errorf("got name %q, digest %q, version %d, want none", p.Name(), p.Digest(), p.Version())
			}
		})
	}
}

func TestDecisionFailsClosed(t *testing.T) {
	var zero policy.Decision
	if zero != policy.Deny {
		t.Errorf("the zero Decision is %v, want deny", zero)
	}
	if !(policy.Deny < policy.Ask && policy.Ask < policy.Allow) {
		t.Error("want Deny < Ask < Allow")
	}
	for d, want := range map[policy.Decision]string{policy.Deny: "deny", policy.Ask: "ask", policy.Allow: "allow", 3: "deny", -1: "deny"} {
		if got := d.String(); got != want {
			t.Errorf("Decision(%d): got %q, want %q", int(d), got, want)
		}
	}
}

func TestBuiltin(t *testing.T) {
	p := policy.Builtin()
	for _, tool := range []string{
		"write_note", "read_ledger", "validate_tool_call", "check_task_breakdown", "check_skill_selected",
		"check_level_completion", "get_enforcer_state", "check_failure_patterns", "get_dynamic_skill_hint",
		"reset_enforcer_flags", "validate_agent_dispatch",
	} {
		if got := evaluate(p, call(t, tool, `{}`)); got != allowed || !p.Visible(tool) {
			t.Errorf("%s: got %v, visible %v, want it allowed", tool, got, p.Visible(tool))
		}
	}
	for _, tool := range []string{"rm_rf", "erase_note"} {
		if got := evaluate(p, call(t, tool, `{}`)); got != denied || p.Visible(tool) {
			t.Errorf("%s: got %v, visible %v, want it denied", tool, got, p.Visible(tool))
		}
	}
	if got := evaluate(p, call(t, "anything_else", `{}`)); got != unlisted {
		t.Errorf("anything_else: got %v, want it denied by default", got)
	}
	if p.Name() != "built-in" || p.Version() != 1 || len(p.Digest()) != 64 {
		t.Errorf("got name %q, version %d, digest %q", p.Name(), p.Version(), p.Digest())
	}
	if policy.Builtin() != p {
		t.Error("a second Builtin is another policy")
	}
}

// TestReasonsHoldNoArgument plants a secret in every place of a call and looks for it in every answer.
func TestReasonsHoldNoArgument(t *testing.T) {
	const secret = "hunter2"
	p := mustParse(t, `{"version":1,"allow":["t"],"deny":["d"],"arg_rules":{"t":{"a":{"min_len":8},"b":{"max_len":3}}}}`)
	denials := 0
	for _, tool := range []string{"t", "d", secret} {
		for _, args := range []string{
			`{"a":"hunter2"}`, `{"a":["hunter2"]}`, `{"a":{"hunter2":1}}`, `{"hunter2":"hunter2"}`, `"hunter2"`,
			`{"a":"12345678","b":"hunter2"}`, `{"a":"12345678","b":"hunter2\n"}`,
		} {
			d, why := p.Evaluate(call(t, tool, args))
			if d != policy.Deny || why.Reason == "" {
				t.Errorf("%s %s: got %v %+v, want a denial with a reason", tool, args, d, why)
				continue
			}
			denials++
			if strings.Contains(why.Reason+why.Rule, secret) {
				t.Errorf("%s %s: the secret is in %+v", tool, args, why)
			}
		}
	}
	if denials != 21 {
		t.Errorf("got %d denials, want 21", denials)
	}
}

// TestEvaluateAgreesWithModel compares random policies and calls with the rules as one would say them.
func TestEvaluateAgreesWithModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tools := []string{"a", "b", "c", "d"}
	texts := []string{"", "x", "é", "xy", "😀z", "xyz", "日本語\n", "0123456789"}
	some := func() []string {
		return slices.DeleteFunc(slices.Clone(tools), func(string) bool { return rng.IntN(2) == 0 })
	}
	seen := map[string]int{}
	for range 2000 {
		allow, deny, ruled := some(), some(), some()
		least := rng.IntN(4)
		most := least + rng.IntN(4)
		var rules []string
		for _, tool := range ruled {
			rules = append(rules, fmt.Sprintf(`%q:{"s":{"min_len":%d,"max_len":%d}}`, tool, least, most))
		}
		p := mustParse(t, fmt.Sprintf(`{"version":1,"allow":%s,"deny":%s,"arg_rules":{%s}}`,
			list(allow), list(deny), strings.Join(rules, ",")))

		tool, text := tools[rng.IntN(len(tools))], texts[rng.IntN(len(texts))]
		got, why := p.Evaluate(call(t, tool, fmt.Sprintf(`{"s":%s}`, canon.AppendString(nil, text))))

		want, n := "allow", utf8.RuneCountInString(text)
		switch {
		case slices.Contains(deny, tool):
			want = "deny"
		case !slices.Contains(allow, tool):
			want = "default"
		case slices.Contains(ruled, tool) && n < least:
			want = "arg_rules." + tool + ".s.min_len"
		case slices.Contains(ruled, tool) && n > most:
			want = "arg_rules." + tool + ".s.max_len"
		}
		if why.Rule != want || (got == policy.Allow) != (want == "allow") {
			t.Fatalf("allow %q, deny %q, rules %q, tool %q, text %q: got %v by %q, want %q", allow, deny, rules, tool, text, got, why.Rule, want)
		}
		if p.Visible(tool) != (want != "deny" && want != "default") {
			t.Fatalf("allow %q, deny %q, tool %q: Visible %v", allow, deny, tool, p.Visible(tool))
		}
		seen[want[strings.LastIndexByte(want, '.')+1:]]++
	}
	for _, rule := range []string{"allow", "deny", "default", "min_len", "max_len"} {
		if seen[rule] < 50 {
			t.Errorf("rule %s decided %d calls, want at least 50", rule, seen[rule])
		}
	}
}

func list(names []string) string {
	if len(names) == 0 {
		return "[]"
	}
	return `["` + strings.Join(names, `","`) + `"]`
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	p := mustParse(t, string(readExample(t)))
	good, bad := call(t, "write_note", `{"request_id":"req-0001","text":"x"}`), call(t, "write_note", `{"request_id":"r"}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if got := evaluate(p, good); got != allowed {
					t.Errorf("got %v, want allowed", got)
				}
				if d, _ := p.Evaluate(bad); d != policy.Deny {
					t.Errorf("got %v, want deny", d)
				}
				if !p.Visible("read_ledger") || policy.Builtin().Visible("rm_rf") {
					t.Error("Visible changed")
				}
			}
		})
	}
	wg.Wait()
}

func TestEvaluateAllocations(t *testing.T) {
	p := mustParse(t, string(readExample(t)))
	for _, tc := range []struct {
		name string
		req  policy.Request
		max  float64
	}{
		{"allow with rules", call(t, "write_note", `{"request_id":"req-0001","text":"hello, world"}`), 0},
		{"allow with rules and escapes", call(t, "write_note", `{"request_id":"req\u002d0001","text":"`+strings.Repeat(`\ud83d\ude00`, 2000)+`"}`), 0},
		{"allow without rules", call(t, "read_ledger", `{}`), 0},
		{"deny", call(t, "rm_rf", `{"path":"/"}`), 0},
		{"default", call(t, "mkfs", `{}`), 0},
		{"broken rule", call(t, "write_note", `{"request_id":"r","text":"x"}`), 5},
		{"broken last rule", call(t, "write_note", `{"request_id":"req-0001","text":["x"]}`), 5},
	} {
		if got := testing.AllocsPerRun(100, func() { p.Evaluate(tc.req) }); got > tc.max {
			t.Errorf("%s: got %v allocations, want at most %v", tc.name, got, tc.max)
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	p := mustParse(b, string(readExample(b)))
	line := strings.Repeat("a line of a note that goes on;", 66)
	for _, bm := range []struct{ name, tool, args string }{
		{"allow", "write_note", `{"request_id":"req-0001","text":"hello, world"}`},
		{"allow-2000", "write_note", `{"request_id":"req-0001","text":"` + line + `"}`},
		{"allow-2000-escaped", "write_note", `{"request_id":"req-0001","text":"` + strings.ReplaceAll(line, ";", `\n`) + `"}`},
		{"broken-rule", "write_note", `{"request_id":"r","text":"x"}`},
		{"deny", "rm_rf", `{"path":"/"}`},
	} {
		req := call(b, bm.tool, bm.args)
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Evaluate(req)
			}
		})
	}
}

package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/policy"
	"sallyport/internal/postcondition"
)

// looking is a rule for the tool that looks, in JSON.
const looking = `{"id":"looking","decision":"allow","tools":["look"],"read_only":true}`

// verified is a file with a rule that has a "verify", whose column is 76, and one for the tool that looks.
func verified(verify string) string {
	return v2(`{"id":"r","decision":"allow","tools":["w"],"verify":` + verify + `},` + looking)
}

// observing is a file with a rule whose verification looks with a tool, whose name is in column 95, and with other rules.
func observing(tool string, others ...string) string {
	return v2(`{"id":"r","decision":"allow","tools":["w"],"verify":{"observe":{"tool":"` + tool + `"},"expect":"observation.ok"}},` + strings.Join(others, ","))
}

const (
	howToVerify  = `write {"observe": {"tool": "read_note", "arguments": {"id": "${args.id}"}}, "expect": "observation.text == args.text"}, or, for what hooks are asked about, "content"`
	howToObserve = `write {"tool": "read_note", "arguments": {"id": "${args.id}"}}`
	howToApprove = `write {"expires": "15m"}: how long a person has to agree; or {"by": "operator"}: only at the terminal`
	inUnits      = `write a number with its unit: "30s", "1m", "24h"`
)

var verifyErrors = []struct{ name, text, want, hint string }{
	{"verify by a word", verified(`"contents"`), `p.json:1:76: "verify" is neither an object nor "content"`, howToVerify},
	{"verify that is true", verified(`true`), `p.json:1:76: "verify" is neither an object nor "content"`, howToVerify},
	{"verify that is null", verified(`null`), `p.json:1:76: "verify" is neither an object nor "content"`, howToVerify},
	{"verify key", verified(`{"observes":{}}`), `p.json:1:77: unknown verify key "observes"`, `did you mean "observe"?`},
	{"verify by nothing", verified(`{}`), `p.json:1:76: "verify" has no "observe"`, howToVerify},
	{"verify without a condition", verified(`{"observe":{"tool":"look"}}`), `p.json:1:76: "verify" has no "expect"`, howToVerify},
	{"verify without a look", verified(`{"expect":"true"}`), `p.json:1:76: "verify" has no "observe"`, howToVerify},
	{"observe by a word", verified(`{"observe":"look"}`), `p.json:1:87: "observe" is not an object`, howToObserve},
	{"observe key", verified(`{"observe":{"tool":"look","args":{}}}`), `p.json:1:102: unknown observe key "args"`, `known here: tool, arguments`},
	{"observe by no tool", verified(`{"observe":{"arguments":{}}}`), `p.json:1:87: "observe" has no "tool"`, howToObserve},
	{"observe by a number", verified(`{"observe":{"tool":1}}`), `p.json:1:95: "tool" is not the name of a tool`, howToObserve},
	{"observe by white space", verified(`{"observe":{"tool":" look"}}`), `p.json:1:95: tool name " look" has white space around it`, `names match exactly; did you mean "look"?`},
	{"observe by a pattern", verified(`{"observe":{"tool":"loo*"}}`), `p.json:1:95: "loo*" is a pattern, and one tool looks`, `name the tool`},
	{"observe with a list", verified(`{"observe":{"tool":"look","arguments":[]}}`), `p.json:1:114: "arguments" is not an object`, howToObserve},
	{"expect that is true", verified(`{"observe":{"tool":"look"},"expect":true}`), `p.json:1:112: "expect" is not a string`, `put it in quotes`},
	{"expect nothing", verified(`{"observe":{"tool":"look"},"expect":" "}`), `p.json:1:112: "expect" is empty`, `remove it, or write something`},
	{"retry in a number", verified(`{"observe":{"tool":"look"},"retry_observe_for":10}`), `p.json:1:123: "retry_observe_for" is not a duration`, inUnits},
	{"retry for no time", verified(`{"observe":{"tool":"look"},"retry_observe_for":"10ms"}`), `p.json:1:123: "retry_observe_for" is not between a second and 10 minutes: "10ms"`, inUnits},
	{"retry for an hour", verified(`{"observe":{"tool":"look"},"retry observe for":"1h"}`), `p.json:1:123: "retry observe for" is not between a second and 10 minutes: "1h"`, inUnits},
	{"retry in both spellings", verified(`{"observe":{"tool":"look"},"retry_observe_for":"1s","retry observe for":"1s"}`), `p.json:1:128: "retry_observe_for" is the same as "retry observe for"`, `remove one`},
	{"verify of a deny", v2(`{"id":"r","decision":"deny","verify":"content"}`), `p.json:1:52: rule "r": "verify" is for rules that allow or ask`, `remove it: what is denied is not run`},
	{"verify of what reads", v2(`{"id":"r","decision":"allow","verify":"content","read_only":true}`), `p.json:1:72: rule "r": "verify" and "read_only" contradict each other`, `keep one: what only reads leaves nothing to verify`},
	{"an ask that reads and mutates", v2(`{"id":"r","decision":"ask","mutation":{"key":"k"},"read_only":true}`), `p.json:1:74: rule "r": "mutation" and "read_only" contradict each other`, `keep one`},
	{"verify of another method", v2(`{"id":"r","decision":"allow","methods":["prompts/get"],"verify":"content"}`), `p.json:1:79: rule "r": "verify" is for calls of tools, and the rule speaks of method "prompts/get"`, `for calls of tools write a rule of its own`},

	// Tools that cannot look.
	{"a tool of which no rule speaks", observing("lock", `{"id":"a","decision":"deny","tools":["x"]}`), `p.json:1:95: tool "lock" cannot look: no rule of this file allows it and says "read_only": true`, `allow it by a rule of its own: {"id": "looking", "decision": "allow", "tools": ["lock"], "read_only": true}`},
	{"a tool that is misspelt", observing("lock", looking), `p.json:1:95: tool "lock" cannot look: no rule of this file allows it and says "read_only": true`, `did you mean "look"?`},
	{"a tool without its server", observing("look", `{"id":"a","decision":"allow","tools":["fs__look"],"read_only":true}`), `p.json:1:95: tool "look" cannot look: no rule of this file allows it and says "read_only": true`, `did you mean "fs__look"?`},
	{"a tool with a server", observing("fs__look", looking), `p.json:1:95: tool "fs__look" cannot look: no rule of this file allows it and says "read_only": true`, `did you mean "look"?`},
	{"a tool that may write", observing("look", `{"id":"a","decision":"allow","tools":["look"]}`), `p.json:1:95: tool "look" cannot look: no rule of this file allows it and says "read_only": true`, `allow it by a rule of its own: {"id": "looking", "decision": "allow", "tools": ["look"], "read_only": true}`},
	{"a tool that is asked about", observing("look", `{"id":"a","decision":"ask","tools":["look"],"read_only":true}`), `p.json:1:95: tool "look" cannot look: rule "a" asks about all its calls`, `name a tool that a rule allows and says to be read_only`},
	{"a tool that is denied as well", observing("look", looking, `{"id":"a","decision":"deny","tools":["l*"]}`), `p.json:1:95: tool "look" cannot look: rule "a" denies all its calls`, `name a tool that a rule allows and says to be read_only`},
	{"a tool that is verified itself", observing("look", looking, `{"id":"a","decision":"allow","verify":{"observe":{"tool":"look"},"expect":"true"}}`), `p.json:1:95: tool "look" cannot look: rule "a" verifies its calls, so that it does not only read`, `let rule "a" name the tools that write`},
	{"the tool that is verified", observing("w", `{"id":"a","decision":"allow","tools":["w"],"read_only":true}`), `p.json:1:95: tool "w" cannot look: rule "r" verifies its calls, so that it does not only read`, `let rule "r" name the tools that write`},
	{"a tool with a key", observing("look", looking, `{"id":"a","decision":"allow","mutation":{"key":"k"}}`), `p.json:1:95: tool "look" cannot look: by rule "a" its calls are mutations`, `let rule "a" name the tools that write`},
	{"a tool that only an observed rule allows", observing("look", `{"id":"a","decision":"allow","tools":["look"],"read_only":true,"mode":"observe"}`), `p.json:1:95: tool "look" cannot look: no rule of this file allows it and says "read_only": true`, `allow it by a rule of its own: {"id": "looking", "decision": "allow", "tools": ["look"], "read_only": true}`},
	{"a tool of hooks", observing("look", `{"id":"a","decision":"allow","tools":["look"],"read_only":true,"hosts":["claude"]}`), `p.json:1:95: tool "look" cannot look: no rule of this file allows it and says "read_only": true`, `allow it by a rule of its own: {"id": "looking", "decision": "allow", "tools": ["look"], "read_only": true}`},

	// Templates and conditions.
	{"a name that templates do not have", verified(`{"observe":{"tool":"look","arguments":{"a":{"b":["é ${arg.path}"]}}},"expect":"true"}`), `p.json:1:125: unknown name "arg" in "${arg.path}"`, `did you mean "args"?`},
	{"a name that is known only afterwards", verified(`{"observe":{"tool":"look","arguments":{"a":"${observation.path}"}},"expect":"true"}`), `p.json:1:119: unknown name "observation" in "${observation.path}"`, `known here: args, call, principal, result`},
	{"a reference that does not end", verified(`{"observe":{"tool":"look","arguments":{"a":"${args.path"}},"expect":"true"}`), `p.json:1:119: "${" without a "}" behind it`, `"$${" is a literal "${"`},
	{"a name that conditions do not have", verified(`{"observe":{"tool":"look"},"expect":"observed.text == args.text"}`), `p.json:1:112: the condition cannot be read: column 1: unknown name observed`, `names here: args, call, observation, principal, result`},
	{"a condition that does not end", verified(`{"observe":{"tool":"look"},"expect":"observation.text =="}`), `p.json:1:112: the condition cannot be read: column 19: unexpected token EOF`, `the language is that of expr-lang.org`},
	{"a condition that is no truth", verified(`{"observe":{"tool":"look"},"expect":"len(args)"}`), `p.json:1:112: the condition cannot be read: column 1: expected bool, but got int`, `the language is that of expr-lang.org`},
	{"a template in YAML", "version: 2\nrules:\n  - id: r\n    decision: allow\n    verify:\n      observe:\n        tool: look\n        arguments:\n          path: \"${arg.path}\"\n      expect: 'true'\n", `p.json:9:17: unknown name "arg" in "${arg.path}"`, `did you mean "args"?`},
	{"a condition in YAML", "version: 2\nrules:\n  - id: r\n    decision: allow\n    verify:\n      observe: {tool: look}\n      expect: 'a == b'\n", `p.json:7:15: the condition cannot be read: column 1: unknown name a`, `names here: args, call, observation, principal, result`},

	// Approvals.
	{"approval that is a time", v2(`{"id":"r","decision":"ask","approval":"15m"}`), `p.json:1:62: "approval" is not an object`, howToApprove},
	{"approval of nothing", v2(`{"id":"r","decision":"ask","approval":{}}`), `p.json:1:62: "approval" is empty`, howToApprove},
	{"approval key", v2(`{"id":"r","decision":"ask","approval":{"expire":"1h"}}`), `p.json:1:63: unknown approval key "expire"`, `did you mean "expires"?`},
	{"approval that is over at once", v2(`{"id":"r","decision":"ask","approval":{"expires":"999ms"}}`), `p.json:1:73: "expires" is not between a second and 7 days: "999ms"`, inUnits},
	{"approval for more than a week", v2(`{"id":"r","decision":"ask","approval":{"expires":"169h"}}`), `p.json:1:73: "expires" is not between a second and 7 days: "169h"`, inUnits},
	{"approval of what is allowed", v2(`{"id":"r","decision":"allow","approval":{"expires":"1h"}}`), `p.json:1:53: rule "r": "approval" is for rules that ask`, `remove it: nobody is asked`},
	{"approval of what is denied", v2(`{"id":"r","decision":"deny","approval":{"expires":"1h"}}`), `p.json:1:52: rule "r": "approval" is for rules that ask`, `remove it: nobody is asked`},
}

func TestParseErrorsOfVerification(t *testing.T) {
	for _, tc := range verifyErrors {
		t.Run(tc.name, func(t *testing.T) {
			_, err := policy.Parse("p.json", []byte(tc.text))
			e, ok := errors.AsType[*policy.Error](err)
			if !ok {
				t.Fatalf("got %v, want a *policy.Error", err)
			}
			if diff := cmp.Diff([]string{tc.want, tc.hint}, []string{err.Error(), e.Hint}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// told says in words what terms hold: templates and conditions as they were written.
func told(t policy.Terms) []string {
	var all []string
	if t.ReadOnly {
		all = append(all, "reads")
	}
	if t.Key != "" {
		all = append(all, fmt.Sprintf("key %s by %s, idempotent %v", t.Key, t.Rule, t.Idempotent))
	}
	for _, v := range t.Verify {
		if v.Content {
			all = append(all, fmt.Sprintf("%s: content", v.Rule))
			continue
		}
		all = append(all, fmt.Sprintf("%s: %s %s, %s, %v", v.Rule, v.Tool, v.Args.AppendCanonical(nil), v.Expect.Source(), v.For))
	}
	if t.Expires != 0 {
		all = append(all, "expires "+t.Expires.String())
	}
	if t.Output.MaxBytes != 0 {
		all = append(all, fmt.Sprint(t.Output.MaxBytes, " bytes"))
	}
	return all
}

// Rules for tests of terms.
const (
	looks   = `id: looks, decision: allow, tools: [look], read_only: true`
	saves   = `id: saves, decision: allow, tools: ["save*"], verify: {observe: {tool: look, arguments: {path: "${args.path}"}}, expect: observation.text == args.text, retry_observe_for: 2s}`
	sends   = `id: sends, decision: allow, tools: ["*send"], mutation: {key: id}, verify: {observe: {tool: look}, expect: observation.sent}`
	edits   = `id: edits, decision: allow, tools: [Write], writes: ["/work/app/**"], verify: content`
	asks    = `id: asks, decision: ask, tools: ["save*"]`
	hastily = `id: hastily, decision: ask, tools: ["save*"], approval: {expires: 90s}, output: {max_bytes: 9}`
	all     = `id: all, decision: allow`

	bySaves = "saves: look {\"path\":\"${args.path}\"}, observation.text == args.text, 2s"
	bySends = "sends: look {}, observation.sent, 0s"
)

func TestTermsOfVerification(t *testing.T) {
	for _, tc := range []struct {
		name, policy string
		request      policy.Request
		want         []string
	}{
		{"verified", rules("deny", looks, saves), call(t, "save", `{}`), []string{bySaves}},
		{"with a key", rules("deny", looks, sends), call(t, "send", `{}`), []string{"key id by sends, idempotent false", bySends}},
		{"by two rules, in the order of the file", rules("deny", looks, sends, saves), call(t, "save_send", `{}`), []string{"key id by sends, idempotent false", bySends, bySaves}},
		{"another tool", rules("deny", looks, saves, all), call(t, "x", `{}`), nil},
		{"and a rule that says nothing", rules("deny", looks, saves, all), call(t, "save", `{}`), []string{bySaves}},
		{"and a rule that says it only reads", rules("deny", looks, saves, `id: a, decision: allow, tools: [save], read_only: true`), call(t, "save", `{}`), []string{bySaves}},
		{"under a default that allows", rules("allow", looks, saves), call(t, "save", `{}`), []string{bySaves}},
		{"observed", rules("allow", looks, saves+", mode: observe"), call(t, "save", `{}`), nil},
		{"of another method", rules("deny", looks, `id: a, decision: allow, methods: ["tools/call"], principals: [p], verify: {observe: {tool: look}, expect: "true"}`, `id: b, decision: allow, methods: [prompts/get]`), ask(t, "prompts/get", "x", `{"name":"x"}`), nil},
		{"of another method, by a rule that asks about all", rules("allow", looks+", principals: [p]", `id: a, decision: ask, principals: [local], verify: {observe: {tool: look}, expect: "true"}`), ask(t, "prompts/get", "x", `{"name":"x"}`), []string{"expires 15m0s"}},
		{"the content of a file", rules("deny", edits), edit("/work/app/a"), []string{"edits: content"}},
		{"the content of a file elsewhere", rules("allow", edits), edit("/etc/a"), nil},
		{"the content of one of two files", rules("allow", `id: w, decision: allow, writes: ["/work/app/**"], verify: content`), shell("echo > /work/app/a; echo > /etc/a"), []string{"w: content"}},

		// Asked.
		{"asked", rules("deny", asks), call(t, "save", `{}`), []string{"expires 15m0s"}},
		{"asked by default", rules("ask", looks), call(t, "save", `{}`), []string{"expires 15m0s"}},
		{"asked in haste", rules("deny", hastily), call(t, "save", `{}`), []string{"expires 1m30s", "9 bytes"}},
		{"asked by two, the shorter time", rules("deny", asks+", approval: {expires: 1h}", hastily), call(t, "save", `{}`), []string{"expires 1m30s", "9 bytes"}},
		{"asked by two, one of which names no time", rules("deny", asks, `id: b, decision: ask, approval: {expires: 1h}`), call(t, "save", `{}`), []string{"expires 1h0m0s"}},
		{"asked, and an observed rule would be quicker", rules("deny", asks, hastily+", mode: observe"), call(t, "save", `{}`), []string{"expires 15m0s"}},
		{"asked, and verified by the rule that asks", rules("deny", looks, asks+`, verify: {observe: {tool: look}, expect: "true"}`), call(t, "save", `{}`), []string{"asks: look {}, true, 0s", "expires 15m0s"}},
		{"asked, and verified by a rule that allows", rules("deny", looks, asks, saves), call(t, "save", `{}`), []string{bySaves, "expires 15m0s"}},
		{"asked, with a key", rules("deny", asks+", mutation: {key: k, idempotent: true}"), call(t, "save", `{}`), []string{"key k by asks, idempotent true", "expires 15m0s"}},
		{"asked, with two keys, the first of the file", rules("deny", asks+", mutation: {key: k, idempotent: true}", `id: b, decision: allow, mutation: {key: l}`), call(t, "save", `{}`), []string{"key k by asks, idempotent false", "expires 15m0s"}},
		{"asked, and it only reads", rules("deny", asks+", read_only: true"), call(t, "save", `{}`), []string{"reads", "expires 15m0s"}},
		{"asked, and it only reads, beside a rule that allows all", rules("deny", all, asks+", read_only: true"), call(t, "save", `{}`), []string{"reads", "expires 15m0s"}},
		{"asked, and only a rule that allows says that it reads", rules("deny", asks, `id: b, decision: allow, read_only: true`), call(t, "save", `{}`), []string{"expires 15m0s"}},
		{"asked by two, and one says that it reads", rules("deny", asks+", read_only: true", `id: b, decision: ask`), call(t, "save", `{}`), []string{"expires 15m0s"}},
		{"asked, and it reads but for a key", rules("deny", asks+", read_only: true", `id: b, decision: allow, mutation: {key: l}`), call(t, "save", `{}`), []string{"key l by b, idempotent false", "expires 15m0s"}},
		{"asked by default, and a part reads", rules("ask", `id: a, decision: allow, runs: ["ls *"], read_only: true`), shell("ls && rm a"), []string{"expires 15m0s"}},
		{"asked about a part, and both parts read", rules("deny", `id: a, decision: allow, runs: ["ls *"], read_only: true`, `id: b, decision: ask, runs: ["cat *"], read_only: true`), shell("ls && cat a"), []string{"reads", "expires 15m0s"}},
		{"asked about a part, and the other part writes", rules("deny", `id: a, decision: allow, runs: ["rm *"]`, `id: b, decision: ask, runs: ["cat *"], read_only: true`), shell("rm x && cat a"), []string{"expires 15m0s"}},
		{"asked since it cannot be told whether it is denied", rules("deny", `id: a, decision: allow, tools: [Bash], read_only: true`, noCurl), shell(`eval "$X"`), []string{"expires 15m0s"}},

		// Not asked.
		{"allowed beside a rule that asks about others", rules("deny", asks, all), call(t, "x", `{}`), nil},
		{"denied, and asked", rules("deny", asks+`, mutation: {key: k}`, `id: no, decision: deny`), call(t, "save", `{}`), nil},
		{"denied by default, and asked in part", rules("deny", `id: b, decision: ask, runs: ["cat *"], approval: {expires: 1h}`), shell("cat a; rm b"), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := mustParse(t, tc.policy)
			if diff := cmp.Diff(tc.want, told(p.Terms(tc.request))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if d, _ := p.Evaluate(tc.request); (d == policy.Ask) != (p.Terms(tc.request).Expires > 0) {
				t.Errorf("the decision is %v, and the terms expire in %v", d, p.Terms(tc.request).Expires)
			}
		})
	}
}

// TestVerificationIsNotLostByDoubt: who makes a call too large for a condition does not come off without what the rule asks
// for that asks about such calls, and a rule that cannot be told to speak of the call makes it no milder.
func TestVerificationIsNotLostByDoubt(t *testing.T) {
	const doubtful = `id: prod, decision: ask, tools: [deploy], when: args.env != "test"`
	huge := call(t, "deploy", `{"env":"prod","padding":"`+strings.Repeat("x", 70<<10)+`"}`)
	huge2 := call(t, "deploy", `{"env":["prod"`+strings.Repeat(",1", 2000)+`]}`)
	p := mustParse(t, rules("allow", looks, doubtful+`, approval: {expires: 1m}, verify: {observe: {tool: look}, expect: "true"}`))
	for _, r := range []policy.Request{huge, huge2, call(t, "deploy", `{"env":"prod"}`)} {
		if got := outcome(p, r); got != "ask by prod" {
			t.Fatalf("got %s", got)
		}
		if diff := cmp.Diff([]string{"prod: look {}, true, 0s", "expires 1m0s"}, told(p.Terms(r))); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	reads := mustParse(t, rules("deny", doubtful+", read_only: true"))
	if got := reads.Terms(huge2); got.ReadOnly {
		t.Error("what cannot be told makes the call a read")
	}
	if got := reads.Terms(call(t, "deploy", `{"env":"prod"}`)); !got.ReadOnly {
		t.Error("nothing makes the call a read: the test shows nothing")
	}
	again := mustParse(t, rules("allow", doubtful+", mutation: {key: k, idempotent: true}"))
	if got := again.Terms(huge2); got.Key != "k" || got.Idempotent {
		t.Errorf("what cannot be told is sent again: %v", told(got))
	}
	if got := again.Terms(call(t, "deploy", `{"env":"prod"}`)); !got.Idempotent {
		t.Error("nothing is sent again: the test shows nothing")
	}
	under := mustParse(t, rules("allow", `id: u, decision: ask, tools: [Write], args: {file_path: {under: ["/work/app"]}}, read_only: true`))
	for path, want := range map[string]bool{"/work/app/a": true, "/etc/a": false} {
		r := edit(path)
		d, _ := under.Evaluate(r)
		if got := under.Terms(r).ReadOnly; got != want || (d == policy.Ask) != want {
			t.Errorf("%s: %v, reads %v", path, d, got)
		}
	}
}

// TestVerificationOfAnAllowIsNotLostByDoubt: another rule, or the default, lets a call pass of which it cannot be told whether
// the rule with the verification speaks of it.
func TestVerificationOfAnAllowIsNotLostByDoubt(t *testing.T) {
	const verified = `id: prod, decision: allow, tools: [deploy], when: 'args.env contains "prod" && args.amount > 100', mutation: {key: k, idempotent: true}, verify: {observe: {tool: look}, expect: "true"}`
	for name, p := range map[string]*policy.Policy{
		"another rule": mustParse(t, rules("deny", looks, verified, `id: any, decision: allow, tools: [deploy]`)),
		"a reader":     mustParse(t, rules("deny", looks, verified, `id: any, decision: allow, tools: [deploy], read_only: true`)),
		"the default":  mustParse(t, rules("allow", looks, verified)),
	} {
		for args, doubt := range map[string]bool{
			`{"env":"prod","amount":1000}`:                                              false,
			`{"env":["prod"],"amount":1000}`:                                            true,
			`{"env":"prod","amount":"1000"}`:                                            true,
			`{"env":"prod","amount":1e400}`:                                             true,
			`{"env":"prod","amount":1000,"more":"` + strings.Repeat("x", 70<<10) + `"}`: false,
			`{"env":"prod` + strings.Repeat("x", 70<<10) + `","amount":1000}`:           true,
		} {
			r := call(t, "deploy", args)
			if d, _ := p.Evaluate(r); d != policy.Allow {
				t.Fatalf("%s, %.40s: %v", name, args, d)
			}
			got := p.Terms(r)
			if len(got.Verify) != 1 || got.Key != "k" || got.ReadOnly || got.Idempotent == doubt {
				t.Errorf("%s, %.40s: %v", name, args, told(got))
			}
		}
		if got := p.Terms(call(t, "deploy", `{"env":"test","amount":1000}`)); got.Verify != nil || got.Key != "" {
			t.Errorf("%s: a call of which the rule certainly does not speak: %v", name, told(got))
		}
	}
}

// TestUntrustedFilesMakeNothingMilder: a repository's rule that asks may want more, and never makes a read or a retry of it.
func TestUntrustedFilesMakeNothingMilder(t *testing.T) {
	user := policy.Layer{Policy: mustParse(t, rules("allow", `id: m, decision: allow, tools: [Write], mutation: {key: id}`)), Level: policy.User}
	text := rules("allow", `id: a, decision: ask, tools: [Write], mutation: {key: k, idempotent: true}, verify: content, approval: {expires: 1m}`, `id: b, decision: ask, tools: [Read], read_only: true`)
	for _, tc := range []struct {
		trusted     bool
		write, read []string
	}{
		{false, []string{"key id by m, idempotent false", "a: content", "expires 1m0s"}, []string{"expires 15m0s"}},
		{true, []string{"key id by m, idempotent false", "a: content", "expires 1m0s"}, []string{"reads", "expires 15m0s"}},
	} {
		p := policy.Combine(policy.Layer{Policy: mustParse(t, text), Level: policy.Project, Trusted: tc.trusted}, user)
		if diff := cmp.Diff(tc.write, told(p.Terms(call(t, "Write", `{}`)))); diff != "" {
			t.Errorf("trusted %v, Write (-want +got)\n%s", tc.trusted, diff)
		}
		if diff := cmp.Diff(tc.read, told(p.Terms(call(t, "Read", `{}`)))); diff != "" {
			t.Errorf("trusted %v, Read (-want +got)\n%s", tc.trusted, diff)
		}
	}
}

// TestVerificationOfLayers: all files' verifications hold, under names that tell them apart.
func TestVerificationOfLayers(t *testing.T) {
	saves2 := strings.ReplaceAll(saves, "observation.text == args.text", "observation.owner == principal.name")
	p := policy.Combine(policy.Layer{Policy: mustParse(t, rules("allow", looks, saves)), Level: policy.User},
		policy.Layer{Policy: mustParse(t, rules("allow", looks, saves2)), Level: policy.Managed})
	want := []string{`managed:saves: look {"path":"${args.path}"}, observation.owner == principal.name, 2s`, "user:" + bySaves}
	for range 2 { // what is told of one call does not change the rules
		if diff := cmp.Diff(want, told(p.Terms(call(t, "save", `{}`)))); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	alone := policy.Combine(policy.Layer{Policy: mustParse(t, rules("allow", looks, saves)), Level: policy.Named})
	if diff := cmp.Diff([]string{bySaves}, told(alone.Terms(call(t, "save", `{}`)))); diff != "" {
		t.Errorf("one file (-want +got)\n%s", diff)
	}
}

// TestVerificationOutlastsCompiling: what is verified, and how, is the same by way of a cache, and needs nothing of the text.
func TestVerificationOutlastsCompiling(t *testing.T) {
	saved := map[string]string{"YAML": "fs__write_file", "JSON": "w"}
	for name, text := range map[string]string{"YAML": everything, "JSON": verified(`{"observe":{"tool":"look","arguments":{"path":"${args.path}"}},"expect":"observation.content == args.content"}`)} {
		source := []byte(text)
		compiled, err := policy.Compile("p", source)
		if err != nil {
			t.Fatal(err)
		}
		cached, err := policy.ParseCompiled("p", source, compiled)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := policy.Parse("p", source)
		if err != nil {
			t.Fatal(err)
		}
		clear(source)
		clear(compiled)
		save := call(t, saved[name], `{"path":"a","content":"b"}`)
		for _, r := range []policy.Request{save, call(t, "Write", `{}`), call(t, "fs__look", `{}`)} {
			if diff := cmp.Diff(told(plain.Terms(r)), told(cached.Terms(r))); diff != "" {
				t.Errorf("%s: %s (-plain +compiled)\n%s", name, r.Tool, diff)
			}
		}
		for _, p := range []*policy.Policy{plain, cached} {
			if len(p.Terms(save).Verify) != 1 {
				t.Fatalf("%s: got %v", name, told(p.Terms(save)))
			}
			checkVerification(t, p.Terms(save).Verify[0], save)
		}
	}
}

// checkVerification looks with the arguments of a call, and compares.
func checkVerification(t *testing.T, v *policy.Verification, r policy.Request) {
	t.Helper()
	values := postcondition.Values{"args": r.Args}
	args, err := v.Args.Expand(values)
	if err != nil || string(args.Bytes()) != `{"path":"a"}` {
		t.Errorf("got %s, %v", args.Bytes(), err)
	}
	for content, want := range map[string]bool{"b": true, "c": false} {
		values["observation"] = call(t, "", `{"content":"`+content+`"}`).Args
		if got, err := v.Expect.Holds(values); got != want || err != nil {
			t.Errorf("%s: got %v, %v", content, got, err)
		}
	}
}

// TestVerifyNamesAreAllKnown: each name may stand in a condition, and all but the observation in a template.
func TestVerifyNamesAreAllKnown(t *testing.T) {
	for _, name := range policy.VerifyNames {
		text := verified(`{"observe":{"tool":"look","arguments":{"x":"${` + name + `}"}},"expect":"` + name + ` != nil"}`)
		_, err := policy.Parse("p", []byte(text))
		if known := slices.Contains(policy.VerifyObserveNames, name); known != (err == nil) || known == (name == "observation") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRequireVerify: a key and a verification may come of two rules; what hooks look for is none; and who is asked about is
// not let off.
func TestRequireVerify(t *testing.T) {
	const keyed = `id: keyed, decision: allow, tools: [save], mutation: {key: id}`
	for _, tc := range []struct {
		name, require, fallback string
		rules                   []string
		want                    string
		visible                 bool
	}{
		{"verified", "[verify]", "deny", []string{looks, saves}, "allow by saves", true},
		{"not verified", "[verify]", "deny", []string{keyed}, "deny by require", false},
		{"by content only", "[verify]", "deny", []string{`id: c, decision: allow, tools: [save], verify: content`}, "deny by require", false},
		{"for other principals", "[verify]", "deny", []string{looks, saves + ", principals: [other]", all}, "deny by require", true},
		{"a key is required too", "[verify, key]", "deny", []string{looks, saves}, "deny by require", false},
		{"a key by another rule", "[verify, key]", "deny", []string{looks, saves, keyed}, "allow by saves", true},
		{"under a default that allows", "[verify]", "allow", []string{looks, saves}, "allow by saves", true},
		{"by the default only", "[verify]", "allow", []string{looks}, "deny by require", false},
		{"asked, and verified", "[verify]", "deny", []string{looks, saves, asks}, "ask by asks", true},
		{"asked, and not verified", "[verify]", "deny", []string{looks, asks}, "deny by require", false},
		{"asked by default", "[key]", "ask", []string{looks}, "deny by require", false},
		{"asked by default, with a key", "[key]", "ask", []string{keyed, `id: x, decision: ask, tools: [save]`}, "ask by x", true},
		{"asked, with a key", "[key]", "deny", []string{asks + ", mutation: {key: id}"}, "ask by asks", true},
		{"asked, and only reads", "[key, verify]", "deny", []string{asks + ", read_only: true"}, "ask by asks", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := mustParse(t, strings.Replace(rules(tc.fallback, tc.rules...), "\n", "\nrequire: "+tc.require+"\n", 1))
			if got := outcome(p, call(t, "save", `{}`)); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if p.Visible("save") != tc.visible {
				t.Errorf("visible: %v", !tc.visible)
			}
			hook := call(t, "save", `{}`)
			hook.Method = "hook/PreToolUse"
			if _, why := p.Evaluate(hook); why.Rule == "require" {
				t.Errorf("a hook's call is denied by %s", why.Rule)
			}
		})
	}
	p := mustParse(t, strings.Replace(rules("deny", looks, saves), "\n", "\nrequire: [verify, key]\n", 1))
	if _, why := p.Evaluate(call(t, "save", `{}`)); !strings.Contains(why.Reason, "key") {
		t.Errorf("what is verified lacks a key: got %q", why.Reason)
	}
}

// TestLimitsOfAskedCalls: who asks first is not let off a limit.
func TestLimitsOfAskedCalls(t *testing.T) {
	p := mustParse(t, rules("deny", asks, `id: few, decision: allow, tools: [save], limit: {calls: 3, per: 1m}`))
	r := call(t, "save", `{}`)
	if got := outcome(p, r); got != "ask by asks" {
		t.Fatalf("got %s", got)
	}
	want := []policy.Limit{{Rule: "few", Bucket: "few", Calls: 3, Per: time.Minute, Burst: 3}}
	if diff := cmp.Diff(want, p.Judge(r).Limits()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestExplainSpeaksOfVerification(t *testing.T) {
	p := mustParse(t, rules("deny", looks, saves, edits))
	notes := func(r policy.Request) (all []string) {
		for _, s := range p.Explain(r) {
			all = append(all, s.Rule+": "+s.Note)
		}
		return all
	}
	want := []string{"looks: it speaks of other tools", `saves: it speaks of all that such a call does; verified by a call of "look"`, "edits: it speaks of other tools"}
	if diff := cmp.Diff(want, notes(call(t, "save", `{}`))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want = []string{"looks: it speaks of other tools", "saves: it speaks of other tools", "edits: it covers all that the call does; verified by the content of the file that it writes"}
	if diff := cmp.Diff(want, notes(edit("/work/app/a"))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestVerificationOfManyCalls: one policy serves all goroutines.
func TestVerificationOfManyCalls(t *testing.T) {
	p := policy.Combine(policy.Layer{Policy: mustParse(t, rules("allow", looks, saves)), Level: policy.User},
		policy.Layer{Policy: mustParse(t, rules("allow", looks, saves)), Level: policy.Managed})
	done := make(chan []string)
	for range 4 {
		go func() {
			var got []string
			for range 50 {
				got = told(p.Terms(policy.Request{Tool: "save", Args: canon.Value{}}))
			}
			done <- got
		}()
	}
	for range 4 {
		if diff := cmp.Diff([]string{"managed:" + bySaves, "user:" + bySaves}, <-done); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

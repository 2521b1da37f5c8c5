package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/policy"
)

// rules is a version 2 file with a default and some rules in YAML, each in flow style.
func rules(fallback string, rules ...string) string {
	text := "version: 2\ndefault: " + fallback + "\nrules:\n"
	if len(rules) == 0 {
		return strings.TrimSuffix(text, "\n") + " []\n"
	}
	for _, r := range rules {
		text += "  - {" + r + "}\n"
	}
	return text
}

// outcome is a decision and what it is by, as "deny by no-curl".
func outcome(p *policy.Policy, r policy.Request) string {
	d, why := p.Evaluate(r)
	if why.Reason == "" {
		return fmt.Sprintf("%v by %s without a reason", d, why.Rule)
	}
	text := fmt.Sprintf("%v by %s", d, why.Rule)
	if why.Observed.Rule != "" {
		text += fmt.Sprintf(", observed %v by %s", why.Observed.Decision, why.Observed.Rule)
	}
	if why.SkipPrompt {
		text += ", without a prompt"
	}
	return text
}

const (
	noCurl  = `id: no-curl, decision: deny, runs: ["curl *"]`
	askNpm  = `id: npm, decision: ask, runs: ["npm publish *"]`
	lists   = `id: lists, decision: allow, runs: ["ls *", "cat *"]`
	status  = `id: status, decision: allow, runs: ["git status *"]`
	secrets = `id: secrets, decision: deny, reads: ["**/.env"], writes: ["**/.env"]`
	builds  = `id: builds, decision: allow, writes: ["/work/app/build/**"]`
)

var decides = []struct{ name, policy, command, want string }{
	// The order of strictness.
	{"no rule, default allow", rules("allow", noCurl), "ls", "allow by default"},
	{"no rule, default ask", rules("ask", noCurl), "ls", "ask by default"},
	{"no rule, default deny", rules("deny", noCurl, lists), "make", "deny by default"},
	{"no default is deny", "version: 2\nrules: [{" + lists + "}]", "make", "deny by default"},
	{"deny", rules("allow", noCurl), "curl x", "deny by no-curl"},
	{"deny in other clothes", rules("allow", noCurl), "sudo bash -c 'ls && curl x'", "deny by no-curl"},
	{"ask", rules("allow", askNpm), "npm publish", "ask by npm"},
	{"deny beats ask", rules("allow", askNpm, noCurl), "npm publish && curl x", "deny by no-curl"},
	{"deny beats allow", rules("deny", `id: all, decision: allow`, noCurl), "curl x", "deny by no-curl"},
	{"ask beats allow", rules("deny", `id: all, decision: allow`, askNpm), "npm publish", "ask by npm"},
	{"ask beats the default deny", rules("deny", askNpm), "npm publish", "ask by npm"},
	{"ask does not free what stands beside it", rules("deny", askNpm), "npm publish && make", "deny by default"},
	{"ask and allow together", rules("deny", askNpm, lists), "npm publish && ls", "ask by npm"},

	// Allowing is of every effect.
	{"allowed", rules("deny", lists), "ls -l", "allow by lists"},
	{"what a run does through its own arguments", rules("deny", lists), "cat a b", "allow by lists"},
	{"not a redirection", rules("deny", lists), "cat a > b", "deny by default"},
	{"not another command", rules("deny", lists), "cat a; rm b", "deny by default"},
	{"not a substitution", rules("deny", lists), "cat $(make)", "deny by default"},
	{"two rules together", rules("deny", lists, status), "git status && ls", "allow by status"},
	{"a rule for the redirection", rules("deny", lists, builds), "cat a > build/b", "allow by builds"},
	{"a rule for another folder", rules("deny", lists, builds), "cat a > src/b", "deny by default"},
	{"what cannot be read is not covered", rules("deny", `id: any, decision: allow, runs: ["*"], reads: ["**"], writes: ["**"]`), `eval "$X"`, "deny by default"},
	{"a rule without keys covers what cannot be read", rules("deny", `id: all, decision: allow`), `eval "$X"`, "allow by all"},
	{"deletion of all that is allowed", rules("deny", `id: rm, decision: allow, writes: ["/work/app/build/**"], runs: ["rm"]`), "rm -rf build", "allow by rm"},

	// What cannot be read.
	{"opaque, and nobody speaks of runs", rules("allow", `id: x, decision: deny, tools: ["mcp__*"]`), `eval "$X"`, "allow by default"},
	{"opaque, and a deny rule speaks of runs", rules("allow", noCurl), `eval "$X"`, "ask by no-curl"},
	{"opaque, and an ask rule speaks of runs", rules("allow", askNpm), `eval "$X"`, "ask by npm"},
	{"opaque, and the rule is for another tool", rules("allow", `id: x, decision: deny, tools: [Other], runs: [curl]`), `eval "$X"`, "allow by default"},
	{"opaque, and the rule's argument does not fit", rules("allow", `id: x, decision: deny, runs: [curl], args: {command: {equals: z}}`), `eval "$X"`, "allow by default"},
	{"opaque, and the rule's condition does not hold", rules("allow", `id: x, decision: deny, runs: [curl], when: host == 'codex'`), `eval "$X"`, "allow by default"},
	{"opaque beside what is denied", rules("allow", noCurl), `eval "$X"; curl y`, "deny by no-curl"},
	{"code that mentions it", rules("allow", noCurl), `python3 -c 'os.system("curl x")'`, "ask by no-curl"},
	{"code that mentions a path", rules("allow", secrets), `python3 -c 'open(".env")'`, "ask by secrets"},
	{"code that does not", rules("allow", noCurl, secrets), `python3 -c 'print("curls, env")'`, "allow by default"},

	// Paths.
	{"reading", rules("allow", secrets), "cat .env", "deny by secrets"},
	{"writing", rules("allow", secrets), "echo x > .env", "deny by secrets"},
	{"deleting what is above", rules("allow", `id: x, decision: deny, writes: ["~/.ssh/**"]`), "rm -rf ~", "deny by x"},

	// Conditions.
	{"condition that holds", rules("allow", `id: x, decision: deny, when: "host == 'claude'"`), "ls", "deny by x"},
	{"condition that fails denies", rules("allow", `id: x, decision: deny, when: args.no.such == 'x'`), "ls", "deny by x"},
	{"condition that fails does not allow", rules("deny", `id: x, decision: allow, when: args.no.such == 'x'`), "ls", "deny by default"},
	{"condition on arguments", rules("deny", `id: x, decision: allow, when: "args.command startsWith 'ls'"`), "ls", "allow by x"},
	{"condition on effects", rules("allow", `id: x, decision: deny, when: "any(effects.runs, # == 'git push')"`), "git push", "deny by x"},
	{"condition on effects that cannot be read, deny", rules("allow", `id: x, decision: deny, when: "any(effects.runs, # == 'git push')"`), `eval "$X"`, "ask by x"},
	{"condition on effects that cannot be read, allow", rules("deny", `id: x, decision: allow, when: "none(effects.runs, # startsWith 'git')"`), `eval "$X"`, "deny by default"},
	{"condition on effects that are half known, allow", rules("deny", `id: x, decision: allow, when: "none(effects.runs, # contains 'git')"`), `make "$X"`, "deny by default"},
	{"the workspace and the home", rules("allow", `id: x, decision: deny, when: "workspace == '/work/app' and home == '/home/u'"`), "ls", "deny by x"},
	{"the star of a shell", rules("allow", `id: x, decision: deny, when: "'/work/app/*' in effects.reads"`), "cat *", "deny by x"},

	// Observing.
	{"an observed rule", rules("allow", `id: x, decision: deny, mode: observe, runs: [curl]`), "curl x", "allow by default, observed deny by x"},
	{"an observed rule that changes nothing", rules("allow", `id: x, decision: deny, mode: observe, runs: [curl]`), "ls", "allow by default"},
	{"an observed rule under an enforced one", rules("allow", noCurl, `id: x, decision: ask, mode: observe, runs: [curl]`), "curl x", "deny by no-curl"},
	{"an observed rule above an enforced one", rules("allow", `id: a, decision: ask, runs: [curl]`, `id: x, decision: deny, mode: observe, runs: [curl]`), "curl x", "ask by a, observed deny by x"},
	{"an observed allow rule allows nothing", rules("deny", lists, `id: x, decision: allow, mode: observe`), "make", "deny by default, observed allow by x"},
	{"an observed file", "version: 2\nmode: observe\nrules: [{" + noCurl + "}]", "curl x", "allow by default, observed deny by no-curl"},
	{"an observed file and its default", "version: 2\nmode: observe\nrules: [{" + lists + "}]", "make", "allow by default, observed deny by default"},
	{"an observed file and its allow rule", "version: 2\nmode: observe\nrules: [{" + lists + "}]", "ls", "allow by default"},
	{"an observed rule about what cannot be read", rules("allow", `id: x, decision: deny, mode: observe, runs: [curl]`), `eval "$X"`, "allow by default, observed ask by x"},

	// The host's own prompt.
	{"no prompt", rules("deny", lists+", skip_prompt: true"), "ls", "allow by lists, without a prompt"},
	{"a part with a prompt", rules("deny", lists+", skip_prompt: true", status), "ls && git status", "allow by lists"},
	{"the same with and without", rules("deny", lists, `id: y, decision: allow, runs: [ls], skip_prompt: true`), "ls", "allow by lists, without a prompt"},
	{"a default spares no prompt", rules("allow", `id: y, decision: allow, runs: [cat], skip_prompt: true`), "ls", "allow by default"},
}

func TestVersion2Decides(t *testing.T) {
	for _, tc := range decides {
		t.Run(tc.name, func(t *testing.T) {
			if got := outcome(mustParse(t, tc.policy), shell(tc.command)); got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.command, got, tc.want)
			}
		})
	}
}

var argumentCases = []struct{ demand, args, deny, allow string }{
	// What a rule that denies, and one that allows, makes of it: yes or no.
	{`x: {equals: 1}`, `{}`, "no", "yes"},
	{`x: {equals: 1, required: true}`, `{}`, "no", "no"},
	{`x: {required: true}`, `{"x":null}`, "yes", "yes"},
	{`x: {equals: 1}`, `{"x":1}`, "yes", "yes"},
	{`x: {equals: 1}`, `{"x":1.0}`, "yes", "yes"},
	{`x: {equals: 1}`, `{"x":"1"}`, "no", "no"},
	{`x: {equals: 9007199254740993}`, `{"x":9007199254740992}`, "no", "no"},
	{`x: {equals: {a: [1]}}`, `{"x":{"a":[1]}}`, "yes", "yes"},
	{`x: {one_of: [a, b]}`, `{"x":"\u0061"}`, "yes", "yes"},
	{`x: {one_of: [a, b]}`, `{"x":"c"}`, "no", "no"},
	{`x: {type: integer}`, `{"x":1}`, "yes", "yes"},
	{`x: {type: integer}`, `{"x":1.0}`, "no", "no"},
	{`x: {type: number}`, `{"x":1e2}`, "yes", "yes"},
	{`x: {type: "null"}`, `{"x":null}`, "yes", "yes"},
	{`x: {min_len: 2}`, `{"x":"é\ud83d\ude00"}`, "yes", "yes"},
	{`x: {max_len: 2}`, `{"x":"abc"}`, "no", "no"},
	{`x: {max_len: 2}`, `{"x":[1,2]}`, "yes", "yes"},
	{`x: {max_len: 2}`, `{"x":5}`, "yes", "no"}, // cannot be told
	{`x: {type: string, max_len: 2}`, `{"x":5}`, "no", "no"},
	{`x: {min: 1, max: 9007199254740993}`, `{"x":9007199254740993}`, "yes", "yes"},
	{`x: {min: 1, max: 9007199254740993}`, `{"x":9007199254740994}`, "no", "no"},
	{`x: {max: 2}`, `{"x":2.0000000000000000000000001}`, "no", "no"},
	{`x: {max: 2}`, `{"x":1e400}`, "yes", "no"}, // cannot be told
	{`x: {max: 2}`, `{"x":"1"}`, "yes", "no"},
	{`x: {matches: "a|b"}`, `{"x":"b"}`, "yes", "yes"},
	{`x: {matches: "a|b"}`, `{"x":"ab"}`, "no", "no"},
	{`x: {matches: "a"}`, `{"x":"a\n"}`, "no", "no"},
	{`x: {matches: "a"}`, `{"x":["a"]}`, "yes", "no"},
	{`x: {under: ["/work/app"]}`, `{"x":"src/a"}`, "yes", "yes"},
	{`x: {under: ["/work/app"]}`, `{"x":"/work/app"}`, "yes", "yes"},
	{`x: {under: ["/work/app/"]}`, `{"x":"../b"}`, "no", "no"},
	{`x: {under: ["/work/app"]}`, `{"x":"/work/application"}`, "no", "no"},
	{`x: {under: ["${workspace}", "~/a"]}`, `{"x":"/home/u/a/b"}`, "yes", "yes"},
	{`x: {under: ["/work/app"]}`, `{"x":["src/a","/etc/b"]}`, "yes", "no"},
	{`x: {under: ["/work/app"]}`, `{"x":{}}`, "yes", "no"},
	{`/a/1/b~1c: {equals: 2}`, `{"a":[0,{"b/c":2}]}`, "yes", "yes"},
	{`/a/01: {equals: 2}`, `{"a":[0,2]}`, "no", "yes"},
	{`x: {equals: 1}, y: {equals: 2}`, `{"x":1,"y":3}`, "no", "no"},
	{`x: {equals: 1}, y: {max: 2}`, `{"x":2,"y":"z"}`, "no", "no"},
}

func TestArguments(t *testing.T) {
	for _, tc := range argumentCases {
		args, err := canon.Parse([]byte(tc.args))
		if err != nil {
			t.Fatal(err)
		}
		r := policy.Request{Tool: "t", Args: args, World: somewhere()}
		for _, side := range []struct{ decision, fallback, want string }{{"deny", "allow", tc.deny}, {"allow", "deny", tc.allow}} {
			p := mustParse(t, rules(side.fallback, "id: r, decision: "+side.decision+", args: {"+tc.demand+"}"))
			_, why := p.Evaluate(r)
			if got := map[bool]string{true: "yes", false: "no"}[why.Rule == "r"]; got != side.want {
				t.Errorf("%s {%s} of %s: matches %s, want %s", side.decision, tc.demand, tc.args, got, side.want)
			}
		}
	}
}

func TestConditionsSeeNumbersWhole(t *testing.T) {
	for when, want := range map[string]policy.Decision{
		"args.n == 9007199254740993":                 policy.Deny,
		"args.n == 9007199254740992":                 policy.Allow,
		"args.big == '12345678901234567890123'":      policy.Deny, // beyond 64 bits: its digits
		"args.big > 5":                               policy.Deny, // and no number, so that this fails
		"args.f == 1.5":                              policy.Deny,
		"args.huge == '1e400'":                       policy.Deny,
		"len(args.list) == 2 and args.obj.a == true": policy.Deny,
		"args == nil":                                policy.Allow,
	} {
		p := mustParse(t, fmt.Sprintf(`{"version":2,"default":"allow","rules":[{"id":"r","decision":"deny","when":%q}]}`, when))
		r := call(t, "t", `{"n":9007199254740993,"big":12345678901234567890123,"f":1.5,"huge":1e400,"list":[1,null],"obj":{"a":true}}`)
		if got, _ := p.Evaluate(r); got != want {
			t.Errorf("%s: got %v, want %v", when, got, want)
		}
	}
}

func TestConditionsHaveABudget(t *testing.T) {
	large := call(t, "t", `{"x":"`+strings.Repeat("a", 70_000)+`","y":"b"}`)
	for when, want := range map[string]policy.Decision{
		"args.x == 'z'":             policy.Deny, // too large to be looked at
		"args.y == 'z'":             policy.Allow,
		"len(1..100000) > 3":        policy.Deny,
		"any(1..100, # == 101)":     policy.Allow,
		"all(args, true) and false": policy.Deny,
	} {
		p := mustParse(t, fmt.Sprintf(`{"version":2,"default":"allow","rules":[{"id":"r","decision":"deny","when":%q}]}`, when))
		if got, _ := p.Evaluate(large); got != want {
			t.Errorf("%s: got %v, want %v", when, got, want)
		}
	}
}

func TestScope(t *testing.T) {
	p := mustParse(t, rules("allow",
		`id: tool, decision: deny, tools: ["mcp__*__delete_?"]`, `id: host, decision: deny, hosts: [codex]`, `id: who, decision: deny, principals: ["team-*"]`))
	for _, tc := range []struct {
		r    policy.Request
		want string
	}{
		{policy.Request{Tool: "mcp__db__delete_x"}, "tool"},
		{policy.Request{Tool: "mcp__db__delete_xy"}, "default"},
		{policy.Request{Tool: "MCP__db__delete_x"}, "default"},
		{policy.Request{Tool: "x", Host: "codex"}, "host"},
		{policy.Request{Tool: "x", Principal: "team-a"}, "who"},
		{policy.Request{Tool: "x", Principal: "local", Host: "claude"}, "default"},
	} {
		if _, why := p.Evaluate(tc.r); why.Rule != tc.want {
			t.Errorf("%+v: got %s, want %s", tc.r, why.Rule, tc.want)
		}
	}
}

func TestConnectsAndSpawns(t *testing.T) {
	deny := mustParse(t, rules("allow", `id: net, decision: deny, connects: ["*.evil.example"]`, `id: agents, decision: ask, spawns: ["General*"]`))
	allow := mustParse(t, rules("deny", `id: net, decision: allow, connects: ["*.good.example"]`, `id: agents, decision: allow, spawns: ["Explore"]`))
	reach := func(host string) policy.Request {
		return policy.Request{Tool: "WebFetch", World: somewhere(), Effects: []effects.Effect{{Kind: effects.Connect, By: -1, Host: host}}}
	}
	spawn := func(agent string) policy.Request {
		return policy.Request{Tool: "Agent", World: somewhere(), Effects: []effects.Effect{{Kind: effects.Spawn, By: -1, Agent: agent}}}
	}
	for _, tc := range []struct {
		r           policy.Request
		deny, allow string
	}{
		{reach("a.evil.example"), "deny by net", "deny by default"},
		{reach("a.good.example:443"), "allow by default", "allow by net"},
		{spawn("GeneralPurpose"), "ask by agents", "deny by default"},
		{spawn("Explore"), "allow by default", "allow by agents"},
		{spawn(""), "allow by default", "deny by default"},
	} {
		if got := outcome(deny, tc.r); got != tc.deny {
			t.Errorf("%+v: got %s, want %s", tc.r.Effects, got, tc.deny)
		}
		if got := outcome(allow, tc.r); got != tc.allow {
			t.Errorf("%+v: got %s, want %s", tc.r.Effects, got, tc.allow)
		}
	}
}

func TestCallsWithoutEffects(t *testing.T) {
	for _, tc := range []struct{ policy, want string }{
		{rules("deny", `id: any, decision: allow, runs: ["*"], reads: ["**"]`), "deny by default"},
		{rules("deny", `id: tool, decision: allow, tools: [Todo*]`), "allow by tool"},
		{rules("allow", `id: any, decision: deny, runs: ["*"]`), "allow by default"},
		{rules("allow", `id: any, decision: ask`), "ask by any"},
	} {
		if got := outcome(mustParse(t, tc.policy), call(t, "TodoWrite", `{}`)); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.policy, got, tc.want)
		}
	}
}

func TestVisible(t *testing.T) {
	for _, tc := range []struct {
		policy string
		want   bool
	}{
		{rules("deny", lists), true},
		{rules("deny", `id: a, decision: allow, tools: [other]`), false},
		{rules("deny", `id: a, decision: allow, tools: [t]`), true},
		{rules("deny", `id: a, decision: allow, tools: [t]`, `id: b, decision: deny, tools: ["?"]`), false},
		{rules("allow", `id: b, decision: deny, tools: [t]`), false},
		{rules("allow", `id: b, decision: deny, tools: [t], when: host == 'x'`), true},
		{rules("allow", `id: b, decision: deny, tools: [t], args: {x: {equals: 1}}`), true},
		{rules("allow", `id: b, decision: deny, tools: [t], runs: ["*"]`), true},
		{rules("allow", `id: b, decision: deny, tools: [t], hosts: [codex]`), true},
		{rules("allow", `id: b, decision: deny, tools: [t], mode: observe`), true},
		{rules("deny", `id: b, decision: ask, tools: [t]`), true},
		{rules("deny", `id: b, decision: allow, tools: [t], mode: observe`), false},
		{rules("ask", `id: b, decision: deny, tools: [other]`), true},
	} {
		p := mustParse(t, tc.policy)
		if got := p.Visible("t"); got != tc.want {
			t.Errorf("%s: got %v", tc.policy, got)
		}
		if d, why := p.Evaluate(call(t, "t", `{}`)); why.Hidden != (d == policy.Deny && !tc.want) {
			t.Errorf("%s: decided %v, hidden %v", tc.policy, d, why.Hidden)
		}
	}
}

// TestVisibleToOne looks at what ann may know of, who is of the tenant acme, where others may know more or less.
func TestVisibleToOne(t *testing.T) {
	for name, tc := range map[string]struct {
		policy   string
		ann, all bool
	}{
		"another's":                     {rules("deny", `id: a, decision: allow, tools: [t], principals: [bob]`), false, true},
		"hers":                          {rules("deny", `id: a, decision: allow, tools: [t], principals: ["a*"]`), true, true},
		"another tenant's":              {rules("deny", `id: a, decision: allow, tools: [t], tenants: [other]`), false, true},
		"her tenant's":                  {rules("deny", `id: a, decision: allow, tools: [t], tenants: [acme]`), true, true},
		"denied to her":                 {rules("allow", `id: a, decision: deny, tools: [t], principals: [ann]`), false, true},
		"denied to others":              {rules("allow", `id: a, decision: deny, tools: [t], principals: [bob]`), true, true},
		"denied to her with some":       {rules("allow", `id: a, decision: deny, tools: [t], principals: [ann], args: {x: {equals: 1}}`), true, true},
		"denied to her in another host": {rules("allow", `id: a, decision: deny, tools: [t], principals: [ann], hosts: [codex]`), true, true},
		"denied to her, observed":       {rules("allow", `id: a, decision: deny, tools: [t], principals: [ann], mode: observe`), true, true},
		"asked of others":               {rules("deny", `id: a, decision: ask, tools: [t], principals: [bob]`), false, true},
	} {
		p := mustParse(t, tc.policy)
		if got := p.VisibleTo(policy.Who{Principal: "ann", Tenant: "acme"}, "t"); got != tc.ann {
			t.Errorf("%s: visible to ann: %v", name, got)
		}
		if got := p.Visible("t"); got != tc.all {
			t.Errorf("%s: visible: %v", name, got)
		}
		r := call(t, "t", `{}`)
		r.Principal, r.Tenant = "ann", "acme"
		if d, why := p.Evaluate(r); why.Hidden == tc.ann && d == policy.Deny || d != policy.Deny && why.Hidden {
			t.Errorf("%s: decided %v, hidden %v", name, d, why.Hidden)
		}
		methods := mustParse(t, strings.ReplaceAll(tc.policy, "tools: [t]", "methods: [prompts/get]"))
		if got := methods.MethodVisibleTo(policy.Who{Principal: "ann", Tenant: "acme"}, "prompts/get"); got != tc.ann {
			t.Errorf("%s: a method is visible to ann: %v", name, got)
		}
	}
	if (*policy.Policy)(nil).VisibleTo(policy.Who{}, "t") || (&policy.Policy{}).MethodVisibleTo(policy.Who{}, "prompts/get") {
		t.Error("something is visible without a policy")
	}
}

func TestReasons(t *testing.T) {
	for _, tc := range []struct{ policy, command, want string }{
		{rules("allow", noCurl), "curl http://secret.example/token", `rule no-curl denies "curl *"`},
		{rules("allow", noCurl+`, reason: "Use the proxy."`), "curl x", `Use the proxy. Here: running "curl *"`},
		{rules("allow", askNpm), "npm publish --otp 123", `rule npm asks first about "npm publish *"`},
		{rules("allow", secrets+`, reason: "Ask the user"`), "cat sub/.env", `Ask the user. Here: reading "sub/.env"`},
		{rules("allow", `id: keep, decision: deny, writes: ["src/**"], reason: "Keep it."`), "rm -rf src", `Keep it. Here: changing or deleting all of "src"`},
		{rules("allow", `id: keep, decision: deny, tools: [Bash], reason: "Not here."`), "ls", `Not here.`},
		{rules("allow", secrets), "cat sub/.env", `rule secrets denies reading "sub/.env"`},
		{rules("allow", secrets), "echo x > .env", `rule secrets denies writing ".env"`},
		{rules("allow", noCurl), `eval "$X"`, `what this call does cannot be read: code that is known only when it runs; the policy has rules about commands. Write the code out, or save it in a file, read that, and run it then`},
		{rules("allow", noCurl), `$PYTHON x.py`, `what this call does cannot be read: the program is known only when it runs; the policy has rules about commands. Write the name of the program out`},
		{rules("allow", noCurl+`, reason: "No."`), `python3 -c 'os.system("curl x")'`, `No. Here perhaps, which cannot be told before the call runs: running "curl *"`},
		{rules("allow", secrets), `python3 -c 'open(".env")'`, `rule secrets denies code that speaks of "**/.env", and whether this call does that cannot be told before it runs`},
		{rules("deny", lists), "make all", `no rule of the policy allows running "make"`},
		{rules("deny", lists), "cat a > b", `no rule of the policy allows writing "b"`},
		{rules("ask", lists), "make all", `the policy asks first about what no rule allows: running "make"`},
		{rules("allow", `id: t, decision: deny, tools: [Bash]`), "ls", `rule t denies this call`},
		{rules("allow", `id: t, decision: deny, when: "any(effects.runs, # == 'x')"`), `eval "$X"`, `rule t denies calls like this one, and whether this is one cannot be told before it runs`},
	} {
		_, why := mustParse(t, tc.policy).Evaluate(shell(tc.command))
		if diff := cmp.Diff(tc.want, why.Reason); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tc.command, diff)
		}
	}
}

func TestLimits(t *testing.T) {
	p := mustParse(t, rules("allow",
		`id: web, decision: allow, tools: [web], limit: {calls: 30, per: 1m, burst: 5}`,
		`id: ls, decision: allow, runs: [ls], limit: {calls: 3, per: 1h}`,
		`id: off, decision: allow, mode: observe, limit: {calls: 1, per: 1h}`))
	for _, tc := range []struct {
		r    policy.Request
		want []policy.Limit
	}{
		{call(t, "web", `{}`), []policy.Limit{{Rule: "web", Bucket: "web", Calls: 30, Per: time.Minute, Burst: 5}}},
		{call(t, "other", `{}`), nil},
		{shell("ls && make"), []policy.Limit{{Rule: "ls", Bucket: "ls", Calls: 3, Per: time.Hour, Burst: 3}}},
		{shell("make"), nil},
	} {
		if diff := cmp.Diff(tc.want, p.Judge(tc.r).Limits()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tc.r.Tool, diff)
		}
	}
}

func TestVersion2WithoutAWorld(t *testing.T) {
	p := mustParse(t, rules("allow", secrets, `id: under, decision: deny, args: {path: {under: [/etc]}}`))
	r := shell("cat .env")
	r.World = nil
	if d, _ := p.Evaluate(r); d != policy.Deny {
		t.Errorf("got %v", d)
	}
	if d, _ := p.Evaluate(call(t, "t", `{"path":"a"}`)); d != policy.Deny {
		t.Errorf("a path in a folder that is not known: got %v", d)
	}
}

package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/policy"
)

// The building blocks of random policies and calls.
var (
	scopes = []string{"", "", "", "tools: [Bash]", `tools: ["mcp__*"]`, "hosts: [codex]", `methods: ["resources/*"]`, `methods: [tools/call, prompts/get]`, `tenants: ["t*"]`, "when: host == 'claude'", "when: args.no.such == 1", `when: "any(effects.runs, # contains 'git')"`,
		"args: {command: {max_len: 12}}", "args: {n: {min: 1}}", `args: {path: {under: ["${workspace}"]}}`}
	kindsOfRules = []string{"", `runs: ["curl *"]`, `runs: ["git push *", ls]`, `runs: ["*"]`, `reads: ["**/.env"]`, `reads: ["**"]`, `writes: ["${workspace}/**"]`, `writes: ["~/**", "/etc/*"]`,
		`runs: [cat], reads: ["/work/app/*"]`, `connects: ["*.example.com"]`, `spawns: ["*"]`}
	commands = []string{"ls", "ls -la > out", "curl https://a.example.com/x", "cat .env", "git push && ls", "rm -rf ~", `eval "$X"`, "cat a | curl x", "python3 -c 'curl .env'", "echo x > /etc/a",
		"$X y", "cat < .env", "git push -f", "true"}
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// randomRule is a rule of a decision, in flow style.
func randomRule(r *rand.Rand, id, decision string) string {
	rule := "id: " + id + ", decision: " + decision
	for _, part := range []string{pick(r, scopes), pick(r, kindsOfRules), pick(r, []string{"", "", "", "mode: observe"})} {
		if part != "" {
			rule += ", " + part
		}
	}
	return rule
}

// visible reports whether a request like this one could be allowed.
func visible(p *policy.Policy, r policy.Request) bool {
	who := policy.Who{Principal: r.Principal, Tenant: r.Tenant}
	if r.Method == "" || r.Method == "tools/call" || strings.HasPrefix(r.Method, "hook/") {
		return p.VisibleTo(who, r.Tool)
	}
	return p.MethodVisibleTo(who, r.Method)
}

func randomRules(r *rand.Rand) []string {
	var list []string
	for i := range r.IntN(6) {
		list = append(list, randomRule(r, fmt.Sprintf("r%d", i), pick(r, []string{"deny", "ask", "allow"})))
	}
	return list
}

func randomCall(r *rand.Rand) policy.Request {
	req := shell(pick(r, commands))
	switch r.IntN(6) {
	case 0:
		req = edit(pick(r, []string{"/work/app/a", "/work/app/.env", "/home/u/x", "/etc/a"}))
	case 1:
		args, _ := canon.Parse([]byte(pick(r, []string{`{"n":1,"path":"a"}`, `{"n":"x","path":"../b"}`, `{}`, `[]`, `null`})))
		req = policy.Request{Tool: "mcp__x", Args: args, World: somewhere()}
	case 2:
		req.Effects = append(req.Effects, effects.Effect{Kind: pick(r, []effects.Kind{effects.Read, effects.Write, effects.Connect, effects.Spawn}), By: -1, Opaque: "a test says so"})
	}
	req.Host = pick(r, []string{"claude", "codex", ""})
	req.Method = pick(r, []string{"", "", "tools/call", "hook/PreToolUse", "resources/read", "prompts/get"})
	req.Tenant = pick(r, []string{"", "t1"})
	return req
}

// TestRulesOnlyPushOneWay holds random policies to what everybody may rely on: a deny rule more never makes a decision
// milder, an allow rule more never makes it stricter, and the order of rules does not matter.
func TestRulesOnlyPushOneWay(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for range 250 {
		fallback, list := pick(r, []string{"deny", "ask", "allow"}), randomRules(r)
		base := mustParse(t, rules(fallback, list...))
		denies := append(slices.Clone(list), randomRule(r, "more", "deny"))
		allows := append(slices.Clone(list), randomRule(r, "more", "allow"))
		shuffled := slices.Clone(list)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		stricter, milder, same := mustParse(t, rules(fallback, denies...)), mustParse(t, rules(fallback, allows...)), mustParse(t, rules(fallback, shuffled...))
		for range 4 {
			req := randomCall(r)
			d, why := base.Evaluate(req)
			if got, _ := stricter.Evaluate(req); got > d {
				t.Fatalf("%v becomes %v by one deny rule more\n%s", d, got, strings.Join(denies, "\n"))
			}
			if got, _ := milder.Evaluate(req); got < d {
				t.Fatalf("%v becomes %v by one allow rule more\n%s", d, got, strings.Join(allows, "\n"))
			}
			got, other := same.Evaluate(req)
			if got != d || other.Observed.Decision != why.Observed.Decision || other.SkipPrompt != why.SkipPrompt {
				t.Fatalf("%v, %+v becomes %v, %+v in another order\n%s", d, why, got, other, strings.Join(list, "\n"))
			}
			if why.Rule == "" || why.Reason == "" || why.Hidden && (d != policy.Deny || visible(base, req)) {
				t.Fatalf("%v, %+v\n%s", d, why, strings.Join(list, "\n"))
			}
		}
	}
}

// TestCombineIsOneRuleSet: however rules are spread over files of one level, and in whatever order the files come, the
// decision is that of one file with all of them.
func TestCombineIsOneRuleSet(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 3))
	for range 150 {
		fallback, list := pick(r, []string{"deny", "ask", "allow"}), randomRules(r)
		cut := r.IntN(len(list) + 1)
		one := mustParse(t, rules(fallback, list...))
		a := policy.Layer{Policy: mustParse(t, rules(fallback, list[:cut]...)), Level: pick(r, []policy.Level{policy.User, policy.Managed})}
		b := policy.Layer{Policy: mustParse(t, rules(fallback, list[cut:]...)), Level: pick(r, []policy.Level{policy.User, policy.Managed})}
		ab, ba := policy.Combine(a, b), policy.Combine(b, a)
		if ab.Digest() != ba.Digest() {
			t.Fatal("the order of files changes the digest")
		}
		for range 4 {
			req := randomCall(r)
			want, why := one.Evaluate(req)
			for _, p := range []*policy.Policy{ab, ba} {
				got, by := p.Evaluate(req)
				if got != want || by.Observed.Decision != why.Observed.Decision || visible(p, req) != visible(one, req) {
					t.Fatalf("one file: %v, %+v; two: %v, %+v\n%s", want, why, got, by, strings.Join(list, "\n"))
				}
			}
		}
	}
}

// FuzzVersion2 holds Parse and Evaluate to their promises: an error has a place, what loads is the same policy by way of a
// cache, decides every call with a reason, and keeps a deny rule more from making anything milder.
func FuzzVersion2(f *testing.F) {
	for _, tc := range slices.Concat(v2Errors, verifyErrors) {
		f.Add([]byte(tc.text), "ls")
	}
	for _, text := range []string{rules("deny", looks, saves, sends, edits), rules("ask", looks, saves, asks, hastily), verified(`"content"`)} {
		f.Add([]byte(text), "/work/app/a")
	}
	for _, tc := range decides {
		f.Add([]byte(tc.policy), tc.command)
	}
	f.Add([]byte(everything), "curl x > .env")
	f.Add(policy.StarterText(), "rm -rf ~")
	f.Fuzz(func(t *testing.T, text []byte, command string) {
		p, err := policy.Parse("p.json", text)
		if err != nil {
			if len(text) > 0 && text[0] != '{' && text[0] != '[' {
				return // package yaml has a target of its own for places
			}
			checkPlace(t, text, err)
			return
		}
		compiled, err := policy.Compile("p.json", text)
		if err != nil {
			t.Fatal(err)
		}
		cached, err := policy.ParseCompiled("p.json", text, compiled)
		if err != nil || cached.Digest() != p.Digest() {
			t.Fatalf("got %v, %v", cached, err)
		}
		stricter := policy.Combine(policy.Layer{Policy: p, Level: policy.Named}, policy.Layer{Policy: mustParse(t, rules("allow", noCurl, secrets)), Level: policy.Project})
		for _, req := range []policy.Request{shell(command), edit(command), {Tool: command}} {
			d, why := p.Evaluate(req)
			if got, by := cached.Evaluate(req); got != d || by != why {
				t.Errorf("%v, %+v; by way of the cache %v, %+v", d, why, got, by)
			}
			if why.Rule == "" || why.Reason == "" {
				t.Errorf("%v without why: %+v", d, why)
			}
			if got, _ := stricter.Evaluate(req); got > d {
				t.Errorf("%v becomes %v by deny rules", d, got)
			}
			terms := p.Terms(req)
			if diff := cmp.Diff(told(terms), told(cached.Terms(req))); diff != "" {
				t.Errorf("(-plain +compiled)\n%s", diff)
			}
			if (d == policy.Ask) != (terms.Expires > 0) || terms.ReadOnly && (terms.Key != "" || terms.Verify != nil) {
				t.Errorf("%v on the terms %v", d, told(terms))
			}
			p.Explain(req)
			// What is found out once for all of it is what is found out for each.
			judged, limits := p.Judge(req), p.Judge(req).Limits()
			if judged.Decision != d || judged.Why != why {
				t.Errorf("judged %v, %+v; evaluated %v, %+v", judged.Decision, judged.Why, d, why)
			}
			for range 2 {
				if diff := cmp.Diff(told(terms), told(judged.Terms())) + cmp.Diff(limits, judged.Limits()); diff != "" {
					t.Errorf("(-alone +judged)\n%s", diff)
				}
			}
		}
	})
}

package policy_test

import (
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/policy"
)

// ask is a request of a method other than tools/call, with the effects that its params say.
func ask(t *testing.T, method, name, params string) policy.Request {
	t.Helper()
	v, err := canon.Parse([]byte(params))
	if err != nil {
		t.Fatal(err)
	}
	w := somewhere()
	return policy.Request{Principal: "local", Method: method, Tool: name, Args: v, World: w, Effects: policy.MethodEffects(method, v, w)}
}

const reading = `id: reading, decision: allow, methods: [resources/read]`

func TestMethods(t *testing.T) {
	const get, read = "prompts/get", "resources/read"
	for _, tc := range []struct{ name, policy, method, params, want string }{
		{"the default denies", rules("deny", lists), read, `{"uri":"x:y"}`, "deny by default"},
		{"the default allows", rules("allow", noCurl), read, `{"uri":"x:y"}`, "allow by default"},
		{"allowed", rules("deny", reading), read, `{"uri":"x:y"}`, "allow by reading"},
		{"another method", rules("deny", reading), get, `{"name":"x"}`, "deny by default"},
		{"a pattern", rules("deny", `id: r, decision: allow, methods: ["tasks/*"]`), "tasks/cancel", `{"taskId":"1"}`, "allow by r"},
		{"a method that nobody knows", rules("deny", `id: r, decision: allow, methods: ["*"]`), "x/new", `{}`, "allow by r"},
		{"a rule for all tools is none for methods", rules("deny", `id: r, decision: allow`), read, `{"uri":"x:y"}`, "deny by default"},
		{"a rule for methods is none for tools", rules("deny", reading), "tools/call", `{}`, "deny by default"},
		{"both", rules("deny", `id: r, decision: allow, methods: [tools/call, prompts/get]`), "tools/call", `{}`, "allow by r"},
		{"what a hook asks about is a call", rules("deny", `id: r, decision: allow, methods: [tools/call]`), "hook/PreToolUse", `{}`, "allow by r"},
		{"only what hooks ask about", rules("deny", `id: r, decision: allow, methods: ["hook/*"]`), "tools/call", `{}`, "deny by default"},
		{"by param", rules("deny", `id: r, decision: allow, methods: [resources/read], args: {uri: {matches: "https://docs[.]example/.*"}}`), read, `{"uri":"https://docs.example/a"}`, "allow by r"},
		{"by another param", rules("deny", `id: r, decision: allow, methods: [resources/read], args: {uri: {matches: "https://docs[.]example/.*"}}`), read, `{"uri":"https://docs.example.evil/a"}`, "deny by default"},
		{"by a param that is not there", rules("deny", `id: r, decision: allow, methods: [prompts/get], args: {name: {equals: review, required: true}}`), get, `{}`, "deny by default"},
		{"by a condition", rules("deny", `id: r, decision: allow, methods: ["*"], when: 'method == "prompts/get" and args.name == "review"'`), get, `{"name":"review"}`, "allow by r"},
		{"deny beats allow", rules("deny", reading, `id: no, decision: deny, methods: ["resources/*"]`), read, `{"uri":"x:y"}`, "deny by no"},
		{"a deny for a tool is none for methods", rules("deny", reading, `id: no, decision: deny, tools: [Bash]`), read, `{"uri":"x:y"}`, "allow by reading"},
		{"a deny for who asks is one for all methods", rules("allow", `id: no, decision: deny, principals: ["loc*"]`), read, `{"uri":"x:y"}`, "deny by no"},
		{"a deny for all tools is one for all methods", rules("allow", `id: no, decision: deny, tools: ["*"]`), read, `{"uri":"x:y"}`, "deny by no"},
		{"an ask", rules("allow", `id: a, decision: ask, methods: [sampling/createMessage]`), "sampling/createMessage", `{}`, "ask by a"},
		{"observed", rules("deny", reading, `id: no, decision: deny, methods: ["*"], mode: observe`), read, `{"uri":"x:y"}`, "allow by reading, observed deny by no"},

		// Effects.
		{"a secret as a resource", rules("allow", secrets), read, `{"uri":"file:///work/app/.env"}`, "deny by secrets"},
		{"a secret that a rule for the method allows", rules("deny", reading, secrets), read, `{"uri":"file:///work/app/.env"}`, "deny by secrets"},
		{"a secret that is watched", rules("allow", secrets), "resources/subscribe", `{"uri":"file:///work/app/.env"}`, "deny by secrets"},
		{"another file", rules("deny", reading, secrets), read, `{"uri":"file:///work/app/x"}`, "allow by reading"},
		{"a folder that is allowed", rules("deny", reading+`, reads: ["${workspace}/docs/**"]`), read, `{"uri":"file:///work/app/docs/x"}`, "allow by reading"},
		{"out of a folder that is allowed", rules("deny", reading+`, reads: ["${workspace}/docs/**"]`), read, `{"uri":"file:///work/app/docs/../x"}`, "deny by default"},
		{"no file in a folder that is allowed", rules("deny", reading+`, reads: ["${workspace}/docs/**"]`), read, `{"uri":"https://x/work/app/docs/x"}`, "deny by default"},
		{"a rule for reading files is none for methods", rules("deny", `id: r, decision: allow, reads: ["**"]`), read, `{"uri":"file:///work/app/x"}`, "deny by default"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := mustParse(t, tc.policy)
			if got := outcome(p, ask(t, tc.method, "", tc.params)); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestSecretsInEverySpelling attacks a rule for files by all the ways in which a file can be named by a URI.
func TestSecretsInEverySpelling(t *testing.T) {
	p := mustParse(t, rules("allow", `id: keys, decision: deny, reads: ["/home/u/.ssh/**"]`))
	for _, uri := range []string{
		"file:///home/u/.ssh/id", "FILE:///home/u/.ssh/id", "file:/home/u/.ssh/id", "file://localhost/home/u/.ssh/id", "file:///home/u/./x/../.ssh/id",
		"file:///home/u/%2essh/id", "file:///home/u/%2Essh/%69d", "file:///home/u/.ssh/id?x=1", "file:///home/u/.ssh/id#x", " file:///home/u/.ssh/id", "fi\tle:///home/u/.ss\nh/id",
		"\u0001file:///home/u/.ssh/id", `file:\\\home\u\.ssh\id`, "/home/u/.ssh/id", "file:////home/u/.ssh/id", "~/.ssh/id", "vscode-remote://wsl/home/u/.ssh/id",
	} {
		params := string(canon.AppendString([]byte(`{"uri":`), uri)) + "}"
		if got := outcome(p, ask(t, "resources/read", uri, params)); got != "deny by keys" {
			t.Errorf("%q: got %s", uri, got)
		}
	}
	for _, uri := range []string{"https://example.com/home/u/.ssh/id", "file:///home/u/ssh/id", "note:/home/u/.ssh/id", "x"} {
		params := string(canon.AppendString([]byte(`{"uri":`), uri)) + "}"
		if got := outcome(p, ask(t, "resources/read", uri, params)); got != "allow by default" {
			t.Errorf("%q: got %s", uri, got)
		}
	}
}

func TestMethodEffectsOfOtherMethods(t *testing.T) {
	for _, tc := range []struct{ method, params string }{
		{"prompts/get", `{"uri":"file:///x"}`}, {"resources/read", `{}`}, {"resources/read", `[]`}, {"resources/read", `{"uri":1}`}, {"tools/call", `{"uri":"file:///x"}`},
	} {
		v, err := canon.Parse([]byte(tc.params))
		if err != nil {
			t.Fatal(err)
		}
		if got := policy.MethodEffects(tc.method, v, &effects.World{}); got != nil {
			t.Errorf("%s %s: got %+v", tc.method, tc.params, got)
		}
	}
}

func TestMethodVisible(t *testing.T) {
	for _, tc := range []struct {
		policy string
		want   bool
	}{
		{rules("deny", reading), true},
		{rules("deny", lists), false},
		{rules("deny", secrets), false},
		{rules("deny", `id: a, decision: allow`), false},
		{rules("deny", reading+`, args: {uri: {equals: x}}`), true},
		{rules("deny", reading+`, mode: observe`), false},
		{rules("deny", reading, `id: no, decision: deny`), false},
		{rules("deny", reading, `id: no, decision: deny, methods: ["resources/*"]`), false},
		{rules("deny", reading, `id: no, decision: deny, methods: [prompts/get]`), true},
		{rules("deny", reading, `id: no, decision: deny, tools: [Bash]`), true},
		{rules("deny", reading, `id: no, decision: deny, methods: ["*"], principals: [x]`), true},
		{rules("deny", reading, secrets), true},
		{rules("allow", noCurl), true},
		{rules("allow", `id: no, decision: deny, methods: ["*"]`), false},
		{rules("ask", noCurl), true},
		{`{"version":1,"allow":["resources/read"]}`, false},
	} {
		p := mustParse(t, tc.policy)
		if got := p.MethodVisible("resources/read"); got != tc.want {
			t.Errorf("%s: got %v", tc.policy, got)
		}
		if d, why := p.Evaluate(ask(t, "resources/read", "", `{"uri":"x:y"}`)); why.Hidden != (d == policy.Deny && !tc.want) {
			t.Errorf("%s: decided %v, hidden %v", tc.policy, d, why.Hidden)
		}
		if !p.MethodVisible("tools/call") {
			t.Errorf("%s: calls of tools are hidden as a method", tc.policy)
		}
	}
	if (*policy.Policy)(nil).MethodVisible("resources/read") || (&policy.Policy{}).MethodVisible("resources/read") {
		t.Error("no policy shows a method")
	}
}

// TestVersion1KnowsToolsOnly: a tool that is allowed is no method that is allowed, whatever it is called.
func TestVersion1KnowsToolsOnly(t *testing.T) {
	p := mustParse(t, `{"version":1,"allow":["resources/read","x:y","t"]}`)
	for _, combined := range []*policy.Policy{p, policy.Combine(policy.Layer{Policy: p, Level: policy.User})} {
		for _, method := range []string{"resources/read", "prompts/get", "t"} {
			if got := outcome(combined, ask(t, method, "x:y", `{"uri":"x:y"}`)); got != "deny by default" {
				t.Errorf("%s: got %s", method, got)
			}
		}
		if got := outcome(combined, call(t, "t", `{}`)); got != "allow by allow" {
			t.Errorf("the tool: got %s", got)
		}
	}
}

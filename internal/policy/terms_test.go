package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/output"
	"sallyport/internal/policy"
)

func TestTerms(t *testing.T) {
	const (
		reads   = `id: reads, decision: allow, tools: ["get_*"], read_only: true`
		pays    = `id: pays, decision: allow, tools: [pay], mutation: {key: request_id}`
		meta    = `id: meta, decision: allow, tools: ["p*"], mutation: {key: sallyport/request_id, idempotent: true}`
		all     = `id: all, decision: allow`
		looks   = `id: looks, decision: allow, runs: ["ls *", "cat *"], read_only: true`
		removes = `id: removes, decision: allow, runs: ["rm *"]`
	)
	for _, tc := range []struct {
		name, policy string
		request      policy.Request
		want         policy.Terms
	}{
		{"nothing is said", rules("deny", all), call(t, "get_x", `{}`), policy.Terms{}},
		{"by default", rules("allow", noCurl), call(t, "get_x", `{}`), policy.Terms{}},
		{"read only", rules("deny", reads), call(t, "get_x", `{}`), policy.Terms{ReadOnly: true}},
		{"read only, and another rule says nothing", rules("deny", all, reads), call(t, "get_x", `{}`), policy.Terms{ReadOnly: true}},
		{"read only for another tool", rules("deny", all, reads), call(t, "set_x", `{}`), policy.Terms{}},
		{"read only and a mutation", rules("deny", reads, `id: m, decision: allow, mutation: {key: k}`), call(t, "get_x", `{}`), policy.Terms{Key: "k", Rule: "m"}},
		{"read only of an ask", rules("deny", all, `id: a, decision: ask, tools: [x], read_only: true`), call(t, "get_x", `{}`), policy.Terms{}},
		{"read only, observed", rules("deny", all, reads+`, mode: observe`), call(t, "get_x", `{}`), policy.Terms{}},
		{"read only where an argument fits", rules("deny", all, reads+`, args: {n: {max: 3}}`), call(t, "get_x", `{"n":4}`), policy.Terms{}},
		{"read only where it cannot be told", rules("deny", all, reads+`, args: {n: {max: 3}}`), call(t, "get_x", `{"n":"3"}`), policy.Terms{}},
		{"read only by effects", rules("deny", looks, removes), shell("ls && cat a"), policy.Terms{ReadOnly: true}},
		{"read only in part", rules("deny", looks, removes), shell("ls && rm a"), policy.Terms{}},
		{"read only of what cannot be read", rules("deny", all, looks), shell(`$X`), policy.Terms{}},
		{"a key", rules("deny", pays), call(t, "pay", `{}`), policy.Terms{Key: "request_id", Rule: "pays"}},
		{"a key in _meta", rules("deny", meta), call(t, "put", `{}`), policy.Terms{Key: policy.MetaKey, Rule: "meta", Idempotent: true}},
		{"the first of two keys, and idempotent for both or not at all", rules("deny", meta, pays), call(t, "pay", `{}`), policy.Terms{Key: policy.MetaKey, Rule: "meta"}},
		{"a key of another method", rules("deny", `id: m, decision: allow, methods: [prompts/get], mutation: {key: name}`), ask(t, "prompts/get", "x", `{"name":"x"}`), policy.Terms{Key: "name", Rule: "m"}},
		{"output of the file and of the rules", "version: 2\noutput: {max_bytes: 1MiB, control: mark}\nrules:\n  - {" + all + ", output: {max_bytes: 2MiB, secrets: mask}}\n  - {id: b, decision: allow, tools: [x], output: {max_bytes: 64KiB, control: remove}}\n",
			call(t, "x", `{}`), policy.Terms{Output: output.Rule{MaxBytes: 64 << 10, Control: output.Remove, Secrets: true}}},
		{"output of the file, by default", "version: 2\ndefault: allow\noutput: {max_bytes: 7}\n", call(t, "x", `{}`), policy.Terms{Output: output.Rule{MaxBytes: 7}}},
		{"output that is observed", "version: 2\nmode: observe\noutput: {max_bytes: 7}\n", call(t, "x", `{}`), policy.Terms{}},
		{"version 1", `{"version":1,"allow":["x"]}`, call(t, "x", `{}`), policy.Terms{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, mustParse(t, tc.policy).Terms(tc.request)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if got := (*policy.Policy)(nil).Terms(call(t, "x", `{}`)); !cmp.Equal(got, policy.Terms{}) {
		t.Errorf("no policy: got %+v", got)
	}
}

// TestTermsOutlastCompiling: a hook's cache, and a server's next start, say the same as the file.
func TestTermsOutlastCompiling(t *testing.T) {
	const text = "version: 2\nrequire: [key]\noutput: {control: mark}\nledger: {reads: batched}\nrules:\n" +
		"  - {id: pay, decision: allow, tools: [pay], mutation: {key: sallyport/request_id, idempotent: true}, output: {max_bytes: 2KiB}, limit: {calls: 1, per: 1m, by: [tenant]}}\n" +
		"  - {id: get, decision: allow, methods: [resources/read], tenants: [a], read_only: true}\n"
	compiled, err := policy.Compile("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.ParseCompiled("p.yaml", []byte(text), compiled)
	if err != nil {
		t.Fatal(err)
	}
	plain := mustParse(t, text)
	read := ask(t, "resources/read", "x:y", `{"uri":"x:y"}`)
	read.Tenant = "a"
	for _, r := range []policy.Request{call(t, "pay", `{}`), call(t, "other", `{}`), read} {
		if diff := cmp.Diff(plain.Terms(r), p.Terms(r)); diff != "" {
			t.Errorf("%s (-plain +compiled)\n%s", r.Tool, diff)
		}
		if diff := cmp.Diff(plain.Judge(r).Limits(), p.Judge(r).Limits()); diff != "" {
			t.Errorf("%s (-plain +compiled)\n%s", r.Tool, diff)
		}
		if a, b := outcome(plain, r), outcome(p, r); a != b {
			t.Errorf("%s: %s becomes %s", r.Tool, a, b)
		}
	}
	if got := plain.Terms(call(t, "pay", `{}`)); got.Key != policy.MetaKey || !got.Idempotent || got.Output != (output.Rule{MaxBytes: 2048, Control: output.Mark}) || !p.BatchedReads() {
		t.Errorf("got %+v", got)
	}
}

func TestRequire(t *testing.T) {
	const (
		reads = `  - {id: reads, decision: allow, tools: ["get_*"], read_only: true}` + "\n"
		pays  = `  - {id: pays, decision: allow, tools: [pay], mutation: {key: request_id}}` + "\n"
		rest  = `  - {id: rest, decision: allow, tools: ["*"]}` + "\n"
	)
	for _, tc := range []struct {
		name, file, tool, want string
		visible                bool
	}{
		{"a read", "require: [key]\nrules:\n" + reads, "get_x", "allow by reads", true},
		{"a key", "require: [key]\nrules:\n" + pays, "pay", "allow by pays", true},
		{"no key", "require: [key]\nrules:\n" + pays + rest, "drop", "deny by require", false},
		{"by default", "default: allow\nrequire: [key]\n", "drop", "deny by require", false},
		{"a deny is told first", "require: [key]\nrules:\n" + rest + "  - {id: no, decision: deny, tools: [drop], args: {x: {equals: 1}}}\n", "drop", "deny by require", false},
		{"a read, and verification is required", "require: [verify]\nrules:\n" + reads, "get_x", "allow by reads", true},
		{"a key, and verification is required", "require: [key, verify]\nrules:\n" + pays, "pay", "deny by require", false},
		{"observed", "mode: observe\nrequire: [key]\nrules:\n" + rest, "drop", "allow by default, observed deny by require", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := mustParse(t, "version: 2\n"+tc.file)
			if got := outcome(p, call(t, tc.tool, `{}`)); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if p.Visible(tc.tool) != tc.visible {
				t.Errorf("visible: %v", !tc.visible)
			}
		})
	}
}

// TestRequireIsForCallsThatTheGateCarriesOut: neither what a hook asks about nor another method has a key.
func TestRequireIsForCallsThatTheGateCarriesOut(t *testing.T) {
	p := mustParse(t, "version: 2\ndefault: allow\nrequire: [key, verify]\n")
	hook := call(t, "Bash", `{}`)
	hook.Method = "hook/PreToolUse"
	for _, r := range []policy.Request{hook, ask(t, "prompts/get", "x", `{"name":"x"}`)} {
		if got := outcome(p, r); got != "allow by default" {
			t.Errorf("%s: got %s", r.Method, got)
		}
	}
}

// TestTermsOfLayers: what makes calls stricter counts whoever says so, what makes them milder only if nobody minds.
func TestTermsOfLayers(t *testing.T) {
	layer := func(level policy.Level, trusted bool, text string) policy.Layer {
		return policy.Layer{Policy: mustParse(t, "version: 2\ndefault: allow\n"+text), Level: level, Trusted: trusted}
	}
	batched, durable := "ledger: {reads: batched}\n", "ledger: {reads: durable}\n"
	for _, tc := range []struct {
		name   string
		layers []policy.Layer
		want   bool
	}{
		{"nobody says so", []policy.Layer{layer(policy.User, false, "")}, false},
		{"one says so", []policy.Layer{layer(policy.User, false, batched), layer(policy.Managed, false, "ledger: required\n")}, true},
		{"the machine minds", []policy.Layer{layer(policy.User, false, batched), layer(policy.Managed, false, durable)}, false},
		{"the user minds", []policy.Layer{layer(policy.Managed, false, batched), layer(policy.User, false, durable)}, false},
		{"a repository says so", []policy.Layer{layer(policy.Project, false, batched)}, false},
		{"a trusted one does", []policy.Layer{layer(policy.Project, true, batched)}, true},
	} {
		if got := policy.Combine(tc.layers...).BatchedReads(); got != tc.want {
			t.Errorf("%s: got %v", tc.name, got)
		}
	}
	p := policy.Combine(layer(policy.User, false, "output: {max_bytes: 5}\n"), layer(policy.Project, false, "output: {secrets: mask}\nrequire: [key]\n"))
	if got, want := p.Terms(call(t, "x", `{}`)).Output, (output.Rule{MaxBytes: 5, Secrets: true}); got != want {
		t.Errorf("output: got %+v, want %+v", got, want)
	}
	if got := outcome(p, call(t, "x", `{}`)); got != "deny by require" {
		t.Errorf("what a repository requires: got %s", got)
	}
	if (*policy.Policy)(nil).BatchedReads() || mustParse(t, `{"version":1}`).BatchedReads() {
		t.Error("no file says that reads are batched")
	}
}

func TestLedgerOfAFile(t *testing.T) {
	for text, want := range map[string]struct{ bestEffort, batched bool }{
		"ledger: best_effort":                            {true, false},
		"ledger: required":                               {},
		"ledger: {required: false}":                      {true, false},
		"ledger: {required: true, reads: batched}":       {false, true},
		"ledger: {reads: durable}":                       {},
		"ledger: {required: false, reads: batched}":      {true, true},
		"mode: observe\nledger: {reads: batched}":        {false, true},
		"ledger: {\"reads\": \"batched\"}\ndefault: ask": {false, true},
	} {
		p := mustParse(t, "version: 2\n"+text+"\n")
		if p.BestEffort() != want.bestEffort || p.BatchedReads() != want.batched {
			t.Errorf("%s: best effort %v, batched %v", text, p.BestEffort(), p.BatchedReads())
		}
	}
}

// TestLimitsApart: each principal, or tool, has a count of its own where the rule says so, and cannot take another's name.
func TestLimitsApart(t *testing.T) {
	bucket := func(by, principal, tenant, tool, method string) string {
		p := mustParse(t, rules("deny", `id: r, decision: allow, methods: [tools/call, resources/read], limit: {calls: 3, per: 1m`+by+`}`))
		r := policy.Request{Principal: principal, Tenant: tenant, Tool: tool, Method: method}
		limits := p.Judge(r).Limits()
		if len(limits) != 1 || limits[0].Rule != "r" || limits[0].Per != time.Minute {
			t.Fatalf("got %+v", limits)
		}
		return limits[0].Bucket
	}
	const both = ", by: [principal, tool]"
	for _, tc := range []struct {
		name, a, b string
		same       bool
	}{
		{"one for all", bucket("", "a", "t", "x", "tools/call"), bucket("", "b", "u", "y", "tools/call"), true},
		{"by principal", bucket(", by: [principal]", "a", "t", "x", "tools/call"), bucket(", by: [principal]", "b", "t", "x", "tools/call"), false},
		{"by principal, whatever the tool", bucket(", by: [principal]", "a", "t", "x", "tools/call"), bucket(", by: [principal]", "a", "u", "y", "tools/call"), true},
		{"by tenant", bucket(", by: [tenant]", "a", "t", "x", "tools/call"), bucket(", by: [tenant]", "a", "u", "x", "tools/call"), false},
		{"by tool", bucket(", by: [tool]", "a", "t", "x", "tools/call"), bucket(", by: [tool]", "a", "t", "y", "tools/call"), false},
		{"in any order", bucket(both, "a", "t", "x", "tools/call"), bucket(", by: [tool, principal]", "a", "t", "x", "tools/call"), true},
		{"a name made of two", bucket(both, "a", "t", "x", "tools/call"), bucket(both, "a 1 x\ntool", "t", "", "tools/call"), false},
		{"URIs that are thought up", bucket(both, "a", "t", "x:1", "resources/read"), bucket(both, "a", "t", "x:2", "resources/read"), true},
	} {
		if (tc.a == tc.b) != tc.same {
			t.Errorf("%s: %q and %q", tc.name, tc.a, tc.b)
		}
	}
}

func TestTenants(t *testing.T) {
	p := mustParse(t, rules("deny", `id: red, decision: allow, tenants: ["red-*"]`, `id: no, decision: deny, tenants: [red-x], tools: [t]`))
	for tenant, want := range map[string]string{"red-a": "allow by red", "red-x": "deny by no", "blue": "deny by default", "": "deny by default"} {
		r := call(t, "t", `{}`)
		r.Tenant = tenant
		if got := outcome(p, r); got != want {
			t.Errorf("%q: got %s, want %s", tenant, got, want)
		}
	}
}

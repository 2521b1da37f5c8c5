package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/policy"
)

// layer is a layer with the text of its policy, in which rules are in flow style.
func layer(t testing.TB, level policy.Level, text string) policy.Layer {
	return policy.Layer{Policy: mustParse(t, text), Level: level}
}

func trusted(l policy.Layer) policy.Layer {
	l.Trusted = true
	return l
}

func TestCombine(t *testing.T) {
	const allowAll = `id: all, decision: allow`
	user := func(text string) policy.Layer { return layer(t, policy.User, text) }
	project := func(text string) policy.Layer { return layer(t, policy.Project, text) }
	managed := func(text string) policy.Layer { return layer(t, policy.Managed, text) }
	starter := policy.Layer{Policy: policy.StarterPack(), Level: policy.Starter}
	for _, tc := range []struct {
		name    string
		layers  []policy.Layer
		command string
		want    string
	}{
		{"nothing at all", nil, "ls", "deny by default"},
		{"only the starter pack", []policy.Layer{starter}, "ls", "allow by default"},
		{"deny beats allow across files", []policy.Layer{user(rules("allow", allowAll)), managed(rules("allow", noCurl))}, "curl x", "deny by no-curl"},
		{"the strictest default", []policy.Layer{user(rules("ask", lists)), managed(rules("allow", noCurl)), starter}, "make", "ask by default"},
		{"a rule of another file lifts the default", []policy.Layer{user(rules("deny", lists)), managed(rules("allow", noCurl))}, "ls", "allow by lists"},
		{"two files cover a call together", []policy.Layer{user(rules("deny", lists)), managed(rules("deny", status))}, "ls && git status", "allow by lists"},

		{"a project's deny counts", []policy.Layer{starter, project(rules("allow", noCurl))}, "curl x", "deny by no-curl"},
		{"a project's ask counts", []policy.Layer{starter, project(rules("allow", askNpm))}, "npm publish", "ask by npm"},
		{"a project's allow does not", []policy.Layer{user(rules("deny", status)), project(rules("deny", allowAll))}, "ls", "deny by default"},
		{"a trusted one does", []policy.Layer{user(rules("deny", status)), trusted(project(rules("deny", allowAll)))}, "ls", "allow by all"},
		{"a project's default does not", []policy.Layer{starter, project(rules("deny", noCurl))}, "ls", "allow by default"},
		{"a trusted one's does", []policy.Layer{starter, trusted(project(rules("deny", noCurl)))}, "ls", "deny by default"},
		{"a project's ask does not lift a default", []policy.Layer{user(rules("deny", status)), project(rules("ask", `id: x, decision: ask`))}, "ls", "deny by default"},
		{"nor does the starter pack's", []policy.Layer{user(rules("deny", status)), starter}, "npm publish", "deny by default"},
		{"a project's observed deny is observed", []policy.Layer{starter, project(rules("allow", noCurl+", mode: observe"))}, "curl x", "allow by default, observed deny by no-curl"},

		{"the starter pack applies beside a file", []policy.Layer{starter, user(rules("allow", noCurl))}, "git push -f", "deny by force-push"},
		{"it is off", []policy.Layer{starter, user("starter: off\n" + rules("allow", noCurl))}, "git push -f", "allow by default"},
		{"a project cannot switch it off", []policy.Layer{starter, project("starter: off\n" + rules("allow", noCurl))}, "git push -f", "deny by force-push"},
		{"a trusted one can", []policy.Layer{starter, trusted(project("starter: off\n" + rules("allow", noCurl)))}, "git push -f", "allow by default"},
		{"on beats off", []policy.Layer{starter, user("starter: off\n" + rules("allow", noCurl)), managed("starter: on\n" + rules("allow", askNpm))}, "git push -f", "deny by force-push"},
		{"an observed file leaves the others enforced", []policy.Layer{user("mode: observe\n" + rules("deny", noCurl)), starter}, "make", "allow by default, observed deny by default"},

		{"ids apart", []policy.Layer{user(rules("allow", noCurl)), managed(rules("allow", `id: no-curl, decision: deny, runs: [wget]`))}, "curl x", "deny by user:no-curl"},
		{"ids apart, the other", []policy.Layer{user(rules("allow", noCurl)), managed(rules("allow", `id: no-curl, decision: deny, runs: [wget]`))}, "wget x", "deny by managed:no-curl"},
		{"the machine's rule is told first", []policy.Layer{user(rules("allow", noCurl)), managed(rules("allow", `id: net, decision: deny, runs: [curl]`))}, "curl x", "deny by net"},

		{"version 1 allows", []policy.Layer{user(`{"version":1,"allow":["Bash"]}`), starter}, "make", "allow by allow"},
		{"version 1 denies", []policy.Layer{user(`{"version":1,"allow":["Bash"],"deny":["Bash"]}`), starter}, "make", "deny by deny"},
		{"version 1 does not list", []policy.Layer{user(`{"version":1,"allow":["B*"]}`), starter}, "make", "deny by default"},
		{"version 1 has rules for arguments", []policy.Layer{user(`{"version":1,"allow":["Bash"],"arg_rules":{"Bash":{"command":{"max_len":3}}}}`), starter}, "make", "deny by arg_rules.Bash.command"},
		{"version 1 of a project", []policy.Layer{project(`{"version":1,"allow":["Bash"],"deny":["Read"]}`), starter}, "make", "allow by default"},

		{"a layer without a policy", []policy.Layer{{Level: policy.User}, starter}, "ls", "deny by default"},
		{"a policy that is nothing", []policy.Layer{{Level: policy.User, Policy: &policy.Policy{}}, starter}, "ls", "deny by default"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			layers := slices.Clone(tc.layers)
			for range 2 {
				p := policy.Combine(layers...)
				if got := outcome(p, shell(tc.command)); got != tc.want {
					t.Errorf("%s: got %s, want %s", tc.command, got, tc.want)
				}
				slices.Reverse(layers)
			}
		})
	}
}

func TestCombineLeavesLayersAsTheyWere(t *testing.T) {
	user := layer(t, policy.User, rules("allow", noCurl))
	layers := []policy.Layer{{Policy: policy.StarterPack(), Level: policy.Starter}, user, layer(t, policy.Managed, "starter: off\n"+rules("allow", noCurl))}
	policy.Combine(layers...)
	if got := outcome(user.Policy, shell("curl x")); got != "deny by no-curl" {
		t.Errorf("the user's policy alone: got %s", got)
	}
	if len(layers) != 3 || layers[0].Level != policy.Starter {
		t.Errorf("got %v", layers)
	}
}

func TestCombinedDigestIsOfAllLayers(t *testing.T) {
	user, managed := layer(t, policy.User, rules("allow", noCurl)), layer(t, policy.Managed, rules("allow", askNpm))
	one := policy.Combine(user, managed).Digest()
	for name, other := range map[string]*policy.Policy{
		"fewer":      policy.Combine(user),
		"other text": policy.Combine(layer(t, policy.User, rules("allow", noCurl)+" "), managed),
		"other rank": policy.Combine(policy.Layer{Policy: user.Policy, Level: policy.Named}, managed),
		"trusted":    policy.Combine(trusted(user), managed),
	} {
		if other.Digest() == one || len(other.Digest()) != 64 {
			t.Errorf("%s: digest %s, and of both it is %s", name, other.Digest(), one)
		}
	}
	if policy.Combine(managed, user).Digest() != one {
		t.Error("the order of the layers changes the digest")
	}
}

func TestCombinedSettings(t *testing.T) {
	best, required := "ledger: best_effort\n"+rules("allow", noCurl), "ledger: required\n"+rules("allow", noCurl)
	declares := "tools: {mcp__x: {effects: {writes: [p]}}}\n" + rules("allow", noCurl)
	for _, tc := range []struct {
		name       string
		layers     []policy.Layer
		bestEffort bool
		declared   bool
	}{
		{"a user's", []policy.Layer{layer(t, policy.User, best)}, true, false},
		{"required by the machine", []policy.Layer{layer(t, policy.User, best), layer(t, policy.Managed, required)}, false, false},
		{"a project's", []policy.Layer{layer(t, policy.Project, best), layer(t, policy.Project, declares)}, false, false},
		{"a trusted project's", []policy.Layer{trusted(layer(t, policy.Project, best)), trusted(layer(t, policy.Project, declares))}, true, true},
	} {
		p := policy.Combine(tc.layers...)
		if p.BestEffort() != tc.bestEffort || (p.Declares("mcp__x") != nil) != tc.declared {
			t.Errorf("%s: got best effort %v, declared %v", tc.name, p.BestEffort(), p.Declares("mcp__x"))
		}
	}
}

// guarded is the guard of some files, with a policy that allows everything.
func guarded(t testing.TB, file string) *policy.Policy {
	own := policy.Own{Files: []string{"/work/app/.sallyport/policy.yaml", "/odd/[x]*.yaml"}, Folders: []string{"/home/u/.local/state/sallyport", "/work/app/.ledger/"}}
	return policy.Combine(
		policy.Layer{Policy: policy.Guard(own), Level: policy.BuiltIn},
		layer(t, policy.Named, file),
	)
}

func TestGuard(t *testing.T) {
	const lifts = `version: 2
default: allow
mode: observe
starter: off
ledger: best_effort
rules:
  - {id: all, decision: allow, skip_prompt: true}
  - {id: self-protection, decision: allow, writes: ["**"], runs: ["*"], skip_prompt: true}
`
	for _, file := range []string{lifts, strings.Replace(lifts, "mode: observe", "mode: enforce", 1)} {
		holdToGuard(t, guarded(t, file))
	}
}

func holdToGuard(t *testing.T, p *policy.Policy) {
	for rule, commands := range map[string][]string{
		"built-in:self-protection": {
			"echo > .sallyport/policy.yaml", "rm -rf .sallyport", "rm ~/.local/state/sallyport/ledger.jsonl", "rm -rf ~/.local", "rm -rf ~", "rm -rf /", "mv .ledger x",
			"cp x '/odd/[x]*.yaml'", "sed -i s/a/b/ ~/.local/state/sallyport/trust.json", "tee -a .ledger/ledger.jsonl", "cd .sallyport && truncate -s 0 policy.yaml", "ln -sf x .sallyport/policy.yaml",
		},
		"operators-commands": {
			"sallyport trust", "sallyport trust .", "./bin/sallyport release x", "sudo sallyport pin a", "bash -c 'sallyport install claude'", "sallyport uninstall codex",
			"sallyport claims resolve x", "sallyport approvals approve 1", "sallyport approvals deny 1", "sallyport rehearse plan.yaml", "sallyport run plan.yaml --abandon --reason x", "env A=1 sallyport trust", "true && /usr/local/bin/sallyport trust", "echo y | sallyport trust",
			"sallyport install claude --dry-run=false", "sallyport install --policy --dry-run", "sallyport install -- claude --dry-run", "sallyport install claude --dry-run $X",
			"sallyport install claude --dry-run && sallyport install claude", "sallyport trust --list x", "sallyport trust --remove --help", "sallyport trust --dry-run", "sallyport install $X --help",
		},
	} {
		for _, command := range commands {
			if d, why := p.Evaluate(shell(command)); d != policy.Deny || why.Rule != rule {
				t.Errorf("%q: got %v by %s, want deny by %s", command, d, why.Rule, rule)
			}
		}
	}
	for _, command := range []string{
		"cat .sallyport/policy.yaml", "sallyport verify", "sallyport policy check x", "sallyport doctor", "echo sallyport trust", "rm -rf build", "ls ~/.local/state/sallyport", "git commit -m 'sallyport trust'",
		`eval "$X"`, "sallyport claims", "rm -rf .ledgers", "touch .sallyport/notes.md", "sallyport approvals list", "sallyport release --list", "sallyport run plan.yaml", "sallyport run plan.yaml --resume",
		"sallyport install claude --dry-run", "sallyport install claude --scope project --dry-run", "sallyport uninstall codex --dry-run", "sallyport install --help", "sallyport trust --list",
		"sallyport session start -h",
	} {
		if d, why := p.Evaluate(shell(command)); d != policy.Allow {
			t.Errorf("%q: got %v by %s: %s", command, d, why.Rule, why.Reason)
		}
	}
	if d, _ := p.Evaluate(edit("/home/u/.local/state/SALLYPORT/trust.json")); d != policy.Deny {
		t.Errorf("a write in another case: got %v", d)
	}
	if d, _ := p.Evaluate(shell(`python3 -c 'os.system("sallyport trust")'`)); d == policy.Allow {
		t.Error("code that types an operator's command is allowed")
	}
}

// TestGuardNamesTheBetterRule: of a folder whose loss would take sallyport's files along, a file's rule says what is wrong.
func TestGuardNamesTheBetterRule(t *testing.T) {
	const wipe = `id: wipe, decision: deny, writes: ["~"], reason: "Not the home folder."`
	for _, tc := range []struct{ command, rule, reason string }{
		{"rm -rf ~", "wipe", `Not the home folder. Here: changing or deleting all of "/home/u"`},
		{"rm -rf ~/.local", "self-protection", `this would take sallyport's own files along: changing or deleting all of "/home/u/.local"`},
		{"rm -rf ~/.local/state/sallyport", "self-protection",
			`this belongs to sallyport itself, and no tool may change it; a person can, outside of the agent. Here: changing or deleting all of "/home/u/.local/state/sallyport"`},
		{"rm -rf ~ .ledger", "wipe", `Not the home folder. Here: changing or deleting all of "/home/u"`},
	} {
		d, why := guarded(t, rules("allow", wipe)).Evaluate(shell(tc.command))
		if d != policy.Deny || why.Rule != tc.rule || why.Reason != tc.reason {
			t.Errorf("%q: got %v by %s: %s", tc.command, d, why.Rule, why.Reason)
		}
	}
}

func TestGuardFailsClosed(t *testing.T) {
	p := policy.Combine(policy.Layer{Policy: policy.Guard(policy.Own{Files: []string{"/a\x00b"}}), Level: policy.BuiltIn}, layer(t, policy.User, rules("allow", noCurl)))
	if d, why := p.Evaluate(shell("ls")); d != policy.Deny || why.Reason != `sallyport cannot protect what is its own: "/a\x00b"` {
		t.Errorf("got %v, %+v", d, why)
	}
}

func TestExplain(t *testing.T) {
	p := policy.Combine(
		layer(t, policy.User, rules("deny", noCurl, lists, `id: other, decision: deny, tools: [Read]`, `id: args, decision: ask, args: {command: {equals: x}}`,
			`id: when, decision: allow, when: args.a.b == 1`, `id: host, decision: deny, hosts: [codex]`, `id: seen, decision: deny, mode: observe, runs: [ls]`, `id: env, decision: deny, reads: ["**/.env"]`)),
		policy.Layer{Policy: mustParse(t, `{"version":1,"allow":["Bash"],"arg_rules":{"Bash":{"command":{"max_len":3}}}}`), Level: policy.Managed},
	)
	var got []string
	for _, s := range p.Explain(shell(`ls > a; eval "$X"`)) {
		got = append(got, s.Rule+": "+string(s.Matches)+": "+s.Note)
	}
	want := []string{
		"allow: yes: it speaks of all that such a call does",
		`arg_rules.Bash.command: yes: argument "command" is 17 characters long; the policy allows at most 3`,
		"no-curl: maybe: what this call does cannot be read: code that is known only when it runs; the policy has rules about commands. Write the code out, or save it in a file, read that, and run it then",
		"other: no: it speaks of other tools",
		`args: no: argument "command" is not what it demands`,
		"when: no: its condition cannot be evaluated, which counts as not matching",
		"host: no: it speaks of other hosts",
		`seen: yes: rule seen denies "ls"`,
		"env: no: the call does nothing that it speaks of",
	}
	got = slices.DeleteFunc(got, func(s string) bool { return len(s) > 6 && s[:6] == "lists:" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, nothing := range []*policy.Policy{nil, {}} {
		if steps := nothing.Explain(shell("ls")); steps != nil {
			t.Errorf("got %v", steps)
		}
	}
}

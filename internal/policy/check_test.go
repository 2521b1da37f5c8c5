package policy_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/policy"
)

func TestCheckWarns(t *testing.T) {
	known := []policy.KnownTool{{Name: "write_note", Args: []string{"request_id", "text"}}, {Name: "Bash", Args: []string{"command"}}, {Name: "idle"}}
	known = append(known, policy.KnownTool{Name: "Read", Args: []string{"file_path"}, Effects: []string{"reads"}},
		policy.KnownTool{Name: "Write", AnyArgs: true, Effects: []string{"writes"}}, policy.KnownTool{Name: "TodoWrite", AnyArgs: true, Effects: []string{}})
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", rules("deny", noCurl, lists, secrets), nil},
		{"no rules", "version: 2\ndefault: deny\n", []string{"1:1 the policy has no rules"}},
		{"a default that was forgotten", "version: 2\nrules:\n  - {id: no-curl, decision: deny, runs: [curl]}\n",
			[]string{`1:1 nothing is allowed: no rule allows anything, and a default that is left out denies (write "default": "allow" if all else may run)`}},
		{"a tool that is nearly known", rules("allow", `id: a, decision: deny, tools: [Bsh, mcp__x]`), []string{`4:37 no known tool is called "Bsh" (did you mean "Bash"?)`}},
		{"an argument that no tool has", rules("allow", `id: a, decision: deny, tools: [write_note], args: {txt: {max_len: 5}, request_id: {equals: x}}`),
			[]string{`4:57 no argument of the rule's tools is called "txt" (did you mean "text"?)`}},
		{"an argument of an unknown tool", rules("allow", `id: a, decision: deny, tools: ["mcp__*"], args: {txt: {max_len: 5}}`), nil},
		{"an argument of a tool without any", rules("allow", `id: a, decision: deny, tools: [idle], args: {x: {max_len: 5}}`),
			[]string{`4:51 no argument of the rule's tools is called "x" (they have no arguments)`}},
		{"an argument in a condition", rules("allow", `id: a, decision: deny, tools: [Bash], when: args.comand == 'x'`),
			[]string{`4:44 no argument of the rule's tools is called "comand" (did you mean "command"?)`}},
		{"a limit that is only observed", rules("deny", `id: a, decision: allow, tools: [Bash], mode: observe, limit: {calls: 1, per: 1m}`), []string{`4:60 rule "a": a limit is not enforced in mode observe`}},
		{"an allow rule under a default that allows", rules("allow", lists), []string{`4:5 rule "lists" changes nothing: the default allows (with "default": "deny" it says what is allowed)`}},
		{"a rule that allows all", rules("deny", `id: a, decision: allow`), []string{`4:5 rule "a" allows every call of every tool (name its "tools", or what it allows: "runs", "reads", "writes")`}},
		{"a mutation and a reading", rules("deny", `id: a, decision: allow, tools: [write_note], mutation: {key: request_id}`, `id: b, decision: allow, tools: [Read], read_only: true`), nil},
		{"terms under a default that allows", rules("allow", `id: a, decision: allow, tools: [write_note], mutation: {key: request_id}`, `id: b, decision: allow, tools: [Read], output: {control: mark}`), nil},
		{"the same calls with other terms", rules("deny", `id: a, decision: allow, tools: [Read], read_only: true`, `id: b, decision: allow, tools: [Read, Write]`), nil},
		{"a method that is nearly known", rules("deny", `id: a, decision: allow, methods: [resource/read]`), []string{`4:40 no known method is called "resource/read" (did you mean "resources/read"?)`}},
		{"a param that no request has", rules("deny", `id: a, decision: allow, methods: [resources/read], args: {url: {matches: "x.*"}}`), []string{`4:64 no request of the rule's methods has "url" (did you mean "uri"?)`}},
		{"a param of a method that is not known", rules("deny", `id: a, decision: allow, methods: [resources/read, x/y], args: {url: {matches: "x.*"}}`), nil},
		{"methods are no tools", rules("deny", `id: a, decision: allow, methods: [prompts/get]`), nil},
		{"shadowed by a rule for all methods", rules("deny", `id: a, decision: allow, methods: [prompts/get]`, `id: b, decision: deny, methods: ["prompts/*"]`), []string{shadow("4:5", "a", "b", "denies")}},
		{"not by a rule for calls of tools", rules("deny", `id: a, decision: allow, methods: [prompts/get]`, `id: b, decision: deny, tools: [Bash]`), nil},
		{"shadowed by a rule that says of no method", rules("deny", `id: a, decision: allow, methods: [prompts/get]`, `id: b, decision: deny`), []string{shadow("4:5", "a", "b", "denies")}},
		{"output that is only observed", "version: 2\ndefault: deny\nmode: observe\noutput: {control: mark}\nrules:\n  - {id: a, decision: allow, tools: [Read]}\n", []string{`4:1 "output" is not enforced in mode observe`}},
		{"where a tool should step back", "version: 2\ndefault: deny\nrequire: [key]\nrules:\n  - {id: a, decision: allow, tools: [Read], read_only: true}\n  - {id: b, decision: allow, tools: [Write]}\n  - {id: c, decision: allow, tools: [write_note], mutation: {key: request_id}}\n",
			[]string{`6:5 rule "b": "require" denies its calls, since it names no key (write "mutation": {"key": "request_id"}, or let its tools step back to those that only read, and say "read_only": true)`}},
		{"where another rule says it", "version: 2\ndefault: deny\nrequire: [key]\nrules:\n  - {id: a, decision: allow, tools: [Read, Write], principals: [x]}\n  - {id: b, decision: allow, tools: [Read, Write], read_only: true}\n", []string{shadow("5:5", "a", "b", "allows")}},
		{"what is not verified", "version: 2\nrequire: [verify]\nrules:\n  - {id: c, decision: allow, tools: [write_note], mutation: {key: request_id}}\n",
			[]string{`4:5 rule "c": "require" denies its calls, since it does not say how they are verified (write "verify": {"observe": …, "expect": …}, or let its tools step back to those that only read, and say "read_only": true)`}},
		{"what only the default allows", "version: 2\ndefault: allow\nrequire: [key]\nrules:\n  - {id: c, decision: allow, tools: [write_note], mutation: {key: request_id}}\n",
			[]string{`2:1 "require" denies what only the default allows (name the tools that only read in a rule with "decision": "allow" and "read_only": true)`}},
		{"what only the default asks about", "version: 2\ndefault: ask\nrequire: [key]\nrules:\n  - {id: c, decision: allow, tools: [write_note], mutation: {key: request_id}}\n",
			[]string{`2:1 "require" denies what only the default asks about (name the tools that only read in a rule with "decision": "allow" and "read_only": true)`}},
		{"what is verified only in content", "version: 2\nrequire: [verify]\nrules:\n  - {id: c, decision: allow, tools: [Write], verify: content}\n",
			[]string{`4:5 rule "c": "require" denies its calls, since it does not say how they are verified (write "verify": {"observe": …, "expect": …}, or let its tools step back to those that only read, and say "read_only": true)`}},
		{"what is asked about without a key", "version: 2\nrequire: [key]\nrules:\n  - {id: c, decision: ask, tools: [Write]}\n", []string{
			`1:1 nothing is allowed: no rule allows anything, and a default that is left out denies (write "default": "allow" if all else may run)`,
			`4:5 rule "c": "require" denies its calls, since it names no key (write "mutation": {"key": "request_id"}, or let its tools step back to those that only read, and say "read_only": true)`}},
		{"a key and a verification of two rules", "version: 2\nrequire: [key, verify]\nrules:\n  - {" + looks + "}\n  - {" + saves + "}\n  - {id: k, decision: allow, tools: [\"save*\"], mutation: {key: id}}\n", nil},
		{"verified, and a retry is known", rules("deny", looks, sends), nil},
		{"verified, and a retry is not known", rules("deny", looks, saves),
			[]string{`5:52 rule "saves": a retry of its calls is not known, so that one may be done twice whose answer was lost (write "mutation": {"key": "request_id"}, or "sallyport/request_id" for that member of _meta)`}},
		{"verified, and the tool has a key of its own", rules("deny", looks, `id: a, decision: allow, tools: [write_note], verify: {observe: {tool: look}, expect: "observation.text == args.text"}`), nil},
		{"verified by an argument that no tool has", rules("deny", looks, `id: a, decision: allow, tools: [write_note], verify: {observe: {tool: look}, expect: "observation.text == args.txt"}`),
			[]string{`5:83 no argument of the rule's tools is called "txt" (did you mean "text"?)`}},
		{"verified by a tool that is nearly known", rules("deny", `id: l, decision: allow, tools: ["R*"], read_only: true`, `id: a, decision: allow, tools: [write_note], verify: {observe: {tool: Raed}, expect: observation.ok}`),
			[]string{`5:76 no known tool is called "Raed" (did you mean "Read"?)`}},
		{"verified without a look", rules("deny", looks, `id: a, decision: allow, tools: [write_note], verify: {observe: {tool: look}, expect: "result.ok"}`),
			[]string{`5:91 rule "a": the condition does not look at what was observed (compare "observation" with "args", "call" or "result")`}},
		{"verified in mode observe", rules("deny", looks, sends+", mode: observe"), []string{`5:73 rule "sends": nothing is verified in mode observe`}},
		{"verified by another call, in hooks", rules("deny", looks, sends+", hosts: [claude]"), []string{`5:73 rule "sends": calls of hooks are not verified by another call (write "verify": "content" for what they write into files)`}},
		{"verified by another call, in events of hooks", rules("deny", looks, sends+`, methods: ["hook/*"]`), []string{`5:73 rule "sends": calls of hooks are not verified by another call (write "verify": "content" for what they write into files)`}},
		{"the content of what is written", rules("deny", `id: a, decision: allow, tools: [Write], verify: content`), nil},
		{"the content of what is read", rules("deny", `id: a, decision: allow, tools: [Read], verify: content`), []string{`4:45 rule "a": calls of its tools write no file whose content could be verified`}},
		{"an ask with terms beside an ask", rules("deny", asks, hastily), nil},
		{"an ask beside one with terms", rules("deny", hastily, asks), []string{shadow("5:5", "asks", "hastily", "asks about")}},
		{"a verification under an ask", rules("deny", looks, asks, sends+", principals: [x]", `id: b, decision: allow, tools: ["save*"], limit: {calls: 1, per: 1m}`), nil},
		{"nothing under an ask", rules("deny", asks, `id: b, decision: allow, tools: [save]`), []string{shadow("5:5", "b", "asks", "asks about")}},
		{"shadowed by a deny rule for all", rules("deny", `id: a, decision: allow, tools: [Bash]`, `id: b, decision: deny, tools: ["B*", Bash]`), []string{shadow("4:5", "a", "b", "denies")}},
		{"shadowed in part", rules("deny", `id: a, decision: allow, tools: [Bash, Read]`, `id: b, decision: deny, tools: [Bash]`), nil},
		{"shadowed only sometimes", rules("deny", `id: a, decision: allow, tools: [Bash]`, `id: b, decision: deny, tools: [Bash], when: host == 'x'`), nil},
		{"shadowed by a wider command", rules("deny", `id: a, decision: allow, runs: ["git push origin *"]`, `id: b, decision: deny, runs: ["git push *"]`), []string{shadow("4:5", "a", "b", "denies")}},
		{"not by a narrower one", rules("deny", `id: a, decision: allow, runs: ["git push *"]`, `id: b, decision: deny, runs: ["git push --force *"]`), nil},
		{"shadowed by a wider folder", rules("allow", `id: a, decision: ask, writes: ["~/.ssh/config"]`, `id: b, decision: deny, writes: ["~/.ssh/**"]`), []string{shadow("4:5", "a", "b", "denies")}},
		{"the second of two that are alike", rules("allow", noCurl, `id: b, decision: deny, runs: ["curl *"]`), []string{shadow("5:5", "b", "no-curl", "denies")}},
		{"not by one that is observed", rules("allow", `id: a, decision: ask, runs: [curl]`, `id: b, decision: deny, runs: [curl], mode: observe`), nil},
		{"a tool of a server's", rules("allow", `id: a, decision: deny, tools: [create_note]`), nil},
		{"a tool with two letters swapped", rules("allow", `id: a, decision: deny, tools: [Bsah]`), []string{`4:37 no known tool is called "Bsah" (did you mean "Bash"?)`}},
		{"an argument of a tool whose arguments are not known", rules("allow", `id: a, decision: deny, tools: [Write], args: {x: {max_len: 5}}`), nil},
		{"commands of a tool that runs none", rules("allow", `id: a, decision: deny, tools: [Read], runs: ["rm *"]`),
			[]string{`4:44 rule "a" can never decide: calls of its tools have nothing for "runs" (known there: reads)`}},
		{"writes of a tool that only reads", rules("deny", `id: a, decision: allow, tools: [Read], writes: ["**/x"]`),
			[]string{`4:45 rule "a" can never decide: calls of its tools have nothing for "writes" (known there: reads)`}},
		{"writes of a tool that only reads, beside its reads", rules("allow", `id: a, decision: deny, tools: [Read], reads: ["**/x"], writes: ["**/x"]`),
			[]string{`4:61 rule "a": "writes" has no effect: calls of its tools have nothing for it (known there: reads)`}},
		{"effects of a tool that has none", rules("allow", `id: a, decision: deny, tools: [TodoWrite], writes: ["**/x"]`),
			[]string{`4:49 rule "a" can never decide: calls of its tools have nothing for "writes" (they have no effects that a rule could name)`}},
		{"effects that one of the tools has", rules("allow", `id: a, decision: deny, tools: [Read, Write], reads: ["**/x"], writes: ["**/x"]`), nil},
		{"effects of a tool that can have any", rules("allow", `id: a, decision: deny, tools: [Read, Bash], runs: [rm], writes: ["**/x"]`), nil},
		{"effects of tools that are not known", rules("allow", `id: a, decision: deny, tools: [Read, Other], runs: [rm]`, `id: b, decision: deny, tools: ["Rea*"], runs: [rm]`), nil},
		{"effects that a declaration adds", "version: 2\ndefault: allow\ntools: {Read: {effects: {runs: [cmd]}}}\nrules:\n  - {id: a, decision: deny, tools: [Read], runs: [rm]}\n", nil},
		{"tools that Windsurf does not have", rules("allow", `id: a, decision: deny, hosts: [windsurf], tools: [Write, Edit]`), []string{
			`4:48 rule "a" can never decide: Windsurf has no such tools (its commands are Bash, its reads Read, its writes MultiEdit, and the tools of servers mcp__SERVER__TOOL)`}},
		{"tools that Windsurf has", rules("allow", `id: a, decision: deny, hosts: [windsurf], tools: [Bash]`, `id: b, decision: deny, hosts: [windsurf], tools: [Edit, mcp__x__y]`,
			`id: c, decision: deny, hosts: [windsurf], tools: ["Wr*"]`, `id: d, decision: deny, hosts: [windsurf, claude], tools: [Write]`), nil},
		{"a condition that never holds", rules("allow", `id: a, decision: deny, when: "false"`), []string{`4:29 rule "a" can never decide: its condition is always false (remove the rule, or say when it holds)`}},
		{"a condition that always holds", rules("deny", `id: a, decision: allow, tools: [Bash], when: "1 == 1"`), []string{`4:45 rule "a": its condition is always true (leave it out)`}},
		{"a pattern within a wider one", rules("deny", `id: a, decision: allow, tools: ["mcp__x__*"]`, `id: b, decision: deny, tools: ["mcp__*"]`), []string{shadow("4:5", "a", "b", "denies")}},
		{"a pattern within one of as many letters", rules("deny", `id: a, decision: allow, tools: ["B?s?"]`, `id: b, decision: deny, tools: ["B???"]`), []string{shadow("4:5", "a", "b", "denies")}},
		{"not within one of as many letters", rules("deny", `id: a, decision: allow, tools: ["B*h"]`, `id: b, decision: deny, tools: ["B?h"]`, `id: c, decision: deny, tools: ["B*h?"]`), nil},
		{"shadowed under the same condition", rules("deny", `id: a, decision: allow, tools: [Bash], when: host == 'x'`, `id: b, decision: deny, when: host == 'x'`), []string{shadow("4:5", "a", "b", "denies")}},
		{"not under another condition", rules("deny", `id: a, decision: allow, tools: [Bash], when: host == 'x'`, `id: b, decision: deny, when: host == 'y'`), nil},
		{"shadowed by a wider host", rules("allow", `id: a, decision: ask, connects: ["api.example.com", "example.com:8080"]`, `id: b, decision: deny, connects: ["*.example.com", example.com]`), []string{shadow("4:5", "a", "b", "denies")}},
		{"not by a host with a port", rules("allow", `id: a, decision: ask, connects: ["example.com"]`, `id: b, decision: deny, connects: ["example.com:443"]`), nil},
		{"version 1", `{"version":1,"allow":["write_note","Bash","Bsh"],"deny":["Bash"],"arg_rules":{"write_note":{"txt":{}},"idle":{"x":{}}}}`, []string{
			`1:36 tool "Bash" is denied as well, which wins (remove one of the two)`,
			`1:43 no known tool is called "Bsh" (did you mean "Bash"?)`,
			`1:93 no argument of the rule's tools is called "txt" (did you mean "text"?)`,
			`1:103 the rules for tool "idle" can never decide: it is not allowed`,
			`1:111 no argument of the rule's tools is called "x" (they have no arguments)`,
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, warnings, err := policy.Check("p", []byte(tc.text), known)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range warnings {
				line := fmt.Sprintf("%d:%d %s", w.Line, w.Col, w.Msg)
				if w.Hint != "" {
					line += " (" + w.Hint + ")"
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func shadow(place, rule, other, does string) string {
	return fmt.Sprintf(`%s rule %q can never decide: rule %q speaks of all its calls and %s them (remove it, or say in which calls they differ)`, place, rule, other, does)
}

func TestCheckGivesTheErrorOfParse(t *testing.T) {
	for _, tc := range slices.Concat(v2Errors, verifyErrors) {
		_, _, err := policy.Check("p.json", []byte(tc.text), nil)
		if err == nil || err.Error() != tc.want {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
}

package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/policy"
)

// v2 is a version 2 file with one rule in JSON, whose column is 24.
func v2(rule string) string { return `{"version":2,"rules":[ ` + rule + `]}` }

// demand is a rule that demands something of an argument.
func demand(of string) string { return v2(`{"id":"r","decision":"deny","args":{"x":` + of + `}}`) }

const toolsOfMethods = `name what a method is asked for under "args": {"uri": {"matches": "file:.*"}} or {"name": {"equals": "review"}}; for calls of tools write a rule of its own`

const ruleKeysKnown = `known here: id, decision, reason, mode, methods, tools, hosts, principals, tenants, args, when, runs, reads, writes, connects, spawns, limit, mutation, read_only, verify, approval, output, skip_prompt`

var v2Errors = []struct{ name, text, want, hint string }{
	// The file.
	{"unknown key", `{"version":2,"rule":[]}`, `p.json:1:14: unknown key "rule"`, `did you mean "rules"?`},
	{"unknown key far from all", `{"version":2,"allow":[]}`, `p.json:1:14: unknown key "allow"`, `known here: version, default, mode, starter, ledger, operator_token, require, output, tools, rules`},
	{"default", `{"version":2,"default":"denny"}`, `p.json:1:24: "default" is not one of deny, ask, allow`, `did you mean "deny"?`},
	{"default that is null", `{"version":2,"default":null}`, `p.json:1:24: "default" is not one of deny, ask, allow`, `write one of: deny, ask, allow`},
	{"mode", `{"version":2,"mode":"dry-run"}`, `p.json:1:21: "mode" is not one of enforce, observe`, `write one of: enforce, observe`},
	{"starter that is false", `{"version":2,"starter":false}`, `p.json:1:24: "starter" is not one of on, off`, `write off, not false`},
	{"operator's token in clear", `{"version":2,"operator_token":"hunter2"}`, `p.json:1:31: "operator_token" is not "sha256:" and 64 hexadecimal digits`, `printf %s TOKEN | sha256sum gives the digits; make the token long and random`},
	{"starter that is true", `{"version":2,"starter":true}`, `p.json:1:24: "starter" is not one of on, off`, `write on, not true`},
	{"ledger", `{"version":2,"ledger":"best-effort"}`, `p.json:1:23: "ledger" is not one of required, best_effort`, `did you mean "best_effort"?`},
	{"ledger key", `{"version":2,"ledger":{"dir":"x"}}`, `p.json:1:24: unknown ledger key "dir"`, `known here: required, reads`},
	{"ledger's reads", `{"version":2,"ledger":{"reads":"batch"}}`, `p.json:1:32: "reads" is not one of durable, batched`, `write one of: durable, batched`},
	{"ledger required by a word", `{"version":2,"ledger":{"required":"yes"}}`, `p.json:1:35: "required" is neither true nor false`, ``},
	{"empty ledger", `{"version":2,"ledger":{}}`, `p.json:1:23: "ledger" is empty`, `write {"required": true, "reads": "durable"}, or remove it`},
	{"require that is a word", `{"version":2,"require":"key"}`, `p.json:1:24: "require" is not a list`, `write a list, also of one: ["key"]`},
	{"require of what is not there", `{"version":2,"require":["keys"]}`, `p.json:1:25: nothing that could be required is called "keys"`, `did you mean "key"?`},
	{"empty output", `{"version":2,"output":{}}`, `p.json:1:23: "output" is empty`, `write what is asked of results: {"max_bytes": "1MiB", "control": "mark", "secrets": "mask"}`},
	{"output key", `{"version":2,"output":{"secret":"mask"}}`, `p.json:1:24: unknown output key "secret"`, `did you mean "secrets"?`},
	{"output's control", `{"version":2,"output":{"control":"strip"}}`, `p.json:1:34: "control" is not one of mark, remove`, `write one of: mark, remove`},
	{"output's secrets", `{"version":2,"output":{"secrets":true}}`, `p.json:1:34: "secrets" is not one of mask`, `write one of: mask`},
	{"output in decimal units", `{"version":2,"output":{"max_bytes":"1MB"}}`, `p.json:1:36: "max_bytes" is not a number of bytes from 1 to 1GiB`, `write "64KiB", "1MiB", or the bare number of bytes`},
	{"output of nothing", `{"version":2,"output":{"max_bytes":0}}`, `p.json:1:36: "max_bytes" is not a number of bytes from 1 to 1GiB`, `write "64KiB", "1MiB", or the bare number of bytes`},
	{"output beyond all", `{"version":2,"output":{"max_bytes":"2147483647GiB"}}`, `p.json:1:36: "max_bytes" is not a number of bytes from 1 to 1GiB`, `write "64KiB", "1MiB", or the bare number of bytes`},
	{"rules are no list", `{"version":2,"rules":{}}`, `p.json:1:22: "rules" is not a list`, `each rule begins with its id: [{"id": "no-curl", "decision": "deny", "runs": ["curl *"]}]`},
	{"declared without effects", `{"version":2,"tools":{"mcp__x":{}}}`, `p.json:1:32: what is declared of tool "mcp__x" has no effects`, `declare by tool: {"mcp__fs__*": {"effects": {"writes": ["path"]}}}`},
	{"declared kind", `{"version":2,"tools":{"x":{"effects":{"write":["path"]}}}}`, `p.json:1:39: unknown kind of effects "write"`, `did you mean "writes"?`},
	{"declared key", `{"version":2,"tools":{"x":{"efects":{}}}}`, `p.json:1:28: unknown declaration "efects"`, `did you mean "effects"?`},
	{"declared argument", `{"version":2,"tools":{"x":{"effects":{"writes":["path "]}}}}`, `p.json:1:49: argument name "path " has white space around it`, `names match exactly; did you mean "path"?`},

	// A rule.
	{"rule is a word", v2(`"deny"`), `p.json:1:24: the rule is not an object`, `a rule is {"id": "no-curl", "decision": "deny", "runs": ["curl *"]}`},
	{"no id", v2(`{"decision":"deny"}`), `p.json:1:24: the rule has no "id"`, `a rule is {"id": "no-curl", "decision": "deny", "runs": ["curl *"]}`},
	{"no decision", v2(`{"id":"r"}`), `p.json:1:24: rule "r" has no "decision"`, `write one of: deny, ask, allow`},
	{"unknown rule key", v2(`{"id":"r","decision":"deny","run":["x"]}`), `p.json:1:52: unknown rule key "run"`, `did you mean "runs"?`},
	{"rule key far from all", v2(`{"id":"r","decision":"deny","colour":1}`), `p.json:1:52: unknown rule key "colour"`, ruleKeysKnown},
	{"rule key in capitals", v2(`{"id":"r","Decision":"deny"}`), `p.json:1:34: unknown rule key "Decision"`, `did you mean "decision"?`},
	{"decision", v2(`{"id":"r","decision":"block"}`), `p.json:1:45: "decision" is not one of deny, ask, allow`, `write one of: deny, ask, allow`},
	{"id twice", `{"version":2,"rules":[{"id":"r","decision":"deny"},{"id":"r","decision":"ask"}]}`, `p.json:1:58: duplicate id "r"`, `each rule has an id of its own; rename one`},
	{"id with a space", v2(`{"id":"no curl","decision":"deny"}`), `p.json:1:30: "no curl" cannot be an id`, `an id is one word of at most 64 letters, digits and -_./`},
	{"empty id", v2(`{"id":"","decision":"deny"}`), `p.json:1:30: "" cannot be an id`, `an id is one word of at most 64 letters, digits and -_./`},
	{"id of the default", v2(`{"id":"default","decision":"deny"}`), `p.json:1:30: the id "default" is kept for the default`, `name it otherwise`},
	{"empty reason", v2(`{"id":"r","decision":"deny","reason":" "}`), `p.json:1:61: "reason" is empty`, `remove it, or write something`},
	{"mode of a rule", v2(`{"id":"r","decision":"deny","mode":"observed"}`), `p.json:1:59: "mode" is not one of enforce, observe`, `did you mean "observe"?`},

	// Lists of patterns.
	{"one tool without a list", v2(`{"id":"r","decision":"deny","tools":"Bash"}`), `p.json:1:60: "tools" is not a list`, `write a list, also of one: ["Bash"]`},
	{"no tools", v2(`{"id":"r","decision":"deny","tools":[]}`), `p.json:1:60: "tools" is empty`, `a rule without "tools" speaks of any; remove the key, or list something`},
	{"tool that is a number", v2(`{"id":"r","decision":"deny","tools":[1]}`), `p.json:1:61: "tools" holds a value that is not a string`, `put it in quotes`},
	{"tool twice", v2(`{"id":"r","decision":"deny","tools":["a","a"]}`), `p.json:1:65: "a" is twice in "tools"`, `remove one`},
	{"tool with a class", v2(`{"id":"r","decision":"deny","tools":["a[b]"]}`), `p.json:1:61: tool pattern "a[b]" holds "["`, `only * (any text) and ? (one character) are special in a pattern`},
	{"unknown host", v2(`{"id":"r","decision":"deny","hosts":["claud"]}`), `p.json:1:61: unknown host "claud"`, `did you mean "claude"?`},
	{"a host of the network", v2(`{"id":"r","decision":"deny","hosts":["example.com"]}`), `p.json:1:61: unknown host "example.com"`,
		`known here: claude, cline, codex, copilot, cursor, gemini, kiro, windsurf; hosts of the network stand under "connects"`},
	{"empty runs", v2(`{"id":"r","decision":"deny","runs":[]}`), `p.json:1:59: "runs" is empty`, `a rule without "runs" speaks of any; remove the key, or list something`},
	{"bad run", v2(`{"id":"r","decision":"deny","runs":["a; b"]}`), `p.json:1:60: "a; b": ";" is shell syntax: a pattern is one command, and its parts are rules of their own`, ``},
	{"bad path", v2(`{"id":"r","decision":"deny","reads":[""]}`), `p.json:1:61: "": the path pattern is empty`, ``},
	{"bad address", v2(`{"id":"r","decision":"deny","connects":["http://x"]}`), `p.json:1:64: "http://x": a host pattern has no scheme: write the host alone`, ``},

	// Limits and what goes with a decision.
	{"limit without calls", v2(`{"id":"r","decision":"allow","limit":{"per":"1m"}}`), `p.json:1:61: "limit" has no "calls"`, `write {"calls": 30, "per": "1m"}, and "burst" if fewer may come at once`},
	{"limit without per", v2(`{"id":"r","decision":"allow","limit":{"calls":1}}`), `p.json:1:61: "limit" has no "per"`, `write {"calls": 30, "per": "1m"}, and "burst" if fewer may come at once`},
	{"limit of nought", v2(`{"id":"r","decision":"allow","limit":{"calls":0,"per":"1m"}}`), `p.json:1:70: "calls" is not a whole number from 1 to 1000000`, ``},
	{"limit in bad time", v2(`{"id":"r","decision":"allow","limit":{"calls":1,"per":"1 minute"}}`), `p.json:1:78: "per" is not a duration: "1 minute"`, `write a number with its unit: "30s", "1m", "24h"`},
	{"limit in a number", v2(`{"id":"r","decision":"allow","limit":{"calls":1,"per":60}}`), `p.json:1:78: "per" is not a duration`, `write a number with its unit: "30s", "1m", "24h"`},
	{"limit in no time", v2(`{"id":"r","decision":"allow","limit":{"calls":1,"per":"-1m"}}`), `p.json:1:78: "per" is not between a second and a year: "-1m"`, `write a number with its unit: "30s", "1m", "24h"`},
	{"contradictory limit", v2(`{"id":"r","decision":"allow","limit":{"calls":5,"per":"1m","burst":6}}`), `p.json:1:91: "burst" 6 is more than "calls" 5`, `a burst is the most that may come at once`},
	{"limit key", v2(`{"id":"r","decision":"allow","limit":{"count":5}}`), `p.json:1:62: unknown limit key "count"`, `known here: calls, per, burst, by`},
	{"limit on a deny", v2(`{"id":"r","decision":"deny","limit":{"calls":5,"per":"1m"}}`), `p.json:1:52: rule "r": a limit is for rules that allow`, `remove it, or allow up to that limit with a rule of its own`},
	{"prompt of a deny", v2(`{"id":"r","decision":"deny","skip_prompt":true}`), `p.json:1:52: rule "r": "skip_prompt" is for rules that allow`, `remove it`},
	{"prompt of an ask", v2(`{"id":"r","decision":"ask","skip_prompt":true}`), `p.json:1:51: rule "r": "skip_prompt" is for rules that allow`, `remove it`},
	{"mutation that only reads", v2(`{"id":"r","decision":"allow","mutation":{"key":"k"},"read_only":true}`), `p.json:1:76: rule "r": "mutation" and "read_only" contradict each other`, `keep one`},
	{"mutation of a deny", v2(`{"id":"r","decision":"deny","mutation":{"key":"k"}}`), `p.json:1:52: rule "r": "mutation" is for rules that allow or ask`, `remove it: what is denied is not run`},
	{"mutation without a key", v2(`{"id":"r","decision":"allow","mutation":{}}`), `p.json:1:64: "mutation" has no key that is the name of an argument`, `write {"key": "request_id"}: the argument by which a retry is known`},
	{"mutation that is only idempotent", v2(`{"id":"r","decision":"allow","mutation":{"idempotent":true}}`), `p.json:1:64: "mutation" has no key that is the name of an argument`, `write {"key": "request_id"}: the argument by which a retry is known`},
	{"mutation by a number", v2(`{"id":"r","decision":"allow","mutation":{"key":1}}`), `p.json:1:71: the key of "mutation" is not the name of an argument`, `write "request_id", or "sallyport/request_id" for that member of _meta`},
	{"mutation by a pointer", v2(`{"id":"r","decision":"allow","mutation":{"key":"/a/b"}}`), `p.json:1:71: the key "/a/b" is a JSON pointer`, `name a top-level argument`},
	{"mutation by another member of _meta", v2(`{"id":"r","decision":"allow","mutation":{"key":"sallyport/id"}}`), `p.json:1:71: unknown member of _meta "sallyport/id"`, `did you mean "sallyport/request_id"?`},
	{"mutation key", v2(`{"id":"r","decision":"allow","mutation":{"keys":"a"}}`), `p.json:1:65: unknown mutation key "keys"`, `did you mean "key"?`},
	{"output of a deny", v2(`{"id":"r","decision":"deny","output":{"control":"mark"}}`), `p.json:1:52: rule "r": "output" is for rules that allow or ask`, `remove it, or let it stand beside "rules", where it is for all results`},
	{"limit by what is not known", v2(`{"id":"r","decision":"allow","limit":{"calls":5,"per":"1m","by":["user"]}}`), `p.json:1:89: calls cannot be counted by "user"`, `known here: principal, tenant, tool`},
	{"limit by what is misspelt", v2(`{"id":"r","decision":"allow","limit":{"calls":5,"per":"1m","by":["principle"]}}`), `p.json:1:89: calls cannot be counted by "principle"`, `did you mean "principal"?`},

	// Methods.
	{"tools of another method", v2(`{"id":"r","decision":"allow","methods":["prompts/get"],"tools":["x"]}`), `p.json:1:79: rule "r": "tools" is for calls of tools, and the rule speaks of method "prompts/get"`, toolsOfMethods},
	{"tools of all methods", v2(`{"id":"r","decision":"deny","tools":["x"],"methods":["*"]}`), `p.json:1:52: rule "r": "tools" is for calls of tools, and the rule speaks of method "*"`, toolsOfMethods},
	{"methods that are none", v2(`{"id":"r","decision":"deny","methods":[]}`), `p.json:1:62: "methods" is empty`, `a rule without "methods" speaks of any; remove the key, or list something`},
	{"method with a class", v2(`{"id":"r","decision":"deny","methods":["[a]"]}`), `p.json:1:63: method pattern "[a]" holds "["`, `only * (any text) and ? (one character) are special in a pattern`},

	// Conditions.
	{"empty condition", v2(`{"id":"r","decision":"deny","when":""}`), `p.json:1:59: "when" is empty`, `remove it, or write something`},
	{"unknown name", v2(`{"id":"r","decision":"deny","when":"principal.tenent == 'x'"}`), `p.json:1:59: the condition cannot be read: column 11: unknown field tenent`, `did you mean "tenant"?`},
	{"no truth value", v2(`{"id":"r","decision":"deny","when":"len(tool)"}`), `p.json:1:59: the condition cannot be read: column 1: expected bool, but got int`, `the language is that of expr-lang.org`},
	{"a clock", v2(`{"id":"r","decision":"deny","when":"now().Year() == 2000"}`), `p.json:1:59: the condition cannot be read: column 1: unknown name now`,
		`names here: principal.name, principal.tenant, tool, args, method, host, session, workspace, home, effects.runs, .reads, .writes, .connects, .spawns`},

	// Arguments.
	{"no arguments", v2(`{"id":"r","decision":"deny","args":{}}`), `p.json:1:59: "args" is empty`, `arguments stand by name: {"path": {"under": ["${workspace}"]}}`},
	{"bad pointer", v2(`{"id":"r","decision":"deny","args":{"/a~":{"equals":1}}}`), `p.json:1:60: "/a~" is not a JSON pointer`, `in a name that begins with a slash, ~ is written ~0 and / is written ~1`},
	{"nothing demanded", demand(`{}`), `p.json:1:64: nothing is demanded of argument "x"`, `known here: type, required, min_len, max_len, min, max, equals, one_of, matches, under`},
	{"nothing required", demand(`{"required":false}`), `p.json:1:64: nothing is demanded of argument "x"`, `known here: type, required, min_len, max_len, min, max, equals, one_of, matches, under`},
	{"required by a number", demand(`{"required":1}`), `p.json:1:76: "required" is neither true nor false`, ``},
	{"argument key", demand(`{"max_length":3}`), `p.json:1:65: unknown argument key "max_length"`, `did you mean "max_len"?`},
	{"type", demand(`{"type":"int"}`), `p.json:1:72: "type" is not one of string, number, integer, boolean, array, object, null`, `write one of: string, number, integer, boolean, array, object, null`},
	{"lengths crossed", demand(`{"min_len":5,"max_len":3}`), `p.json:1:65: argument "x": "min_len" 5 is more than "max_len" 3; nothing can meet both`, ``},
	{"range crossed", demand(`{"min":2,"max":1.5}`), `p.json:1:65: argument "x": "min" 2 is more than "max" 1.5; nothing can meet both`, ``},
	{"length of a number", demand(`{"type":"number","min_len":5}`), `p.json:1:81: argument "x": "min_len" is for string and array, and the type is number`, ``},
	{"range of a string", demand(`{"type":"string","max":5}`), `p.json:1:81: argument "x": "max" is for number and integer, and the type is string`, ``},
	{"value of another type", demand(`{"type":"string","equals":5}`), `p.json:1:81: argument "x": the value is not of the type string`, ``},
	{"equal twice", demand(`{"equals":5,"one_of":[5]}`), `p.json:1:76: argument "x": "equals" and "one_of" say the same; keep one`, ``},
	{"none of", demand(`{"one_of":[]}`), `p.json:1:74: "one_of" is empty; nothing can meet it`, ``},
	{"twice one of", demand(`{"one_of":["a","\u0061"]}`), `p.json:1:79: a value is twice in "one_of"`, `remove one`},
	{"range without a number", demand(`{"min":"5"}`), `p.json:1:71: "min" is not a number`, ``},
	{"bad expression", demand(`{"matches":"a("}`), "p.json:1:75: \"matches\" is no regular expression: error parsing regexp: missing closing ): `a(`", `the syntax is RE2's, as in Go`},
	{"expression that closes our brackets", demand(`{"matches":"a)|(b"}`), "p.json:1:75: \"matches\" is no regular expression: error parsing regexp: unexpected ): `a)|(b`", `the syntax is RE2's, as in Go`},
	{"no folders", demand(`{"under":"/tmp"}`), `p.json:1:73: "under" is not a list`, `write a list, also of one: ["/tmp"]`},

	// YAML.
	{"YAML key", "version: 2\nrules:\n  - id: r\n    decision: deny\n    runz: [x]\n", `p.json:5:5: unknown rule key "runz"`, `did you mean "runs"?`},
	{"YAML value", "version: 2\nrules:\n  - id: r\n    decision: alow\n", `p.json:4:15: "decision" is not one of deny, ask, allow`, `did you mean "allow"?`},
	{"YAML list", "version: 2\nrules:\n  - id: é\n    decision: deny\n", `p.json:3:9: "é" cannot be an id`, `an id is one word of at most 64 letters, digits and -_./`},
	{"YAML pattern without quotes", "version: 2\nrules:\n  - id: r\n    decision: deny\n    reads: [**/.env]\n", `p.json:5:13: an alias (*) is not read here`,
		`write the value itself in each place; a word that begins with "*" needs quotes`},
	{"YAML version 1", "version: 1\nallow: [a, a]\n", `p.json:2:12: "a" is twice in "allow"`, `remove one`},
	{"YAML starter", "version: 2\nstarter: false\n", `p.json:2:10: "starter" is not one of on, off`, `write off, not false`},
	{"YAML that is a list", "- version: 2\n", `p.json:1:1: the policy is not an object`, hintPolicy},
	{"only comments", "# nothing\n", `p.json:1:1: the policy is not an object`, hintPolicy},
}

func TestParseErrorsOfVersion2(t *testing.T) {
	for _, tc := range v2Errors {
		t.Run(tc.name, func(t *testing.T) {
			p, err := policy.Parse("p.json", []byte(tc.text))
			if p != nil || err == nil {
				t.Fatalf("got policy %v, error %v, want only an error", p, err)
			}
			e, ok := errors.AsType[*policy.Error](err)
			if !ok {
				t.Fatalf("got a %T, want a *policy.Error", err)
			}
			if diff := cmp.Diff([]string{tc.want, tc.hint}, []string{err.Error(), e.Hint}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// everything is a file that uses each key once.
const everything = `# a comment
version: 2
default: ask
mode: enforce
starter: off
ledger: best_effort
tools:
  "mcp__fs__*": {effects: {writes: [path], reads: [source]}}
  mcp__fs__copy: {effects: {runs: [hook], connects: [url]}}
  mcp__quiet: {effects: {}}
rules:
  - id: notes
    decision: allow
    tools: ["write_note", "fs__read_*"]
    hosts: [claude, codex]
    methods: [tools/call]
    principals: ["*"]
    tenants: ["*"]
    args:
      request_id: {type: string, min_len: 8, max_len: 80, required: true}
      path: {under: ["${workspace}", ~/x/]}
      /a/0/b: {min: 1, max: 2.5}
      kind: {one_of: [a, 1, null, {x: [1]}]}
      flag: {equals: true}
      name: {matches: '[a-z]+'}
    when: principal.tenant == args.tenant
    limit: {calls: 30, per: 1m, burst: 5, by: [principal, tool]}
    mutation: {key: request_id, idempotent: true}
    output: {max_bytes: 64KiB, control: remove}
    skip_prompt: true
    reason: fine
  - id: saving
    decision: allow
    tools: [fs__write_file]
    mutation: {key: sallyport/request_id}
    verify:
      observe: {tool: fs__look, arguments: {path: "${args.path}"}}
      expect: 'observation.content == args.content'
      retry observe for: 10s
  - id: looking
    decision: allow
    tools: [fs__look]
    read_only: true
  - id: asking
    decision: ask
    tools: [Write]
    approval: {expires: 1h}
    verify: content
  - id: reading
    decision: allow
    reads: ["**"]
    read_only: true
    mode: observe
  - id: all-kinds
    decision: deny
    runs: [curl]
    reads: ["**/.env"]
    writes: ["**/.env"]
    connects: ["*.evil.example"]
    spawns: ["Explore*"]
`

func TestParseTakesEverything(t *testing.T) {
	p := mustParse(t, everything)
	if p.Version() != 2 || !p.StarterOff() || !p.BestEffort() {
		t.Errorf("got version %d, starter off %v, best effort %v", p.Version(), p.StarterOff(), p.BestEffort())
	}
	d := p.Declares("mcp__fs__copy")
	if d == nil || !cmp.Equal(*d, effectsDeclaration([]string{"source"}, []string{"path"}, []string{"hook"}, []string{"url"})) {
		t.Errorf("declarations do not add up: %+v", d)
	}
	if d := p.Declares("mcp__quiet"); d == nil || len(d.Reads)+len(d.Writes) > 0 {
		t.Errorf("of a tool without effects: %+v", d)
	}
	if d := p.Declares("Bash"); d != nil {
		t.Errorf("of a tool that is not declared: %+v", d)
	}
	if (*policy.Policy)(nil).Declares("x") != nil || (*policy.Policy)(nil).StarterOff() || (*policy.Policy)(nil).BestEffort() {
		t.Error("nil says something")
	}
}

func TestParseKeepsNoReferenceToTextOfVersion2(t *testing.T) {
	text := []byte(`{"version":2,"default":"allow","rules":[{"id":"r","decision":"deny","tools":["x"],"when":"args.a == 'b'","args":{"a":{"matches":"b","equals":"b"}}}]}`)
	for _, parse := range []func() (*policy.Policy, error){
		func() (*policy.Policy, error) { return policy.Parse("p", text) },
		func() (*policy.Policy, error) {
			compiled, err := policy.Compile("p", text)
			if err != nil {
				t.Fatal(err)
			}
			p, err := policy.ParseCompiled("p", text, compiled)
			clear(compiled)
			return p, err
		},
	} {
		before := string(text)
		p, err := parse()
		if err != nil {
			t.Fatal(err)
		}
		clear(text)
		if d, why := p.Evaluate(call(t, "x", `{"a":"b"}`)); d != policy.Deny || why.Rule != "r" {
			t.Errorf("after the text was cleared: got %v, %+v", d, why)
		}
		copy(text, before)
	}
}

func TestJSONAndYAMLAreOneLanguage(t *testing.T) {
	compiled, err := policy.Compile("p.yaml", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	_, json, _ := strings.Cut(string(compiled), `"policy":`)
	p := mustParse(t, strings.TrimSuffix(json, "}"))
	if p.Digest() == mustParse(t, everything).Digest() {
		t.Error("two texts have one digest")
	}
	if diff := cmp.Diff(p.Explain(call(t, "x", "")), mustParse(t, everything).Explain(call(t, "x", ""))); diff != "" {
		t.Errorf("(-JSON +YAML)\n%s", diff)
	}
}

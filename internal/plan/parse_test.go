package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// published is the plan that the project's own description shows.
const published = `version: 1
steps:
  - id: record-decision
    call:    {tool: write_note, arguments: {request_id: "req-0001", text: "gate applied"}}
    observe: {tool: read_ledger, arguments: {}}
    expect:  'observation.notes.exists(n, n.request_id == call.arguments.request_id && n.text == call.arguments.text)'
    undo:    {tool: erase_note, arguments: {request_id: "req-0001"}}
    undone:  '!observation.notes.exists(n, n.request_id == call.arguments.request_id)'
`

func mustPlan(t testing.TB, text string) *Plan {
	t.Helper()
	p, err := Parse("plan.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func TestThePublishedPlanIsRead(t *testing.T) {
	p := mustPlan(t, published)
	if diff := cmp.Diff([]string{"record-decision"}, p.Steps()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s := p.steps[0]
	if s.call.tool != "write_note" || s.observe.tool != "read_ledger" || s.undo.tool != "erase_note" || s.undone == nil || s.stop || s.timeout != 30*time.Second || p.maxAge != 24*time.Hour {
		t.Errorf("got %+v, max age %v", s, p.maxAge)
	}
	same := mustPlan(t, `{"version":1,"steps":[{"id":"record-decision",
	 "call":{"tool":"write_note","arguments":{"text":"gate applied","request_id":"req-0001"}},"observe":{"tool":"read_ledger","arguments":{}},
	 "expect":"observation.notes.exists(n, n.request_id == call.arguments.request_id && n.text == call.arguments.text)",
	 "undo":{"tool":"erase_note","arguments":{"request_id":"req-0001"}},"undone":"!observation.notes.exists(n, n.request_id == call.arguments.request_id)"}]}`)
	if same.Digest() != p.Digest() || same.steps[0].proof != s.proof {
		t.Error("the same plan in YAML and in JSON has two digests, want one")
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	p := mustPlan(t, `version: 1
name: deploy
rehearsal: {max_age: 1h}
steps:
  - id: a
    call: {tool: do}
    observe: {tool: see, arguments: {id: "${result.id}", run: "${run.id}"}}
    expect: observation.ok
    retry observe for: 10s
    undo: none
    on_mismatch: stop
    timeout: 5s
  - id: b-2
    call: {tool: get, arguments: {of: "${steps.a.result.id}"}}
    read_only: true
    expect: result.n == steps.a.observation.n && steps["a"].result.id != ""
    retry_observe_for: 1m
`)
	a, b := p.steps[0], p.steps[1]
	if p.Name() != "deploy" || p.maxAge != time.Hour || !a.noUndo || a.undo != nil || !a.stop || a.timeout != 5*time.Second || a.retry != 10*time.Second {
		t.Errorf("got %+v", a)
	}
	if !b.readOnly || b.observe != nil || b.retry != time.Minute || b.stop || b.proof != "" {
		t.Errorf("got %+v", b)
	}
}

// TestWhatChangesAProof: the tool, the undo and the conditions are what a rehearsal proves; the arguments of the call are not.
func TestWhatChangesAProof(t *testing.T) {
	proof := mustPlan(t, published).steps[0].proof
	for _, c := range []struct {
		old, new string
		changes  bool
	}{
		{"tool: write_note", "tool: write_notes", true},
		{"tool: erase_note", "tool: erase", true},
		{`erase_note, arguments: {request_id: "req-0001"}`, `erase_note, arguments: {request_id: "req-0002"}`, true},
		{"tool: read_ledger", "tool: read", true},
		{"n.text == call", "n.text  == call", true},
		{"'!observation", "'! observation", true},
		{`text: "gate applied"`, `text: "gate"`, false},
		{"id: record-decision", "id: record", false},
	} {
		changed := strings.Replace(published, c.old, c.new, 1)
		if changed == published {
			t.Fatalf("%q is not in the plan", c.old)
		}
		if got := mustPlan(t, changed).steps[0].proof != proof; got != c.changes {
			t.Errorf("%q for %q: proof changed: %t, want %t", c.new, c.old, got, c.changes)
		}
	}
}

func TestWrongPlansAreRefusedWithTheirPlace(t *testing.T) {
	const head = "version: 1\nsteps:\n"
	step := func(lines ...string) string { return head + "  - id: a\n    " + strings.Join(lines, "\n    ") + "\n" }
	const call, see, expect = "call: {tool: do}", "observe: {tool: see}", "expect: observation.ok"
	second := step(call, see, expect) + "  - id: b\n    "
	for _, c := range []struct{ name, text, want, hint string }{
		{"empty", "", "1:1: the plan is empty", "a plan is"},
		{"a list", "[]", "1:1: the plan is not an object", "a plan is"},
		{"bad JSON", `{"version": 1,}`, "1:15: not JSON", "JSON has no comments"},
		{"key twice", `{"version": 1, "version": 1}`, `1:16: duplicate key "version"`, "remove one"},
		{"tab", "version: 1\nsteps:\n\t- id: a", "3:1: a tab in the indentation", "indent with spaces"},
		{"no version", "steps: []", `1:1: "version" is missing`, "version: 1"},
		{"other version", "version: 2", "1:10: plan version 2 is not supported", "version 1"},
		{"version as text", `version: "1"`, `1:10: "version" is not a whole number`, ""},
		{"unknown key", "version: 1\nstepz: []", `2:1: unknown key "stepz"`, `did you mean "steps"?`},
		{"no steps", "version: 1\n", `1:1: the plan has no "steps"`, ""},
		{"steps empty", "version: 1\nsteps: []", `2:8: "steps" is empty`, ""},
		{"steps no list", "version: 1\nsteps: {}", `2:8: "steps" is not a list`, ""},
		{"step no object", head + "  - a\n", "3:5: the step is not an object", ""},
		{"no id", head + "  - " + call + "\n", `3:5: the step has no "id"`, ""},
		{"id a path", head + "  - id: ../../etc/passwd\n", `3:9: the id "../../etc/passwd" is not a word`, "letters"},
		{"id a path with dots", head + "  - id: ..\n", `3:9: the id ".." is not a word`, "letters"},
		{"id with a slash", head + "  - id: a/b\n", `3:9: the id "a/b" is not a word`, "letters"},
		{"id with a line", head + "  - id: \"a\\nb\"\n", `3:9: the id "a\nb" is not a word`, "letters"},
		{"id a number", head + "  - id: 1\n", `3:9: "id" is not a string`, "letters"},
		{"id too long", head + "  - id: " + strings.Repeat("a", 65) + "\n", `3:9: the id "` + strings.Repeat("a", 64) + `…" is not a word`, "64"},
		{"id twice", second[:len(second)-len("b\n    ")] + "a\n", `7:9: the id "a" is there twice`, ""},
		{"no call", step(see, expect), `3:5: step "a" has no "call"`, ""},
		{"no observe", step(call, expect), `3:5: step "a" has no "observe"`, "read_only: true"},
		{"no expect", step(call, see), `3:5: step "a" has no "expect"`, ""},
		{"unknown step key", step("cal: {tool: do}"), `4:5: unknown step key "cal"`, `did you mean "call"?`},
		{"unknown key of call", step("call: {tol: do}"), `4:12: unknown key of "call" "tol"`, `did you mean "tool"?`},
		{"call without tool", step("call: {}"), `4:11: "call" has no "tool"`, ""},
		{"call no object", step("call: do"), `4:11: "call" is not an object`, ""},
		{"arguments no object", step("call: {tool: do, arguments: [1]}"), `4:33: "arguments" of "call" is not an object`, ""},
		{"tool by reference", step(`call: {tool: "${run.id}"}`), `4:18: "tool" of "call" has a reference in it`, ""},
		{"call speaks of itself", step(`call: {tool: do, arguments: {a: "${args.b}"}}`), `4:37: "call": unknown name "args"`, "known here: run, steps"},
		{"observe of itself", step(call, `observe: {tool: see, arguments: {a: "${observation.b}"}}`), `5:41: "observe": unknown name "observation"`, ""},
		{"step that is not there", step(`call: {tool: do, arguments: {x: {y: "${steps.b.result.z}"}}}`), `there is no step "b" before this one`, ""},
		{"own step", step(call, `observe: {tool: see, arguments: {x: "${steps.a.result.z}"}}`), `there is no step "a" before this one`, ""},
		{"step misspelt", second + `call: {tool: do, arguments: {x: "${steps.A.result.z}"}}` + "\n", `there is no step "A" before this one`, `did you mean "a"?`},
		{"member misspelt", second + `call: {tool: do, arguments: {x: "${steps.a.reslt.z}"}}` + "\n", `a step has no "reslt"`, `did you mean "result"?`},
		{"step alone", second + `call: {tool: do, arguments: {x: "${steps.a}"}}` + "\n", `of step "a" it is not said what is meant`, "known here: result, observation"},
		{"step in a condition", step(call, see, `expect: steps.b.result.x == 1`), `6:13: there is no step "b"`, ""},
		{"member in a condition", second + call + "\n    " + see + "\n    expect: steps.a.reslt.x == 1\n", `10:13: a step has no "reslt"`, `did you mean "result"?`},
		{"computed step", second + call + "\n    " + see + "\n    expect: steps[args.x].result == 1\n", `10:13: "steps" is spoken of without the id of a step`, ""},
		{"condition wrong", step(call, see, "expect: observation. =="), `6:13: the condition "expect" cannot be read`, ""},
		{"condition empty", step(call, see, `expect: " "`), `6:13: "expect" is empty`, ""},
		{"condition of unknown", step(call, see, "expect: observaton.ok"), `6:13: the condition "expect" cannot be read`, ""},
		{"undo without undone", step(call, see, expect, "undo: {tool: u}"), `3:5: step "a" has an "undo" and no "undone"`, ""},
		{"undone without undo", step(call, see, expect, "undone: observation.gone"), `7:5: step "a": "undone" without an "undo"`, ""},
		{"undo misspelt", step(call, see, expect, "undo: nono"), `7:11: "undo" is neither a call nor none`, `did you mean "none"?`},
		{"undo of what only reads", step(call, "read_only: true", expect, "undo: {tool: u}", "undone: observation.gone"), `7:5: step "a": "undo" and "read_only" contradict each other`, ""},
		{"retry twice", step(call, see, expect, "retry_observe_for: 1s", "retry observe for: 1s"), `8:5: "retry observe for" is there twice`, ""},
		{"no unit", step(call, see, expect, "timeout: 30"), `7:14: "timeout" is not a duration`, "unit"},
		{"too long", step(call, see, expect, "timeout: 48h"), `7:14: "timeout" is not between`, ""},
		{"mismatch", step(call, see, expect, "on_mismatch: rolback"), `7:18: "on_mismatch" is neither`, `did you mean "rollback"?`},
		{"read_only", step("read_only: yes"), `4:16: "read_only" is neither true nor false`, ""},
		{"max_age", "version: 1\nrehearsal: {max_aeg: 1h}", `2:13: unknown key of "rehearsal" "max_aeg"`, `did you mean "max_age"?`},
		{"number without canonical form", `{"version":1,"steps":[{"id":"a","call":{"tool":"do","arguments":{"n":1e999}},"observe":{"tool":"see"},"expect":"observation.ok"}]}`, "plan.yaml:1:", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("plan.yaml", []byte(c.text))
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("got %v, want an *Error\n%s", err, c.text)
			}
			if e.Line < 1 || e.Column < 1 || !strings.Contains(e.Error(), c.want) || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("got  %v\nhint %s\nwant %s\nhint %s\n%s", e, e.Hint, c.want, c.hint, c.text)
			}
		})
	}
}

// FuzzParse: what is read can be read again from its canonical form, and is the same plan; what is refused has a place.
func FuzzParse(f *testing.F) {
	f.Add(published)
	f.Add(`{"version":1,"steps":[{"id":"a","call":{"tool":"do"},"read_only":true,"expect":"result.n == 1"}]}`)
	f.Add("version: 1\nname: x\nrehearsal: {max_age: 1h}\nsteps:\n  - id: a\n    call: {tool: do, arguments: {x: \"${run.id}\"}}\n    observe: {tool: s}\n    expect: \"true\"\n    undo: none\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("p", []byte(text))
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Line < 1 || e.Column < 1 || e.Msg == "" {
				t.Fatalf("no place: %#v", err)
			}
			return
		}
		again, err := Parse("p", p.text)
		if err != nil {
			t.Fatalf("the canonical form of a plan is refused: %v\n%s", err, p.text)
		}
		if again.digest != p.digest || len(again.steps) != len(p.steps) {
			t.Fatalf("the canonical form is another plan\n%s\n%s", p.text, again.text)
		}
		for i, s := range p.steps {
			if !isWord(s.id) || s.expect == nil || s.observe == nil && !s.readOnly || s.undo != nil && (s.undone == nil || s.proof == "") || s.proof != again.steps[i].proof {
				t.Fatalf("a step that no plan may have: %+v", s)
			}
		}
	})
}

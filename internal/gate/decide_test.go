package gate

import (
	"bytes"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/ledger"
	"sallyport/internal/policy"
)

// question is what a host asks of a tool.
func (w *world) question(tool, args string) Question {
	w.t.Helper()
	v, err := canon.Parse([]byte(args))
	if err != nil {
		w.t.Fatal(err)
	}
	return Question{Caller: Caller{Principal: "local"}, Method: "hook/PreToolUse", Tool: tool, Args: v, RequestID: "toolu_1",
		Host: "claude", Session: "s-1", World: &effects.World{}}
}

func TestDecisionsForHooksAreRecorded(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		tool, args string
		tighten    policy.Decision
		want       policy.Decision
		record     string
	}{
		{"put", `{"request_id":"abc"}`, policy.Allow, policy.Allow, "allow permitted allow"},
		{"put", `{"request_id":"abc"}`, policy.Ask, policy.Ask, "ask asked tightened"},
		{"put", `{"request_id":"abc"}`, policy.Deny, policy.Deny, "deny not_executed tightened"},
		{"put", `{"request_id":"a"}`, policy.Ask, policy.Deny, "deny not_executed arg_rules.put.request_id.min_len"},
		{"hidden", `{}`, policy.Allow, policy.Deny, "deny not_executed deny"},
		{"get", `{"n":1e400}`, policy.Allow, policy.Deny, "deny not_executed arguments"},
	} {
		v := w.Decide(w.question(test.tool, test.args))
		v.Tighten(test.tighten, "tightened", "because")
		if err := w.Record(&v); err != nil {
			t.Fatal(err)
		}
		if v.Decision != test.want {
			t.Errorf("%s %s: %v, want %v", test.tool, test.args, v.Decision, test.want)
		}
		last := w.lastRecord()
		text := func(key string) string { s, _ := last.Get(key).Text(); return s }
		if got := text("decision") + " " + text("outcome") + " " + text("rule"); got != test.record {
			t.Errorf("%s %s was recorded as %q, want %q", test.tool, test.args, got, test.record)
		}
		for key, want := range map[string]string{"method": "hook/PreToolUse", "request_id": "toolu_1", "host": "claude", "session": "s-1",
			"name": test.tool, "policy_digest": w.Policy().Digest()} {
			if text(key) != want {
				t.Errorf("%s is %q, want %q", key, text(key), want)
			}
		}
	}
}

func TestCorrectionsAreMarked(t *testing.T) {
	w := newWorld(t)
	v := w.Decide(w.question("get", `{}`))
	if err := w.Record(&v); err != nil {
		t.Fatal(err)
	}
	v.Tighten(policy.Deny, "deadline", "it took too long")
	if err := w.Correct(v); err != nil {
		t.Fatal(err)
	}
	last := w.lastRecord()
	if corrects, _ := last.Get("corrects").Bool(); !corrects {
		t.Errorf("the record is no correction: %s", last.Bytes())
	}
	if rule, _ := last.Get("rule").Text(); rule != "deadline" {
		t.Errorf("the record is of rule %q", rule)
	}
}

func TestWhatCannotBeRecordedIsDenied(t *testing.T) {
	for _, test := range []struct {
		policy string
		want   policy.Decision
	}{
		{testPolicy, policy.Deny},
		{`{"version":2,"default":"allow"}`, policy.Deny},
		{`{"version":2,"default":"allow","ledger":"best_effort"}`, policy.Allow},
	} {
		w := newWorld(t)
		p, err := policy.Parse("policy.json", []byte(test.policy))
		if err != nil {
			t.Fatal(err)
		}
		w.SetPolicy(p)
		if err := w.disk.Remove("d/" + ledger.FileName); err != nil {
			t.Fatal(err)
		}
		v := w.Decide(w.question("get", `{}`))
		if v.Decision != policy.Allow {
			t.Fatalf("the policy decides %v", v.Decision)
		}
		if err := w.Record(&v); err == nil {
			t.Error("a ledger that is gone took a record")
		}
		if v.Decision != test.want {
			t.Errorf("with %s: %v, want %v", test.policy, v.Decision, test.want)
		}
	}
}

func TestSummariesAreCanonical(t *testing.T) {
	full := effects.Summary{Runs: []string{"git push", "rm"}, Reads: []string{"~/x"}, Writes: []string{".", "/etc"},
		Connects: []string{"h:1"}, Spawns: []string{"Explore"}, Opaque: true}
	got := spellSummary(full)
	const want = `{"connects":["h:1"],"opaque":true,"reads":["~/x"],"runs":["git push","rm"],"spawns":["Explore"],"writes":[".","/etc"]}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := canon.CheckObject(got, func(_, _ []byte, _, _ int) {}); err != nil {
		t.Error(err)
	}
	if got := spellSummary(effects.Summary{}); got != nil {
		t.Errorf("of nothing there is a summary %s", got)
	}
}

// lastRecord is the last line of the ledger.
func (w *world) lastRecord() canon.Value {
	w.t.Helper()
	w.records() // checks the chain
	text, err := w.disk.ReadFile("d/" + ledger.FileName)
	if err != nil {
		w.t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	v, err := canon.Parse(lines[len(lines)-1])
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

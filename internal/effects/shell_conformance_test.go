package effects

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// heldRule is a rule of hook-policy.json that has patterns for effects.
type heldRule struct {
	ID, Decision        string
	Runs, Reads, Writes []string
	runs                []*RunPattern
	reads, writes       []*PathPattern
}

// hookRules reads the rules of the conformance policy.
func hookRules(t testing.TB) []heldRule {
	t.Helper()
	data, err := os.ReadFile("../../testdata/conformance/hook-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	var policy struct{ Rules []heldRule }
	if err := json.Unmarshal(data, &policy); err != nil {
		t.Fatal(err)
	}
	for i := range policy.Rules {
		r := &policy.Rules[i]
		for _, text := range r.Runs {
			p, err := ParseRun(text)
			if err != nil {
				t.Fatal(err)
			}
			r.runs = append(r.runs, p)
		}
		for _, text := range r.Reads {
			r.reads = append(r.reads, parsePath(t, text))
		}
		for _, text := range r.Writes {
			r.writes = append(r.writes, parsePath(t, text))
		}
	}
	return policy.Rules
}

func parsePath(t testing.TB, text string) *PathPattern {
	t.Helper()
	p, err := ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// match is how surely a rule speaks of one of the effects.
func (r *heldRule) match(effects []Effect, w *World) Match {
	best := No
	for i := range effects {
		e := &effects[i]
		switch {
		case e.Kind == Run && len(r.runs) > 0, e.Kind == Read && len(r.reads) > 0, e.Kind == Write && len(r.writes) > 0:
		default:
			continue
		}
		if e.Opaque != "" {
			best = max(best, Maybe)
			continue
		}
		switch e.Kind {
		case Run:
			for _, p := range r.runs {
				best = max(best, p.Match(e.Command))
			}
			for _, p := range slices.Concat(r.reads, r.writes) {
				if e.Command.Code != "" && p.In(e.Command.Code, w) {
					best = max(best, Maybe)
				}
			}
		case Read:
			for _, p := range r.reads {
				best = max(best, p.Match(e.Path, false, w))
			}
		case Write:
			for _, p := range r.writes {
				best = max(best, p.Match(e.Path, e.Deep, w))
			}
		}
	}
	if len(r.reads)+len(r.writes) > 0 {
		for i := range effects {
			if c := effects[i].Command; c != nil && c.Code != "" {
				for _, p := range slices.Concat(r.reads, r.writes) {
					if p.In(c.Code, w) {
						best = max(best, Maybe)
					}
				}
			}
		}
	}
	return best
}

// decided is what the rules decide about effects: deny, ask or allow, and the rule.
func decided(rules []heldRule, effects []Effect, w *World) (decision, rule string) {
	decision = "allow"
	for i := range rules {
		r := &rules[i]
		switch m := r.match(effects, w); {
		case m == Yes && r.Decision == "deny":
			return "deny", r.ID
		case m != No:
			decision, rule = "ask", r.ID
		}
	}
	return decision, rule
}

// TestShellConformance holds what the reader finds against the rules of the shared cases.
func TestShellConformance(t *testing.T) {
	rules := hookRules(t)
	data, err := os.ReadFile("../../testdata/conformance/hook.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
		var c struct {
			Name   string
			Expect []string
			Files  map[string]string
			Links  map[string]string
			Event  struct {
				Tool  string         `json:"tool_name"`
				Mode  string         `json:"permission_mode"`
				Input map[string]any `json:"tool_input"`
			}
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		command, _ := c.Event.Input["command"].(string)
		if c.Event.Tool != "Bash" || c.Event.Mode == "bypassPermissions" {
			continue
		}
		tried++
		t.Run(c.Name[:min(len(c.Name), 80)], func(t *testing.T) {
			w := worldOf(t, c.Files, c.Links)
			got, rule := decided(rules, Shell(repeated(command), w), w)
			if got == "ask" && !slices.Contains(c.Expect, "ask") && slices.Contains(c.Expect, "deny") && strings.HasPrefix(c.Name, "codex") {
				got = "deny" // that host cannot ask
			}
			if got == "allow" && slices.Contains(c.Expect, "none") {
				got = "none"
			}
			if !slices.Contains(c.Expect, got) {
				t.Errorf("%.200q: got %s by %q, want one of %v", command, got, rule, c.Expect)
			}
		})
	}
	if tried < 150 {
		t.Errorf("only %d cases were tried", tried)
	}
}

// worldOf makes the folders of a case.
func worldOf(t testing.TB, files, links map[string]string) *World {
	t.Helper()
	root := t.TempDir()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"work", "home"} {
		must(os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		must(os.MkdirAll(filepath.Dir(path), 0o755))
		must(os.WriteFile(path, []byte(text), 0o644))
	}
	for name, target := range links {
		must(os.Symlink(filepath.Join(root, target), filepath.Join(root, name)))
	}
	work := filepath.Join(root, "work")
	return &World{Dir: work, Workspace: work, Homes: []string{filepath.Join(root, "home")}, User: "dev"}
}

// repeated expands @@R:N:TEXT@@ of the shared cases.
func repeated(text string) string {
	before, rest, found := strings.Cut(text, "@@R:")
	if !found {
		return text
	}
	count, rest, _ := strings.Cut(rest, ":")
	unit, after, _ := strings.Cut(rest, "@@")
	n := 0
	for _, digit := range count {
		n = n*10 + int(digit-'0')
	}
	return before + strings.Repeat(unit, n) + after
}

package policy_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/policy"
)

// TestConformanceOfHooks holds the shared cases against the policy alone: events that a host can read, for hosts that can
// ask. What a hook makes of the others is package hook's.
func TestConformanceOfHooks(t *testing.T) {
	text, err := os.ReadFile("../../testdata/conformance/hook-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	p := mustParse(t, string(text))
	cases, err := os.ReadFile("../../testdata/conformance/hook.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for line := range strings.Lines(string(cases)) {
		if strings.Contains(line, "@@R:") {
			continue // a text made by package hook's test
		}
		root := t.TempDir()
		work, home := filepath.Join(root, "work"), filepath.Join(root, "home")
		line = strings.NewReplacer("{{work}}", work, "{{home}}", home).Replace(line)
		v, err := canon.Parse([]byte(strings.TrimSpace(line)))
		if err != nil {
			t.Fatal(err)
		}
		event := v.Get("event")
		tool, ok := event.Get("tool_name").Text()
		if !ok {
			continue
		}
		judged++
		makeFiles(t, root, v)
		w := &effects.World{Dir: work, Workspace: work, Homes: []string{home}, User: "u"}
		host, _ := v.Get("host").Text()
		r := policy.Request{Principal: "local", Host: host, Tool: tool, Args: event.Get("tool_input"), World: w}
		r.Effects = effects.Of(tool, r.Args, nil, w)
		got, why := p.Evaluate(r)
		if !slices.ContainsFunc(expected(v), func(d policy.Decision) bool {
			return d == got || d == policy.Deny && got == policy.Ask && skipsPrompt(event, host)
		}) {
			t.Errorf("%s: got %v by %s: %s\nwant one of %s", v.Get("name").Bytes(), got, why.Rule, why.Reason, v.Get("expect").Bytes())
		}
	}
	if judged < 180 {
		t.Errorf("only %d cases were judged", judged)
	}
}

// expected are the decisions that a case allows; "none" is a host's word for silence.
func expected(v canon.Value) []policy.Decision {
	var all []policy.Decision
	for e := range v.Get("expect").Elements() {
		switch word, _ := e.Text(); word {
		case "deny":
			all = append(all, policy.Deny)
		case "ask":
			all = append(all, policy.Ask)
		default:
			all = append(all, policy.Allow)
		}
	}
	return all
}

// skipsPrompt reports whether a hook makes a denial of an ask.
func skipsPrompt(event canon.Value, host string) bool {
	mode, _ := event.Get("permission_mode").Text()
	return mode == "bypassPermissions" || host == "codex"
}

func makeFiles(t *testing.T, root string, v canon.Value) {
	t.Helper()
	for _, dir := range []string{"work", "home"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range v.Get("files").Members() {
		path := filepath.Join(root, name)
		text, _ := content.Text()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range v.Get("links").Members() {
		text, _ := target.Text()
		if !filepath.IsAbs(text) {
			text = filepath.Join(root, text)
		}
		if err := os.Symlink(text, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
}

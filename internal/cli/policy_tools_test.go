package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/policy"
)

// TestKnownToolsHaveNoOtherEffects holds what is said of tools to what is judged of their calls.
func TestKnownToolsHaveNoOtherEffects(t *testing.T) {
	const input = `{"command":"view","path":"/a","file_path":"/a","notebook_path":"/a","url":"file:///a","prompt":"see https://x.example/",` +
		`"pattern":"*.go","glob":"*.go","query":"rm","description":"rm -rf /","subagent_type":"x","include":"*.c","content":"curl x","args":"/a",` +
		`"todos":[{"content":"rm"}],"task_id":"1","message":"rm","dir_path":"/a","paths":["/a","/b"]}`
	args, err := canon.Parse([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	web, err := canon.Parse([]byte(`{"url":"https://x.example/","prompt":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, tool := range knownTools() {
		if tool.Effects == nil {
			continue
		}
		found := map[string]bool{}
		for _, input := range []canon.Value{args, web} {
			for _, e := range effects.Of(tool.Name, input, nil, &effects.World{Dir: "/w", Workspace: "/w"}) {
				kind := e.Kind.String()
				found[kind] = true
				if !slices.Contains(tool.Effects, kind) {
					t.Errorf("%s: a call of it %s something: %+v", tool.Name, kind, e)
				}
			}
		}
		for _, kind := range tool.Effects {
			seen++
			if !found[kind] {
				t.Errorf("%s: no call of it %s anything", tool.Name, kind)
			}
		}
	}
	if seen == 0 {
		t.Error("no tool has effects")
	}
}

// TestOrdinaryPoliciesGetNoWarnings checks the starter pack, the policy of the conformance cases and every policy in the
// documentation.
func TestOrdinaryPoliciesGetNoWarnings(t *testing.T) {
	check := func(name string, text []byte) {
		t.Helper()
		_, warnings, err := policy.Check(name, text, knownTools())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, w := range warnings {
			t.Errorf("%s: %d:%d: %s (%s) in\n%s", name, w.Line, w.Col, w.Msg, w.Hint, text)
		}
	}
	check("starter", policy.StarterText())
	root := filepath.Join("..", "..")
	conformance, err := os.ReadFile(filepath.Join(root, "testdata", "conformance", "hook-policy.json"))
	if err != nil {
		t.Fatal(err)
	}
	check("conformance", conformance)
	count := 0
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		page, err := os.ReadFile(path)
		for i, block := range strings.Split(string(page), "\n```") {
			_, text, _ := strings.Cut(block, "\n")
			if i%2 == 0 || !strings.Contains(text, "version") {
				continue
			}
			if _, err := policy.Parse(path, []byte(text)); err == nil {
				count++
				check(path, []byte(text))
			}
		}
		return err
	})
	if err != nil || count < 3 {
		t.Errorf("%d policies in the documentation, %v", count, err)
	}
}

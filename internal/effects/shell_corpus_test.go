package effects

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// corpusText is a line of testdata/shell: a text in which ⏎ stands for the end of a line, below a heading for its kind.
type corpusText struct{ kind, text string }

// textsOf reads a file of testdata/shell.
func textsOf(t testing.TB, name string) []corpusText {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "shell", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	var found []corpusText
	kind := ""
	for line := range strings.SplitSeq(strings.TrimRight(string(data), "\n"), "\n") {
		if heading, ok := strings.CutPrefix(line, "# "); ok {
			kind = heading
		} else if line != "" {
			found = append(found, corpusText{kind, strings.ReplaceAll(line, "⏎", "\n")})
		}
	}
	return found
}

// TestShellCorpus holds texts in many clothes against the rules of the shared policy: those that are surely denied,
// those that are at least asked about, and daily work that passes.
func TestShellCorpus(t *testing.T) {
	rules := hookRules(t)
	w := worldOf(t, map[string]string{
		"work/.env": "A=1", "work/secrets/a.txt": "s", "work/.venv/bin/activate": "x", "work/scripts/ci.sh": "go test",
		"work/main.go": "x", "work/src/a.go": "", "work/package.json": "{}",
	}, nil)
	for name, fits := range map[string]func(decision string) bool{
		"denied": func(decision string) bool { return decision == "deny" },
		"asked":  func(decision string) bool { return decision != "allow" },
		"passed": func(decision string) bool { return decision == "allow" },
	} {
		texts := textsOf(t, name)
		if len(texts) < 100 {
			t.Errorf("only %d texts are %s", len(texts), name)
		}
		for _, c := range texts {
			fresh := *w
			effects := Shell(c.text, &fresh)
			if decision, rule := decided(rules, effects, &fresh); !fits(decision) {
				t.Errorf("%s, %s: %q: %s by %q\n\t%s", name, c.kind, c.text, decision, rule, strings.Join(described(effects), "\n\t"))
			}
			if fault := illFormed(effects); fault != "" {
				t.Errorf("%q: %s", c.text, fault)
			}
		}
	}
}

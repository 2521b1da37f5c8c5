package effects

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramsCorpus holds commands of many programs against the rules of the shared policy: those that are surely
// denied, those that are at least asked about, and daily work that passes. ⏎ stands for the end of a line.
func TestProgramsCorpus(t *testing.T) {
	rules := hookRules(t)
	w := worldOf(t, map[string]string{
		"work/.env": "A=1", "work/secrets/a.txt": "s", "work/src/a.go": "", "work/package.json": "{}", "work/yarn.lock": "",
		"work/.git/hooks/x": "", "home/.ssh/id_rsa": "k", "home/.bashrc": "",
	}, nil)
	for name, fits := range map[string]string{"denied": "deny", "asked": "deny ask", "passed": "allow"} {
		data, err := os.ReadFile(filepath.Join("testdata", "programs", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		texts := strings.Split(strings.TrimSpace(string(data)), "\n")
		if len(texts) < 50 {
			t.Errorf("only %d texts are %s", len(texts), name)
		}
		for _, text := range texts {
			fresh := *w
			effects := Shell(strings.ReplaceAll(text, "⏎", "\n"), &fresh)
			if decision, rule := decided(rules, effects, &fresh); !strings.Contains(fits, decision) {
				t.Errorf("%s: %q: %s by %q\n\t%s", name, text, decision, rule, strings.Join(described(effects), "\n\t"))
			}
		}
	}
}

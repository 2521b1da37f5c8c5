//go:build unix

package docs_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// verdict is what must be found in a chain of testdata/conformance.
type verdict struct {
	File         string `json:"file"`
	OK           bool   `json:"ok"`
	Head         string `json:"head_sha256"`
	FirstBadLine int    `json:"first_bad_line"`
}

func readVerdicts(t *testing.T, dir string) []verdict {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "expected.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []verdict
	for row := range strings.Lines(string(text)) {
		var v verdict
		if err := json.Unmarshal([]byte(row), &v); err != nil {
			t.Fatal(err)
		}
		verdicts = append(verdicts, v)
	}
	if len(verdicts) < 20 {
		t.Fatalf("only %d chains", len(verdicts))
	}
	return verdicts
}

// TestVerifiersOfThePage gives the verifiers that docs/reference/ledger.md writes all the chains that ours must judge.
func TestVerifiersOfThePage(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"python3", "jq", "sha256sum"} {
		need(t, tool)
	}
	dir := t.TempDir()
	problems, err := readPage(t, filepath.Join(root, "docs", "reference", "ledger.md")).run(dir)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	chains := filepath.Join(root, "testdata", "conformance", "chains")
	zeros, ones := strings.Repeat("0", 64), strings.Repeat("1", 64)
	verdicts := append(readVerdicts(t, chains),
		verdict{File: writeForged(t, dir, "good.jsonl", `{"prev_sha256":"`+zeros+`","ts":1}`), OK: true},
		verdict{File: writeForged(t, dir, "spaced.jsonl", `{"prev_sha256": "`+zeros+`","ts":1}`), FirstBadLine: 1},
		verdict{File: writeForged(t, dir, "unlinked.jsonl", `{"prev_sha256":"`+ones+`","ts":1}`), FirstBadLine: 1},
	)
	for _, interpreter := range []string{"python3 verify.py", "sh verify.sh"} {
		program, script, _ := strings.Cut(interpreter, " ")
		for _, want := range verdicts {
			if program == "sh" && want.File == "valid-1000.jsonl" {
				continue // six processes a line are too many for it
			}
			t.Run(interpreter+" "+filepath.Base(want.File), func(t *testing.T) {
				t.Parallel()
				want.hold(t, dir, chains, program, script)
			})
		}
	}
}

// hold gives the chain to a verifier that lies in dir.
func (want verdict) hold(t *testing.T, dir, chains, program, script string) {
	t.Helper()
	name := want.File
	if !filepath.IsAbs(name) {
		name = filepath.Join(chains, name)
	}
	cmd := exec.Command(program, script, name)
	cmd.Dir, cmd.Env = dir, environ()
	out, err := cmd.CombinedOutput()
	if got := err == nil; got != want.OK {
		t.Errorf("got whole %t, want %t: %s", got, want.OK, out)
	}
	if want.OK && !strings.Contains(string(out), want.Head) {
		t.Errorf("got %q, want the head %s", out, want.Head)
	}
	if says := string(out); strings.Contains(says, "is bad") && !strings.Contains(says, fmt.Sprintf("line %d is bad", want.FirstBadLine)) {
		t.Errorf("got %q, want line %d", says, want.FirstBadLine)
	}
}

// writeForged writes a chain of one line, rest with its hash put in before "ts", and returns its path. The hash is
// right for the bytes, behind 64 zeros: only a look at something else tells that the line is bad.
func writeForged(t *testing.T, dir, name, rest string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(strings.Repeat("0", 64) + rest))
	line := strings.Replace(rest, `"ts"`, fmt.Sprintf(`"sha256":"%x","ts"`, sum), 1) + "\n"
	name = filepath.Join(dir, name)
	if err := os.WriteFile(name, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

//go:build unix

package hosts_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// record is the part of a ledger's record that these tests look at.
type record struct {
	RequestID                                            string `json:"request_id"`
	Method, Name, Decision, Outcome, Rule, Session, Host string
	Corrects                                             bool
}

// recordsIn returns the records of a ledger's folder, which must verify.
func recordsIn(t *testing.T, dir string) []record {
	t.Helper()
	if out, err := exec.Command(sallyport, "verify", dir).CombinedOutput(); err != nil {
		t.Fatalf("sallyport verify: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ledger.jsonl"))
	must(t, err)
	var all []record
	for line := range bytes.Lines(text) {
		var r record
		must(t, json.Unmarshal(line, &r))
		all = append(all, r)
	}
	return all
}

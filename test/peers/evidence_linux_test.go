//go:build peers

package peers_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// evidence is a record of the ledger.
type evidence struct {
	Method, Name, Decision, Outcome string
	Rule, Origin, Verdict, Reason   string
	Principal                       string
	RequestID                       string `json:"request_id"`
}

// records returns the records of a ledger.
func records(t *testing.T, ledger string) (all []evidence) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(ledger, "ledger.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var e evidence
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		all = append(all, e)
	}
	return all
}

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/internal/ledger"
	"sallyport/internal/streamable"
)

// TestFloodOfRefusals records ten a second of each kind, so that one kind hides no other.
func TestFloodOfRefusals(t *testing.T) {
	dir := t.TempDir()
	r := refusals{door: openBank(t, dir).door}
	now := time.Unix(1_800_000_000, 0)
	for i := range 3 * maxRefusals {
		if err := r.note(now, streamable.ByOrigin); err != nil {
			t.Fatal(err)
		}
		if i%maxRefusals == 0 {
			if err := r.note(now, streamable.ByToken); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.note(now.Add(time.Second), streamable.ByOrigin); err != nil {
		t.Fatal(err)
	}
	if err := r.note(now.Add(time.Second), streamable.ByHost); err != nil {
		t.Fatal(err)
	}
	records, err := os.ReadFile(filepath.Join(dir, ledger.FileName))
	if err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[string]int{"origin": maxRefusals + 1, "token": 3, "host": 1} {
		if got := strings.Count(string(records), `"rule":"`+rule+`"`); got != want {
			t.Errorf("%d records by %s, want %d", got, rule, want)
		}
	}
}

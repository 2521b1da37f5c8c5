package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/durable"
)

// TestAttemptsWithAnOutcome finds, among thousands of records, those of some attempts with one outcome, whatever others say
// in their texts.
func TestAttemptsWithAnOutcome(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(durable.OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	record := func(attempt string, outcome Outcome) *Record {
		return &Record{RequestID: "r", Method: "tools/call", Name: "pay", Decision: "allow", Outcome: outcome, Principal: "ann", Attempt: attempt}
	}
	var records []*Record
	for i := range 4000 {
		records = append(records, record(fmt.Sprintf("%016x", i), []Outcome{Inconclusive, Committed}[i%2]))
	}
	const forged = `"attempt":"forged","outcome":"committed","attempt":"0000000000000002"`
	liar := record("0000000000000002", Inconclusive)
	liar.RequestID, liar.Reason, liar.Name = forged, forged, forged
	nested := record("", Committed)
	nested.Effects = []byte(`{"attempt":"0000000000000004"}`)
	within := record("0000000000000006", Observed)
	within.Effects = []byte(`{"outcome":"committed"}`)
	odd := record("a\"\\\n\u2028", Committed)
	longest := record("0000000000000fff", Committed)
	longest.Reason, longest.Effects = "long", []byte(`{"writes":["`+strings.Repeat("x", 1<<20)+`"]}`)
	if err := l.AppendAll(append(records, liar, nested, within, odd)...); err != nil {
		t.Fatal(err)
	}
	end := l.End()
	if err := l.AppendAll(longest, record("0000000000000001", Committed)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName)
	asked := []string{"0000000000000000", "0000000000000001", "0000000000000002", "0000000000000003", "0000000000000004", "0000000000000006",
		"0000000000000f9f", "0000000000000fff", odd.Attempt, "forged", "", "nobody's", "0000000000000003"}
	for from, want := range map[int64][]string{
		0:   {"0000000000000001", "0000000000000003", "0000000000000f9f", "0000000000000fff", odd.Attempt},
		end: {"0000000000000001", "0000000000000fff"},
	} {
		got, err := AttemptsWith(path, Committed, asked, from)
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" || err != nil {
			t.Errorf("from %d: %v (-want +got):\n%s", from, err, diff)
		}
	}
	if got, err := AttemptsWith(path, Inconclusive, asked, 0); err != nil || len(got) != 4 || got["0000000000000001"] {
		t.Errorf("with another outcome: %v, %v", got, err)
	}
	if got, err := AttemptsWith(path, Committed, asked, l.End()); err != nil || len(got) != 0 {
		t.Errorf("at the end: %v, %v", got, err)
	}
	if got, err := AttemptsWith(path, Committed, asked, l.End()+1); err == nil || !strings.Contains(err.Error(), "records were lost") {
		t.Errorf("behind the end: %v, %v", got, err)
	}
}

// TestAttemptsWithInDamagedLedgers: what is damaged and may be one of the attempts is an error, what was not written to its
// end is not there, and where nothing is asked nothing is read.
func TestAttemptsWithInDamagedLedgers(t *testing.T) {
	const sound = `{"attempt":"a1","outcome":"committed"}` + "\n"
	for name, test := range map[string]struct {
		text string
		want bool
		err  string
	}{
		"sound":                {sound, true, ""},
		"of another, damaged":  {`{"attempt":"b1","outcome":"committed"` + "\n" + sound, true, ""},
		"ours, damaged":        {sound[:5] + "\n" + `{"attempt":"a1","outcome":"committed"` + "\n", false, "the record at byte 6: "},
		"a name twice":         {`{"attempt":"a1","attempt":"b1","outcome":"committed"}` + "\n", false, "the record at byte 0: "},
		"an escaped attempt":   {`{"attempt":"\u00611","outcome":"committed"}` + "\n", true, ""},
		"without an end":       {`{"attempt":"a1,"outcome":"committed"}` + "\n" + sound, true, ""},
		"cut in the attempt":   {`"outcome":"committed" "attempt":"a` + "\n" + sound, false, "the record at byte 0: "},
		"torn":                 {sound[:len(sound)-1], false, ""},
		"nothing":              {"", false, ""},
		"another's first":      {`{"attempt":"b1","outcome":"committed"}` + "\n" + sound, true, ""},
		"found before damage":  {sound + `{"attempt":"a1","outcome":"committed"` + "\n", true, ""},
		"with another outcome": {`{"attempt":"a1","effects":{"outcome":"committed"},"outcome":"failed"}` + "\n", false, ""},
	} {
		path := filepath.Join(t.TempDir(), FileName)
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := AttemptsWith(path, Committed, []string{"a1"}, 0)
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) || got["a1"] != test.want {
			t.Errorf("%s: %v, %v, want %v and an error with %q", name, got, err, test.want, test.err)
		}
	}
	nowhere := filepath.Join(t.TempDir(), FileName)
	if _, err := AttemptsWith(nowhere, Committed, []string{"a1"}, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a ledger: %v", err)
	}
	if got, err := AttemptsWith(nowhere, Committed, nil, 7); err != nil || len(got) != 0 {
		t.Errorf("without an attempt: %v, %v", got, err)
	}
}

package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/durable"
)

// TestTraces finds, among thousands of records, those of some attempts, whatever others say in their texts.
func TestTraces(t *testing.T) {
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
	liar := record("0000000000000002", Failed)
	liar.RequestID, liar.Reason, liar.Name = forged, forged, forged
	nested := record("", Committed)
	nested.Effects = []byte(`{"attempt":"0000000000000004"}`)
	within := record("0000000000000006", Observed)
	within.Effects, within.Verdict = []byte(`{"outcome":"committed","verdict":"STOP"}`), "CONTINUE"
	looked := record("0000000000000006", Failed)
	looked.Origin = "verify"
	odd := record("a\"\\\n\u2028", Committed)
	longest := record("0000000000000fff", Committed)
	longest.Reason, longest.Effects = "long", []byte(`{"writes":["`+strings.Repeat("x", 1<<20)+`"]}`)
	if err := l.AppendAll(append(records, liar, nested, within, looked, odd)...); err != nil {
		t.Fatal(err)
	}
	end := l.End()
	stopped := record("0000000000000001", Observed)
	stopped.Verdict = "STOP"
	if err := l.AppendAll(longest, stopped); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName)
	asked := []string{"0000000000000000", "0000000000000001", "0000000000000002", "0000000000000004", "0000000000000006",
		"0000000000000fff", odd.Attempt, "forged", "", "nobody's", "0000000000000000"}
	of := func(verdict string, outcomes ...Outcome) Trace { return Trace{outcomes, verdict} }
	for from, want := range map[int64]map[string]Trace{
		0: {"0000000000000000": of("", Inconclusive), "0000000000000001": of("STOP", Committed, Observed), "0000000000000002": of("", Inconclusive, Failed),
			"0000000000000004": of("", Inconclusive), "0000000000000006": of("CONTINUE", Inconclusive, Observed), odd.Attempt: of("", Committed),
			"0000000000000fff": of("", Committed)},
		end: {"0000000000000001": of("STOP", Observed), "0000000000000fff": of("", Committed)},
	} {
		inFile, fileErr := TracesIn(path, from, asked...)
		inLedger, err := l.Traces(from, asked...)
		for _, got := range []map[string]Trace{inFile, inLedger} {
			if diff := cmp.Diff(want, got); diff != "" || err != nil || fileErr != nil {
				t.Errorf("from %d: %v, %v (-want +got):\n%s", from, err, fileErr, diff)
			}
		}
	}
	if got, err := TracesIn(path, l.End(), asked...); err != nil || len(got) != 0 {
		t.Errorf("at the end: %v, %v", got, err)
	}
	for _, traces := range []func(int64, ...string) (map[string]Trace, error){l.Traces, func(from int64, a ...string) (map[string]Trace, error) { return TracesIn(path, from, a...) }} {
		if got, err := traces(l.End()+1, asked...); err == nil || !strings.Contains(err.Error(), "records were lost") {
			t.Errorf("behind the end: %v, %v", got, err)
		}
	}
	trace := of("", Committed, Failed)
	if !trace.Has(Failed) || trace.Has(Observed) {
		t.Errorf("%+v has failed: %t, observed: %t", trace, trace.Has(Failed), trace.Has(Observed))
	}
}

// TestTracesInDamagedLedgers: what is damaged and may be one of the attempts is an error, what was not written to its
// end is not there, and where nothing is asked nothing is read.
func TestTracesInDamagedLedgers(t *testing.T) {
	const sound, damaged = `{"attempt":"a1","outcome":"committed"}` + "\n", "reading a record: "
	for name, test := range map[string]struct {
		text string
		want bool
		err  string
	}{
		"sound":                {sound, true, ""},
		"of another, damaged":  {`{"attempt":"b1","outcome":"committed"` + "\n" + sound, true, ""},
		"ours, damaged":        {sound[:5] + "\n" + `{"attempt":"a1","outcome":"committed"` + "\n", false, damaged},
		"a name twice":         {`{"attempt":"a1","attempt":"b1","outcome":"committed"}` + "\n", false, damaged},
		"an escaped attempt":   {`{"attempt":"\u00611","outcome":"committed"}` + "\n", true, ""},
		"without an end":       {`{"attempt":"a1,"outcome":"committed"}` + "\n" + sound, true, ""},
		"cut in the attempt":   {`"outcome":"committed" "attempt":"a` + "\n" + sound, false, damaged},
		"torn":                 {sound[:len(sound)-1], false, ""},
		"nothing":              {"", false, ""},
		"another's first":      {`{"attempt":"b1","outcome":"committed"}` + "\n" + sound, true, ""},
		"damage behind it":     {sound + `{"attempt":"a1","outcome":"committed"` + "\n", false, damaged},
		"with another outcome": {`{"attempt":"a1","effects":{"outcome":"committed"},"outcome":"failed"}` + "\n", false, ""},
	} {
		path := filepath.Join(t.TempDir(), FileName)
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := TracesIn(path, 0, "a1")
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) || got["a1"].Has(Committed) != test.want {
			t.Errorf("%s: %v, %v, want %v and an error with %q", name, got, err, test.want, test.err)
		}
	}
	nowhere := filepath.Join(t.TempDir(), FileName)
	if _, err := TracesIn(nowhere, 0, "a1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a ledger: %v", err)
	}
	if got, err := TracesIn(nowhere, 7); err != nil || len(got) != 0 {
		t.Errorf("without an attempt: %v, %v", got, err)
	}
}

package mutation

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzLine looks for an entry that does not come back as it was written, and for a changed line that is taken for one.
func FuzzLine(f *testing.F) {
	f.Add("local", "write_note", "req-0001", "", "", "", []byte(`{"a":1}`), int64(7), 0, byte(0))
	f.Add("ann", "pay", "\x00é\u2028", "bank", "r", "whole", []byte(`{"b":"\ud800"}`), int64(-1), 70, byte('x'))
	f.Fuzz(func(t *testing.T, principal, tool, id, upstream, round, form string, result []byte, when int64, at int, change byte) {
		for _, text := range []string{principal, tool, id, upstream, round, form, string(result)} {
			if !utf8.ValidString(text) {
				t.Skip()
			}
		}
		want := entry{key: Key{Principal: principal, Tool: tool, ID: id, Upstream: upstream, Round: round}, Entry: Entry{
			State: Done, Attempt: "0123456789abcdef", Fingerprint: "f", Approval: round, Offset: 5, Time: when, Outcome: "committed",
			Form: form, Result: append([]byte{}, result...), Record: []byte(`{"request_id":"x"}`)}}
		line := appendLine(nil, Done, want.key.sum(), want.json())
		got, err := parseLine(line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if approval, err := approvalOf(line); approval != round || err != nil {
			t.Errorf("%q: the approval is %q, %v, want %q", line, approval, err, round)
		}
		if at < 0 || at >= len(line)-1 || line[at] == change {
			return
		}
		changed := bytes.Clone(line)
		changed[at] = change
		if _, err := parseLine(changed); err == nil {
			t.Errorf("a line with another byte at %d is taken: %q", at, changed)
		}
	})
}

package ledger

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/durable/crashfs"
)

// allFields has every field set, so that a field which is added but not spelt, or is spelt out of
// order, shows.
var allFields = Record{
	RequestID: "req-0001", Method: "tools/call", Name: "write_note", Decision: "allow", Outcome: Committed,
	ArgsDigest: strings.Repeat("a", 64), PolicyDigest: strings.Repeat("b", 64), Principal: "local", Rule: "allow",
	Attempt: "0123456789abcdef", TraceID: strings.Repeat("c", 32), Recovered: true, TornFile: "ledger.jsonl.torn-1", TornBytes: 7,
	Host: "claude", Session: "s-1", Effects: []byte(`{"runs":["git push"]}`), Observed: "deny", ObservedRule: "force-push", Corrects: true,
	Reason: "looked at it", Scope: "ann", Tenant: "acme", Upstream: "files",
	Origin: "plan", Approval: "00112233445566aa", Verdict: "CONTINUE", Expected: strings.Repeat("d", 64), ObservedSum: strings.Repeat("e", 64),
	Plan: strings.Repeat("f", 64), Run: "r-1", Step: "deploy", Proof: strings.Repeat("0", 64),
}

func TestRecordsAreCanonicalAndComplete(t *testing.T) {
	fields := reflect.TypeFor[Record]().NumField()
	for i := range fields {
		if name := reflect.TypeFor[Record]().Field(i).Name; reflect.ValueOf(allFields).Field(i).IsZero() {
			t.Errorf("allFields lacks %s", name)
		}
	}
	for _, r := range []Record{allFields, {}, {RequestID: "päth/../\x00😀\u2028<&>", Name: strings.Repeat("é", 1000)}} {
		line, _ := r.encode().appendTo(nil, genesis, 1)
		if err := canon.CheckObject(line[:len(line)-1], func(_, _ []byte, _, _ int) {}); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if _, err := link(&genesis, line[:len(line)-1]); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	v, err := canon.Parse(allFields.Body())
	if err != nil {
		t.Fatal(err)
	}
	members := 0
	for range v.Members() {
		members++
	}
	if members != fields {
		t.Errorf("the body has %d members, want %d: %s", members, fields, v.Bytes())
	}
}

func TestLongTextIsCutAndMarked(t *testing.T) {
	long := strings.Repeat("x", maxText-1) + "é" + strings.Repeat("y", 100_000)
	r := Record{RequestID: long, Name: "n"}
	v, err := canon.Parse(r.Body())
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := v.Get("request_id").Text(); got != strings.Repeat("x", maxText-1) {
		t.Errorf("request_id has %d bytes", len(got))
	}
	if sum, _ := v.Get("request_id_sha256").Text(); len(sum) != 64 {
		t.Errorf("request_id_sha256 = %q", sum)
	}
	if v.Get("name_sha256").Exists() {
		t.Error("a short name is marked as cut")
	}
}

// TestLineAsItStands holds the line of a record with every field to what other programs read.
func TestLineAsItStands(t *testing.T) {
	line, _ := allFields.encode().appendTo(nil, genesis, 9)
	hex := func(digit string) string { return strings.Repeat(digit, 64) }
	want := `{"approval":"00112233445566aa","args_digest":"` + hex("a") + `","attempt":"0123456789abcdef","corrects":true,` +
		`"decision":"allow","effects":{"runs":["git push"]},"expected_digest":"` + hex("d") + `","host":"claude",` +
		`"method":"tools/call","name":"write_note","observed":"deny","observed_digest":"` + hex("e") + `",` +
		`"observed_rule":"force-push","origin":"plan","outcome":"committed","plan":"` + hex("f") + `","policy_digest":"` + hex("b") + `",` +
		`"prev_sha256":"` + hex("0") + `","principal":"local","proof":"` + hex("0") + `","reason":"looked at it","recovered":true,` +
		`"request_id":"req-0001","rule":"allow","run":"r-1","scope":"ann","session":"s-1",` +
		`"sha256":"6e7bd025998cd43037cd22088dee1b3042d717ef111ab76d2be33c76aa47454f","step":"deploy","tenant":"acme","torn_bytes":7,"torn_file":"ledger.jsonl.torn-1","trace_id":"` + strings.Repeat("c", 32) + `",` +
		`"ts":9,"upstream":"files","verdict":"CONTINUE"}` + "\n"
	if diff := cmp.Diff(want, string(line)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRecoveredRecordIsTheKeptOneMarked(t *testing.T) {
	r := allFields
	r.Recovered, r.TornFile, r.TornBytes = false, "", 0
	kept := r.Body()
	r.Recovered = true
	for name, body := range map[string][]byte{"kept": kept, "marked already": r.Body()} {
		t.Run(name, func(t *testing.T) { wantRecovered(t, body, &r) })
	}
}

func wantRecovered(t *testing.T, body []byte, want *Record) {
	t.Helper()
	fs := crashfs.New()
	fs.OwnDir("d")
	l := open(t, fs, "d")
	if err := l.AppendRecovered(body); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(want); err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile("d/" + FileName)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := Verify(bytes.NewReader(text)); err != nil || !v.OK || v.Records != 2 {
		t.Fatalf("verdict %+v, %v\n%s", v, err, text)
	}
	var lines []map[string]any
	for line := range strings.Lines(string(text)) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		for _, own := range []string{"prev_sha256", "sha256", "ts"} {
			delete(m, own)
		}
		lines = append(lines, m)
	}
	if diff := cmp.Diff(lines[1], lines[0]); diff != "" {
		t.Errorf("recovered record (-want +got):\n%s", diff)
	}
}

// FuzzRecord looks for a record, whatever its texts are, whose line is not canonical, does not link, or is another one when it is
// appended after a crash.
func FuzzRecord(f *testing.F) {
	f.Add("req-0001", "deploy", "CONTINUE", "00112233445566aa", "verify", "looked at it", uint16(0xffff))
	f.Add("\x00é\u2028", "", "", "", "", "", uint16(0))
	f.Add("", "a\"b", "", "\\", "", strings.Repeat("é", 1000), uint16(0x5555))
	f.Fuzz(func(t *testing.T, id, step, verdict, approval, origin, reason string, set uint16) {
		for _, text := range []string{id, step, verdict, approval, origin, reason} {
			if !utf8.ValidString(text) {
				return
			}
		}
		// Each other field is there or not, as the bits say.
		r := Record{RequestID: id, Step: step, Verdict: verdict, Approval: approval, Origin: origin, Reason: reason}
		bit := 0
		v := reflect.ValueOf(&r).Elem()
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Recovered" {
				if set>>(bit%16)&1 == 1 {
					v.Field(i).Set(reflect.ValueOf(allFields).Field(i))
				}
				bit++
			}
		}
		line, _ := r.encode().appendTo(nil, genesis, 1)
		if err := canon.CheckObject(line[:len(line)-1], func(_, _ []byte, _, _ int) {}); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if _, err := link(&genesis, line[:len(line)-1]); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		e, err := recoveredEntry(r.Body())
		if err != nil {
			t.Fatalf("%s: %v", r.Body(), err)
		}
		again, _ := e.appendTo(nil, genesis, 1)
		r.Recovered = true
		if want, _ := r.encode().appendTo(nil, genesis, 1); string(again) != string(want) {
			t.Errorf("recovered it is\n%s, want\n%s", again, want)
		}
	})
}

package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
)

const chains = "../../testdata/conformance/chains"

// TestVerdictsOnConformanceChains holds Verify to the verdict on each chain file.
func TestVerdictsOnConformanceChains(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chains, "expected.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for line := range strings.Lines(string(text)) {
		var want struct {
			File    string `json:"file"`
			OK      bool   `json:"ok"`
			Line    int64  `json:"first_bad_line"`
			Kind    Kind   `json:"kind"`
			Records int64  `json:"valid_records_before"`
			Head    string `json:"head_sha256"`
		}
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatal(err)
		}
		files++
		data, err := os.ReadFile(filepath.Join(chains, want.File))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Verify(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", want.File, err)
		}
		if got.OK != want.OK || got.FirstBadLine != want.Line || got.Kind != want.Kind || got.Records != want.Records {
			t.Errorf("%s: got %+v, want %+v", want.File, got, want)
		}
		if want.Head != "" && got.Head != want.Head {
			t.Errorf("%s: head %s, want %s", want.File, got.Head, want.Head)
		}
	}
	if files != 24 {
		t.Errorf("%d chain files, want 24", files)
	}
}

func open(t *testing.T, fsys durable.FS, dir string) *Ledger {
	t.Helper()
	l, err := Open(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func verifyDir(t *testing.T, dir string) Verdict {
	t.Helper()
	f, err := Snapshot(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := Verify(f)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestManyAppendersMakeOneChain has several ledgers on one file, as several processes have.
func TestManyAppendersMakeOneChain(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		l := open(t, durable.OS, dir)
		for range 8 {
			wg.Go(func() {
				for i := range 10 {
					if err := l.Append(&Record{RequestID: fmt.Sprint(i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if v := verifyDir(t, dir); !v.OK || v.Records != 320 {
		t.Errorf("verdict %+v, want 320 whole records", v)
	}
}

func TestTornTailIsNotedInTheChain(t *testing.T) {
	dir := t.TempDir()
	l := open(t, durable.OS, dir)
	if err := l.Append(&Record{RequestID: "a"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName)
	tear(t, path, `{"args_digest":"cut sh`)
	if v := verifyDir(t, dir); v.Kind != TornTail || v.FirstBadLine != 2 {
		t.Errorf("torn: verdict %+v", v)
	}
	if err := l.Append(&Record{RequestID: "b"}); err != nil {
		t.Fatal(err)
	}
	if v := verifyDir(t, dir); !v.OK || v.Records != 3 {
		t.Errorf("mended: verdict %+v, want 3 whole records", v)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"torn_bytes":22,"torn_file":"ledger.jsonl.torn-`) {
		t.Errorf("the torn tail is not noted:\n%s", text)
	}
	aside, err := filepath.Glob(path + ".torn-*")
	if err != nil || len(aside) != 1 {
		t.Errorf("set aside: %q, %v", aside, err)
	}
}

func tear(t *testing.T, path, rest string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(rest); err != nil {
		t.Fatal(err)
	}
}

func TestHoldsFindsAnAttemptFromAnOffsetOn(t *testing.T) {
	fs := crashfs.New()
	fs.OwnDir("d")
	l := open(t, fs, "d")
	appendOne := func(attempt string) {
		t.Helper()
		if err := l.Append(&Record{RequestID: `"attempt":"fake"`, Attempt: attempt, Outcome: Committed}); err != nil {
			t.Fatal(err)
		}
	}
	appendOne("one")
	end := l.End()
	appendOne("two")
	for _, test := range []struct {
		attempt string
		from    int64
		want    bool
	}{{"one", 0, true}, {"two", 0, true}, {"two", end, true}, {"one", end, false}, {"on", 0, false}, {"fake", 0, false}} {
		if got, err := l.Holds(test.attempt, Committed, test.from); err != nil || got != test.want {
			t.Errorf("Holds(%q, %d) = %v, %v, want %v", test.attempt, test.from, got, err, test.want)
		}
	}
	if got, err := l.Holds("one", Inconclusive, 0); err != nil || got {
		t.Errorf("another outcome of the attempt: %v, %v", got, err)
	}
	if _, err := l.Holds("one", Committed, l.End()+1); err == nil {
		t.Error("a ledger that lost records was not noticed")
	}
}

func TestHoldsMutations(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	l := open(t, durable.OS, dir)
	for _, step := range []struct {
		record Record
		want   bool
	}{{Record{RequestID: `"attempt":"x"`}, false}, {Record{Attempt: "x"}, true}} {
		if err := l.Append(&step.record); err != nil {
			t.Fatal(err)
		}
		if got, err := HoldsMutations(path); err != nil || got != step.want {
			t.Errorf("after %+v: %v, %v, want %v", step.record, got, err, step.want)
		}
	}
	if got, err := HoldsMutations(filepath.Join(chains, "valid-10.jsonl")); err != nil || got {
		t.Errorf("a chain of somebody else's: %v, %v", got, err)
	}
}

func TestTimeComesFromTheClock(t *testing.T) {
	fs := crashfs.New()
	fs.OwnDir("d")
	l := open(t, fs, "d")
	l.now = func() time.Time { return time.Unix(1, 5) }
	if err := l.Append(&Record{}); err != nil {
		t.Fatal(err)
	}
	text, _ := fs.ReadFile("d/" + FileName)
	if !strings.HasSuffix(string(text), `,"ts":1000000005}`+"\n") {
		t.Errorf("line %s", text)
	}
}

func TestRefusingLedgerTakesNothing(t *testing.T) {
	why := errors.New("why")
	l := Refusing(why)
	if err := l.Append(&Record{}); !errors.Is(err, why) {
		t.Errorf("Append: %v", err)
	}
	if err := l.Ready(); !errors.Is(err, why) {
		t.Errorf("Ready: %v", err)
	}
	if _, err := l.Holds("a", Committed, 0); !errors.Is(err, why) {
		t.Errorf("Holds: %v", err)
	}
	if err := l.Close(); err != nil || l.End() != 0 {
		t.Errorf("Close: %v, End %d", err, l.End())
	}
}

func TestFullDiskLosesNothingAcknowledged(t *testing.T) {
	fs := crashfs.New()
	fs.OwnDir("d")
	l := open(t, fs, "d")
	acknowledged := 0
	full := false
	fs.FailOn(func(op crashfs.Op, _ string, _ int) error {
		if op == crashfs.Write && full {
			return syscall.ENOSPC
		}
		return nil
	})
	for i := range 30 {
		full = i%3 == 1
		switch err := l.Append(&Record{RequestID: fmt.Sprint(i)}); {
		case err == nil && full:
			t.Fatal("written to a full disk")
		case err == nil:
			acknowledged++
		case !errors.Is(err, syscall.ENOSPC):
			t.Fatal(err)
		}
	}
	text, _ := fs.ReadFile("d/" + FileName)
	if v, err := Verify(bytes.NewReader(text)); err != nil || !v.OK || v.Records != int64(acknowledged) || acknowledged != 20 {
		t.Errorf("verdict %+v, %v, %d acknowledged", v, err, acknowledged)
	}
}

// python writes records as docs/reference/ledger.md describes them, from nothing but that.
const python = `
import fcntl, hashlib, json, os, sys
canonical = lambda v: json.dumps(v, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
with open(sys.argv[1], "r+b") as f:
    for i in range(int(sys.argv[2])):
        fcntl.flock(f, fcntl.LOCK_EX)
        f.seek(0)
        lines = f.read().split(b"\n")
        assert lines[-1] == b""
        prev = json.loads(lines[-2])["sha256"] if len(lines) > 1 else "0" * 64
        record = {"ts": i, "request_id": "py-%d \u00e9\u2028\U0001f600" % i, "method": "tools/call", "name": "python",
                  "decision": "allow", "outcome": "observed", "args_digest": "0" * 64, "prev_sha256": prev, "ratio": 1e-05}
        record["sha256"] = hashlib.sha256((prev + canonical(record)).encode()).hexdigest()
        f.write((canonical(record) + "\n").encode())
        f.flush()
        os.fsync(f.fileno())
        fcntl.flock(f, fcntl.LOCK_UN)
`

// TestPythonAndWeMakeOneChain appends from both sides, in turn and at once.
func TestPythonAndWeMakeOneChain(t *testing.T) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on this machine")
	}
	dir := t.TempDir()
	l := open(t, durable.OS, dir)
	path := filepath.Join(dir, FileName)
	theirs := func(n int) {
		if out, err := exec.Command(interpreter, "-c", python, path, fmt.Sprint(n)).CombinedOutput(); err != nil {
			t.Errorf("python: %v\n%s", err, out)
		}
	}
	ours := func(n int) {
		for range n {
			if err := l.Append(&allFields); err != nil {
				t.Error(err)
			}
		}
	}
	theirs(1)
	ours(2)
	theirs(3)
	ours(1)
	var wg sync.WaitGroup
	wg.Go(func() { theirs(30) })
	wg.Go(func() { ours(30) })
	wg.Wait()
	if v := verifyDir(t, dir); !v.OK || v.Records != 67 {
		t.Errorf("verdict %+v, want 67 whole records", v)
	}
}

// FuzzVerify looks for a chain that verifies although it differs from what a writer wrote.
func FuzzVerify(f *testing.F) {
	whole, err := os.ReadFile(filepath.Join(chains, "valid-10.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(0, []byte("x"), 1)
	f.Add(100, []byte(""), 3)
	f.Fuzz(func(t *testing.T, at int, insert []byte, remove int) {
		if at < 0 || remove < 0 || at+remove > len(whole) || at+remove < 0 {
			return
		}
		changed := append(append(append([]byte(nil), whole[:at]...), insert...), whole[at+remove:]...)
		v, err := Verify(bytes.NewReader(changed))
		if err != nil {
			t.Fatal(err)
		}
		// Whole lines missing at the end are what a chain alone cannot show.
		if v.OK && !bytes.HasPrefix(whole, changed) {
			t.Errorf("a changed chain verifies: removed %d bytes at %d, put in %q", remove, at, insert)
		}
	})
}

package mutation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
)

const approval = "00112233445566aa"

func intendBy(t *testing.T, c *Claim, approval string) {
	t.Helper()
	if err := c.Intend(Intent{Attempt: NewAttempt(), Fingerprint: "f", Offset: 7, Record: record, Approval: approval}); err != nil {
		t.Fatal(err)
	}
}

func takeBack(t *testing.T, c *Claim) {
	t.Helper()
	if err := c.Free(); err != nil {
		t.Fatal(err)
	}
}

func wantSpent(t *testing.T, when string, c *Claims, approval string, want bool) {
	t.Helper()
	if got, err := c.Spent(approval); got != want || err != nil {
		t.Errorf("%s: %s is spent %v, %v, want %v", when, approval, got, err, want)
	}
}

// TestLinesAsTheyStand holds what is written to the lines of this release and of those before it, which had no approvals.
func TestLinesAsTheyStand(t *testing.T) {
	e := entry{key: key, Entry: Entry{State: Intended, Attempt: "0123456789abcdef", Fingerprint: "f", Offset: 5, Time: 9, Record: record}}
	const sum = "c2d25b07d3588ceacb6ff90144bf8c48155ba402fc992b25ca14d4c343e196c9"
	for _, test := range []struct {
		approval, line string
	}{
		{"", "5d4622555a3a61cbcbdc4eb02ed03bdae65d1220a7c73a1cb575d8d1c077e9a9 I " + sum +
			` {"attempt":"0123456789abcdef","fingerprint":"f","id":"req-0001","offset":5,"principal":"local","record":{"request_id":"req-0001"},"time":9,"tool":"write_note"}` + "\n"},
		{approval, "8104b7f431fd0491fba3d8f1686cce9eb6a0e72ff9a513ccddf03082c688006e I " + sum +
			` {"approval":"00112233445566aa","attempt":"0123456789abcdef","fingerprint":"f","id":"req-0001","offset":5,"principal":"local","record":{"request_id":"req-0001"},"time":9,"tool":"write_note"}` + "\n"},
	} {
		e.Approval = test.approval
		if diff := cmp.Diff(test.line, string(appendLine(nil, Intended, key.sum(), e.json()))); diff != "" {
			t.Errorf("approval %q (-want +got):\n%s", test.approval, diff)
		}
		got, err := parseLine([]byte(test.line))
		if err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(e, got, cmp.AllowUnexported(entry{})); diff != "" {
			t.Errorf("approval %q (-want +got):\n%s", test.approval, diff)
		}
	}
}

// TestSpent follows approvals through what may become of the intents that used them up, as the process itself sees it,
// another one that had looked before, and one that comes later.
func TestSpent(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, dir string) {
		ours, theirs := open(t, fsys, dir), open(t, fsys, dir)
		check := func(when, approval string, want bool) {
			t.Helper()
			wantSpent(t, when, ours, approval, want)
			wantSpent(t, when+", elsewhere", theirs, approval, want)
			later := open(t, fsys, dir)
			defer later.Close()
			wantSpent(t, when+", later", later, approval, want)
		}
		check("before anything", approval, false)
		claim := begin(t, ours, key)
		intendBy(t, claim, approval)
		check("intended", approval, true)
		check("another", "00112233445566ab", false)
		check("the empty one", "", false)
		takeBack(t, claim)
		check("taken back", approval, false)
		intendBy(t, claim, approval)
		check("intended again", approval, true)
		complete(t, claim)
		claim.MarkRecorded(9)
		claim.Release()
		check("done", approval, true)

		other := Key{ID: "other"}
		claim = begin(t, theirs, other)
		intendBy(t, claim, "b")
		check("intended by another", "b", true)
		complete(t, claim)
		intendBy(t, claim, "c") // as where an operator said that the first did not happen
		check("when the key went on", "b", true)
		check("when the key went on, the next", "c", true)
		takeBack(t, claim)
		check("when the next was taken back", "b", true)
		check("when the next was taken back, that", "c", false)
		intend(t, claim) // an intent that needed none
		takeBack(t, claim)
		check("when one without was taken back", "b", true)
		claim.Release()

		odd := `quo"te\` + "\n\u2028"
		claim = begin(t, ours, Key{ID: `"approval":"d"`})
		if err := claim.Intend(Intent{Attempt: `{"approval":"d"`, Fingerprint: "f", Record: []byte(`{"approval":"d"}`), Approval: odd}); err != nil {
			t.Fatal(err)
		}
		check("an odd one", odd, true)
		check("what only looks like one", "d", false)
		claim.Release()

		claim = begin(t, open(t, fsys, dir), key)
		if claim.Approval != approval {
			t.Errorf("the claim was by %q, want %q", claim.Approval, approval)
		}
		claim.Release()
	})
}

// TestSpentFollowsLinesInOrder sees an approval given back and used again by others between two lines of its own.
func TestSpentFollowsLinesInOrder(t *testing.T) {
	disk := crashfs.New()
	disk.OwnDir("d")
	ours, theirs := open(t, disk, "d"), open(t, disk, "d")
	claim := begin(t, ours, key)
	claim.Release()
	claim = begin(t, theirs, key)
	intendBy(t, claim, "a")
	takeBack(t, claim)
	intendBy(t, claim, "b")
	complete(t, claim)
	claim.Release()
	claim = begin(t, ours, key)
	intendBy(t, claim, "c")
	wantSpent(t, "taken back", ours, "a", false)
	wantSpent(t, "of the others", ours, "b", true)
	wantSpent(t, "our own", ours, "c", true)
}

// TestApprovalIsSpentByTheIntentsOwnWrite looks at every state that a crash could leave: the approval is spent exactly where
// the intent is there, and certainly where Intend had returned.
func TestApprovalIsSpentByTheIntentsOwnWrite(t *testing.T) {
	disk := crashfs.New()
	disk.OwnDir("d")
	claims := open(t, disk, "d")
	from := disk.Changes()
	claim := begin(t, claims, key)
	intendBy(t, claim, approval)
	done := disk.Changes()
	states := map[bool]int{}
	for crash := range disk.Crashes(from) {
		after, err := Open(crash.FS, "d", func() (bool, error) { return false, nil })
		if err != nil {
			t.Errorf("%v: %v", crash, err)
			continue
		}
		spent, err := after.Spent(approval)
		e, lookErr := after.Look(key)
		if err != nil || lookErr != nil || spent != (e.State == Intended) || spent != (e.Approval == approval) {
			t.Errorf("%v: spent %v, %v, with %+v, %v", crash, spent, err, e, lookErr)
		}
		if crash.After >= done && !spent {
			t.Errorf("%v: it may be used again", crash)
		}
		states[spent]++
	}
	if states[true] == 0 || states[false] == 0 {
		t.Errorf("the states that were looked at: %v", states)
	}
}

// TestSpentFailsClosed calls every approval spent where that cannot be told: without claims, and where its line was changed.
func TestSpentFailsClosed(t *testing.T) {
	why := errors.New("no claims")
	if spent, err := Refusing(why).Spent(approval); !spent || !errors.Is(err, why) {
		t.Errorf("without claims: %v, %v", spent, err)
	}
	for name, change := range map[string]func(line []byte) []byte{
		"another approval": func(line []byte) []byte { return bytes.Replace(line, []byte("66aa"), []byte("66ab"), 1) },
		"cut off":          func(line []byte) []byte { return bytes.Replace(line, []byte("66aa\""), []byte("66aaa"), 1) },
	} {
		dir := t.TempDir()
		claims := open(t, durable.OS, dir)
		claim := begin(t, claims, key)
		intendBy(t, claim, approval)
		complete(t, claim)
		claim.Release()
		takeBack(t, freed(t, claims)) // so that the line is not the last
		path := filepath.Join(dir, FileName)
		f, err := durable.OS.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		size, _ := f.Size()
		text := make([]byte, size)
		if _, err := f.ReadAt(text, 0); err != nil {
			t.Fatal(err)
		}
		changed := change(text)
		if bytes.Equal(changed, text) || len(changed) != len(text) {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, err := f.WriteAt(changed, 0); err != nil {
			t.Fatal(err)
		}
		if spent, err := open(t, durable.OS, dir).Spent(approval); !spent || !errors.Is(err, durable.ErrDamaged) {
			t.Errorf("%s: %v, %v, want ErrDamaged", name, spent, err)
		}
	}
}

// freed is a claim with an intent that may be taken back.
func freed(t *testing.T, c *Claims) *Claim {
	claim := begin(t, c, Key{ID: "freed"})
	intend(t, claim)
	return claim
}

// BenchmarkSpent measures the question to an index that is up to date, and how long one takes to be made with and without
// approvals in its lines.
func BenchmarkSpent(b *testing.B) {
	const lines = 1000
	for _, approval := range []string{"", "%016x"} {
		var file []byte
		for i := range lines {
			k := Key{Principal: "local", Tool: "write_note", ID: fmt.Sprintf("req-%04d", i)}
			e := entry{key: k, Entry: Entry{State: Intended, Attempt: "0123456789abcdef", Fingerprint: strings.Repeat("f", 64), Record: record}}
			if approval != "" {
				e.Approval = fmt.Sprintf(approval, i)
			}
			file = appendLine(file, Intended, k.sum(), e.json())
		}
		b.Run("index/"+map[bool]string{true: "without", false: "with"}[approval == ""], func(b *testing.B) {
			for b.Loop() {
				x := newIndex()
				if err := x.read(io.NewSectionReader(bytes.NewReader(file), 0, int64(len(file)))); err != nil {
					b.Fatal(err)
				}
				if x.isSpent(fmt.Sprintf("%016x", lines-1)) != (approval != "") {
					b.Fatal("the last approval is not where it should be")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lines, "ns/line")
		})
	}
}

package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
)

// requestIDs are those of a ledger's records in order, and of those that note a torn tail "torn".
func requestIDs(t *testing.T, text []byte) []string {
	t.Helper()
	var ids []string
	err := Read(bytes.NewReader(text), func(line canon.Value) error {
		id, _ := line.Get("request_id").Text()
		if line.Get("torn_file").Exists() {
			id = "torn"
		}
		ids = append(ids, id)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return ids
}

// TestAppendAllWritesOnce puts records next to each other with one write and one sync, in the order given.
func TestAppendAllWritesOnce(t *testing.T) {
	disk := crashfs.New()
	disk.OwnDir("d")
	l := open(t, disk, "d")
	ops := map[crashfs.Op]int{}
	disk.FailOn(func(op crashfs.Op, _ string, _ int) error { ops[op]++; return nil })
	if err := l.AppendAll(); err != nil || len(ops) != 0 {
		t.Errorf("no records: %v, %v", err, ops)
	}
	if err := l.AppendAll(&Record{RequestID: "a"}, &Record{RequestID: "b"}, &Record{RequestID: "c"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[crashfs.Op]int{crashfs.Write: 1, crashfs.Sync: 1}, ops); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text, err := disk.ReadFile("d/" + FileName)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := Verify(bytes.NewReader(text)); err != nil || !v.OK || v.Records != 3 {
		t.Errorf("verdict %+v, %v", v, err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, requestIDs(t, text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if end := l.End(); end != int64(len(text)) {
		t.Errorf("the ledger ends at %d, want %d", end, len(text))
	}
}

// TestAppendAllKeepsTogether has many append twos and threes from several ledgers on one file: none come between.
func TestAppendAllKeepsTogether(t *testing.T) {
	disk := crashfs.New()
	disk.OwnDir("d")
	var all sync.WaitGroup
	for p := range 3 {
		l := open(t, disk, "d")
		for c := range 4 {
			all.Go(func() {
				for i := range 10 {
					id := fmt.Sprintf("%d/%d/%d", p, c, i)
					if err := l.AppendAll(&Record{RequestID: id + "+"}, &Record{RequestID: id}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	text, err := disk.ReadFile("d/" + FileName)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := Verify(bytes.NewReader(text)); err != nil || !v.OK || v.Records != 240 {
		t.Errorf("verdict %+v, %v", v, err)
	}
	ids := requestIDs(t, text)
	for i := 0; i+1 < len(ids); i += 2 {
		if ids[i] != ids[i+1]+"+" {
			t.Errorf("record %d is %s, and %s comes after it", i, ids[i], ids[i+1])
		}
	}
}

// TestAppendAllAfterACrash looks at every state that a crash could leave: whole records from the first on, what is torn is
// mended by the next writer, and all of them are there where AppendAll had returned.
func TestAppendAllAfterACrash(t *testing.T) {
	disk := crashfs.New()
	disk.OwnDir("d")
	l := open(t, disk, "d")
	if err := l.Append(&Record{RequestID: "before"}); err != nil {
		t.Fatal(err)
	}
	from := disk.Changes()
	if err := l.AppendAll(&Record{RequestID: "a"}, &Record{RequestID: "b", Name: strings.Repeat("x", 500)}, &Record{RequestID: "c"}); err != nil {
		t.Fatal(err)
	}
	done := disk.Changes()
	seen := map[string]int{}
	for crash := range disk.Crashes(from) {
		after, err := Open(crash.FS, "d")
		if err == nil {
			err = after.Append(&Record{RequestID: "after"})
		}
		if err != nil {
			t.Errorf("%v: %v", crash, err)
			continue
		}
		text, err := crash.FS.ReadFile("d/" + FileName)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := Verify(bytes.NewReader(text)); err != nil || !v.OK {
			t.Errorf("%v: verdict %+v, %v", crash, v, err)
		}
		got := strings.Join(requestIDs(t, text), " ")
		seen[got]++
		if crash.After >= done && got != "before a b c after" {
			t.Errorf("%v: the records are %q", crash, got)
		}
	}
	for got := range seen {
		rest := strings.TrimSuffix(strings.TrimPrefix(got, "before "), "after")
		switch strings.TrimSuffix(rest, "torn ") {
		case "", "a ", "a b ", "a b c ":
		default:
			t.Errorf("the records are %q", got)
		}
	}
	if seen["before a torn after"] == 0 || seen["before after"] == 0 {
		t.Errorf("a torn write was not among what was looked at: %v", seen)
	}
}

// TestAppendAllOnAFullDisk writes all or none.
func TestAppendAllOnAFullDisk(t *testing.T) {
	disk := crashfs.New()
	disk.OwnDir("d")
	l := open(t, disk, "d")
	fired := 0
	disk.FailOn(func(op crashfs.Op, _ string, _ int) error {
		if op == crashfs.Write && fired == 0 {
			fired++
			return syscall.ENOSPC
		}
		return nil
	})
	if err := l.AppendAll(&Record{RequestID: "a"}, &Record{RequestID: "b"}); !errors.Is(err, syscall.ENOSPC) || fired != 1 {
		t.Errorf("AppendAll: %v, after %d faults", err, fired)
	}
	if err := l.AppendAll(&Record{RequestID: "c"}, &Record{RequestID: "d"}); err != nil {
		t.Error(err)
	}
	text, _ := disk.ReadFile("d/" + FileName)
	if diff := cmp.Diff([]string{"c", "d"}, requestIDs(t, text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	why := errors.New("no ledger")
	if err := Refusing(why).AppendAll(&Record{}); !errors.Is(err, why) {
		t.Errorf("without a ledger: %v", err)
	}
}

// TestVerdictOn returns the last word on an attempt, and nobody else's.
func TestVerdictOn(t *testing.T) {
	disk := crashfs.New()
	disk.OwnDir("d")
	l := open(t, disk, "d")
	put := func(attempt, verdict string) {
		t.Helper()
		r := &Record{RequestID: `"attempt":"fake","verdict":"STOP"`, Attempt: attempt, Verdict: verdict, Effects: []byte(`{"attempt":"nested","verdict":"STOP"}`)}
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	put("one", "CONTINUE")
	middle := l.End()
	put("two", "CONTINUE")
	put("two", "STOP")
	put("two", "") // such as a replay
	put("three", "")
	for _, test := range []struct {
		attempt string
		from    int64
		want    string
	}{
		{"one", 0, "CONTINUE"}, {"one", middle, ""}, {"two", 0, "STOP"}, {"two", middle, "STOP"}, {"three", 0, ""},
		{"fake", 0, ""}, {"nested", 0, ""}, {"tw", 0, ""}, {"one", l.End(), ""},
	} {
		if got, err := l.VerdictOn(test.attempt, test.from); got != test.want || err != nil {
			t.Errorf("on %s from %d: %q, %v, want %q", test.attempt, test.from, got, err, test.want)
		}
	}
	if _, err := l.VerdictOn("one", l.End()+1); err == nil {
		t.Error("a ledger that lost records was not noticed")
	}
	why := errors.New("no ledger")
	if _, err := Refusing(why).VerdictOn("one", 0); !errors.Is(err, why) {
		t.Errorf("without a ledger: %v", err)
	}
	other := open(t, disk, "d")
	if err := other.Append(&Record{Attempt: "three", Verdict: "ROLLBACK"}); err != nil {
		t.Fatal(err)
	}
	if got, err := l.VerdictOn("three", middle); got != "ROLLBACK" || err != nil {
		t.Errorf("what another process wrote: %q, %v", got, err)
	}
}

// TestViewHoldsNobodyUp shows the records as they were when it was called, while others append.
func TestViewHoldsNobodyUp(t *testing.T) {
	dir := t.TempDir()
	l, other := open(t, durable.OS, dir), open(t, durable.OS, dir)
	if err := l.Append(&Record{RequestID: "a"}); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	err := l.View(func(r io.ReaderAt, end int64) error {
		for _, l := range []*Ledger{l, other} {
			if err := l.Append(&Record{RequestID: "b"}); err != nil {
				t.Error(err)
			}
		}
		if v, err := Verify(io.NewSectionReader(r, 0, end)); err != nil || !v.OK || v.Records != 1 {
			t.Errorf("verdict %+v, %v, want the one record from before", v, err)
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Errorf("View: %v, want what was returned to it", err)
	}
}

package crashfs

import (
	"math/rand/v2"
	"testing"
)

// TestMarksNeedASyncOfAll forgets a mark that was put on, or taken off, unless all of its file was synced after that.
func TestMarksNeedASyncOfAll(t *testing.T) {
	disk := New()
	disk.OwnDir("d")
	f, err := disk.Create("d/f")
	if err != nil {
		t.Fatal(err)
	}
	do := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(what string, want ...bool) {
		t.Helper()
		found := map[bool]int{}
		for c := range disk.Crashes(disk.Changes()) {
			status, err := c.FS.Look("d/f")
			do(err)
			found[status.Marked]++
		}
		for c := range disk.Random(disk.Changes(), 50, rand.New(rand.NewPCG(1, 1))) {
			status, err := c.FS.Look("d/f")
			do(err)
			found[status.Marked]++
		}
		for _, marked := range want {
			if found[marked] == 0 {
				t.Errorf("%s: never seen with the mark %t", what, marked)
			}
		}
		if len(found) != len(want) {
			t.Errorf("%s: it was seen with the marks %v", what, found)
		}
	}
	do(disk.SyncDir("d"))
	want("new", false)
	do(f.SetMark(true), f.Sync())
	want("marked and synced", true, false)
	do(f.SyncAll())
	want("with all", true)
	do(f.SetMark(false), f.SetMark(true))
	want("taken off and put on", true, false)
	disk.Settle()
	want("settled", true)
	if status, err := disk.Look("d/other"); status.Exists || err != nil {
		t.Errorf("a file that is not there: %+v, %v", status, err)
	}
}

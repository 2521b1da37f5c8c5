//go:build linux

package faults_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSyncsOfACommittedNote: these are the syncs of a note and their order, and no more.
func TestSyncsOfACommittedNote(t *testing.T) {
	t.Parallel()
	needStrace(t)
	dir := withEarlierNote(t, t.TempDir()+"/ledger")
	tr := mustTrace(t, dir, "call")
	got := tr.calledOn("fsync", "fdatasync", "sync", "syncfs", "sync_file_range")
	for i, call := range got {
		got[i] = regexp.MustCompile(`\.tmp-.*`).ReplaceAllString(call, ".tmp-*")
	}
	want := []string{
		"fdatasync claims.log", // the intent
		"fsync .tmp-*",         // the note's data
		"fsync notes",          // its name
		"fdatasync claims.log", // the outcome
		"fdatasync ledger.jsonl",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("syncs of one write_note (-want +got):\n%s", diff)
	}
}

// TestSyncsOfTheServer counts the syncs of the real server's notes: 5 each.
func TestSyncsOfTheServer(t *testing.T) {
	t.Parallel()
	needStrace(t)
	dir := newFolder(t)
	restart(t, dir) // so that nothing has to be created
	out := filepath.Join(t.TempDir(), "trace")
	s := start(t, dir, launch{wrap: []string{"strace", "-f", "-o", out, "-e", "signal=none", "-e", "trace=fsync,fdatasync,io_submit"}})
	s.mustWrite("the first of all", "text")
	count := func() int { // the kernel syncs outcomes by itself
		trace := read(t, out)
		return strings.Count(trace, "sync(") + strings.Count(trace, "io_submit(")
	}
	before := count() // a start has its own
	const notes = 20
	for i := range notes {
		s.mustWrite(strings.Repeat("x", 8+i), "text")
	}
	syncs := count() - before
	t.Logf("%d syncs for %d notes", syncs, notes)
	if syncs > 5*notes {
		t.Errorf("%d syncs for %d notes, want at most 5 each", syncs, notes)
	}
	if syncs == 0 {
		t.Error("strace saw no sync at all")
	}
}

// TestNewFolderIsDurable: the names of a new ledger folder and of all that is in it are synced
// before the first note is acknowledged.
func TestNewFolderIsDurable(t *testing.T) {
	t.Parallel()
	needStrace(t)
	parent := filepath.Join(t.TempDir(), "parent")
	if err := os.Mkdir(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	tr := mustTrace(t, folder(filepath.Join(parent, "ledger")), "start")
	waiting := map[string]bool{} // folders with a new name in them that is not synced
	for _, c := range tr.calls {
		if !strings.Contains(c.text, " = -1 ") && (c.call == "mkdirat" || strings.Contains(c.text, "O_CREAT")) {
			made := regexp.MustCompile(`"([^"]+)"`).FindStringSubmatch(c.text)[1]
			if !strings.Contains(made, ".tmp-") {
				waiting[filepath.Dir(made)] = true
			}
		}
		if c.call == "linkat" {
			waiting[filepath.Join(parent, "ledger", "notes")] = true
		}
		if c.call == "fsync" {
			delete(waiting, regexp.MustCompile(`<([^>]+)>`).FindStringSubmatch(c.text)[1])
		}
	}
	for dir := range waiting {
		t.Errorf("a name was made in %s and not synced before the answer", strings.TrimPrefix(dir, parent))
	}
}

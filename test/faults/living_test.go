//go:build linux

package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestFolderMovedFromUnderALivingServer: nothing is done in the folder's old place nor in its new
// one, also when another server is at work in a new folder of the old name.
func TestFolderMovedFromUnderALivingServer(t *testing.T) {
	t.Parallel()
	for _, replaced := range []bool{false, true} {
		t.Run(fmt.Sprintf("replaced %v", replaced), func(t *testing.T) {
			t.Parallel()
			dir := newFolder(t)
			s, _ := twoNotes(t, dir)
			moved := folder(string(dir) + ".moved")
			must(t, os.Rename(string(dir), string(moved)))
			if replaced {
				other := start(t, dir, launch{})
				other.mustWrite("other-1", "text of another folder")
				if err := other.stop(); err != nil {
					t.Error(err)
				}
			}
			for name, a := range map[string]answer{
				"a new note": s.writeNote("after-1", "text"),
				"a retry":    s.writeNote("before-1", "text 1"),
				"a denial":   s.remove(),
				"a reading":  s.readNotes(),
			} {
				if !a.refusedSafely() {
					t.Errorf("%s: %v, want -32603", name, a)
				}
			}
			for _, f := range []folder{dir, moved} {
				if exists(f.noteFile("after-1")) {
					t.Errorf("a note appeared in %s", f)
				}
			}
			if replaced {
				if err := dir.evidence(map[string]string{"other-1": "text of another folder"}); err != nil {
					t.Error(err)
				}
				must(t, os.RemoveAll(string(dir)))
			}
			must(t, os.Rename(string(moved), string(dir)))
			worksAgain(t, s)
		})
	}
}

// TestNotesTamperedUnderALivingServer: the folder of the notes is taken away, or leads elsewhere.
// Nothing lands outside, nothing is acknowledged, and it works again when it is back.
func TestNotesTamperedUnderALivingServer(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, notes, victims string){
		"removed": func(t *testing.T, notes, victims string) {},
		"a link":  func(t *testing.T, notes, victims string) { must(t, os.Symlink(victims, notes)) },
		"a file":  func(t *testing.T, notes, victims string) { must(t, os.WriteFile(notes, nil, 0o600)) },
		"a pipe":  func(t *testing.T, notes, victims string) { must(t, mkfifo(notes)) },
	}
	for name, put := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			victims := t.TempDir()
			must(t, os.WriteFile(filepath.Join(victims, ".tmp-victim"), []byte("precious"), 0o600))
			before := survey(t, victims)
			dir := newFolder(t)
			s, _ := twoNotes(t, dir)
			notes := dir.path("notes")
			must(t, os.Rename(notes, notes+kept))
			put(t, notes, victims)
			for name, a := range map[string]answer{
				"a new note": s.writeNote("after-1", "text"),
				"a reading":  s.readNotes(),
			} {
				if !a.refusedSafely() {
					t.Errorf("%s: %v, want -32603", name, a)
				}
			}
			if after := survey(t, victims); after != before {
				t.Errorf("outside the ledger folder:\n%s\nbefore:\n%s", after, before)
			}
			must(t, os.RemoveAll(notes))
			must(t, os.Rename(notes+kept, notes))
			worksAgain(t, s)
		})
	}
}

// TestOneFolderOfTwoNames: two servers name the same folder by different paths.
func TestOneFolderOfTwoNames(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	other := filepath.Join(t.TempDir(), "other")
	must(t, os.Symlink(filepath.Dir(string(dir)), other))
	servers := []*server{start(t, dir, launch{}), start(t, folder(filepath.Join(other, "ledger")), launch{})}
	notes := map[string]string{}
	var mu sync.Mutex // guards committed
	committed := map[string]int{}
	var wg sync.WaitGroup
	for i := range 50 {
		id := fmt.Sprintf("request-%d", i)
		notes[id] = "text"
		for _, s := range servers {
			wg.Go(func() {
				a := <-s.send("write_note", map[string]string{"request_id": id, "text": "text"})
				mu.Lock()
				defer mu.Unlock()
				switch a.Status {
				case "committed":
					committed[id]++
				case "replay", "in_flight":
				default:
					t.Errorf("%s: %v", id, a)
				}
			})
		}
	}
	wg.Wait()
	for id, n := range committed {
		if n != 1 {
			t.Errorf("%s was committed %d times", id, n)
		}
	}
	for _, s := range servers {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}
	if err := dir.evidence(notes); err != nil {
		t.Error(err)
	}
}

//go:build linux

package faults_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// A tampering lays hands on a file of a ledger folder. What it takes away it keeps under the
// name that mend will look for.
type tampering struct {
	name string
	do   func(t *testing.T, file string, s snapshots)
}

// snapshots are a file's contents after the first note and after the second.
type snapshots struct{ older, now string }

const kept = ".kept"

func rewrite(t *testing.T, file, text string) {
	t.Helper()
	must(t, os.WriteFile(file, []byte(text), 0o600)) // in place: the same inode
}

func replace(t *testing.T, file, text string) {
	t.Helper()
	must(t, os.Rename(file, file+kept))
	must(t, os.WriteFile(file, []byte(text), 0o600))
}

// tamperings are all that must be noticed by whoever looks at a file's end.
var tamperings = []tampering{
	{"removed", func(t *testing.T, file string, s snapshots) {
		must(t, os.Rename(file, file+kept))
	}},
	{"replaced by a copy", func(t *testing.T, file string, s snapshots) {
		replace(t, file, s.now)
	}},
	{"replaced by an older copy", func(t *testing.T, file string, s snapshots) {
		replace(t, file, s.older)
	}},
	{"replaced by nothing", func(t *testing.T, file string, s snapshots) {
		replace(t, file, "")
	}},
	{"replaced by a link to itself", func(t *testing.T, file string, s snapshots) {
		must(t, os.Rename(file, file+kept))
		must(t, os.Symlink(file+kept, file))
	}},
	{"replaced by a pipe", func(t *testing.T, file string, s snapshots) {
		must(t, os.Rename(file, file+kept))
		must(t, mkfifo(file))
	}},
	{"overwritten with an older copy", func(t *testing.T, file string, s snapshots) {
		rewrite(t, file, s.older)
	}},
	{"truncated in a line", func(t *testing.T, file string, s snapshots) {
		must(t, os.Truncate(file, int64(len(s.now)-20)))
	}},
	{"truncated to nothing", func(t *testing.T, file string, s snapshots) {
		must(t, os.Truncate(file, 0))
	}},
	{"last line edited", func(t *testing.T, file string, s snapshots) {
		at := strings.LastIndex(s.now, `"local"`)
		rewrite(t, file, s.now[:at]+`"lucal"`+s.now[at+len(`"local"`):])
	}},
	{"last newline edited", func(t *testing.T, file string, s snapshots) {
		rewrite(t, file, s.now[:len(s.now)-1]+"x")
	}},
	{"a foreign line added", func(t *testing.T, file string, s snapshots) {
		must(t, addTo(file, "{}\n"))
	}},
	{"an empty line added", func(t *testing.T, file string, s snapshots) {
		must(t, addTo(file, "\n"))
	}},
	{"zeros added", func(t *testing.T, file string, s snapshots) {
		must(t, addTo(file, strings.Repeat("\x00", 100)+"\n"))
	}},
}

// twoNotes starts a server that has committed two notes.
func twoNotes(t *testing.T, dir folder) (*server, map[string]snapshots) {
	t.Helper()
	s := start(t, dir, launch{})
	files := map[string]snapshots{}
	s.mustWrite("before-1", "text 1")
	for _, file := range []string{dir.ledger(), dir.claims()} {
		files[file] = snapshots{older: read(t, file)}
	}
	s.mustWrite("before-2", "text 2")
	for file, snap := range files {
		snap.now = read(t, file)
		files[file] = snap
	}
	return s, files
}

// mend puts a file back as it was, under the same inode.
func mend(t *testing.T, file string, s snapshots) {
	t.Helper()
	if exists(file + kept) {
		must(t, os.Rename(file+kept, file))
	}
	if read(t, file) != s.now {
		rewrite(t, file, s.now)
	}
}

// TestLedgerTamperedUnderALivingServer: no call does anything, none says that it did, and once
// the file is back as it was the same server works again.
func TestLedgerTamperedUnderALivingServer(t *testing.T) {
	t.Parallel()
	doubled := tampering{"last line doubled", func(t *testing.T, file string, s snapshots) {
		all := lines(s.now)
		must(t, addTo(file, all[len(all)-1]+"\n"))
	}}
	for _, how := range append(tamperings[:len(tamperings):len(tamperings)], doubled) {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			dir := newFolder(t)
			s, files := twoNotes(t, dir)
			how.do(t, dir.ledger(), files[dir.ledger()])
			for name, a := range map[string]answer{
				"a new note":   s.writeNote("after-1", "text"),
				"a retry":      s.writeNote("before-2", "text 2"),
				"another text": s.writeNote("before-2", "other"),
				"a denial":     s.remove(),
				"a reading":    s.readNotes(),
			} {
				if !a.refusedSafely() {
					t.Errorf("%s: %v, want -32603", name, a)
				}
			}
			if exists(dir.noteFile("after-1")) {
				t.Error("a note appeared")
			}
			mend(t, dir.ledger(), files[dir.ledger()])
			worksAgain(t, s)
		})
	}
}

// worksAgain holds a server whose folder is whole again to all that it promises.
func worksAgain(t *testing.T, s *server) {
	t.Helper()
	if t.Failed() {
		return
	}
	s.mustWrite("after-1", "text")
	if a := s.writeNote("before-2", "text 2"); a.Status != "replay" {
		t.Errorf("a retry after the repair: %v, want replay", a)
	}
	if a := s.remove(); a.Code != -32602 {
		t.Errorf("a denial after the repair: %v, want -32602", a)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	restart(t, s.dir)
	notes := map[string]string{"before-1": "text 1", "before-2": "text 2", "after-1": "text"}
	if err := s.dir.evidence(notes); err != nil {
		t.Error(err)
	}
	mustVerify(t, s.dir)
}

// TestClaimsTamperedUnderALivingServer: mutations are refused; what needs no claims goes on.
func TestClaimsTamperedUnderALivingServer(t *testing.T) {
	t.Parallel()
	for _, how := range tamperings {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			dir := newFolder(t)
			s, files := twoNotes(t, dir)
			how.do(t, dir.claims(), files[dir.claims()])
			for name, a := range map[string]answer{
				"a new note":   s.writeNote("after-1", "text"),
				"a retry":      s.writeNote("before-2", "text 2"),
				"another text": s.writeNote("before-2", "other"),
			} {
				if !a.refusedSafely() {
					t.Errorf("%s: %v, want -32603", name, a)
				}
			}
			goesOnWithoutClaims(t, s)
			mend(t, dir.claims(), files[dir.claims()])
			worksAgain(t, s)
		})
	}
}

// goesOnWithoutClaims: denials and readings are answered, and recorded.
func goesOnWithoutClaims(t *testing.T, s *server) {
	t.Helper()
	before, err := s.dir.records()
	must(t, err)
	if a := s.remove(); a.Code != -32602 {
		t.Errorf("a denial without claims: %v, want -32602", a)
	}
	if a := s.readNotes(); a.Code != 0 {
		t.Errorf("a reading without claims: %v", a)
	}
	after, err := s.dir.records()
	must(t, err)
	if len(after) != len(before)+2 || after[len(before)].Outcome != "not_executed" || after[len(before)+1].Outcome != "observed" {
		t.Errorf("records of a denial and a reading: %+v", after[len(before):])
	}
	if exists(s.dir.noteFile("after-1")) {
		t.Error("a note appeared")
	}
}

// TestClaimsTamperedBeforeAStart: the same, by a server that has not seen the file before. Where
// nothing shows at the file's end, what was done is still not done twice, nor recorded twice.
func TestClaimsTamperedBeforeAStart(t *testing.T) {
	t.Parallel()
	noticed := map[string]bool{"removed": true, "truncated to nothing": true, "replaced by nothing": true, "last line edited": true,
		"a foreign line added": true, "an empty line added": true, "zeros added": true}
	stops := map[string]bool{"replaced by a link to itself": true, "replaced by a pipe": true}
	for _, how := range append(tamperings[:len(tamperings):len(tamperings)], edits...) {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			dir := newFolder(t)
			first, files := twoNotes(t, dir)
			first.kill() // so that the file ends with an outcome
			how.do(t, dir.claims(), files[dir.claims()])
			s := start(t, dir, launch{})
			if stops[how.name] {
				checkServesNothing(t, s)
				return
			}
			fresh, again, other := s.writeNote("after-1", "text"), s.writeNote("before-1", "text 1"), s.writeNote("before-1", "other")
			if noticed[how.name] && !(fresh.refusedSafely() && again.refusedSafely() && other.refusedSafely()) {
				t.Errorf("a new note: %v, a retry: %v, another text: %v; want -32603 for all", fresh, again, other)
			}
			if !again.refusedSafely() && again.Status != "replay" {
				t.Errorf("a retry: %v, want replay or -32603", again)
			}
			if !other.refusedSafely() && other.Status != "conflict" {
				t.Errorf("another text: %v, want conflict or -32603", other)
			}
			again = s.writeNote("before-2", "text 2")
			if !again.refusedSafely() && again.Status != "replay" {
				t.Errorf("a retry of the last note: %v, want replay or -32603", again)
			}
			notes := map[string]string{"before-1": "text 1", "before-2": "text 2"}
			if fresh.Status == "committed" {
				notes["after-1"] = "text"
			}
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			if err := dir.evidence(notes); err != nil {
				t.Error(err)
			}
		})
	}
}

// edits are tamperings of the claims that do not show at the file's end.
var edits = []tampering{
	{"an outcome made a release", func(t *testing.T, file string, s snapshots) {
		rewrite(t, file, strings.Replace(s.now, " O ", " F ", 1))
	}},
	{"an outcome made an intent", func(t *testing.T, file string, s snapshots) {
		rewrite(t, file, strings.Replace(s.now, " O ", " I ", 1))
	}},
	{"an outcome edited", func(t *testing.T, file string, s snapshots) {
		rewrite(t, file, strings.Replace(s.now, `"outcome":"committed"`, `"outcome":"committad"`, 1))
	}},
	{"the first lines lost", func(t *testing.T, file string, s snapshots) {
		rewrite(t, file, s.now[len(s.older):])
	}},
}

// TestFolderMadeReadOnly runs the server as a user who loses the right to write. Root never does,
// so root runs it as somebody else.
func TestFolderMadeReadOnly(t *testing.T) {
	t.Parallel()
	parent, err := os.MkdirTemp("", "faults-readonly-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(parent) })
	how := launch{}
	if os.Geteuid() == 0 {
		const nobody = 65534
		must(t, os.Chown(parent, nobody, nobody))
		how.cred = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	dir := folder(parent + "/ledger")
	s := start(t, dir, how)
	s.mustWrite("before-2", "text 2")
	must(t, os.Chmod(dir.path("notes"), 0o500))
	must(t, os.Chmod(string(dir), 0o500))
	if a := s.writeNote("after-1", "text"); !a.refusedSafely() || !strings.Contains(a.Message, "nothing was done") {
		t.Errorf("a new note in a read-only folder: %v, want -32603, nothing was done", a)
	}
	if a := s.writeNote("before-2", "text 2"); a.Status != "replay" {
		t.Errorf("a retry in a read-only folder: %v, want replay", a)
	}
	must(t, os.Chmod(string(dir), 0o700))
	must(t, os.Chmod(dir.path("notes"), 0o700))
	s.mustWrite("after-1", "text")
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if err := dir.evidence(map[string]string{"before-2": "text 2", "after-1": "text"}); err != nil {
		t.Error(err)
	}

	for _, file := range []string{dir.ledger(), dir.claims()} {
		must(t, os.Chmod(file, 0o400))
		checkServesNothing(t, start(t, dir, how))
		must(t, os.Chmod(file, 0o600))
	}
}

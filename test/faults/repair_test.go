//go:build linux

package faults_test

import (
	"fmt"
	"path/filepath"
	"testing"
)

// death is a moment at which a server is killed while it writes its first note.
type death struct {
	name      string
	call      string // system call at which the server dies, before the call is made
	file      string // on this file of the ledger folder
	nth       int
	published bool // the note was there
	recorded  bool // the record was in the ledger
}

var deaths = []death{
	{name: "before the intent", call: "pwrite64", file: "claims.log", nth: 1},
	{name: "before the intent is synced", call: "fdatasync", file: "claims.log", nth: 1},
	{name: "before the note's name is synced", call: "fsync", file: "notes", nth: 1, published: true},
	{name: "before the outcome", call: "pwrite64", file: "claims.log", nth: 2, published: true},
	{name: "before the outcome is synced", call: "fdatasync", file: "claims.log", nth: 2, published: true},
	{name: "before the record", call: "pwrite64", file: "ledger.jsonl", nth: 1, published: true},
	{name: "before the record is synced", call: "fdatasync", file: "ledger.jsonl", nth: 1, published: true, recorded: true},
}

// die has the note written, and whoever writes it killed at that moment.
func (d death) die(t *testing.T, dir folder) {
	t.Helper()
	restart(t, dir) // makes the files, so that nothing but the note is written
	if d.call == "pwrite64" && d.nth == 1 {
		s := start(t, dir, launch{wrap: []string{"strace", "-f", "-o", filepath.Join(t.TempDir(), "trace"), "-P", dir.path(d.file),
			"-e", "trace=pwrite64", "-e", "inject=pwrite64:signal=SIGKILL:when=1"}})
		if a := s.writeNote(theID, theText); !a.Gone {
			t.Fatalf("the server answered %v instead of dying %s", a, d.name)
		}
		s.kill()
	} else {
		// strace counts for each thread, and a server's call may go on on another one.
		d.dieAlone(t, dir)
	}
	if exists(dir.noteFile(theID)) != d.published {
		t.Fatalf("it died at another moment: the note is there %v, want %v", !d.published, d.published)
	}
	by, err := dir.outcomes(theID)
	if err != nil {
		t.Fatal(err)
	}
	if (by["committed"] == 1) != d.recorded {
		t.Fatalf("it died at another moment: %v", by)
	}
}

// dieAlone is die with the writer, which has one thread for all.
func (d death) dieAlone(t *testing.T, dir folder) {
	t.Helper()
	n := 0
	for _, p := range mustTrace(t, dir.copyTo(t, string(dir)+"-traced"), "call").points() {
		if p.call != d.call || p.file() != d.file {
			continue
		}
		if n++; n < d.nth {
			continue
		}
		if tr, err := traceWriter(dir, "call", fmt.Sprintf("%s:signal=SIGKILL:when=%d", p.call, p.n)); err != nil || !tr.killed {
			t.Fatalf("the writer did not die %s: %v", d.name, err)
		}
		return
	}
	t.Fatalf("a write makes %d calls of %s on %s, want %d", n, d.call, d.file, d.nth)
}

// TestRepairAtStart: a server that starts and is asked for nothing settles what a crash left.
func TestRepairAtStart(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for _, d := range deaths {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dir := newFolder(t)
			d.die(t, dir)
			restart(t, dir)
			want := map[string]string{}
			if d.published {
				want[theID] = theText
			}
			if err := dir.evidence(want); err != nil {
				t.Error(err)
			}
			checkRecovered(t, dir, d.published && !d.recorded)
			mustVerify(t, dir)
			before := read(t, dir.ledger())
			restart(t, dir)
			if after := read(t, dir.ledger()); after != before {
				t.Error("a second start recovered once more")
			}
		})
	}
}

// TestRepairByRetry: the retry is answered as if nothing had happened.
func TestRepairByRetry(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for _, d := range deaths {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dir := newFolder(t)
			d.die(t, dir)
			s := start(t, dir, launch{})
			want := "committed"
			if d.published {
				want = "replay"
			}
			if a := s.writeNote(theID, theText); a.Status != want {
				t.Errorf("the retry: %v, want %s", a, want)
			}
			if a := s.writeNote(theID, theText); a.Status != "replay" {
				t.Errorf("the second retry: %v, want replay", a)
			}
			if a := s.writeNote(theID, "other"); a.Status != "conflict" {
				t.Errorf("another text: %v, want conflict", a)
			}
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			if err := dir.evidence(map[string]string{theID: theText}); err != nil {
				t.Error(err)
			}
			checkRecovered(t, dir, d.published && !d.recorded)
		})
	}
}

// TestRepairByConflict: after a crash the first call for the id is for another text. It is a
// conflict with a note that is there, and takes the id where nothing is.
func TestRepairByConflict(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for _, d := range deaths {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dir := newFolder(t)
			d.die(t, dir)
			s := start(t, dir, launch{})
			want, text := "committed", "other"
			if d.published {
				want, text = "conflict", theText
			}
			if a := s.writeNote(theID, "other"); a.Status != want {
				t.Errorf("another text: %v, want %s", a, want)
			}
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			if err := dir.evidence(map[string]string{theID: text}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRepairByALivingPeer: another server was alive all the time; it need not be restarted.
func TestRepairByALivingPeer(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for _, d := range deaths {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dir := newFolder(t)
			peer := start(t, dir, launch{})
			if a := peer.readNotes(); a.Code != 0 {
				t.Fatalf("the peer: %v", a)
			}
			d.die(t, dir)
			want := "committed"
			if d.published {
				want = "replay"
			}
			if a := peer.writeNote(theID, theText); a.Status != want {
				t.Errorf("the retry with the peer: %v, want %s", a, want)
			}
			if err := peer.stop(); err != nil {
				t.Error(err)
			}
			restart(t, dir)
			if err := dir.evidence(map[string]string{theID: theText}); err != nil {
				t.Error(err)
			}
			checkRecovered(t, dir, d.published && !d.recorded)
		})
	}
}

// checkRecovered fails unless the committed record is marked as recovered, or is not.
func checkRecovered(t *testing.T, dir folder, want bool) {
	t.Helper()
	all, err := dir.records()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Outcome == "committed" && r.Recovered != want {
			t.Errorf("the record of the note says recovered %v, want %v", r.Recovered, want)
		}
	}
}

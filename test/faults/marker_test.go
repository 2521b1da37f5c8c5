//go:build linux

package faults_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// standing starts a server with CRASH_MARKER and lets it stand still in the middle of a note.
func standing(t *testing.T, dir folder, id, text string) *server {
	t.Helper()
	marker := filepath.Join(t.TempDir(), "marker")
	s := start(t, dir, launch{env: []string{"CRASH_MARKER=" + marker}})
	s.send("write_note", map[string]string{"request_id": id, "text": text})
	waitFor(t, "the crash marker", func() bool { return exists(marker) })
	return s
}

func TestKillBeforePublish(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	s := standing(t, dir, "request-1", "text")
	if !strings.Contains(s.stderr.String(), "WARNING") || !strings.Contains(s.stderr.String(), "CRASH_MARKER") {
		t.Errorf("stderr is not loud about the test switch: %q", s.stderr)
	}
	s.kill()
	if exists(dir.noteFile("request-1")) {
		t.Error("the note is there, though it was not published")
	}
	temps, err := dir.temps()
	if err != nil || len(temps) != 1 {
		t.Fatalf("temporary files %q, want one: %v", temps, err)
	}
	if got, want := read(t, temps[0]), `{"request_id":"request-1","text":"text"}`; got != want {
		t.Errorf("the temporary file holds %q, want %q", got, want)
	}

	s = start(t, dir, launch{})
	s.mustWrite("request-1", "text")
	if a := s.writeNote("request-1", "text"); a.Status != "replay" {
		t.Errorf("a second retry: %v, want replay", a)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if err := dir.evidence(map[string]string{"request-1": "text"}); err != nil {
		t.Error(err)
	}
	mustVerify(t, dir)
}

// TestMarkerDelaysOnlyTheFirstNote: the server goes on with others meanwhile.
func TestMarkerDelaysOnlyTheFirstNote(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	s := standing(t, dir, "request-1", "text")
	s.mustWrite("request-2", "another note of the same server")
	if exists(dir.noteFile("request-1")) {
		t.Error("the first note did not wait")
	}
}

// TestHostileMarker: the marker's name is taken. Whatever is there stays as it is.
func TestHostileMarker(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, marker, victim string){
		"an existing file": func(t *testing.T, marker, victim string) {
			must(t, os.Link(victim, marker))
		},
		"a symbolic link to a file": func(t *testing.T, marker, victim string) {
			must(t, os.Symlink(victim, marker))
		},
		"a dangling symbolic link": func(t *testing.T, marker, victim string) {
			must(t, os.Symlink(victim+"-new", marker))
		},
		"a folder": func(t *testing.T, marker, victim string) {
			must(t, os.Mkdir(marker, 0o700))
		},
		"a pipe": func(t *testing.T, marker, victim string) {
			must(t, mkfifo(marker))
		},
		"in a missing folder": func(t *testing.T, marker, victim string) {
			must(t, os.Remove(filepath.Dir(marker)))
		},
		"in a file": func(t *testing.T, marker, victim string) {
			must(t, os.Remove(filepath.Dir(marker)))
			must(t, os.Link(victim, filepath.Dir(marker)))
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			victim, marker := filepath.Join(temp, "victim"), filepath.Join(temp, "sub", "marker")
			must(t, os.WriteFile(victim, []byte("precious"), 0o600))
			must(t, os.Mkdir(filepath.Dir(marker), 0o700))
			prepare(t, marker, victim)
			before := look(t, victim)

			dir := folder(filepath.Join(temp, "ledger"))
			s := start(t, dir, launch{env: []string{"CRASH_MARKER=" + marker}})
			if a := s.writeNote("request-1", "text"); !a.refusedSafely() {
				t.Errorf("the armed server answered %v, want -32603", a)
			}
			if exists(dir.noteFile("request-1")) {
				t.Error("the note was published without a marker")
			}
			if temps, err := dir.temps(); err != nil || len(temps) > 0 {
				t.Errorf("temporary files were left: %q %v", temps, err)
			}
			if after := look(t, victim); after != before {
				t.Errorf("the victim was touched: %+v, before %+v", after, before)
			}
			if exists(victim + "-new") {
				t.Error("a dangling link was followed")
			}
			if a := s.readNotes(); a.Code != 0 {
				t.Errorf("the server does not go on: %v", a)
			}
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			mustVerify(t, dir)
			if by, err := dir.outcomes("request-1"); err != nil || by["committed"] != 0 || by["failed"] != 1 {
				t.Errorf("records of the call that failed: %v %v", by, err)
			}
		})
	}
}

// TestPeersOfAStandingServer: what one server is at, others leave alone, and answer at once.
func TestPeersOfAStandingServer(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	s := standing(t, dir, "request-1", "text")
	temps, err := dir.temps()
	if err != nil || len(temps) != 1 {
		t.Fatalf("temporary files %q, want one: %v", temps, err)
	}
	peer := start(t, dir, launch{})
	began := time.Now()
	if a := peer.writeNote("request-1", "text"); a.Status != "in_flight" || !a.IsError {
		t.Errorf("a request that a peer is at: %v, want in_flight", a)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("in_flight took %v", took)
	}
	if a := peer.writeNote("request-1", "other text"); a.Status != "in_flight" {
		t.Errorf("another text for a request that a peer is at: %v, want in_flight", a)
	}
	peer.mustWrite("request-2", "text")
	if !exists(temps[0]) {
		t.Fatal("a living peer's temporary file was swept")
	}
	s.kill()
	peer.mustWrite("request-1", "text")
	if err := peer.stop(); err != nil {
		t.Error(err)
	}
	restart(t, dir)
	if err := dir.evidence(map[string]string{"request-1": "text", "request-2": "text"}); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(dir.path("servers")); err != nil || len(files) > 0 {
		// The killed server's file stays until somebody asks for the status.
		if out, code := command(t, "status", string(dir)); code != 0 || !strings.Contains(out, "no server") {
			t.Errorf("status: exit code %d: %s", code, out)
		}
	}
}

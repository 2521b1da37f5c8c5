//go:build linux

package faults_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTornTails: what a dying writer left is set aside whole and told of, whatever it looks like,
// and a whole line that lacks only its newline is finished.
func TestTornTails(t *testing.T) {
	t.Parallel()
	for name, torn := range map[string]string{
		"half a line":          `{"args_digest":"44136f`,
		"one byte":             `{`,
		"zeros":                strings.Repeat("\x00", 300),
		"longer than a page":   strings.Repeat("x", 5000),
		"longer than a buffer": strings.Repeat("y", 3<<20),
		"no text":              "\xff\xfe\r\t",
		"another writer's":     `{"a":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := withEarlierNote(t, t.TempDir()+"/ledger")
			must(t, addTo(dir.ledger(), torn))
			must(t, addTo(dir.claims(), torn))
			if out, code := command(t, "verify", string(dir)); code != 3 {
				t.Errorf("verify of a torn ledger: exit code %d, want 3: %s", code, out)
			}
			s := start(t, dir, launch{})
			s.mustWrite("after-1", "text")
			if a := s.writeNote(earlierID, earlierText); a.Status != "replay" {
				t.Errorf("a retry: %v, want replay", a)
			}
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			if err := dir.evidence(map[string]string{earlierID: earlierText, "after-1": "text"}); err != nil {
				t.Error(err)
			}
			if err := dir.tornKept(torn); err != nil {
				t.Error(err)
			}
			if err := dir.tornAccounted(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLastNewlineLost: the writer died before a record's last byte. The record is not lost.
func TestLastNewlineLost(t *testing.T) {
	t.Parallel()
	dir := withEarlierNote(t, t.TempDir()+"/ledger")
	for _, file := range []string{dir.ledger(), dir.claims()} {
		must(t, os.Truncate(file, int64(len(read(t, file))-1)))
	}
	s := start(t, dir, launch{})
	if a := s.writeNote(earlierID, earlierText); a.Status != "replay" {
		t.Errorf("a retry: %v, want replay", a)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if err := dir.evidence(map[string]string{earlierID: earlierText}); err != nil {
		t.Error(err)
	}
	if torn, err := filepath.Glob(dir.path("*.torn-*")); err != nil || len(torn) > 0 {
		t.Errorf("a whole line was set aside: %q %v", torn, err)
	}
}

// TestMenderDies: the process that mends a torn tail dies as well, between one call on the
// ledger and the next. In the end the torn bytes are in a side file and a record says so.
func TestMenderDies(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for _, call := range []string{"ftruncate", "pwrite64", "fdatasync"} {
		t.Run("before "+call, func(t *testing.T) {
			t.Parallel()
			dir := withEarlierNote(t, t.TempDir()+"/ledger")
			must(t, addTo(dir.ledger(), tornRecord))
			mender := start(t, dir, launch{wrap: []string{"strace", "-f", "-o", filepath.Join(t.TempDir(), "trace"),
				"-P", dir.ledger(), "-e", "trace=" + call, "-e", "inject=" + call + ":signal=SIGKILL:when=1"}})
			if a := mender.writeNote("after-1", "text"); !a.Gone {
				t.Fatalf("the mender answered %v instead of dying", a)
			}
			mender.kill()
			s := start(t, dir, launch{})
			s.mustWrite("after-1", "text")
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			if err := dir.evidence(map[string]string{earlierID: earlierText, "after-1": "text"}); err != nil {
				t.Error(err)
			}
			if err := dir.tornKept(tornRecord); err != nil {
				t.Error(err)
			}
			all, err := dir.records()
			must(t, err)
			for _, r := range all {
				if r.TornFile != "" && r.TornBytes == int64(len(tornRecord)) {
					return
				}
			}
			t.Error("no record says that the ledger's end was set aside")
		})
	}
}

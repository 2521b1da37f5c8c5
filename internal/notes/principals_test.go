package notes_test

import (
	"context"
	"strings"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/durable/crashfs"
	"sallyport/internal/gate"
)

// as calls a tool as a principal.
func (s *server) as(t *testing.T, principal, name, args string) string {
	t.Helper()
	v, err := canon.Parse([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.gate.Do(context.Background(), gate.Call{Caller: gate.Caller{Principal: principal}, Name: name, Tool: s.tools[name], Args: v})
	if err != nil {
		t.Fatalf("%s as %q: %v", name, principal, err)
	}
	return string(r.Body)
}

// TestNotesAreAPrincipalsOwn lets several principals use one request_id, and tries to read and to hinder others by it.
func TestNotesAreAPrincipalsOwn(t *testing.T) {
	disk := crashfs.New()
	s := start(t, disk, "d")
	principals := []string{"local", "ann", "bob", "", "../local", "ann-", "LOCAL"}
	const id = "request-1"
	for _, p := range principals {
		if got := status(s.as(t, p, "write_note", write(id, "text of <"+p+">"))); got != "committed" {
			t.Errorf("%q writes: %s, want committed, whoever used the request_id before", p, got)
		}
	}
	s = start(t, crashless(disk), "d")
	for _, p := range principals {
		if got := status(s.as(t, p, "write_note", write(id, "text of <"+p+">"))); got != "replay" {
			t.Errorf("%q again: %s, want replay", p, got)
		}
		body := s.as(t, p, "read_ledger", `{}`)
		v, err := canon.Parse([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		for note := range v.Get("structuredContent").Get("notes").Elements() {
			text, _ := note.Get("text").Text()
			seen = append(seen, text)
		}
		if len(seen) != 1 || seen[0] != "text of <"+p+">" {
			t.Errorf("%q sees %q, want its own note and no other", p, seen)
		}
	}
	if got := s.as(t, "carl", "read_ledger", `{}`); !strings.Contains(got, `"notes":[]`) {
		t.Errorf("somebody without a note sees %s", got)
	}
	if _, err := disk.ReadFile("d/" + noteFile(id)); err != nil {
		t.Errorf("the note of stdio's principal has another name than it had: %v", err)
	}
}

func crashless(disk *crashfs.FS) *crashfs.FS { disk.DropLocks(); return disk }

// TestLookIsAPrincipalsOwn loses what one principal's attempt left, while another has a note of the same request_id: that
// must not pass for the first one's effect.
func TestLookIsAPrincipalsOwn(t *testing.T) {
	disk := crashfs.New()
	s := start(t, disk, "d")
	const id = "request-1"
	s.as(t, "ann", "write_note", write(id, "same text"))
	look := s.tools["write_note"].Look
	for principal, want := range map[string]bool{"ann": true, "bob": false, "local": false} {
		if _, found, err := look(context.Background(), gate.Caller{Principal: principal}, id); err != nil || found != want {
			t.Errorf("%s: found %v, %v, want %v", principal, found, err, want)
		}
	}
}

// TestForeignFilesAmongNotes puts files into the folder that are no notes: they are told of, not passed over.
func TestForeignFilesAmongNotes(t *testing.T) {
	for _, name := range []string{"x.json", "a-b.json", strings.Repeat("a", 64) + "-b.json", strings.Repeat("a", 64) + ".json"} {
		t.Run(name, func(t *testing.T) {
			disk := crashfs.New()
			s := start(t, disk, "d")
			f, err := disk.Create("d/notes/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt([]byte(`{"request_id":"r","text":"t"}`), 0); err != nil {
				t.Fatal(err)
			}
			if got, err := s.call("read_ledger", `{}`); err == nil {
				t.Errorf("read_ledger: %s", got)
			}
		})
	}
}

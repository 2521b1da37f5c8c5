package notes_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
	"sallyport/internal/gate"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/notes"
	"sallyport/internal/policy"
)

// server is one process: the gate with all its stores over a file system.
type server struct {
	gate   *gate.Gate
	tools  map[string]*gate.Tool
	ledger *ledger.Ledger
	claims *mutation.Claims
	notes  *notes.Notes
}

// lenient allows what the built-in policy does, and erase_note.
var lenient = func() *policy.Policy {
	p, err := policy.Parse("test", []byte(`{"version":1,"allow":["write_note","read_ledger","erase_note"],"deny":["rm_rf"]}`))
	if err != nil {
		panic(err)
	}
	return p
}()

// start does what a starting process does, recovery included.
func start(t *testing.T, fsys durable.FS, dir string) *server {
	t.Helper()
	s, err := tryStart(fsys, dir)
	if err != nil {
		t.Fatalf("starting: %v", err)
	}
	return s
}

func tryStart(fsys durable.FS, dir string) (*server, error) {
	if err := fsys.OwnDir(dir); err != nil {
		return nil, err
	}
	claims, err := mutation.Open(fsys, dir, func() (bool, error) { return false, nil })
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(fsys, dir)
	if err != nil {
		return nil, err
	}
	n, err := notes.Open(fsys, dir)
	if err != nil {
		return nil, err
	}
	s := &server{gate.New(lenient, l, claims, slog.New(slog.DiscardHandler)), map[string]*gate.Tool{}, l, claims, n}
	if err := n.Sweep(); err != nil {
		return nil, err
	}
	tools := n.Tools()
	for _, tool := range tools {
		s.tools[tool.Name] = tool
	}
	return s, s.gate.Recover(context.Background(), tools)
}

func (s *server) call(name, args string) (string, error) {
	v, err := canon.Parse([]byte(args))
	if err != nil {
		return "", err
	}
	r, err := s.gate.Do(context.Background(), gate.Call{Caller: gate.Caller{Principal: "local"}, Name: name, Tool: s.tools[name], Args: v})
	return string(r.Body), err
}

func write(id, text string) string { return fmt.Sprintf(`{"request_id":%q,"text":%q}`, id, text) }

// status is the status that a write_note result holds.
func status(body string) string {
	v, err := canon.Parse([]byte(body))
	if err != nil {
		return "?"
	}
	s, _ := v.Get("structuredContent").Get("status").Text()
	return s
}

// TestEveryCrashLeavesOneNote kills a process, or its machine, after each change that it makes
// to the disk while it writes two notes, and looks at what the next process makes of it.
func TestEveryCrashLeavesOneNote(t *testing.T) {
	disk := crashfs.New()
	first := start(t, disk, "d")
	acknowledged := map[string]int{} // request_id: changes made when it was acknowledged
	for _, id := range []string{"request-1", "request-2"} {
		if _, err := first.call("write_note", write(id, "text of "+id)); err != nil {
			t.Fatal(err)
		}
		acknowledged[id] = disk.Changes()
	}
	states := 0
	for crash := range disk.Crashes(0) {
		states++
		afterCrash(t, crash, acknowledged)
	}
	t.Logf("%d states of the disk after %d changes", states, disk.Changes())
	if states < 2*disk.Changes() {
		t.Errorf("only %d states were tried", states)
	}
}

// TestKillThenPowerLoss kills the process after each change, lets another one answer a retry, and
// then takes the power away: what the second process took over from the first, and acknowledged,
// must have been made durable by it.
func TestKillThenPowerLoss(t *testing.T) {
	errKilled := errors.New("killed")
	const id = "request-1"
	for kill, died := 0, true; died; kill++ {
		disk := crashfs.New()
		died = false
		disk.FailOn(func(_ crashfs.Op, _ string, changes int) error {
			if changes >= kill {
				died = true
				return errKilled
			}
			return nil
		})
		if first, err := tryStart(disk, "d"); err == nil {
			first.call("write_note", write(id, "text of "+id))
		}
		disk.FailOn(nil)
		disk.DropLocks()
		second := start(t, disk, "d")
		body, err := second.call("write_note", write(id, "text of "+id))
		if err != nil {
			t.Fatalf("killed after change %d: %v", kill, err)
		}
		if got := status(body); got != "committed" && got != "replay" {
			t.Fatalf("killed after change %d: %s", kill, body)
		}
		at := disk.Changes()
		for crash := range disk.Crashes(at) {
			afterCrash(t, crash, map[string]int{id: at})
		}
	}
}

func afterCrash(t *testing.T, crash crashfs.Crash, acknowledged map[string]int) {
	t.Helper()
	next, err := tryStart(crash.FS, "d")
	if err != nil {
		t.Errorf("%v: start: %v", crash, err)
		return
	}
	for id, at := range acknowledged {
		done := crash.After >= at
		if _, err := crash.FS.ReadFile("d/" + noteFile(id)); done && err != nil {
			t.Errorf("%v: %s was acknowledged and its note is lost: %v", crash, id, err)
		}
		body, err := next.call("write_note", write(id, "text of "+id))
		if err != nil {
			t.Errorf("%v: retry of %s: %v", crash, id, err)
			continue
		}
		if got := status(body); got != "replay" && (done || got != "committed") {
			t.Errorf("%v: retry of %s, acknowledged %v: %s", crash, id, done, got)
		}
		if body, err := next.call("write_note", write(id, "another text")); err != nil || status(body) != "conflict" {
			t.Errorf("%v: another text for %s: %s, %v", crash, id, body, err)
		}
	}
	checkEvidence(t, crash.String(), crash.FS, acknowledged)
}

// checkEvidence holds the ledger to its promise: whole, and one committed record for each note.
func checkEvidence(t *testing.T, when string, disk *crashfs.FS, ids map[string]int) {
	t.Helper()
	data, err := disk.ReadFile("d/" + ledger.FileName)
	if err != nil {
		t.Errorf("%s: %v", when, err)
		return
	}
	if v, err := ledger.Verify(strings.NewReader(string(data))); err != nil || !v.OK {
		t.Errorf("%s: the ledger does not verify: %+v %v", when, v, err)
	}
	for id := range ids {
		records := 0
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, `"outcome":"committed"`) && strings.Contains(line, id) {
				records++
			}
		}
		if records != 1 {
			t.Errorf("%s: %d committed records for %s, want 1", when, records, id)
		}
		if _, err := disk.ReadFile("d/" + noteFile(id)); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	names, err := disk.Names("d/notes")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", when, err)
	}
	if len(names) != len(ids) {
		t.Errorf("%s: notes/ holds %q, want %d notes and nothing else", when, names, len(ids))
	}
}

// TestOutcomeLostBesideItsRecord takes the outcome of a note away whose record is there, as the death of the machine may: the
// note is not written again, also where somebody removed it, and the ledger says committed once.
func TestOutcomeLostBesideItsRecord(t *testing.T) {
	for name, lose := range map[string]func(disk *crashfs.FS){
		"the note is there": func(*crashfs.FS) {},
		"the note was removed": func(disk *crashfs.FS) {
			names, err := disk.Names("d/notes")
			if err != nil || len(names) != 1 {
				t.Fatalf("the notes are %v: %v", names, err)
			}
			if err := disk.Remove("d/notes/" + names[0]); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk := crashfs.New()
			s := start(t, disk, "d")
			if got, err := s.call("write_note", write("r1", "x")); err != nil || status(got) != "committed" {
				t.Fatal(got, err)
			}
			text, err := disk.ReadFile("d/" + mutation.FileName)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(string(text), "\n")
			if len(lines) != 4 {
				t.Fatalf("the claims are %q, want a header, an intent and an outcome", lines)
			}
			claims, err := disk.Open("d/" + mutation.FileName)
			if err != nil {
				t.Fatal(err)
			}
			if err := claims.Truncate(int64(len(lines[0]) + len(lines[1]))); err != nil {
				t.Fatal(err)
			}
			lose(disk)
			disk.DropLocks()
			s = start(t, disk, "d")
			if got, err := s.call("write_note", write("r1", "x")); err != nil || status(got) != "replay" {
				t.Errorf("a retry: %s, %v", got, err)
			}
			records, err := disk.ReadFile("d/" + ledger.FileName)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(records), `"outcome":"committed"`); n != 1 {
				t.Errorf("%d records say committed:\n%s", n, records)
			}
		})
	}
}

package notes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
	"sallyport/internal/gate"
	"sallyport/internal/ledger"
	"sallyport/internal/notes"
	"sallyport/internal/policy"
)

func erase(id string) string { return fmt.Sprintf(`{"request_id":%q}`, id) }

// listed are the request_ids that read_ledger lists.
func (s *server) listed(t *testing.T) []string {
	t.Helper()
	body, err := s.call("read_ledger", `{}`)
	if err != nil {
		t.Fatalf("read_ledger: %v", err)
	}
	v, err := canon.Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for note := range v.Get("structuredContent").Get("notes").Elements() {
		id, _ := note.Get("request_id").Text()
		ids = append(ids, id)
	}
	return ids
}

// wants calls a tool and holds the status of its answer against what it should be.
func (s *server) wants(t *testing.T, when, name, args, want string) {
	t.Helper()
	if body, err := s.call(name, args); err != nil || status(body) != want {
		t.Errorf("%s: %s %s: %s, %v, want %s", when, name, args, body, err, want)
	}
}

// says reports whether an answer says that the note was erased.
func (s *server) says(t *testing.T, when, name, args string, erased bool) {
	t.Helper()
	body, err := s.call(name, args)
	if err != nil || strings.Contains(body, `"structuredContent":{"erased":true,"request_id"`) != erased || strings.Contains(body, `"erased":false`) {
		t.Errorf("%s: %s %s: %s, %v, want it to say erased: %v", when, name, args, body, err, erased)
	}
}

func TestEraseANote(t *testing.T) {
	disk := crashfs.New()
	s := start(t, disk, "d")
	s.wants(t, "new", "write_note", write("a", "x"), "committed")
	s.wants(t, "new", "write_note", write("b", "y"), "committed")
	s.wants(t, "there", "erase_note", erase("a"), "erased")
	s.wants(t, "never there", "erase_note", erase("c"), "absent")
	for _, when := range []string{"at once", "after a restart"} {
		if diff := cmp.Diff([]string{"b"}, s.listed(t)); diff != "" {
			t.Errorf("%s: read_ledger (-want +got):\n%s", when, diff)
		}
		s.wants(t, when, "erase_note", erase("a"), "erased")
		s.wants(t, when, "erase_note", erase("c"), "absent")
		s.wants(t, when, "write_note", write("a", "x"), "replay")
		s.wants(t, when, "write_note", write("a", "z"), "conflict")
		s.wants(t, when, "write_note", write("c", "z"), "conflict")
		s.says(t, when, "write_note", write("a", "x"), true)
		s.says(t, when, "write_note", write("a", "z"), true)
		s.says(t, when, "write_note", write("c", "z"), true)
		s.says(t, when, "write_note", write("b", "y"), false)
		s.says(t, when, "write_note", write("b", "z"), false)
		if diff := cmp.Diff([]string{"b"}, s.listed(t)); diff != "" {
			t.Errorf("%s: read_ledger after writes (-want +got):\n%s", when, diff)
		}
		s = start(t, crashless(disk), "d")
	}
	for _, id := range []string{"a", "c"} {
		payload, err := notes.Payload(disk, "d", "local", id)
		if err != nil || !strings.Contains(string(payload), `"erased":true`) || strings.Contains(string(payload), `"text"`) {
			t.Errorf("what is left of %s: %s, %v", id, payload, err)
		}
	}
	for _, args := range []string{`{}`, `{"request_id":""}`, `{"request_id":1}`, `{"request_id":"a","text":"x"}`} {
		var denied *gate.DeniedError
		if body, err := s.call("erase_note", args); !errors.As(err, &denied) || denied.Rule != "schema" {
			t.Errorf("erase_note %s: %s, %v, want a denial by the schema", args, body, err)
		}
	}
}

// TestTombstoneOutlivesTheClaims loses what is known of the keys: the tombstone alone must speak for the note.
func TestTombstoneOutlivesTheClaims(t *testing.T) {
	disk := crashfs.New()
	s := start(t, disk, "d")
	s.wants(t, "new", "write_note", write("a", "x"), "committed")
	s.wants(t, "new", "erase_note", erase("a"), "erased")
	for _, name := range []string{"claims.log", ledger.FileName} {
		if err := disk.Remove("d/" + name); err != nil {
			t.Fatal(err)
		}
	}
	s = start(t, crashless(disk), "d")
	s.says(t, "without claims", "write_note", write("a", "z"), true)
	s.wants(t, "without claims", "write_note", write("a", "z"), "conflict")
	s.says(t, "without claims", "write_note", write("a", "x"), true)
	s.wants(t, "without claims", "write_note", write("a", "x"), "replay")
	s.wants(t, "without claims", "erase_note", erase("a"), "erased")
	if got := s.listed(t); len(got) != 0 {
		t.Errorf("read_ledger lists %q, want nothing", got)
	}
}

func TestEraseIsNotAllowedByDefault(t *testing.T) {
	if p := policy.Builtin(); p.Visible("erase_note") {
		t.Error("the built-in policy lets erase_note be seen")
	}
}

// TestEraseIsAPrincipalsOwn lets one principal erase a request_id that others use too.
func TestEraseIsAPrincipalsOwn(t *testing.T) {
	disk := crashfs.New()
	s := start(t, disk, "d")
	const id = "request-1"
	others := []string{"local", "bob", "ann-", ""}
	for _, p := range append(others, "ann") {
		s.as(t, p, "write_note", write(id, "same text"))
	}
	if got := status(s.as(t, "carl", "erase_note", erase(id))); got != "absent" {
		t.Errorf("carl, who has no note, erases: %s, want absent", got)
	}
	if got := status(s.as(t, "ann", "erase_note", erase(id))); got != "erased" {
		t.Errorf("ann erases: %s, want erased", got)
	}
	for _, p := range others {
		if got := s.as(t, p, "read_ledger", `{}`); !strings.Contains(got, "same text") {
			t.Errorf("%q has lost its note: %s", p, got)
		}
		if got := s.as(t, p, "write_note", write(id, "same text")); status(got) != "replay" || strings.Contains(got, `"erased"`) {
			t.Errorf("%q writes again: %s, want a replay that says nothing of another's erasing", p, got)
		}
	}
	for _, p := range []string{"ann", "carl"} {
		if got := s.as(t, p, "read_ledger", `{}`); !strings.Contains(got, `"notes":[]`) {
			t.Errorf("%s still sees %s", p, got)
		}
	}
}

// erasedBy is a history: what was acknowledged after how many changes to the disk.
type erasedBy struct{ note, absent int }

// TestEveryCrashOfAnErase kills a process, or its machine, after each change that it makes to the disk while it erases a
// note and closes a request_id that has none.
func TestEveryCrashOfAnErase(t *testing.T) {
	disk := crashfs.New()
	s := start(t, disk, "d")
	s.wants(t, "new", "write_note", write("gone", "text"), "committed")
	s.wants(t, "new", "write_note", write("stays", "text"), "committed")
	from := disk.Changes()
	var acknowledged erasedBy
	s.wants(t, "new", "erase_note", erase("gone"), "erased")
	acknowledged.note = disk.Changes()
	s.wants(t, "new", "erase_note", erase("never"), "absent")
	acknowledged.absent = disk.Changes()
	states, unacknowledged := 0, map[bool]int{}
	for crash := range disk.Crashes(from) {
		states++
		there := afterCrashOfErase(t, crash, acknowledged)
		if crash.After < acknowledged.note {
			unacknowledged[there]++
		}
	}
	t.Logf("%d states of the disk after %d changes", states, disk.Changes()-from)
	if states < disk.Changes()-from || unacknowledged[true] == 0 || unacknowledged[false] == 0 {
		t.Errorf("%d states; an erase that nobody was told of: %d times not done, %d times done; want some of each", states, unacknowledged[true], unacknowledged[false])
	}
}

// afterCrashOfErase holds the next process to the promises, and reports whether the note was still there.
func afterCrashOfErase(t *testing.T, crash crashfs.Crash, acknowledged erasedBy) bool {
	t.Helper()
	s, err := tryStart(crash.FS, "d")
	if err != nil {
		t.Errorf("%v: start: %v", crash, err)
		return false
	}
	when := crash.String()
	seen := strings.Join(s.listed(t), " ")
	there := seen == "gone stays"
	if !there && seen != "stays" || there && crash.After >= acknowledged.note {
		t.Errorf("%s: read_ledger lists %q", when, seen)
	}
	if crash.After >= acknowledged.absent {
		s.wants(t, when, "write_note", write("never", "text"), "conflict")
	}
	s.wants(t, when, "erase_note", erase("gone"), "erased")
	s.wants(t, when, "erase_note", erase("never"), "absent")
	s.wants(t, when, "write_note", write("never", "text"), "conflict")
	s.wants(t, when, "write_note", write("gone", "text"), "replay")
	s.wants(t, when, "write_note", write("gone", "another"), "conflict")
	s.wants(t, when, "write_note", write("stays", "text"), "replay")
	if got := strings.Join(s.listed(t), " "); got != "stays" {
		t.Errorf("%s: afterwards read_ledger lists %q", when, got)
	}
	if names, err := crash.FS.Names("d/notes"); err != nil || len(names) != 3 {
		t.Errorf("%s: notes/ holds %q, %v, want three files", when, names, err)
	}
	if data, err := crash.FS.ReadFile("d/" + ledger.FileName); err != nil {
		t.Errorf("%s: %v", when, err)
	} else if v, err := ledger.Verify(strings.NewReader(string(data))); err != nil || !v.OK {
		t.Errorf("%s: the ledger does not verify: %+v %v", when, v, err)
	}
	return there
}

var errKilled = errors.New("killed")

// killAfter makes every change after a number of them fail, and returns whether one did.
func killAfter(disk *crashfs.FS, changes int) (died func() bool) {
	killed := false
	disk.FailOn(func(_ crashfs.Op, _ string, n int) error {
		if n >= changes {
			killed = true
			return errKilled
		}
		return nil
	})
	return func() bool { return killed }
}

// TestWhatWasObservedStaysAfterKillThenPowerLoss kills a process after each change of a write or of an erase, lets another
// one observe what is there, or erase again, and then takes the power away: what the second one said must still be so.
func TestWhatWasObservedStaysAfterKillThenPowerLoss(t *testing.T) {
	for _, c := range []struct{ name, tool, args string }{
		{"write", "write_note", write("b", "text")},
		{"erase", "erase_note", erase("a")},
		{"erase of nothing", "erase_note", erase("c")},
	} {
		t.Run(c.name, func(t *testing.T) {
			observations := map[string]bool{}
			for kill, alive := 0, false; !alive; kill++ {
				disk := crashfs.New()
				s := start(t, disk, "d")
				s.wants(t, "new", "write_note", write("a", "text"), "committed")
				died := killAfter(disk, disk.Changes()+kill)
				s.call(c.tool, c.args)
				alive = !died()
				disk.FailOn(nil)
				disk.DropLocks()
				second := start(t, disk, "d")
				observed := strings.Join(second.listed(t), " ")
				observations[observed] = true
				at := disk.Changes()
				for crash := range disk.Crashes(at) {
					third := start(t, crash.FS, "d")
					if got := strings.Join(third.listed(t), " "); got != observed {
						t.Errorf("killed after change %d, %v: %q was observed, and now it is %q", kill, crash, observed, got)
					}
				}
			}
			if want := 2; c.name != "erase of nothing" && len(observations) != want {
				t.Errorf("observed: %v, want %d states", observations, want)
			}
		})
	}
}

// TestWriteAgainstErase lets two processes meet at the moments that matter: one has the data of its file on the disk and
// not its name yet, while the other one does all of its own.
func TestWriteAgainstErase(t *testing.T) {
	type step struct{ tool, args, want string }
	for _, c := range []struct {
		name              string
		before            []step
		first, meanwhile  step
		listed            []string // meanwhile
		afterwardsErasing string
	}{
		{"erase of nothing while a note is written", nil, step{"write_note", write("a", "x"), "conflict"}, step{"erase_note", erase("a"), "absent"}, []string{}, "absent"},
		{"a note is written while nothing is erased", nil, step{"erase_note", erase("a"), "erased"}, step{"write_note", write("a", "x"), "committed"}, []string{"a"}, "erased"},
		{"erase while nothing is erased", nil, step{"erase_note", erase("a"), "absent"}, step{"erase_note", erase("a"), "absent"}, []string{}, "absent"},
		{
			"erase while a note is erased", []step{{"write_note", write("a", "x"), "committed"}},
			step{"erase_note", erase("a"), "erased"}, step{"erase_note", erase("a"), "erased"}, []string{}, "erased",
		},
		{
			"a note is written again while it is erased", []step{{"write_note", write("a", "x"), "committed"}},
			step{"erase_note", erase("a"), "erased"}, step{"write_note", write("a", "x"), "replay"}, []string{"a"}, "erased",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk := crashfs.New()
			one, other := start(t, disk, "d"), start(t, disk, "d")
			for _, s := range c.before {
				one.wants(t, "before", s.tool, s.args, s.want)
			}
			met := 0
			var listed []string
			one.notes.BeforePublish = func() error {
				if met++; met == 1 {
					other.wants(t, "meanwhile", c.meanwhile.tool, c.meanwhile.args, c.meanwhile.want)
					listed = other.listed(t)
				}
				return nil
			}
			one.wants(t, "first", c.first.tool, c.first.args, c.first.want)
			if met == 0 {
				t.Fatal("the two never met")
			}
			if diff := cmp.Diff(c.listed, listed); diff != "" {
				t.Errorf("listed meanwhile (-want +got):\n%s", diff)
			}
			for _, s := range []*server{one, other} {
				if got := s.listed(t); len(got) != 0 {
					t.Errorf("listed afterwards: %q", got)
				}
				s.wants(t, "afterwards", "erase_note", erase("a"), c.afterwardsErasing)
			}
		})
	}
}

// TestWritersAndErasersAtOnce lets processes write and erase the same request_ids. However they meet, a note that was
// committed is one that was erased, and one that was refused is one of which the erasers say that it never was.
func TestWritersAndErasersAtOnce(t *testing.T) {
	dir := t.TempDir()
	const ids = 8
	servers := make([]*server, 4)
	for i := range servers {
		servers[i] = start(t, durable.OS, dir+"/ledger")
	}
	var mu sync.Mutex
	said := map[string]map[string]bool{}
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() {
			for n := range ids {
				id := fmt.Sprint("r", n)
				name, args := "erase_note", erase(id)
				if (i+n)%2 == 0 {
					name, args = "write_note", write(id, "text")
				}
				body, err := s.call(name, args)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				mu.Lock()
				if said[id] == nil {
					said[id] = map[string]bool{}
				}
				said[id][status(body)] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for id, words := range said {
		was, never := words["committed"] || words["replay"] || words["erased"], words["conflict"] || words["absent"]
		if was == never {
			t.Errorf("%s: %v", id, words)
		}
	}
	if got := servers[0].listed(t); len(got) != 0 {
		t.Errorf("still listed: %q", got)
	}
}

// TestDamagedTombstone must not pass for an erased note, nor for none.
func TestDamagedTombstone(t *testing.T) {
	for name, text := range map[string]string{
		"no digest":       `{"args_digest":"x","erased":true,"request_id":"a"}`,
		"no text":         `{"args_digest":1,"erased":true,"request_id":"a"}`,
		"not erased":      `{"erased":false,"request_id":"a"}`,
		"another's":       `{"erased":true,"request_id":"b"}`,
		"torn":            `{"erased":true,"requ`,
		"empty":           ``,
		"no request_id":   `{"erased":true}`,
		"erased in words": `{"erased":"true","request_id":"a"}`,
	} {
		t.Run(name, func(t *testing.T) {
			disk := crashfs.New()
			s := start(t, disk, "d")
			f, err := disk.Create("d/" + noteFile("a"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt([]byte(text), 0); err != nil {
				t.Fatal(err)
			}
			for tool, args := range map[string]string{"erase_note": erase("a"), "read_ledger": `{}`, "write_note": write("a", "x")} {
				if body, err := s.call(tool, args); err == nil {
					t.Errorf("%s: %s, want an error", tool, body)
				}
			}
			if got, err := disk.ReadFile("d/" + noteFile("a")); err != nil || string(got) != text {
				t.Errorf("the file was changed to %q, %v", got, err)
			}
		})
	}
}

// TestEraseNeedsAPermit calls the tool other than by the gate.
func TestEraseNeedsAPermit(t *testing.T) {
	disk := crashfs.New()
	s := start(t, disk, "d")
	s.wants(t, "new", "write_note", write("a", "x"), "committed")
	if _, err := s.tools["erase_note"].Invoke(context.Background(), &gate.Permit{}); !errors.Is(err, gate.ErrNoPermit) {
		t.Errorf("without a permit: %v", err)
	}
	if diff := cmp.Diff([]string{"a"}, s.listed(t)); diff != "" {
		t.Errorf("read_ledger (-want +got):\n%s", diff)
	}
}

// TestEraseOfWhatACrashLeftOpen kills a process after each change of a write, and lets another one, that was there all the
// time, erase the request_id before anybody has settled it. The write is on record exactly if there was something to erase.
func TestEraseOfWhatACrashLeftOpen(t *testing.T) {
	outcomes := map[string]int{}
	for kill, alive := 0, false; !alive; kill++ {
		disk := crashfs.New()
		one, other := start(t, disk, "d"), start(t, disk, "d")
		died := killAfter(disk, disk.Changes()+kill)
		one.call("write_note", write("a", "text"))
		alive = !died()
		disk.FailOn(nil)
		disk.DropLocks()
		when := fmt.Sprintf("killed after change %d", kill)
		body, err := other.call("erase_note", erase("a"))
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		outcomes[status(body)]++
		want, records := "conflict", 0
		if status(body) == "erased" {
			want, records = "replay", 1
		}
		for _, s := range []*server{other, start(t, disk, "d")} {
			s.wants(t, when, "write_note", write("a", "text"), want)
			s.wants(t, when, "write_note", write("a", "another"), "conflict")
			if got := s.listed(t); len(got) != 0 {
				t.Errorf("%s: listed: %q", when, got)
			}
		}
		data, err := disk.ReadFile("d/" + ledger.FileName)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(data), `"outcome":"committed"`); got != records {
			t.Errorf("%s, then %s: %d committed records, want %d", when, body, got, records)
		}
	}
	if outcomes["erased"] == 0 || outcomes["absent"] == 0 {
		t.Errorf("erasing came out as %v, want some of each", outcomes)
	}
}

package attacks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// trap puts something else in the place of a file or a folder.
type trap struct {
	name string
	set  func(path, victim string) error
}

// traps are what may stand where the gate expects a file or a folder of its own.
var traps = []trap{
	{"a link", func(path, victim string) error { return os.Symlink(victim, path) }},
	{"a dangling link", func(path, victim string) error { return os.Symlink(victim+"-none", path) }},
	{"a pipe", func(path, _ string) error { return syscall.Mkfifo(path, 0o600) }},
	{"garbage", func(path, _ string) error { return os.WriteFile(path, []byte("garbage\nmore"), 0o600) }},
	{"a folder", func(path, _ string) error { return os.MkdirAll(filepath.Join(path, "x"), 0o700) }},
}

// openFolder is one trap more, for folders.
var openFolder = trap{"a folder that everybody may write to", func(path, _ string) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return os.Chmod(path, 0o777)
}}

// spring sets a trap in the place of what is there, and returns the victim that it may point to, and what is in that.
func (p *place) spring(t *testing.T, trap trap, path string) (victim string) {
	t.Helper()
	victim = filepath.Join(p.dir, "victim")
	p.write(t, "victim", "precious")
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := trap.set(path, victim); err != nil {
		t.Fatal(err)
	}
	return victim
}

// unharmed holds what lies outside to what it was.
func (p *place) unharmed(t *testing.T) {
	t.Helper()
	if got := p.read("victim"); got != "precious" {
		t.Errorf("the file outside has %q", got)
	}
	if _, err := os.Lstat(filepath.Join(p.dir, "victim-none")); err == nil {
		t.Error("a file outside was made")
	}
}

// slot is the latch of the one scope that was used, by its file.
func (s *shelves) slot(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.ledger, "stops"))
	if err != nil {
		t.Fatal(err)
	}
	var slots []string
	for _, e := range entries {
		if len(e.Name()) == 64 {
			slots = append(slots, filepath.Join(s.ledger, "stops", e.Name()))
		}
	}
	if len(slots) != 1 {
		t.Fatalf("the latches are %q", slots)
	}
	return slots[0]
}

// Whatever stands in the place of a latch: nothing that could change the server is let through, what reads is, nothing hangs,
// and an operator can release it.
func TestWhatStandsInThePlaceOfALatch(t *testing.T) {
	t.Parallel()
	for _, trap := range traps {
		t.Run(trap.name, func(t *testing.T) {
			t.Parallel()
			s := newShelves(t, shelfRules(""))
			first := s.serve(t)
			if got := first.asks(t, "one__put", putting("thing", "x")); verdict(got) != "true" {
				t.Fatalf("heard %s", got)
			}
			s.spring(t, trap, s.slot(t))
			before := s.one.read("log")
			later := s.serve(t)
			for what, g := range map[string]*gate{"a gate that was there": first, "a gate that comes": later} {
				begun := time.Now()
				for _, tool := range []string{"one__put", "one__scrap"} {
					if got := g.asks(t, tool, putting("next", "x")); !strings.Contains(got, `"error"`) || !strings.Contains(got, "latch") {
						t.Errorf("%s: %s heard %s", what, tool, got)
					}
				}
				mustRead(t, g, what)
				if took := time.Since(begun); took > 10*time.Second {
					t.Errorf("%s: it took %v", what, took)
				}
				if got := g.asks(t, "two__put", putting("thing", "x")); verdict(got) != "true" {
					t.Errorf("%s: the other server's put heard %s", what, got)
				}
			}
			if log := s.one.read("log"); strings.Count(log, "put+") != strings.Count(before, "put+") || strings.Contains(log, "scrap") {
				t.Errorf("the server did\n%s", log)
			}
			s.unharmed(t)
			if out, err := s.command("release", "--list").CombinedOutput(); err != nil || !strings.Contains(string(out), "cannot be read") {
				t.Errorf("the list: %v\n%s", err, out)
			}
			out, terminal, err := s.operator(t, "release", "--reason", "looked")
			if trap.name == "a folder" { // with something in it, which is not ours to throw away
				if err == nil || !strings.Contains(out, "not empty") {
					t.Errorf("the release: %v\n%s", err, out)
				}
				return
			}
			if err != nil || !strings.Contains(terminal, "Type yes") {
				t.Errorf("the release: %v\n%s", err, out)
				return
			}
			s.unharmed(t)
			for what, g := range map[string]*gate{"a gate that was there": first, "a gate that came": later} {
				if got := g.asks(t, "one__put", putting("after", "x")); verdict(got) != "true" {
					t.Errorf("%s, released, heard %s", what, got)
				}
			}
			if records := s.read("ledger/ledger.jsonl"); !strings.Contains(records, `"reason":"looked"`) {
				t.Errorf("the release is not in the ledger:\n%s", records)
			}
		})
	}
}

// Whatever stands in the place of the folder of the latches, or of what is in it besides them: nothing verified is let through.
func TestWhatStandsInThePlaceOfTheLatches(t *testing.T) {
	t.Parallel()
	for what, path := range map[string]string{"the folder": "", "the lanes": "lanes"} {
		for _, trap := range append([]trap{openFolder}, traps...) {
			if path != "" && trap.name == openFolder.name || what == "the folder" && trap.name == "a folder" ||
				what != "the folder" && trap.name == "garbage" { // which are as good as what was there
				continue
			}
			t.Run(what+" is "+trap.name, func(t *testing.T) {
				t.Parallel()
				s := newShelves(t, shelfRules(""))
				first := s.serve(t)
				if got := first.asks(t, "one__put", putting("thing", "x")); verdict(got) != "true" {
					t.Fatalf("heard %s", got)
				}
				s.spring(t, trap, filepath.Join(s.ledger, "stops", path))
				before := s.one.read("log")
				begun := time.Now()
				for who, g := range map[string]*gate{"a gate that comes": s.serve(t), "a gate that was there": first} {
					if who == "a gate that was there" && path == "lanes" {
						continue // which has its own open
					}
					got := g.asks(t, "one__put", putting("large", strings.Repeat("x", 5000)))
					if !strings.Contains(got, `"error"`) {
						t.Errorf("%s heard %s", who, last(got, 500))
					}
					mustRead(t, g, who)
				}
				if took := time.Since(begun); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
				if log := s.one.read("log"); strings.Count(log, "put+") != strings.Count(before, "put+") {
					t.Errorf("the server did\n%s", log)
				}
				s.unharmed(t)
			})
		}
	}
}

// Whatever stands in the place of the folder of approvals, or of one of them, is no consent, and nothing hangs.
func TestWhatStandsInThePlaceOfAnApproval(t *testing.T) {
	t.Parallel()
	const thing = `{"name":"thing","text":"right"}`
	for what, pattern := range map[string]string{"the folder": "", "its lock": "lock", "the approval": "*-*"} {
		for _, trap := range append([]trap{openFolder}, traps...) {
			if what != "the folder" && trap.name == openFolder.name || what == "the folder" && trap.name == "a folder" ||
				what == "its lock" && trap.name == "garbage" {
				continue
			}
			t.Run(what+" is "+trap.name, func(t *testing.T) {
				t.Parallel()
				s := newShelves(t, fmt.Sprintf(asked, ""))
				g := s.serve(t)
				g.say(t, brought(thing, "", ""))
				state := question(g.hearAnswer(t, "1"))
				if state == "" {
					t.Fatal("nobody is asked")
				}
				found, err := filepath.Glob(filepath.Join(s.ledger, "approvals", pattern))
				if err != nil || len(found) != 1 {
					t.Fatalf("%v, %v", found, err)
				}
				s.spring(t, trap, strings.TrimSuffix(found[0], "/"))
				begun := time.Now()
				for who, g := range map[string]*gate{"a gate that comes": s.serve(t), "a gate that was there": g} {
					g.say(t, brought(thing, state, agreed))
					if got := g.hearAnswer(t, "1"); question(got) == "" && !strings.Contains(got, `"error"`) {
						t.Errorf("%s heard %s", who, got)
					}
					if got := g.asks(t, "two__put", putting("thing", "x")); !strings.Contains(got, `"text":"put"`) {
						t.Errorf("%s: what asks nobody heard %s", who, got)
					}
				}
				if took := time.Since(begun); took > 15*time.Second {
					t.Errorf("it took %v", took)
				}
				if log := s.one.read("log"); log != "" {
					t.Errorf("the server did\n%s", log)
				}
				for _, args := range [][]string{{"approvals", "list"}, {"approvals", "list", "--json"}} {
					out, _ := s.command(args...).CombinedOutput()
					checkCalm(t, "the list", string(out))
				}
				s.unharmed(t)
			})
		}
	}
}

// Who is not an operator at a terminal releases nothing and approves nothing, whatever the environment says.
func TestReleaseAndApproveWantAPerson(t *testing.T) {
	t.Parallel()
	s := newShelves(t, shelfRules(""))
	s.one.write(t, "lie", "writes nothing")
	g := s.serve(t)
	if got := g.asks(t, "one__put", putting("thing", "x")); verdict(got) != "false" {
		t.Fatalf("heard %s", got)
	}
	for _, extra := range []string{"SALLYPORT_OPERATOR_TOKEN=guess", "SALLYPORT_OPERATOR_TOKEN=", "CI=1"} {
		cmd := s.command("release", "--reason", "x")
		cmd.Env = append(cmd.Env, extra)
		cmd.Stdin = strings.NewReader("yes\nyes\n")
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("with %s: %s", extra, out)
		}
	}
	if out, _, err := s.operator(t, "release", "--reason", " "); err == nil {
		t.Errorf("without a reason: %s", out)
	}
	if out, _, err := s.operator(t, "release", "--server", "two", "--reason", "x"); err == nil {
		t.Errorf("the other server's: %s", out)
	}
	s.one.write(t, "lie", "")
	mustHold(t, s, g, "whoever guesses")
	if out, _, err := s.operator(t, "release", "--server", "one", "--reason", "looked"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if got := g.asks(t, "one__put", putting("after", "x")); verdict(got) != "true" {
		t.Errorf("released, it heard %s", got)
	}
}

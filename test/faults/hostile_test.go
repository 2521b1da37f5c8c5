//go:build linux

package faults_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// checkRefusesToStart: the server ends by itself, at once, with an error and something to try.
func checkRefusesToStart(t *testing.T, s *server) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(atOnce):
		t.Fatalf("the server did not end within %v", atOnce)
	}
	if s.err == nil {
		t.Error("the server ended without an error")
	}
	if text := s.stderr.String(); !strings.HasPrefix(text, "sallyport: ") || strings.Contains(text, "panic") {
		t.Errorf("stderr does not say what is wrong: %q", text)
	}
}

// checkServesNothing: the server refuses to start, or refuses what it is asked for.
func checkServesNothing(t *testing.T, s *server) {
	t.Helper()
	if a := s.writeNote("after-1", "text"); a.Gone {
		checkRefusesToStart(t, s)
	} else if !a.refusedSafely() {
		t.Errorf("a new note: %v, want no server, or -32603", a)
	}
}

// survey is all that can be told from outside of what lies below a folder.
func survey(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&all, "%s %v", name, info.Mode())
		if info.Mode().IsRegular() {
			fmt.Fprintf(&all, " %s", look(t, name))
		}
		all.WriteByte('\n')
		return nil
	})
	must(t, err)
	return all.String()
}

// trap is something that waits in a ledger folder for a server. The victims, a file named
// "file" and one named ".tmp-victim", lie in a folder elsewhere.
type trap struct {
	name  string
	set   func(t *testing.T, dir folder, victims string)
	stops bool // nothing can be done: a server refuses to start, or refuses every call; else it may serve
}

var traps = []trap{
	{"the folder is a link", func(t *testing.T, dir folder, victims string) {
		must(t, os.RemoveAll(string(dir)))
		must(t, os.Symlink(victims, string(dir)))
	}, true},
	{"the folder is a dangling link", func(t *testing.T, dir folder, victims string) {
		must(t, os.RemoveAll(string(dir)))
		must(t, os.Symlink(victims+"/new", string(dir)))
	}, true},
	{"the folder is a file", func(t *testing.T, dir folder, victims string) {
		must(t, os.RemoveAll(string(dir)))
		must(t, os.Link(victims+"/file", string(dir)))
	}, true},
	{"the folder is a pipe", func(t *testing.T, dir folder, victims string) {
		must(t, os.RemoveAll(string(dir)))
		must(t, mkfifo(string(dir)))
	}, true},
	{"everybody may write to the folder", func(t *testing.T, dir folder, victims string) {
		must(t, os.Chmod(string(dir), 0o777))
	}, true},
	{"a group may write to the folder", func(t *testing.T, dir folder, victims string) {
		must(t, os.Chmod(string(dir), 0o770))
	}, true},
	{"the folder is sticky, as /tmp is", func(t *testing.T, dir folder, victims string) {
		must(t, os.Chmod(string(dir), 0o777|os.ModeSticky))
	}, true},
	{"the folder belongs to somebody else", func(t *testing.T, dir folder, victims string) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a folder away")
		}
		must(t, os.Chown(string(dir), 65534, 65534))
	}, true},
	{"ledger.jsonl is a link", link("ledger.jsonl", "file"), true},
	{"ledger.jsonl is a dangling link", link("ledger.jsonl", "new"), true},
	{"ledger.jsonl is a folder", mkdir("ledger.jsonl"), true},
	{"ledger.jsonl is a pipe", pipe("ledger.jsonl"), true},
	{"ledger.jsonl is a device", device("ledger.jsonl"), true},
	{"claims.log is a link", link("claims.log", "file"), true},
	{"claims.log is a dangling link", link("claims.log", "new"), true},
	{"claims.log is a folder", mkdir("claims.log"), true},
	{"claims.log is a pipe", pipe("claims.log"), true},
	{"claims.log is a device", device("claims.log"), true},
	{"notes is a link", link("notes", "."), true},
	{"notes is a dangling link", link("notes", "new"), true},
	{"notes is a file", func(t *testing.T, dir folder, victims string) {
		must(t, os.RemoveAll(dir.path("notes")))
		must(t, os.Link(victims+"/file", dir.path("notes")))
	}, true},
	{"notes is a pipe", pipe("notes"), true},
	{"everybody may write to notes", func(t *testing.T, dir folder, victims string) {
		must(t, os.Chmod(dir.path("notes"), 0o777))
	}, true},
	{"servers is a link", link("servers", "."), false},
	{"servers is a dangling link", link("servers", "new"), false},
	{"servers is a file", func(t *testing.T, dir folder, victims string) {
		must(t, os.RemoveAll(dir.path("servers")))
		must(t, os.Link(victims+"/file", dir.path("servers")))
	}, false},
	{"a note is a link", noteIs(link, "file"), false},
	{"a note is a dangling link", noteIs(link, "new"), false},
	{"a note is a folder", noteIs(func(name, _ string) setter { return mkdir(name) }, ""), false},
	{"a note is a pipe", noteIs(func(name, _ string) setter { return pipe(name) }, ""), false},
	{"a temporary file is a link", link("notes/.tmp-0123456789abcdef", "file"), false},
	{"a temporary file is a pipe", pipe("notes/.tmp-0123456789abcdef"), false},
	{"a temporary file is a folder", mkdir("notes/.tmp-0123456789abcdef"), false},
	{"a server's file is a link", link("servers/1-0123456789abcdef.json", "file"), false},
	{"a server's file is a pipe", pipe("servers/1-0123456789abcdef.json"), false},
}

type setter = func(t *testing.T, dir folder, victims string)

func link(name, target string) setter {
	return func(t *testing.T, dir folder, victims string) {
		must(t, os.RemoveAll(dir.path(name)))
		must(t, os.Symlink(filepath.Join(victims, target), dir.path(name)))
	}
}

func mkdir(name string) setter {
	return func(t *testing.T, dir folder, _ string) {
		must(t, os.RemoveAll(dir.path(name)))
		must(t, os.Mkdir(dir.path(name), 0o700))
	}
}

func pipe(name string) setter {
	return func(t *testing.T, dir folder, _ string) {
		must(t, os.RemoveAll(dir.path(name)))
		must(t, mkfifo(dir.path(name)))
	}
}

// device puts /dev/zero there: it can be read for ever, and takes whatever is written.
func device(name string) setter {
	return func(t *testing.T, dir folder, _ string) {
		must(t, os.RemoveAll(dir.path(name)))
		if err := syscall.Mknod(dir.path(name), syscall.S_IFCHR|0o600, 1<<8|5); err != nil {
			t.Skipf("this test makes a device, as root: %v", err)
		}
	}
}

// noteIs sets a trap under the name of a note that will be asked for.
func noteIs(set func(name, target string) setter, target string) setter {
	return func(t *testing.T, dir folder, victims string) {
		name, err := filepath.Rel(string(dir), dir.noteFile("trapped-1"))
		must(t, err)
		set(name, target)(t, dir, victims)
	}
}

// TestTraps starts a server on a folder in which something waits for it: it refuses, or serves
// what it can; nothing outside the folder is read, written or removed; nothing hangs.
func TestTraps(t *testing.T) {
	t.Parallel()
	for _, trap := range traps {
		t.Run(trap.name, func(t *testing.T) {
			t.Parallel()
			dir, victims := setTrap(t, trap)
			before := survey(t, victims)
			s := start(t, dir, launch{})
			defer func() {
				if after := survey(t, victims); after != before {
					t.Errorf("outside the ledger folder:\n%s\nbefore:\n%s", after, before)
				}
			}()
			if trap.stops {
				checkServesNothing(t, s)
				return
			}
			if a := s.writeNote("after-1", "text"); a.Gone {
				checkRefusesToStart(t, s)
				return
			} else if a.Status != "committed" {
				t.Errorf("a new note: %v, want committed", a)
			}
			trapped := s.writeNote("trapped-1", "text")
			if strings.HasPrefix(trap.name, "a note is") && !trapped.refusedSafely() && trapped.Status != "conflict" {
				t.Errorf("a note whose name is taken: %v, want conflict or -32603", trapped)
			}
			if a := s.readNotes(); a.Code != 0 && !a.refusedSafely() {
				t.Errorf("a reading: %v", a)
			}
			if during := survey(t, victims); during != before {
				t.Errorf("outside the ledger folder, while the server is alive:\n%s\nbefore:\n%s", during, before)
			}
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			mustVerify(t, dir)
		})
	}
}

// setTrap makes a folder that was in use, sets the trap, and returns where the victims lie.
func setTrap(t *testing.T, trap trap) (dir folder, victims string) {
	t.Helper()
	temp := t.TempDir()
	victims = filepath.Join(temp, "victims")
	must(t, os.Mkdir(victims, 0o700))
	for _, name := range []string{"file", ".tmp-victim"} {
		must(t, os.WriteFile(filepath.Join(victims, name), []byte("precious"), 0o600))
	}
	dir = withEarlierNote(t, filepath.Join(temp, "ledger"))
	restart(t, dir)
	trap.set(t, dir, victims)
	return dir, victims
}

// TestTrapsForReaders has the commands that only read run into the traps.
func TestTrapsForReaders(t *testing.T) {
	t.Parallel()
	for _, trap := range traps {
		t.Run(trap.name, func(t *testing.T) {
			t.Parallel()
			dir, victims := setTrap(t, trap)
			if trap.name == "the folder is a pipe" {
				return // who names a pipe as the ledger to read wants to read it
			}
			before := survey(t, victims)
			for _, args := range [][]string{
				{"verify", string(dir)}, {"stats", string(dir)}, {"status", string(dir)},
				{"show", "trapped-1", "--ledger", string(dir)}, {"show", earlierID, "--ledger", string(dir)},
			} {
				command(t, args...) // its answer does not matter, but it has to come
			}
			if after := survey(t, victims); after != before {
				t.Errorf("outside the ledger folder:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// TestStatusOfAnotherFolder: a folder that is no ledger's may well have one in it that is called
// servers. Nothing there is a dead server's file.
func TestStatusOfAnotherFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "servers"), 0o700))
	for _, name := range []string{"nginx.conf", "12-notes.json", "README", ".hidden"} {
		must(t, os.WriteFile(filepath.Join(dir, "servers", name), []byte("precious"), 0o600))
	}
	before := survey(t, filepath.Join(dir, "servers"))
	command(t, "status", dir)
	if after := survey(t, filepath.Join(dir, "servers")); after != before {
		t.Errorf("sallyport status changed a folder that is none of its own:\n%s\nbefore:\n%s", after, before)
	}
}

//go:build linux

package faults_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mustDeny asks about a harmless command, which may not run, for the reason that it cannot be recorded.
func (h hooked) mustDeny(t *testing.T, why string) {
	t.Helper()
	r := h.ask(t, "toolu-denied", harmless)
	if r.allowed {
		t.Errorf("%s: the call runs without a record: %+v", why, r)
	}
	if !strings.Contains(r.stdout+r.stderr, "record") {
		t.Errorf("%s: the reason says nothing of the record: %+v", why, r)
	}
	if r := h.ask(t, "toolu-denied", harmful); r.allowed {
		t.Errorf("%s: a harmful command runs: %+v", why, r)
	}
	policy := read(t, h.policy)
	must(t, os.WriteFile(h.policy, []byte(`{"ledger":"best_effort",`+hookPolicy[1:]), 0o600))
	if r := h.ask(t, "toolu-best-effort", harmless); !r.allowed {
		t.Errorf("%s, with a ledger kept as well as can be: %+v, want that it may run", why, r)
	}
	if r := h.ask(t, "toolu-best-effort", harmful); r.allowed {
		t.Errorf("%s, with a ledger kept as well as can be: a harmful command runs: %+v", why, r)
	}
	must(t, os.WriteFile(h.policy, []byte(policy), 0o600))
}

// mustWork asks about both kinds of command where nothing is wrong, or no longer.
func (h hooked) mustWork(t *testing.T, id string) {
	t.Helper()
	if r := h.ask(t, id+"-harmless", harmless); !r.allowed {
		t.Errorf("a harmless command: %+v", r)
	}
	if r := h.ask(t, id+"-harmful", harmful); r.allowed {
		t.Errorf("a harmful command: %+v", r)
	}
	mustVerify(t, h.ledger)
	if got := append(h.said(t, id+"-harmless"), h.said(t, id+"-harmful")...); strings.Join(got, " ") != "allow deny" {
		t.Errorf("the ledger says %q", got)
	}
}

// TestHookOnAFullDisk: what cannot be recorded does not run, and all is well once there is room.
func TestHookOnAFullDisk(t *testing.T) {
	t.Parallel()
	if !ownMounts(t) {
		return
	}
	h := newHooked(t)
	disk := smallDisk(t, "size=1m,mode=0700")
	h.ledger = folder(filepath.Join(disk, "ledger"))
	h.mustWork(t, "before")
	fill(t, filepath.Join(disk, "ballast"))
	for range 20 { // the last page of the ledger's file still takes some
		h.ask(t, "filling", harmful)
	}
	h.mustDeny(t, "a full disk")
	must(t, os.Remove(filepath.Join(disk, "ballast")))
	h.mustWork(t, "after")
}

// TestHookOnADiskThatCannotBeWritten: nor does it where the disk takes nothing, or the folder is not to be trusted.
func TestHookOnADiskThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	if !ownMounts(t) {
		return
	}
	h := newHooked(t)
	disk := smallDisk(t, "size=1m,mode=0700")
	h.ledger = folder(filepath.Join(disk, "ledger"))
	h.mustWork(t, "before")
	must(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	h.mustDeny(t, "a disk that is only for reading")
	must(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, ""))
	h.mustWork(t, "after")
}

// TestHookBesideBrokenFolders: a ledger's folder that others could write, that is a link or a file, or that was cut off
// from its beginning.
func TestHookBesideBrokenFolders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		harm func(t *testing.T, f folder)
	}{
		{"open to all", func(t *testing.T, f folder) { must(t, os.Chmod(string(f), 0o777)) }},
		{"a link", func(t *testing.T, f folder) {
			must(t, os.Rename(string(f), string(f)+"-real"))
			must(t, os.Symlink(string(f)+"-real", string(f)))
		}},
		{"a file", func(t *testing.T, f folder) {
			must(t, os.RemoveAll(string(f)))
			must(t, os.WriteFile(string(f), nil, 0o600))
		}},
		{"the ledger is a pipe", func(t *testing.T, f folder) {
			must(t, os.Remove(f.ledger()))
			must(t, mkfifo(f.ledger()))
		}},
		{"the ledger is a folder", func(t *testing.T, f folder) {
			must(t, os.Remove(f.ledger()))
			must(t, os.Mkdir(f.ledger(), 0o700))
		}},
		{"the ledger is a link", func(t *testing.T, f folder) {
			must(t, os.Rename(f.ledger(), f.path("real")))
			must(t, os.Symlink("real", f.ledger()))
		}},
		{"the last record was changed", func(t *testing.T, f folder) {
			text := read(t, f.ledger())
			must(t, os.WriteFile(f.ledger(), []byte(strings.Replace(text, `"decision":"deny"`, `"decision":"ally"`, 1)), 0o600))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHooked(t)
			h.mustWork(t, "before")
			test.harm(t, h.ledger)
			h.mustDeny(t, test.name)
		})
	}
}

// TestHookWithoutAHome: where the user's state cannot be kept, decisions are as right as ever.
func TestHookWithoutAHome(t *testing.T) {
	t.Parallel()
	if !ownMounts(t) {
		return
	}
	h := newHooked(t)
	h.policy += ".yaml" // whose compiled form wants to be kept
	must(t, os.WriteFile(h.policy, []byte(`version: 2
default: allow
rules:
  - id: no-rm-rf
    decision: deny
    runs: ["rm -r -f *"]
`), 0o600))
	h.mustWork(t, "before")
	h.home = smallDisk(t, "size=64k,mode=0700")
	fill(t, filepath.Join(h.home, "ballast"))
	h.mustWork(t, "full")
	must(t, syscall.Mount("tmpfs", h.home, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	h.mustWork(t, "read-only")
	h.home = filepath.Join(h.home, "nowhere")
	h.mustWork(t, "nowhere")
}

// TestHookMendsATornLedger: a last line that was cut short is a crash's residue, and no reason to stop everybody's work.
func TestHookMendsATornLedger(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	h.mustWork(t, "before")
	must(t, addTo(h.ledger.ledger(), tornRecord))
	h.mustWork(t, "after")
	if err := h.ledger.tornKept(tornRecord); err != nil {
		t.Error(err)
	}
}

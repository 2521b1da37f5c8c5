//go:build linux

package faults_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// inside is set where the test runs in a mount namespace of its own.
const inside = "FAULTS_INSIDE"

// ownMounts runs the calling test once more in a mount namespace of its own, where it may mount
// what vanishes with it, and reports whether this is that run.
func ownMounts(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		return true
	}
	flags := "-rm" // as a user who is root in a namespace of his own
	if os.Geteuid() == 0 {
		flags = "-m"
	}
	need(t, "unshare", flags, "mount", "-t", "tmpfs", "tmpfs", t.TempDir())
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command("unshare", flags, self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"="+filepath.Dir(binary))
	out, err := cmd.CombinedOutput()
	t.Logf("in a mount namespace of its own:\n%s", out)
	if err != nil {
		t.Error(err)
	}
	return false
}

// smallDisk mounts a file system of little room.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, options))
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill takes all the room there is.
func fill(t *testing.T, name string) {
	t.Helper()
	file, err := os.Create(name)
	must(t, err)
	defer file.Close()
	for size := 1 << 16; size > 0; {
		if _, err := file.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else {
			must(t, err)
		}
	}
}

// TestDiskFull: nothing acknowledged is lost, what cannot be written is not done and not
// acknowledged, the caller is told what to do, and then the same server works again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if !ownMounts(t) {
		return
	}
	disk := smallDisk(t, "size=1m,mode=0700")
	dir, ballast := folder(filepath.Join(disk, "ledger")), filepath.Join(disk, "ballast")
	s := start(t, dir, launch{})
	notes := map[string]string{}
	for i := range 5 {
		id := fmt.Sprintf("before-%d", i)
		s.mustWrite(id, "text")
		notes[id] = "text"
	}
	fill(t, ballast)
	for i := range 20 {
		id := fmt.Sprintf("when-full-%d", i)
		a := s.writeNote(id, strings.Repeat("x", 3000))
		if !a.refusedSafely() || !strings.Contains(a.Message, "free some space") {
			t.Errorf("a note on a full disk: %v, want -32603 and what to do", a)
		}
		if exists(dir.noteFile(id)) {
			t.Errorf("%s was published on a full disk", id)
		}
	}
	denialsWhenFull(t, s)
	if a := s.writeNote("before-0", "text"); !a.refusedSafely() {
		t.Errorf("a retry that cannot be recorded: %v, want -32603", a)
	}
	if a := s.readNotes(); !a.refusedSafely() {
		t.Errorf("a reading that cannot be recorded: %v, want -32603", a)
	}
	mustVerify(t, dir)
	if a := start(t, dir, launch{}).writeNote("when-full-0", "text"); !a.refusedSafely() && !a.Gone {
		t.Errorf("a note with a server that starts on a full disk: %v, want -32603", a)
	}

	must(t, os.Remove(ballast))
	for i := range 20 {
		id, text := fmt.Sprintf("when-full-%d", i), strings.Repeat("x", 3000)
		s.mustWrite(id, text)
		notes[id] = text
	}
	if a := s.writeNote("before-0", "text"); a.Status != "replay" {
		t.Errorf("a retry once there is space: %v, want replay", a)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	restart(t, dir)
	if err := dir.evidence(notes); err != nil {
		t.Error(err)
	}
	mustVerify(t, dir)
}

// denialsWhenFull: denials too are answered only if they are recorded. The last page of the
// ledger's file takes some, and then none.
func denialsWhenFull(t *testing.T, s *server) {
	t.Helper()
	before, err := s.dir.records()
	must(t, err)
	denied, refused := 0, 0
	for range 50 {
		switch a := s.remove(); {
		case a.Code == -32602:
			denied++
		case a.refusedSafely() && strings.Contains(a.Message, "free some space"):
			refused++
		default:
			t.Errorf("a denial on a full disk: %v", a)
		}
	}
	after, err := s.dir.records()
	must(t, err)
	if len(after)-len(before) != denied {
		t.Errorf("%d denials were answered and %d recorded", denied, len(after)-len(before))
	}
	if refused == 0 {
		t.Error("the disk was not full: every denial was recorded")
	}
}

// TestDiskFullAndKilled: the server dies on a full disk, and the next one starts when there is room.
func TestDiskFullAndKilled(t *testing.T) {
	t.Parallel()
	if !ownMounts(t) {
		return
	}
	disk := smallDisk(t, "size=1m,mode=0700")
	dir, ballast := folder(filepath.Join(disk, "ledger")), filepath.Join(disk, "ballast")
	notes := map[string]string{}
	for round := range 10 {
		s := start(t, dir, launch{})
		id := fmt.Sprintf("before-%d", round)
		s.mustWrite(id, "text")
		notes[id] = "text"
		fill(t, ballast)
		var waits []<-chan answer
		for i := range 10 {
			waits = append(waits, s.send("write_note", map[string]string{
				"request_id": fmt.Sprintf("when-full-%d", i), "text": strings.Repeat("x", 200),
			}))
		}
		must(t, os.Remove(ballast)) // some come before, some after
		for i, wait := range waits {
			if a := s.await(wait); done(a.Status) {
				notes[fmt.Sprintf("when-full-%d", i)] = strings.Repeat("x", 200)
			} else if !a.refusedSafely() {
				t.Errorf("on a disk that was full: %v", a)
			}
		}
		s.kill()
	}
	restart(t, dir)
	if err := dir.evidence(notes); err != nil {
		t.Error(err)
	}
}

// TestNoMoreFiles: there is room, but not for another file's name.
func TestNoMoreFiles(t *testing.T) {
	t.Parallel()
	if !ownMounts(t) {
		return
	}
	dir := folder(filepath.Join(smallDisk(t, "size=4m,nr_inodes=12,mode=0700"), "ledger"))
	s := start(t, dir, launch{})
	notes := map[string]string{}
	refused := 0
	for i := range 20 {
		id := fmt.Sprintf("request-%d", i)
		switch a := s.writeNote(id, "text"); {
		case a.Status == "committed":
			notes[id] = "text"
		case a.refusedSafely() && strings.Contains(a.Message, "free some space"):
			refused++
		default:
			t.Errorf("%s: %v", id, a)
		}
	}
	if refused == 0 || len(notes) == 0 {
		t.Errorf("%d notes were refused, %d committed; want some of each", refused, len(notes))
	}
	if a := s.remove(); a.Code != -32602 {
		t.Errorf("a denial needs no new file: %v, want -32602", a)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if err := dir.evidence(notes); err != nil {
		t.Error(err)
	}
}

// setLimit sets a soft resource limit of a living process; the hard one stays.
func setLimit(t *testing.T, pid, resource int, soft uint64) {
	t.Helper()
	var limit syscall.Rlimit
	prlimit := func(set, get *syscall.Rlimit) {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), uintptr(resource),
			uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 0, 0)
		if errno != 0 {
			t.Fatalf("prlimit: %v", errno)
		}
	}
	prlimit(nil, &limit)
	limit.Cur = min(soft, limit.Max)
	prlimit(&limit, nil)
}

const noLimit = ^uint64(0)

// TestShortWrites: a limit on file sizes lets the kernel write the beginning of a line and then
// refuse, at many places of the next lines of the larger one of ledger and claims.
func TestShortWrites(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		file    func(folder) string
		denials int // make the ledger the larger one
		step    int // bytes
	}{
		{name: "claims", file: folder.claims, step: 75},
		{name: "ledger", file: folder.ledger, denials: 120, step: 25},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := newFolder(t)
			s := start(t, dir, launch{})
			s.mustWrite("before-1", "text")
			notes := map[string]string{"before-1": "text"}
			for range test.denials {
				s.remove()
			}
			for i := range 20 {
				info, err := os.Stat(test.file(dir))
				must(t, err)
				id := fmt.Sprintf("request-%d", i)
				setLimit(t, s.cmd.Process.Pid, syscall.RLIMIT_FSIZE, uint64(info.Size())+uint64(1+i*test.step))
				a := s.writeNote(id, "text")
				if a.Gone { // SIGXFSZ may kill
					s = start(t, dir, launch{})
				} else if !a.refusedSafely() {
					t.Errorf("%s, whose line did not fit: %v, want -32603", id, a)
				} else {
					setLimit(t, s.cmd.Process.Pid, syscall.RLIMIT_FSIZE, noLimit)
				}
				if a = s.writeNote(id, "text"); !done(a.Status) {
					t.Errorf("the retry of %s: %v, want committed or replay", id, a)
				}
				notes[id] = "text"
			}
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			restart(t, dir)
			if err := dir.evidence(notes); err != nil {
				t.Error(err)
			}
			mustVerify(t, dir)
		})
	}
}

// TestNoMoreDescriptors: a server that may open no more files refuses what needs one, and goes on.
func TestNoMoreDescriptors(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	s := start(t, dir, launch{})
	s.mustWrite("before-1", "text")
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	must(t, err)
	notes := map[string]string{"before-1": "text"}
	for room := range 4 {
		setLimit(t, s.cmd.Process.Pid, syscall.RLIMIT_NOFILE, uint64(len(open)+room))
		var waits []<-chan answer
		for i := range 40 {
			waits = append(waits, s.send("write_note", map[string]string{"request_id": fmt.Sprintf("request-%d", i), "text": "text"}))
		}
		for i, wait := range waits {
			a := s.await(wait)
			if done(a.Status) {
				notes[fmt.Sprintf("request-%d", i)] = "text"
			} else if !a.refusedSafely() {
				t.Errorf("without descriptors: %v", a)
			}
		}
	}
	setLimit(t, s.cmd.Process.Pid, syscall.RLIMIT_NOFILE, 1024)
	for i := range 40 {
		id := fmt.Sprintf("request-%d", i)
		if a := s.writeNote(id, "text"); !done(a.Status) {
			t.Errorf("the retry of %s: %v", id, a)
		}
		notes[id] = "text"
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	restart(t, dir)
	if err := dir.evidence(notes); err != nil {
		t.Error(err)
	}
}

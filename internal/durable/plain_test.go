//go:build unix

package durable_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"sallyport/internal/durable"
)

// TestHasRoom asks for less and for more than there is; a small disk, and limits, are in test/faults.
func TestHasRoom(t *testing.T) {
	f, err := durable.OS.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.HasRoom(4096); err != nil {
		t.Errorf("of a page: %v", err)
	}
	if err := f.HasRoom(math.MaxInt64); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("of 8 EiB: %v", err)
	}
	f.Close()
	if err := f.HasRoom(1); err == nil {
		t.Error("of a closed file")
	}
}

// TestMark shows a mark to who looks at the name, whatever the umask, and gives nobody else a right.
func TestMark(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if status, err := durable.OS.Look(path); status != (durable.Status{}) || err != nil {
		t.Errorf("no file looks like %+v, %v", status, err)
	}
	old := syscall.Umask(0o777)
	f, err := durable.OS.Create(path)
	if err == nil {
		err = f.SetMark(true)
	}
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	id := durable.FileID{}
	for _, on := range []bool{true, false, false, true, true} {
		if err := f.SetMark(on); err != nil {
			t.Fatal(err)
		}
		status, err := durable.OS.Look(path)
		if err != nil || !status.Exists || status.Marked != on || status.ID == (durable.FileID{}) || id != (durable.FileID{}) && status.ID != id {
			t.Errorf("with the mark %t it looks like %+v, %v; before it was %v", on, status, err, id)
		}
		id = status.ID
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 || info.Mode().Perm()&0o600 != 0o600 {
			t.Errorf("its mode is %v, %v", info.Mode(), err)
		}
	}
	if err := os.Rename(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	if status, err := durable.OS.Look(path + "2"); err != nil || status.ID != id {
		t.Errorf("under another name it is %+v, %v, want %v", status, err, id)
	}
	for name, make := range map[string]func(string) error{
		"a link":   func(path string) error { return os.Symlink(path+"2", path) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o700) },
	} {
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if status, err := durable.OS.Look(path); err == nil {
			t.Errorf("%s looks like %+v", name, status)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := durable.OS.Look(filepath.Join(path+"2", "x")); err == nil {
		t.Error("a file in what is no folder was looked at")
	}
}

func TestOnlyPlainFilesAndFoldersAreOpened(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "log")
	if err := os.Symlink(victim, link); err != nil {
		t.Fatal(err)
	}
	if _, err := durable.OpenLog(durable.OS, link, numbered); err == nil {
		t.Error("a log was opened through a symbolic link")
	}
	if err := durable.OS.OwnDir(link); err == nil {
		t.Error("a file was opened as a folder")
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, open := range []func(string) (durable.File, error){durable.OS.Open, durable.OS.OpenRead} {
		if _, err := open(pipe); err == nil {
			t.Error("a pipe was opened as a file")
		}
	}
	folder := filepath.Join(dir, "folder")
	if err := os.Symlink(t.TempDir(), folder); err != nil {
		t.Fatal(err)
	}
	if err := durable.OS.OwnDir(folder); err == nil {
		t.Error("a folder was opened through a symbolic link")
	}
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := durable.OS.OwnDir(open); err == nil {
		t.Error("a folder that others can write to was opened")
	}
	if err := durable.OS.OwnDir(filepath.Join(dir, "new", "deep")); err != nil {
		t.Errorf("a new folder: %v", err)
	}
}

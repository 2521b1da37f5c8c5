//go:build unix

package durable_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"sallyport/internal/durable"
)

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

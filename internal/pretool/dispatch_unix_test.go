//go:build unix

package pretool

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipeIsNoRegistry would hang if the pipe was opened, as nobody writes to it.
func TestPipeIsNoRegistry(t *testing.T) {
	lib := t.TempDir()
	path := filepath.Join(lib, filepath.FromSlash(registryPath))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := validateDispatch("", aPrompt, lib, noEnv); !got.Allowed {
		t.Errorf("detail %q", got.Detail)
	}
	next := library(t, `[{"name": "a", "mandatory_skills": ["y-core"]}]`)
	got := validateDispatch("", aPrompt, lib, func(string) string { return next })
	if !strings.Contains(got.Detail, "y-core") {
		t.Errorf("detail %q, want the next library's registry read", got.Detail)
	}
}

func TestLinkedRegistryIsRead(t *testing.T) {
	lib := library(t, `[{"name": "a", "mandatory_skills": ["y-core"]}]`)
	link := filepath.Join(t.TempDir(), "lib")
	if err := os.Symlink(lib, link); err != nil {
		t.Fatal(err)
	}
	if got := validateDispatch("", aPrompt, link, noEnv); got.Allowed {
		t.Error("the registry of a linked library is not read")
	}
}

//go:build unix

package hook

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestUnreadablePolicyDenies waits for no pipe and takes nothing but a file for one.
func TestUnreadablePolicyDenies(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"pipe":        func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder":      func(path string) error { return os.Mkdir(path, 0o700) },
		"large":       func(path string) error { return os.WriteFile(path, make([]byte, maxPolicy+1), 0o600) },
		"link astray": func(path string) error { return os.Symlink("/dev/zero", path) },
		"loop":        func(path string) error { return os.Symlink(path, path) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, "")
			if err := os.MkdirAll(filepath.Dir(p.policyFile()), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := put(p.policyFile()); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			got, r := p.ask("Grep")
			want(t, "the outcome", got, "deny")
			wantReason(t, r, "policy", p.policyFile())
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

//go:build unix

// Package hosts_test holds the hook to what coding agents do with it. The cases of the conformance suite go through the
// real binary in every run of the tests. With the build tag peers the real Claude Code CLI, which test/hosts/install gets
// from npm, works on a stand-in for its model that asks for chosen calls; what then happens on the disk counts.
package hosts_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// sallyport is the path of the binary under test.
var sallyport string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sallyport-hosts-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	sallyport = filepath.Join(dir, "sallyport")
	build := exec.Command("go", "build", "-o", sallyport, "sallyport/cmd/sallyport")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building sallyport: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes a file and the folders above it.
func write(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o700))
	must(t, os.WriteFile(name, []byte(text), 0o600))
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

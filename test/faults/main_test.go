//go:build linux

// Package faults_test breaks the processes, system calls, disks and files under the real
// program, and holds it to two promises: nothing that was acknowledged is lost or done twice,
// and what cannot be recorded is not done.
//
// Three tools break things: strace makes one system call of one process fail or die there, a
// signal kills or stops a server, and the tests' own hands are laid on the files of a ledger
// folder. The program is either the binary itself, driven over its pipes, or the writer, which
// is this test binary run again: it makes one call on one thread, so that every run makes the
// same system calls in the same order.
package faults_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// binary is the program under test, and root the folder of its module.
var binary, root string

// patience is how long a test waits for what should come at once, on a machine that others load.
const patience = 60 * time.Second

// atOnce is how long a process may take to end that has nothing to do or should refuse to begin.
const atOnce = 20 * time.Second

func init() {
	if os.Getenv(writerDir) != "" {
		runtime.LockOSThread() // the main goroutine on the main thread, before anything else runs
	}
}

func TestMain(m *testing.M) {
	if effects := os.Getenv(upstreamEffects); effects != "" {
		os.Exit(upstreamMain(effects))
	}
	if dir := os.Getenv(writerDir); dir != "" {
		os.Exit(writer(dir, os.Getenv(writerFrom)))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	// A race-instrumented process otherwise sleeps for a second when it exits.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	for _, name := range []string{"LEDGER_DIR", "POLICY_PATH", "CRASH_MARKER"} {
		os.Unsetenv(name)
	}
	temp, err := os.MkdirTemp("", "faults-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(temp)
	if err := os.Chmod(temp, 0o755); err != nil { // one test runs the binary as another user
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if root, err = moduleRoot(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary = filepath.Join(temp, "sallyport")
	args := []string{"build", "-o", binary}
	if raceEnabled {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "./cmd/sallyport")...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program under test: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the tests")
		}
		dir = parent
	}
}

// need makes sure that a tool does its work here. Where it does not the test is skipped, or
// fails where SALLYPORT_FULL=1 promises that every test is run.
func need(t *testing.T, tool string, args ...string) {
	t.Helper()
	out, err := exec.Command(tool, args...).CombinedOutput()
	if err == nil {
		return
	}
	if os.Getenv("SALLYPORT_FULL") == "1" {
		t.Fatalf("SALLYPORT_FULL=1 asks for every test, and this one needs %s: %v\n%s", tool, err, out)
	}
	t.Skipf("this test needs %s: %v\n%s", tool, err, out)
}

// needStrace makes sure that processes can be traced here; some containers forbid it.
func needStrace(t *testing.T) { need(t, "strace", "-o", "/dev/null", "true") }

// waitFor waits until cond holds.
func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

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
//
// Thousands of processes are started here, and one with the race detector takes some times as long to start. So only the
// soaks, in which one process has much to do at once, are of a program that has it, whether the tests have it or not.
package faults_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// binary is the program under test as it is released, without C libraries, whose loader would come before it; root is the
// folder of its module. writerBinary is this test without the race detector.
var binary, writerBinary, root string

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
	if os.Getenv(inside) != "" {
		temp = os.Getenv(inside) // built already
	}
	binary, writerBinary = filepath.Join(temp, "sallyport"), filepath.Join(temp, "writer")
	if !raceEnabled {
		if writerBinary, err = os.Executable(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if os.Getenv(inside) == "" {
		if err := buildPrograms(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

func buildPrograms() error {
	if err := goCommand("CGO_ENABLED=0", "build", "-o", binary, "./cmd/sallyport"); err != nil || !raceEnabled {
		return err
	}
	return goCommand("CGO_ENABLED=0", "test", "-c", "-o", writerBinary, "./test/faults")
}

func goCommand(setting string, args ...string) error {
	build := exec.Command("go", args...)
	build.Dir, build.Env = root, append(os.Environ(), setting)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// raced returns the program with the race detector. Where it cannot be built, as there is no C compiler, it is the one without,
// or the test fails where SALLYPORT_FULL=1 promises all.
func raced(t *testing.T) string {
	t.Helper()
	name, err := buildRaced()
	switch {
	case err == nil:
	case os.Getenv("SALLYPORT_FULL") == "1":
		t.Fatal(err)
	default:
		t.Logf("the program is without the race detector: %v", err)
		return binary
	}
	return name
}

var buildRaced = sync.OnceValues(func() (string, error) {
	name := filepath.Join(filepath.Dir(binary), "raced", "sallyport")
	return name, goCommand("CGO_ENABLED=1", "build", "-race", "-o", name, "./cmd/sallyport")
})

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

//go:build linux

package faults_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fileCalls are the system calls that durable state stands on. The question mark lets strace do
// without those that an architecture does not have.
var fileCalls = []string{
	"openat", "close", "pread64", "pwrite64", "read", "write", "lseek", "fsync", "fdatasync", "ftruncate",
	"linkat", "unlinkat", "renameat", "renameat2", "mkdirat", "flock", "fcntl", "fstat", "newfstatat", "getdents64",
}

// traced is one line of a trace.
type traced struct {
	call     string // the system call's name
	text     string // the whole line
	injected bool
}

// trace is what strace saw of a writer: the file calls that are of interest, which are those
// between the marks, and how many of each name had come before.
type trace struct {
	before map[string]int
	calls  []traced
	killed bool
	stdout string
}

// point is one file call of a writer: the nth of its name on the writer's thread, counted from
// the start of the process, as strace counts.
type point struct {
	traced
	index int // in the trace's calls
	n     int
}

func (p point) String() string {
	return fmt.Sprintf("%s #%d, call %d: %s", p.call, p.n, p.index, p.text)
}

func (tr *trace) points() []point {
	seen := map[string]int{}
	for name, n := range tr.before {
		seen[name] = n
	}
	var all []point
	for i, c := range tr.calls {
		seen[c.call]++
		all = append(all, point{traced: c, index: i, n: seen[c.call]})
	}
	return all
}

var (
	callLine   = regexp.MustCompile(`^(\w+)\(`)
	straceArgs = []string{"-y", "-s", "64", "-e", "signal=SIGKILL", "-e", "trace=faccessat,access,?" + strings.Join(fileCalls, ",?")}
)

// traceWriter runs the writer under strace, with an injection unless it is empty. Only the main
// thread is followed, since it makes all file calls; so strace's count of them is stable.
func traceWriter(dir folder, from, inject string) (*trace, error) {
	out, err := os.CreateTemp("", "strace-")
	if err != nil {
		return nil, err
	}
	out.Close()
	defer os.Remove(out.Name())
	args := append([]string{"-o", out.Name()}, straceArgs...)
	if inject != "" {
		args = append(args, "-e", "inject="+inject)
	}
	cmd := exec.Command("strace", append(args, writerBinary)...)
	cmd.Env = append(os.Environ(), writerDir+"="+string(dir), writerFrom+"="+from, "GOMAXPROCS=1")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	runErr := cmd.Run()
	text, err := os.ReadFile(out.Name())
	if err != nil {
		return nil, err
	}
	tr := parseTrace(string(text))
	tr.stdout = stdout.String()
	var exit *exec.ExitError
	if runErr != nil && !errors.As(runErr, &exit) {
		return nil, runErr
	}
	if stderr.Len() > 0 && !tr.killed {
		return tr, fmt.Errorf("the writer, or strace, complains: %s", stderr.String())
	}
	return tr, nil
}

func parseTrace(text string) *trace {
	tr := &trace{before: map[string]int{}}
	begun, ended := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		m := callLine.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "+++ killed by SIGKILL"):
			tr.killed = true
		case m == nil:
		case strings.Contains(line, markBegin):
			begun = true
		case strings.Contains(line, markEnd):
			ended = true
		case m[1] == "access" || m[1] == "faccessat":
		case !begun:
			tr.before[m[1]]++
		case !ended:
			tr.calls = append(tr.calls, traced{m[1], line, strings.Contains(line, "(INJECTED)")})
		}
	}
	return tr
}

// file is the base name of the file that a line speaks of, for people to read.
var pathInLine = regexp.MustCompile(`["<](/[^">]*)[">]`)

func (c traced) file() string {
	if m := pathInLine.FindStringSubmatch(c.text); m != nil {
		return filepath.Base(m[1])
	}
	return ""
}

// onlyFlags reports whether a call is one of those with which Go's runtime tries out each file
// that it opens. They change nothing, so that death at one of them is death at the next call.
func (c traced) onlyFlags() bool {
	return c.call == "fcntl" && (strings.Contains(c.text, "F_GETFL") || strings.Contains(c.text, "F_SETFL"))
}

// changesNothing reports whether a call leaves all files and all that was said as they are, so that death before it is death
// at the next call. Locks end with their process, whether they were taken and let go or not.
func (c traced) changesNothing() bool {
	switch c.call {
	case "openat":
		return !strings.Contains(c.text, "O_CREAT") && !strings.Contains(c.text, "O_TRUNC")
	case "pread64", "read", "lseek", "fstat", "newfstatat", "getdents64", "flock", "close":
		return true
	}
	return c.onlyFlags()
}

// killedAt is the command before one that strace kills at the nth call of a name on a file, as each thread counts them. Of
// io_submit strace does not see the file: claims and latches are synced by it.
func killedAt(path, call string, n int) []string {
	args := []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", call, n)}
	if call == "io_submit" {
		return args
	}
	return append(args, "-P", path)
}

// calledOn lists the calls of the given names with the file of each, such as "fsync notes".
func (tr *trace) calledOn(names ...string) []string {
	var list []string
	for _, c := range tr.calls {
		for _, name := range names {
			if c.call == name {
				list = append(list, name+" "+c.file())
			}
		}
	}
	return list
}

// mustTrace traces a writer that nothing happens to.
func mustTrace(t *testing.T, dir folder, from string) *trace {
	t.Helper()
	tr, err := traceWriter(dir, from, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := "first: committed\nlater: committed\n"; tr.stdout != want {
		t.Fatalf("the writer says %q, want %q", tr.stdout, want)
	}
	return tr
}

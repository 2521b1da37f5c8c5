//go:build linux

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// hookCalls are the system calls that a decision hangs upon, from its event to its record.
var hookCalls = []string{
	"openat", "read", "pread64", "write", "pwrite64", "lseek", "fsync", "fdatasync", "ftruncate", "flock", "fcntl", "fstat",
	"newfstatat", "mkdirat", "close", "getdents64", "readlinkat", "renameat", "linkat", "unlinkat",
}

// TestEveryCallOfAHook lets system calls of a hook fail, each in its turn, alone and with all that come after it. Whatever
// fails, a harmful command does not run; and a harmless one runs only if that is recorded.
func TestEveryCallOfAHook(t *testing.T) {
	t.Parallel()
	needStrace(t)
	h := newHooked(t)
	h.mustWork(t, "before")
	most := countCalls(t, h)
	if len(most) < 8 {
		t.Fatalf("strace saw only these calls of a hook: %v", most)
	}
	jobs := make(chan hookFault)
	var workers sync.WaitGroup
	var fired, all, ran atomic.Int64
	for range 2 {
		workers.Go(func() {
			for f := range jobs {
				struck, allowed, err := f.strike(t.Context(), h, all.Add(1))
				if err != nil {
					t.Errorf("%+v: %v", f, err)
				}
				if struck {
					fired.Add(1)
				}
				if allowed {
					ran.Add(1)
				}
			}
		})
	}
	for _, call := range hookCalls {
		for n := range most[call] {
			once, onwards := fmt.Sprint(n+1), fmt.Sprintf("%d+", n+1)
			for _, f := range []hookFault{
				{call, once, "EIO", harmful}, {call, once, "EIO", harmless},
				{call, onwards, "EIO", harmful}, {call, onwards, "EIO", harmless},
				{call, once, "ENOSPC", harmless},
			} {
				jobs <- f
			}
		}
	}
	close(jobs)
	workers.Wait()
	t.Logf("%d runs, faults fired in %d, the harmless call ran in %d", all.Load(), fired.Load(), ran.Load())
	if fired.Load() < all.Load()/2 || ran.Load() == 0 {
		t.Error("hardly a fault fired, or no call ran at all: this test tries nothing")
	}
	h.mustWork(t, "after")
}

// hookFault is a system call that fails: which one, at which of its times, how, and what the hook is asked meanwhile.
type hookFault struct{ call, when, errno, command string }

// leavesNoWord reports whether nothing can be written any more from some moment on, stderr included: then a block by the
// exit code is all that a hook can say.
func (f hookFault) leavesNoWord() bool { return f.call == "write" && strings.HasSuffix(f.when, "+") }

// strike runs one hook with the fault, and reports whether it fired and whether the command would run.
func (f hookFault) strike(ctx context.Context, h hooked, n int64) (fired, allowed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id, out := fmt.Sprintf("toolu-%d", n), filepath.Join(filepath.Dir(h.home), fmt.Sprintf("trace-%d", n))
	r, err := listen(h.hookCommand(ctx, id, f.command, "strace", "-f", "-o", out, "-e", "signal=none", "-e", "trace="+f.call,
		"-e", "inject="+f.call+":error="+f.errno+":when="+f.when), func() {})
	if err != nil {
		return false, false, err
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return false, false, err
	}
	fired = strings.Contains(string(text), "(INJECTED)")
	if f.leavesNoWord() && r.code == 2 {
		r.stderr = "no word can be written"
	}
	if problem := r.problem(); problem != "" {
		return fired, r.allowed, errors.New(problem)
	}
	if !r.allowed {
		return fired, false, nil
	}
	said, err := h.decisions(id)
	switch {
	case err != nil:
	case f.command == harmful:
		err = fmt.Errorf("a harmful command runs: %+v", r)
	case strings.Join(said, " ") != "allow":
		err = fmt.Errorf("a call runs, and the ledger says of it %q: %+v", said, r)
	}
	return fired, true, err
}

// countCalls returns how many calls of each name one thread of a hook makes, at the most.
func countCalls(t *testing.T, h hooked) map[string]int {
	t.Helper()
	out := filepath.Join(t.TempDir(), "trace")
	h.ask(t, "counted", harmless, "strace", "-f", "-o", out, "-e", "signal=none", "-e", "trace=?"+strings.Join(hookCalls, ",?"))
	text, err := os.ReadFile(out)
	must(t, err)
	by, most := map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(text)) {
		thread, rest, _ := strings.Cut(line, " ")
		name, _, ok := strings.Cut(strings.TrimSpace(rest), "(")
		if !ok || strings.ContainsAny(name, " <+-") {
			continue
		}
		by[thread+name]++
		most[name] = max(most[name], by[thread+name])
	}
	return most
}

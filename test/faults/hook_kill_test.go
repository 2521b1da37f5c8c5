//go:build linux

package faults_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestHookKilledAtAnyMoment kills hooks that share a ledger, each at another moment of its short life. The ledger has to
// verify at any time but for a torn end, which the next one mends; and who came to its end has its record.
func TestHookKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	var life time.Duration // of an undisturbed hook
	for i := range 5 {
		r := h.ask(t, fmt.Sprintf("before-%d", i), harmless)
		if !r.allowed {
			t.Fatalf("a harmless command: %+v", r)
		}
		life = r.took
	}
	killed, ended := 0, map[string]ruling{}
	for i := range 200 {
		id, asked := fmt.Sprintf("toolu-%d", i), []string{harmless, harmful}[i%2]
		cmd := h.hookCommand(t.Context(), id, asked)
		r, err := listen(cmd, func() {
			time.Sleep(rand.N(life*3/2 + 1))
			cmd.Process.Kill() // in vain if it has ended
		})
		must(t, err)
		if life = life * 9 / 10; r.killed { // how long it is depends on what else the machine does
			life = life * 5 / 4
			killed++
		} else {
			ended[id] = r
		}
		if out, code := command(t, "verify", string(h.ledger)); code != 0 && code != 3 {
			t.Fatalf("sallyport verify after a kill: exit code %d\n%s", code, out)
		}
	}
	if killed < 20 || len(ended) < 5 {
		t.Errorf("%d hooks were killed and %d came to their end, want some of each", killed, len(ended))
	}
	if r := h.ask(t, "after", harmless); !r.allowed {
		t.Errorf("a harmless command after all that: %+v", r)
	}
	mustVerify(t, h.ledger)
	for i := range 200 {
		id := fmt.Sprintf("toolu-%d", i)
		r, whole := ended[id]
		got := h.said(t, id)
		want := []string{"allow", "deny"}[i%2]
		if len(got) > 1 || len(got) == 1 && got[0] != want || whole && len(got) != 1 {
			t.Errorf("%s, which came to its end: %t: the ledger says %q, want %s", id, whole, got, want)
		}
		if whole && r.allowed != (want == "allow") {
			t.Errorf("%s: %+v, want %s", id, r, want)
		}
	}
}

// TestManyHooksAtOnce: hosts make calls in parallel, and each is a process that wants the same ledger. Given time each is
// judged and recorded once. With their own deadline those that cannot be recorded in time are denied, in time. They are enough at
// once without the other tests.
func TestManyHooksAtOnce(t *testing.T) {
	for _, test := range []struct {
		name     string
		deadline time.Duration
	}{{"given time", longestDeadline}, {"in time", 0}} {
		t.Run(test.name, func(t *testing.T) {
			h := newHooked(t)
			h.deadline = test.deadline
			rulings := h.askAtOnce(t, 200)
			mustVerify(t, h.ledger)
			for i, r := range rulings {
				want := []string{"allow", "deny"}[i%2]
				got := h.said(t, fmt.Sprintf("toolu-%d", i))
				problem := r.problem()
				switch recorded := len(got) == 1 && got[0] == want; {
				case problem != "":
				case r.allowed && (want == "deny" || !recorded):
					problem = "a call runs that may not, or that nobody can know of"
				case test.deadline > 0 && (r.allowed != (want == "allow") || !recorded):
					problem = "not judged, or not recorded"
				case test.deadline == 0 && r.took > soonEnough:
					problem = "too late"
				}
				if problem != "" {
					t.Errorf("hook %d: %s: the ledger says %q of %+v", i, problem, got, r)
				}
			}
		})
	}
}

// longestDeadline is the longest that a hook may be given.
const longestDeadline = 30 * time.Second

// askAtOnce starts so many hooks at the same time, every other one with a harmful command.
func (h hooked) askAtOnce(t *testing.T, hooks int) []ruling {
	rulings := make([]ruling, hooks)
	var running sync.WaitGroup
	for i := range hooks {
		running.Go(func() {
			cmd := h.hookCommand(t.Context(), fmt.Sprintf("toolu-%d", i), []string{harmless, harmful}[i%2])
			var err error
			if rulings[i], err = listen(cmd, func() {}); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	return rulings
}

// soonEnough is by when a hook has ended whose deadline is its own: the time of a start on a busy machine and a race
// detector's comfort included.
const soonEnough = 5 * time.Second

// TestHookBesideAHeldLock: somebody stopped while it held the ledger. The hook does not wait longer than its deadline,
// whatever it is sent meanwhile; and it denies, unless the policy prefers calls to records.
func TestHookBesideAHeldLock(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	if r := h.ask(t, "before", harmless); !r.allowed {
		t.Fatalf("a harmless command: %+v", r)
	}
	h.deadline = 0
	file, err := os.Open(h.ledger.ledger())
	must(t, err)
	defer file.Close()
	must(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	for _, command := range []string{harmless, harmful} {
		if r := h.ask(t, "held", command); r.allowed || r.took > soonEnough {
			t.Errorf("%s beside a held lock: %+v, want a denial at once", command, r)
		}
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGALRM} {
		h.deadline = time.Second
		cmd := h.hookCommand(t.Context(), "signalled", harmless)
		r, err := listen(cmd, func() {
			waitFor(t, "it waits for the lock", func() bool { return ignores(cmd.Process.Pid, signal) })
			must(t, cmd.Process.Signal(signal))
		})
		must(t, err)
		if problem := r.problem(); problem != "" || r.allowed {
			t.Errorf("%v: %s %+v, want a denial", signal, problem, r)
		}
	}
	h.deadline = 0
	must(t, os.WriteFile(h.policy, []byte(`{"ledger":"best_effort",`+hookPolicy[1:]), 0o600))
	if r := h.ask(t, "best-effort", harmless); !r.allowed || r.took > soonEnough {
		t.Errorf("a harmless command, with a ledger kept as well as can be: %+v, want that it may run", r)
	}
	if r := h.ask(t, "best-effort", harmful); r.allowed {
		t.Errorf("a harmful command: %+v", r)
	}
	must(t, syscall.Flock(int(file.Fd()), syscall.LOCK_UN))
	h.deadline = longestDeadline
	if r := h.ask(t, "after", harmless); !r.allowed {
		t.Errorf("a harmless command once the lock is free: %+v", r)
	}
	mustVerify(t, h.ledger)
	if got := h.said(t, "after"); len(got) != 1 || got[0] != "allow" {
		t.Errorf("the ledger says %q", got)
	}
}

// ignores reports whether a process ignores a signal by now, which the hook does from its beginning on.
func ignores(pid int, signal syscall.Signal) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		var mask uint64
		if n, _ := fmt.Sscanf(line, "SigIgn: %x", &mask); n == 1 {
			return mask&(1<<(uint(signal)-1)) != 0
		}
	}
	return false
}

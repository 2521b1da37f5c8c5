//go:build linux

package faults_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A server waits for a lock that a peer holds: longer than any peer at work needs, and not longer
// than a caller can bear.
const leastWait, mostWait = 3 * time.Second, 45 * time.Second

// TestStoppedPeer: a server is stopped while it holds the lock on the ledger. The other one says
// so within its bound, does nothing, and works again when the first goes on or dies.
func TestStoppedPeer(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for _, end := range []struct {
		name   string
		signal syscall.Signal
		first  string // what the stopped server's call comes to
	}{
		{"continued", syscall.SIGCONT, "committed"},
		{"killed", syscall.SIGKILL, "no answer"},
	} {
		t.Run(end.name, func(t *testing.T) {
			t.Parallel()
			dir := newFolder(t)
			restart(t, dir)
			stopped, pid, first := stopHoldingLock(t, dir)
			peer := start(t, dir, launch{})
			began := time.Now()
			denied := peer.send("rm_rf", map[string]string{"path": "/nowhere"})
			if a := peer.writeNote("request-2", "text"); !a.refusedSafely() || !strings.Contains(a.Message, "stopped") {
				t.Errorf("a note while a peer is stopped: %v, want -32603 and what to do", a)
			}
			took := time.Since(began)
			t.Logf("the refusal took %v", took)
			if took < leastWait || took > mostWait {
				t.Errorf("the refusal took %v, want between %v and %v", took, leastWait, mostWait)
			}
			if a := peer.await(denied); !a.refusedSafely() {
				t.Errorf("a denial that cannot be recorded: %v, want -32603", a)
			}
			if exists(dir.noteFile("request-2")) {
				t.Error("a note appeared that nobody could record")
			}
			must(t, syscall.Kill(pid, end.signal))
			if end.signal == syscall.SIGCONT {
				defer keepGoing(pid)()
			}
			if a := stopped.await(first); a.String() != end.first {
				t.Errorf("the stopped server's own call: %v, want %s", a, end.first)
			}
			peer.mustWrite("request-2", "text")
			want := "replay"
			if a := peer.writeNote("request-1", "text"); a.Status != want {
				t.Errorf("the stopped server's note: %v, want %s", a, want)
			}
			if err := peer.stop(); err != nil {
				t.Error(err)
			}
			stopped.kill()
			restart(t, dir)
			if err := dir.evidence(map[string]string{"request-1": "text", "request-2": "text"}); err != nil {
				t.Error(err)
			}
		})
	}
}

// keepGoing continues a process again and again until it is told to end: strace counts calls by
// thread, so each thread's first fdatasync stops it once.
func keepGoing(pid int) (end func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				syscall.Kill(pid, syscall.SIGCONT)
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// stopHoldingLock starts a server that SIGSTOP reaches while it syncs the ledger, under its lock.
func stopHoldingLock(t *testing.T, dir folder) (s *server, pid int, first <-chan answer) {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	s = start(t, dir, launch{wrap: []string{"strace", "-f", "-o", trace, "-P", dir.ledger(),
		"-e", "trace=fdatasync", "-e", "inject=fdatasync:signal=SIGSTOP:when=1"}})
	first = s.send("write_note", map[string]string{"request_id": "request-1", "text": "text"})
	waitFor(t, "a server that is stopped", func() bool {
		text, err := os.ReadFile(trace)
		return err == nil && strings.Contains(string(text), "stopped by SIGSTOP")
	})
	if pid = childOf(s.cmd.Process.Pid); pid == 0 {
		t.Fatal("strace has no child")
	}
	if locked, err := isLocked(dir.ledger()); err != nil || !locked {
		t.Fatalf("the stopped server holds no lock: %v", err)
	}
	return s, pid, first
}

// childOf is the first child of a process, 0 where there is none.
func childOf(pid int) int {
	var child int
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err == nil {
		fmt.Sscan(string(text), &child)
	}
	return child
}

func isLocked(name string) (bool, error) {
	file, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer file.Close()
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

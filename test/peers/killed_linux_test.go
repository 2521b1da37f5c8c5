//go:build peers

package peers_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// ended is how a process under the tests' eyes came to its end.
type ended struct {
	points []string // where it could have died, up to where it did: the writes and syncs of journals
	killed bool     // at the last of the points
	code   int      // else
	stdout string
	stderr string
}

// dieAt runs a command and kills it when it is about to make its nth write or sync of a run's journal, or of what is to become
// one; 0 lets it live. It looks at every system call of all its threads: strace counts those of each thread on its own, and
// which of its threads writes is for Go's scheduler to say.
func dieAt(t *testing.T, n int, command []string) ended {
	t.Helper()
	type end struct {
		ended
		err error
	}
	done := make(chan end, 1)
	go func() {
		runtime.LockOSThread() // who traces is a thread
		defer runtime.UnlockOSThread()
		e, err := watch(n, command)
		done <- end{e, err}
	}()
	e := <-done
	if e.err != nil {
		t.Fatalf("%q: %v\n%s", command, e.err, e.stderr)
	}
	return e.ended
}

func watch(n int, command []string) (e ended, err error) {
	var outputs [2]*os.File
	for i := range outputs {
		if outputs[i], err = os.CreateTemp("", "said-"); err != nil {
			return e, err
		}
		defer os.Remove(outputs[i].Name())
		defer outputs[i].Close()
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = outputs[0], outputs[1]
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return e, err
	}
	defer cmd.Process.Release()
	pid := cmd.Process.Pid
	patient := time.AfterFunc(patience, func() { syscall.Kill(pid, syscall.SIGKILL) })
	defer patient.Stop()
	tr := &tracer{pid: pid, dieAt: n, known: map[int]bool{pid: true}}
	err = tr.trace()
	for i, text := range []*string{&e.stdout, &e.stderr} {
		said, readErr := os.ReadFile(outputs[i].Name())
		*text, err = string(said), errors.Join(err, readErr)
	}
	e.points, e.killed, e.code = tr.points, tr.killed, tr.end.ExitStatus()
	if err == nil && tr.end.Signaled() && !tr.killed {
		err = fmt.Errorf("it was killed by %v, and not by this test", tr.end.Signal())
	}
	return e, err
}

// tracer lets a process and its threads go from one system call to the next.
type tracer struct {
	pid, dieAt int
	known      map[int]bool // its threads that were heard of
	points     []string
	killed     bool
	end        syscall.WaitStatus
}

// What ptrace(2) has and package syscall has not.
const (
	ptraceExitKill       = 0x100000
	ptraceGetSyscallInfo = 0x420e
	waitNoThread         = 0x20000000
	syscallStop          = syscall.SIGTRAP | 0x80
	onEntry              = 1
)

// syscallInfo is struct ptrace_syscall_info.
type syscallInfo struct {
	op     uint8
	_      [3]uint8
	arch   uint32
	ip, sp uint64
	nr     uint64
	args   [6]uint64
	_      [2]uint64 // room for what newer kernels add
}

// trace goes on until the process is gone.
func (tr *tracer) trace() error {
	begun := false
	for {
		var status syscall.WaitStatus
		tid, err := syscall.Wait4(-1, &status, syscall.WALL|waitNoThread, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("waiting: %w", err)
		case status.Exited() || status.Signaled():
			if tid == tr.pid {
				tr.end = status
				return nil
			}
			continue
		case !begun: // it has just been started
			begun = true
			if err := syscall.PtraceSetOptions(tid, syscall.PTRACE_O_TRACESYSGOOD|syscall.PTRACE_O_TRACECLONE|ptraceExitKill); err != nil {
				return fmt.Errorf("PTRACE_SETOPTIONS: %w", err)
			}
			status = 0
		}
		if err := syscall.PtraceSyscall(tid, tr.stopped(tid, status)); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("PTRACE_SYSCALL: %w", err)
		}
	}
}

// stopped looks at a thread that stands still, and returns the signal that it is to get.
func (tr *tracer) stopped(tid int, status syscall.WaitStatus) (signal int) {
	first := !tr.known[tid]
	tr.known[tid] = true
	switch stop := status.StopSignal(); {
	case status == 0, first && stop == syscall.SIGSTOP: // the first that is heard of a thread
	case stop == syscallStop:
		tr.look(tid)
	case stop == syscall.SIGTRAP: // an event, such as that there is a new thread
	default:
		return int(stop)
	}
	return 0
}

// look kills the process if the thread is about to make the system call that it is to die at.
func (tr *tracer) look(tid int) {
	var info syscallInfo
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, ptraceGetSyscallInfo, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 || info.op != onEntry || tr.killed {
		return
	}
	call, ok := map[uint64]string{syscall.SYS_WRITE: "write", syscall.SYS_PWRITE64: "write", syscall.SYS_FSYNC: "sync", syscall.SYS_FDATASYNC: "sync"}[info.nr]
	if !ok {
		return
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, info.args[0]))
	if err != nil || filepath.Base(path) != "runs" && filepath.Base(filepath.Dir(path)) != "runs" {
		return
	}
	name := filepath.Base(path)
	switch {
	case strings.HasPrefix(name, "."):
		name = "what is to become the journal"
	case name == "runs":
		name = "the folder"
	default:
		name = "the journal"
	}
	tr.points = append(tr.points, call+" of "+name)
	if len(tr.points) == tr.dieAt {
		tr.killed = syscall.Kill(tr.pid, syscall.SIGKILL) == nil
	}
}

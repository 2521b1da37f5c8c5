//go:build unix

package upstream

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup lets a process lead a group of its own, and end with us where the system can do that.
func ownGroup() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	endWithUs(attributes)
	return attributes
}

// The errors of kill say that there is nobody any more.

func terminateGroup(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGTERM) }

func killGroup(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

// kill kills the group whose leader is alive.
func kill(leader *os.Process) { killGroup(leader.Pid) }

// groupLives reports whether a process is in the group. Those whose parents have ended are ours to reap where we are the
// first process, as in a container.
func groupLives(group int) bool {
	for {
		if pid, err := syscall.Wait4(-group, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			break
		}
	}
	return syscall.Kill(-group, 0) == nil
}

// watcher waits for us to end, and then kills the group. It cannot be kept from that by what ends us: it is in a session
// of its own, and learns of it by the end of its input, whose other end only we have. A line says that it is not needed.
const watcher = `trap '' HUP INT QUIT TERM; read -r line || kill -s KILL -- "-$1"`

// watch starts a watcher over the group, and returns what ends it.
func watch(group int) (dismiss func(), err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return func() {}, err
	}
	defer in.Close()
	cmd := &exec.Cmd{
		Path: "/bin/sh", Args: []string{"sh", "-c", watcher, "sallyport-watcher", strconv.Itoa(group)},
		Dir: "/", Env: []string{}, Stdin: in, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		out.Close()
		return func() {}, err
	}
	return func() {
		// If nobody reads this any more, there is no watcher to be dismissed.
		_, _ = out.WriteString("dismissed\n")
		out.Close()
		_ = cmd.Wait()
	}, nil
}

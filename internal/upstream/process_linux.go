package upstream

import (
	"os"
	"syscall"
)

// endWithUs lets the kernel kill the process when the thread that starts it ends.
func endWithUs(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }

const (
	setPipeSize = 1031 // F_SETPIPE_SZ, fcntl(2)
	pipeSize    = 1 << 20
)

// widen makes a pipe hold more, so that a large message does not need many turns of both sides. It may not be allowed.
func widen(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, pipeSize) })
}

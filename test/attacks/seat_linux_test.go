package attacks_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// operator runs a command of the program at a terminal of its own, says yes to whatever it asks, and returns all that reached
// its output and its terminal.
func (p *place) operator(t *testing.T, args ...string) (out, terminal string, err error) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	var unlock, number int32
	for request, arg := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &number} {
		raw, err := master.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var errno syscall.Errno
		if err := raw.Control(func(fd uintptr) {
			_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(arg)))
		}); err != nil || errno != 0 {
			t.Fatalf("ioctl %#x: %v, %v", request, err, errno)
		}
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := p.command(args...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.ExtraFiles = []*os.File{slave}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	var seen strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		for b := make([]byte, 4096); ; {
			n, err := master.Read(b)
			if err != nil {
				return
			}
			if seen.Write(b[:n]); strings.HasSuffix(seen.String(), "Type yes to go on: ") {
				_, _ = io.WriteString(master, "yes\n")
			}
		}
	}()
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	err = cmd.Run()
	late.Stop()
	slave.Close()
	<-done
	return output.String(), seen.String(), err
}

// command is a command of the program on the place's ledger, with a home of its own and no terminal.
func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(sallyport, append(args, "--ledger", p.ledger)...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "HOME="+p.home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

package docs_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"unsafe"
)

// terminals says that this platform's pseudo-terminals are known here.
const terminals = true

// question is how each question of the program's ends.
const question = "Type yes to go on: "

// seatPerson gives a command that is yet to be started a terminal, and somebody there who says yes to every question. leave is
// to be called when the command has ended.
func seatPerson(cmd *exec.Cmd) (leave func(), err error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	var unlock, number int32
	for request, arg := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &number} {
		if err := control(master, request, arg); err != nil {
			master.Close()
			return nil, err
		}
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		master.Close()
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{slave}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	done := make(chan struct{})
	go func() {
		defer close(done)
		answerAll(master)
	}()
	return func() {
		slave.Close()
		master.Close()
		<-done
	}, nil
}

func answerAll(terminal io.ReadWriter) {
	var seen []byte
	for b := make([]byte, 256); ; {
		n, err := terminal.Read(b)
		if err != nil {
			return
		}
		if seen = append(seen, b[:n]...); bytes.HasSuffix(seen, []byte(question)) {
			seen = nil
			io.WriteString(terminal, "yes\n")
		}
	}
}

func control(f *os.File, request uintptr, arg *int32) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	if err := raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(arg)))
	}); err != nil {
		return err
	}
	if errno != 0 {
		return errno
	}
	return nil
}

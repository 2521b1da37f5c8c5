package wire

import (
	"syscall"
	"unsafe"
)

func readPipe(fd uintptr, text []byte) (int, error) { return transfer(syscall.SYS_READ, fd, text) }

// WritePipe writes what a pipe that does not block takes at once; where that is nothing its error is EAGAIN.
func WritePipe(fd uintptr, text []byte) (int, error) { return transfer(syscall.SYS_WRITE, fd, text) }

// transfer reads or writes once. The scheduler is not told of the system call, which cannot block. Being told, it wakes the
// runtime's monitor if the process was idle, and that wakes every 20 µs for some time: it took a quarter of the
// processors' time that the gate spent on a read.
func transfer(call, fd uintptr, text []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(text))), uintptr(len(text)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}

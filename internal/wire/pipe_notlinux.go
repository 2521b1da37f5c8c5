//go:build unix && !linux

package wire

import "syscall"

func readPipe(fd uintptr, text []byte) (int, error) { return transfer(syscall.Read, fd, text) }

// WritePipe writes what a pipe that does not block takes at once; where that is nothing its error is EAGAIN.
func WritePipe(fd uintptr, text []byte) (int, error) { return transfer(syscall.Write, fd, text) }

// transfer reads or writes once.
func transfer(do func(fd int, text []byte) (int, error), fd uintptr, text []byte) (int, error) {
	for {
		n, err := do(int(fd), text)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

package durable

import (
	"errors"
	"os"
	"syscall"
)

const ofdSetLock = 37 // F_OFD_SETLK, fcntl(2)

func fdatasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

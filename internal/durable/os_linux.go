package durable

import (
	"errors"
	"os"
	"syscall"
)

const (
	ofdGetLock = 36 // F_OFD_GETLK, fcntl(2)
	ofdSetLock = 37 // F_OFD_SETLK
)

// blockSize is what blocks are counted in: f_frsize, where the kernel says it.
func blockSize(s *syscall.Statfs_t) uint64 {
	if s.Frsize > 0 {
		return uint64(s.Frsize)
	}
	return uint64(max(s.Bsize, 0))
}

func fdatasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

package durable

import (
	"os"
	"syscall"
)

const (
	ofdSetLock = 90 // F_OFD_SETLK, <sys/fcntl.h>
	ofdGetLock = 92 // F_OFD_GETLK
)

// blockSize is what blocks are counted in.
func blockSize(s *syscall.Statfs_t) uint64 { return uint64(s.Bsize) }

// On macOS only F_FULLFSYNC, which os.File.Sync uses, reaches the disk.
func fdatasync(f *os.File) error { return f.Sync() }

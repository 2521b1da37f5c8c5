package durable

import "os"

const ofdSetLock = 90 // F_OFD_SETLK, <sys/fcntl.h>

// On macOS only F_FULLFSYNC, which os.File.Sync uses, reaches the disk.
func fdatasync(f *os.File) error { return f.Sync() }

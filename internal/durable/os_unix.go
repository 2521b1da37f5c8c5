//go:build linux || darwin

package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"syscall"
)

// openPlain follows no link, and does not wait for the other end of a pipe that somebody put there.
const openPlain = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// openFolder follows no link either, and opens nothing but a folder.
const openFolder = syscall.O_NOFOLLOW | syscall.O_DIRECTORY

func syncDir(dir string) error {
	d, err := openDir(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func ownDir(dir string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s can be written to by others; chmod 700 it or choose another folder", dir)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, not to us; choose a folder of your own", dir, st.Uid)
	}
	return nil
}

func (f osFile) HasRoom(bytes int64) error {
	room, known, err := f.room()
	if err == nil && known && room < uint64(bytes) {
		err = &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	if err != nil {
		return err
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil || uint64(limit.Cur) >= math.MaxInt64 {
		return os.NewSyscallError("getrlimit", err)
	}
	size, err := f.Size()
	if err == nil && size+bytes > int64(limit.Cur) {
		err = &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.EFBIG}
	}
	return err
}

// room is how many bytes the file system has left for those who are not root; false where it does not say, as one in user
// space may not, or where we may not ask.
func (f osFile) room() (bytes uint64, known bool, err error) {
	var s syscall.Statfs_t
	err = uninterrupted(func() error { return syscall.Fstatfs(int(f.Fd()), &s) })
	switch {
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, fs.ErrPermission):
		return 0, false, nil
	case err != nil:
		return 0, false, os.NewSyscallError("fstatfs", err)
	}
	unit := blockSize(&s)
	if s.Blocks == 0 || unit == 0 || s.Bavail > math.MaxInt64/unit {
		return 0, false, nil
	}
	return s.Bavail * unit, true, nil
}

func (f osFile) TryLock() (bool, error) { return f.flock(syscall.LOCK_EX) }

func (f osFile) TryLockShared() (bool, error) { return f.flock(syscall.LOCK_SH) }

func (f osFile) Unlock() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

func (f osFile) flock(how int) (bool, error) {
	err := uninterrupted(func() error { return syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB) })
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("flock", err)
}

// Byte locks are open-file-description locks: unlike fcntl's classic ones they are not lost
// when some other part of the process closes the same file.
func (f osFile) TryLockByte(offset int64) (bool, error) {
	err := f.lockByte(syscall.F_WRLCK, offset)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("fcntl", err)
}

func (f osFile) UnlockByte(offset int64) error {
	return os.NewSyscallError("fcntl", f.lockByte(syscall.F_UNLCK, offset))
}

func (f osFile) ByteLocked(offset int64) (bool, error) {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: offset, Len: 1}
	err := uninterrupted(func() error { return syscall.FcntlFlock(f.Fd(), ofdGetLock, &lock) })
	return lock.Type != syscall.F_UNLCK && err == nil, os.NewSyscallError("fcntl", err)
}

func (f osFile) lockByte(kind int16, offset int64) error {
	lock := syscall.Flock_t{Type: kind, Whence: io.SeekStart, Start: offset, Len: 1}
	return uninterrupted(func() error { return syscall.FcntlFlock(f.Fd(), ofdSetLock, &lock) })
}

// A mark is the owner's right to execute the file, which no file of ours has otherwise. fdatasync need not write it, and
// the umask does not touch it.
const (
	plainMode  = 0o600
	markedMode = 0o700
	markBit    = markedMode &^ plainMode
)

func (f osFile) SetMark(on bool) error {
	mode := uint32(plainMode)
	if on {
		mode = markedMode
	}
	err := uninterrupted(func() error { return syscall.Fchmod(int(f.Fd()), mode) })
	if err != nil || !on {
		return os.NewSyscallError("fchmod", err)
	}
	var st syscall.Stat_t // some file systems take a mode and forget it
	if err := f.fstat(&st); err != nil {
		return err
	}
	if st.Mode&markBit == 0 {
		return &fs.PathError{Op: "fchmod", Path: f.Name(), Err: ErrUnsupported}
	}
	return nil
}

func (osFS) Look(name string) (Status, error) {
	var st syscall.Stat_t
	err := uninterrupted(func() error { return syscall.Lstat(name, &st) })
	switch {
	case errors.Is(err, syscall.ENOENT):
		return Status{}, nil
	case err != nil:
		return Status{}, &fs.PathError{Op: "lstat", Path: name, Err: err}
	case st.Mode&syscall.S_IFMT != syscall.S_IFREG:
		return Status{}, &fs.PathError{Op: "lstat", Path: name, Err: errNotRegular}
	}
	return Status{true, st.Mode&markBit != 0, FileID{uint64(st.Dev), st.Ino}}, nil
}

// Size and Is are asked before each batch of each log, so they do without what os.FileInfo costs.

func (f osFile) Size() (int64, error) {
	var st syscall.Stat_t
	err := f.fstat(&st)
	return st.Size, err
}

func (f osFile) Is(name string) (bool, error) {
	var now, open syscall.Stat_t
	err := uninterrupted(func() error { return syscall.Lstat(name, &now) })
	if errors.Is(err, syscall.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	err = f.fstat(&open)
	return err == nil && now.Dev == open.Dev && now.Ino == open.Ino, err
}

func (f osFile) fstat(st *syscall.Stat_t) error {
	return os.NewSyscallError("fstat", uninterrupted(func() error { return syscall.Fstat(int(f.Fd()), st) }))
}

// uninterrupted does again what a signal interrupted.
func uninterrupted(do func() error) error {
	for {
		if err := do(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

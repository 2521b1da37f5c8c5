package durable

import (
	"errors"
	"io/fs"
	"os"
)

const (
	openPlain  = 0
	openFolder = 0
)

func syncDir(string) error                     { return ErrUnsupported }
func ownDir(string, fs.FileInfo) error         { return nil }
func fdatasync(f *os.File) error               { return f.Sync() }
func (osFile) TryLock() (bool, error)          { return false, ErrUnsupported }
func (osFile) TryLockShared() (bool, error)    { return false, ErrUnsupported }
func (osFile) Unlock() error                   { return ErrUnsupported }
func (osFile) TryLockByte(int64) (bool, error) { return false, ErrUnsupported }
func (osFile) UnlockByte(int64) error          { return ErrUnsupported }
func (osFile) ByteLocked(int64) (bool, error)  { return false, ErrUnsupported }
func (osFile) HasRoom(int64) error             { return nil }
func (osFile) SetMark(bool) error              { return nil }

func (osFS) Look(name string) (Status, error) {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Status{}, nil
	case err != nil:
		return Status{}, err
	case !info.Mode().IsRegular():
		return Status{}, &fs.PathError{Op: "lstat", Path: name, Err: errNotRegular}
	}
	return Status{Exists: true, Marked: true}, nil
}

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) Is(name string) (bool, error) {
	now, err := os.Lstat(name)
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	open, err := f.Stat()
	if err != nil {
		return false, err
	}
	return os.SameFile(open, now), nil
}

package durable

import (
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

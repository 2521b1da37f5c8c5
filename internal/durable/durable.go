// Package durable keeps files that survive a crash. It promises that what it
// reports as done is on the disk, and that what a dying process leaves behind is
// either whole or recognisable.
//
// [Log] is an append-only file of lines that several processes may share: one
// write and one fdatasync serve all callers that came meanwhile. [Publish] makes
// a file appear under its name whole or not at all, and never over another one.
// What the lines and files mean is left to the packages above.
package durable

import (
	"errors"
	"io"
)

var (
	// ErrExists says that a file of that name was published before.
	ErrExists = errors.New("file exists")
	// ErrReplaced says that a file was removed, replaced or cut under a process that had it open.
	ErrReplaced = errors.New("the file was replaced, removed or cut while in use")
	// ErrDamaged says that the last whole line of a log does not verify: it was tampered with.
	ErrDamaged = errors.New("the last line does not verify")
	// ErrBroken says that an earlier failure left unknown what is on the disk.
	ErrBroken = errors.New("an earlier failure left unknown what is on the disk")
	// ErrLocked says that another process kept a lock longer than we wait for it.
	ErrLocked = errors.New("another process holds the lock")
	// ErrUnsupported says that this platform cannot lock files, sync folders or mark files the way we need.
	ErrUnsupported = errors.New("durable state is not supported on this platform yet")
)

// FS is the part of a file system that durable state stands on. OS is the real
// one; tests have another that can forget what was not synced.
// No method follows a symbolic link as the last element of a name, takes another kind of file for
// a regular one or for a folder, or waits for the other end of a pipe.
type FS interface {
	// OwnDir makes dir durably, for the owner alone, if need be, and then is IsOwnDir.
	OwnDir(dir string) error
	// IsOwnDir is an error unless dir is a real folder of our own that nobody else can write to.
	IsOwnDir(dir string) error
	// Open opens a file for reading and writing.
	Open(name string) (File, error)
	// OpenRead opens a file for reading.
	OpenRead(name string) (File, error)
	// Look tells what the status of a regular file says, without opening it. That there is no such file is no error;
	// that it is of another kind is one.
	Look(name string) (Status, error)
	// Create makes a file that must not exist (fs.ErrExist), readable by the owner alone.
	Create(name string) (File, error)
	// Link gives a file a second name that must not exist (fs.ErrExist).
	Link(oldname, newname string) error
	// Rename moves a file over another one or to a new name.
	Rename(oldname, newname string) error
	// Remove removes a file's name.
	Remove(name string) error
	// Names lists what is in dir, sorted.
	Names(dir string) ([]string, error)
	// SyncDir makes the names in dir durable.
	SyncDir(dir string) error
}

// Status is what FS.Look tells of a file. The zero one is that of no file.
type Status struct {
	Exists bool
	Marked bool   // see File.SetMark
	ID     FileID // of the file, whatever its name
}

// FileID tells a file from all others that are there at the same time. It is zero where the platform has none.
type FileID struct{ Device, Inode uint64 }

// File is an open file of an FS. Locks belong to the open file and die with its process.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	// HasRoom is an error where it can be told that the file cannot grow by so many bytes: the file system has not so many left
	// (syscall.ENOSPC), or the process may not write so large a file (syscall.EFBIG). A quota cannot be told.
	HasRoom(bytes int64) error
	Truncate(size int64) error
	// Sync makes data and what is needed to read it durable (fdatasync).
	Sync() error
	// StartSync begins a Sync and returns what waits for its end, which must be called.
	StartSync() (wait func() error)
	// SyncAll makes data and all metadata durable (fsync).
	SyncAll() error
	// SetMark puts a mark on the file or takes it off, for FS.Look. A mark that was put on is seen by every process at once.
	// Only SyncAll makes it durable: after a crash of the machine the file may be marked as it was before. Where a
	// platform has no marks all files are marked, and stay so. Who is neither the owner nor root gets an error, and so does
	// who would put on a mark that the file system does not keep (ErrUnsupported).
	SetMark(on bool) error
	// TryLock takes the whole file for this open file alone, or says false at once.
	TryLock() (bool, error)
	// TryLockShared is TryLock for readers.
	TryLockShared() (bool, error)
	Unlock() error
	// TryLockByte takes one byte of the file, or says false at once. It excludes other
	// processes, not other callers with this same File.
	TryLockByte(offset int64) (bool, error)
	UnlockByte(offset int64) error
	// ByteLocked reports whether another File has one byte of the file, in this process or another. It takes nothing, so that nobody
	// is kept from it, and the file may be open for reading only.
	ByteLocked(offset int64) (bool, error)
	// Is reports whether name still is this file.
	Is(name string) (bool, error)
}

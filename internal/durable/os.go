package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
)

// OS is the machine's own file system.
var OS FS = osFS{}

type osFS struct{}

func (fsys osFS) OwnDir(dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		parent, err := filepath.EvalSymlinks(filepath.Dir(dir)) // which may well be reached through a link
		if err != nil {
			return err
		}
		if err := fsys.SyncDir(parent); err != nil && !errors.Is(err, ErrUnsupported) {
			return err
		}
	}
	return fsys.IsOwnDir(dir)
}

func (osFS) IsOwnDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "open", Path: dir, Err: errors.New("is a symbolic link or a file; name the folder itself")}
	}
	return ownDir(dir, info)
}

func (osFS) Open(name string) (File, error) { return openOS(name, os.O_RDWR) }

func (osFS) OpenRead(name string) (File, error) { return openOS(name, os.O_RDONLY) }

func (osFS) Create(name string) (File, error) {
	return openOS(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

func (osFS) Link(oldname, newname string) error { return os.Link(oldname, newname) }

func (osFS) Rename(oldname, newname string) error { return os.Rename(oldname, newname) }

func (osFS) Remove(name string) error { return os.Remove(name) }

func (osFS) Names(dir string) ([]string, error) {
	d, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	sort.Strings(names)
	return names, err
}

func (osFS) SyncDir(dir string) error { return syncDir(dir) }

func openDir(dir string) (*os.File, error) { return os.OpenFile(dir, os.O_RDONLY|openFolder, 0) }

func openOS(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag|openPlain, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: errNotRegular}, err, f.Close())
	}
	return osFile{f}, nil
}

var errNotRegular = errors.New("not a regular file")

type osFile struct{ *os.File }

func (f osFile) Sync() error { return fdatasync(f.File) }

func (f osFile) SyncAll() error { return f.File.Sync() }

// goSync has a goroutine sync a file.
func goSync(f File) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- f.Sync() }()
	return func() error { return <-done }
}

package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sallyport/internal/durable"
)

// maxFile is more than any settings file has.
const maxFile = 16 << 20

// File is a settings file as it was read. It need not exist.
type File struct {
	Path string // as named
	Text []byte // nil where there is no file

	target string // where Path leads, links followed
	info   fs.FileInfo
}

// ErrChanged says that a file was changed by somebody else between its reading and its writing.
var ErrChanged = errors.New("the file was changed by somebody else meanwhile; nothing was written")

// Read reads a settings file. Links are followed: the file that they lead to is the one that is replaced.
func Read(path string) (*File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path, target: path}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return f, nil
	} else if err != nil {
		return nil, err
	}
	if f.target, err = filepath.EvalSymlinks(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is a link that leads nowhere", path)
	} else if err != nil {
		return nil, err
	}
	f.Text, f.info, err = f.read()
	return f, err
}

func (f *File) read() ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(f.target)
	switch {
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s is not a regular file", f.target)
	case info.Size() > maxFile:
		return nil, nil, fmt.Errorf("%s is larger than %d MiB", f.target, maxFile>>20)
	}
	text, err := os.ReadFile(f.target)
	if text == nil {
		text = []byte{}
	}
	return text, info, err
}

// Target is where the file really is, links followed.
func (f *File) Target() string { return f.target }

// Replace writes a new text in the place of what was read: whole or not at all, with the mode and the owner of the file
// that was there, else with mode. It refuses with ErrChanged where the file is not what was read any more.
func (f *File) Replace(text []byte, mode fs.FileMode) (err error) {
	dir := filepath.Dir(f.target)
	folderMode := fs.FileMode(0o700)
	if mode&0o004 != 0 {
		folderMode = 0o755
	}
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return err
	}
	if f.info != nil {
		mode = f.info.Mode().Perm()
	}
	temp, err := f.fill(dir, text, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(temp)
		}
	}()
	if err := f.unchanged(); err != nil {
		return err
	}
	if f.info == nil { // a link, unlike a renaming, never overwrites what came meanwhile
		if err := os.Link(temp, f.target); errors.Is(err, fs.ErrExist) {
			return ErrChanged
		} else if err != nil {
			return err
		}
		os.Remove(temp)
		return syncDir(dir)
	}
	if err := os.Rename(temp, f.target); err != nil {
		return err
	}
	return syncDir(dir)
}

// fill makes a temporary file with the text, durable, and returns its name.
func (f *File) fill(dir string, text []byte, mode fs.FileMode) (name string, err error) {
	temp, err := os.OpenFile(filepath.Join(dir, ".sallyport-"+durable.RandomID()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, temp.Close()); err != nil {
			os.Remove(temp.Name())
		}
	}()
	if _, err := temp.Write(text); err != nil {
		return "", err
	}
	if f.info != nil {
		if err := keepOwner(temp, f.info); err != nil {
			return "", fmt.Errorf("the file belongs to somebody else, and its owner cannot be kept: %w", err)
		}
	}
	if err := temp.Chmod(mode); err != nil {
		return "", err
	}
	return temp.Name(), temp.Sync()
}

// Delete removes the file. One that is reached through a link is left empty of settings instead: the link would lead
// nowhere.
func (f *File) Delete() error {
	if f.target != f.Path && isLink(f.Path) {
		return f.Replace([]byte("{}\n"), 0o600)
	}
	if err := f.unchanged(); err != nil {
		return err
	}
	if err := os.Remove(f.target); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.target))
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// unchanged is ErrChanged where the disk has something else than what was read.
func (f *File) unchanged() error {
	if f.info == nil {
		if _, err := os.Lstat(f.target); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		return ErrChanged
	}
	text, info, err := f.read()
	if errors.Is(err, fs.ErrNotExist) {
		return ErrChanged
	}
	if err != nil {
		return err
	}
	if !os.SameFile(info, f.info) || !bytes.Equal(text, f.Text) {
		return ErrChanged
	}
	return nil
}

// syncDir makes a name durable where the platform can.
func syncDir(dir string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if err := durable.OS.SyncDir(dir); err != nil && !errors.Is(err, durable.ErrUnsupported) {
		return err
	}
	return nil
}

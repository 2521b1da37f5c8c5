package pretool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// maxFile is how large a file of a session may be, in bytes. A larger one is unreadable.
const maxFile = 16 << 20

// disk is what the checks do to the files of sessions.
type disk interface {
	// read returns what is in a regular file, and which file it was. The error is fs.ErrNotExist where there is no
	// file, and any other where there is one that cannot be read.
	read(name string) ([]byte, fs.FileInfo, error)

	// remove removes a file's name if it still is the file that was read; nil stands for whichever it is. That
	// somebody else was faster is no error; removed says whether it was us.
	remove(name string, was fs.FileInfo) (removed bool, err error)
}

// files is the machine's own disk.
type files struct{}

func (files) read(name string) ([]byte, fs.FileInfo, error) {
	f, err := openRegular(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxFile)
	}
	return text, info, err
}

// openRegular opens a file for reading if it is a regular one. A pipe or a device is not even opened, and if a pipe takes
// the file's place meanwhile, nobody waits for its other end.
func openRegular(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no longer a regular file", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (files) remove(name string, was fs.FileInfo) (bool, error) {
	now, err := os.Lstat(name)
	if isGone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if now.IsDir() {
		return false, fmt.Errorf("%s is a folder", name)
	}
	if was != nil {
		// A flag that was set anew since we read the old one must stay. Writers replace files, so it is another file.
		if now, err = os.Stat(name); err != nil || !os.SameFile(was, now) {
			return false, nil
		}
	}
	err = os.Remove(name)
	if isGone(err) {
		return false, nil
	}
	return err == nil, err
}

func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

//go:build unix

package install

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file the owner and group of the one that it will replace.
func keepOwner(f *os.File, was fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	a, okA := was.Sys().(*syscall.Stat_t)
	b, okB := now.Sys().(*syscall.Stat_t)
	if !okA || !okB || a.Uid == b.Uid && a.Gid == b.Gid {
		return nil
	}
	return f.Chown(int(a.Uid), int(a.Gid))
}

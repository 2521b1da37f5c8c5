//go:build unix

package effects

import (
	"errors"
	"syscall"
)

// kindAt returns what is at a path. It spares what os.Lstat would allocate: it is asked dozens of times for one call.
func kindAt(path string) entryKind {
	var info syscall.Stat_t
	err := syscall.Lstat(path, &info)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Lstat(path, &info)
	}
	if err != nil {
		return entryAbsent
	}
	switch info.Mode & syscall.S_IFMT {
	case syscall.S_IFLNK:
		return entryLink
	case syscall.S_IFDIR:
		return entryFolder
	}
	return entryPlain
}

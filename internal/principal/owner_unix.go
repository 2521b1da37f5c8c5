//go:build unix

package principal

import (
	"io/fs"
	"os"
	"syscall"
)

// trustedOwner reports whether a file is ours or root's.
func trustedOwner(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(stat.Uid) == os.Geteuid() || stat.Uid == 0)
}

func othersCannotWrite(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 == 0 }

func othersCanRead(info fs.FileInfo) bool { return info.Mode().Perm()&0o044 != 0 }

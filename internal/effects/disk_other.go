//go:build !unix

package effects

import (
	"io/fs"
	"os"
)

// kindAt returns what is at a path.
func kindAt(path string) entryKind {
	info, err := os.Lstat(path)
	if err != nil {
		return entryAbsent
	}
	switch mode := info.Mode(); {
	case mode&(fs.ModeSymlink|fs.ModeIrregular) != 0: // irregular: a junction of Windows
		return entryLink
	case mode.IsDir():
		return entryFolder
	}
	return entryPlain
}

package principal

import "io/fs"

// trustedOwner is not asked on Windows, whose modes say nothing about it: the folder's own rights must keep others away.
func trustedOwner(fs.FileInfo) bool { return true }

func othersCannotWrite(fs.FileInfo) bool { return true }

func othersCanRead(fs.FileInfo) bool { return false }

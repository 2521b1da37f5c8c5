package effects

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const (
	// defaultLooks is how often the disk is looked at for one call, unless the world says otherwise: some 20 ms.
	defaultLooks = 20_000

	// maxListed is how many names are read from folders for one call, to see what wildcards stand for.
	maxListed = 4096

	// maxNative is the length of a path that no system opens.
	maxNative = 32 << 10
)

// entryKind is what was found at a path.
type entryKind uint8

const (
	entryAbsent entryKind = iota // nothing, or nothing that we may look at
	entryPlain
	entryFolder
	entryLink
)

// entry is what was found at a path.
type entry struct {
	kind   entryKind
	target string // of a link
}

// disk remembers what one call has seen of the disk, so that all its paths are judged by one state of it.
type disk struct {
	looks    int // how many are left
	listed   int // how many names may still be read
	entries  map[string]entry
	folders  map[string][]fs.DirEntry
	routes   map[*PathPattern][]route
	code     mentions
	programs map[string]string // what would run a code
	plain    map[string]bool   // folders to which no link leads

	roots [fromWorkspace + 1]struct { // where patterns begin
		found bool
		bases []base
	}
	path []byte // for a look
}

func newDisk(budget int) *disk {
	if budget <= 0 {
		budget = defaultLooks
	}
	return &disk{looks: budget, listed: min(maxListed, budget)}
}

// look returns what the call has seen of the disk. Outside a call nothing is remembered.
func (w *World) look() *disk {
	if w.disk != nil {
		return w.disk
	}
	return newDisk(w.Budget)
}

// at returns what is at a clean native path; looked is false if the budget is spent.
func (d *disk) at(path []byte) (found entry, looked bool) {
	if found, ok := d.entries[string(path)]; ok {
		return found, true
	}
	if d.looks <= 0 {
		return entry{}, false
	}
	d.looks--
	key := string(path)
	found = entryAt(key)
	if d.entries == nil {
		d.entries = make(map[string]entry, 64)
	}
	d.entries[key] = found
	return found, true
}

func entryAt(path string) entry {
	if len(path) >= maxNative {
		return entry{}
	}
	kind := kindAt(path)
	if kind != entryLink {
		return entry{kind: kind}
	}
	target, err := os.Readlink(path)
	if err != nil {
		return entry{kind: entryPlain}
	}
	return entry{kind: entryLink, target: filepath.ToSlash(target)}
}

// list returns what is in a folder; all is false where there is more than may be read.
func (d *disk) list(path string) (entries []fs.DirEntry, all bool) {
	if entries, ok := d.folders[path]; ok {
		return entries, true
	}
	if d.looks <= 0 || len(path) >= maxNative {
		return nil, d.looks > 0
	}
	d.looks--
	if info, err := os.Stat(path); err != nil || !info.IsDir() { // to open a pipe would be to wait for its other end
		return nil, true
	}
	folder, err := os.Open(path)
	if err != nil {
		return nil, true
	}
	defer folder.Close()
	for {
		if d.listed <= 0 {
			return entries, false
		}
		some, err := folder.ReadDir(min(256, d.listed))
		d.listed -= len(some)
		entries = append(entries, some...)
		if errors.Is(err, io.EOF) || len(some) == 0 {
			break
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if d.folders == nil {
		d.folders = make(map[string][]fs.DirEntry)
	}
	d.folders[path] = entries
	return entries, true
}

// isNative reports whether a path with slashes is one that this system's disk can be asked for.
func isNative(path string) bool {
	if runtime.GOOS == "windows" {
		return len(path) >= 3 && isDrive(path[:2]) && path[2] == '/'
	}
	return len(path) > 0 && path[0] == '/'
}

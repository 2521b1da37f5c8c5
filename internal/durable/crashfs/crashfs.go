// Package crashfs is a file system in memory for tests: it implements [durable.FS], remembers
// every change in order, and can show each state of the disk that a crash might have left
// ([FS.Crashes], [FS.Random]). It can also fail on command ([FS.FailOn]).
//
// Folders are taken to be durable at once; names in them and data in files are not until
// they are synced. A mark is not, whatever is synced, until all is (durable.File.SyncAll).
package crashfs

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"sort"
	"sync"
	"syscall"

	"sallyport/internal/durable"
)

// Op is what was done to the file system, as FailOn and Crashes name it.
type Op string

const (
	Create   Op = "create"
	Link     Op = "link"
	Rename   Op = "rename"
	Remove   Op = "remove"
	SyncDir  Op = "syncdir"
	Write    Op = "write"
	Truncate Op = "truncate"
	Sync     Op = "sync"
	Mark     Op = "mark"
)

// FS is a file system in memory. It is safe for concurrent use.
type FS struct {
	mu      sync.Mutex // guards everything below, the nodes included
	dirs    map[string]map[string]*node
	history []change
	failOn  func(op Op, name string, changes int) error
	nodes   uint64 // how many were made
	bounded bool   // by room
	room    int64  // bytes
}

var _ durable.FS = (*FS)(nil)

// node is a file without its names.
type node struct {
	id      uint64
	data    []byte
	marked  bool
	owner   *file // holds the exclusive lock
	readers map[*file]bool
	bytes   map[int64]*file
}

// change is one step of the history. Which fields are used depends on op.
type change struct {
	op       Op
	dir      string // create, link, rename, remove, syncdir
	name     string
	to       string // rename
	node     *node
	offset   int64 // write; truncate: the new size
	data     []byte
	on       bool // mark
	all      bool // sync: the mark, too
	describe string
}

// New returns an empty file system.
func New() *FS { return &FS{dirs: map[string]map[string]*node{}} }

// FailOn makes fail decide, before each change, whether it fails instead. It is told how many
// changes there were. Nil: nothing fails.
func (f *FS) FailOn(fail func(op Op, name string, changes int) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failOn = fail
}

// Changes returns how many changes there were.
func (f *FS) Changes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.history)
}

// ReadFile returns the content of a file as a reader would see it now.
func (f *FS) ReadFile(name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.lookup("read", name)
	if err != nil {
		return nil, err
	}
	return append([]byte(nil), n.data...), nil
}

// record runs apply, unless it is made to fail, and remembers the change.
func (f *FS) record(c change, apply func()) error {
	if f.failOn != nil {
		if err := f.failOn(c.op, c.describe, len(f.history)); err != nil {
			return &fs.PathError{Op: string(c.op), Path: c.describe, Err: err}
		}
	}
	apply()
	f.history = append(f.history, c)
	return nil
}

// node makes a file that has no name yet.
func (f *FS) node() *node {
	f.nodes++
	return &node{id: f.nodes, readers: map[*file]bool{}, bytes: map[int64]*file{}}
}

func (f *FS) lookup(op, name string) (*node, error) {
	n, ok := f.dirs[path.Dir(name)][path.Base(name)]
	if !ok {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return n, nil
}

func (f *FS) OwnDir(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dirs[dir] == nil {
		f.dirs[dir] = map[string]*node{}
	}
	return nil
}

func (f *FS) IsOwnDir(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dirs[dir] == nil {
		return &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
	}
	return nil
}

func (f *FS) Open(name string) (durable.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.lookup("open", name)
	if err != nil {
		return nil, err
	}
	return &file{fs: f, node: n, name: name}, nil
}

func (f *FS) OpenRead(name string) (durable.File, error) { return f.Open(name) }

func (f *FS) Look(name string) (durable.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.lookup("stat", name)
	if err != nil {
		return durable.Status{}, nil
	}
	return durable.Status{Exists: true, Marked: n.marked, ID: durable.FileID{Inode: n.id}}, nil
}

func (f *FS) Create(name string) (durable.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.node()
	if err := f.enter(change{op: Create, dir: path.Dir(name), name: path.Base(name), node: n, describe: name}); err != nil {
		return nil, err
	}
	return &file{fs: f, node: n, name: name}, nil
}

func (f *FS) Link(oldname, newname string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.lookup("link", oldname)
	if err != nil {
		return err
	}
	return f.enter(change{op: Link, dir: path.Dir(newname), name: path.Base(newname), node: n, describe: newname})
}

// enter puts a new name into a folder.
func (f *FS) enter(c change) error {
	dir, ok := f.dirs[c.dir]
	if !ok {
		return &fs.PathError{Op: string(c.op), Path: c.describe, Err: fs.ErrNotExist}
	}
	if dir[c.name] != nil {
		return &fs.PathError{Op: string(c.op), Path: c.describe, Err: fs.ErrExist}
	}
	return f.record(c, func() { dir[c.name] = c.node })
}

func (f *FS) Rename(oldname, newname string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.lookup("rename", oldname)
	if err != nil {
		return err
	}
	if path.Dir(oldname) != path.Dir(newname) {
		return fmt.Errorf("crashfs: rename across folders is not modelled")
	}
	c := change{op: Rename, dir: path.Dir(oldname), name: path.Base(oldname), to: path.Base(newname), node: n, describe: newname}
	return f.record(c, func() {
		delete(f.dirs[c.dir], c.name)
		f.dirs[c.dir][c.to] = n
	})
}

func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.lookup("remove", name); err != nil {
		return err
	}
	c := change{op: Remove, dir: path.Dir(name), name: path.Base(name), describe: name}
	return f.record(c, func() { delete(f.dirs[c.dir], c.name) })
}

func (f *FS) Names(dir string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	entries, ok := f.dirs[dir]
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: dir, Err: fs.ErrNotExist}
	}
	names := make([]string, 0, len(entries))
	for name := range entries {
		names = append(names, name)
	}
	sort.Strings(names)
	return names, nil
}

func (f *FS) SyncDir(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.record(change{op: SyncDir, dir: dir, describe: dir}, func() {})
}

// file is an open file.
type file struct {
	fs   *FS
	node *node
	name string
}

func (f *file) ReadAt(b []byte, offset int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if offset >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.node.data[offset:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(b []byte, offset int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	c := change{op: Write, node: f.node, offset: offset, data: append([]byte(nil), b...), describe: f.name}
	if err := f.fs.record(c, func() { f.node.data = overwrite(f.node.data, b, offset) }); err != nil {
		return 0, err
	}
	return len(b), nil
}

// HasRoom is an error if Leave said so.
func (f *file) HasRoom(bytes int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.fs.bounded && f.fs.room < bytes {
		return &fs.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
	}
	return nil
}

// Leave makes files say that there is only so much room, in bytes. Writes succeed all the same: see FailOn.
func (f *FS) Leave(room int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bounded, f.room = true, room
}

func (f *file) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	c := change{op: Truncate, node: f.node, offset: size, describe: f.name}
	return f.fs.record(c, func() { f.node.data = resize(f.node.data, size) })
}

func (f *file) Sync() error { return f.sync(false) }

// StartSync syncs as late as may be: what is done before the wait may be durable earlier.
func (f *file) StartSync() (wait func() error) { return f.Sync }

func (f *file) SyncAll() error { return f.sync(true) }

func (f *file) sync(all bool) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.fs.record(change{op: Sync, node: f.node, all: all, describe: f.name}, func() {})
}

func (f *file) SetMark(on bool) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.fs.record(change{op: Mark, node: f.node, on: on, describe: f.name}, func() { f.node.marked = on })
}

func (f *file) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(len(f.node.data)), nil
}

func (f *file) Is(name string) (bool, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	n, err := f.fs.lookup("stat", name)
	return err == nil && n == f.node, nil
}

func (f *file) Close() error {
	f.Unlock()
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	for offset, owner := range f.node.bytes {
		if owner == f {
			delete(f.node.bytes, offset)
		}
	}
	return nil
}

func (f *file) TryLock() (bool, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	others := len(f.node.readers)
	if f.node.readers[f] {
		others--
	}
	if others > 0 || (f.node.owner != nil && f.node.owner != f) {
		return false, nil
	}
	f.node.owner = f
	return true, nil
}

func (f *file) TryLockShared() (bool, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.node.owner != nil && f.node.owner != f {
		return false, nil
	}
	f.node.owner = nil
	f.node.readers[f] = true
	return true, nil
}

func (f *file) Unlock() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.node.owner == f {
		f.node.owner = nil
	}
	delete(f.node.readers, f)
	return nil
}

func (f *file) TryLockByte(offset int64) (bool, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if owner := f.node.bytes[offset]; owner != nil && owner != f {
		return false, nil
	}
	f.node.bytes[offset] = f
	return true, nil
}

func (f *file) ByteLocked(offset int64) (bool, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	owner := f.node.bytes[offset]
	return owner != nil && owner != f, nil
}

func (f *file) UnlockByte(offset int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.node.bytes[offset] == f {
		delete(f.node.bytes, offset)
	}
	return nil
}

func overwrite(data, b []byte, offset int64) []byte {
	data = resize(data, max(int64(len(data)), offset+int64(len(b))))
	copy(data[offset:], b)
	return data
}

func resize(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size:size]
	}
	grown := make([]byte, size)
	copy(grown, data)
	return grown
}

// DropLocks is the death of all processes that use the file system; the machine goes on.
func (f *FS) DropLocks() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, dir := range f.dirs {
		for _, n := range dir {
			n.owner, n.readers, n.bytes = nil, map[*file]bool{}, map[int64]*file{}
		}
	}
}

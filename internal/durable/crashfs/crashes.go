package crashfs

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// Crash is a state of the disk that a crash might have left.
type Crash struct {
	// After is how many changes had been made.
	After int
	// Kept tells in words what became of that which was not synced.
	Kept string
	// FS is the disk as it is found afterwards, with no locks held and no history.
	FS *FS
}

func (c Crash) String() string { return fmt.Sprintf("after change %d, %s", c.After, c.Kept) }

// scenario says what becomes of changes that were not synced.
type scenario struct {
	name  string
	names bool                           // names in folders survive
	data  func(c change, last bool) fate // of each write and truncation
}

// fate is what becomes of one write that was not synced.
type fate int

const (
	lost    fate = iota
	whole        // as written
	torn         // its first half
	oneByte      // its first byte
	zeroed       // the file grew, the bytes are zero: what ext4 and xfs may leave
)

func always(f fate) func(change, bool) fate { return func(change, bool) fate { return f } }

func lastIs(f fate) func(change, bool) fate {
	return func(_ change, last bool) fate {
		if last {
			return f
		}
		return whole
	}
}

var scenarios = []scenario{
	{"everything kept (the process died, the machine did not)", true, always(whole)},
	{"everything lost", false, always(lost)},
	{"names kept, data lost", true, always(lost)},
	{"data kept, names lost", false, always(whole)},
	{"last write torn in the middle", true, lastIs(torn)},
	{"last write torn after a byte", true, lastIs(oneByte)},
	{"last write zeroed", true, lastIs(zeroed)},
	{"last write lost", true, lastIs(lost)},
	{"all writes zeroed", true, always(zeroed)},
}

// Crashes enumerates the states that a crash might have left: after each prefix of the history
// from change number from on, with each fate of what was not synced by then. States that look
// alike are shown once for each prefix.
func (f *FS) Crashes(from int) iter.Seq[Crash] {
	f.mu.Lock()
	history := slices.Clone(f.history)
	dirs := slices.Collect(maps.Keys(f.dirs))
	f.mu.Unlock()
	return func(yield func(Crash) bool) {
		for n := from; n <= len(history); n++ {
			seen := map[[32]byte]bool{}
			for _, scenario := range scenarios {
				disk := replay(history[:n], dirs, scenario)
				if sum := disk.digest(); seen[sum] {
					continue
				} else {
					seen[sum] = true
				}
				if !yield(Crash{After: n, Kept: scenario.name, FS: disk}) {
					return
				}
			}
		}
	}
}

// replay builds the disk after history in a scenario.
func replay(history []change, dirs []string, scenario scenario) *FS {
	synced := map[any]int{} // node or folder: the last change that a sync covers
	lastWrite := map[*node]int{}
	for i, c := range history {
		switch c.op {
		case Sync:
			synced[c.node] = i
		case SyncDir:
			synced[c.dir] = i
		case Write, Truncate:
			lastWrite[c.node] = i
		}
	}
	disk := New()
	for _, dir := range dirs {
		disk.dirs[dir] = map[string]*node{}
	}
	copies := map[*node]*node{}
	for i, c := range history {
		switch c.op {
		case Write, Truncate:
			what := whole
			if last, ok := synced[c.node]; !ok || i > last {
				what = scenario.data(c, i == lastWrite[c.node])
			}
			copyOf(copies, c.node).suffer(c, what)
		case Create, Link, Rename, Remove:
			if last, ok := synced[c.dir]; scenario.names || ok && i < last {
				disk.rename(c, copies)
			}
		}
	}
	return disk
}

func copyOf(copies map[*node]*node, n *node) *node {
	if copies[n] == nil {
		copies[n] = &node{readers: map[*file]bool{}, bytes: map[int64]*file{}}
	}
	return copies[n]
}

// suffer does to the node what became of the change.
func (n *node) suffer(c change, what fate) {
	if what == lost {
		return
	}
	if c.op == Truncate {
		n.data = resize(n.data, c.offset)
		return
	}
	data := c.data
	switch what {
	case torn:
		data = data[:len(data)/2]
	case oneByte:
		data = data[:min(1, len(data))]
	case zeroed:
		data = make([]byte, len(data))
	}
	n.data = overwrite(n.data, data, c.offset)
}

func (f *FS) rename(c change, copies map[*node]*node) {
	dir := f.dirs[c.dir]
	switch c.op {
	case Create, Link:
		dir[c.name] = copyOf(copies, c.node)
	case Rename:
		delete(dir, c.name)
		dir[c.to] = copyOf(copies, c.node)
	case Remove:
		delete(dir, c.name)
	}
}

func (f *FS) digest() [32]byte {
	h := sha256.New()
	for _, dir := range slices.Sorted(maps.Keys(f.dirs)) {
		for _, name := range slices.Sorted(maps.Keys(f.dirs[dir])) {
			fmt.Fprintf(h, "%q %q %q\n", dir, name, f.dirs[dir][name].data)
		}
	}
	return [32]byte(h.Sum(nil))
}

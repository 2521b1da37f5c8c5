package crashfs

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"math/rand/v2"
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
	marks bool                           // marks survive; else they are what they were before
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
	ragged       // some of its sectors, and of one of them a part
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
	{"everything kept (the process died, the machine did not)", true, true, always(whole)},
	{"everything kept but marks", true, false, always(whole)},
	{"everything lost", false, false, always(lost)},
	{"names kept, data lost", true, true, always(lost)},
	{"data kept, names lost", false, true, always(whole)},
	{"last write torn in the middle", true, true, lastIs(torn)},
	{"last write torn after a byte", true, false, lastIs(oneByte)},
	{"last write zeroed", true, true, lastIs(zeroed)},
	{"last write lost", true, false, lastIs(lost)},
	{"all writes zeroed", true, true, always(zeroed)},
}

// Crashes enumerates the states that a crash might have left: after each prefix of the history
// from change number from on, with each fate of what was not synced by then. States that look
// alike are shown once for each prefix.
func (f *FS) Crashes(from int) iter.Seq[Crash] {
	f.mu.Lock()
	history := slices.Clone(f.history)
	dirs := slices.Collect(maps.Keys(f.dirs))
	f.mu.Unlock()
	seed := maphash.MakeSeed()
	return func(yield func(Crash) bool) {
		for n := from; n <= len(history); n++ {
			seen := map[uint64]bool{}
			for _, scenario := range scenarios {
				disk := replay(history[:n], dirs, scenario, nil)
				if sum := disk.digest(seed); seen[sum] {
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

// Random yields states that a crash might have left, times of them for each prefix of the history from change number from
// on: of what was not synced by then each write, each truncation and each mark has a fate of its own.
func (f *FS) Random(from, times int, random *rand.Rand) iter.Seq[Crash] {
	f.mu.Lock()
	history := slices.Clone(f.history)
	dirs := slices.Collect(maps.Keys(f.dirs))
	f.mu.Unlock()
	return func(yield func(Crash) bool) {
		for n := from; n <= len(history); n++ {
			for i := range times {
				fates := make([]fate, n)
				for j := range fates {
					fates[j] = []fate{lost, whole, torn, oneByte, zeroed, ragged, ragged, ragged}[random.IntN(8)]
				}
				at := 0
				scenario := scenario{"", random.IntN(2) == 0, random.IntN(2) == 0, func(change, bool) fate { at++; return fates[at-1] }}
				disk := replay(history[:n], dirs, scenario, random)
				if !yield(Crash{After: n, Kept: fmt.Sprintf("at random, number %d: fates %v", i, fates[:at]), FS: disk}) {
					return
				}
			}
		}
	}
}

// Settle makes what is on the disk durable and forgets how it came there: of a Crash's disk the next crash can be looked at then.
func (f *FS) Settle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.history = nil
	written := map[*node]bool{}
	for _, dir := range slices.Sorted(maps.Keys(f.dirs)) {
		for _, name := range slices.Sorted(maps.Keys(f.dirs[dir])) {
			n := f.dirs[dir][name]
			f.history = append(f.history, change{op: Create, dir: dir, name: name, node: n})
			if !written[n] {
				written[n] = true
				f.history = append(f.history, change{op: Write, node: n, data: bytes.Clone(n.data)}, change{op: Mark, node: n, on: n.marked},
					change{op: Sync, node: n, all: true})
			}
		}
		f.history = append(f.history, change{op: SyncDir, dir: dir})
	}
}

// replay builds the disk after history in a scenario. random is for writes that are ragged.
func replay(history []change, dirs []string, scenario scenario, random *rand.Rand) *FS {
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
			disk.copyOf(copies, c.node).suffer(c, what, random)
		case Mark:
			disk.copyOf(copies, c.node).marked = c.on
		case Create, Link, Rename, Remove:
			if last, ok := synced[c.dir]; scenario.names || ok && i < last {
				disk.rename(c, copies)
			}
		}
	}
	if !scenario.marks {
		for n := range unsyncedMarks(history) {
			disk.copyOf(copies, n).marked = !copies[n].marked
		}
	}
	return disk
}

// unsyncedMarks are the files whose mark may be another on the disk: whichever it was since the last sync of all. No other
// sync makes a mark durable.
func unsyncedMarks(history []change) map[*node]bool {
	marked, unsynced := map[*node]bool{}, map[*node]bool{}
	for _, c := range history {
		switch {
		case c.op == Mark && c.on != marked[c.node]:
			marked[c.node], unsynced[c.node] = c.on, true
		case c.op == Sync && c.all:
			delete(unsynced, c.node)
		}
	}
	return unsynced
}

func (f *FS) copyOf(copies map[*node]*node, n *node) *node {
	if copies[n] == nil {
		copies[n] = f.node()
	}
	return copies[n]
}

// suffer does to the node what became of the change.
func (n *node) suffer(c change, what fate, random *rand.Rand) {
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
		if written := len(bytes.TrimRight(data, "\x00")); written > 0 { // what is filled up with zeros is to be torn, too
			data = data[:written]
		}
		data = data[:len(data)/2]
	case oneByte:
		data = data[:min(1, len(data))]
	case zeroed:
		data = make([]byte, len(data))
	case ragged:
		n.data = overwrite(n.data, rag(n.data, data, c.offset, random), c.offset)
		return
	}
	n.data = overwrite(n.data, data, c.offset)
}

// sector is what a disk writes at once, or not at all; most do.
const sector = 512

// rag returns data with some sectors as they were before, and one that was torn.
func rag(before, data []byte, offset int64, random *rand.Rand) []byte {
	was := resize(before, max(int64(len(before)), offset+int64(len(data))))[offset:]
	got := bytes.Clone(data)
	for at := 0; at < len(got); at += sector {
		if end := min(at+sector, len(got)); random.IntN(2) == 0 {
			copy(got[at:end], was[at:end])
		}
	}
	if written := len(bytes.TrimRight(data, "\x00")); written > 0 {
		at := random.IntN(written)
		copy(got[at:min(at+sector, len(got))], was[at:])
	}
	return got
}

func (f *FS) rename(c change, copies map[*node]*node) {
	dir := f.dirs[c.dir]
	switch c.op {
	case Create, Link:
		dir[c.name] = f.copyOf(copies, c.node)
	case Rename:
		delete(dir, c.name)
		dir[c.to] = f.copyOf(copies, c.node)
	case Remove:
		delete(dir, c.name)
	}
}

// digest is the same of disks that look alike.
func (f *FS) digest(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, dir := range slices.Sorted(maps.Keys(f.dirs)) {
		for _, name := range slices.Sorted(maps.Keys(f.dirs[dir])) {
			n := f.dirs[dir][name]
			fmt.Fprintf(&h, "%q %q %t %d\n", dir, name, n.marked, len(n.data))
			h.Write(n.data)
		}
	}
	return h.Sum64()
}

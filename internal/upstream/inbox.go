package upstream

import (
	"slices"

	"sallyport/internal/wire"
)

// What waits to be heard is bounded for the whole link. Over the bound the oldest progress and log messages of the same
// inbox make room, then what comes new has none. A little may wait in each inbox, whatever the others hold.
const (
	maxHeard     = 16 << 20 // bytes that wait in all inboxes of a link before something is dropped
	alwaysHeard  = 8 << 10  // bytes that may wait in each inbox
	incomingCost = 512      // bytes of a message besides its line, roughly
)

// inbox holds messages that are to be heard by one, in order.
type inbox struct {
	waiting []wire.Incoming
	size    int
}

func costOf(m wire.Incoming) int { return len(m.Line) + incomingCost }

// put adds m, if there is room or can be made; *held counts the bytes in all inboxes. It returns how many messages were
// dropped for it, and whether m is in.
func (b *inbox) put(m wire.Incoming, held *int) (dropped int, in bool) {
	for *held >= maxHeard && b.size >= alwaysHeard {
		oldest := slices.IndexFunc(b.waiting, passing)
		if oldest < 0 {
			return dropped, false
		}
		cost := costOf(b.waiting[oldest])
		b.size -= cost
		*held -= cost
		b.waiting = slices.Delete(b.waiting, oldest, oldest+1)
		dropped++
	}
	b.waiting = append(b.waiting, m)
	b.size += costOf(m)
	*held += costOf(m)
	return dropped, true
}

// take empties the inbox.
func (b *inbox) take(held *int) []wire.Incoming {
	*held -= b.size
	waiting := b.waiting
	*b = inbox{}
	return waiting
}

// passing reports whether nothing is lost for good with m: there will be another one.
func passing(m wire.Incoming) bool {
	return m.Method == methodProgress || m.Method == methodMessage
}

// ring remembers the last keys that were added to it.
type ring struct {
	known map[string]struct{}
	order []string
	next  int
}

// ringSize is how many ids, and how many tokens, are remembered once they are done with.
const ringSize = 512

func (r *ring) add(key string) {
	if _, known := r.known[key]; known {
		return
	}
	if r.known == nil {
		r.known = map[string]struct{}{}
	}
	if len(r.order) < ringSize {
		r.order = append(r.order, key)
	} else {
		delete(r.known, r.order[r.next])
		r.order[r.next] = key
		r.next = (r.next + 1) % ringSize
	}
	r.known[key] = struct{}{}
}

func (r *ring) has(key string) bool {
	_, known := r.known[key]
	return known
}

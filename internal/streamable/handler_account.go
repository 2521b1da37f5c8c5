package streamable

import (
	"slices"
	"sync"

	"sallyport/internal/wire"
)

// account is what one principal has going on, and its bounds.
type account struct {
	principal string
	users     int // requests and sessions; under Handler.mu
	load      *wire.Load
	max       int // bytes that may be held

	mu      sync.Mutex // guards what follows, all the principal's streams, and what session says it guards
	changed *sync.Cond // on mu: less is held, or nobody waits for room any more
	held    int        // bytes of requests that are being read, and of what was said and not read
	loose   []*stream  // those that no response is open for, the longest so first
	hurried bool       // answers wait for no room
}

// open returns the principal's account; mu is held. leave gives it back.
func (h *Handler) open(principal string) *account {
	a := h.accounts[principal]
	if a == nil {
		a = &account{principal: principal, load: wire.NewLoad(h.Options), max: h.Options.MaxWaiting}
		a.changed = sync.NewCond(&a.mu)
		h.accounts[principal] = a
	}
	a.users++
	return a
}

// leave forgets an account that nobody uses; mu is held.
func (h *Handler) leave(a *account) {
	if a.users--; a.users == 0 {
		delete(h.accounts, a.principal)
	}
}

// reserve holds n bytes more, if there is room for them.
func (a *account) reserve(n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.held+n > a.max && a.makeRoom(nil) {
	}
	if a.held+n > a.max {
		return false
	}
	a.held += n
	return true
}

// free gives back what was reserved.
func (a *account) free(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.release(n)
}

// release holds n bytes less; mu is held.
func (a *account) release(n int) {
	if n > 0 {
		a.held -= n
		a.changed.Broadcast()
	}
}

// makeRoom gives up the stream of a client that is not there, other than s, and reports whether there was one; mu is
// held.
func (a *account) makeRoom(s *stream) bool {
	for _, other := range a.loose {
		if other != s && other.unread > 0 {
			other.giveUp()
			return true
		}
	}
	return false
}

// attached notes that a response is open for s, or none ever will be; mu is held.
func (a *account) attached(s *stream) {
	a.loose = slices.DeleteFunc(a.loose, func(other *stream) bool { return other == s })
}

// detached notes that no response is open for s; mu is held.
func (a *account) detached(s *stream) { a.loose = append(a.loose, s) }

// hurry lets answers wait for no room.
func (a *account) hurry() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hurried = true
	a.changed.Broadcast()
}

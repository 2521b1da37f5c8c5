package cli

import (
	"io"
	"sync"
	"time"
)

// answerer is where a server's answers go. It holds the first one until it is released, and tells
// when that is out, or when there is no more reason to wait for it, so that what need not come
// before it does not compete with it.
type answerer struct {
	io.Writer
	released chan struct{}
	once     sync.Once
	first    chan struct{}
}

func newAnswerer(w io.Writer) *answerer {
	return &answerer{Writer: w, released: make(chan struct{}), first: make(chan struct{})}
}

func (a *answerer) Write(p []byte) (int, error) {
	<-a.released
	defer a.done()
	return a.Writer.Write(p)
}

// release lets answers out. It must be called, once.
func (a *answerer) release() { close(a.released) }

// done says that nobody need wait any more.
func (a *answerer) done() { a.once.Do(func() { close(a.first) }) }

// patienceForFirst is how long anything waits for a first answer that nobody asks for.
const patienceForFirst = 20 * time.Millisecond

func (a *answerer) awaitFirst() {
	select {
	case <-a.first:
	case <-time.After(patienceForFirst):
	}
}

package cli

import (
	"io"
	"os"
	"sync"
	"time"

	"sallyport/internal/wire"
)

// answerer is where a server's answers go. It holds the first one until it is released, and tells
// when that is out, or when there is no more reason to wait for it, so that what need not come
// before it does not compete with it.
type answerer struct {
	io.Writer
	shut     func() error // ends what newAnswerer opened
	released chan struct{}
	once     sync.Once
	first    chan struct{}
}

func newAnswerer(w io.Writer) *answerer {
	a := &answerer{Writer: w, shut: func() error { return nil }, released: make(chan struct{}), first: make(chan struct{})}
	if f, ok := w.(*os.File); ok {
		a.Writer, a.shut = wire.NewPrompt(f)
	}
	return a
}

// WriteNow implements wire.Prompt, once answers are let out.
func (a *answerer) WriteNow(p []byte) (int, error) {
	select {
	case <-a.released:
	default:
		return 0, nil
	}
	now, ok := a.Writer.(wire.Prompt)
	if !ok {
		return 0, nil
	}
	defer a.done()
	return now.WriteNow(p)
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

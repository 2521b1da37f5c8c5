package wire

import (
	"container/list"
	"context"
	"sync"

	"sallyport/internal/canon"
)

// What a request costs in memory beyond its bytes, roughly.
const (
	waitingCost = 1 << 10
	streamCost  = 16 << 10 // it has a goroutine
)

// inflight is a request that has not been answered.
type inflight struct {
	call  *Call
	key   string // its id
	pace  Pace
	size  int                 // bytes that it counts while it waits or stays open
	reply func(answer []byte) // to be called once, with nil for no answer

	cancel context.CancelFunc // nil before it runs
	place  *list.Element      // in calls.waiting, nil if it does not wait
}

func newInflight(call *Call, pace Pace, reply func(answer []byte)) *inflight {
	cost := waitingCost
	if pace == Streaming {
		cost = streamCost
	}
	return &inflight{call: call, key: idKey(call.ID), pace: pace, size: len(call.Raw.Bytes()) + cost, reply: reply}
}

// idKey makes an id comparable: a string and an integer are never equal.
func idKey(id canon.Value) string {
	if text, ok := id.Text(); ok {
		return "s" + text
	}
	return "n" + string(id.Bytes())
}

// calls are the requests in flight: who runs, who waits, who may be cancelled. A cancelled request is in flight no more
// from that moment on, although it may still run.
type calls struct {
	maxRunning int
	maxHeld    int

	mu      sync.Mutex // guards what follows and the cancel and place of what is in flight
	byID    map[string]*inflight
	grown   bool      // byID was large: it does not shrink by itself
	waiting list.List // of *inflight, the longest waiting first
	running int       // Queued ones
	held    int       // bytes of what waits or stays open
	closing bool      // streams are to end
}

func (c *calls) init(maxRunning, maxHeld int) {
	c.maxRunning, c.maxHeld = maxRunning, maxHeld
	c.byID = make(map[string]*inflight)
}

// admit takes f in. run says that its goroutine is to be started; where it is false, next will give it.
func (c *calls) admit(f *inflight) (run bool, refusal *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[f.key] != nil {
		return false, newError(CodeInvalidRequest, "the id is in use by a request that has no answer yet")
	}
	switch {
	case f.pace == Immediate:
		run = true
	case f.pace == Queued && c.running < c.maxRunning:
		run = true
		c.running++
	case c.held+f.size > c.maxHeld:
		return false, newError(CodeInternal,
			"busy: too many requests wait or stay open; retry when some have been answered")
	default:
		c.held += f.size
		if run = f.pace == Streaming; !run {
			f.place = c.waiting.PushBack(f)
		}
	}
	c.byID[f.key] = f
	c.grown = c.grown || len(c.byID) > 1<<10
	return run, nil
}

// next gives a goroutine which has done a Queued request the one that has waited longest; nil if there is none.
func (c *calls) next() *inflight {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.waiting.Front()
	if first == nil {
		c.running--
		return nil
	}
	f := first.Value.(*inflight)
	c.unqueue(f)
	return f
}

// unqueue takes f, which waits, out of the queue; mu is held.
func (c *calls) unqueue(f *inflight) {
	c.waiting.Remove(f.place)
	f.place = nil
	c.held -= f.size
}

// begin notes that f runs, and how to cancel it. It reports whether f is in flight: it may have been cancelled.
func (c *calls) begin(f *inflight, cancel context.CancelFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.cancel = cancel
	if c.closing && f.pace == Streaming {
		cancel()
	}
	return c.byID[f.key] == f
}

// finish takes f, which ran, out. It reports whether f was in flight, and so is to be answered.
func (c *calls) finish(f *inflight) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.pace == Streaming {
		c.held -= f.size
	}
	if c.byID[f.key] != f {
		return false
	}
	c.forget(f)
	return true
}

// forget makes the id of f free; mu is held.
func (c *calls) forget(f *inflight) {
	delete(c.byID, f.key)
	if len(c.byID) == 0 && c.grown {
		c.byID, c.grown = make(map[string]*inflight), false
	}
}

// cancel takes out what is in flight under that id, and cancels it if it runs. What waited is returned, since nobody
// else will answer it; nil otherwise.
func (c *calls) cancel(key string) *inflight {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.byID[key]
	if f == nil {
		return nil
	}
	c.forget(f)
	if f.place != nil {
		c.unqueue(f)
		return f
	}
	if f.cancel != nil {
		f.cancel()
	}
	return nil
}

// inUse reports whether a request with this id is in flight.
func (c *calls) inUse(id canon.Value) bool {
	key := idKey(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byID[key] != nil
}

// whileInFlight calls do if f is in flight, and lets nobody answer or cancel f before do returns.
func (c *calls) whileInFlight(f *inflight, do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[f.key] == f {
		do()
	}
}

// closeStreams lets the contexts of all streams, also of those that are just starting, be done.
func (c *calls) closeStreams() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	for _, f := range c.byID {
		if f.pace == Streaming && f.cancel != nil {
			f.cancel()
		}
	}
}

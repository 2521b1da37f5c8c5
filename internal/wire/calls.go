package wire

import (
	"container/list"
	"context"
	"sync"

	"sallyport/internal/canon"
)

// inflight is a request that has not been answered.
type inflight struct {
	call *Call
	key  string // its id
	pace Pace
	size int    // bytes that it counts while it waits, is relayed or stays open
	to   Stream // where its answer goes, once, an absent one too
	run  func() // serves it

	cancel context.CancelFunc // nil before it runs; under calls.mu
	place  *list.Element      // in its lane, nil if it does not wait; under Load.mu
}

func newInflight(call *Call, pace Pace, to Stream) *inflight {
	cost := waitingCost
	if pace == Streaming {
		cost = streamCost
	}
	return &inflight{call: call, key: IDKey(call.ID), pace: pace, size: len(call.Raw.Bytes()) + cost, to: to}
}

// IDKey makes an id comparable: a string and an integer are never equal.
func IDKey(id canon.Value) string {
	if text, ok := id.Text(); ok {
		return "s" + text
	}
	return "n" + string(id.Bytes())
}

// calls are the requests in flight of one conversation, and who may be cancelled. A cancelled request is in flight no
// more from that moment on, although it may still run.
type calls struct {
	load *Load

	mu      sync.Mutex // guards what follows and the cancel of what is in flight
	byID    map[string]*inflight
	grown   bool // byID was large: it does not shrink by itself
	closing bool // streams are to end
	ended   bool // nothing more is taken in

	running sync.WaitGroup // counts what was admitted, but for streams
	open    sync.WaitGroup // counts streams
}

func (c *calls) init(load *Load) {
	c.load = load
	c.byID = make(map[string]*inflight)
}

// group counts requests of that pace.
func (c *calls) group(pace Pace) *sync.WaitGroup {
	if pace == Streaming {
		return &c.open
	}
	return &c.running
}

// admit takes f in. run says that it is to be run; where it is false its turn comes later. What is taken in must be
// settled once.
func (c *calls) admit(f *inflight) (run bool, refusal *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended:
		return false, errShutdown
	case c.byID[f.key] != nil:
		return false, newError(CodeInvalidRequest, "the id is in use by a request that has no answer yet")
	}
	c.group(f.pace).Add(1) // before its turn can come
	run, refusal = c.load.admit(f)
	if refusal != nil {
		c.group(f.pace).Done()
		return false, refusal
	}
	c.byID[f.key] = f
	c.grown = c.grown || len(c.byID) > 1<<10
	return run, nil
}

// settle answers f, which was admitted; nil is no answer.
func (c *calls) settle(f *inflight, answer []byte) {
	defer c.group(f.pace).Done()
	f.to.Answer(answer, nil)
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

// cancel takes out what is in flight under that id, and cancels it if it runs. What waited is settled.
func (c *calls) cancel(key string) {
	c.mu.Lock()
	f := c.byID[key]
	if f != nil {
		c.forget(f)
		if f.cancel != nil {
			f.cancel()
		}
	}
	c.mu.Unlock()
	if f != nil && c.load.withdraw(f) {
		c.settle(f, nil)
	}
}

// close takes nothing more in.
func (c *calls) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
}

// end takes nothing more in, and cancels all that is in flight.
func (c *calls) end() {
	c.close()
	c.mu.Lock()
	keys := make([]string, 0, len(c.byID))
	for key := range c.byID {
		keys = append(keys, key)
	}
	c.mu.Unlock()
	for _, key := range keys {
		c.cancel(key)
	}
}

// idle reports whether nothing is in flight.
func (c *calls) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byID) == 0
}

// inUse reports whether a request with this id is in flight.
func (c *calls) inUse(id canon.Value) bool {
	key := IDKey(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byID[key] != nil
}

// whileInFlight calls do if f is in flight, and lets nobody answer or cancel f before do returns. It returns what do
// does, or false.
func (c *calls) whileInFlight(f *inflight, do func() bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byID[f.key] == f && do()
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

package wire

import (
	"container/list"
	"sync"
)

// What a request costs in memory beyond its bytes, roughly.
const (
	waitingCost = 1 << 10
	streamCost  = 16 << 10 // it has a goroutine
)

// Load bounds what runs and waits at once, over all the conversations that share it. It is safe for concurrent use.
type Load struct {
	maxHeld int

	mu      sync.Mutex // guards what follows and the place of what waits
	queued  lane
	relayed lane
	held    int // bytes of what waits, is relayed or stays open

	workers sync.WaitGroup // the goroutines of Queued and Relayed requests
	spare   chan *inflight // nil, or where those of them that have nothing to do wait for more
	idle    int            // how many do; under mu
}

// lane is the requests of one pace.
type lane struct {
	max     int
	running int
	waiting list.List // of *inflight, the longest waiting first
}

// NewLoad returns a Load with the bounds that opt has.
func NewLoad(opt Options) *Load {
	opt = opt.WithDefaults()
	l := &Load{maxHeld: opt.MaxWaiting}
	l.queued.max = opt.MaxCalls
	l.relayed.max = opt.MaxRelayed
	return l
}

// lane returns the lane of a pace, nil if it has none.
func (l *Load) lane(pace Pace) *lane {
	switch pace {
	case Queued:
		return &l.queued
	case Relayed:
		return &l.relayed
	}
	return nil
}

// admit makes room for f, or says that there is none. It reports whether f is to run now; otherwise its turn comes.
func (l *Load) admit(f *inflight) (run bool, refusal *Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	way := l.lane(f.pace)
	free := way != nil && way.running < way.max
	switch {
	case f.pace == Immediate:
		return true, nil
	case f.pace == Queued && free:
		way.running++
		return true, nil
	case l.held+f.size > l.maxHeld:
		return false, newError(CodeInternal,
			"busy: too many requests wait or stay open; retry when some have been answered")
	}
	l.held += f.size
	switch {
	case way == nil:
		return true, nil
	case free:
		way.running++
		return true, nil
	}
	f.place = way.waiting.PushBack(f)
	return false, nil
}

// mostIdle is how many goroutines are kept for the requests to come.
const mostIdle = 64

// keep has goroutines that did their work wait for more, until the function that it returns is called: of a new one the stack
// must grow anew for each request. It comes before any request.
func (l *Load) keep() (end func()) {
	l.spare = make(chan *inflight)
	return sync.OnceFunc(func() { close(l.spare) })
}

// work runs f, which may run now, and then whatever waits for its place, in another goroutine.
func (l *Load) work(f *inflight) {
	select {
	case l.spare <- f:
	default:
		l.workers.Go(func() {
			for f := f; f != nil; f = l.more() {
				for ; f != nil; f = l.next(f.pace) {
					f.run()
				}
			}
		})
	}
}

// more waits for another request that may run now; nil if nobody waits for any.
func (l *Load) more() *inflight {
	if l.spare == nil || !l.wait(1) {
		return nil
	}
	defer l.wait(-1)
	return <-l.spare
}

// wait counts one more, or one less, that waits for requests, unless there are too many.
func (l *Load) wait(more int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle+more > mostIdle {
		return false
	}
	l.idle += more
	return true
}

// next gives a goroutine which has done a request of that pace the one that has waited longest; nil if there is none.
func (l *Load) next(pace Pace) *inflight {
	l.mu.Lock()
	defer l.mu.Unlock()
	way := l.lane(pace)
	first := way.waiting.Front()
	if first == nil {
		way.running--
		return nil
	}
	f := first.Value.(*inflight)
	l.unqueue(f)
	return f
}

// unqueue takes f, which waits, out of its lane; mu is held.
func (l *Load) unqueue(f *inflight) {
	l.lane(f.pace).waiting.Remove(f.place)
	f.place = nil
	if f.pace == Queued {
		l.held -= f.size
	}
}

// withdraw takes f out if it waits, and reports whether it did.
func (l *Load) withdraw(f *inflight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.place == nil {
		return false
	}
	l.unqueue(f)
	if f.pace != Queued {
		l.held -= f.size
	}
	return true
}

// release gives back what f, which ran, held.
func (l *Load) release(f *inflight) {
	if f.pace != Streaming && f.pace != Relayed {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held -= f.size
}

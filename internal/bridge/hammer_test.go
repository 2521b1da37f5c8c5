package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sallyport/internal/bridge"
	"sallyport/internal/wire"
)

// TestNothingIsLeftAfterClose makes many calls of all kinds at once, with a server that asks, tells and answers at
// random, cancels some, closes the link in the middle, and looks for what is left. Nothing may be told of a call that
// has returned, and nothing to two at once.
func TestNothingIsLeftAfterClose(t *testing.T) {
	before := runtime.NumGoroutine()
	for round := range 20 {
		hammer(t, wire.Modern, round)
		hammer(t, wire.Legacy, round)
	}
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if left := runtime.NumGoroutine() - before; left > 0 {
		stacks := make([]byte, 1<<16)
		t.Errorf("%d goroutines are left\n%s", left, stacks[:runtime.Stack(stacks, true)])
	}
}

func hammer(t *testing.T, era wire.Era, round int) {
	link := &wildLink{done: make(chan struct{})}
	var to adapter = bridge.NewLegacy(nil, bridge.Options{})
	if era == wire.Modern {
		to = bridge.NewModern(nil, bridge.Options{MaxParked: 5})
	}
	link.hear = to.Hear
	to.Attach(link, []byte(`{"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}}`))
	if era == wire.Legacy {
		in, err := to.Call(t.Context(), read(t, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":`+
			`{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}}`, era))
		if err != nil || in.Error.Exists() {
			t.Fatalf("initialize: %s, %v", in.Line, err)
		}
		to.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	}
	var clients sync.WaitGroup
	for i := range 20 {
		clients.Go(func() { client(t, to, era, round*1000+i*10) })
	}
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	if err := to.Close(); err != nil {
		t.Error(err)
	}
	clients.Wait()
	link.work.Wait()
}

// client makes calls until the link is closed.
func client(t *testing.T, to adapter, era wire.Era, id int) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rand.IntN(30))*time.Millisecond)
	defer cancel()
	more := ""
	for range 5 {
		var line string
		switch {
		case era == wire.Legacy:
			line = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`, id)
			if rand.IntN(4) == 0 {
				line = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"f:%d"}}`, id, id%3)
			}
		case rand.IntN(4) == 0:
			line = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{%s,"notifications":`+
				`{"toolsListChanged":true,"resourceSubscriptions":["f:%d"]}}}`, id, modernMeta, id%3)
		default:
			line = callLine(id, more)
		}
		r := read(t, line, era)
		var telling, over atomic.Bool
		r.Hear = func(in wire.Incoming) {
			if !telling.CompareAndSwap(false, true) {
				t.Error("a call is told of two things at once")
			}
			if over.Load() {
				t.Error("a call is told of something after it has returned")
			}
			telling.Store(false)
			if in.Kind == wire.Request {
				go to.Send(ctx, []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}`, in.ID.Bytes())))
			}
		}
		in, err := to.Call(ctx, r)
		over.Store(true)
		if err != nil {
			return
		}
		more = ""
		if state, ok := in.Result.Get("requestState").Text(); ok {
			more = `,"requestState":"` + state + `","inputResponses":{"question-1":{"action":"accept"}}`
		}
		id++
	}
}

// wildLink is a server that answers, asks and tells at random.
type wildLink struct {
	hear func(wire.Incoming)
	done chan struct{}
	once sync.Once
	work sync.WaitGroup
}

func (l *wildLink) say(hear func(wire.Incoming), line string) {
	in, err := wire.ScanIncoming([]byte(line))
	if err != nil {
		panic(err)
	}
	if hear == nil {
		hear = l.hear
	}
	hear(in)
}

func (l *wildLink) Call(ctx context.Context, r wire.Outgoing) (wire.Incoming, error) {
	l.work.Add(1)
	defer l.work.Done()
	result := `{"content":[]}`
	for i := range rand.IntN(6) {
		hear := r.Hear
		if rand.IntN(2) == 0 {
			hear = nil
		}
		switch rand.IntN(4) {
		case 0:
			l.say(hear, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		case 1:
			l.say(hear, fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s-%d","method":"elicitation/create","params":{}}`, r.Method, i))
		case 2:
			l.say(hear, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"f:1"}}`)
		case 3:
			l.say(r.Hear, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":`+
				`{"toolsListChanged":true,"resourceSubscriptions":["f:0","f:1"]}}}`)
		}
	}
	if r.Era == wire.Modern && rand.IntN(2) == 0 {
		result = `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create"}}}`
	}
	select {
	case <-time.After(time.Duration(rand.IntN(5)) * time.Millisecond):
		return wire.ScanIncoming([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID.Bytes(), result)))
	case <-ctx.Done():
		return wire.Incoming{}, ctx.Err()
	case <-l.done:
		return wire.Incoming{}, &wire.LostError{Err: errors.New("over")}
	}
}

func (l *wildLink) Send(context.Context, []byte) error { return nil }
func (l *wildLink) Done() <-chan struct{}              { return l.done }
func (l *wildLink) Close() error                       { l.once.Do(func() { close(l.done) }); return nil }

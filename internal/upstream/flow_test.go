package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/internal/wire"
)

const call1 = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`

func TestOverlongAnswerHarmsOnlyItsCall(t *testing.T) {
	const limit = 10_000
	filler := strings.Repeat("x", 5*limit)
	for name, test := range map[string]struct {
		line string
		lost bool
	}{
		"id first":        {`{"jsonrpc":"2.0","id":1,"result":{"text":"` + filler + `"}}`, true},
		"id last":         {`{"result":{"text":"` + filler + `"},"jsonrpc":"2.0","id":1}`, true},
		"id then jsonrpc": {`{"result":{"id":2,"text":"` + filler + `"} , "id" : 1 , "jsonrpc":"2.0" }`, true},
		"an error":        {`{"error":{"code":1,"message":"` + filler + `"},"id":1,"jsonrpc":"2.0"}`, true},
		"just over":       {`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", limit) + `"}`, true},
		"an id within":    {`{"result":{"id":1,"text":"` + filler + `","a":{"jsonrpc":"2.0","id":1}}}`, false},
		"an id in text":   {`{"result":"` + filler + `,\"id\":1"}`, false},
		"a request":       {`{"jsonrpc":"2.0","method":"sampling/createMessage","params":{"text":"` + filler + `"},"id":1}`, false},
		"another's":       {`{"jsonrpc":"2.0","id":11,"result":"` + filler + `"}`, false},
		"junk":            {filler, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFar(t, limit)
			a := f.ask(call1)
			f.next()
			b := f.ask(`{"jsonrpc":"2.0","id":"1","method":"tools/call"}`)
			f.next()
			f.say(test.line)
			if test.lost {
				a.lost("too large")
			}
			f.say(`{"jsonrpc":"2.0","id":"1","result":{}}`)
			b.answered(`{"jsonrpc":"2.0","id":"1","result":{}}`)
			if !test.lost {
				f.say(`{"jsonrpc":"2.0","id":1,"result":{}}`)
				a.answered(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			}
		})
	}
}

func TestLongestAnswerPasses(t *testing.T) {
	const limit = 64 << 20
	f := newFar(t, limit)
	a := f.ask(call1)
	f.next()
	head, tail := `{"jsonrpc":"2.0","id":1,"result":"`, `"}`
	size := limit - len(head) - len(tail)
	go func() {
		part := strings.Repeat("x", 1<<20)
		for _, text := range append(append([]string{head}, slices.Repeat([]string{part}, size>>20)...), part[:size&(1<<20-1)], tail+"\n") {
			if _, err := f.out.WriteString(text); err != nil {
				t.Error(err)
			}
		}
	}()
	if a.wait(); a.err != nil || len(a.answer.Line) != limit || len(a.answer.Result.Bytes()) != size+2 {
		t.Errorf("an answer of %d bytes gives %d bytes and %v", limit, len(a.answer.Line), a.err)
	}
}

func TestBrokenAnswerEndsItsCall(t *testing.T) {
	for name, line := range map[string]string{
		"bad JSON":      `{"jsonrpc":"2.0","id":1,"result":{bad}}`,
		"invalid UTF-8": "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"\xff\"}}",
		"both":          `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`,
		"twice":         `{"jsonrpc":"2.0","id":1,"result":{},"result":{}}`,
		"no version":    `{"id":1,"result":{}}`,
		"cut":           `{"jsonrpc":"2.0","id":1,"result":{"text":"`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFar(t, 1<<20)
			a := f.ask(call1)
			f.next()
			f.say(line)
			a.lost("no message")
		})
	}
}

func TestCancellation(t *testing.T) {
	const modern = `{"jsonrpc":"2.0","id":"a\/b","method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	for name, test := range map[string]struct{ request, want string }{
		"legacy": {call1, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"context canceled"}}`},
		"modern": {modern, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a\/b","reason":"context canceled",` +
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`},
		"initialize": {`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, ""},
		"discover":   {`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFar(t, 1<<20)
			a := f.ask(test.request)
			f.next()
			a.cancel()
			a.wait()
			if a.err != context.Canceled {
				t.Errorf("a cancelled call ends with %v, want ctx's error", a.err)
			}
			if test.want != "" {
				if got := f.next(); got != test.want {
					t.Errorf("cancellation\n got %s\nwant %s", got, test.want)
				}
			}
			// The late answer is not taken for that of a new request.
			id := idOf(t, test.request)
			b := f.ask(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call"}`)
			renamed := f.next()
			f.say(`{"jsonrpc":"2.0","id":`+id+`,"result":{"late":true}}`, `{"jsonrpc":"2.0","id":`+idOf(t, renamed)+`,"result":{}}`)
			b.answered(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
		})
	}
}

// A server that reads nothing fills the pipe. What was not sent then is known not to be.
func TestFullPipeHoldsUpNobody(t *testing.T) {
	f := newFar(t, 1<<20)
	big := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"text":"` + strings.Repeat("x", 2<<20) + `"}}`
	first := f.ask(big)
	eventually(t, "the pipe is full", func() bool {
		f.link.out.mu.Lock()
		defer f.link.out.mu.Unlock()
		return f.link.out.draining && f.link.out.queue[0].sent > 0
	})
	second := f.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`)
	eventually(t, "the second waits", func() bool {
		f.link.out.mu.Lock()
		defer f.link.out.mu.Unlock()
		return len(f.link.out.queue) == 2
	})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	notSent := new(wire.NotSentError)
	if err := f.link.Send(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/x"}`)); !errors.As(err, &notSent) {
		t.Errorf("a notification that waits ends with %v, want a NotSentError", err)
	}
	second.cancel()
	second.wait()
	if !errors.As(second.err, &notSent) || !errors.Is(second.err, context.Canceled) {
		t.Errorf("a request that waits ends with %v, want a NotSentError for ctx's error", second.err)
	}
	first.cancel()
	first.lost("context canceled")

	// The server reads again: it gets the first request whole and its cancellation, and nothing of the others.
	if got := f.next(); got != big {
		t.Errorf("the server got %d bytes of the first request, want %d", len(got), len(big))
	}
	if got := f.next(); !strings.Contains(got, `"requestId":1`) {
		t.Errorf("behind it came %s, want its cancellation", got)
	}
	third := f.ask(`{"jsonrpc":"2.0","id":3,"method":"x"}`)
	if got := idOf(t, f.next()); got != "3" {
		t.Errorf("behind that came request %s, want 3", got)
	}
	f.say(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	third.answered(`{"jsonrpc":"2.0","id":3,"result":{}}`)
}

// What is remembered of a client's ids is bounded: one that is too long to be remembered does not go over the wire.
func TestLongIDsAndTokens(t *testing.T) {
	f := newFar(t, 1<<20)
	id, token := `"`+strings.Repeat("i", 2*maxKey)+`"`, `"`+strings.Repeat("t", 2*maxKey)+`"`
	a := f.ask(`{"jsonrpc":"2.0","id":` + id + `,"method":"x","params":{"_meta":{"progressToken":` + token + `}}}`)
	line := f.next()
	if len(line) > maxKey {
		t.Errorf("%d bytes go over the wire", len(line))
	}
	v := outgoing(t, line)
	own := v.Params.Get("_meta").Get("progressToken").Bytes()
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s}}`
	f.say(fmt.Sprintf(progress, own), `{"jsonrpc":"2.0","id":`+idOf(t, line)+`,"result":{}}`)
	a.answered(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
	a.wasTold(fmt.Sprintf(progress, token))
}

func TestRequestIsOneLine(t *testing.T) {
	f := newFar(t, 1<<20)
	const line = "{\"jsonrpc\":\"2.0\",\n\"id\":1,\n\"method\":\"x\"}"
	f.ask(line)
	if got, want := f.next(), strings.ReplaceAll(line, "\n", " "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// While nobody hears, what is said is bounded, and answers come through.
func TestFloodIsBoundedAndHoldsUpNoAnswer(t *testing.T) {
	f := newFar(t, 1<<20)
	stuck, release := make(chan struct{}), make(chan struct{})
	r := outgoing(t, call1)
	heard := 0
	r.Hear = func(wire.Incoming) {
		if heard++; heard == 1 {
			close(stuck)
			<-release
		}
	}
	done := make(chan error)
	go func() {
		_, err := f.link.Call(t.Context(), r)
		done <- err
	}()
	f.next()
	message := `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("x", 10_000) + `"}}`
	f.say(message)
	<-stuck
	for range 2500 { // 25 MB
		f.say(message)
	}
	b := f.ask(`{"jsonrpc":"2.0","id":2,"method":"x"}`)
	f.next()
	f.say(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	b.answered(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	f.link.mu.Lock()
	held := f.link.held
	f.link.mu.Unlock()
	// What came while both calls were in flight is nobody's, and has a little room of its own.
	if held > maxHeard+alwaysHeard+2*(len(message)+incomingCost) {
		t.Errorf("%d bytes are held", held)
	}
	if !strings.Contains(f.log.String(), "dropped") {
		t.Errorf("the log does not say that something was dropped:\n%s", f.log)
	}
	f.say(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if heard < 1000 || heard > 2000 {
		t.Errorf("%d of 2501 messages of 10 KB were heard, want as many as 16 MiB hold", heard)
	}
	f.link.mu.Lock()
	defer f.link.mu.Unlock()
	if f.link.held != 0 {
		t.Errorf("%d bytes are held when all was heard", f.link.held)
	}
}

// A request that there is no room for is answered: the server would wait for it for ever.
func TestRequestWithoutRoomIsDeclined(t *testing.T) {
	f := newFar(t, 1<<20)
	f.link.mu.Lock()
	f.link.held = maxHeard
	f.link.common.size = alwaysHeard
	f.link.mu.Unlock()
	f.say(`{"jsonrpc":"2.0","id":"s","method":"roots/list"}`)
	want := `{"jsonrpc":"2.0","id":"s","error":{"code":-32603,"message":"the client cannot be asked now"}}`
	if got := f.next(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A server that pings and reads no answers costs no memory.
func TestPingFloodIsBounded(t *testing.T) {
	f := newFar(t, 1<<20)
	for range 3000 {
		f.say(`{"jsonrpc":"2.0","id":"` + strings.Repeat("p", 100) + `","method":"ping"}`)
	}
	f.say(`{"jsonrpc":"2.0","id":"` + strings.Repeat("p", 500_000) + `","method":"ping"}`)
	f.say(call1) // is taken in when all before it was
	f.wasHeard(call1)
	f.link.out.mu.Lock()
	waiting, size := len(f.link.out.queue), 0
	for _, p := range f.link.out.queue {
		size += len(p.line)
	}
	f.link.out.mu.Unlock()
	if waiting == 0 || size > maxOwn {
		t.Errorf("%d answers of %d bytes wait, want some, and %d bytes at most", waiting, size, maxOwn)
	}
}

// However a client hears, a cancellation gets through.
func TestCancellationWhileHearing(t *testing.T) {
	f := newFar(t, 1<<20)
	stuck, release := make(chan struct{}), make(chan struct{})
	r := outgoing(t, call1)
	r.Hear = func(wire.Incoming) { close(stuck); <-release }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := f.link.Call(ctx, r)
		done <- err
	}()
	f.next()
	f.say(`{"jsonrpc":"2.0","method":"notifications/message"}`)
	<-stuck
	cancel()
	if got := f.next(); !strings.Contains(got, `"requestId":1`) {
		t.Errorf("got %s, want a cancellation", got)
	}
	close(release)
	if err := <-done; err != context.Canceled {
		t.Errorf("the call ends with %v, want ctx's error", err)
	}
}

func TestAbandonedIDsAreBounded(t *testing.T) {
	f := newFar(t, 1<<20)
	for id := range maxAbandoned + 10 {
		ctx, cancel := context.WithCancel(t.Context())
		r := outgoing(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, id))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = f.link.Call(ctx, r) // its error is tested elsewhere
		}()
		f.next()
		cancel()
		f.next()
		<-ended
	}
	f.link.mu.Lock()
	n, crowded := len(f.link.abandoned), f.link.crowded
	f.link.mu.Unlock()
	if n > maxAbandoned || !crowded {
		t.Errorf("%d ids are remembered, crowded is %v", n, crowded)
	}
}

func TestEndOfConversation(t *testing.T) {
	f := newFar(t, 1<<20)
	a := f.ask(call1)
	f.next()
	f.say(`{"jsonrpc":"2.0","method":"notifications/message"}`)
	f.out.Close()
	a.lost("far end is gone")
	a.wasTold(`{"jsonrpc":"2.0","method":"notifications/message"}`)
	<-f.link.Done()
	_, err := f.link.Call(t.Context(), outgoing(t, call1))
	if notSent := new(wire.NotSentError); !errors.As(err, &notSent) {
		t.Errorf("a call after the end gives %v, want a NotSentError", err)
	}
	if notSent := new(wire.NotSentError); !errors.As(f.link.Send(t.Context(), []byte(`{}`)), &notSent) {
		t.Errorf("a notification after the end gives %v, want a NotSentError", err)
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	f := newFar(t, 1<<20)
	const n = 2000
	go func() {
		for range n {
			line := f.next()
			f.say(`{"jsonrpc":"2.0","id":` + idOf(t, line) + `,"result":` + idOf(t, line) + `}`)
		}
	}()
	errs := make(chan error, n)
	for id := range n {
		r := outgoing(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, id))
		go func() {
			m, err := f.link.Call(t.Context(), r)
			if want := fmt.Sprint(id); err == nil && string(m.Result.Bytes()) != want {
				err = fmt.Errorf("request %d got the answer of %s", id, m.Result.Bytes())
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// far is the other end of a link's pipes: what a server reads and writes.
type far struct {
	t    *testing.T
	link *link
	in   *bufio.Reader
	out  *os.File
	ins  *os.File
	log  *safeLog

	mu    sync.Mutex // guards heard
	heard []string   // lines that the link's own hear was told
}

// newFar begins a conversation without a process.
func newFar(t *testing.T, limit int) *far {
	t.Helper()
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSender(inWrite)
	if err != nil {
		t.Fatal(err)
	}
	f := &far{t: t, in: bufio.NewReaderSize(inRead, 1<<20), out: outWrite, ins: inRead, log: &safeLog{}}
	f.link = newLink(s, newNoise(slog.New(slog.NewTextHandler(f.log, nil)), "far"), func(m wire.Incoming) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.heard = append(f.heard, string(m.Line))
	})
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = f.link.read(outRead, limit)
		s.abandon(errors.New("the far end is gone"))
		f.link.end(errors.New("the far end is gone"))
	}()
	t.Cleanup(func() {
		outWrite.Close()
		<-over
		s.wait.Wait()
		inRead.Close()
		outRead.Close()
	})
	return f
}

// safeLog is a buffer for several goroutines.
type safeLog struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (s *safeLog) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *safeLog) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// next is the next line that the link wrote.
func (f *far) next() string {
	f.t.Helper()
	line, err := f.in.ReadString('\n')
	if err != nil {
		f.t.Errorf("reading what the link wrote: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (f *far) say(lines ...string) {
	f.t.Helper()
	for _, line := range lines {
		if _, err := f.out.WriteString(line + "\n"); err != nil {
			f.t.Errorf("writing to the link: %v", err)
		}
	}
}

func (f *far) wasHeard(want ...string) {
	f.t.Helper()
	eventually(f.t, "the link's hear is told all", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.heard) >= len(want)
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if diff := cmp.Diff(want, f.heard); diff != "" {
		f.t.Errorf("the link's own hear (-want +got):\n%s", diff)
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a minute later it is not so that %s", what)
		}
	}
}

// outgoing is the request in line.
func outgoing(t *testing.T, line string) wire.Outgoing {
	t.Helper()
	m, refused := wire.Scan([]byte(line))
	if refused != nil {
		t.Fatalf("%s: %v", line, refused)
	}
	era := wire.Legacy
	if m.Meta.Get(wire.MetaProtocolVersion).Exists() {
		era = wire.Modern
	}
	return wire.Outgoing{Line: m.Raw.Bytes(), ID: m.ID, Method: m.Method, Params: m.Params, Era: era}
}

// asked is a call that is under way.
type asked struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan struct{}
	answer wire.Incoming
	err    error

	mu    sync.Mutex // guards heard
	heard []string
}

// ask begins a call, and waits until the far end could read it.
func (f *far) ask(line string) *asked { return f.askWithin(0, line) }

func (f *far) askWithin(within time.Duration, line string) *asked {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a := &asked{t: f.t, cancel: cancel, done: make(chan struct{})}
	r := outgoing(f.t, line)
	r.Within = within
	r.Hear = func(m wire.Incoming) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.heard = append(a.heard, string(m.Line))
	}
	go func() {
		defer close(a.done)
		a.answer, a.err = f.link.Call(ctx, r)
	}()
	f.t.Cleanup(cancel)
	return a
}

func (a *asked) wait() {
	a.t.Helper()
	select {
	case <-a.done:
	case <-time.After(time.Minute):
		a.t.Fatal("the call does not end")
	}
}

func (a *asked) answered(want string) {
	a.t.Helper()
	if a.wait(); a.err != nil {
		a.t.Fatalf("the call failed: %v", a.err)
	}
	if got := string(a.answer.Line); got != want {
		a.t.Errorf("answer\n got %s\nwant %s", got, want)
	}
}

func (a *asked) wasTold(want ...string) {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if diff := cmp.Diff(want, a.heard); diff != "" {
		a.t.Errorf("the call's Hear (-want +got):\n%s", diff)
	}
}

func (a *asked) lost(saying string) {
	a.t.Helper()
	a.wait()
	if lost := new(wire.LostError); !errors.As(a.err, &lost) || !strings.Contains(a.err.Error(), saying) {
		a.t.Errorf("the call ends with %v, want a LostError that says %q", a.err, saying)
	}
}

// idOf is the id of a line as it is spelt.
func idOf(t *testing.T, line string) string {
	t.Helper()
	v, err := canon.Parse([]byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return string(v.Get("id").Bytes())
}

func TestCallKeepsBytes(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"z":1.0,"a":1e400,"n":9007199254740993}}`,
		`{ "params":{"x":"é"} ,"id" : "a\/b", "method":"tools/call","jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":-9007199254740993,"method":"x","future":[1]}`,
	} {
		f := newFar(t, 1<<20)
		a := f.ask(line)
		if got := f.next(); got != line {
			t.Errorf("over the wire\n got %s\nwant %s", got, line)
		}
		answer := fmt.Sprintf(`{"future":1,"result":{"v":1e400,"a":1,"a":2,"s":"\ud800"},"id":%s,"jsonrpc":"2.0"}`, idOf(t, line))
		f.say(answer)
		a.answered(answer)
	}
}

// TestACallGivesUpWithin: the upstream hears that it is cancelled, its late answer is nobody's, and the next call goes on.
func TestACallGivesUpWithin(t *testing.T) {
	const request, other = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}`
	f := newFar(t, 1<<20)
	a := f.askWithin(20*time.Millisecond, request)
	f.next()
	a.wait()
	if a.err != context.DeadlineExceeded {
		t.Errorf("the call ends with %v, want DeadlineExceeded", a.err)
	}
	if got := f.next(); !strings.Contains(got, `"notifications/cancelled"`) || !strings.Contains(got, `"requestId":1`) {
		t.Errorf("then it is told %s", got)
	}
	f.say(`{"jsonrpc":"2.0","id":1,"result":{"late":true}}`)
	b := f.askWithin(time.Hour, other)
	f.next()
	f.say(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	b.answered(`{"jsonrpc":"2.0","id":2,"result":{}}`)
}

// What an upstream must not be able to do to a call, or to others: each line is said while request 1 is in flight, and
// the answer comes after.
func TestHostileLinesHarmOnlyThemselves(t *testing.T) {
	const fine = `{"jsonrpc":"2.0","id":1,"result":{"fine":true}}`
	for name, said := range map[string]string{
		"no JSON":                 `Server listening on stdio`,
		"half a message":          `{"jsonrpc":"2.0","id":2,"res`,
		"another one's answer":    `{"jsonrpc":"2.0","id":2,"result":{}}`,
		"a string for an int":     `{"jsonrpc":"2.0","id":"1","result":{"wrong":true}}`,
		"an int with fraction":    `{"jsonrpc":"2.0","id":1.0,"result":{"wrong":true}}`,
		"an error for nobody":     `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`,
		"a batch":                 `[{"jsonrpc":"2.0","id":1,"result":{"wrong":true}}]`,
		"a debug print":           `{"id":1,"level":"debug"}`,
		"neither this nor that":   `{"jsonrpc":"2.0","id":1}`,
		"a key without text":      `{"\ud800":1,"jsonrpc":"2.0","method":"notifications/x"}`,
		"invalid UTF-8":           "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/\xff\"}",
		"a lone bracket":          `{`,
		"only a carriage return":  "\r",
		"deep":                    strings.Repeat("[", 100_000),
		"a request with a bad id": `{"jsonrpc":"2.0","id":true,"method":"ping"}`,
		"progress of nobody":      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":null}}`,
		"odd params":              `{"jsonrpc":"2.0","method":"notifications/progress","params":[{"\udc00":[]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFar(t, 1<<20)
			a := f.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`)
			f.next()
			f.say(said, fine)
			a.answered(fine)
		})
	}
}

func TestSecondAnswerIsDropped(t *testing.T) {
	f := newFar(t, 1<<20)
	first := f.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)
	f.next()
	f.say(`{"jsonrpc":"2.0","id":1,"result":{"n":1}}`)
	first.answered(`{"jsonrpc":"2.0","id":1,"result":{"n":1}}`)

	// Somebody else's request under the same id must not get what is said of the first.
	second := f.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)
	renamed := f.next()
	f.say(`{"jsonrpc":"2.0","id":1,"result":{"n":"stolen"}}`)
	f.say(`{"jsonrpc":"2.0","id":` + idOf(t, renamed) + `,"result":{"n":2}}`)
	second.answered(`{"jsonrpc":"2.0","id":1,"result":{"n":2}}`)
	if !strings.Contains(f.log.String(), "not in flight") {
		t.Errorf("the log says nothing of the second answer:\n%s", f.log)
	}
}

func TestIDsAreRewrittenInAllPlaces(t *testing.T) {
	f := newFar(t, 1<<20)
	const listen = `{"jsonrpc":"2.0","id":"listen:0","method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	first := f.ask(listen)
	f.next()
	second := f.ask(listen)
	wireID := idOf(t, f.next())
	if wireID == `"listen:0"` {
		t.Fatal("two requests in flight have the same id")
	}
	const change = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"x":1.0,"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`
	const ack = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`
	const end = `{"jsonrpc":"2.0","id":%[1]s,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":%[1]s},"resultType":"complete"}}`
	f.say(fmt.Sprintf(ack, wireID), fmt.Sprintf(change, wireID), fmt.Sprintf(change, `"listen:0"`),
		fmt.Sprintf(change, `"nobody"`), fmt.Sprintf(end, wireID))
	second.answered(fmt.Sprintf(end, `"listen:0"`))
	second.wasTold(fmt.Sprintf(ack, `"listen:0"`), fmt.Sprintf(change, `"listen:0"`))

	third := f.ask(listen)
	wireID = idOf(t, f.next())
	third.cancel()
	third.wait()
	if want := `"requestId":` + wireID; !strings.Contains(f.next(), want) {
		t.Errorf("the cancellation does not say %s", want)
	}
	first.cancel()
	first.wait()
	first.wasTold(fmt.Sprintf(change, `"listen:0"`))
	f.wasHeard()
}

func TestProgressGoesToItsRequest(t *testing.T) {
	f := newFar(t, 1<<20)
	const request = `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"_meta":{"progressToken":%s}}}`
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1.0}}`
	a := f.ask(fmt.Sprintf(request, "1", "7"))
	f.next()
	b := f.ask(fmt.Sprintf(request, "2", `"7"`))
	f.next()
	c := f.ask(fmt.Sprintf(request, "3", "7"))
	line, err := canon.Parse([]byte(f.next()))
	if err != nil {
		t.Fatal(err)
	}
	token := string(line.Get("params").Get("_meta").Get("progressToken").Bytes())
	f.say(fmt.Sprintf(progress, "7"), fmt.Sprintf(progress, `"\u0037"`), fmt.Sprintf(progress, token),
		fmt.Sprintf(progress, `"task"`))
	for id := 1; id <= 3; id++ {
		f.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id))
	}
	f.say(fmt.Sprintf(progress, "7"), fmt.Sprintf(progress, token)) // too late
	f.say(`{"jsonrpc":"2.0","method":"notifications/message"}`)
	a.wait()
	b.wait()
	c.wait()
	a.wasTold(fmt.Sprintf(progress, "7"))
	b.wasTold(fmt.Sprintf(progress, `"\u0037"`))
	c.wasTold(fmt.Sprintf(progress, "7"))
	f.wasHeard(fmt.Sprintf(progress, `"task"`), `{"jsonrpc":"2.0","method":"notifications/message"}`)
}

func TestWhoHearsWhatNamesNoRequest(t *testing.T) {
	const (
		asks    = `{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{}}`
		says    = `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1e400}}`
		changes = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	)
	t.Run("one call", func(t *testing.T) {
		f := newFar(t, 1<<20)
		a := f.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)
		f.next()
		f.say(asks, says, changes, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		a.wait()
		a.wasTold(asks, says)
		f.wasHeard(changes)
	})
	t.Run("one call beside others that nobody hears for", func(t *testing.T) {
		f := newFar(t, 1<<20)
		own := outgoing(t, `{"jsonrpc":"2.0","id":"own","method":"tools/list"}`)
		ended := make(chan error)
		go func() {
			_, err := f.link.Call(t.Context(), own)
			ended <- err
		}()
		f.next()
		a := f.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)
		f.next()
		f.say(asks, `{"jsonrpc":"2.0","id":1,"result":{}}`, says, `{"jsonrpc":"2.0","id":"own","result":{}}`)
		a.wait()
		a.wasTold(asks)
		f.wasHeard(says)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Run("two calls", func(t *testing.T) {
		f := newFar(t, 1<<20)
		a, b := f.ask(`{"jsonrpc":"2.0","id":1,"method":"x"}`), f.ask(`{"jsonrpc":"2.0","id":2,"method":"x"}`)
		f.next()
		f.next()
		f.say(asks, says, changes, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		a.wait()
		b.wait()
		a.wasTold()
		b.wasTold()
		f.wasHeard(asks, says, changes)
	})
	t.Run("no call", func(t *testing.T) {
		f := newFar(t, 1<<20)
		f.say(asks, says, changes)
		f.wasHeard(asks, says, changes)
	})
}

func TestPingIsAnsweredByTheLink(t *testing.T) {
	f := newFar(t, 1<<20)
	f.say(`{"jsonrpc":"2.0","id":"p\u0031","method":"ping"}`)
	if got, want := f.next(), `{"jsonrpc":"2.0","id":"p\u0031","result":{}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	f.wasHeard()
}

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// echo answers with the method, at the pace that the method names, if any; "slow", "relayed" and "stream" wait for release or ctx.
type echo struct {
	release chan struct{} // one receive lets one slow call go on

	mu      sync.Mutex // guards what follows
	running int
	peak    int
	ran     []string // ids, in the order in which they began
	ended   []string // "ID: what ctx said" of those that ctx ended
	heard   []string // methods of notifications
}

func newEcho() *echo { return &echo{release: make(chan struct{})} }

func (e *echo) Pace(method string) Pace {
	switch method {
	case "now", "initialize":
		return Immediate
	case "relayed":
		return Relayed
	case "stream":
		return Streaming
	case "has no pace":
		panic("with a method")
	}
	return Queued
}

func (e *echo) Answer(ctx context.Context, call *Call) (Reply, error) {
	result, err := e.answer(ctx, call)
	return Reply{Result: result}, err
}

func (e *echo) answer(ctx context.Context, call *Call) ([]byte, error) {
	id := string(call.ID.Bytes())
	e.mu.Lock()
	e.ran = append(e.ran, id)
	e.running++
	e.peak = max(e.peak, e.running)
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.running--
	}()
	switch call.Method {
	case "initialize":
		version, _ := call.Params.Get("protocolVersion").Text()
		call.Session.Initialize(version)
	case "slow", "relayed":
		select {
		case <-e.release:
		case <-ctx.Done():
			e.note(id, ctx)
			return nil, fmt.Errorf("giving up: %w", ctx.Err())
		}
	case "stubborn": // goes on although it is cancelled
		<-e.release
		if ctx.Err() != nil {
			e.note(id, ctx)
		}
	case "stream":
		call.Notify("opened", nil)
		<-ctx.Done()
		e.note(id, ctx)
		call.Notify("closing", nil)
	case "big":
		return []byte(`{"big":"` + strings.Repeat("x", 1<<20) + `"}`), nil
	case "pretty":
		return []byte("{\n  \"a\": [\n]\n}\n"), nil
	case "panics":
		panic("with the arguments")
	case "divides":
		return []byte{1 / call.Params.Bytes()[0]}[:0], nil
	case "fails":
		return nil, errors.New("disk on fire")
	case "refuses":
		return nil, fmt.Errorf("wrapped: %w", &Error{Code: -32602, Message: "no", Data: []byte(`{"why":1}`)})
	case "empty":
		return nil, nil
	}
	return []byte(`{"did":"` + call.Method + `"}`), nil
}

func (e *echo) note(id string, ctx context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = append(e.ended, id+": "+ctx.Err().Error())
}

func (e *echo) Notified(_ *Session, m Message) {
	if m.Method == "panics" {
		panic("in a notification")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, m.Method)
}

// peer is a client of ServeLines within a synctest bubble.
type peer struct {
	t       *testing.T
	session *Session
	in      *io.PipeWriter
	cancel  context.CancelFunc
	done    chan error

	mu   sync.Mutex // guards heard
	text []byte
}

// serve starts a conversation, already in the legacy era. The client reads all that comes unless out is given.
func serve(t *testing.T, h Handler, opt Options, out ...io.Writer) *peer {
	r, in := io.Pipe()
	p := &peer{t: t, session: &Session{}, in: in, done: make(chan error, 1)}
	p.session.Initialize("2025-11-25")
	var w io.Writer = p
	if len(out) > 0 {
		w = out[0]
	}
	ctx, cancel := context.WithCancel(t.Context())
	p.cancel = cancel
	t.Cleanup(cancel)
	go func() { p.done <- ServeLines(ctx, p.session, h, r, w, opt) }()
	return p
}

func (p *peer) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, text...)
	return len(text), nil
}

// say sends lines and waits until nothing moves any more.
func (p *peer) say(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(p.in, line+"\n"); err != nil {
			p.t.Fatalf("writing %.100s: %v", line, err)
		}
	}
	synctest.Wait()
}

// heard returns the lines that came since it was called last.
func (p *peer) heard() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := strings.SplitAfter(string(p.text), "\n")
	p.text = nil
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\n")
	}
	return lines[:len(lines)-1]
}

// expect compares what was heard with want, in any order.
func (p *peer) expect(want ...string) {
	p.t.Helper()
	if diff := cmp.Diff(sorted(want), sorted(p.heard())); diff != "" {
		p.t.Errorf("heard (-want +got):\n%s", diff)
	}
}

// end closes the client's end and returns how the conversation ended.
func (p *peer) end() error {
	p.in.Close()
	return <-p.done
}

func request(id any, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q}`, id, method)
}

func cancelled(id any) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%v}}`, id)
}

func did(id any, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"did":%q}}`, id, method)
}

func failed(id any, code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"error":{"code":%d,"message":%q}}`, id, code, message)
}

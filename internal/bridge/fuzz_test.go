package bridge_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/internal/bridge"
	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// FuzzServer lets a server say anything at all, on behalf of a call and as its answer, to both adapters. Whatever it is,
// the client hears messages, each on one line, and the answer to its request; an era never hears what is not of it.
func FuzzServer(f *testing.F) {
	for _, seed := range []struct{ method, heard, answer string }{
		{"tools/call", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`, `"result":{"content":[]}`},
		{"tools/call", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url"}}`, `"error":{"code":-32042,"data":{"elicitations":[{"mode":"url","url":"u"}]}}`},
		{"tools/call", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`, `"result":{"structuredContent":[1]}`},
		{"tools/call", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`, `"result":{"structuredContent":null,"content":5}`},
		{"tools/list", `{"jsonrpc":"2.0","id":"x","method":"roots/list"}`, `"result":{"tools":[{"execution":{"taskSupport":"x"},"outputSchema":{"type":"array"}},5]}`},
		{"prompts/get", `{"jsonrpc":"2.0","id":2,"result":{}}`, `"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"s"}`},
		{"resources/read", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `"error":{"code":-32002}`},
		{"x", `{"jsonrpc":"2.0","method":"x","params":[]}`, `"result":{"resultType":"input_required","requestState":""}`},
		{"x", `{"jsonrpc":"2.0","method":"x","params":{"_meta":[]}}`, `"error":{"code":-32021,"message":"m","data":{"requiredCapabilities":{}}}`},
	} {
		f.Add(seed.method, seed.heard, seed.answer)
	}
	f.Fuzz(func(t *testing.T, method, heard, answer string) {
		in, err := wire.ScanIncoming([]byte(`{"jsonrpc":"2.0","id":7,` + answer + `}`))
		if err != nil || in.Kind != wire.Response || strings.ContainsAny(heard+answer, "\n") || string(in.ID.Bytes()) != "7" {
			t.Skip()
		}
		said, err := wire.ScanIncoming([]byte(heard))
		if err != nil {
			said = wire.Incoming{}
		}
		for _, era := range []wire.Era{wire.Legacy, wire.Modern} {
			fuzzServer(t, era, method, said, in)
		}
	})
}

func fuzzServer(t *testing.T, era wire.Era, method string, said, answer wire.Incoming) {
	var to adapter
	var mu sync.Mutex // guards heard
	var heard []wire.Incoming
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	hear := func(in wire.Incoming) {
		mu.Lock()
		heard = append(heard, in)
		mu.Unlock()
		if in.Kind == wire.Request {
			to.Send(ctx, slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), in.ID.Bytes(), []byte(`,"result":{"action":"accept"}}`)))
		}
	}
	opt := bridge.Options{ParkFor: time.Hour}
	if to = bridge.NewLegacy(hear, opt); era == wire.Modern {
		to = bridge.NewModern(hear, opt)
	}
	to.Attach(&sayingLink{hear: to.Hear, said: said, answer: answer, done: make(chan struct{})}, []byte(`{"capabilities":{}}`))
	defer to.Close()
	if era == wire.Legacy {
		in, err := to.Call(ctx, read(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
			`"capabilities":{"elicitation":{"url":{},"form":{}},"roots":{},"sampling":{}}}}`, era))
		if err != nil || in.Error.Exists() {
			t.Fatalf("initialize: %s, %v", in.Line, err)
		}
	}
	line := canon.AppendString([]byte(`{"jsonrpc":"2.0","id":7,"method":`), method)
	line = append(line, `,"params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{},"form":{}},`+
		`"roots":{}},"io.modelcontextprotocol/logLevel":"debug","progressToken":1}}}`...)
	m, refused := wire.Scan(line)
	if refused != nil {
		t.Skip()
	}
	in, err := to.Call(ctx, wire.Outgoing{Line: line, ID: m.ID, Method: m.Method, Params: m.Params, Era: era, Hear: hear})
	if err == nil {
		if in.Kind != wire.Response || string(in.ID.Bytes()) != "7" {
			t.Errorf("the request was answered with %s", in.Line)
		}
		mu.Lock()
		heard = append(heard, in)
		mu.Unlock()
	} else if ctx.Err() == nil {
		t.Errorf("the request failed: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, in := range heard {
		again, err := wire.ScanIncoming(in.Line)
		if err != nil || again.Kind != in.Kind || bytes.ContainsRune(in.Line, '\n') {
			t.Errorf("the client hears %q: %v", in.Line, err)
		}
		if code, _ := in.Error.Get("code").Int(); era == wire.Modern && (in.Kind == wire.Request || code == -32002 || code == -32042) {
			t.Errorf("a modern client hears %s", in.Line)
		}
	}
}

// sayingLink is a server that says one thing on behalf of each call, and one thing as its answer.
type sayingLink struct {
	hear         func(wire.Incoming)
	said, answer wire.Incoming
	done         chan struct{}
	once         sync.Once
}

func (l *sayingLink) Call(_ context.Context, r wire.Outgoing) (wire.Incoming, error) {
	if l.said.Kind != wire.Invalid {
		if r.Hear != nil {
			r.Hear(l.said)
		}
		l.hear(l.said)
	}
	if string(r.ID.Bytes()) == "7" {
		return l.answer, nil
	}
	in, err := wire.ScanIncoming(canon.Splice(l.answer.Line, canon.Edit{Old: l.answer.ID, New: r.ID.Bytes()}))
	return in, err
}

func (l *sayingLink) Send(context.Context, []byte) error { return nil }
func (l *sayingLink) Done() <-chan struct{}              { return l.done }
func (l *sayingLink) Close() error                       { l.once.Do(func() { close(l.done) }); return nil }

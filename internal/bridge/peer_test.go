//lint:file-ignore SA1019 what MCP 2026-07-28 deprecates has to be carried for as long as anybody uses it

package bridge_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sallyport/internal/bridge"
	"sallyport/internal/wire"
)

// These tests have the official SDK on both sides: a client that speaks one era only, an adapter, and a server that
// speaks the other one only.

// pipeLink is a wire.Link over lines to a server in the same process.
type pipeLink struct {
	w    io.WriteCloser
	hear func(wire.Incoming)
	done chan struct{}

	mu    sync.Mutex // guards what follows, and writing
	calls map[string]*pipeCall
}

type pipeCall struct {
	out    wire.Outgoing
	answer chan wire.Incoming
}

func (l *pipeLink) read(r io.Reader) {
	defer close(l.done)
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		in, err := wire.ScanIncoming([]byte(scanner.Text()))
		if err != nil {
			panic(err)
		}
		l.mu.Lock()
		to := l.owner(in)
		l.mu.Unlock()
		switch {
		case in.Kind == wire.Response && to != nil:
			to.answer <- in
		case in.Kind == wire.Response:
		case to != nil && to.out.Hear != nil:
			to.out.Hear(in)
		default:
			l.hear(in)
		}
	}
}

// owner is the call that a message belongs to.
func (l *pipeLink) owner(in wire.Incoming) *pipeCall {
	if in.Kind == wire.Response {
		return l.calls[string(in.ID.Bytes())]
	}
	if id := in.Params.Get("_meta").Get(wire.MetaSubscriptionID); id.Exists() {
		return l.calls[string(id.Bytes())]
	}
	token := in.Params.Get("progressToken")
	var short []*pipeCall
	for _, c := range l.calls {
		if token.Exists() && string(c.out.Params.Get("_meta").Get("progressToken").Bytes()) == string(token.Bytes()) {
			return c
		}
		if c.out.Method != "subscriptions/listen" {
			short = append(short, c)
		}
	}
	if in.Kind == wire.Request && len(short) == 1 {
		return short[0]
	}
	return nil
}

func (l *pipeLink) write(line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.w.Write(append(slices.Clone(line), '\n'))
	return err
}

func (l *pipeLink) Call(ctx context.Context, r wire.Outgoing) (wire.Incoming, error) {
	id := string(r.ID.Bytes())
	c := &pipeCall{out: r, answer: make(chan wire.Incoming, 1)}
	l.mu.Lock()
	l.calls[id] = c
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.calls, id)
		l.mu.Unlock()
	}()
	if err := l.write(r.Line); err != nil {
		return wire.Incoming{}, &wire.NotSentError{Err: err}
	}
	select {
	case in := <-c.answer:
		return in, nil
	case <-ctx.Done():
		l.write([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`))
		return wire.Incoming{}, ctx.Err()
	case <-l.done:
		return wire.Incoming{}, &wire.LostError{Err: io.EOF}
	}
}

func (l *pipeLink) Send(_ context.Context, line []byte) error { return l.write(line) }
func (l *pipeLink) Done() <-chan struct{}                     { return l.done }

func (l *pipeLink) Close() error {
	l.w.Close()
	<-l.done
	return nil
}

// serve runs an SDK server and returns the link to it.
func serve(t *testing.T, server *mcp.Server, hear func(wire.Incoming)) *pipeLink {
	toServer, w := io.Pipe()
	r, fromServer := io.Pipe()
	l := &pipeLink{w: w, hear: hear, done: make(chan struct{}), calls: map[string]*pipeCall{}}
	var running sync.WaitGroup
	running.Go(func() {
		server.Run(context.Background(), &mcp.IOTransport{Reader: toServer, Writer: fromServer})
		fromServer.Close()
	})
	running.Go(func() { l.read(r) })
	t.Cleanup(func() {
		w.Close()
		running.Wait()
	})
	return l
}

// front lets an SDK client speak with an adapter.
func front(t *testing.T, to adapter, era wire.Era) (client mcp.Transport, hear func(wire.Incoming)) {
	fromClient, clientWrites := io.Pipe()
	clientReads, toClient := io.Pipe()
	var mu sync.Mutex // guards writing and cancel
	cancel := map[string]context.CancelFunc{}
	write := func(in wire.Incoming) {
		mu.Lock()
		defer mu.Unlock()
		toClient.Write(append(slices.Clone(in.Line), '\n'))
	}
	var running sync.WaitGroup
	running.Go(func() {
		scanner := bufio.NewScanner(fromClient)
		for scanner.Scan() {
			line := scanner.Text()
			m, refused := wire.Scan([]byte(line))
			if refused != nil {
				t.Errorf("the client said %s: %v", line, refused)
				continue
			}
			id := string(m.ID.Bytes())
			switch {
			case m.Kind == wire.Request:
				ctx, stop := context.WithCancel(context.Background())
				mu.Lock()
				cancel[id] = stop
				mu.Unlock()
				r := wire.Outgoing{Line: m.Raw.Bytes(), ID: m.ID, Method: m.Method, Params: m.Params, Era: era, Hear: write}
				running.Go(func() {
					defer stop()
					if in, err := to.Call(ctx, r); err == nil {
						write(in)
					}
				})
			case m.Method == "notifications/cancelled":
				mu.Lock()
				stop := cancel[string(m.Params.Get("requestId").Bytes())]
				mu.Unlock()
				if stop != nil {
					stop()
				}
			default:
				if err := to.Send(context.Background(), m.Raw.Bytes()); err != nil {
					t.Errorf("Send(%s): %v", line, err)
				}
			}
		}
	})
	t.Cleanup(func() {
		clientWrites.Close()
		toClient.Close()
		to.Close()
		running.Wait()
	})
	return &mcp.IOTransport{Reader: clientReads, Writer: clientWrites}, write
}

// oldServer is a server of the legacy era whose tools ask their clients while they run.
func oldServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"}, &mcp.ServerOptions{
		SupportedProtocolVersions: []string{"2025-11-25"},
		SubscribeHandler:          func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler:        func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		Capabilities:              &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}},
	})
	add := func(name string, run func(context.Context, *mcp.CallToolRequest) (string, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (
			*mcp.CallToolResult, any, error) {
			said, err := run(ctx, r)
			if err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}, nil, nil
		})
	}
	elicit := func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
		if err != nil {
			return "", err
		}
		name, _ := answer.Content["name"].(string)
		return answer.Action + " " + name, nil
	}
	roots := func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		answer, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return "", err
		}
		return answer.Roots[0].URI, nil
	}
	add("elicit", elicit)
	add("roots", roots)
	add("sample", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		answer, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{
			{Role: "user", Content: &mcp.TextContent{Text: "2+2?"}}}})
		if err != nil {
			return "", err
		}
		return answer.Content.(*mcp.TextContent).Text, nil
	})
	add("all", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		one, err := elicit(ctx, r)
		if err != nil {
			return "", err
		}
		two, err := roots(ctx, r)
		return one + ", " + two, err
	})
	add("progress", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2})
		return "progressed", err
	})
	return s
}

// newServer is a server of the modern era whose tools ask for input by their results.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "new", Version: "2"}, &mcp.ServerOptions{
		SupportedProtocolVersions: []string{"2026-07-28"},
		SubscribeHandler:          func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler:        func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	who := &mcp.ElicitParams{Message: "Who?", Mode: "form", RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}}
	sum := &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{
		{Role: "user", Content: &mcp.TextContent{Text: "2+2?"}}}}
	add := func(name string, ask mcp.InputRequestMap) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				if len(r.Params.InputResponses) == 0 {
					return &mcp.CallToolResult{InputRequests: ask, RequestState: "state of " + name}, nil
				}
				var said []string
				for _, key := range []string{"who", "roots", "sum"} {
					switch answer := r.Params.InputResponses[key].(type) {
					case *mcp.ElicitResult:
						given, _ := answer.Content["name"].(string)
						said = append(said, answer.Action+" "+given)
					case *mcp.ListRootsResult:
						said = append(said, answer.Roots[0].URI)
					case *mcp.CreateMessageWithToolsResult:
						said = append(said, answer.Content[0].(*mcp.TextContent).Text)
					}
				}
				if r.Params.RequestState != "state of "+name {
					said = append(said, "with the wrong state")
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(said, ", ")}}}, nil
			})
	}
	add("elicit", mcp.InputRequestMap{"who": who})
	add("roots", mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}})
	add("sample", mcp.InputRequestMap{"sum": sum})
	add("all", mcp.InputRequestMap{"who": who, "roots": &mcp.ListRootsParams{}})
	s.AddTool(&mcp.Tool{Name: "progress", InputSchema: map[string]any{"type": "object"}},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2})
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "progressed"}}}, err
		})
	return s
}

// heardByClient is what an SDK client was told of.
type heardByClient struct{ progress, tools, updated chan struct{} }

func newClient(able bool) (*mcp.Client, heardByClient) {
	h := heardByClient{make(chan struct{}, 9), make(chan struct{}, 9), make(chan struct{}, 9)}
	opt := &mcp.ClientOptions{
		Capabilities:                &mcp.ClientCapabilities{},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { h.progress <- struct{}{} },
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { h.tools <- struct{}{} },
		ResourceUpdatedHandler:      func(context.Context, *mcp.ResourceUpdatedNotificationRequest) { h.updated <- struct{}{} },
	}
	if able {
		opt.Capabilities = nil // roots
		opt.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
		}
		opt.CreateMessageHandler = func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "4"}}, nil
		}
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, opt)
	c.AddRoots(&mcp.Root{URI: "file:///here"})
	return c, h
}

// connect puts an adapter between an SDK client and an SDK server of different eras.
func connect(t *testing.T, era wire.Era, server *mcp.Server, client *mcp.Client) *mcp.ClientSession {
	t.Helper()
	var to adapter
	var tell func(wire.Incoming)
	hear := func(in wire.Incoming) { tell(in) }
	version := "2026-07-28"
	if era == wire.Legacy {
		version = "2025-11-25"
		to = bridge.NewLegacy(hear, bridge.Options{})
	} else {
		to = bridge.NewModern(hear, bridge.Options{Principal: "local"})
	}
	transport, told := front(t, to, era)
	tell = told
	link := serve(t, server, to.Hear)
	ask := func(line string) []byte {
		in, err := link.Call(t.Context(), read(t, line, era))
		if err != nil || in.Error.Exists() {
			t.Fatalf("%s: %s, %v", line, in.Line, err)
		}
		return in.Result.Bytes()
	}
	if m, ok := to.(*bridge.Modern); ok {
		info, capabilities := m.Identity()
		said := ask(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":` +
			string(info) + `,"capabilities":` + string(capabilities) + `}}`)
		if err := link.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
			t.Fatal(err)
		}
		to.Attach(link, said)
	} else {
		to.Attach(link, ask(`{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	}
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	t.Cleanup(func() { session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("the client speaks %s, want %s", got, version)
	}
	return session
}

// crossings are the two ways in which eras can differ.
var crossings = []struct {
	name   string
	era    wire.Era // of the client
	server func() *mcp.Server
}{
	{"modern client, legacy server", wire.Modern, oldServer},
	{"legacy client, modern server", wire.Legacy, newServer},
}

func TestSDKAsksAcrossEras(t *testing.T) {
	for _, crossing := range crossings {
		t.Run(crossing.name, func(t *testing.T) {
			client, _ := newClient(true)
			session := connect(t, crossing.era, crossing.server(), client)
			for tool, want := range map[string]string{
				"elicit": "accept Ann", "roots": "file:///here", "sample": "4", "all": "accept Ann, file:///here",
			} {
				result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
				if err != nil {
					t.Fatalf("%s: %v", tool, err)
				}
				if got := text(result); got != want || result.IsError {
					t.Errorf("%s answered %q, want %q", tool, got, want)
				}
			}
		})
	}
}

func TestSDKClientWithoutCapabilities(t *testing.T) {
	for _, crossing := range crossings {
		t.Run(crossing.name, func(t *testing.T) {
			client, _ := newClient(false)
			session := connect(t, crossing.era, crossing.server(), client)
			want := map[wire.Era]int64{wire.Modern: -32021, wire.Legacy: -32603}[crossing.era]
			for _, tool := range []string{"elicit", "roots", "sample"} {
				_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
				var refused *jsonrpc.Error
				if !errors.As(err, &refused) || refused.Code != want {
					t.Errorf("%s answered %v, want the code %d", tool, err, want)
				}
			}
		})
	}
}

func TestSDKHearsOfChangesAcrossEras(t *testing.T) {
	for _, crossing := range crossings {
		t.Run(crossing.name, func(t *testing.T) {
			client, heard := newClient(true)
			server := crossing.server()
			server.AddResource(&mcp.Resource{URI: "file:///r", Name: "r"},
				func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
					return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "file:///r", Text: "1"}}}, nil
				})
			session := connect(t, crossing.era, server, client)
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) < 5 {
				t.Fatalf("ListTools: %v, %v", tools, err)
			}
			if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///r"}); err != nil {
				t.Errorf("ReadResource: %v", err)
			}
			if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///r"}); err != nil {
				t.Fatalf("Subscribe: %v", err)
			}
			soon(t, "an update", heard.updated, func() {
				server.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: "file:///r"})
			})
			n := 0
			soon(t, "a changed list", heard.tools, func() {
				n++
				server.AddTool(&mcp.Tool{Name: "more" + strings.Repeat("e", n), InputSchema: map[string]any{"type": "object"}},
					func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
			})
			params := &mcp.CallToolParams{Name: "progress"}
			params.SetProgressToken("token")
			if _, err := session.CallTool(t.Context(), params); err != nil {
				t.Errorf("CallTool: %v", err)
			}
			soon(t, "progress", heard.progress, func() {})
		})
	}
}

// soon does something until it has been heard of: a subscription may not be open yet when the client thinks that it is.
func soon(t *testing.T, what string, heard <-chan struct{}, do func()) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		do()
		select {
		case <-heard:
			return
		case <-deadline:
			t.Fatalf("the client never heard of %s", what)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func text(result *mcp.CallToolResult) string {
	var said []string
	for _, c := range result.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			said = append(said, c.Text)
		}
	}
	return strings.Join(said, "\n")
}

package streamable

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sallyport/internal/wire"
)

// sdkServer is the official SDK's server with a tool that says what it does, asks its client, and answers.
func sdkServer(t *testing.T, stateless bool) *httptest.Server {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	type none struct{}
	mcp.AddTool(server, &mcp.Tool{Name: "plain"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "plain answer"}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "talk"}, func(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		for i := range 2 {
			r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1)})
		}
		text := "not asked"
		if !stateless {
			answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "which?", RequestedSchema: map[string]any{"type": "object"}})
			if err != nil {
				return nil, nil, err
			}
			text = "the client says " + answer.Action
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	server.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "hello"}, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless})
	return serveWith(t, handler.ServeHTTP)
}

func TestSDKServerModern(t *testing.T) {
	l := openLink(t, &Client{URL: sdkServer(t, true).URL}, nil)
	var said []string
	hear := func(m wire.Incoming) { said = append(said, m.Method) }
	call := func(method, params string) string {
		t.Helper()
		r := outgoing(t, wire.Modern, `{"jsonrpc":"2.0","id":"r1","method":"`+method+`","params":{`+params+
			`"_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
		r.Hear = hear
		m, err := l.Call(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		return string(m.Line)
	}
	for _, tt := range []struct{ method, params, want string }{
		{"server/discover", "", `"2026-07-28"`},
		{"tools/list", "", `"talk"`},
		{"tools/call", `"name":"plain","arguments":{},`, "plain answer"},
		{"tools/call", `"name":"talk","arguments":{},`, "not asked"},
		{"prompts/get", `"name":"greet",`, "hello"},
		{"no/such", "", "-32601"},
		{"tools/call", `"name":"no-such-tool",`, "-32602"},
	} {
		if got := call(tt.method, tt.params); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s in it", tt.method, got, tt.want)
		}
	}
	if want := []string{"notifications/progress", "notifications/progress"}; !slices.Equal(said, want) {
		t.Errorf("heard %q, want %q", said, want)
	}
}

func TestSDKServerLegacy(t *testing.T) {
	heard := make(chan string, 10)
	l := openLink(t, &Client{URL: sdkServer(t, false).URL}, func(m wire.Incoming) { heard <- m.Method })
	call := func(ctx context.Context, line string, hear func(wire.Incoming)) (string, error) {
		r := outgoing(t, wire.Legacy, line)
		r.Hear = hear
		m, err := l.Call(ctx, r)
		return string(m.Line), err
	}
	welcome, err := call(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`, nil)
	if err != nil || !strings.Contains(welcome, "2025-11-25") {
		t.Fatalf("%s, %v", welcome, err)
	}
	if err := l.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		t.Fatal(err)
	}
	var said []string
	answer, err := call(t.Context(), `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"talk","arguments":{},"_meta":{"progressToken":9}}}`,
		func(m wire.Incoming) {
			said = append(said, m.Method)
			if m.Kind != wire.Request {
				return
			}
			line := `{"jsonrpc":"2.0","id":` + string(m.ID.Bytes()) + `,"result":{"action":"decline"}}`
			if err := l.Send(t.Context(), []byte(line)); err != nil {
				t.Error(err)
			}
		})
	if err != nil || !strings.Contains(answer, "the client says decline") {
		t.Errorf("%s, %v, want what the client was asked for", answer, err)
	}
	if want := []string{"notifications/progress", "notifications/progress", "elicitation/create"}; !slices.Equal(said, want) {
		t.Errorf("heard %q, want %q", said, want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := call(ctx, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait","arguments":{}}}`, nil); err != context.DeadlineExceeded {
		t.Errorf("a call that is given up: %v, want %v", err, context.DeadlineExceeded)
	}
	if answer, err := call(t.Context(), `{"jsonrpc":"2.0","id":4,"method":"ping"}`, nil); err != nil {
		t.Errorf("%s, %v", answer, err)
	}
	session := l.(*link).session
	l.Close()
	stale := openLink(t, l.(*link).client, nil)
	stale.(*link).session, stale.(*link).version = session, "2025-11-25"
	if _, err := stale.Call(t.Context(), outgoing(t, wire.Legacy, `{"jsonrpc":"2.0","id":4,"method":"ping"}`)); fate(err) != "not sent" {
		t.Errorf("a session that was ended: %v, want a request that was not sent", err)
	}
	select {
	case <-stale.Done():
	default:
		t.Error("the conversation goes on without its session")
	}
}

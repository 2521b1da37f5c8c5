package streamable

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sallyport/internal/wire"
)

// authorized sends a token with each request.
type authorized string

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(a))
	return http.DefaultTransport.RoundTrip(r)
}

// connect connects the official client, which begins with the era that it likes, or with a handshake of that version.
func connect(t *testing.T, f *front, version string, opt *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, opt)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: f.url, HTTPClient: &http.Client{Transport: authorized("bob")},
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting in %q: %v", version, err)
	}
	return session
}

func TestSDKClient(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		t.Run(version, func(t *testing.T) {
			noLeak(t)
			f := newFront(t, nil)
			logged := make(chan string, 1)
			session := connect(t, f, version, &mcp.ClientOptions{
				//lint:ignore SA1019 it is deprecated, and still to be served
				LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { logged <- r.Params.Data.(string) },
			})
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != "greet" {
				t.Fatalf("tools/list: %v, %v", tools, err)
			}
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet"})
			if err != nil || len(r.Content) != 1 || r.Content[0].(*mcp.TextContent).Text != "bob" {
				t.Fatalf("tools/call: %v, %v", r, err)
			}
			if got := <-logged; got != "greeting" {
				t.Errorf("logged %q", got)
			}
			f.h.mu.Lock()
			sessions := len(f.h.sessions)
			f.h.mu.Unlock()
			if want := map[bool]int{true: 1}[version < "2026"]; sessions != want {
				t.Errorf("%d sessions, want %d", sessions, want)
			}
			if err := session.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
			eventually(t, "no session is left", func() bool { f.h.mu.Lock(); defer f.h.mu.Unlock(); return len(f.h.sessions) == 0 })
		})
	}
}

// asking is a toy that asks for roots on behalf of a call.
type asking struct{ *toy }

func (a asking) Answer(ctx context.Context, call *wire.Call) (wire.Reply, error) {
	if call.Method != "tools/call" {
		return a.toy.Answer(ctx, call)
	}
	answer, err := call.Ask(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`))
	if err != nil {
		return wire.Reply{}, err
	}
	a.note("heard %s", answer.Result.Bytes())
	return wire.Reply{Result: []byte(`{"content":[]}`)}, nil
}

func TestSDKClientIsAsked(t *testing.T) {
	f := newFront(t, nil)
	f.h.MCP = asking{f.toy}
	client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	//lint:ignore SA1019 it is deprecated, and still to be served
	client.AddRoots(&mcp.Root{URI: "file:///home", Name: "home"})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: f.url},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet"}); err != nil {
		t.Fatal(err)
	}
	f.toy.mu.Lock()
	defer f.toy.mu.Unlock()
	if want := `heard {"roots":[{"name":"home","uri":"file:///home"}]}`; !slices.Contains(f.toy.log, want) {
		t.Errorf("happened: %q, want %s", f.toy.log, want)
	}
}

package gateway_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sallyport/internal/gateway"
	"sallyport/internal/upstream"
	"sallyport/internal/wire"
)

// serverVariable makes the test binary a server of the official SDK, of one era or both.
const serverVariable = "GATEWAY_TEST_SERVER"

func TestMain(m *testing.M) {
	if versions := os.Getenv(serverVariable); versions != "" {
		if err := realServer(strings.Split(versions, ",")).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func realServer(versions []string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "real", Version: "1"}, &mcp.ServerOptions{SupportedProtocolVersions: versions, Instructions: "Be real."})
	add := func(name string, run func(context.Context, *mcp.CallToolRequest) (string, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct {
			N int `json:"n,omitempty"`
		}) (*mcp.CallToolResult, any, error) {
			said, err := run(ctx, r)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}, nil, err
		})
	}
	add("echo", func(_ context.Context, r *mcp.CallToolRequest) (string, error) {
		return string(r.Params.Arguments), nil
	})
	add("progress", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		return "progressed", r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
	})
	add("elicit", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
		if err != nil {
			return "", err
		}
		name, _ := answer.Content["name"].(string)
		return answer.Action + " " + name, nil
	})
	add("die", func(context.Context, *mcp.CallToolRequest) (string, error) {
		os.Exit(3)
		return "", nil
	})
	add("rm", func(context.Context, *mcp.CallToolRequest) (string, error) { return "gone", nil })
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "hello"}, nil
	})
	s.AddResource(&mcp.Resource{URI: "real://x", Name: "x"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "real://x", Text: "text"}}}, nil
	})
	return s
}

// process is an upstream that is this binary as a server of the SDK.
func process(t *testing.T, name, versions string) *upstream.Server {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return upstream.New(upstream.Config{Name: name, Command: program, Env: []string{serverVariable + "=" + versions, "PATH=" + os.Getenv("PATH")},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
}

// front is a client of the SDK before a server with those upstreams.
func front(t *testing.T, version string, tell func(*mcp.ProgressNotificationParams), policy string, ups ...gateway.Upstream) *mcp.ClientSession {
	t.Helper()
	s := &gateway.Server{Door: gateWith(policy), Upstreams: ups, Version: "1", Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	toServer, clientWrites := io.Pipe()
	clientReads, toClient := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- s.ServeLines(context.Background(), toServer, toClient, wire.Options{})
		toClient.Close()
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { tell(r.Params) },
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	session, err := c.Connect(ctx, &mcp.IOTransport{Reader: clientReads, Writer: clientWrites},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		clientWrites.Close()
		if err := <-done; err != nil {
			t.Errorf("ServeLines returned %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close returned %v", err)
		}
	})
	return session
}

// The official client before official servers, each of either era, through processes, pipes and bridges.
func TestRealClientsAndServers(t *testing.T) {
	const legacy, modern = "2025-11-25", "2026-07-28"
	const policy = "version: 2\ndefault: allow\nrules:\n  - {id: rm, decision: deny, tools: [rm, a__rm, b__rm]}\n"
	for name, tt := range map[string]struct {
		client  string
		servers []string
	}{
		"legacy, legacy":  {legacy, []string{legacy}},
		"modern, modern":  {modern, []string{modern}},
		"modern, legacy":  {modern, []string{legacy}},
		"legacy, modern":  {legacy, []string{modern}},
		"legacy, both":    {legacy, []string{legacy + "," + modern}},
		"legacy, several": {legacy, []string{legacy, modern}},
		"modern, several": {modern, []string{legacy, modern}},
	} {
		t.Run(name, func(t *testing.T) {
			var ups []gateway.Upstream
			for i, versions := range tt.servers {
				ups = append(ups, process(t, string(rune('a'+i)), versions))
			}
			told := make(chan string, 10)
			session := front(t, tt.client, func(p *mcp.ProgressNotificationParams) { told <- p.ProgressToken.(string) }, policy, ups...)
			prefixes := []string{""}
			if len(ups) > 1 {
				prefixes = []string{"a__", "b__"}
			}
			var want []string
			for _, prefix := range prefixes {
				for _, tool := range []string{"die", "echo", "elicit", "progress"} {
					want = append(want, prefix+tool)
				}
			}
			list, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			if slices.Sort(names); !cmp.Equal(names, want) {
				t.Errorf("listed %q, want %q", names, want)
			}
			for i, prefix := range prefixes {
				tryTools(t, session, prefix, tt.client == legacy || strings.Contains(tt.servers[i], legacy))
				select {
				case token := <-told:
					if token != "token "+prefix {
						t.Errorf("progress of %q, want that of %q", token, prefix)
					}
				case <-time.After(10 * time.Second):
					t.Error("no progress was told")
				}
			}
			if got, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: prefixes[0] + "greet"}); err != nil || got.Description != "hello" {
				t.Errorf("GetPrompt: %+v, %v", got, err)
			}
			if got, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "real://x"}); err != nil || got.Contents[0].Text != "text" {
				t.Errorf("ReadResource: %+v, %v", got, err)
			}
			tryCrash(t, session, prefixes[0])
		})
	}
}

// tryTools calls the tools of one server.
func tryTools(t *testing.T, session *mcp.ClientSession, prefix string, elicits bool) {
	t.Helper()
	call := func(tool string, args map[string]any) string {
		t.Helper()
		params := &mcp.CallToolParams{Name: prefix + tool, Arguments: args}
		params.SetProgressToken("token " + prefix)
		got, err := session.CallTool(t.Context(), params)
		if err != nil {
			return "error: " + err.Error()
		}
		return got.Content[0].(*mcp.TextContent).Text
	}
	if got := call("echo", map[string]any{"n": 1}); got != `{"n":1}` {
		t.Errorf("echo: %s", got)
	}
	if got := call("progress", nil); got != "progressed" {
		t.Errorf("progress: %s", got)
	}
	if got := call("rm", nil); !strings.Contains(got, "denied") {
		t.Errorf("rm: %s", got)
	}
	if got := call("echo", map[string]any{"n": "x"}); !strings.Contains(got, "denied") && !strings.Contains(got, "schema") {
		t.Errorf("echo with what its schema does not have: %s", got)
	}
	if got := call("elicit", nil); elicits && got != "accept Ann" {
		t.Errorf("elicit: %s", got)
	}
}

// tryCrash lets a server die in a call, and waits for it to come back.
func tryCrash(t *testing.T, session *mcp.ClientSession, prefix string) {
	t.Helper()
	if got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: prefix + "die"}); err == nil || !strings.Contains(err.Error(), "inconclusive") {
		t.Errorf("die: %+v, %v, want that it is inconclusive", got, err)
	}
	for range 100 {
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: prefix + "echo", Arguments: map[string]any{"n": 2}})
		if err == nil {
			if text := got.Content[0].(*mcp.TextContent).Text; text != `{"n":2}` {
				t.Errorf("after the crash: %s", text)
			}
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the server did not come back")
}

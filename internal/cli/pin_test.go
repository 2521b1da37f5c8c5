package cli

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sallyport/internal/pin"
	"sallyport/internal/servers"
	"sallyport/internal/upstream"
)

// listed asks a server that is a shell script. answers are its cases: what a line has, and what is done then.
func listed(t *testing.T, capabilities, answers string) ([]pin.Definition, error) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	script := filepath.Join(t.TempDir(), "server.sh")
	text := `while read -r line; do
	id=$(printf '%s' "$line" | sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/')
	result() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
	case "$line" in
	*'"initialize"'*) hello=$line; result '{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"s","version":"1"}}' ;;
` + answers + `
	*'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no \\u001b[2J"}}\n' "$id" ;;
	esac
done
`
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := servers.Wrapped([]string{"sh", script})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return listDefinitions(ctx, config)
}

func TestListDefinitions(t *testing.T) {
	const tools = `{"tools":{}}`
	for _, c := range []struct {
		name, capabilities, answers string
		want                        []string
		err                         string
	}{
		{"pages and prompts", `{"tools":{},"prompts":{}}`, `
			*'"cursor":"b"'*) result '{"tools":[{"name":"two"}]}' ;;
			*'"tools/list"'*) result '{"tools":[{"name":"one", "n": 1.0}],"nextCursor":"b"}' ;;
			*'"prompts/list"'*) result '{"prompts":[{"name":"three"}]}' ;;`,
			[]string{`tool one {"name":"one", "n": 1.0}`, `tool two {"name":"two"}`, `prompt three {"name":"three"}`}, ""},
		{"what it says it has not is not asked for", `{}`, `*'/list"'*) result '{"tools":[{"name":"hidden"}],"prompts":[{"name":"hidden"}]}' ;;`, nil, ""},
		{"a question first", tools, `
			*'"tools/list"'*) printf '{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}\n'; held=$id ;;
			*'"error":{"code":-32601'*) id=$held; result '{"tools":[{"name":"one"}]}' ;;`,
			[]string{`tool one {"name":"one"}`}, ""},
		{"noise first", tools, `
			*'"tools/list"'*) printf '{"jsonrpc":"2.0","method":"notifications/message","params":{}}\nno json\n'; result '{"tools":[]}' ;;`, nil, ""},
		{"what only some clients see", tools, `
			*'"tools/list"'*) case "$hello" in
				*'"roots":{'*'"sampling":{'*'"elicitation":{'*) result '{"tools":[{"name":"one"}]}' ;;
				*) result '{"tools":[]}' ;;
				esac ;;`,
			[]string{`tool one {"name":"one"}`}, ""},
		{"no end", tools, `*'"tools/list"'*) result '{"tools":[],"nextCursor":"again"}' ;;`, nil, "tools/list: it has more than 100 pages"},
		{"an error", tools, ``, nil, `tools/list: it answers with an error: no \u{001B}[2J`},
		{"no list", tools, `*'"tools/list"'*) result '{"tool":[]}' ;;`, nil, "tools/list: the answer has no list"},
		{"no name", tools, `*'"tools/list"'*) result '{"tools":[{"Name":"x"}]}' ;;`, nil, "tools/list: a definition has no name"},
		{"two readings", tools, `*'"tools/list"'*) result '{"tools":[{"name":"x","description":"a","description":"b"}]}' ;;`, nil, `a definition cannot be read: duplicate key "description"`},
		{"an end instead", tools, `*'"tools/list"'*) exit 3 ;;`, nil, "tools/list: sent, and no answer came"},
	} {
		t.Run(c.name, func(t *testing.T) {
			definitions, err := listed(t, c.capabilities, c.answers)
			var got []string
			for _, d := range definitions {
				got = append(got, string(d.Kind)+" "+d.Name+" "+string(d.Text))
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("got %v, want %q", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestListDefinitionsOverHTTP asks the official SDK's server, in both eras.
func TestListDefinitionsOverHTTP(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "one", Description: "says", InputSchema: map[string]any{"type": "object"}}, nil)
	server.AddPrompt(&mcp.Prompt{Name: "two"}, nil)
	for _, stateless := range []bool{true, false} {
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless})
		var authorized atomic.Bool
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			authorized.Store(r.Header.Get("Authorization") == "Bearer x")
			handler.ServeHTTP(w, r)
		}))
		defer front.Close()
		definitions, err := listDefinitions(t.Context(), upstream.Config{Name: "s", URL: front.URL, Header: http.Header{"Authorization": {"Bearer x"}}})
		if err != nil {
			t.Errorf("stateless %t: %v", stateless, err)
			continue
		}
		var got []string
		for _, d := range definitions {
			got = append(got, string(d.Kind)+" "+d.Name)
		}
		if diff := cmp.Diff([]string{"tool one", "prompt two"}, got); diff != "" || !authorized.Load() {
			t.Errorf("stateless %t: authorized %t, -want +got:\n%s", stateless, authorized.Load(), diff)
		}
	}
}

func TestParseLifetime(t *testing.T) {
	now := time.Date(2026, 12, 31, 10, 0, 0, 5, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "1d": time.Date(2027, 1, 1, 10, 0, 0, 0, time.UTC), "90m": time.Date(2026, 12, 31, 11, 30, 0, 0, time.UTC),
	} {
		if got, err := parseLifetime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"d", "-1d", "0d", "0s", "1", "1.5d", "3651d", "99999999999999999999d", "1y", " 1d", "100000h"} {
		if got, err := parseLifetime(text, now); err == nil {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

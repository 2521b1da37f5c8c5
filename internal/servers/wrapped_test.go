package servers

import (
	"strings"
	"testing"
)

func TestNameOf(t *testing.T) {
	for command, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-filesystem /tmp":  "server-filesystem",
		"npx -y @modelcontextprotocol/server-memory@2026.8.31": "server-memory",
		"/usr/local/bin/github-mcp-server stdio":               "github-mcp-server",
		"uvx mcp-server-git --repository /x":                   "mcp-server-git",
		"uv run server.py":                                     "server",
		"uv --directory=/x run weather.py":                     "weather",
		"node dist/my__server.js":                              "my_server",
		"./my_server_":                                         "my_server",
		"python3 -m my.module":                                 "my.module",
		"env A=1 ./thing":                                      "thing",
		"./größe":                                              "gr--e",
		`C:\tools\srv.exe`:                                     "srv",
		"npx":                                                  "npx",
		"":                                                     "server",
		"/":                                                    "server",
		strings.Repeat("x", 100):                               strings.Repeat("x", 64),
	} {
		if got := NameOf(strings.Fields(command)); got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}

func TestWrapped(t *testing.T) {
	for _, command := range [][]string{nil, {""}, {"sallyport", "serve"}, {"npx", "-y", "sallyport"}} {
		if config, err := Wrapped(command); err == nil {
			t.Errorf("%q: %+v", command, config)
		}
	}
	t.Setenv(nestedVariable, "2")
	if _, err := Wrapped([]string{"npx", "x"}); err == nil {
		t.Error("a loop has no end")
	}
}

// FuzzNameOf holds that a name is always one that a file could have.
func FuzzNameOf(f *testing.F) {
	f.Add("npx", "@a/b@1")
	f.Fuzz(func(t *testing.T, a, b string) {
		if name := NameOf([]string{a, b}); CheckName(name) != nil {
			t.Errorf("%q: %v", name, CheckName(name))
		}
	})
}

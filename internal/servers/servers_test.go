package servers

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/upstream"
)

func lookup(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { value, ok := vars[name]; return value, ok }
}

// bare is a configuration without what Environment adds.
func bare(c upstream.Config) upstream.Config {
	c.Env = slices.DeleteFunc(slices.Clone(c.Env), func(s string) bool {
		key, _, _ := strings.Cut(s, "=")
		return slices.Contains(inherited(), key) || key == nestedVariable
	})
	if len(c.Env) == 0 {
		c.Env = nil
	}
	return c
}

// TestFilesOfClients reads files as the clients' own pages show them.
func TestFilesOfClients(t *testing.T) {
	const header = "Authorization"
	for _, c := range []struct {
		name, text string
		want       []upstream.Config
		notes      []string
	}{
		{
			"Claude Desktop", `{"mcpServers":{"filesystem":{"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/Users/me/Desktop"]}}}`,
			[]upstream.Config{{Name: "filesystem", Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"}}}, nil,
		},
		{
			"Claude Code", `{"mcpServers":{"api":{"type":"http","url":"${API_BASE:-https://api.example.com}/mcp","headers":{"Authorization":"Bearer ${API_KEY}"}},
				"db":{"type":"stdio","command":"${HOME}/db","args":["--dsn","${DSN:-}"],"env":{"CACHE_DIR":"/tmp","KEY":"${API_KEY}"}}}}`,
			[]upstream.Config{
				{Name: "api", URL: "https://api.example.com/mcp", Header: http.Header{header: {"Bearer k-123"}}},
				{Name: "db", Command: "/home/me/db", Args: []string{"--dsn", ""}, Env: []string{"CACHE_DIR=/tmp", "KEY=k-123"}},
			}, nil,
		},
		{
			"VS Code", `{"inputs":[],"servers":{"github":{"type":"http","url":"https://api.githubcopilot.com/mcp/"},"play":{"command":"npx","args":["-y","play"],"env":{"K":"${env:API_KEY}"},"envFile":".env"}}}`,
			[]upstream.Config{{Name: "github", URL: "https://api.githubcopilot.com/mcp/", Header: http.Header{}}, {Name: "play", Command: "npx", Args: []string{"-y", "play"}, Env: []string{"K=k-123"}}},
			[]string{`"inputs" is another program's key and is passed over`, `server play: "envFile" is another program's key and is passed over`},
		},
		{
			"Gemini, Windsurf, Cline", `{"mcpServers":{"g":{"httpUrl":"http://localhost:3000/mcp","timeout":5000,"trust":true},"w":{"serverUrl":"https://x.example/mcp"},
				"c":{"command":"node","args":["s.js"],"disabled":true,"autoApprove":["rm"]},"d":{"type":"streamableHttp","url":"https://y.example"}}}`,
			[]upstream.Config{
				{Name: "g", URL: "http://localhost:3000/mcp", Header: http.Header{}}, {Name: "w", URL: "https://x.example/mcp", Header: http.Header{}},
				{Name: "d", URL: "https://y.example", Header: http.Header{}},
			},
			[]string{`server g: "timeout" is another program's key and is passed over`, `server g: "trust" is another program's key and is passed over`,
				`server c: "autoApprove" is another program's key and is passed over`, "server c is switched off"},
		},
		{
			"a relative folder", `{"mcpServers":{"a":{"command":"./s","cwd":"sub"},"b":{"command":"s","cwd":"/abs"}}}`,
			[]upstream.Config{{Name: "a", Command: "./s", Dir: "/work/app/sub"}, {Name: "b", Command: "s", Dir: "/abs"}}, nil,
		},
		{
			"headers in the clear", `{"mcpServers":{"a":{"url":"http://x.example/","headers":{"x-key":"1"}},"b":{"url":"http://127.0.0.1/","headers":{"x-key":"1"}}}}`,
			[]upstream.Config{{Name: "a", URL: "http://x.example/", Header: http.Header{"X-Key": {"1"}}}, {Name: "b", URL: "http://127.0.0.1/", Header: http.Header{"X-Key": {"1"}}}},
			[]string{"server a: its headers go over the network unencrypted"},
		},
		{
			"text that is no variable", `{"mcpServers":{"a":{"command":"s","args":["$HOME","${unclosed","$","{x}","${INNER}"]}}}`,
			[]upstream.Config{{Name: "a", Command: "s", Args: []string{"$HOME", "${unclosed", "$", "{x}", "${API_KEY}"}}}, nil,
		},
		{
			"a folder called sallyport", `{"mcpServers":{"a":{"command":"npx","args":["-y","server-filesystem","/home/me/sallyport"]}}}`,
			[]upstream.Config{{Name: "a", Command: "npx", Args: []string{"-y", "server-filesystem", "/home/me/sallyport"}}}, nil,
		},
	} {
		f, err := Parse("/work/app/.mcp.json", []byte(c.text), lookup(map[string]string{"HOME": "/home/me", "API_KEY": "k-123", "INNER": "${API_KEY}", "EMPTY": ""}))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []upstream.Config
		for _, config := range f.Servers {
			got = append(got, bare(config))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.notes, f.Notes); diff != "" {
			t.Errorf("%s: notes -want +got:\n%s", c.name, diff)
		}
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	one := func(entry string) string { return `{"mcpServers":{"a":` + entry + `}}` }
	for _, c := range []struct{ text, want string }{
		{`{`, ".mcp.json:1:2: unexpected end"},
		{"{\n  // comment\n}", ".mcp.json:2:3: unexpected"},
		{`[]`, "it must be an object"},
		{`{}`, ".mcp.json:1:1: it has no mcpServers"},
		{`{"mcpservers":{}}`, "it has no mcpServers"},
		{`{"mcpServers":[]}`, "mcpServers must be an object of servers"},
		{`{"mcpServers":{}}`, "it names no server that is switched on"},
		{one(`{"command":"x","disabled":true}`), "it names no server that is switched on"},
		{`{"mcpServers":{},"servers":{}}`, "both mcpServers and servers"},
		{`{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}`, `duplicate key "a"`},
		{one(`{"command":"x","command":"y"}`), `duplicate key "command"`},
		{`{"mcpServers":{"a__b":{"command":"x"}}}`, `"a__b": a server's name has no __`},
		{`{"mcpServers":{"a":{"command":"x"},"a_":{"command":"x"}}}`, `"a_": a server's name does not end with _`},
		{`{"mcpServers":{"":{"command":"x"}}}`, "a server's name has 1 to 64"},
		{`{"mcpServers":{"a b":{"command":"x"}}}`, "a server's name has 1 to 64"},
		{`{"mcpServers":{"../x":{"command":"x"}}}`, "a server's name has 1 to 64"},
		{`{"mcpServers":{"` + strings.Repeat("a", 65) + `":{"command":"x"}}}`, "a server's name has 1 to 64"},
		{`{"mcpServers":{"\u001b[2J":{"command":"x"}}}`, `"\x1b[2J": a server's name`},
		{one(`"npx x"`), "server a must be an object"},
		{one(`{}`), "server a has no command"},
		{one(`{"Command":"x"}`), "server a has no command"},
		{one(`{"command":""}`), "server a has no command"},
		{one(`{"command":["x"]}`), "server a: command must be a string"},
		{one(`{"command":"x","args":"y"}`), "server a: args must be a list of strings"},
		{one(`{"command":"x","args":[1]}`), "server a: each of args must be a string"},
		{one(`{"command":"x","args":["a\u0000b"]}`), "server a: a NUL character in its command"},
		{one(`{"command":"x","env":{"A":1}}`), "server a: each of env must be a string"},
		{one(`{"command":"x","env":{"A=B":"1"}}`), `"A=B" cannot be in an environment`},
		{one(`{"command":"x","disabled":"true"}`), "disabled must be true or false"},
		{one(`{"command":"x","url":"http://x/"}`), "server a has both a command and an address"},
		{one(`{"url":"http://x/","httpUrl":"http://y/"}`), "server a has two addresses"},
		{one(`{"type":"http","command":"x"}`), "server a has no address"},
		{one(`{"type":"stdio","url":"http://x/"}`), "server a has no command"},
		{one(`{"type":"sse","url":"http://x/sse"}`), "the SSE transport of 2024-11-05 is not supported"},
		{one(`{"type":"ws","url":"ws://x/"}`), `server a: unknown type "ws"`},
		{one(`{"url":"file:///etc/passwd"}`), "its address is no http address"},
		{one(`{"url":"x.example/mcp"}`), "its address is no http address"},
		{one(`{"url":"https://me:pw@x.example/"}`), "a name or a password within its address"},
		{one(`{"url":"https://x/","headers":{"A\r\nB":"1"}}`), "cannot be sent as it is"},
		{one(`{"url":"https://x/","headers":{"A":"1\r\nB: 2"}}`), "cannot be sent as it is"},
		{one(`{"url":"https://x/","headers":{"host":"y"}}`), "the header Host is for sallyport to set"},
		{one(`{"url":"https://x/","headers":{"mcp-session-id":"y"}}`), "the header Mcp-Session-Id is for sallyport to set"},
		{one(`{"url":"https://x/","headers":{"a":"1","A":"2"}}`), "the header A is there twice"},
		{one(`{"command":"x","args":["${MISSING}"]}`), "server a: the variable MISSING is not set"},
		{one(`{"command":"x","args":["${input:token}"]}`), "server a: ${input:token} names no variable"},
		{one(`{"command":"x","args":["${workspaceFolder}"]}`), "server a: the variable workspaceFolder is not set"},
		{one(`{"command":"x","args":["${}"]}`), "names no variable"},

		// our own secrets are for no server
		{one(`{"command":"x","env":{"T":"${SALLYPORT_OPERATOR_TOKEN}"}}`), "${SALLYPORT_OPERATOR_TOKEN} is for sallyport itself"},
		{one(`{"command":"x","args":["${env:SALLYPORT_OPERATOR_TOKEN:-x}"]}`), "is for sallyport itself"},
		{one(`{"url":"https://x/${sallyport_operator_token}"}`), "is for sallyport itself"},
		{one(`{"command":"x","env":{"SALLYPORT_NESTED":"0"}}`), "SALLYPORT_NESTED is for sallyport itself"},

		// a loop
		{one(`{"command":"sallyport","args":["serve","--servers",".mcp.json"]}`), "server a runs sallyport itself"},
		{one(`{"command":"/usr/local/bin/sallyport","args":["wrap","--","x"]}`), "server a runs sallyport itself"},
		{one(`{"command":"sallyport.exe"}`), "server a runs sallyport itself"},
		{one(`{"command":"env","args":["-i","A=1","/bin/sallyport","serve"]}`), "server a runs sallyport itself"},
		{one(`{"command":"npx","args":["-y","sallyport"]}`), "server a runs sallyport itself"},
	} {
		_, err := Parse(".mcp.json", []byte(c.text), lookup(map[string]string{"SALLYPORT_OPERATOR_TOKEN": "s3cret"}))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	for _, key := range inherited() {
		t.Setenv(key, "ours-"+key)
	}
	for key, value := range map[string]string{
		"SALLYPORT_OPERATOR_TOKEN": "s3cret", "POLICY_PATH": "/p", "LEDGER_DIR": "/l", "CRASH_MARKER": "/c", "AWS_SECRET_ACCESS_KEY": "s3cret", "GITHUB_TOKEN": "s3cret",
		"SSH_AUTH_SOCK": "/s", "CLAUDE_SESSION_ID": "x", "HTTPS_PROXY": "http://me:pw@proxy", "NODE_OPTIONS": "--require /evil", "LD_PRELOAD": "/evil", "TERM": "() { evil; }",
	} {
		t.Setenv(key, value)
	}
	got := Environment(map[string]string{"API_KEY": "k", "LANG": "theirs", "SALLYPORT_OPERATOR_TOKEN": "x", "sallyport_nested": "0"})
	want := []string{"API_KEY=k", "LANG=theirs", nestedVariable + "=1"}
	for _, key := range inherited() {
		if key != "LANG" && key != "TERM" {
			want = append(want, key+"=ours-"+key)
		}
	}
	slices.SortFunc(want, func(a, b string) int {
		keyA, _, _ := strings.Cut(a, "=")
		keyB, _, _ := strings.Cut(b, "=")
		return strings.Compare(keyA, keyB)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestInheritedKeepsOurSecrets(t *testing.T) {
	for key, value := range map[string]string{"SALLYPORT_OPERATOR_TOKEN": "s3cret", "POLICY_PATH": "/p", "LEDGER_DIR": "/l", "CRASH_MARKER": "/c", "API_KEY": "theirs=1", nestedVariable: "1"} {
		t.Setenv(key, value)
	}
	got := map[string]string{}
	for _, entry := range Inherited() {
		key, value, _ := strings.Cut(entry, "=")
		got[key] = value
	}
	for key, want := range map[string]string{"SALLYPORT_OPERATOR_TOKEN": "", "POLICY_PATH": "", "LEDGER_DIR": "", "CRASH_MARKER": "", "API_KEY": "theirs=1", nestedVariable: "2"} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
}

// TestLoopEnds: what a file hides, such as a shell script that runs us, ends at the third of us.
func TestLoopEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers":{"a":{"command":"./hidden.sh"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		f, err := Load(path)
		if i == maxNested {
			if err == nil || !strings.Contains(err.Error(), "runs itself as its own server") {
				t.Errorf("the one behind %d others: %v", i, err)
			}
			return
		}
		if err != nil {
			t.Fatalf("the one behind %d others: %v", i, err)
		}
		for _, entry := range f.Servers[0].Env {
			if value, ok := strings.CutPrefix(entry, nestedVariable+"="); ok {
				t.Setenv(nestedVariable, value)
			}
		}
	}
	t.Error("it has no end")
}

func TestRead(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "nowhere.json")); err == nil || !strings.HasPrefix(err.Error(), "reading the servers: open ") {
		t.Errorf("got %v", err)
	}
}

// FuzzParse holds that what is read can be started: names, addresses and environments are sound.
func FuzzParse(f *testing.F) {
	f.Add(`{"mcpServers":{"a":{"command":"npx","args":["-y","${X:-y}"],"env":{"A":"${HOME}"}},"b":{"url":"https://x/","headers":{"A":"1"}}}}`)
	f.Add(`{"servers":{"a":{"type":"sse"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse(".mcp.json", []byte(text), lookup(map[string]string{"HOME": "/home/me"}))
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		for _, s := range file.Servers {
			if CheckName(s.Name) != nil || (s.Command == "") == (s.URL == "") {
				t.Errorf("%+v", s)
			}
			for _, entry := range s.Env {
				if strings.ContainsRune(entry, 0) || !strings.Contains(entry, "=") {
					t.Errorf("%q in an environment", entry)
				}
			}
		}
	})
}

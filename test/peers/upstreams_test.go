//go:build unix && peers

package peers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// upstream is a server from npm, and a few calls of it whose answers do not depend on when they are made.
type upstream struct {
	name    string
	command func(t *testing.T) []string
	calls   []object
}

// upstreams are the servers that the protocol's own project publishes for everybody to try.
var upstreams = []upstream{
	{
		name: "filesystem",
		command: func(t *testing.T) []string {
			dir := realDir(t)
			if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a\u2028text"), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("FILES", dir)
			return []string{node(t), "node_modules/.bin/mcp-server-filesystem", dir}
		},
		calls: []object{
			{"name": "read_text_file", "arguments": object{"path": "$FILES/a.txt"}},
			{"name": "write_file", "arguments": object{"path": "$FILES/b.txt", "content": "b"}},
			{"name": "list_directory", "arguments": object{"path": "$FILES"}},
			{"name": "read_text_file", "arguments": object{"path": "/etc/hostname"}}, // the server's own refusal
		},
	},
	{
		name: "memory",
		command: func(t *testing.T) []string {
			t.Setenv("MEMORY_FILE_PATH", filepath.Join(t.TempDir(), "memory.jsonl"))
			return []string{node(t), "node_modules/.bin/mcp-server-memory"}
		},
		calls: []object{
			{"name": "create_entities", "arguments": object{"entities": []object{{"name": "gate", "entityType": "thing", "observations": []string{"stands"}}}}},
			{"name": "read_graph", "arguments": object{}},
		},
	},
	{
		name:    "everything",
		command: func(t *testing.T) []string { return []string{node(t), "node_modules/.bin/mcp-server-everything"} },
		calls: []object{
			{"name": "echo", "arguments": object{"message": "hello"}},
			{"name": "get-sum", "arguments": object{"a": 2, "b": 3}},
			{"name": "get-tiny-image", "arguments": object{}},
		},
	},
}

// realDir is a fresh folder under the name that a server which resolves links knows it by.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// wrapped is a server behind the gate, under a policy that allows everything.
func wrapped(t *testing.T, command []string) (line []string, ledger string) {
	t.Helper()
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte("version: 2\ndefault: allow\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ledger = filepath.Join(dir, "ledger")
	return slices.Concat([]string{sallyport, "wrap", "--policy", policy, "--ledger", ledger, "--"}, command), ledger
}

// resolved are the calls with the variables in their arguments replaced.
func resolved(t *testing.T, calls []object) []byte {
	t.Helper()
	text, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.ReplaceAll(string(text), "$FILES", os.Getenv("FILES")))
}

// seen is what a client got from a server, as it came.
type seen struct {
	Tools   []any `json:"tools"`
	Answers []any `json:"answers"`
}

// clients are those that list and call a server.
var clients = map[string]func(t *testing.T, command []string, calls []byte) seen{
	"go-sdk":        askWithGo,
	"typescript-v1": func(t *testing.T, command []string, calls []byte) seen { return askWithNode(t, "v1", command, calls) },
	"typescript-v2": func(t *testing.T, command []string, calls []byte) seen { return askWithNode(t, "v2", command, calls) },
}

func askWithNode(t *testing.T, sdk string, command []string, calls []byte) seen {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ask := exec.CommandContext(ctx, node(t), slices.Concat([]string{"upstream.mjs", sdk, string(calls)}, command)...)
	var stderr bytes.Buffer
	ask.Stderr = &stderr
	out, err := ask.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", sdk, err, &stderr)
	}
	var got seen
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%s: %v\n%s", sdk, err, out)
	}
	return got
}

func askWithGo(t *testing.T, command []string, calls []byte) seen {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "upstream", Version: "1"}, nil)
	// The servers speak the older era: to a client of the newer one the gate translates, and the two would not be the same.
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)},
		&mcp.ClientSessionOptions{ProtocolVersion: legacy})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var got seen
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		got.Tools = append(got.Tools, asJSON(t, tool))
	}
	var wanted []mcp.CallToolParams
	if err := json.Unmarshal(calls, &wanted); err != nil {
		t.Fatal(err)
	}
	for i := range wanted {
		result, err := session.CallTool(ctx, &wanted[i])
		if err != nil {
			got.Answers = append(got.Answers, err.Error())
			continue
		}
		got.Answers = append(got.Answers, asJSON(t, result))
	}
	return got
}

// asJSON is a value as its JSON has it.
func asJSON(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRealServersAreTheSameBehindTheGate(t *testing.T) {
	for _, u := range upstreams {
		for name, ask := range clients {
			t.Run(u.name+"/"+name, func(t *testing.T) {
				command := u.command(t)
				calls := resolved(t, u.calls)
				direct := ask(t, command, calls)
				if len(direct.Tools) == 0 || len(direct.Answers) != len(u.calls) {
					t.Fatalf("directly there are %d tools and %d answers", len(direct.Tools), len(direct.Answers))
				}
				command = u.command(t) // one that has not been asked before
				calls = resolved(t, u.calls)
				line, ledger := wrapped(t, command)
				behind := ask(t, line, calls)
				if diff := cmp.Diff(direct.Tools, behind.Tools); diff != "" {
					t.Errorf("tools (-direct +behind the gate)\n%s", diff)
				}
				if diff := cmp.Diff(stripPlaces(direct.Answers), stripPlaces(behind.Answers)); diff != "" {
					t.Errorf("answers (-direct +behind the gate)\n%s", diff)
				}
				if got := (place{ledger: ledger}).outcomes(t); len(got) < len(u.calls) {
					t.Errorf("%d records for %d calls: %v", len(got), len(u.calls), got)
				}
			})
		}
	}
}

// stripPlaces takes the names of the test's own folders out of answers.
func stripPlaces(answers []any) string {
	text, _ := json.Marshal(answers)
	var out strings.Builder
	for word := range strings.FieldsSeq(string(text)) {
		if i := strings.Index(word, os.TempDir()); i >= 0 {
			word = word[:i] + "PLACE"
		}
		out.WriteString(word + " ")
	}
	return out.String()
}

func TestInspectorSeesARealServerBehindTheGate(t *testing.T) {
	inBothEras(t, func(t *testing.T, version string) {
		command := upstreams[2].command(t)
		line, _ := wrapped(t, command)
		for _, args := range [][]string{
			{"--method", "tools/list"},
			{"--method", "tools/call", "--tool-name", "echo", "--tool-args-json", `{"message":"hello"}`},
			{"--method", "resources/list"},
			{"--method", "prompts/list"},
		} {
			code, behind, stderr := inspect(t, inspectorConfig(t, line, version), args...)
			if code != 0 {
				t.Fatalf("%v: exit code %d\n%s", args, code, stderr)
			}
			if version == modern {
				continue // the server itself speaks the older era only, so there is nothing to compare with
			}
			code, direct, stderr := inspect(t, inspectorConfig(t, command, version), args...)
			if code != 0 {
				t.Fatalf("%v directly: exit code %d\n%s", args, code, stderr)
			}
			if diff := cmp.Diff(decoded(t, direct), decoded(t, behind)); diff != "" {
				t.Errorf("%v (-direct +behind the gate)\n%s", args, diff)
			}
		}
	})
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return v
}

// A write outside of the folder that the policy names is refused although the server itself would do it.
func TestWriteOutsideThePolicysFolderNeverReachesTheServer(t *testing.T) {
	dir := realDir(t)
	inside, outside := filepath.Join(dir, "inside"), filepath.Join(dir, "outside")
	for _, folder := range []string{inside, outside} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	text := fmt.Sprintf("version: 2\ndefault: deny\nrules:\n  - id: read\n    decision: allow\n    tools: [\"read_*\", \"list_*\"]\n"+
		"  - id: write\n    decision: allow\n    tools: [write_file, create_directory]\n    args: {path: {under: [%q], required: true}}\n", inside)
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ledger := filepath.Join(t.TempDir(), "ledger")
	line := []string{sallyport, "wrap", "--policy", policy, "--ledger", ledger, "--", node(t), "node_modules/.bin/mcp-server-filesystem", dir}
	if err := os.Symlink(outside, filepath.Join(inside, "link")); err != nil {
		t.Fatal(err)
	}
	var calls []object
	for _, path := range []string{
		filepath.Join(inside, "yes.txt"),
		filepath.Join(outside, "no.txt"),
		inside + "/../outside/dots.txt",
		filepath.Join(inside, "link", "linked.txt"),
	} {
		calls = append(calls, object{"name": "write_file", "arguments": object{"path": path, "content": "x"}})
	}
	calls = append(calls, object{"name": "move_file", "arguments": object{"source": filepath.Join(inside, "yes.txt"), "destination": filepath.Join(outside, "moved.txt")}})
	body, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	got := askWithGo(t, line, body)
	for _, tool := range got.Tools {
		switch name := tool.(map[string]any)["name"]; name {
		case "move_file", "edit_file":
			t.Errorf("%v is listed, and no call of it could be allowed", name)
		}
	}
	if text, err := os.ReadFile(filepath.Join(inside, "yes.txt")); err != nil || string(text) != "x" {
		t.Errorf("the allowed write: %q, %v", text, err)
	}
	left, err := os.ReadDir(outside)
	if err != nil || len(left) != 0 {
		t.Errorf("outside there is %v, %v", left, err)
	}
	// Four calls, and the server's own wish to see the client's roots, which no rule allows.
	outcomes := (place{ledger: ledger}).outcomes(t)
	slices.Sort(outcomes)
	want := []string{"allow forwarded", "deny not_executed", "deny not_executed", "deny not_executed", "deny not_executed", "deny not_executed"}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("the ledger (-want +got)\n%s", diff)
	}
}

// Whatever kills the gate, no upstream outlives it: not the npx, and not the node that it started.
func TestNoUpstreamOutlivesTheGate(t *testing.T) {
	for name, end := range map[string]func(gate *exec.Cmd){
		"end of input": func(*exec.Cmd) {},
		"SIGTERM":      func(gate *exec.Cmd) { gate.Process.Signal(syscall.SIGTERM) },
		"kill -9":      func(gate *exec.Cmd) { gate.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			// A shell that starts a node that hears nothing: neither the end of its input nor SIGTERM.
			stubborn := `process.on("SIGTERM",()=>{}); process.on("SIGHUP",()=>{}); setInterval(()=>{},1000)`
			line, _ := wrapped(t, []string{"/bin/sh", "-c", `"$0" -e "$1" & "$0" node_modules/.bin/mcp-server-everything; wait`, node(t), stubborn})
			gate := exec.Command(line[0], line[1:]...)
			stdin, err := gate.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := gate.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := gate.Start(); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
			if _, err := stdout.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			below := descendants(t, gate.Process.Pid)
			if len(below) < 3 {
				t.Fatalf("only %v below the gate: the test tests nothing", below)
			}
			end(gate)
			stdin.Close()
			gate.Wait()
			deadline := time.Now().Add(20 * time.Second)
			for _, pid := range below {
				for alive(pid) {
					if time.Now().After(deadline) {
						t.Fatalf("process %d is still there", pid)
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
}

// descendants are all processes below one.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		t.Fatal(err)
	}
	children := map[int][]int{}
	for line := range strings.Lines(string(out)) {
		var child, parent int
		if _, err := fmt.Sscan(line, &child, &parent); err == nil {
			children[parent] = append(children[parent], child)
		}
	}
	var all []int
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		all = append(all, children[queue[0]]...)
		queue = append(queue, children[queue[0]]...)
	}
	return all
}

// alive reports whether a process is there and no mere entry for its parent to read.
func alive(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// A server gets what its entry names and what programs need to start, and none of our own settings.
func TestUpstreamGetsOnlyItsOwnEnvironment(t *testing.T) {
	dir := realDir(t)
	servers := filepath.Join(dir, "servers.json")
	text, err := json.Marshal(object{"mcpServers": object{"everything": object{
		"command": node(t), "args": []string{"node_modules/.bin/mcp-server-everything"}, "env": object{"MINE": "yes"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(servers, text, 0o600); err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte("version: 2\ndefault: allow\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"SALLYPORT_OPERATOR_TOKEN", "AWS_SECRET_ACCESS_KEY", "POLICY_PATH"} {
		t.Setenv(secret, policy)
	}
	line := []string{sallyport, "serve", "--servers", servers, "--policy", policy, "--ledger", filepath.Join(dir, "ledger")}
	got := askWithGo(t, line, []byte(`[{"name":"get-env","arguments":{}}]`))
	answer, _ := json.Marshal(got.Answers)
	if !bytes.Contains(answer, []byte(`\"MINE\": \"yes\"`)) {
		t.Errorf("its own variable is missing in %s", answer)
	}
	for _, secret := range []string{"SALLYPORT_OPERATOR_TOKEN", "AWS_SECRET_ACCESS_KEY", "POLICY_PATH"} {
		if bytes.Contains(answer, []byte(secret)) {
			t.Errorf("%s reached the server", secret)
		}
	}
}

//go:build unix && peers

package peers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inspect runs the command line of the MCP Inspector, and returns its exit code and its output.
func inspect(t *testing.T, config string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	args = slices.Concat([]string{
		"node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
		"--cli", "--config", config, "--server", "sallyport", "--format", "json",
	}, args)
	command := exec.CommandContext(ctx, node(t), args...)
	// Else it looks for a keychain. It also keeps files in the home folder.
	command.Env = append(os.Environ(), "MCP_INSPECTOR_SECRET_STORE=memory", "HOME="+t.TempDir())
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	if command.ProcessState == nil || !command.ProcessState.Exited() {
		t.Fatalf("the Inspector: %v\n%s", err, &errs)
	}
	return command.ProcessState.ExitCode(), out.String(), errs.String()
}

// inspectorConfig makes a file that tells the Inspector of a server and of the era to speak with it.
func inspectorConfig(t *testing.T, server []string, version string) string {
	t.Helper()
	era := map[string]string{modern: "modern", legacy: "legacy"}[version]
	text, err := json.Marshal(object{"mcpServers": object{"sallyport": object{
		"type": "stdio", "command": server[0], "args": server[1:], "protocolEra": era,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "inspector.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestInspectorListsPortableTools(t *testing.T) {
	inBothEras(t, func(t *testing.T, version string) {
		p := newPlace(t)
		folder, server := record(t, p.serve())
		code, stdout, stderr := inspect(t, inspectorConfig(t, server, version), "--method", "tools/list", "--strict")
		var list struct{ Result struct{ Tools []tool } }
		if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != 0 {
			t.Fatalf("exit code %d, want 0; %v\n%s%s", code, err, stdout, stderr)
		}
		checkList(t, list.Result.Tools)
		for line := range strings.Lines(stderr) {
			if !strings.HasPrefix(line, "[mcp-inspector] ") { // its words on how it keeps secrets
				t.Errorf("the Inspector finds fault with the schemas: %s", line)
			}
		}
		checkEra(t, folder, version)
	})
}

// The Inspector looks a tool up in the list before it calls it, so that only the steps on tools that it can see reach
// the server. Of the others one will do.
func TestInspectorCalls(t *testing.T) {
	const (
		done     = 0
		refused  = 1 // by the server, with a JSON-RPC error
		notDone  = 5 // by the tool itself, or there is none
		notThere = `"code":"tool_not_found"`
	)
	inBothEras(t, func(t *testing.T, version string) {
		p := newPlace(t)
		folder, server := record(t, p.serve())
		config := inspectorConfig(t, server, version)
		var reached []step
		for _, s := range conversation {
			hidden := s.want.Code != 0 && s.want.Rule == ""
			if hidden && s.tool != "rm_rf" {
				continue
			}
			if !hidden {
				reached = append(reached, s)
			}
			args, err := json.Marshal(s.args)
			if err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := inspect(t, config,
				"--method", "tools/call", "--tool-name", s.tool, "--tool-args-json", string(args))
			wantCode, wantError := done, ""
			switch {
			case hidden:
				wantCode, wantError = notDone, notThere
			case s.want.Code != 0:
				wantCode, wantError = refused, s.want.Message
			case s.want.Failed:
				wantCode = notDone
			}
			if code != wantCode || !strings.Contains(stderr, wantError) {
				t.Errorf("%s: exit code %d and %q, want %d and %q", s.tool, code, stderr, wantCode, wantError)
			}
			if s.want.Code != 0 {
				continue
			}
			var seen sighting
			if err := json.Unmarshal([]byte(stdout), &seen); err != nil {
				t.Fatalf("%s: %v\n%s", s.tool, err, stdout)
			}
			s.check(t, seen.answer(t))
		}
		checkEra(t, folder, version)
		checkRecords(t, p, reached)
	})
}

func TestInspectorCallsAtOnce(t *testing.T) {
	inBothEras(t, func(t *testing.T, version string) {
		p := newPlace(t)
		config := inspectorConfig(t, p.serve(), version)
		code, stdout, stderr := inspect(t, config, "--method", "tools/call", "--tool-name", "read_ledger",
			"--load", "--load-requests", "200", "--load-concurrency", "50")
		var load struct {
			Result struct{ Requests, OK, ToolErrors, Errors int }
		}
		if err := json.Unmarshal([]byte(stdout), &load); err != nil || code != 0 {
			t.Fatalf("exit code %d, want 0; %v\n%s%s", code, err, stdout, stderr)
		}
		if got := load.Result; got.Requests != 200 || got.OK != 200 {
			t.Errorf("%+v, want 200 requests and all of them OK", got)
		}
		if got := len(p.outcomes(t)); got != 200 {
			t.Errorf("%d records, want 200", got)
		}
	})
}

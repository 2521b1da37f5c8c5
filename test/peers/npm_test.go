//go:build unix && peers

package peers_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// node returns the Node that runs the clients, which comes from npm with them.
func node(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("node_modules/.bin/node")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the clients from npm are not installed: run test/peers/install (%v)", err)
	}
	return path
}

// sighting is a line of what a client prints.
type sighting struct {
	Saw     string
	Tools   []tool
	Result  *result
	Error   *fault
	Message string
}

type result struct {
	StructuredContent object
	IsError           bool
	Content           []struct{ Type, Text string }
}

type fault struct {
	Code    int
	Message string
	Data    object
}

// answer returns what the sighting shows of the answer to a call.
func (s sighting) answer(t *testing.T) answer {
	t.Helper()
	switch {
	case s.Error != nil:
		// Version 1 of the TypeScript SDK puts words of its own before the server's.
		_, message, ok := strings.Cut(s.Error.Message, "MCP error -32602: ")
		if !ok {
			message = s.Error.Message
		}
		return answer{Code: s.Error.Code, Message: message, Rule: rule(t, s.Error.Data)}
	case s.Result != nil:
		seen := answer{Structured: s.Result.StructuredContent, Failed: s.Result.IsError}
		if len(s.Result.Content) > 0 && s.Result.Content[0].Type == "text" {
			seen.Text = s.Result.Content[0].Text
		}
		return seen
	}
	t.Errorf("saw %q, want an answer", s.Saw)
	return answer{}
}

// client is one of the programs beside this file, while it runs.
type client struct {
	command *exec.Cmd
	lines   *bufio.Scanner
}

// start runs a client, that is to make the calls of the conversation, on a server.
func start(t *testing.T, program, server []string) *client {
	t.Helper()
	type call struct {
		Name      string `json:"name"`
		Arguments object `json:"arguments"`
	}
	var calls []call
	for _, s := range conversation {
		calls = append(calls, call{s.tool, s.args})
	}
	text, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	c := &client{command: exec.CommandContext(ctx, node(t), slices.Concat(program, []string{string(text)}, server)...)}
	stderr := &transcript{}
	stderr.showOnFailure(t, "standard error of client and server")
	c.command.Stderr = stderr
	stdout, err := c.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(stdout)
	c.lines.Buffer(nil, 1<<20)
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// next returns the next thing that the client saw, which must be a what.
func (c *client) next(t *testing.T, what string) sighting {
	t.Helper()
	if !c.lines.Scan() {
		t.Fatalf("the client has ended (%v), want that it saw %s", c.lines.Err(), what)
	}
	var s sighting
	if err := json.Unmarshal(c.lines.Bytes(), &s); err != nil {
		t.Fatalf("%s: %v", c.lines.Bytes(), err)
	}
	if s.Saw != what {
		t.Fatalf("the client saw %s (%s), want %s", s.Saw, s.Message, what)
	}
	return s
}

// leave sees whether the client ends in peace, with nothing more to say.
func (c *client) leave(t *testing.T) {
	t.Helper()
	for c.lines.Scan() {
		t.Errorf("the client also saw %s", c.lines.Bytes())
	}
	if err := c.command.Wait(); err != nil {
		t.Errorf("the client: %v", err)
	}
}

func TestNpmClientsHoldTheConversation(t *testing.T) {
	for _, test := range []struct {
		program []string
		version string
		hears   bool // of changes of the list
	}{
		{program: []string{"typescript-v1.mjs"}, version: legacy, hears: true},
		{program: []string{"typescript-v2.mjs", "legacy"}, version: legacy, hears: true},
		{program: []string{"typescript-v2.mjs", "auto"}, version: modern, hears: true},
		{program: []string{"typescript-v2.mjs", "modern"}, version: modern, hears: true},
		{program: []string{"ai-sdk.mjs", "legacy"}, version: legacy},
		{program: []string{"ai-sdk.mjs", "auto"}, version: modern},
	} {
		t.Run(strings.Join(test.program, " "), func(t *testing.T) {
			p := newPlace(t)
			folder, server := record(t, p.serve())
			c := start(t, test.program, server)
			checkList(t, c.next(t, "tools").Tools)
			for _, s := range conversation {
				s.check(t, c.next(t, "answer").answer(t))
			}
			if test.hears {
				c.next(t, "waiting")
				p.setPolicy(t, withoutWriting)
				p.hangUp(t)
				diff(t, "tools after the policy has changed", names(c.next(t, "tools").Tools), []string{"read_ledger"})
			}
			c.leave(t)
			checkEra(t, folder, test.version)
			checkRecords(t, p, conversation)
		})
	}
}

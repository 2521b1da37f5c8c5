//go:build unix && peers

package hosts_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// behaviours are what a hook may do, and whether the call runs then, on a host that was told to block where the hook
// fails and on one that was not. The answers are this version's, and what docs/hosts/claude.md says of it.
var behaviours = []struct {
	name, script   string
	runs, runsOpen bool
	told           string // to the model, if the call does not run
}{
	{name: "silence", script: `exit 0`, runs: true, runsOpen: true},
	{name: "deny", script: `say deny`, told: "the reason to deny"},
	{name: "ask", script: `say ask`, runs: true, runsOpen: true}, // without asking, where permissions are skipped
	{name: "exit-2", script: `echo "the reason to exit" >&2; exit 2`, told: "the reason to exit"},
	{name: "exit-2-with-an-allow", script: `say allow; exit 2`},
	{name: "deny-and-exit-1", script: `say deny; exit 1`, told: "the reason to deny"},
	{name: "exit-1", script: `echo broken >&2; exit 1`, runsOpen: true, told: "onFailure"},
	{name: "killed", script: `kill -9 $$`, runsOpen: true, told: "onFailure"},
	{name: "slow", script: `sleep 60`, runsOpen: true, told: "onFailure"},
	{name: "unknown-decision", script: `say maybe`, runsOpen: true, told: "onFailure"},
	{name: "words", script: `echo denied`, runs: true, runsOpen: true},
	{name: "half-an-answer", script: `printf '{"hookSpecificOutput":{"hookEv'`, runs: true, runsOpen: true},
}

// TestWhatClaudeDoesWhenItsHookFails is why `sallyport install claude` writes onFailure, why `doctor` asks for a version
// that knows it, and why the hook writes its answer with one call or not at all.
func TestWhatClaudeDoesWhenItsHookFails(t *testing.T) {
	for _, test := range []struct {
		name   string
		closed bool
	}{{"block", true}, {"open", false}} {
		t.Run(test.name, func(t *testing.T) {
			d := newDesk(t)
			d.hookWith(t, test.closed, handWritten(t, d))
			var script [][]call
			for _, b := range behaviours {
				script = append(script, []call{bash(b.name, "touch as-"+b.name+".")})
			}
			m := newModel(t, script...)
			d.letWork(t, m, "--permission-mode", "bypassPermissions")
			for _, b := range behaviours {
				runs := b.runs
				if !test.closed {
					runs = b.runsOpen
				}
				if ran := exists(filepath.Join(d.work, "as-"+b.name+".")); ran != runs {
					t.Errorf("%s: the call ran: %t, want %t", b.name, ran, runs)
				}
				if told := m.told(t, b.name).text; !runs && !strings.Contains(told, b.told) {
					t.Errorf("%s: the model was told %q, want a word of %q", b.name, told, b.told)
				}
			}
		})
	}
}

func TestWhatClaudeDoesWithoutItsHooksProgram(t *testing.T) {
	for _, closed := range []bool{true, false} {
		d := newDesk(t)
		d.hookWith(t, closed, filepath.Join(d.home, "nowhere"), "hook", "claude")
		m := newModel(t, []call{bash("missing", "touch missing")})
		d.letWork(t, m, "--permission-mode", "bypassPermissions")
		if ran := exists(filepath.Join(d.work, "missing")); ran == closed {
			t.Errorf("the call ran: %t, with onFailure: %t", ran, closed)
		}
	}
}

// handWritten makes a hook that behaves as the command which it is asked about says.
func handWritten(t *testing.T, d desk) string {
	t.Helper()
	script := `#!/bin/sh
event=$(cat)
say() {
	printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"%s",' "$1"
	printf '"permissionDecisionReason":"the reason to %s"}}' "$1"
}
case $event in
`
	for _, b := range behaviours {
		script += "*as-" + b.name + ".*) " + b.script + " ;;\n"
	}
	name := filepath.Join(d.home, "hook")
	write(t, name, script+"*) exit 2 ;;\nesac\n")
	must(t, os.Chmod(name, 0o700))
	return name
}

// hookWith writes settings with which the host runs a command before each tool call.
func (d desk) hookWith(t *testing.T, closed bool, command string, args ...string) {
	t.Helper()
	handler := map[string]any{"type": "command", "command": command, "args": append([]string{}, args...), "timeout": 3}
	if closed {
		handler["onFailure"] = "block"
	}
	group := map[string]any{"matcher": "*", "hooks": []any{handler}}
	text, err := json.Marshal(map[string]any{"hooks": map[string]any{"PreToolUse": []any{group}}})
	must(t, err)
	write(t, d.settings(), string(text))
}

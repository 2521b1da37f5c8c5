//go:build unix && peers

package hosts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// deskPolicy is what the person at the desk wants.
const deskPolicy = `version: 2
default: allow
rules:
  - id: no-rm-rf
    decision: deny
    runs: ["rm -r -f *"]
    reason: "Move files to the trash folder instead."
  - id: publish
    decision: ask
    runs: ["npm publish *"]
    reason: "A person has to agree"
`

// modes are ways to start the host in which it asks no person about Bash and Write: what the hook says decides.
var modes = [][]string{
	{"--permission-mode", "bypassPermissions"},
	{"--permission-mode", "acceptEdits", "--allowedTools", "Bash", "Write"},
	{"--permission-mode", "dontAsk", "--allowedTools", "Bash", "Write"},
}

// TestClaudeWithoutAHook shows that the calls of the tests below would run, were it not for the hook.
func TestClaudeWithoutAHook(t *testing.T) {
	for _, mode := range modes {
		d := newDesk(t)
		victim, out := filepath.Join(d.work, "victim"), filepath.Join(d.work, "out.txt")
		write(t, filepath.Join(victim, "file"), "x")
		m := newModel(t, []call{bash("remove", "rm -rf victim")}, []call{writeFile("write", out, "hello")})
		d.letWork(t, m, mode...)
		if exists(victim) || !exists(out) {
			t.Errorf("%q: the folder is there: %t; the file is there: %t; want only the file", mode, exists(victim), exists(out))
		}
	}
}

// TestClaudeHeedsTheHook is what the hook is for: what the policy denies never happens and the model is told why, what it
// allows happens, and both are in the ledger.
func TestClaudeHeedsTheHook(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode[1], func(t *testing.T) {
			d := newDesk(t)
			d.install(t, deskPolicy)
			victim, out := filepath.Join(d.work, "victim"), filepath.Join(d.work, "out.txt")
			write(t, filepath.Join(victim, "file"), "x")
			m := newModel(t,
				[]call{bash("remove", "cd . && rm -r --force victim")},
				[]call{writeFile("write", out, "hello")},
				[]call{bash("fail", "exit 3")},
				[]call{bash("both-1", "echo one > one.txt"), bash("both-2", "bash -c 'rm -rf victim'")}, // at the same time
			)
			d.letWork(t, m, mode...)
			if !exists(filepath.Join(victim, "file")) {
				t.Error("the folder was removed")
			}
			if text, err := os.ReadFile(out); string(text) != "hello" {
				t.Errorf("the file that may be written: %q, %v", text, err)
			}
			if !exists(filepath.Join(d.work, "one.txt")) {
				t.Error("what was asked for beside a denied call did not happen")
			}
			for _, id := range []string{"remove", "both-2"} {
				if told := m.told(t, id); !told.failed || !strings.Contains(told.text, "Move files to the trash folder instead.") {
					t.Errorf("the model was told of %s: %+v, want the rule's reason", id, told)
				}
			}
			want := map[string][]string{
				"remove": {"deny not_executed no-rm-rf"},
				"write":  {"allow permitted", "allow observed"},
				"fail":   {"allow permitted", "allow failed"},
				"both-1": {"allow permitted", "allow observed"},
				"both-2": {"deny not_executed no-rm-rf"},
			}
			if diff := cmp.Diff(want, d.decisions(t)); diff != "" {
				t.Errorf("the ledger (-want +got):\n%s", diff)
			}
		})
	}
}

// TestClaudeDoesNotRunWhatNobodyWasAskedAbout: an ask is no yes where there is no person, whatever the mode.
func TestClaudeDoesNotRunWhatNobodyWasAskedAbout(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode[1], func(t *testing.T) {
			d := newDesk(t)
			d.install(t, deskPolicy)
			bin := filepath.Join(d.home, "bin")
			write(t, filepath.Join(bin, "npm"), "#!/bin/sh\ntouch published\n")
			must(t, os.Chmod(filepath.Join(bin, "npm"), 0o700))
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			m := newModel(t, []call{bash("list", "npm --version; mv published works")}, []call{bash("publish", "npm publish")})
			d.letWork(t, m, mode...)
			if !exists(filepath.Join(d.work, "works")) {
				t.Fatal("the stand-in for npm was not run at all")
			}
			if exists(filepath.Join(d.work, "published")) {
				t.Error("the call ran")
			}
			if told := m.told(t, "publish"); !told.failed || !strings.Contains(told.text, "A person has to agree") {
				t.Errorf("the model was told %+v, want the rule's reason", told)
			}
		})
	}
}

// TestClaudesSubagentsHeedTheHook: what an agent must not do it cannot have done by another one.
func TestClaudesSubagentsHeedTheHook(t *testing.T) {
	d := newDesk(t)
	d.install(t, deskPolicy)
	victim := filepath.Join(d.work, "victim")
	write(t, filepath.Join(victim, "file"), "x")
	m := newModel(t,
		[]call{{"spawn", "Agent", map[string]any{
			"description": "clean up", "prompt": "Remove the folder.", "subagent_type": "general-purpose", "run_in_background": false,
		}}},
		[]call{bash("remove", "rm -rf victim; touch tried")}, // the subagent's
	)
	d.letWork(t, m, modes[0]...)
	if !exists(filepath.Join(victim, "file")) || exists(filepath.Join(d.work, "tried")) {
		t.Error("the subagent's command ran")
	}
	if told := m.told(t, "remove"); !told.failed || !strings.Contains(told.text, "Move files to the trash folder instead.") {
		t.Errorf("the subagent's model was told %+v, want the rule's reason", told)
	}
	got := d.decisions(t)
	if len(got["spawn"]) == 0 || got["spawn"][0] != "allow permitted" || len(got["remove"]) != 1 {
		t.Errorf("the ledger says %v, want that the subagent was allowed and its command was not", got)
	}
}

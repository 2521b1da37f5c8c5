//go:build unix && peers

package hosts_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ownSettings are what the person had in the file before, as people write it.
const ownSettings = `{
    "env": {"EDITOR": "vi"},
  "permissions": { "allow": [ "Bash(ls:*)" ] },

    "hooks": {
        "PostToolUse": [
            {"matcher": "Write", "hooks": [{"type": "command", "command": "touch \"$HOME/own-hook\""}]}
        ]
    }
}
`

// TestInstallInALivingConfiguration: the host has worked there before, and so has the person.
func TestInstallInALivingConfiguration(t *testing.T) {
	d := newDesk(t)
	write(t, d.settings(), ownSettings)
	d.letWork(t, newModel(t, []call{bash("before", "echo hello")}), modes[0]...)
	write(t, d.policy(), deskPolicy)

	out, code := d.operate(t, "install", "claude", "--dry-run")
	if code != 0 || !strings.Contains(out, "onFailure") || read(t, d.settings()) != ownSettings {
		t.Errorf("a dry run: exit code %d, the settings are the same: %t, want the change shown and nothing done\n%s",
			code, read(t, d.settings()) == ownSettings, out)
	}
	if out, code := d.operate(t, "doctor", "claude"); code != 1 {
		t.Errorf("doctor before install: exit code %d, want 1\n%s", code, out)
	}
	d.install(t, deskPolicy)
	installed := read(t, d.settings())
	if out, code := d.operate(t, "install", "claude", "--yes"); code != 0 || read(t, d.settings()) != installed {
		t.Errorf("a second install: exit code %d\n%s", code, out)
	}
	if !strings.Contains(out, "onFailure") || !strings.Contains(installed, `"EDITOR": "vi"`) {
		t.Errorf("the settings after install:\n%s", installed)
	}
	d.mustBeWell(t)

	m := newModel(t, []call{bash("remove", "rm -rf .")}, []call{writeFile("write", filepath.Join(d.work, "out.txt"), "hello")})
	d.letWork(t, m, modes[0]...)
	if told := m.told(t, "remove"); !told.failed || !exists(d.work) {
		t.Errorf("the model was told %+v, want a denial", told)
	}
	if !exists(filepath.Join(d.home, "own-hook")) {
		t.Error("the person's own hook runs no more")
	}

	if out, code := d.operate(t, "uninstall", "claude"); code == 0 || read(t, d.settings()) != installed {
		t.Errorf("uninstall without a person: exit code %d, want that nothing is done\n%s", code, out)
	}
	if out := d.confirm(t, "uninstall", "claude"); read(t, d.settings()) != ownSettings {
		t.Errorf("the settings after uninstall (-want +got):\n%s\n%s", cmp.Diff(ownSettings, read(t, d.settings())), out)
	}
	d.letWork(t, newModel(t, []call{bash("after", "rm -rf x; touch after")}), modes[0]...)
	if !exists(filepath.Join(d.work, "after")) || len(d.decisions(t)["after"]) > 0 {
		t.Error("the hook is asked after it was uninstalled")
	}
}

// mustBeWell wants doctor to find nothing to mend, and to have looked at all that there is.
func (d desk) mustBeWell(t *testing.T) {
	t.Helper()
	out, code := d.operate(t, "doctor", "claude", "--json")
	var found struct {
		OK     bool
		Checks []struct{ Host, Check, State, Detail string }
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatalf("doctor: exit code %d, %v\n%s", code, err, out)
	}
	checks := map[string]string{}
	for _, c := range found.Checks {
		if c.State != "ok" {
			t.Errorf("doctor: %+v", c)
		}
		checks[c.Check] = c.Detail
	}
	if code != 0 || !found.OK {
		t.Errorf("doctor: exit code %d, want 0\n%s", code, out)
	}
	for _, name := range []string{"settings", "program", "policy", "must deny", "must allow", "ledger", "switches", "version"} {
		if _, ok := checks[name]; !ok {
			t.Errorf("doctor did not look at %s: %v", name, checks)
		}
	}
}

// confirm runs one of our commands for a person who sits at a terminal and says yes.
func (d desk) confirm(t *testing.T, args ...string) string {
	t.Helper()
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = "'" + arg + "'"
	}
	cmd := exec.Command("script", "-qec", sallyport+" "+strings.Join(quoted, " "), "/dev/null") // makes a terminal
	cmd.Dir, cmd.Env, cmd.Stdin = d.work, d.environment(nil), strings.NewReader("yes\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("sallyport %s at a terminal: %v\n%s", args[0], err, out)
	}
	return string(out)
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

// TestClaudeCannotSwitchTheHookOff: an agent that would rather not be judged has no way to it through its tools.
func TestClaudeCannotSwitchTheHookOff(t *testing.T) {
	d := newDesk(t)
	write(t, d.settings(), ownSettings)
	d.install(t, deskPolicy)
	installed, policy := read(t, d.settings()), read(t, d.policy())
	script := [][]call{
		{bash("uninstall", sallyport+" uninstall claude")},
		{bash("typescript", "echo yes | script -qec '"+sallyport+" uninstall claude' /dev/null")},
		{bash("trust", "setsid "+sallyport+" trust")},
		{readFile("read-settings", d.settings()), readFile("read-policy", d.policy())}, // or the host itself lets nobody write there
		{writeFile("settings", d.settings(), "{}")},
		{bash("redirect", "echo '{}' > ~/.claude/settings.json")},
		{bash("copy", "cp /dev/null "+d.policy())},
		{writeFile("policy", d.policy(), "version: 2\ndefault: allow\nstarter: off\n")},
		{bash("ledger", "rm ~/.local/state/sallyport/ledger.jsonl")},
		{bash("truncate", ": > ~/.local/state/sallyport/ledger.jsonl")},
		{bash("local", `mkdir -p .claude && echo '{"disableAllHooks":true}' > .claude/settings.local.json`)},
	}
	m := newModel(t, script...)
	d.letWork(t, m, modes[0]...)
	for _, turn := range script {
		id := turn[0].id
		if turn[0].tool == "Read" {
			continue
		}
		if told := m.told(t, id); !told.failed || !strings.Contains(told.text, "sallyport: ") {
			t.Errorf("%s: the model was told %+v, want our denial", id, told)
		}
		if got := d.decisions(t)[id]; len(got) != 1 || !strings.HasPrefix(got[0], "deny not_executed ") {
			t.Errorf("%s: the ledger says %q, want a denial", id, got)
		}
	}
	if read(t, d.settings()) != installed || read(t, d.policy()) != policy {
		t.Error("the settings or the policy have changed")
	}
	d.mustBeWell(t)
}

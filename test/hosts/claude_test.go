//go:build unix && peers

package hosts_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience is how long a host may take for what takes seconds on a machine that has nothing else to do.
const patience = 3 * time.Minute

// claudeProgram returns the native program of Claude Code, which test/hosts/install gets from npm.
func claudeProgram(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("node_modules/@anthropic-ai/claude-code-*/claude")
	must(t, err)
	for _, name := range found {
		if name, err = filepath.Abs(name); err != nil {
			t.Fatal(err)
		}
		if exec.Command(name, "--version").Run() == nil { // npm may have brought one for another C library, too
			return name
		}
	}
	t.Fatal("Claude Code is not installed: run test/hosts/install")
	return ""
}

// desk is where a person works with Claude Code: a home folder and a project.
type desk struct{ program, home, work string }

func newDesk(t *testing.T) desk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	d := desk{program: claudeProgram(t), home: filepath.Join(dir, "home"), work: filepath.Join(dir, "work")}
	must(t, os.MkdirAll(d.config(), 0o700))
	must(t, os.Mkdir(d.work, 0o700))
	return d
}

func (d desk) config() string   { return filepath.Join(d.home, ".claude") }
func (d desk) settings() string { return filepath.Join(d.config(), "settings.json") }

// environment is all that a process at the desk gets. The host is told to send nothing but what its model needs; and what
// it would send elsewhere goes to the stand-in, which refuses it.
func (d desk) environment(m *model) []string {
	env := []string{
		"PATH=" + filepath.Dir(d.program) + ":" + os.Getenv("PATH"), "HOME=" + d.home, "CLAUDE_CONFIG_DIR=" + d.config(), "SHELL=/bin/bash", "LANG=C.UTF-8",
		"TMPDIR=" + os.TempDir(),
		"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1", "DISABLE_UPDATES=1",
		"DISABLE_BUG_COMMAND=1", "DISABLE_GROWTHBOOK=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1", "DO_NOT_TRACK=1",
		"ENABLE_TOOL_SEARCH=false", // the model is offered every tool at once
		"IS_SANDBOX=1",             // lets root, as which containers run tests, skip the host's own permissions
	}
	if m != nil {
		env = append(env, "ANTHROPIC_BASE_URL="+m.url, "ANTHROPIC_API_KEY=stand-in",
			"HTTPS_PROXY="+m.url, "HTTP_PROXY="+m.url, "NO_PROXY=127.0.0.1,localhost")
	}
	return env
}

// work lets the host do what the model's script says, without asking a person.
func (d desk) letWork(t *testing.T, m *model, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.program, append([]string{
		"-p", "Do what there is to do.", "--output-format", "json", "--model", "claude-sonnet-4-5",
	}, args...)...)
	cmd.Dir, cmd.Env = d.work, d.environment(m)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("claude: %v\n%s%s", err, &stdout, &stderr)
	}
	if len(m.strange) > 0 {
		t.Logf("requests that the stand-in does not know: %q", m.strange)
	}
	t.Logf("%s%s", &stdout, &stderr)
	return stdout.String()
}

func bash(id, command string) call {
	return call{id, "Bash", map[string]any{"command": command, "description": "x"}}
}

func readFile(id, path string) call {
	return call{id, "Read", map[string]any{"file_path": path}}
}

func writeFile(id, path, content string) call {
	return call{id, "Write", map[string]any{"file_path": path, "content": content}}
}

// policy is the user's own, which counts together with the starter pack.
func (d desk) policy() string { return filepath.Join(d.home, ".config", "sallyport", "policy.yaml") }

func (d desk) ledger() string { return filepath.Join(d.home, ".local", "state", "sallyport") }

// install lets the person at the desk install the hook.
func (d desk) install(t *testing.T, policy string) {
	t.Helper()
	write(t, d.policy(), policy)
	if out, code := d.operate(t, "install", "claude", "--yes"); code != 0 {
		t.Fatalf("sallyport install claude: exit code %d\n%s", code, out)
	}
}

// operate runs one of our own commands at the desk, without a terminal.
func (d desk) operate(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(sallyport, args...)
	cmd.Dir, cmd.Env = d.work, d.environment(nil)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// decisions returns what the hook decided, and what became of it, by the ids of the calls.
func (d desk) decisions(t *testing.T) map[string][]string {
	t.Helper()
	return decisionsIn(t, d.ledger())
}

// decisionsIn returns decision, outcome and rule, if any, of the records by their request_id.
func decisionsIn(t *testing.T, dir string) map[string][]string {
	t.Helper()
	by := map[string][]string{}
	for _, r := range recordsIn(t, dir) {
		said := r.Decision + " " + r.Outcome
		if r.Decision != "allow" {
			said += " " + r.Rule
		}
		by[r.RequestID] = append(by[r.RequestID], said)
	}
	return by
}

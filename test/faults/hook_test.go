//go:build linux

package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hookPolicy lets everything pass but one thing.
const hookPolicy = `{"version":2,"default":"allow","rules":[{"id":"no-rm-rf","decision":"deny","runs":["rm -r -f *"]}]}`

// The commands that the hook is asked about.
const (
	harmless = "ls -la"
	harmful  = "rm -rf x"
)

// hooked is where a coding agent calls the hook.
type hooked struct {
	home, work, policy string
	ledger             folder
	deadline           time.Duration // 0: the hook's own
}

func newHooked(t *testing.T) hooked {
	t.Helper()
	dir := t.TempDir()
	h := hooked{
		home: filepath.Join(dir, "home"), work: filepath.Join(dir, "work"), policy: filepath.Join(dir, "policy.json"),
		ledger: folder(filepath.Join(dir, "ledger")), deadline: longestDeadline,
	}
	must(t, os.Mkdir(h.home, 0o700))
	must(t, os.Mkdir(h.work, 0o700))
	must(t, os.WriteFile(h.policy, []byte(hookPolicy), 0o600))
	return h
}

// ruling is what a host sees of the hook.
type ruling struct {
	allowed        bool // the host runs the call
	killed         bool // the hook had no end of its own
	code           int
	stdout, stderr string
	took           time.Duration
}

// hookCommand is a hook that is about to be asked about a shell command.
func (h hooked) hookCommand(ctx context.Context, id, command string, wrap ...string) *exec.Cmd {
	event, err := json.Marshal(map[string]any{
		"session_id": "s-1", "cwd": h.work, "permission_mode": "default", "hook_event_name": "PreToolUse",
		"tool_name": "Bash", "tool_input": map[string]string{"command": command}, "tool_use_id": id,
	})
	if err != nil {
		panic(err) // it is made of strings
	}
	args := append(append([]string{}, wrap...), binary, "hook", "claude", "--policy", h.policy, "--ledger", string(h.ledger))
	if h.deadline > 0 {
		args = append(args, "--deadline", h.deadline.String())
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Stdin = h.work, bytes.NewReader(event)
	cmd.Env = []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
	return cmd
}

// ask asks the hook, and holds its answer to what every answer must be.
func (h hooked) ask(t *testing.T, id, command string, wrap ...string) ruling {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := h.hookCommand(ctx, id, command, wrap...)
	r, err := listen(cmd, func() {})
	if err != nil || ctx.Err() != nil {
		t.Fatalf("%v, %v", err, ctx.Err())
	}
	if problem := r.problem(); problem != "" {
		t.Errorf("%s: %s", command, problem)
	}
	return r
}

// listen runs a hook to its end. Once it is started it calls started.
func listen(cmd *exec.Cmd, started func()) (ruling, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return ruling{}, err
	}
	started()
	err := cmd.Wait()
	r := ruling{took: time.Since(begin), stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
	r.killed = r.code < 0
	r.allowed = r.code != 2 && !strings.Contains(r.stdout, `"permissionDecision":"deny"`)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !r.killed {
		return r, err
	}
	return r, nil
}

// problem is what is wrong with an answer that came, whatever it says.
func (r ruling) problem() string {
	switch {
	case r.killed:
		return "the hook was killed"
	case r.code != 0 && r.code != 2:
		return "an exit code other than 0 and 2: " + r.stderr
	case r.code == 2 && strings.TrimSpace(r.stderr) == "":
		return "a denial by exit code without a reason"
	case r.code == 0 && r.stdout != "" && !json.Valid([]byte(r.stdout)):
		return "an answer that is not JSON: " + r.stdout
	}
	return ""
}

// said returns the decisions that the ledger has of a call.
func (h hooked) said(t *testing.T, id string) []string {
	t.Helper()
	decisions, err := h.decisions(id)
	must(t, err)
	return decisions
}

func (h hooked) decisions(id string) ([]string, error) {
	all, err := h.ledger.records()
	var decisions []string
	for _, r := range all {
		if r.RequestID == id {
			decisions = append(decisions, r.Decision)
		}
	}
	return decisions, err
}

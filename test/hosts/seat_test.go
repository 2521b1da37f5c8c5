//go:build unix

package hosts_test

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

// seat is a host's: where it calls the hook.
type seat struct {
	dir, home, work, policy, ledger string
	env                             []string
}

func newSeat(t *testing.T) seat {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	policy, err := filepath.Abs(filepath.Join(conformance, "hook-policy.json"))
	must(t, err)
	s := seat{
		dir: dir, home: filepath.Join(dir, "home"), work: filepath.Join(dir, "work"),
		policy: policy, ledger: filepath.Join(dir, "ledger"),
	}
	s.env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
	for _, dir := range []string{s.home, s.work} {
		must(t, os.Mkdir(dir, 0o700))
	}
	return s
}

// bashEvent is Claude Code's event before a shell command.
func bashEvent(s seat, id, command string) []byte {
	text, err := json.Marshal(map[string]any{
		"session_id": "s-1", "cwd": s.work, "permission_mode": "default", "hook_event_name": "PreToolUse",
		"tool_name": "Bash", "tool_input": map[string]string{"command": command}, "tool_use_id": id,
	})
	if err != nil {
		panic(err) // it is made of strings
	}
	return text
}

// answer is all that a host gets to see of the hook.
type answer struct {
	stdout, stderr string
	code           int
}

// tooLong is when a hook hangs. Its own deadline is far below that, but machines that run tests are busy.
const tooLong = 30 * time.Second

// ask gives the hook all the time it wants: that it knew no better at its deadline is no answer to a case.
func (s seat) ask(t *testing.T, host string, event []byte) answer {
	t.Helper()
	return s.run(t, event, "hook", host, "--policy", s.policy, "--ledger", s.ledger, "--deadline", "20s")
}

func (s seat) run(t *testing.T, event []byte, args ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), tooLong)
	defer cancel()
	cmd := exec.CommandContext(ctx, sallyport, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.work, s.env, bytes.NewReader(event)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("the hook hangs for %v", tooLong)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err) // such as an event that was not read to its end
	}
	return answer{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// verdict reads an answer before a tool call as the host does, and wants it in the host's dialect to the letter.
func (a answer) verdict(t *testing.T, host string) string {
	t.Helper()
	switch {
	case a.code == 2:
		if strings.TrimSpace(a.stderr) == "" || a.stdout != "" {
			t.Errorf("exit code 2 with stdout %q, stderr %q; want a reason on stderr alone", a.stdout, a.stderr)
		}
		return "deny"
	case a.code != 0:
		t.Errorf("exit code %d, want 0 or 2\n%s%s", a.code, a.stdout, a.stderr)
		return "none" // the host goes on
	case a.stdout == "":
		return "none"
	}
	var said struct {
		HookSpecificOutput struct {
			HookEventName            string `json:"hookEventName"`
			PermissionDecision       string `json:"permissionDecision"`
			PermissionDecisionReason string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	decoder := json.NewDecoder(strings.NewReader(a.stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&said); err != nil || decoder.More() {
		t.Errorf("not one JSON object of the host's dialect (%v): %q", err, a.stdout)
		return "none"
	}
	out := said.HookSpecificOutput
	// An allow would spare the host's own prompt, which no rule here asks for.
	spelled := out.PermissionDecision == "deny" || out.PermissionDecision == "ask" && host == "claude"
	if out.HookEventName != "PreToolUse" || !spelled || strings.TrimSpace(out.PermissionDecisionReason) == "" {
		t.Errorf("%s does not take this answer: %q", host, a.stdout)
		return "none"
	}
	return out.PermissionDecision
}

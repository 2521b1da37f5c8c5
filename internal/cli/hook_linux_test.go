package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/internal/durable"
)

// hooked is a home and the program as a host starts it: a process of its own.
type hooked struct {
	t       *testing.T
	program string
	home    string
	policy  string
}

func newHooked(t *testing.T) hooked {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	policy, err := filepath.Abs("../../testdata/conformance/hook-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	h := hooked{t, filepath.Join(dir, "sallyport"), filepath.Join(dir, "home"), policy}
	if err := errors.Join(os.Symlink(self, h.program), os.Mkdir(h.home, 0o700)); err != nil { // TestMain knows us by this name
		t.Fatal(err)
	}
	return h
}

func (h hooked) command(args ...string) *exec.Cmd {
	cmd := exec.Command(h.program, append([]string{"hook", "claude", "--policy", h.policy}, args...)...)
	cmd.Env = []string{"HOME=" + h.home, "GORACE=" + os.Getenv("GORACE")}
	return cmd
}

const (
	lsEvent = `{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}`
	rmEvent = `{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf x"},"tool_use_id":"t"}`
)

// slack is how much later than its deadline a process may end on a busy machine.
const slack = 10 * time.Second

// wantDenied runs a hook whose stdin does not end, and wants a denial in time.
func (h hooked) wantDenied(cmd *exec.Cmd, stdin string) {
	h.t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	defer in.Close()
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	start := time.Now()
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	if _, err := io.WriteString(in, stdin); err != nil {
		h.t.Fatal(err)
	}
	state, err := cmd.Process.Wait()
	if err != nil || state.ExitCode() != 0 {
		h.t.Errorf("the hook ended with %v, %v", state, err)
	}
	in.Close()
	cmd.Wait()
	if took := time.Since(start); took > time.Second+slack {
		h.t.Errorf("it took %v", took)
	}
	if !strings.Contains(stdout.String(), `"permissionDecision":"deny"`) {
		h.t.Errorf("the host is told %q", stdout.String())
	}
}

// TestHookWhoseStdinStaysOpen denies at its deadline.
func TestHookWhoseStdinStaysOpen(t *testing.T) {
	h := newHooked(t)
	h.wantDenied(h.command("--deadline", "300ms"), lsEvent)
}

// TestHookIsNotStoppedBySignals lets nobody turn a hook into one that has failed: to some hosts that is an allow.
func TestHookIsNotStoppedBySignals(t *testing.T) {
	h := newHooked(t)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGALRM, syscall.SIGPIPE} {
		cmd := h.command("--deadline", "20s")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitIgnored(t, cmd.Process.Pid, signal)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Errorf("%v: %v", signal, err)
		}
		if _, err := io.WriteString(in, rmEvent); err != nil {
			t.Errorf("%v: %v", signal, err)
		}
		in.Close()
		if err := cmd.Wait(); err != nil || !strings.Contains(stdout.String(), "no-rm-rf") {
			t.Errorf("%v: the hook ended with %v and said %q", signal, err, stdout.String())
		}
	}
}

// awaitIgnored waits until a process has begun to ignore a signal: the first moments are the runtime's.
func awaitIgnored(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "SigIgn:")
		mask, err := strconv.ParseUint(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if mask&(1<<(uint(signal)-1)) != 0 {
			return
		}
	}
	t.Fatalf("%v is not ignored", signal)
}

// TestHookWithoutAListener blocks by its exit code where stdout is gone.
func TestHookWithoutAListener(t *testing.T) {
	h := newHooked(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	cmd := h.command("--deadline", "20s")
	cmd.Stdin, cmd.Stdout = strings.NewReader(rmEvent), write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("the hook ended with %v", cmd.ProcessState)
	}
}

// TestHookBesideAStoppedWriter denies in time where another process keeps the ledger's lock.
func TestHookBesideAStoppedWriter(t *testing.T) {
	h := newHooked(t)
	first := h.command("--deadline", "20s")
	first.Stdin = strings.NewReader(lsEvent)
	if out, err := first.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%s, %v", out, err)
	}
	f, err := durable.OS.Open(filepath.Join(h.home, ".local", "state", "sallyport", "ledger.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if locked, err := f.TryLock(); !locked || err != nil {
		t.Fatal(locked, err)
	}
	h.wantDenied(h.command("--deadline", "300ms"), lsEvent)
}

// TestHookProcesses runs some of the shared cases through real processes, all at once: they share one ledger.
func TestHookProcesses(t *testing.T) {
	h := newHooked(t)
	text, err := os.ReadFile("../../testdata/conformance/hook.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n, records := 0, 0
	t.Run("cases", func(t *testing.T) {
		for line := range bytes.Lines(text) {
			var c struct {
				Name, Host   string
				Event        json.RawMessage
				Expect       []string
				Files, Links map[string]string
			}
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatal(err)
			}
			n++
			if n%7 != 0 || c.Files != nil || bytes.Contains(c.Event, []byte("raw_")) || bytes.Contains(c.Event, []byte("@@R:")) {
				continue
			}
			records++
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				cmd := h.command("--deadline", "20s")
				cmd.Args[2] = c.Host
				event := strings.NewReplacer("{{work}}", filepath.Join(h.home, "work"), "{{home}}", h.home).Replace(string(c.Event))
				cmd.Stdin = strings.NewReader(event)
				out, err := cmd.Output()
				if err != nil {
					t.Fatal(err)
				}
				got := "none"
				for _, word := range []string{"allow", "ask", "deny"} {
					if bytes.Contains(out, fmt.Appendf(nil, `"permissionDecision":%q`, word)) {
						got = word
					}
				}
				if !slices.Contains(c.Expect, got) {
					t.Errorf("got %s, want %v: %s", got, c.Expect, out)
				}
			})
		}
	})
	if records < 10 {
		t.Fatalf("only %d cases", records)
	}
	verify := exec.Command(h.program, "verify", filepath.Join(h.home, ".local", "state", "sallyport"))
	out, err := verify.CombinedOutput()
	if want := fmt.Sprintf("whole: %d records", records); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("the ledger is %s, %v, want %s", out, err, want)
	}
}

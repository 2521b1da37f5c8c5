//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sallyport/internal/canon"
)

// live is a running server with pipes to it, spoken to in the legacy era.
type live struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	stderr *safeBuffer
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

const patience = 30 * time.Second

func startLive(t *testing.T, dir, policy string) *live {
	t.Helper()
	l := &live{t: t, dir: dir, lines: make(chan string, 1000), stderr: &safeBuffer{}}
	l.writePolicy(policy)
	l.cmd = exec.Command("sallyport", "serve", "--policy", l.policyFile(), "--ledger", filepath.Join(dir, "state"))
	l.cmd.Stderr = l.stderr
	var err error
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(l.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			l.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		l.in.Close()
		l.cmd.Process.Kill()
		l.cmd.Wait()
	})
	return l
}

func (l *live) policyFile() string { return filepath.Join(l.dir, "policy.json") }

func (l *live) writePolicy(text string) {
	l.t.Helper()
	if err := os.WriteFile(l.policyFile(), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *live) send(line string) {
	l.t.Helper()
	if _, err := io.WriteString(l.in, line+"\n"); err != nil {
		l.t.Fatal(err)
	}
}

// next waits for a line that holds all parts, and passes over others.
func (l *live) next(parts ...string) canon.Value {
	l.t.Helper()
	deadline := time.After(patience)
next:
	for {
		select {
		case line, ok := <-l.lines:
			if !ok {
				l.t.Fatalf("the server ended; stderr: %s", l.stderr)
			}
			for _, part := range parts {
				if !strings.Contains(line, part) {
					continue next
				}
			}
			v, err := canon.Parse([]byte(line))
			if err != nil {
				l.t.Fatalf("%s: %v", line, err)
			}
			return v
		case <-deadline:
			l.t.Fatalf("no line with %q; stderr: %s", parts, l.stderr)
		}
	}
}

func (l *live) hangup() {
	l.t.Helper()
	if err := l.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		l.t.Fatal(err)
	}
}

// status waits until sallyport status says something that holds part.
func (l *live) status(part string) string {
	l.t.Helper()
	var last string
	for start := time.Now(); time.Since(start) < patience; time.Sleep(10 * time.Millisecond) {
		out, err := exec.Command("sallyport", "status", "--json", filepath.Join(l.dir, "state")).CombinedOutput()
		if err != nil {
			l.t.Fatalf("status: %v: %s", err, out)
		}
		if last = string(out); strings.Contains(last, part) {
			return last
		}
	}
	l.t.Fatalf("status never said %q, but %s", part, last)
	return ""
}

func (l *live) initialize() {
	l.t.Helper()
	l.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`)
	l.next(`"id":0`)
	l.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

const (
	fullPolicy = `{"version":1,"allow":["write_note","read_ledger"]}`
	readPolicy = `{"version":1,"allow":["read_ledger"]}`
	badPolicy  = `{"version":1,"allow":["read_ledger"],"denny":[]}`
)

// TestHangupSwapsThePolicy follows a server through a new policy, a bad one and a mended one.
func TestHangupSwapsThePolicy(t *testing.T) {
	l := startLive(t, t.TempDir(), fullPolicy)
	l.initialize()
	l.send(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	if list := l.next(`"id":"list"`); !strings.Contains(string(list.Bytes()), "write_note") {
		t.Errorf("write_note is not listed: %s", list.Bytes())
	}
	before := l.status(`"stale":false`)

	l.writePolicy(readPolicy)
	if got := l.status(`"stale":true`); !strings.Contains(got, "send the server SIGHUP") {
		t.Errorf("a changed file: %s", got)
	}
	l.hangup()
	l.next("notifications/tools/list_changed")
	after := l.status(`"stale":false`)
	if digestOf(t, before) == digestOf(t, after) {
		t.Errorf("the policy's digest is the same before and after: %s", after)
	}
	l.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_note","arguments":{"request_id":"req-0001","text":"x"}}}`)
	if got := l.next(`"id":1`); !strings.Contains(string(got.Bytes()), `tool denied: write_note`) {
		t.Errorf("denied by the new policy: %s", got.Bytes())
	}

	l.writePolicy(badPolicy)
	l.hangup()
	for range 2 { // it goes on saying so
		if got := l.status(`unknown`); !strings.Contains(got, "denny") || digestOf(t, got) != digestOf(t, after) {
			t.Errorf("a bad file: %s", got)
		}
	}
	if got := l.stderr.String(); !strings.Contains(got, "NOT loaded again") || !strings.Contains(got, "policy.json:1:38") {
		t.Errorf("stderr: %s", got)
	}
	l.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_ledger"}}`)
	if got := l.next(`"id":2`); !strings.Contains(string(got.Bytes()), `"notes":[]`) {
		t.Errorf("the old policy goes on: %s", got.Bytes())
	}

	l.writePolicy(fullPolicy)
	l.hangup()
	l.next("notifications/tools/list_changed")
	if got := l.status(`"stale":false`); digestOf(t, got) != digestOf(t, before) {
		t.Errorf("mended: %s", got)
	}
}

func digestOf(t *testing.T, status string) string {
	t.Helper()
	v, err := canon.Parse([]byte(strings.TrimSpace(status)))
	if err != nil {
		t.Fatal(err)
	}
	for server := range v.Get("servers").Elements() {
		digest, _ := server.Get("policy_digest").Text()
		return digest
	}
	t.Fatalf("no server in %s", status)
	return ""
}

func TestStatusShowsTheLivingOnly(t *testing.T) {
	dir := t.TempDir()
	first, second := startLive(t, dir, fullPolicy), startLive(t, dir, fullPolicy)
	first.initialize()
	second.initialize()
	both := first.status(fmt.Sprintf(`"pid":%d`, second.cmd.Process.Pid))
	if !strings.Contains(both, fmt.Sprintf(`"pid":%d`, first.cmd.Process.Pid)) {
		t.Errorf("both are alive: %s", both)
	}
	first.cmd.Process.Kill()
	first.cmd.Wait()
	if got := second.status(`"pid":`); strings.Contains(got, fmt.Sprintf(`"pid":%d`, first.cmd.Process.Pid)) {
		t.Errorf("a killed server is shown: %s", got)
	}
	second.in.Close()
	if err := second.cmd.Wait(); err != nil {
		t.Errorf("the server did not end well at the end of its input: %v; %s", err, second.stderr)
	}
	if files, err := os.ReadDir(filepath.Join(dir, "state", serversDir)); err != nil || len(files) != 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

// TestTermEndsCleanly has a server with an open conversation be told to stop.
func TestTermEndsCleanly(t *testing.T) {
	l := startLive(t, t.TempDir(), fullPolicy)
	l.initialize()
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- l.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("exit: %v; %s", err, l.stderr)
		}
	case <-time.After(patience):
		t.Error("the server did not stop")
	}
}

// TestClientThatIsGoneTakesNothingWithIt closes the pipe that the server answers on while it has
// calls to carry out: it must end by itself, not by a signal, and leave a whole ledger.
func TestClientThatIsGoneTakesNothingWithIt(t *testing.T) {
	dir := t.TempDir()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sallyport", "serve", "--ledger", filepath.Join(dir, "state"))
	cmd.Stdout = write
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	read.Close()
	io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`+"\n")
	for i := range 50 {
		// The server may end before it has read them all.
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_note","arguments":{"request_id":"req-%04d","text":"x"}}}`+"\n", i+1, i)
	}
	in.Close()
	cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Exited() || status.ExitStatus() != exitError {
		t.Errorf("the server ended with %v, want exit status %d", cmd.ProcessState, exitError)
	}
	if out, err := exec.Command("sallyport", "verify", filepath.Join(dir, "state")).CombinedOutput(); err != nil {
		t.Errorf("verify: %v: %s", err, out)
	}
}

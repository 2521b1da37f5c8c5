//go:build linux

package faults_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is a running `sallyport serve`, with a client at its pipes.
type server struct {
	t      *testing.T
	dir    folder
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *output
	ended  chan struct{} // closed when the process is gone and all it said was read
	err    error         // how it ended; read after ended

	mu      sync.Mutex // guards what follows
	next    int
	pending map[int]chan answer // nil: the process is gone
}

// answer is what a call was answered.
type answer struct {
	Status  string // of write_note
	IsError bool
	Code    int // of a JSON-RPC error
	Message string
	Gone    bool // there was no answer: the process ended
}

func (a answer) String() string {
	switch {
	case a.Gone:
		return "no answer"
	case a.Code != 0:
		return fmt.Sprintf("error %d: %s", a.Code, a.Message)
	}
	return a.Status
}

// refusedSafely reports whether a call failed closed.
func (a answer) refusedSafely() bool { return a.Code == -32603 }

// output is what a process wrote so far.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// launch says how a server is started.
type launch struct {
	env   []string
	wrap  []string // the command that runs the server's
	cred  *syscall.Credential
	raced bool // with the race detector
}

// start starts a server on a folder. It is killed when the test ends, if it lives then.
func start(t *testing.T, dir folder, how launch) *server {
	t.Helper()
	program := binary
	if how.raced {
		program = raced(t)
	}
	args := append(append([]string{}, how.wrap...), program, "serve", "--ledger", string(dir))
	s := &server{t: t, dir: dir, stderr: &output{}, ended: make(chan struct{}), pending: map[int]chan answer{}}
	s.cmd = exec.Command(args[0], args[1:]...)
	s.cmd.Env = append(os.Environ(), how.env...)
	s.cmd.Stderr = s.stderr
	// A group of its own, so that whatever it started can be killed with it.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: how.cred}
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		s.read(stdout)
		s.err = s.cmd.Wait()
	}()
	t.Cleanup(func() {
		s.kill()
		if strings.Contains(s.stderr.String(), "DATA RACE") || t.Failed() {
			t.Logf("stderr of the server on %s:\n%.20000s", dir, s.stderr)
		}
		if strings.Contains(s.stderr.String(), "DATA RACE") {
			t.Error("the race detector found a race in the server")
		}
	})
	return s
}

// read hands the answers to those who wait for them, until there are no more.
func (s *server) read(stdout io.Reader) {
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		id, a, err := parseAnswer(line)
		if err != nil {
			s.t.Errorf("the server wrote %q: %v", line, err)
			continue
		}
		s.mu.Lock()
		wait := s.pending[id]
		delete(s.pending, id)
		s.mu.Unlock()
		if wait != nil {
			wait <- a
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, wait := range s.pending {
		wait <- answer{Gone: true}
	}
	s.pending = nil
}

func parseAnswer(line []byte) (int, answer, error) {
	var m struct {
		ID     int
		Result *struct {
			StructuredContent struct{ Status string }
			IsError           bool
		}
		Error *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return 0, answer{}, err
	}
	switch {
	case m.Error != nil:
		return m.ID, answer{Code: m.Error.Code, Message: m.Error.Message}, nil
	case m.Result != nil:
		return m.ID, answer{Status: m.Result.StructuredContent.Status, IsError: m.Result.IsError}, nil
	}
	return 0, answer{}, errors.New("neither a result nor an error")
}

// send sends a call and returns where its answer will come.
func (s *server) send(tool string, args map[string]string) <-chan answer {
	wait := make(chan answer, 1)
	s.mu.Lock()
	if s.pending == nil {
		s.mu.Unlock()
		wait <- answer{Gone: true}
		return wait
	}
	s.next++
	id := s.next
	s.pending[id] = wait
	s.mu.Unlock()
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{
		"name": tool, "arguments": args,
		"_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		},
	}})
	if err != nil {
		s.t.Error(err)
	}
	// Where the pipe is broken the process is gone, which the reader will tell.
	s.stdin.Write(append(line, '\n'))
	return wait
}

func (s *server) await(wait <-chan answer) answer {
	s.t.Helper()
	select {
	case a := <-wait:
		return a
	case <-time.After(patience):
		s.t.Fatalf("no answer after %v", patience)
		return answer{}
	}
}

func (s *server) writeNote(id, text string) answer {
	s.t.Helper()
	return s.await(s.send("write_note", map[string]string{"request_id": id, "text": text}))
}

func (s *server) readNotes() answer {
	s.t.Helper()
	return s.await(s.send("read_ledger", map[string]string{}))
}

// remove asks for what the policy denies.
func (s *server) remove() answer {
	s.t.Helper()
	return s.await(s.send("rm_rf", map[string]string{"path": "/nowhere"}))
}

// mustWrite writes a note that has to be committed.
func (s *server) mustWrite(id, text string) {
	s.t.Helper()
	if a := s.writeNote(id, text); a.Status != "committed" {
		s.t.Fatalf("write_note of %s: %v, want committed", id, a)
	}
}

// stop closes the server's stdin and waits for its end.
func (s *server) stop() error {
	s.t.Helper()
	s.stdin.Close()
	select {
	case <-s.ended:
		return s.err
	case <-time.After(patience):
		s.t.Fatalf("the server goes on %v after the end of its input", patience)
		return nil
	}
}

// kill ends the server, and what runs it, with SIGKILL.
func (s *server) kill() {
	syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	<-s.ended
	s.stdin.Close()
}

// restart starts a server on the folder and stops it at once: what a crash left is then settled.
func restart(t *testing.T, dir folder) {
	t.Helper()
	s := start(t, dir, launch{})
	if err := s.stop(); err != nil {
		t.Fatalf("a server that only starts and stops: %v\n%s", err, s.stderr)
	}
}

// newFolder names a ledger folder that does not exist yet.
func newFolder(t *testing.T) folder { return folder(t.TempDir() + "/ledger") }

// command runs a sallyport command and returns its output and exit code.
func command(t *testing.T, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), atOnce)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, args...).CombinedOutput()
	if ctx.Err() != nil {
		t.Errorf("sallyport %s hangs", args[0])
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		return string(out), exit.ExitCode()
	}
	return string(out), 0
}

// mustVerify has the program itself check the ledger.
func mustVerify(t *testing.T, dir folder) {
	t.Helper()
	if out, code := command(t, "verify", string(dir)); code != 0 {
		t.Errorf("sallyport verify: exit code %d: %s", code, out)
	}
}

//go:build unix

package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/wire"
)

func contextOfProcess() context.Context { return context.Background() }

func parsed(line string) wire.Outgoing {
	m, refused := wire.Scan([]byte(line))
	if refused != nil {
		panic(refused)
	}
	return wire.Outgoing{Line: m.Raw.Bytes(), ID: m.ID, Method: m.Method, Params: m.Params, Era: wire.Legacy}
}

// opened is a conversation with a server that the test closes.
func opened(t *testing.T, cfg Config) (*Server, wire.Link) {
	t.Helper()
	s := New(cfg)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	link, err := s.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, link
}

func called(t *testing.T, link wire.Link, line string) wire.Incoming {
	t.Helper()
	m, err := link.Call(t.Context(), outgoing(t, line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return m
}

func pidOf(link wire.Link) int {
	return link.(*conducted).Link.(*conversation).process.cmd.Process.Pid
}

// alive reports whether a process runs, and is more than a zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return runtime.GOOS != "linux"
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func isGone(t *testing.T, what string, pid int, within time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(within); alive(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%s %d is alive %s later", what, pid, within)
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return
		}
	}
}

func TestProcessGetsWhatItsEntryNames(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg := self(t, "legacy", "A=1", "EMPTY=")
	cfg.Args, cfg.Dir = []string{"-x", "a b", ""}, dir
	_, link := opened(t, cfg)
	var got map[string]any
	if err := json.Unmarshal(called(t, link, `{"jsonrpc":"2.0","id":1,"method":"world"}`).Result.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"env": []any{serverVariable + "=legacy", "A=1", "EMPTY="}, "dir": dir, "args": []any{"-x", "a b", ""},
		"leads": true, "nonblocking": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the process (-want +got):\n%s", diff)
	}
}

func TestLookPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"runs": 0o755, "plain": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(mustGetwd(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ command, path, want string }{
		{"runs", dir, filepath.Join(dir, "runs")},
		{"runs", "/nowhere:" + dir, filepath.Join(dir, "runs")},
		{"./runs", "", "./runs"},
		{"plain", dir, ""},
		{"folder", dir, ""},
		{"runs", relative, ""},
		{"runs", "", ""},
		{"sh", dir, ""}, // it is in our own PATH
		{"", dir, ""},
	} {
		got, err := lookPath(test.command, []string{"PATH=/wrong", "PATH=" + test.path})
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%q in %q: got %q and %v, want %q", test.command, test.path, got, err, test.want)
		}
	}
}

func mustGetwd(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCloseIsQuickWithAGoodServer(t *testing.T) {
	t.Parallel()
	s, link := opened(t, self(t, "legacy"))
	called(t, link, `{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}`)
	pid := pidOf(link)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if state := link.(*conducted).Link.(*conversation).process.state; state != "exit status 0" {
		t.Errorf("the server ended with %s, and not by the end of its input", state)
	}
	if alive(pid) || groupLives(pid) {
		t.Error("the server is alive")
	}
	_, err := link.Call(t.Context(), outgoing(t, call1))
	if notSent := new(wire.NotSentError); !errors.As(err, &notSent) {
		t.Errorf("a call after Close gives %v, want a NotSentError", err)
	}
	if _, err := s.Open(t.Context(), nil); err == nil {
		t.Error("a closed server can be opened")
	}
}

func TestCloseEndsTheStubborn(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]string{"the server itself": "deaf", "what it has started": "orphan"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, link := opened(t, self(t, "legacy"))
			m := called(t, link, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`)
			pid := pidOf(link)
			child, _ := m.Result.Int()
			if method == "orphan" && !alive(int(child)) {
				t.Fatal("the server has started nothing")
			}
			start := time.Now()
			if err := link.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took < grace || took > 5*grace {
				t.Errorf("closing took %s", took)
			}
			if alive(pid) || child > 0 && alive(int(child)) {
				t.Error("somebody is alive")
			}
		})
	}
}

// A server that reads nothing more holds up neither Close nor those who wait for it to read.
func TestCloseWithAFullPipe(t *testing.T) {
	t.Parallel()
	_, link := opened(t, self(t, "legacy"))
	called(t, link, `{"jsonrpc":"2.0","id":1,"method":"deaf"}`)
	ended := make(chan error)
	for id := 2; id < 6; id++ {
		r := outgoing(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x","params":{"text":"%s"}}`, id, strings.Repeat("x", 2<<20)))
		go func() {
			_, err := link.Call(context.Background(), r)
			ended <- err
		}()
		out := link.(*conducted).Link.(*conversation).out
		eventually(t, "the request is on its way", func() bool {
			out.mu.Lock()
			defer out.mu.Unlock()
			return len(out.queue) == id-1
		})
	}
	if err := link.Close(); err != nil {
		t.Error(err)
	}
	lost, notSent := 0, 0
	for range 4 {
		switch err := <-ended; {
		case errors.As(err, new(*wire.LostError)):
			lost++
		case errors.As(err, new(*wire.NotSentError)):
			notSent++
		default:
			t.Errorf("a call ends with %v", err)
		}
	}
	if lost != 1 || notSent != 3 {
		t.Errorf("%d requests were lost and %d not sent, want 1, of which a part was sent, and 3", lost, notSent)
	}
}

// The direct child may end and leave behind what it has started: that goes too, and nobody waits for answers from it.
func TestExitWithGroupLeftBehind(t *testing.T) {
	t.Parallel()
	_, link := opened(t, self(t, "legacy"))
	m := called(t, link, `{"jsonrpc":"2.0","id":1,"method":"orphan"}`)
	orphan, _ := m.Result.Int()
	_, err := link.Call(t.Context(), outgoing(t, `{"jsonrpc":"2.0","id":2,"method":"exit:3"}`))
	if !errors.As(err, new(*wire.LostError)) || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v, want a LostError with the status", err)
	}
	isGone(t, "what the server has started", int(orphan), 2*grace)
}

// Whoever kills us leaves no server behind, nor what it has started.
func TestNothingOutlivesOurDeath(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(self(t, "").Command)
	cmd.Env = []string{serverVariable + "=keeper"}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var server, orphan int
	if _, err := fmt.Sscan(line, &server, &orphan); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	watchers := childrenOf(t, cmd.Process.Pid)
	if len(watchers) < 2 || !alive(server) || !alive(orphan) {
		t.Fatalf("server %d, orphan %d, children %v: something is not there", server, orphan, watchers)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	isGone(t, "the server", server, 2*time.Second)
	isGone(t, "what it has started", orphan, 2*time.Second)
	for _, pid := range watchers {
		isGone(t, "a child", pid, 2*time.Second)
	}
}

// childrenOf returns the numbers of the processes that pid is the parent of.
func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		t.Skip("there is no ps:", err)
	}
	var children []int
	for line := range bytes.Lines(out) {
		var child, parent int
		if _, err := fmt.Sscan(string(line), &child, &parent); err == nil && parent == pid {
			children = append(children, child)
		}
	}
	return children
}

func TestDeathLosesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{
		"exit:3": "the server fake died (exit status 3)", "crash": "signal: killed", "close": "closed its output",
		"exit:0": "exit status 0",
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			s, link := opened(t, self(t, "legacy"))
			hanging := make(chan error)
			go func() {
				_, err := link.Call(context.Background(), parsed(`{"jsonrpc":"2.0","id":1,"method":"hang"}`))
				hanging <- err
			}()
			called(t, link, `{"jsonrpc":"2.0","id":2,"method":"echo","params":{}}`)
			_, err := link.Call(t.Context(), outgoing(t, `{"jsonrpc":"2.0","id":3,"method":"`+method+`"}`))
			for _, err := range []error{err, <-hanging} {
				if lost := new(wire.LostError); !errors.As(err, &lost) || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want a LostError that says %q", err, want)
				}
			}
			<-link.Done()
			_, err = s.Open(t.Context(), nil)
			if notSent := new(wire.NotSentError); !errors.As(err, &notSent) || !strings.Contains(err.Error(), "retry in") {
				t.Errorf("opening at once gives %v, want a NotSentError that says when to retry", err)
			}
			eventually(t, "the server can be opened again", func() bool {
				again, err := s.Open(t.Context(), nil)
				return err == nil && again != nil
			})
		})
	}
}

func TestBackOff(t *testing.T) {
	var got []time.Duration
	for failures := range 11 {
		got = append(got, backOff(failures+1))
	}
	want := []time.Duration{100e6, 200e6, 400e6, 800e6, 1600e6, 3200e6, 6400e6, 12800e6, 25600e6, 30e9, 30e9}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s := New(Config{Name: "x"})
	for range 3 {
		s.failed(time.Second)
	}
	if s.failures != 3 || s.mayOpen() == nil {
		t.Errorf("after three failures there are %d, and mayOpen says %v", s.failures, s.mayOpen())
	}
	if s.failed(steady); s.failures != 1 {
		t.Errorf("after a conversation that lived long there are %d failures, want 1", s.failures)
	}
}

func TestServerThatCannotStart(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{{Command: "/nowhere/at/all"}, {Command: "nothing"}, {Command: "/bin/sh", Dir: "/nowhere"}} {
		s := New(cfg)
		_, err := s.Open(t.Context(), nil)
		if notSent := new(wire.NotSentError); !errors.As(err, &notSent) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want a NotSentError of one line", cfg.Command, err)
		}
		if s.mayOpen() == nil {
			t.Errorf("%s: there is no back-off", cfg.Command)
		}
	}
}

func TestStderrGoesToTheLog(t *testing.T) {
	t.Parallel()
	log := &safeLog{}
	cfg := self(t, "legacy")
	cfg.Log = slog.New(slog.NewJSONHandler(log, nil))
	_, link := opened(t, cfg)
	called(t, link, `{"jsonrpc":"2.0","id":1,"method":"stderr:100000"}`)
	if err := link.Close(); err != nil {
		t.Error(err)
	}
	text := log.String()
	if n := strings.Count(text, `"upstream stderr"`); n < stderrBurst || n > 2*stderrBurst {
		t.Errorf("%d of 100000 lines are in the log, want about %d", n, stderrBurst)
	}
	for _, want := range []string{`"server":"fake"`, "line 0 \uFFFD[31m\uFFFDof stderr", "lines_left_out"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log has no %s:\n%.500s", want, text)
		}
	}
	if strings.ContainsAny(text, "\x1b\u202e") {
		t.Error("the log has control characters of the server's")
	}
}

func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		s := New(self(t, "legacy"))
		link, err := s.Open(t.Context(), func(wire.Incoming) {})
		if err != nil {
			t.Fatal(err)
		}
		called(t, link, `{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}`)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

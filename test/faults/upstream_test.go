//go:build linux

package faults_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The environment of this test binary when it is a server behind the gate: where it notes its effects, and what it does at
// which step of its first call.
const (
	upstreamEffects = "FAULTS_UPSTREAM_EFFECTS"
	upstreamDeath   = "FAULTS_UPSTREAM_DEATH" // VICTIM:STEP
)

// upstreamMain is an MCP server with one tool, add, which adds a line to a file.
func upstreamMain(effects string) int {
	victim, step, _ := strings.Cut(os.Getenv(upstreamDeath), ":")
	die := func(at string) {
		if at != step {
			return
		}
		pid := os.Getpid()
		if victim == "gate" {
			pid = os.Getppid()
		}
		syscall.Kill(pid, syscall.SIGKILL)
		time.Sleep(200 * time.Millisecond) // for the death of another to sink in
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var request struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(lines.Bytes(), &request) != nil || request.ID == nil {
			continue
		}
		result := `{}`
		switch request.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"adder","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			die("received")
			f, err := os.OpenFile(effects, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				_, err = f.WriteString("added\n")
			}
			if err != nil {
				return 1
			}
			f.Close()
			die("acted")
			result = fmt.Sprintf(`{"content":[{"type":"text","text":"added by %d"}]}`, os.Getpid())
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", request.ID)
			continue
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, result)
		if request.Method == "tools/call" {
			die("answered")
		}
	}
	return 0
}

// adder is the server behind the gate, with the file of its effects.
type adder struct {
	t               *testing.T
	dir             folder
	policy, effects string
	key             string
}

func newAdder(t *testing.T, terms string) adder {
	t.Helper()
	dir := t.TempDir()
	a := adder{t: t, dir: folder(filepath.Join(dir, "ledger")), policy: filepath.Join(dir, "policy.yaml"), effects: filepath.Join(dir, "effects"), key: "the-only-one"}
	text := "version: 2\ndefault: deny\nrules: [{id: add, decision: allow, tools: [add], mutation: {key: request_id" + terms + "}}]\n"
	if err := os.WriteFile(a.policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// verify holds the ledger to its chain.
func (a adder) verify() {
	a.t.Helper()
	if err := a.dir.verify(); err != nil {
		a.t.Error(err)
	}
}

// count is how often the effect happened.
func (a adder) count() int {
	text, _ := os.ReadFile(a.effects)
	return strings.Count(string(text), "\n")
}

// add calls the tool once, in a gate of its own, and returns the answer as a line; "" if there was none. before is the
// command that runs the gate's.
func (a adder) add(death string, before ...string) string {
	a.t.Helper()
	args := append(append([]string{}, before...), binary, "wrap", "--policy", a.policy, "--ledger", string(a.dir), "--name", "adder", "--", writerBinary)
	gate := exec.Command(args[0], args[1:]...)
	gate.Env = append(os.Environ(), upstreamEffects+"="+a.effects, upstreamDeath+"="+death)
	gate.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr := &output{}
	gate.Stderr = stderr
	stdin, err := gate.StdinPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	stdout, err := gate.StdoutPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	if err := gate.Start(); err != nil {
		a.t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { syscall.Kill(-gate.Process.Pid, syscall.SIGKILL) })
	defer late.Stop()
	fmt.Fprint(stdin, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"request_id":"`+a.key+`"}}}`+"\n")
	answer := ""
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"id":1,`) {
			answer = lines.Text()
			break
		}
	}
	stdin.Close()
	gate.Wait()
	syscall.Kill(-gate.Process.Pid, syscall.SIGKILL)
	if strings.Contains(stderr.String(), "DATA RACE") {
		a.t.Errorf("a race in the gate:\n%s", stderr)
	}
	return answer
}

// settled says of an answer whether it tells of the effect, and whether it says that nobody knows.
func (a adder) settled(answer string) (told, unknown bool) {
	return strings.Contains(answer, "added by"), strings.Contains(answer, "inconclusive")
}

// Whoever dies at whatever step of a keyed mutation: the effect is there once at most, whatever is sent again; and what was
// answered once is answered again.
func TestMutationOfAnUpstreamHappensOnce(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{"gate", "upstream"} {
		for _, step := range []string{"received", "acted", "answered"} {
			t.Run(victim+" dies when the upstream has "+step, func(t *testing.T) {
				t.Parallel()
				a := newAdder(t, "")
				first := a.add(victim + ":" + step)
				toldFirst, _ := a.settled(first)
				happened := a.count()
				if step != "received" && happened != 1 {
					t.Fatalf("the effect happened %d times at first: the test tests nothing", happened)
				}
				for range 3 {
					again := a.add("")
					told, unknown := a.settled(again)
					switch {
					case toldFirst && again != first:
						t.Errorf("a retry was answered\n%s\nand at first it was\n%s", again, first)
					case told == unknown:
						t.Errorf("a retry was answered %q, want the first answer or inconclusive", again)
					}
				}
				if got := a.count(); got != happened {
					t.Errorf("the effect happened %d times after %d", got, happened)
				}
				a.verify()
			})
		}
	}
}

// Where the operator says that the tool is idempotent, what nobody knows is sent again.
func TestIdempotentMutationIsSentAgainAfterACrash(t *testing.T) {
	t.Parallel()
	a := newAdder(t, ", idempotent: true")
	a.add("gate:received")
	again := a.add("")
	if told, _ := a.settled(again); !told || a.count() < 1 {
		t.Errorf("a retry was answered %q, with %d effects", again, a.count())
	}
	if replay := a.add(""); replay != again {
		t.Errorf("then\n%s\nand before\n%s", replay, again)
	}
}

// The gate dies at each of the syncs and writes to its claims and to its ledger, in turn.
func TestGateDiesAtEachOfItsOwnSteps(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for _, file := range []string{"claims.log", "ledger.jsonl"} {
		for _, call := range []string{"fdatasync", "pwrite64", "io_submit"} {
			if call == "io_submit" && file != "claims.log" {
				continue
			}
			t.Run(call+" of "+file, func(t *testing.T) {
				t.Parallel()
				dieAtEach(t, file, call)
			})
		}
	}
}

// dieAtEach lets the gate die at the first of the calls on a file, then at the second, and so on, until it lives. strace
// counts the calls of each thread for itself, so there are fewer such steps than calls; internal/gate enumerates them all.
func dieAtEach(t *testing.T, file, call string) {
	killed := 0
	for n := 1; ; n++ {
		if n > 24 {
			t.Fatalf("the gate never survived: more than 24 calls of %s for one mutation?", call)
		}
		a := newAdder(t, "")
		earlier := a
		earlier.key = "earlier"
		earlier.add("") // so that the files are there, and the first step is one of the call's
		first := a.add("", killedAt(a.dir.path(file), call, n)...)
		again := a.add("")
		told, unknown := a.settled(again)
		if told == unknown {
			t.Errorf("#%d: a retry was answered %q", n, again)
		}
		if replay := a.add(""); told && replay != again || first != "" && again != first {
			t.Errorf("#%d: answers differ: %q, %q, %q", n, first, again, replay)
		}
		if got := a.count() - 1; got > 1 || told && got != 1 {
			t.Errorf("#%d: the effect happened %d times", n, got)
		}
		a.verify()
		if first != "" {
			break
		}
		killed++
	}
	if killed == 0 {
		t.Error("the gate was never killed: the test tests nothing")
	}
	t.Logf("killed at %d steps", killed)
}

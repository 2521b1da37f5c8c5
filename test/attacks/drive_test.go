//go:build unix

package attacks_test

import (
	"bufio"
	"bytes"
	"encoding/json"
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
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// syscallTerm asks a gate to end.
const syscallTerm = syscall.SIGTERM

const allowAll = "version: 2\nstarter: off\ndefault: allow\n"

// place is where one gate and its puppet live.
type place struct {
	dir, policy, ledger, home string
}

func newPlace(t *testing.T, policy string) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{dir: dir, policy: filepath.Join(dir, "policy.yaml"), ledger: filepath.Join(dir, "ledger"), home: filepath.Join(dir, "home")}
	if err := os.Mkdir(p.home, 0o700); err != nil {
		t.Fatal(err)
	}
	p.write(t, "policy.yaml", policy)
	return p
}

func (p *place) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p *place) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(p.dir, name))
	return string(text)
}

// wrap starts the gate in front of one puppet.
func (p *place) wrap(t *testing.T, extra ...string) *gate {
	t.Helper()
	args := append([]string{"wrap", "--name", "puppet", "--policy", p.policy, "--ledger", p.ledger}, extra...)
	return p.start(t, append(args, "--", self, "puppet", p.dir)...)
}

// gate is a running sallyport.
type gate struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan []byte
	stderr lockedBuffer
}

type lockedBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (p *place) start(t *testing.T, args ...string) *gate {
	t.Helper()
	g := &gate{cmd: exec.Command(sallyport, args...), lines: make(chan []byte, 100_000)}
	g.cmd.Dir = p.dir
	g.cmd.Env = append(os.Environ(), "HOME="+p.home, "SALLYPORT_OPERATOR_TOKEN=operators-own", "SECRET_OF_OURS=swordfish")
	g.cmd.Stderr = &g.stderr
	var err error
	if g.stdin, err = g.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(g.lines)
		in := bufio.NewReaderSize(stdout, 1<<20)
		for {
			line, err := in.ReadBytes('\n')
			if len(line) > 0 {
				g.lines <- bytes.TrimSuffix(line, []byte("\n"))
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = g.stdin.Close()
		stop := time.AfterFunc(patience, func() {
			t.Error("the gate does not end with its input")
			_ = g.cmd.Process.Signal(syscall.SIGQUIT)
			time.AfterFunc(time.Second, func() { _ = g.cmd.Process.Kill() })
		})
		<-read
		_ = g.cmd.Wait()
		stop.Stop()
		if text := g.stderr.String(); strings.Contains(text, "panic") || t.Failed() {
			if !t.Failed() {
				t.Error("the gate met a bug")
			}
			t.Logf("stderr:\n%s", last(text, 8000))
		}
	})
	return g
}

func last(text string, most int) string {
	if len(text) > most {
		return "..." + text[len(text)-most:]
	}
	return text
}

func (g *gate) say(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(g.stdin, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
}

// hear returns the next line.
func (g *gate) hear(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-g.lines:
		if !ok {
			t.Fatal("the gate has ended")
		}
		return string(line)
	case <-time.After(patience):
		t.Fatal("nothing was heard for long")
	}
	return ""
}

// hearAnswer returns the next line that has the id, as it is spelt, and passes over others.
func (g *gate) hearAnswer(t *testing.T, id string) string {
	t.Helper()
	for {
		line := g.hear(t)
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal([]byte(line), &m) == nil && string(m.ID) == id && m.Method == "" {
			return line
		}
	}
}

// greet shakes hands in the older era.
func (g *gate) greet(t *testing.T) {
	t.Helper()
	g.say(t, `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"elicitation":{},"roots":{}},"clientInfo":{"name":"hostile","version":"1"}}}`)
	g.hearAnswer(t, `"hello"`)
	g.say(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func legacyCall(id any, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

func modernCall(id any, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, id, tool, arguments, modernMeta)
}

// saying are the arguments that let the puppet say something.
func saying(t *testing.T, lines ...string) string {
	t.Helper()
	for i := range lines {
		lines[i] += "\n"
	}
	text, err := json.Marshal(order{Say: lines})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func itoa(n int) string { return fmt.Sprint(n) }

// hearAll returns the answers to the ids, as they are spelt, in whatever order they come.
func (g *gate) hearAll(t *testing.T, ids ...string) map[string]string {
	t.Helper()
	answers := map[string]string{}
	for _, id := range ids {
		answers[id] = ""
	}
	for left := len(ids); left > 0; {
		line := g.hear(t)
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal([]byte(line), &m) != nil || m.Method != "" {
			continue
		}
		if before, ok := answers[string(m.ID)]; ok {
			if before != "" {
				t.Errorf("%s was answered twice: %s and %s", m.ID, before, line)
				continue
			}
			answers[string(m.ID)] = line
			left--
		}
	}
	return answers
}

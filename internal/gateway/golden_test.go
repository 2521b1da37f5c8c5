package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/gateway"
	"sallyport/internal/wire"
)

var update = flag.Bool("update", false, "write what the server says into testdata/*.txtar")

// TestConversations plays the conversations in testdata/*.txtar. Each file in an archive is one, with a client of its
// own. Its lines are:
//
//	> TEXT     the client sends TEXT and a line feed
//	>q "TEXT"  the client sends the bytes of a Go string, with no line feed added
//	< TEXT     the server has sent TEXT before the client goes on; all that it sends is here, byte for byte
//	! release  one call of the tool slow goes on
//	! hide T   the policy hides the tool T from now on, and the server is told that the policy changed
//	! show T   likewise
//
// At the end the client closes its end, and what the server says then follows "! end", in alphabetical order.
func TestConversations(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			for i, file := range archive.Files {
				t.Run(file.Name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						got := play(t, string(file.Data))
						if *update {
							archive.Files[i].Data = []byte(got)
						} else if diff := cmp.Diff(string(file.Data), got); diff != "" {
							t.Errorf("conversation (-want +got):\n%s", diff)
						}
					})
				})
			}
		})
		if *update {
			if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// play says the client's lines of a script and returns it with what the server really said.
func play(t *testing.T, script string) string {
	p := newPeer(t)
	var got strings.Builder
	listen := func(lines []string) {
		for _, line := range lines {
			checkLine(t, line)
			got.WriteString("< " + line + "\n")
		}
	}
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "<":
			continue
		case ">":
			p.write(rest + "\n")
		case ">q":
			text, err := strconv.Unquote(rest)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			p.write(text)
		case "!":
			if rest == "end" {
				continue
			}
			p.command(rest)
		case "#", "":
		default:
			t.Fatalf("what is this line: %s", line)
		}
		got.WriteString(line + "\n")
		listen(p.heard())
	}
	p.in.Close()
	if err := <-p.done; err != nil {
		t.Errorf("ServeLines returned %v", err)
	}
	if last := p.heard(); len(last) > 0 {
		got.WriteString("! end\n")
		slices.Sort(last)
		listen(last)
	}
	return got.String()
}

// checkLine holds a line of the server to what goes for all: it is JSON-RPC, and never a request.
func checkLine(t *testing.T, line string) {
	t.Helper()
	var messages []map[string]json.RawMessage
	if !strings.HasPrefix(line, "[") {
		line = "[" + line + "]"
	}
	if err := json.Unmarshal([]byte(line), &messages); err != nil {
		t.Fatalf("the server said %s: %v", line, err)
	}
	for _, m := range messages {
		_, id := m["id"]
		name, method := m["method"]
		_, result := m["result"]
		_, failure := m["error"]
		if string(m["jsonrpc"]) != `"2.0"` || id == method || method == (result != failure) {
			t.Errorf("the server said what is neither an answer nor a notification: %s", line)
		}
		switch string(name) {
		case "", `"notifications/subscriptions/acknowledged"`, `"notifications/tools/list_changed"`:
		default:
			t.Errorf("a server like this does not send %s", name)
		}
	}
}

// peer is a client of a Server with a fake door, within a synctest bubble.
type peer struct {
	t    *testing.T
	door *door
	in   *io.PipeWriter
	done chan error

	server *gateway.Server
	stop   context.CancelFunc

	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func newPeer(t *testing.T) *peer {
	r, in := io.Pipe()
	p := &peer{t: t, door: newDoor(), in: in, done: make(chan error, 1)}
	p.server = &gateway.Server{Door: p.door, Tools: tools, Version: "1.2.3", Instructions: "Write \"notes\"."}
	ctx, stop := context.WithCancel(t.Context())
	p.stop = stop
	t.Cleanup(stop)
	go func() { p.done <- p.server.ServeLines(ctx, r, p, wire.Options{}) }()
	return p
}

func (p *peer) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

func (p *peer) write(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, text); err != nil {
		p.t.Fatal(err)
	}
}

// heard waits until nothing moves any more and returns the lines that came since it was called last.
func (p *peer) heard() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for line := range strings.Lines(p.text.String()) {
		if !strings.HasSuffix(line, "\n") {
			p.t.Errorf("a line without its end: %s", line)
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	p.text.Reset()
	return lines
}

func (p *peer) command(command string) {
	verb, name, _ := strings.Cut(command, " ")
	switch verb {
	case "release":
		p.door.release <- struct{}{}
	case "hide", "show":
		p.door.hide(name, verb == "hide")
		p.server.Refresh()
	default:
		p.t.Fatalf("unknown command %q", command)
	}
}

// tools are what the servers of the tests have. Which are visible and what they do is for the door to say.
var tools = []*gate.Tool{
	{Name: "write_note", Definition: []byte(`{"name":"write_note","inputSchema":{"type":"object"},"_meta":{"n":9007199254740993}}`)},
	{Name: "echo", Definition: []byte("{\"name\":\"echo\",\n \"inputSchema\":{\"type\":\"object\",\"x\":1.0}}")},
	{Name: "rm_rf", Definition: []byte(`{"name":"rm_rf","inputSchema":{"type":"object"}}`)},
	{Name: "slow", Definition: []byte(`{"name":"slow","inputSchema":{"type":"object"}}`)},
}

// door stands for the gate: it hides and denies rm_rf and what does not exist, denies write_note, and lets the others
// do what their names say.
type door struct {
	release chan struct{}

	mu     sync.Mutex // guards what follows
	hidden map[string]bool
	calls  []gate.Call
}

func newDoor() *door {
	return &door{release: make(chan struct{}), hidden: map[string]bool{"rm_rf": true}}
}

func (d *door) hide(name string, hidden bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hidden[name] = hidden
}

func (d *door) Visible(_ gate.Caller, tool *gate.Tool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.hidden[tool.Name]
}

func (d *door) Preview(gate.Call) gate.Preview { return gate.Preview{} }

func (d *door) MethodVisible(c gate.Caller, method string) bool {
	return d.Visible(c, &gate.Tool{Name: method})
}

func (d *door) Do(ctx context.Context, c gate.Call) (gate.Result, error) {
	d.mu.Lock()
	d.calls = append(d.calls, c)
	d.mu.Unlock()
	if c.Tool == nil || !d.Visible(c.Caller, c.Tool) {
		return gate.Result{}, &gate.DeniedError{Tool: c.Name, Rule: "secret rule", Reason: "secret reason", Hidden: true}
	}
	switch how, _ := c.Args.Get("how").Text(); {
	case c.Name == "write_note":
		return gate.Result{}, &gate.DeniedError{Tool: c.Name, Rule: "arg_rules.write_note.text", Reason: "Say \"please\"."}
	case c.Name == "slow":
		select {
		case <-d.release:
		case <-ctx.Done():
			return gate.Result{}, ctx.Err()
		}
	case how == "unavailable":
		return gate.Result{}, &gate.UnavailableError{}
	case how == "fails":
		return gate.Result{}, errors.New("a secret of the operator")
	case how == "panics":
		panic("a secret of the programmer")
	case how == "no object":
		return gate.Result{Body: []byte(`[]`)}, nil
	case how == "empty object":
		return gate.Result{Body: []byte(` { } `)}, nil
	case how == "tool error":
		return gate.Result{Body: []byte(`{"content":[],"isError":true}`)}, nil
	}
	body := canon.AppendString([]byte(`{"content":[{"type":"text","text":`), string(c.Args.Bytes()))
	body = append(body, `}],"structuredContent":`...)
	if !c.Args.Exists() {
		body = append(body, `"no arguments"`...)
	}
	return gate.Result{Body: append(append(body, c.Args.Bytes()...), '}')}, nil
}

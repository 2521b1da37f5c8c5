package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"sallyport/internal/gate"
	"sallyport/internal/gateway"
	"sallyport/internal/policy"
	"sallyport/internal/wire"
)

// TestRelayedConversations plays the conversations in testdata/relay/*.txtar, between a client, a server and upstreams.
// Their lines are:
//
//	> TEXT              the client sends TEXT, in which "OWN" is the id of ours that it was asked something under last
//	>q "TEXT"           the client sends the bytes of a Go string
//	< TEXT              the client has been sent TEXT before the next line
//	: NAME TEXT         the upstream NAME has been sent TEXT, or "negotiate" or "cancelled ID"; OWN is an id of ours
//	= NAME TEXT         the upstream NAME says TEXT
//	! upstream NAME ERA RESULT    there is such an upstream, of that era, with that welcome; before all else
//	! tool NAME                   there is such a tool of our own; before all else
//	! rows NAME METHOD RESULT     what it answers to our own request
//	! die NAME, ! down NAME, ! up NAME
//	! deny X, ! allow X           the policy denies the tool or the method X from now on
//	! hide X, ! show X            likewise, and X must not be known to exist
//	! ask X                       likewise, and it asks a person; "! agree" and "! refuse" are that person at the terminal
//	! verify X TOOL               what calls of X leave is looked at by TOOL, and is as expected if that says "as expected"
//	! wait DURATION
//
// What was sent between two lines stands upstream by upstream, then the client's.
func TestRelayedConversations(t *testing.T) {
	paths, err := filepath.Glob("testdata/relay/*.txtar")
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
						got := playRelayed(t, string(file.Data))
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

func playRelayed(t *testing.T, script string) string {
	var ups []*fake
	var own []*gate.Tool
	var p *relayed
	var got strings.Builder
	listen := func() {
		synctest.Wait()
		for _, f := range ups {
			for _, line := range f.received() {
				got.WriteString(": " + f.name + " " + line + "\n")
			}
		}
		for _, line := range p.heard() {
			got.WriteString("< " + line + "\n")
		}
	}
	named := func(name string) *fake {
		i := slices.IndexFunc(ups, func(f *fake) bool { return f.name == name })
		if i < 0 {
			t.Fatalf("there is no upstream %q", name)
		}
		return ups[i]
	}
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		kind, rest, _ := strings.Cut(line, " ")
		name, text, _ := strings.Cut(rest, " ")
		if kind == "<" || kind == ":" {
			continue
		}
		if kind == "!" && name == "end" {
			continue
		}
		if kind == "!" && name == "upstream" {
			ups = append(ups, newFake(text))
			got.WriteString(line + "\n")
			continue
		}
		if kind == "!" && name == "tool" {
			own = append(own, echoes(text))
			got.WriteString(line + "\n")
			continue
		}
		if p == nil {
			p = newRelayedAs(t, func(s *gateway.Server) { s.Tools = own }, ups...)
		}
		switch kind {
		case ">":
			p.write(rest + "\n")
		case ">q":
			text, err := strconv.Unquote(rest)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			p.write(text)
		case "=":
			named(name).says(text)
		case "!":
			p.command(name, text, named)
		case "#", "":
		default:
			t.Fatalf("what is this line: %s", line)
		}
		got.WriteString(line + "\n")
		listen()
	}
	p.end()
	var last strings.Builder
	before := got.String()
	got.Reset()
	listen()
	last.WriteString(before)
	if got.Len() > 0 {
		last.WriteString("! end\n" + got.String())
	}
	return last.String()
}

// newFake reads "NAME ERA WELCOME".
func newFake(text string) *fake {
	name, rest, _ := strings.Cut(text, " ")
	era, welcome, _ := strings.Cut(rest, " ")
	f := &fake{name: name, welcome: welcome, lists: make(map[string]string)}
	switch era {
	case "legacy":
		f.era = wire.Legacy
	case "modern":
		f.era = wire.Modern
	}
	return f
}

// relayed is a client of a Server with upstreams, within a synctest bubble.
type relayed struct {
	t      *testing.T
	server *gateway.Server
	door   *relayDoor
	in     *io.PipeWriter
	done   chan error
	stop   context.CancelFunc
	asked  string // the id of ours that the client heard last

	mu   sync.Mutex // guards text and logs
	text bytes.Buffer
}

func newRelayed(t *testing.T, ups ...*fake) *relayed { return newRelayedAs(t, nil, ups...) }

// newRelayedAs is newRelayed with a server that set has changed before it is used.
func newRelayedAs(t *testing.T, set func(*gateway.Server), ups ...*fake) *relayed {
	r, in := io.Pipe()
	p := &relayed{t: t, door: newRelayDoor(), in: in, done: make(chan error, 1)}
	p.server = &gateway.Server{Door: p.door, Version: "1.2.3"}
	for _, f := range ups {
		p.server.Upstreams = append(p.server.Upstreams, f)
	}
	if set != nil {
		set(p.server)
	}
	ctx, stop := context.WithCancel(t.Context())
	p.stop = stop
	go func() { p.done <- p.server.ServeLines(ctx, r, p, wire.Options{}) }()
	return p
}

// end closes the client's end, and then the server.
func (p *relayed) end() {
	p.t.Helper()
	p.in.Close()
	if err := <-p.done; err != nil {
		p.t.Errorf("ServeLines returned %v", err)
	}
	if err := p.server.Close(); err != nil {
		p.t.Errorf("Close returned %v", err)
	}
	p.stop()
}

func (p *relayed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

func (p *relayed) write(text string) {
	p.t.Helper()
	text = strings.ReplaceAll(text, `"OWN"`, `"`+p.asked+`"`)
	if _, err := io.WriteString(p.in, text); err != nil {
		p.t.Fatal(err)
	}
}

// heard waits until nothing moves any more and returns the lines that came since it was called last.
func (p *relayed) heard() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for line := range strings.Lines(p.text.String()) {
		if id := ownIDs.FindString(line); id != "" {
			p.asked = id
		}
		line = ownIDs.ReplaceAllString(strings.TrimSuffix(line, "\n"), "OWN")
		if !json.Valid([]byte(line)) {
			p.t.Errorf("the client was sent what is no JSON: %s", line)
		}
		lines = append(lines, line)
	}
	p.text.Reset()
	return lines
}

func (p *relayed) command(verb, text string, named func(string) *fake) {
	name, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "rows":
		method, result, _ := strings.Cut(rest, " ")
		f := named(name)
		f.mu.Lock()
		f.lists[method] = result
		f.mu.Unlock()
	case "die":
		named(name).die()
	case "down", "up":
		f := named(name)
		f.mu.Lock()
		f.down = verb == "down"
		f.mu.Unlock()
	case "deny", "allow", "hide", "show", "ask":
		p.door.set(name, verb)
		p.server.Refresh()
	case "verify":
		p.door.verify(name, rest)
	case "agree", "refuse":
		p.door.decide(verb == "agree")
	case "wait":
		d, err := time.ParseDuration(name)
		if err != nil {
			p.t.Fatal(err)
		}
		time.Sleep(d)
	default:
		p.t.Fatalf("unknown command %q", verb)
	}
}

// relayDoor allows everything but what it was told to deny, and runs it with a real permit of a real gate's shape: calls
// go through invoke, which a test may replace.
type relayDoor struct {
	mu    sync.Mutex // guards what follows
	rules map[string]string
	calls []gate.Call
	looks map[string]string // the tools that look at what others leave
	asked []*asked
	count int // of what was asked

	invoke func(ctx context.Context, c gate.Call) (gate.Result, error)
}

func newRelayDoor() *relayDoor {
	d := &relayDoor{rules: make(map[string]string), looks: make(map[string]string)}
	g := openGate()
	d.invoke = g.Do
	return d
}

func (d *relayDoor) set(name, verb string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rules[name] = verb
}

func (d *relayDoor) rule(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rules[name]
}

func (d *relayDoor) Visible(_ gate.Caller, t *gate.Tool) bool { return d.rule(t.Name) != "hide" }

// Preview says that the policy allows what it was not told to deny.
func (d *relayDoor) Preview(c gate.Call) gate.Preview {
	d.mu.Lock()
	d.calls = append(d.calls, c)
	d.mu.Unlock()
	if c.Tool == nil || d.rule(c.Name) != "" {
		return gate.Preview{Reason: "Not here."}
	}
	return gate.Preview{Decision: policy.Allow}
}

func (d *relayDoor) MethodVisible(_ gate.Caller, method string) bool { return d.rule(method) != "hide" }

func (d *relayDoor) Do(ctx context.Context, c gate.Call) (gate.Result, error) {
	d.mu.Lock()
	d.calls = append(d.calls, c)
	d.mu.Unlock()
	name := c.Name
	if c.Method != "" {
		name = c.Method
	}
	switch rule := d.rule(name); {
	case c.Tool == nil:
		return gate.Result{}, &gate.DeniedError{Tool: c.Name, Rule: "unknown", Reason: "there is no such tool", Hidden: true}
	case rule == "deny":
		return gate.Result{}, &gate.DeniedError{Tool: c.Name, Rule: "no-" + name, Reason: "Not here."}
	case rule == "hide":
		return gate.Result{}, &gate.DeniedError{Tool: c.Name, Rule: "secret rule", Reason: "secret reason", Hidden: true}
	case rule == "ask":
		if err := d.ask(ctx, c); err != nil {
			return gate.Result{}, err
		}
	}
	result, err := d.invoke(ctx, c)
	if look := d.look(c.Name); err == nil && look != "" {
		result.Checks = d.check(ctx, c, look)
	}
	return result, err
}

// seen returns the calls at the door since it was called last.
func (d *relayDoor) seen() []gate.Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	calls := d.calls
	d.calls = nil
	return calls
}

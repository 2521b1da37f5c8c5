//go:build unix

package peers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goClient is the Go SDK's client, connected to a server that it has started.
type goClient struct {
	*mcp.ClientSession
	wire    *transcript   // the messages, as the SDK's own log has them
	listens chan struct{} // a subscription was acknowledged (2026-07-28)
	changed chan struct{} // the list of tools has changed
}

// connect starts a server and lets the SDK's client speak to it in a version of the protocol, or in that which the
// client likes best. At the end of the test the server must go in peace.
func connect(t *testing.T, p place, version string) *goClient {
	t.Helper()
	c := &goClient{wire: &transcript{}, listens: make(chan struct{}, 1), changed: make(chan struct{}, 16)}
	c.wire.showOnFailure(t, "messages")
	stderr := &transcript{}
	stderr.showOnFailure(t, "standard error of the server")

	client := mcp.NewClient(&mcp.Implementation{Name: "peers", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.changed <- struct{}{} },
	})
	client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/subscriptions/acknowledged" {
				c.listens <- struct{}{}
			}
			return next(ctx, method, req)
		}
	})
	command := exec.Command(p.serve()[0], p.serve()[1:]...)
	command.Stderr = stderr
	transport := &mcp.LoggingTransport{
		Transport: &mcp.CommandTransport{Command: command, TerminateDuration: patience},
		Writer:    c.wire,
	}
	session, err := client.Connect(context.Background(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting in version %q: %v\n%s", version, err, stderr)
	}
	c.ClientSession = session
	t.Cleanup(func() { c.leave(t) })
	return c
}

// leave closes the connection. The server must then end by itself, with exit code 0; Close returns what Wait does.
func (c *goClient) leave(t *testing.T) {
	t.Helper()
	began := time.Now()
	if err := c.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	if time.Since(began) >= patience {
		t.Error("closing took a signal")
	}
}

// message is what the tests look at in a message.
type message struct {
	sent   bool
	ID     json.RawMessage
	Method string
	Params struct {
		RequestID json.RawMessage
		Meta      map[string]json.RawMessage `json:"_meta"`
	}
}

// messages returns the messages so far.
func (c *goClient) messages(t *testing.T) []message {
	t.Helper()
	var messages []message
	for line := range strings.Lines(c.wire.String()) {
		direction, text, _ := strings.Cut(line, ": ")
		if direction != "read" && direction != "write" {
			continue // the end of the connection
		}
		m := message{sent: direction == "write"}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
	return messages
}

// sent returns the methods of the messages that the client has sent.
func (c *goClient) sent(t *testing.T) []string {
	t.Helper()
	var methods []string
	for _, m := range c.messages(t) {
		if m.sent {
			methods = append(methods, m.Method)
		}
	}
	return methods
}

// awaitSent waits until the client has sent a message of that method.
func (c *goClient) awaitSent(t *testing.T, method string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !slices.Contains(c.sent(t), method) {
		select {
		case <-ctx.Done():
			t.Fatalf("not in %v: the client sends %s", patience, method)
		case <-time.After(time.Millisecond): // the SDK sends in its own time and tells nobody
		}
	}
}

// list lists the tools.
func (c *goClient) list(t *testing.T) []tool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := c.ListTools(ctx, nil)
	if err != nil {
		t.Fatalf("listing the tools: %v", err)
	}
	text, err := json.Marshal(result.Tools)
	if err != nil {
		t.Fatal(err)
	}
	var tools []tool
	if err := json.Unmarshal(text, &tools); err != nil {
		t.Fatal(err)
	}
	return tools
}

// call calls a tool.
func (c *goClient) call(t *testing.T, name string, args object) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := c.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	var fault *jsonrpc.Error
	if errors.As(err, &fault) {
		var data object
		if fault.Data != nil {
			if err := json.Unmarshal(fault.Data, &data); err != nil {
				t.Errorf("data of the error: %v", err)
			}
		}
		return answer{Code: int(fault.Code), Message: fault.Message, Rule: rule(t, data)}
	}
	if err != nil {
		t.Errorf("calling %s: %v", name, err)
		return answer{}
	}
	seen := answer{Failed: result.IsError}
	seen.Structured, _ = result.StructuredContent.(map[string]any)
	if len(result.Content) > 0 {
		if content, ok := result.Content[0].(*mcp.TextContent); ok {
			seen.Text = content.Text
		}
	}
	return seen
}

// await waits for a signal.
func await(t *testing.T, what string, signal <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case <-signal:
	case <-ctx.Done():
		t.Fatalf("not in %v: %s", patience, what)
	}
}

// modern and legacy are a version of each era.
const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

// inBothEras runs a test in the modern and in the legacy era.
func inBothEras(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range []string{modern, legacy} {
		t.Run(version, func(t *testing.T) { test(t, version) })
	}
}

func TestGoClientNegotiates(t *testing.T) {
	for _, test := range []struct{ asks, gets, opening string }{
		{asks: "", gets: modern, opening: "server/discover"},
		{asks: modern, gets: modern, opening: "server/discover"},
		{asks: legacy, gets: legacy, opening: "initialize"},
		{asks: "2025-06-18", gets: "2025-06-18", opening: "initialize"},
		{asks: "2025-03-26", gets: "2025-03-26", opening: "initialize"},
		{asks: "2024-11-05", gets: "2024-11-05", opening: "initialize"},
	} {
		t.Run("asks for "+test.asks, func(t *testing.T) {
			c := connect(t, newPlace(t), test.asks)
			server := c.InitializeResult()
			if got := server.ProtocolVersion; got != test.gets {
				t.Errorf("version = %q, want %q", got, test.gets)
			}
			if server.ServerInfo == nil || server.ServerInfo.Name != "sallyport" || server.ServerInfo.Version == "" {
				t.Errorf("server = %+v, want sallyport and its version", server.ServerInfo)
			}
			if server.Capabilities.Tools == nil || !server.Capabilities.Tools.ListChanged {
				t.Errorf("capabilities = %+v, want tools with listChanged", server.Capabilities)
			}
			checkList(t, c.list(t))

			sent := c.sent(t)
			if sent[0] != test.opening {
				t.Errorf("the client began with %q, want %q", sent[0], test.opening)
			}
			if wasLegacy := slices.Contains(sent, "initialize"); wasLegacy != (test.opening == "initialize") {
				t.Errorf("the client sent %q, want one era", sent)
			}
		})
	}
}

func TestGoClientHoldsTheConversation(t *testing.T) {
	inBothEras(t, func(t *testing.T, version string) {
		p := newPlace(t)
		c := connect(t, p, version)
		outputs := map[string]*jsonschema.Resolved{}
		for _, tool := range c.list(t) {
			outputs[tool.Name] = compile(t, tool.OutputSchema)
		}
		for _, s := range conversation {
			got := c.call(t, s.tool, s.args)
			s.check(t, got)
			if got.Structured != nil {
				if err := outputs[s.tool].Validate(plain(t, got.Structured)); err != nil {
					t.Errorf("%s: structured content is not what the output schema says: %v", s.tool, err)
				}
			}
		}
		c.leave(t)
		checkRecords(t, p, conversation)
	})
}

// compile makes a schema of the SDK's own kind.
func compile(t *testing.T, text json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatalf("schema %s: %v", text, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatalf("schema %s: %v", text, err)
	}
	return resolved
}

func TestGoClientFindsTheInputSchemasTrue(t *testing.T) {
	c := connect(t, newPlace(t), modern)
	inputs := map[string]*jsonschema.Resolved{}
	for _, tool := range c.list(t) {
		inputs[tool.Name] = compile(t, tool.InputSchema)
	}
	for _, test := range []struct {
		tool  string
		args  object
		valid bool
	}{
		{"write_note", object{"request_id": "schema-1", "text": "a"}, true},
		{"write_note", object{"request_id": "schema-2", "text": ""}, true},
		{"write_note", object{"request_id": "", "text": "a"}, false},
		{"write_note", object{"request_id": "schema-3"}, false},
		{"write_note", object{"text": "a"}, false},
		{"write_note", object{"request_id": 12345678, "text": "a"}, false},
		{"write_note", object{"request_id": "schema-4", "text": nil}, false},
		{"write_note", object{"request_id": "schema-5", "text": []string{"a"}}, false},
		{"write_note", object{"request_id": "schema-6", "text": "a", "Text": "b"}, false},
		{"read_ledger", object{}, true},
		{"read_ledger", object{"limit": 1}, false},
	} {
		if valid := inputs[test.tool].Validate(plain(t, test.args)) == nil; valid != test.valid {
			t.Errorf("%s%v: valid by the input schema = %t, want %t", test.tool, test.args, valid, test.valid)
		}
		if called := c.call(t, test.tool, test.args).Code == 0; called != test.valid {
			t.Errorf("%s%v: called = %t, want %t as the input schema says", test.tool, test.args, called, test.valid)
		}
	}
}

func TestGoClientHearsOfAChangedPolicy(t *testing.T) {
	inBothEras(t, func(t *testing.T, version string) {
		p := newPlace(t)
		c := connect(t, p, version)
		if version == modern {
			await(t, "the subscription is acknowledged", c.listens)
		}
		checkList(t, c.list(t))

		p.setPolicy(t, withoutWriting)
		p.hangUp(t)
		await(t, "the client hears that the list has changed", c.changed)
		diff(t, "listed tools", names(c.list(t)), []string{"read_ledger"})
		args := object{"request_id": note, "text": text}
		diff(t, "answer to a tool that is not listed any more", c.call(t, "write_note", args), denied("write_note", ""))

		p.setPolicy(t, repositoryPolicy(t))
		p.hangUp(t)
		await(t, "the client hears that the list has changed back", c.changed)
		checkList(t, c.list(t))
		if n := len(c.changed); n != 0 {
			t.Errorf("the client heard of %d changes too many", n)
		}
		if version == modern {
			c.checkSubscription(t)
		}
	})
}

// checkSubscription sees whether every notification that the server sent bears the id of the one request that asks for
// them (MCP 2026-07-28, basic/patterns/subscriptions). The SDK does not look at it.
func (c *goClient) checkSubscription(t *testing.T) {
	t.Helper()
	var want string
	var got []string
	for _, m := range c.messages(t) {
		switch {
		case m.Method == "subscriptions/listen":
			want = string(m.ID)
		case !m.sent && m.Method != "":
			got = append(got, string(m.Params.Meta["io.modelcontextprotocol/subscriptionId"]))
		}
	}
	// The acknowledgement, and two changes.
	diff(t, "ids of the subscription", got, []string{want, want, want})
}

func TestGoClientCallsAtOnce(t *testing.T) {
	const (
		notes = 40
		times = 4 // each note is sent
	)
	inBothEras(t, func(t *testing.T, version string) {
		p := newPlace(t)
		c := connect(t, p, version)
		var (
			mu       sync.Mutex // guards statuses
			statuses = map[string]map[any]int{}
			calls    sync.WaitGroup
		)
		for i := range notes * times {
			id := fmt.Sprintf("note-%04d", i%notes)
			calls.Go(func() {
				got := c.call(t, "write_note", object{"request_id": id, "text": "text of " + id})
				mu.Lock()
				defer mu.Unlock()
				if statuses[id] == nil {
					statuses[id] = map[any]int{}
				}
				statuses[id][got.Structured["status"]]++
			})
			if i%times == 0 {
				calls.Go(func() {
					if got := c.call(t, "rm_rf", object{"path": "/"}); got.Code != -32602 {
						t.Errorf("rm_rf: %+v, want a denial", got)
					}
				})
			}
		}
		calls.Wait()
		for id, got := range statuses {
			if got["committed"] != 1 || got["replay"] != times-1 {
				t.Errorf("%s: %v, want it committed once and replayed otherwise", id, got)
			}
		}
		written, _ := c.call(t, "read_ledger", object{}).Structured["notes"].([]any)
		if len(statuses) != notes || len(written) != notes {
			t.Errorf("%d notes were answered for and %d are there, want %d", len(statuses), len(written), notes)
		}
		c.leave(t)
		if got, want := len(p.outcomes(t)), notes*times+notes+1; got != want {
			t.Errorf("%d records, want %d", got, want)
		}
	})
}

// A write is held up where it waits for the ledger's lock, and cancelled there. Whether it had begun by then is the
// server's affair; but nobody is told, and with a retry it is done once.
func TestGoClientCancels(t *testing.T) {
	inBothEras(t, func(t *testing.T, version string) {
		p := newPlace(t)
		c := connect(t, p, version)
		checkList(t, c.list(t))
		unlock := lock(t, filepath.Join(p.ledger, "ledger.jsonl"))

		ctx, cancel := context.WithCancel(t.Context())
		args := object{"request_id": note, "text": text}
		cancelled := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "write_note", Arguments: args})
			cancelled <- err
		}()
		c.awaitSent(t, "tools/call")
		checkList(t, c.list(t)) // the server has read the call, and is not held up
		cancel()
		if err := <-cancelled; !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled call returned %v, want %v", err, context.Canceled)
		}
		c.awaitSent(t, "notifications/cancelled")
		checkList(t, c.list(t)) // the server has read the cancellation
		unlock()

		retry := c.call(t, "write_note", args)
		if status := retry.Structured["status"]; status != "committed" && status != "replay" {
			t.Errorf("answer to a retry = %+v, want committed or replay", retry)
		}
		c.leave(t)
		c.checkUnanswered(t)
		committed := slices.DeleteFunc(p.outcomes(t), func(outcome string) bool { return outcome != "allow committed" })
		if len(committed) != 1 {
			t.Errorf("the note was committed %d times, want once", len(committed))
		}
	})
}

// lock takes the lock on a file, as another server would, until unlock is called.
func lock(t *testing.T, name string) (unlock func()) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN); err != nil {
			t.Fatal(err)
		}
	}
}

// checkUnanswered sees whether the first call that was cancelled has had no answer.
func (c *goClient) checkUnanswered(t *testing.T) {
	t.Helper()
	var cancelled, answered []string
	for _, m := range c.messages(t) {
		switch {
		case m.Method == "notifications/cancelled":
			cancelled = append(cancelled, string(m.Params.RequestID))
		case !m.sent && m.ID != nil:
			answered = append(answered, string(m.ID))
		}
	}
	if len(cancelled) == 0 || slices.Contains(answered, cancelled[0]) {
		t.Errorf("cancelled %q and answered %q, want a request cancelled and not answered", cancelled, answered)
	}
}

func TestGoClientCloses(t *testing.T) {
	inBothEras(t, func(t *testing.T, version string) {
		p := newPlace(t)
		c := connect(t, p, version)
		if version == modern {
			await(t, "the subscription is acknowledged", c.listens) // a stream is open
		}
		c.leave(t)
		var status struct{ Servers []object }
		p.ask(t, &status, "status", "--json", p.ledger)
		diff(t, "servers that are alive", status.Servers, []object{})
	})
}

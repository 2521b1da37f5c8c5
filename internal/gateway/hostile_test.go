package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/gate"
	"sallyport/internal/gateway"
	"sallyport/internal/wire"
)

// What a hostile upstream may try. Each case must cost its own call at most.

func TestRowsThatNobodySees(t *testing.T) {
	const good = `{"name":"read","inputSchema":{"type":"object"}}`
	for name, bad := range map[string]string{
		"no object":         `17`,
		"null":              `null`,
		"no name":           `{"inputSchema":{"type":"object"}}`,
		"name is no string": `{"name":1,"inputSchema":{"type":"object"}}`,
		"empty name":        `{"name":"","inputSchema":{"type":"object"}}`,
		"two names":         `{"name":"bad","name":"read","inputSchema":{"type":"object"}}`,
		"name in capitals":  `{"name":"bad","NAME":"read","inputSchema":{"type":"object"}}`,
		"half a surrogate":  `{"name":"bad","description":"\ud800","inputSchema":{"type":"object"}}`,
		"deep":              `{"name":"bad","inputSchema":{"type":"object"},"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
		"no schema":         `{"name":"bad"}`,
		"schema is null":    `{"name":"bad","inputSchema":null}`,
		"schema is a list":  `{"name":"bad","inputSchema":[]}`,
		"schema is no good": `{"name":"bad","inputSchema":{"type":17}}`,
		"schema from afar":  `{"name":"bad","inputSchema":{"$ref":"https://evil.example/schema.json"}}`,
		"the same name":     `{"name":"read","description":"bad","inputSchema":{"type":"object"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("fs legacy x")
				f.list("tools/list", `{"tools":[`+good+`,`+bad+`]}`)
				p := ready(t, openGate(), nil, f)
				got := p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
				if want := `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + good + `]}}`; !cmp.Equal(got, []string{want}) {
					t.Errorf("heard %q, want %s", got, want)
				}
				f.received()
				p.ask(call1(2, "bad", `{}`))
				if sent := strings.Join(f.received(), ""); strings.Contains(sent, "tools/call") {
					t.Errorf("the upstream was sent %s", sent)
				}
				if got := p.ask(call1(3, "read", `{}`)); !strings.Contains(got[0], "done") {
					t.Errorf("the good tool: heard %s", got)
				}
				p.end()
			})
		})
	}
}

func TestListsThatCannotBeRead(t *testing.T) {
	for name, list := range map[string]string{
		"two lists":        `{"tools":[],"tools":[{"name":"bad","inputSchema":{"type":"object"}}]}`,
		"list in capitals": `{"tools":[],"Tools":[{"name":"bad","inputSchema":{"type":"object"}}]}`,
		"no list":          `{}`,
		"list is null":     `{"tools":null}`,
		"a number":         `5`,
		"null":             `null`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("fs legacy x")
				f.list("tools/list", list)
				p := ready(t, openGate(), nil, f)
				if got := p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); len(got) != 1 || !strings.Contains(got[0], `"error"`) {
					t.Errorf("heard %q, want an error", got)
				}
				if got := p.ask(call1(2, "bad", `{}`)); len(got) != 1 || !strings.Contains(got[0], "nothing was done") {
					t.Errorf("heard %q, want that nothing was done", got)
				}
				if got := p.ask(`{"jsonrpc":"2.0","id":3,"method":"ping"}`); len(got) != 1 {
					t.Errorf("the session is dead: heard %q", got)
				}
				p.end()
			})
		})
	}
}

func TestAListWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("fs legacy x")
		f.list("tools/list", strings.TrimSuffix(toolRows("read"), "}")+`,"nextCursor":"more"}`)
		p := ready(t, openGate(), nil, f)
		if got := p.ask(call1(1, "nonesuch", `{}`)); !strings.Contains(got[0], "tool denied") {
			t.Errorf("heard %q", got)
		}
		if got := len(f.received()); got != 100 {
			t.Errorf("%d pages were asked for, want 100", got)
		}
		if got := p.ask(call1(2, "read", `{}`)); !strings.Contains(got[0], "done") {
			t.Errorf("heard %q", got)
		}
		p.end()
	})
}

// A server that does not answer when it is asked for its tools holds up the calls for a while, and no others.
func TestAServerThatNeverListsItsTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, other := newFake("fs legacy x"), withTools("db", "read")
		p := ready(t, nil, nil, f, other)
		f.list("tools/list", "never")
		for i := range 100 {
			p.write(call1(i, "fs__read", `{}`) + "\n")
		}
		if got := p.ask(call1(1000, "db__read", `{}`)); len(got) != 1 {
			t.Errorf("heard %q, want the answer of the other server", got)
		}
		p.write(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}` + "\n")
		time.Sleep(time.Minute)
		got := strings.Join(p.heard(), "\n")
		if n := strings.Count(got, "nothing was done"); n != 100 {
			t.Errorf("%d calls were told that nothing was done, want 100", n)
		}
		if !strings.Contains(got, `"db__read"`) || strings.Contains(got, `"fs__read"`) {
			t.Errorf("heard %s, want the list of the other server", got)
		}
		p.end()
	})
}

func TestAServerThatNeverAnswersTheHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("fs legacy x")
		p := newRelayed(t, f)
		p.write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}` + "\n")
		time.Sleep(2 * time.Minute)
		if got := p.heard(); len(got) != 1 || !strings.Contains(got[0], "nothing was done") {
			t.Errorf("heard %q, want an error", got)
		}
		p.end()
	})
}

func TestACallThatIsNeverAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read")
		f.list("tools/call", "never")
		p := ready(t, openGate(), func(s *gateway.Server) { s.CallTimeout = time.Minute }, f)
		p.write(call1(1, "read", `{}`) + "\n")
		time.Sleep(59 * time.Second)
		if got := p.heard(); len(got) != 0 {
			t.Errorf("heard %q before the time", got)
		}
		time.Sleep(2 * time.Second)
		if got := p.heard(); len(got) != 1 || !strings.Contains(got[0], "inconclusive") {
			t.Errorf("heard %q, want that it is inconclusive", got)
		}
		if sent := f.received(); sent[len(sent)-1] != "cancelled 1" {
			t.Errorf("the upstream was sent %q, want a cancellation at the end", sent)
		}
		p.end()
	})
}

func TestAFloodOfQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read")
		p := ready(t, nil, nil, f)
		for i := range 1000 {
			f.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`, i))
		}
		f.says(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`) // again
		asked := p.heard()
		if len(asked) != 64 {
			t.Errorf("the client was asked %d things at once, want 64", len(asked))
		}
		if refused := f.received(); len(refused) == 0 || strings.Count(strings.Join(refused, ""), "busy") != len(refused) {
			t.Errorf("the upstream was told %q", refused)
		}
		if got := p.ask(call1("\"c\"", "read", `{}`)); len(got) != 1 {
			t.Errorf("heard %q, want the answer to a call", got)
		}
		f.received()
		p.ask(`{"jsonrpc":"2.0","id":5,"result":{"roots":[]}}`)
		if got := f.received(); !cmp.Equal(got, []string{`{"jsonrpc":"2.0","id":5,"result":{"roots":[]}}`}) {
			t.Errorf("the upstream was told %q", got)
		}
		p.end()
	})
}

// A modern client must never be sent a request, whatever the upstream does.
func TestAModernClientIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read")
		f.era, f.welcome = wire.Modern, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
		p := newRelayed(t, f)
		p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{},` + meta() + `}}`)
		f.received()
		f.says(`{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{}}`)
		if got := p.heard(); len(got) != 0 {
			t.Errorf("the client was sent %q", got)
		}
		if got := f.received(); len(got) != 1 || !strings.Contains(got[0], `"error"`) {
			t.Errorf("the upstream was told %q, want an error", got)
		}
		f.says(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"resultType":"complete"}}`)
		if got := p.heard(); len(got) != 1 {
			t.Errorf("heard %q", got)
		}
		p.end()
	})
}

// A bug costs one request.
func TestAPanicCostsItsOwnCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read")
		p := ready(t, nil, nil, f)
		inner := p.door.invoke
		p.door.invoke = func(ctx context.Context, c gate.Call) (gate.Result, error) {
			if c.Method == "roots/list" || string(c.Args.Bytes()) == `{"n":1}` {
				panic("a bug")
			}
			return inner(ctx, c)
		}
		f.says(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
		p.heard()
		if got := f.received(); len(got) != 1 || !strings.Contains(got[0], "internal error") {
			t.Errorf("the upstream was told %q", got)
		}
		if got := p.ask(call1(1, "read", `{"n":1}`)); !strings.Contains(got[0], "internal error") {
			t.Errorf("heard %q", got)
		}
		if got := p.ask(call1(2, "read", `{}`)); !strings.Contains(got[0], "done") {
			t.Errorf("heard %q", got)
		}
		p.end()
	})
}

// Whatever comes as a result of a call is the client's to make sense of.
func TestResultsOfAnyKindPass(t *testing.T) {
	for _, result := range []string{`5`, `null`, `[]`, `{"isError":"x"}`, `{"isError":true,"isError":false}`, `{"resultType":7}`, `{"task":5}`,
		`{"inputRequests":[]}`, `{"a":"\ud800","b":1e400}`, `{"\ud800":1e400}`, strings.Repeat("[", 5000) + strings.Repeat("]", 5000)} {
		synctest.Test(t, func(t *testing.T) {
			f := withTools("fs", "read")
			f.list("tools/call", result)
			p := ready(t, openGate(), nil, f)
			got := p.ask(call1(1, "read", `{}`))
			if want := `{"jsonrpc":"2.0","id":1,"result":` + result + `}`; !cmp.Equal(got, []string{want}) {
				t.Errorf("heard %.200q, want %.200s", got, want)
			}
			p.end()
		})
	}
}

// A keyed call whose server dies is not sent again, and one that was never sent may be.
func TestACrashInAKeyedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "pay")
		g := gateWith("version: 2\ndefault: deny\nrules:\n  - {id: pays, decision: allow, tools: [pay], mutation: {key: id}}\n")
		p := ready(t, g, nil, f)
		f.list("tools/call", "never")
		p.ask(call1(1, "pay", `{"id":"a"}`))
		f.fall(true)
		f.die()
		if got := p.heard(); len(got) != 1 || !strings.Contains(got[0], "inconclusive") {
			t.Errorf("heard %q", got)
		}
		if got := p.ask(call1(2, "pay", `{"id":"b"}`)); !strings.Contains(got[0], "nothing was done") {
			t.Errorf("heard %q", got)
		}
		f.fall(false)
		time.Sleep(time.Minute)
		f.list("tools/call", `{"content":[{"type":"text","text":"done"}]}`)
		f.received()
		p.heard() // that the tools may have changed
		if got := p.ask(call1(3, "pay", `{"id":"a"}`)); !strings.Contains(got[0], "inconclusive") {
			t.Errorf("heard %q", got)
		}
		first := p.ask(call1(4, "pay", `{"id":"b"}`))
		again := p.ask(call1(5, "pay", `{"id":"b"}`))
		if !strings.Contains(first[0], "done") || strings.Replace(first[0], `"id":4`, `"id":5`, 1) != again[0] {
			t.Errorf("heard %s, then %s", first, again)
		}
		calls := 0
		for _, line := range f.received() {
			calls += strings.Count(line, "tools/call")
		}
		if calls != 1 {
			t.Errorf("the upstream was sent %d calls, want 1", calls)
		}
		p.end()
	})
}

// The output rules of the policy are for the result, and all round it stays.
func TestOutputRulesTouchTheResultOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read")
		f.list("tools/call", `{"content":[{"type":"text","text":"a\u202eb"}],"n":1.0}`)
		p := ready(t, gateWith("version: 2\ndefault: allow\noutput: {control: remove}\n"), nil, f)
		got := p.ask(call1(1, "read", `{}`))
		if want := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ab"}],"n":1.0}}`; got[0] != want {
			t.Errorf("heard %s, want %s", got[0], want)
		}
		p.end()
	})
}

// Ten thousand calls on a server that is slow are all answered.
func TestManyCallsWaitTogether(t *testing.T) {
	const many = 10000
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read")
		p := ready(t, nil, nil, f)
		var waiting atomic.Int32
		release := make(chan struct{})
		p.door.invoke = func(ctx context.Context, c gate.Call) (gate.Result, error) {
			waiting.Add(1)
			<-release
			return gate.Result{Body: []byte(`{"content":[]}`), Form: gate.Whole}, nil
		}
		for i := range many {
			p.write(call1(i, "read", `{}`) + "\n")
		}
		synctest.Wait()
		if got := waiting.Load(); got != many {
			t.Errorf("%d calls wait at the server, want %d", got, many)
		}
		close(release)
		if got := len(p.heard()); got != many {
			t.Errorf("%d answers, want %d", got, many)
		}
		p.end()
	})
}

// When a client goes, its conversations with the upstreams end, and when the server is closed nothing goes on.
func TestNothingGoesOnAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read")
		f.list("tools/call", "never")
		p := ready(t, nil, nil, f)
		q := p.another(&wire.Session{Principal: "bob"})
		q.ask(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
		q.ask(call1(1, "read", `{}`))
		f.says(`{"jsonrpc":"2.0","id":9,"method":"roots/list"}`)
		q.stop()
		<-q.done
		q.in.Close()
		synctest.Wait()
		select {
		case <-f.links[1].Done():
		default:
			t.Error("the conversation goes on without its client")
		}
		select {
		case <-f.links[0].Done():
			t.Error("the conversation of the other client ended too")
		default:
		}
		p.end()
		if got := f.received(); got[len(got)-1] != "close" {
			t.Errorf("the upstream was not closed: %q", got)
		}
		if _, err := p.server.Answer(t.Context(), &wire.Call{Message: wire.Message{Method: "ping"}, Era: wire.Legacy, Session: &wire.Session{}}); err == nil {
			t.Error("a closed server answers")
		}
	})
}

// The bodies of headers come from the arguments, and where a server refuses them its tools are looked at again, once.
func TestHeadersAreSentAndMendedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row := func(header string) string {
			return `{"tools":[{"name":"read","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"` + header + `"}}}}],"resultType":"complete"}`
		}
		f := newFake(`fs modern {"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
		f.list("tools/list", row("Old"))
		refusals := 1
		f.auto = func(out wire.Outgoing) string {
			id := string(out.ID.Bytes())
			if out.Method == "tools/call" && refusals > 0 {
				refusals--
				f.lists["tools/list"] = row("New")
				return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32020,"message":"no"}}`
			}
			return f.answer(out)
		}
		p := newRelayed(t, f)
		line := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"a":"x"},` + meta() + `}}`
		if got := p.ask(line); len(got) != 1 || !strings.Contains(got[0], "done") {
			t.Errorf("heard %q", got)
		}
		var calls []string
		for _, sent := range f.received() {
			if strings.Contains(sent, "tools/call") {
				calls = append(calls, sent)
			}
		}
		if want := []string{line + " [Old: x]", line + " [New: x]"}; !cmp.Equal(calls, want) {
			t.Errorf("sent %q, want %q", calls, want)
		}
		refusals = 2
		if got := p.ask(line); len(got) != 1 || !strings.Contains(got[0], "-32020") {
			t.Errorf("heard %q, want the server's own error after two tries", got)
		}
		// Over HTTP the client's headers are held against the body.
		q := p.another(&wire.Session{Principal: "bob", Shared: true})
		if got := q.ask(line); len(got) != 1 || !strings.Contains(got[0], "-32020") {
			t.Errorf("heard %q, want a refusal: the header is missing", got)
		}
		q.in.Close()
		<-q.done
		p.end()
	})
}

// overHTTP is an upstream that says how it is reached.
type overHTTP struct{ *fake }

func (overHTTP) HTTP() bool { return true }

// Over HTTP a tool whose headers cannot be sent is not one that can be called; over a pipe there are no headers.
func TestToolsWithHeadersThatCannotBe(t *testing.T) {
	for _, http := range []bool{true, false} {
		t.Run(fmt.Sprint(http), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("fs legacy x")
				f.list("tools/list", `{"tools":[{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a b"}}}}]}`)
				p := ready(t, openGate(), func(s *gateway.Server) {
					if http {
						s.Upstreams[0] = overHTTP{f}
					}
				}, f)
				list := p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)[0]
				got := p.ask(call1(2, "bad", `{}`))[0]
				if hidden, denied := !strings.Contains(list, "bad"), strings.Contains(got, "tool denied"); hidden != http || denied != http {
					t.Errorf("listed %s, called %s", list, got)
				}
				p.end()
			})
		})
	}
}

// A failure of the door's own is not told to the client, nor what an upstream's errors say of us.
func TestErrorsDoNotTellSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read")
		p := ready(t, nil, nil, f)
		p.door.invoke = func(context.Context, gate.Call) (gate.Result, error) { return gate.Result{}, errors.New("a secret") }
		got := p.ask(call1(1, "read", `{}`))
		f.fall(true)
		f.die()
		got = append(got, p.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)...)
		if text := strings.Join(got, "\n"); len(got) != 2 || strings.Contains(text, "secret") {
			t.Errorf("heard %q", got)
		}
		p.end()
	})
}

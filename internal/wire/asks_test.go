package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"sallyport/internal/canon"
)

// asker is an echo that asks: "ask" sends the client params.line, and answers with what it said, as a string.
type asker struct {
	*echo
	failed []string // what Ask said
}

func (a *asker) Answer(ctx context.Context, call *Call) (Reply, error) {
	if call.Method != "ask" && call.Method != "ask by the session" {
		return a.echo.Answer(ctx, call)
	}
	line, _ := call.Params.Get("line").Text()
	ask := call.Ask
	if call.Method != "ask" {
		ask = call.Session.Ask
	}
	answer, err := ask(ctx, []byte(line))
	if err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.failed = append(a.failed, err.Error())
		return Reply{}, &Error{Code: CodeInternal, Message: err.Error()}
	}
	return Reply{Result: fmt.Appendf(nil, `{"heard":%s}`, canon.AppendString(nil, string(answer.Line)))}, nil
}

func asking(id any, line string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"ask","params":{"line":%s}}`, id, canon.AppendString(nil, line))
}

func heard(id any, line string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"heard":%s}}`, id, canon.AppendString(nil, line))
}

func TestAskPassesBothWaysByteForByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, &asker{echo: newEcho()}, Options{})
		question := `{"method":"sampling/createMessage","id":"q\u0031","params":{"n":9007199254740993,"f":1.0,"z":1e400,"a":1},"jsonrpc":"2.0"}`
		p.say(asking(1, question))
		p.expect(question)
		answer := `{"id":"q1","result":{"twice":1,"twice":2,"half":"\ud800","big":1e400,"Method":"tools/call"},"jsonrpc":"2.0"}`
		p.say(answer, answer) // the second is stray
		p.expect(heard(1, answer))
		p.say(asking(2, request(7, "roots/list")))
		p.heard()
		fault := `{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no","data":{"a":1,"a":2},"more":1.0}}`
		p.say(fault)
		p.expect(heard(2, fault))
		p.end()
	})
}

func TestAskUnderAnIDThatIsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, &asker{echo: newEcho()}, Options{})
		question := `{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{"id":1}}`
		p.say(asking(1, question))
		p.say(asking(2, question))
		lines := p.heard()
		if len(lines) != 2 || lines[0] != question {
			t.Fatalf("heard %q, want the question twice", lines)
		}
		second, err := ScanIncoming([]byte(lines[1]))
		if err != nil {
			t.Fatal(err)
		}
		id := string(second.ID.Bytes())
		if want := strings.Replace(question, `"id":1,"m`, `"id":`+id+`,"m`, 1); !strings.HasPrefix(id, `"sallyport-`) || lines[1] != want {
			t.Errorf("heard %s, want %s under an id of ours", lines[1], question)
		}
		p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"a":1.0}}`, id))
		p.expect(heard(2, `{"jsonrpc":"2.0","id":1,"result":{"a":1.0}}`))
		p.say(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		p.expect(heard(1, `{"jsonrpc":"2.0","id":1,"result":{}}`))
		p.end()
	})
}

// What is no answer, or might be taken for a request by whoever it is passed on to, is nobody's answer.
func TestAnswersThatAreNotBelieved(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":"1","result":{}}`, // another id
		`{"jsonrpc":"2.0","id":8,"result":{}}`,
		`{"jsonrpc":"2.0","id":7,"id":7,"result":{}}`,
		`{"jsonrpc":"2.0","id":7,"result":{},"result":{}}`,
		`{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1}}`,
		`{"jsonrpc":"2.0","id":7,"result":{},"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":7,"result":{},"Method":"tools/call","params":{"name":"rm"}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2},"Method":"tools/call","params":{"name":"rm"}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2},"meth\u006fd\u0000":"tools/call"}`,
		`{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2},"x":{"b":1,"b":2}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2},"ID":8}`,
		`{"jsonrpc":"1.0","id":7,"result":{}}`,
		`{"jsonrpc":"2.0","id":7,"error":"no"}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`,
		`{"jsonrpc":"2.0","id":7,"result":{}`,
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"\xff\"}",
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &asker{echo: newEcho()}
			p := serve(t, a, Options{})
			p.say(asking(1, request(7, "roots/list")))
			p.heard()
			p.say(line)
			for _, got := range p.heard() {
				if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":`) && !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":7,"error":`) {
					t.Errorf("after %s\nheard %s", line, got)
				}
			}
			if len(a.ran) > 0 {
				t.Errorf("%s ran %q", line, a.ran)
			}
			p.say(`{"jsonrpc":"2.0","id":7,"result":{}}`)
			p.expect(heard(1, `{"jsonrpc":"2.0","id":7,"result":{}}`))
			p.end()
		})
	}
}

func TestAskEndsWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &asker{echo: newEcho()}
		p := serve(t, a, Options{})
		p.say(asking(1, request(`"q"`, "roots/list")))
		p.heard()
		p.say(cancelled(1))
		p.expect(cancelled(`"q"`))
		p.say(`{"jsonrpc":"2.0","id":"q","result":{}}`) // late
		p.expect()
		if len(a.failed) != 1 {
			t.Errorf("Ask failed %q, want once", a.failed)
		}
		// The id is free again.
		p.say(asking(2, request(`"q"`, "roots/list")))
		p.expect(request(`"q"`, "roots/list"))
		p.say(`{"jsonrpc":"2.0","id":"q","result":{"a":1}}`)
		p.expect(heard(2, `{"jsonrpc":"2.0","id":"q","result":{"a":1}}`))
		p.end()
	})
}

// A call of whose end its Ask's ctx knows nothing.
func TestAskEndsWithItsCallWhateverItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &detached{echo: newEcho(), err: make(chan error, 1)}
		p := serve(t, h, Options{})
		p.say(request(1, "slow"))
		p.expect(request(`"q"`, "roots/list"))
		h.release <- struct{}{}
		p.expect(did(1, "slow"), cancelled(`"q"`))
		if err := <-h.err; err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("Ask returned %v", err)
		}
		p.end()
	})
}

type detached struct {
	*echo
	err chan error
}

func (d *detached) Answer(ctx context.Context, call *Call) (Reply, error) {
	go func() {
		_, err := call.Ask(context.WithoutCancel(ctx), []byte(request(`"q"`, "roots/list")))
		d.err <- err
	}()
	return d.echo.Answer(ctx, call)
}

func TestAskEndsWithTheConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &asker{echo: newEcho()}
		p := serve(t, a, Options{})
		synctest.Wait()
		failed := make(chan error, 1)
		go func() {
			_, err := p.session.Ask(context.Background(), []byte(request(7, "roots/list")))
			failed <- err
		}()
		p.expect(request(7, "roots/list"))
		p.end()
		if err := <-failed; !errors.Is(err, errUnheard) {
			t.Errorf("Ask returned %v, want %v", err, errUnheard)
		}
		if _, err := p.session.Ask(t.Context(), []byte(request(7, "roots/list"))); !errors.Is(err, errUnheard) {
			t.Errorf("Ask returned %v, want %v", err, errUnheard)
		}
	})
}

func TestWhoCannotBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &asker{echo: newEcho()}
		p := serve(t, a, Options{})
		p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"ask","params":{"line":%s,"_meta":{%q:"2026-07-28",%q:{}}}}`,
			canon.AppendString(nil, request(7, "roots/list")), MetaProtocolVersion, MetaClientCapabilities))
		p.expect(failed(1, CodeInternal, errNotAsked.Error()))
		if _, err := (&Session{}).Ask(t.Context(), []byte(request(7, "roots/list"))); !errors.Is(err, errNotAsked) {
			t.Errorf("Ask returned %v, want %v", err, errNotAsked)
		}
		for _, line := range []string{`rubbish`, `{"jsonrpc":"2.0","method":"x"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`} {
			if _, err := p.session.Ask(t.Context(), []byte(line)); err == nil {
				t.Errorf("the client was asked %s", line)
			}
		}
		p.expect()
		p.end()
	})
}

func FuzzScanAnswer(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"error":{"a":"\ud800"},"Method":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, ok := scanAnswer(line)
		if !ok {
			return
		}
		// Whoever looks at nothing but the outermost keys, with whatever idea of letter case, sees no method.
		for key := range mustSkim(t, m.Line).Members() {
			if strings.EqualFold(strings.TrimRight(key, "\x00"), "method") {
				t.Errorf("%q is taken for an answer", line)
			}
		}
	})
}

func mustSkim(t *testing.T, line []byte) canon.Value {
	t.Helper()
	v, err := canon.Skim(line)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

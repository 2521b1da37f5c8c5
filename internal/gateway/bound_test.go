package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sallyport/internal/gateway"
	"sallyport/internal/pin"
	"sallyport/internal/wire"
)

// What belongs to a principal, to an upstream, or to an order of things must stay there.

// A task is good for the principal and at the upstream that began it, whatever ids another one gives its own.
func TestTasksBelongToWhoBeganThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ups []*fake
		for _, name := range []string{"fs", "db"} {
			f := withTools(name, "run")
			f.era, f.welcome = wire.Modern, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
			f.list("tools/call", `{"resultType":"task","taskId":"t"}`)
			f.auto = f.answer
			ups = append(ups, f)
		}
		p := newRelayed(t, ups...)
		ada := p.another(&wire.Session{Principal: "ada", Shared: true})
		bob := p.another(&wire.Session{Principal: "bob", Shared: true})
		get := `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"t",` + meta() + `}}`
		if got := ada.ask(get); !strings.Contains(got[0], "no such task") {
			t.Errorf("before it was begun: heard %s", got)
		}
		for _, tool := range []string{"fs__run", "db__run"} {
			ada.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{},` + meta() + `}}`)
		}
		ups[0].received()
		ups[1].received()
		if got := ada.ask(get); !strings.Contains(got[0], `"result"`) {
			t.Errorf("ada heard %s", got)
		}
		if sent := ups[1].received(); len(sent) != 0 {
			t.Errorf("the upstream that gave the same id later was sent %q", sent)
		}
		ups[0].received()
		for _, line := range []string{get, strings.Replace(get, "get", "cancel", 1), strings.Replace(get, `"taskId":"t",`, "", 1)} {
			if got := bob.ask(line); !strings.Contains(got[0], `"error"`) {
				t.Errorf("bob heard %s", got)
			}
		}
		if sent := append(ups[0].received(), ups[1].received()...); len(sent) != 0 {
			t.Errorf("for bob the upstreams were sent %q", sent)
		}
		for _, q := range []*relayed{ada, bob} {
			q.in.Close()
			<-q.done
		}
		p.end()
	})
	// Where there is one upstream, another principal's handle is as good as none too.
	synctest.Test(t, func(t *testing.T) {
		f := newFake(`fs modern {"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
		p := newRelayed(t, f)
		bob := p.another(&wire.Session{Principal: "bob", Shared: true})
		if got := bob.ask(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"t",` + meta() + `}}`); !strings.Contains(got[0], "no such task") {
			t.Errorf("bob heard %s", got)
		}
		bob.in.Close()
		<-bob.done
		p.end()
	})
}

// Modern HTTP requests are sessions of their own, and share what is held for their principal, in each tenant.
func TestRequestsOfAPrincipalShareTheirConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read")
		f.era, f.welcome = wire.Modern, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
		f.auto = f.answer
		p := newRelayed(t, f)
		for _, session := range []*wire.Session{
			{Principal: "ada", Shared: true}, {Principal: "ada", Shared: true}, {Principal: "ada", Tenant: "acme", Shared: true}, {Principal: "ada"},
		} {
			q := p.another(session)
			q.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{},` + meta() + `}}`)
			q.in.Close()
			<-q.done
		}
		if len(f.links) != 3 {
			t.Errorf("%d conversations with the upstream, want 3", len(f.links))
		}
		select {
		case <-f.links[0].Done():
			t.Error("the shared conversation ended with a request")
		default:
		}
		p.end()
	})
}

// A request must not overtake the notifications before it, however slowly they go.
func TestRequestsDoNotOvertakeNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read")
		f.auto = f.answer
		f.slow = time.Second
		p := newRelayed(t, f)
		p.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
		f.received()
		p.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
		p.write(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}` + "\n")
		p.write(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")
		time.Sleep(5 * time.Second)
		p.heard()
		got := f.received()
		if len(got) != 3 || !strings.Contains(got[0], "initialized") || !strings.Contains(got[1], "roots") || !strings.Contains(got[2], "tools/list") {
			t.Errorf("the upstream was sent %q", got)
		}
		p.end()
	})
}

// What was asked for before a change is not what is there after it.
func TestAListThatChangesWhileItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read")
		p := ready(t, nil, nil, f)
		f.list("tools/list", "never")
		p.write(call1(1, "read", `{}`) + "\n")
		p.heard()
		f.says(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		f.says(`{"jsonrpc":"2.0","id":"OWN","result":` + toolRows("read") + `}`)
		p.heard()
		f.list("tools/list", toolRows("other"))
		if got := p.ask(call1(2, "read", `{}`)); !strings.Contains(got[0], "tool denied") {
			t.Errorf("heard %s, want that there is no such tool any more", got)
		}
		p.end()
	})
}

// Of a list whose changes we would not be told of, nothing is believed for long.
func TestAListIsReadAgainInTime(t *testing.T) {
	for _, tells := range []bool{false, true} {
		t.Run(fmt.Sprint(tells), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := withTools("fs", "read")
				f.list("initialize", fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":%v}}}`, tells))
				p := ready(t, nil, nil, f)
				p.ask(call1(1, "read", `{}`))
				f.received()
				time.Sleep(time.Minute)
				p.ask(call1(2, "read", `{}`))
				if again := strings.Contains(strings.Join(f.received(), ""), "tools/list"); again == tells {
					t.Errorf("the list was read again: %v", again)
				}
				p.end()
			})
		})
	}
}

// A legacy client before a modern server is no way round the pins either, nor is what the bridge takes out a change.
func TestPinsHoldBeforeAModernServer(t *testing.T) {
	const row = `{"name":"read","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`
	lock, err := (&pin.Lock{}).With("fs", []pin.Definition{{Kind: pin.Tool, Name: "read", Text: []byte(row)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, said := range map[string]string{"the same": row, "changed": strings.Replace(row, "array", "string", 1)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(`fs modern {"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
				f.list("tools/list", `{"resultType":"complete","tools":[`+said+`]}`)
				f.list("tools/call", `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`)
				f.auto = func(out wire.Outgoing) string {
					if out.Method == "initialize" {
						return `{"jsonrpc":"2.0","id":` + string(out.ID.Bytes()) + `,"error":{"code":-32601,"message":"no"}}`
					}
					return f.answer(out)
				}
				p := newRelayedAs(t, func(s *gateway.Server) { s.Lock = func() *pin.Lock { return lock } }, f)
				p.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
				p.ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				got := p.ask(call1(2, "read", `{}`))[0]
				if strings.Contains(got, "done") != (said == row) {
					t.Errorf("heard %s", got)
				}
				p.end()
			})
		})
	}
}

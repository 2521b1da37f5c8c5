package gateway_test

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/gateway"
	"sallyport/internal/wire"
)

// What users of other gates have reported. Each test is named for what must be true here; the report is beside it.

// ready is an upstream of the legacy era that answers everything at once, and its client after the handshake.
func ready(t *testing.T, door gateway.Door, set func(*gateway.Server), ups ...*fake) *relayed {
	for _, f := range ups {
		f.auto = func(out wire.Outgoing) string { return f.answer(out) }
	}
	p := newRelayedAs(t, func(s *gateway.Server) {
		if door != nil {
			s.Door = door
		}
		if set != nil {
			set(s)
		}
	}, ups...)
	p.ask(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}`)
	p.ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for _, f := range ups {
		f.received()
	}
	return p
}

// answer is what an upstream says that does what it is asked: by the method, or the lists where it has them.
func (f *fake) answer(out wire.Outgoing) string {
	result := `{"content":[{"type":"text","text":"done"}]}`
	switch text, ok := f.lists[out.Method]; {
	case text == "never":
		return ""
	case ok:
		result = text
	case out.Method == "initialize":
		result = `{"protocolVersion":"2025-03-26","capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{}}}`
	}
	return `{"jsonrpc":"2.0","id":` + string(out.ID.Bytes()) + `,"result":` + result + `}`
}

// ask sends a line and returns what comes.
func (p *relayed) ask(line string) []string {
	p.t.Helper()
	p.write(line + "\n")
	return p.heard()
}

// tools is a list of tools with these names.
func toolRows(names ...string) string {
	var rows []string
	for _, name := range names {
		rows = append(rows, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`, name))
	}
	return `{"tools":[` + strings.Join(rows, ",") + `]}`
}

func withTools(name string, tools ...string) *fake {
	f := newFake(name + " legacy x")
	f.lists["tools/list"] = toolRows(tools...)
	return f
}

const readsOnly = "version: 2\ndefault: deny\nrules:\n  - {id: reads, decision: allow, tools: [read, fs__read, db__read]}\n"

func call1(id any, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

// toolhive#5745, deploy-gate#59, OpenShell#2082: a batch went past the policy, the audit and the filter.
func TestNothingHidesInABatch(t *testing.T) {
	for name, batch := range map[string]string{
		"one":   "[" + call1(1, "rm", `{}`) + "]",
		"mixed": "[" + call1(1, "read", `{}`) + "," + call1(2, "rm", `{}`) + `,{"jsonrpc":"2.0","method":"notifications/x"}]`,
		"list":  `[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`,
		"empty": "[]",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := withTools("fs", "read", "rm")
				g := gateWith(readsOnly)
				p := ready(t, g, nil, f)
				got := strings.Join(p.ask(batch), "\n")
				for _, line := range f.received() {
					if strings.Contains(line, `"rm"`) {
						t.Errorf("the upstream was sent %s", line)
					}
				}
				if name == "one" || name == "mixed" {
					if !strings.Contains(got, "tool denied: rm") || !strings.Contains(strings.Join(g.records(t), "\n"), "rm local deny") {
						t.Errorf("heard %s, recorded %q", got, g.records(t))
					}
				}
				if name == "list" && (!strings.Contains(got, `"read"`) || strings.Contains(got, `"rm"`)) {
					t.Errorf("heard %s, want the tool read alone", got)
				}
				p.end()
			})
		})
	}
}

// toolhive#5827, #4374, gh-aw-mcpg#3332, piclaw#1295: a hidden tool was listed by another way, or could be called when its
// name was known, or was refused by the server's own validation only.
func TestAHiddenToolIsHiddenAndRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read", "rm")
		g := gateWith(readsOnly)
		p := ready(t, g, nil, f)
		if got := p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); strings.Contains(got[0], `"rm"`) {
			t.Errorf("listed: %s", got)
		}
		f.received()
		unknown := p.ask(call1(2, "nonesuch", `{}`))[0]
		f.received() // the list may have been looked at again
		for i, args := range []string{`{}`, `{"path":"/"}`, `null`, `[]`} {
			got := p.ask(call1(2, "rm", args))[0]
			if want := strings.ReplaceAll(unknown, "nonesuch", "rm"); got != want {
				t.Errorf("%d: heard %s, want %s as for a tool that is not there", i, got, want)
			}
		}
		for _, line := range f.received() {
			if strings.Contains(line, "tools/call") {
				t.Errorf("the upstream was sent %s", line)
			}
		}
		for _, record := range g.records(t) {
			if !strings.Contains(record, "deny not_executed") {
				t.Errorf("recorded %q, want denials", record)
			}
		}
		if got := len(g.records(t)); got != 5 {
			t.Errorf("%d records, want one for each denied call", got)
		}
		p.end()
	})
}

// jacobian#1102, envoy PR45202: what was judged after the last of two members had won was another call than the one that
// was carried out. And a request in disguise is none of another kind.
func TestACallThatTwoReadersCouldReadDifferentlyIsRefused(t *testing.T) {
	for name, line := range map[string]string{
		"two names":         `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","name":"rm","arguments":{}}}`,
		"two methods":       `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"rm"}}`,
		"escaped":           `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","n\u0061me":"rm"}}`,
		"deep":              `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"a":{"b":1,"b":2}}}}`,
		"another case":      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","Name":"rm"}}`,
		"NaN":               `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"a":NaN}}}`,
		"method in capital": `{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"rm"}}`,
		"method with space": `{"jsonrpc":"2.0","id":1,"method":"tools/call ","params":{"name":"rm"}}`,
		"method with NUL":   `{"jsonrpc":"2.0","id":1,"method":"tools/call\u0000","params":{"name":"rm"}}`,
		"notification":      `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"rm"}}`,
		"null id":           `{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"rm"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := withTools("fs", "read", "rm")
				p := ready(t, gateWith("version: 2\ndefault: allow\nrules:\n  - {id: rm, decision: deny, tools: [rm]}\n"), nil, f)
				p.ask(line)
				if got := f.received(); len(got) != 0 {
					t.Errorf("the upstream was sent %q", got)
				}
				p.end()
			})
		})
	}
}

// toolhive PR1581, mcp-go#588: a long answer ended the session.
func TestLongResultsPass(t *testing.T) {
	for _, size := range []int{1 << 20, 10 << 20} {
		synctest.Test(t, func(t *testing.T) {
			f := withTools("fs", "read")
			text := strings.Repeat("x", size)
			f.lists["tools/call"] = `{"content":[{"type":"text","text":"` + text + `"}]}`
			p := ready(t, openGate(), nil, f)
			got := p.ask(call1(1, "read", `{}`))
			if len(got) != 1 || !strings.Contains(got[0], text) {
				t.Errorf("%d bytes: the answer did not come whole", size)
			}
			p.end()
		})
	}
}

// mcp-go#913, go-sdk#1236, higress PR3760: numbers were rounded on their way.
func TestNumbersStayAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const numbers = `[9223372036854775807,9007199254740993,1.0,1e400,-0,0.10]`
		f := withTools("fs", "read")
		f.lists["tools/call"] = `{"content":[],"structuredContent":` + numbers + `}`
		p := ready(t, openGate(), nil, f)
		got := p.ask(call1(9007199254740993, "read", `{"n":1,"a":`+numbers+`}`))
		if want := `{"jsonrpc":"2.0","id":9007199254740993,"result":` + f.lists["tools/call"] + `}`; got[0] != want {
			t.Errorf("heard %s, want %s", got[0], want)
		}
		sent := f.received()
		if want := call1(9007199254740993, "read", `{"n":1,"a":`+numbers+`}`); sent[len(sent)-1] != want {
			t.Errorf("sent %s, want %s", sent[len(sent)-1], want)
		}
		p.end()
	})
}

// nanobot PR4436, agentgateway#721: where tools were denied, resources, prompts and completion were not.
func TestADefaultOfDenyIsForEveryMethod(t *testing.T) {
	for method, params := range map[string]string{
		"resources/read":      `{"uri":"file:///etc/passwd"}`,
		"resources/subscribe": `{"uri":"file:///etc/passwd"}`,
		"prompts/get":         `{"name":"p"}`,
		"completion/complete": `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`,
		"tasks/get":           `{"taskId":"t"}`,
		"tasks/cancel":        `{"taskId":"t"}`,
		"x/unknown":           `{}`,
		"mcp-exec":            `{"name":"rm"}`, // docker mcp-gateway PR319: an indirect way to call a tool
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := withTools("fs", "read", "rm")
				g := gateWith(readsOnly)
				p := ready(t, g, nil, f)
				got := p.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
				if len(got) != 1 || !strings.Contains(got[0], `"error"`) {
					t.Errorf("heard %q, want an error", got)
				}
				if sent := f.received(); len(sent) != 0 {
					t.Errorf("the upstream was sent %q", sent)
				}
				if records := g.records(t); len(records) != 1 || !strings.HasPrefix(records[0], method) || !strings.Contains(records[0], "deny") {
					t.Errorf("recorded %q, want one denial of %s", records, method)
				}
				p.end()
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read")
		f.lists["prompts/list"] = `{"prompts":[{"name":"p"}]}`
		f.lists["resources/list"] = `{"resources":[{"uri":"x","name":"x"}]}`
		p := ready(t, gateWith(readsOnly), nil, f)
		for _, method := range []string{"prompts/list", "resources/list"} {
			if got := p.ask(`{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`); !strings.Contains(got[0], `:[]`) {
				t.Errorf("%s: heard %s, want nothing in it", method, got)
			}
		}
		p.end()
	})
}

// agentgateway#742: with a second server the list was empty.
func TestTwoServersAreListedAndCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, db := withTools("fs", "read", "rm"), withTools("db", "read")
		p := ready(t, gateWith(readsOnly), nil, fs, db)
		got := p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)[0]
		if names := regexp.MustCompile(`"name":"[^"]*"`).FindAllString(got, -1); !cmp.Equal(names, []string{`"name":"fs__read"`, `"name":"db__read"`}) {
			t.Errorf("listed %q", names)
		}
		for _, f := range []*fake{fs, db} {
			f.received()
			if got := p.ask(call1(2, f.name+"__read", `{"n":1}`)); !strings.Contains(got[0], "done") {
				t.Errorf("%s: heard %s", f.name, got)
			}
			if sent := f.received(); !cmp.Equal(sent, []string{call1(2, "read", `{"n":1}`)}) {
				t.Errorf("%s was sent %q", f.name, sent)
			}
		}
		p.end()
	})
}

// desktop-linux#302, Kuadrant#555: a change of the list did not reach the client, or came with no change.
func TestListChangesReachTheClientAndNothingElseDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read")
		p := ready(t, openGate(), nil, f)
		p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
		f.says(changed)
		if got := p.heard(); !cmp.Equal(got, []string{changed}) {
			t.Errorf("heard %q", got)
		}
		p.server.Refresh()
		if got := p.heard(); len(got) != 0 {
			t.Errorf("heard %q, although nothing changed", got)
		}
		p.end()
	})
}

// serve lets a client with a session of its own speak with a server.
func (p *relayed) another(session *wire.Session) *relayed {
	r, in := io.Pipe()
	q := &relayed{t: p.t, server: p.server, door: p.door, in: in, done: make(chan error, 1)}
	ctx, stop := context.WithCancel(p.t.Context())
	q.stop = stop
	go func() {
		q.done <- wire.ServeLines(ctx, session, p.server, r, q, wire.Options{})
		p.server.End(session)
	}()
	return q
}

// toolhive PR5934: what a server said to one client went to another, or to none.
func TestNotificationsReachTheirOwnClientOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read")
		p := ready(t, openGate(), nil, f)
		q := p.another(&wire.Session{Principal: "bob"})
		q.ask(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
		q.ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		const note = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"for bob"}}`
		f.says(note) // on the newest conversation, bob's
		if got := q.heard(); !cmp.Equal(got, []string{note}) {
			t.Errorf("bob heard %q", got)
		}
		if got := p.heard(); len(got) != 0 {
			t.Errorf("the other client heard %q", got)
		}
		if len(f.links) != 2 {
			t.Errorf("%d conversations with the upstream, want one for each client", len(f.links))
		}
		q.in.Close()
		<-q.done
		p.end()
	})
}

// ai-gateway#2105, Kuadrant#926: the list was the same for all, and calls were denied later.
func TestTheListIsWhatThePrincipalMayCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "read", "write")
		f.era, f.welcome = wire.Modern, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
		f.lists["tools/list"] = strings.TrimSuffix(toolRows("read", "write"), "}") + `,"ttlMs":5000,"cacheScope":"public","resultType":"complete"}`
		f.auto = f.answer
		p := newRelayedAs(t, func(s *gateway.Server) {
			s.Door = gateWith("version: 2\ndefault: deny\nrules:\n  - {id: all, decision: allow, tools: [read]}\n" +
				"  - {id: ada, decision: allow, tools: [write], principals: [ada]}\n")
		}, f)
		for _, principal := range []string{"ada", "bob"} {
			q := p.another(&wire.Session{Principal: principal, Shared: true})
			got := q.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta() + `}}`)[0]
			if !strings.Contains(got, `"cacheScope":"private"`) {
				t.Errorf("%s: heard %s, want it to be private", principal, got)
			}
			calls := q.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write","arguments":{},` + meta() + `}}`)[0]
			if allowed := strings.Contains(calls, "done"); allowed != (principal == "ada") {
				t.Errorf("%s: heard %s", principal, calls)
			}
			q.in.Close()
			<-q.done
		}
		if len(f.links) != 2 {
			t.Errorf("%d conversations with the upstream, want one for each principal", len(f.links))
		}
		p.end()
	})
}

// mcpproxy-go PR529: two ways in had come to judge differently. Whatever the era, the number of servers and the way a
// call comes, one door decides.
func TestEveryWayInLeadsThroughTheDoor(t *testing.T) {
	legacy := func(tool string) string { return call1(1, tool, `{}`) }
	modern := func(tool string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},%s}}`, tool, meta())
	}
	retry := func(tool string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},"requestState":"s",%s}}`, tool, meta())
	}
	task := func(tool string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},"task":{"ttl":1}}}`, tool)
	}
	batch := func(tool string) string { return "[" + call1(1, tool, `{}`) + "]" }
	for _, era := range []wire.Era{wire.Legacy, wire.Modern} {
		for _, several := range []bool{false, true} {
			for name, way := range map[string]func(string) string{"legacy": legacy, "modern": modern, "retry": retry, "task": task, "batch": batch} {
				t.Run(fmt.Sprintf("%d %v %s", era, several, name), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						ups := []*fake{withTools("fs", "rm")}
						tool := "rm"
						if several {
							ups = append(ups, withTools("db", "rm"))
							tool = "fs__rm"
						}
						for _, f := range ups {
							f.era, f.welcome = era, `{"protocolVersion":"2025-11-25","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
						}
						p := ready(t, nil, nil, ups...)
						p.door.set(tool, "deny")
						got := p.ask(way(tool))
						if len(got) != 1 || !strings.Contains(got[0], "tool denied: "+tool) {
							t.Errorf("heard %q", got)
						}
						calls := p.door.seen()
						if len(calls) != 1 || calls[0].Name != tool || calls[0].Tool.Upstream != "fs" || calls[0].Caller.Principal != "local" {
							t.Errorf("at the door: %+v", calls)
						}
						for _, f := range ups {
							if sent := strings.Join(f.received(), ""); strings.Contains(sent, "tools/call") {
								t.Errorf("the upstream was sent %s", sent)
							}
						}
						p.end()
					})
				})
			}
		}
	}
}

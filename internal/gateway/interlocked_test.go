package gateway_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/gateway"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/policy"
	"sallyport/internal/wire"
)

// The gateway before the real gate, with its latch and its approvals.

// interlocked is gateWith with latches and approvals.
func interlocked(rules string) *guarded {
	g := gateWith("version: 2\ndefault: deny\nrules:\n" + rules)
	g.Stops = interlock.OpenStops(g.disk, "d/stops")
	g.Approvals = interlock.OpenApprovals(g.disk, "d/approvals")
	return g
}

const (
	verifiedWrites = `
  - id: reads
    decision: allow
    tools: [read, fs__read]
    read_only: true
  - id: writes
    decision: allow
    tools: [write, fs__write]
    verify:
      observe: {tool: %s, arguments: {path: "${args.path}"}}
      expect: 'observation.text == args.text'
`
	askedWrites = `
  - {id: asks, decision: ask, tools: [write, fs__write], reason: "Ask first."}
  - {id: methods, decision: ask, methods: [prompts/get], reason: "Ask first."}
`
)

// members are the members of that name in the ledger's records, by method, name and outcome, where there are any.
func (g *guarded) members(t *testing.T, key string) (found []string) {
	t.Helper()
	text, err := g.disk.ReadFile("d/" + ledger.FileName)
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.Read(bytes.NewReader(text), func(line canon.Value) error {
		if value, ok := line.Get(key).Text(); ok {
			name, _ := line.Get("name").Text()
			outcome, _ := line.Get("outcome").Text()
			found = append(found, name+" "+outcome+" "+value)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// files is an upstream with a file, which lies once lies is set: it says that it wrote, and writes nothing.
type files struct {
	*fake
	text  string
	lies  bool
	fresh bool // it says that it verified itself
}

func newFiles(era wire.Era) *files {
	f := &files{fake: withTools("fs", "none")}
	f.era, f.welcome = era, `{"protocolVersion":"2025-11-25","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{}}}`
	f.list("tools/list", `{"tools":[{"name":"write","inputSchema":{"type":"object"}},{"name":"read","inputSchema":{"type":"object"}}],"resultType":"complete"}`)
	f.auto = func(out wire.Outgoing) string {
		if out.Method != "tools/call" {
			return f.answer(out)
		}
		said, more := "done", ""
		args := out.Params.Get("arguments")
		if name, _ := out.Params.Get("name").Text(); name == "read" {
			said = f.text
		} else if text, _ := args.Get("text").Text(); !f.lies {
			f.text = text
		}
		if f.fresh {
			more = `,"_meta":{"sallyport/verified":true}`
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]%s}}`, out.ID.Bytes(), said, more)
	}
	return f
}

// A server that lies about what it wrote is caught, whatever it says of itself; the caller learns it, the next call is stopped,
// and what reads goes on.
func TestALyingServerIsCaughtAndStopped(t *testing.T) {
	for name, tt := range map[string]struct {
		client, server wire.Era
		several        bool
	}{
		"legacy": {wire.Legacy, wire.Legacy, false}, "modern": {wire.Modern, wire.Modern, false},
		"modern client, legacy server": {wire.Modern, wire.Legacy, false}, "several": {wire.Legacy, wire.Legacy, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, prefix := newFiles(tt.server), ""
				ups := []*fake{f.fake}
				if tt.several {
					ups, prefix = append(ups, withTools("db", "x")), "fs__"
				}
				g := interlocked(fmt.Sprintf(verifiedWrites, prefix+"read"))
				p := newRelayedAs(t, func(s *gateway.Server) { s.Door = g }, ups...)
				meta := "," + meta()
				if tt.client == wire.Legacy {
					meta = ""
					if tt.several {
						ups[1].auto = ups[1].answer
					}
					p.ask(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
					p.ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				}
				call := func(id int, tool, args string) string {
					got := p.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, id, prefix+tool, args, meta))
					if len(got) != 1 {
						t.Fatalf("call %d: heard %q", id, got)
					}
					return got[0]
				}
				if got := call(1, "write", `{"path":"a","text":"one"}`); !strings.Contains(got, `"_meta":{"sallyport/verified":true}`) {
					t.Errorf("an honest server: heard %s", got)
				}
				f.lies, f.fresh = true, true
				if got := call(2, "write", `{"path":"a","text":"two"}`); !strings.Contains(got, `"_meta":{"sallyport/verified":false}`) || !strings.Contains(got, "done") {
					t.Errorf("a lying server: heard %s", got)
				}
				f.received()
				if got := call(3, "write", `{"path":"a","text":"three"}`); !strings.Contains(got, `"rule":"latch"`) {
					t.Errorf("after a lie: heard %s", got)
				}
				if calls := f.called(); calls != nil {
					t.Errorf("after a lie the server was sent %q", calls)
				}
				if got := call(4, "read", `{"path":"a"}`); !strings.Contains(got, `"text":"one"`) || strings.Contains(got, "verified") {
					t.Errorf("reading: heard %s", got)
				}
				want := []string{prefix + "write committed CONTINUE", prefix + "write committed STOP"}
				if diff := cmp.Diff(want, g.members(t, "verdict")); diff != "" {
					t.Errorf("verdicts on record (-want +got):\n%s", diff)
				}
				want = []string{prefix + "read observed verify", prefix + "read observed verify"}
				if diff := cmp.Diff(want, g.members(t, "origin")); diff != "" {
					t.Errorf("origins on record (-want +got):\n%s", diff)
				}
				p.end()
			})
		})
	}
}

// The client that made the call is gone when it is looked at what it left: that goes on without it.
func TestALookGoesOnWithoutItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFiles(wire.Legacy)
		g := interlocked(strings.Replace(fmt.Sprintf(verifiedWrites, "read"), "expect:", "retry_observe_for: 5s\n      expect:", 1))
		p := newRelayedAs(t, func(s *gateway.Server) { s.Door = g }, f.fake)
		p.ask(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
		p.ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		f.lies = true // it writes late
		p.write(call1(1, "write", `{"path":"a","text":"late"}`) + "\n")
		synctest.Wait()
		if got := p.ask(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`); got != nil {
			t.Errorf("heard %q", got)
		}
		f.mu.Lock()
		f.text = "late"
		f.mu.Unlock()
		time.Sleep(2 * time.Second)
		if got, want := g.members(t, "verdict"), []string{"write committed CONTINUE"}; !cmp.Equal(got, want) {
			t.Errorf("verdicts on record %q, want %q", got, want)
		}
		if calls := f.called(); len(calls) < 3 {
			t.Errorf("the server was sent %q, want the call and more than one look", calls)
		}
		p.end()
	})
}

// A person agrees through the client, in either era and before every kind of tool, and that is on record.
func TestAPersonAgreesThroughTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFiles(wire.Modern)
		g := interlocked(askedWrites)
		p := newRelayedAs(t, func(s *gateway.Server) { s.Door = g }, f.fake)
		asked := p.ask(writes(1, `{"text":"one"}`, ""))[0]
		result := mustParse(t, asked).Get("result")
		state := `"requestState":` + string(result.Get("requestState").Bytes()) + `,`
		if kind, _ := result.Get("resultType").Text(); kind != "input_required" || !strings.Contains(asked, "Why: Ask first.") {
			t.Fatalf("heard %s", asked)
		}
		if got := p.ask(writes(2, `{"text":"two"}`, `"inputResponses":{`+agrees+`},`+state))[0]; !strings.Contains(got, "input_required") {
			t.Errorf("the answer to another call: heard %s", got)
		}
		if calls := f.called(); calls != nil {
			t.Errorf("the server was sent %q", calls)
		}
		if got := p.ask(writes(3, `{"text":"one"}`, `"inputResponses":{`+agrees+`},`+state))[0]; !strings.Contains(got, "done") {
			t.Errorf("the answer: heard %s", got)
		}
		if got := p.ask(writes(4, `{"text":"one"}`, `"inputResponses":{`+agrees+`},`+state))[0]; !strings.Contains(got, "input_required") {
			t.Errorf("the same answer again: heard %s", got)
		}
		if calls := f.called(); len(calls) != 1 || strings.Contains(calls[0], "sallyport") {
			t.Errorf("the server was sent %q", calls)
		}
		got := p.ask(`{"jsonrpc":"2.0","id":5,"method":"prompts/get","params":{"name":"p",` + elicits + `}}`)[0]
		state = `"requestState":` + string(mustParse(t, got).Get("result").Get("requestState").Bytes()) + `,`
		got = p.ask(`{"jsonrpc":"2.0","id":6,"method":"prompts/get","params":{"name":"p","inputResponses":{` + agrees + `},` + state + elicits + `}}`)[0]
		if !strings.Contains(got, "done") {
			t.Errorf("the answer about a prompt: heard %s", got)
		}
		records := strings.Join(g.records(t), "\n")
		for _, want := range []string{"tools/call write local ask asked asks", gate.MethodApprove + " write local allow permitted elicitation", gate.MethodApprove + " p local allow permitted elicitation"} {
			if !strings.Contains(records, want) {
				t.Errorf("the record %q is not there: %s", want, records)
			}
		}
		p.end()
	})
}

// Whoever cannot be asked through the client waits for the terminal, and a legacy client that asks is not asked any more once
// somebody answered there.
func TestAPersonAgreesAtTheTerminal(t *testing.T) {
	for name, capabilities := range map[string]string{"it cannot ask": `{}`, "it asks meanwhile": `{"elicitation":{}}`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFiles(wire.Legacy)
				g := interlocked(askedWrites)
				p := newRelayedAs(t, func(s *gateway.Server) { s.Door = g }, f.fake)
				p.ask(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `}}`)
				p.ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				got := strings.Join(p.ask(call1(1, "write", `{"text":"one"}`)), "\n")
				if asked := strings.Contains(got, "elicitation/create"); asked != (capabilities != "{}") {
					t.Errorf("heard %s", got)
				}
				waiting, err := g.Approvals.List(time.Now())
				if err != nil || len(waiting) != 1 {
					t.Fatalf("there wait %+v, %v", waiting, err)
				}
				if err := g.Answer(waiting[0].ID, interlock.Agreed, "looks good"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				got = strings.Join(p.heard(), "\n")
				if !strings.Contains(got, "done") || strings.Contains(got, "notifications/cancelled") != (capabilities != "{}") {
					t.Errorf("after the answer: heard %s", got)
				}
				p.end()
			})
		})
	}
}

// A plan's runner sees by a preview what the real gate would do, and its calls are on record as a plan's.
func TestACallFromInsideBeforeTheRealGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFiles(wire.Modern)
		g := interlocked(fmt.Sprintf(strings.Replace(verifiedWrites, "    verify:", "    mutation: {key: sallyport/request_id}\n    verify:", 1), "fs__read"))
		s := &gateway.Server{Door: g, Version: "1.2.3", Upstreams: []gateway.Upstream{f.fake}, Prefixed: true}
		in := s.Inside(gate.Caller{Principal: "local"})
		args := mustParse(t, `{"path":"a","text":"one"}`)
		preview, err := in.Preview(t.Context(), "run/a/call", "fs__write", args)
		if err != nil || preview.Decision != policy.Allow || preview.Key == "" || !preview.Verified || preview.ReadOnly {
			t.Errorf("got the preview %+v, %v", preview, err)
		}
		for range 2 { // the second is answered from what is stored
			result, err := in.Call(t.Context(), "plan", "run/a/call", "fs__write", args)
			if err != nil || result.Checks != gate.Held || !strings.Contains(string(result.Body), "done") {
				t.Errorf("got %+v, %v", result, err)
			}
		}
		if calls := f.called(); len(calls) != 2 || !strings.Contains(calls[0], `"sallyport/request_id":"run/a/call"`) {
			t.Errorf("the server was sent %q, want the call once and the look", calls)
		}
		want := []string{"fs__write committed plan", "fs__read observed verify", "fs__write replay plan"}
		if diff := cmp.Diff(want, g.members(t, "origin")); diff != "" {
			t.Errorf("origins on record (-want +got):\n%s", diff)
		}
		in.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

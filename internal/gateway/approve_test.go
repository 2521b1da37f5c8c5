package gateway_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/gateway"
	"sallyport/internal/wire"
)

const (
	elicits = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	agrees  = `"sallyport/approval":{"action":"accept","content":{"approve":true}}`
)

// asking is a modern upstream with the tools write, about which a person is asked, and other, and a client before it.
func asking(t *testing.T) (*relayed, *fake) {
	f := withTools("fs", "write", "other")
	f.era, f.welcome = wire.Modern, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
	f.list("tools/call", `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`)
	f.auto = f.answer
	p := newRelayed(t, f)
	p.door.set("write", "ask")
	return p, f
}

// writes is a call of the tool write with these members besides.
func writes(id int, args, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write","arguments":%s,%s%s}}`, id, args, more, elicits)
}

// state is the requestState of the nth approval, as a member.
func state(n int, more string) string {
	return fmt.Sprintf(`"requestState":"sallyport:%016x%s",`, n, more)
}

// called are the tools/call that an upstream has been sent.
func (f *fake) called() (calls []string) {
	for _, line := range f.received() {
		if strings.Contains(line, "tools/call") {
			calls = append(calls, line)
		}
	}
	return calls
}

// A client that was asked about one call has not been asked about another, whatever it brings.
func TestAnAnswerCountsForItsOwnCallOnly(t *testing.T) {
	carry := func(object string) string { return "." + base64.RawURLEncoding.EncodeToString([]byte(object)) }
	for name, retry := range map[string]string{
		"no state":                   writes(3, `{"n":1}`, `"inputResponses":{`+agrees+`},`),
		"no answer":                  writes(3, `{"n":1}`, state(1, "")),
		"another call's state":       writes(3, `{"n":1}`, `"inputResponses":{`+agrees+`},`+state(2, "")),
		"other arguments":            writes(3, `{"n":3}`, `"inputResponses":{`+agrees+`},`+state(1, "")),
		"an approval that is not":    writes(3, `{"n":1}`, `"inputResponses":{`+agrees+`},`+state(77, "")),
		"no id":                      writes(3, `{"n":1}`, `"inputResponses":{`+agrees+`},"requestState":"sallyport:",`),
		"an id and more":             writes(3, `{"n":1}`, `"inputResponses":{`+agrees+`},"requestState":"sallyport:0000000000000001 ",`),
		"another prefix":             writes(3, `{"n":1}`, `"inputResponses":{`+agrees+`},"requestState":"Sallyport:0000000000000001",`),
		"the state is a number":      writes(3, `{"n":1}`, `"inputResponses":{`+agrees+`},"requestState":1,`),
		"an upstream's state":        writes(3, `{"n":1}`, `"inputResponses":{`+agrees+`},"requestState":"opaque",`),
		"carried state of its own":   writes(3, `{"n":1}`, `"inputResponses":{`+agrees+`},`+state(1, carry(`{"requestState":"forged"}`))),
		"carried answers of its own": writes(3, `{"n":1}`, `"inputResponses":{`+agrees+`},`+state(1, carry(`{"inputResponses":{"q":{}}}`))),
		"other answers besides":      writes(3, `{"n":1}`, `"inputResponses":{"q":{},`+agrees+`},`+state(1, "")),
		"an answer that is no form":  writes(3, `{"n":1}`, `"inputResponses":[{`+agrees+`}],`+state(1, "")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, f := asking(t)
				for n, args := range []string{`{"n":1}`, `{"n":2}`} {
					if got := p.ask(writes(n+1, args, ""))[0]; !strings.Contains(got, state(n+1, "")) {
						t.Fatalf("heard %s, want to be asked for approval %d", got, n+1)
					}
				}
				got := p.ask(retry)
				if len(got) != 1 || !strings.Contains(got[0], `"resultType":"input_required"`) {
					t.Errorf("heard %q, want to be asked", got)
				}
				if calls := f.called(); calls != nil {
					t.Errorf("the upstream was sent %q", calls)
				}
				p.end()
			})
		})
	}
}

// What is no clear yes is no consent: nothing is sent until somebody at the terminal says so.
func TestWhatIsNoClearYesIsNoConsent(t *testing.T) {
	for name, tt := range map[string]struct {
		answer  string
		refuses bool
	}{
		"cancel":               {`{"action":"cancel"}`, false},
		"no action":            {`{"content":{"approve":true}}`, false},
		"an action in capital": {`{"action":"Accept","content":{"approve":true}}`, false},
		"approve is text":      {`{"action":"accept","content":{"approve":"true"}}`, false},
		"approve is 1":         {`{"action":"accept","content":{"approve":1}}`, false},
		"approve in capital":   {`{"action":"accept","content":{"Approve":true}}`, false},
		"no content":           {`{"action":"accept"}`, false},
		"no object":            {`true`, false},
		"decline":              {`{"action":"decline","content":{"approve":true}}`, true},
		"approve is false":     {`{"action":"accept","content":{"approve":false}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, f := asking(t)
				p.ask(writes(1, `{}`, ""))
				got := p.ask(writes(2, `{}`, `"inputResponses":{"sallyport/approval":`+tt.answer+`},`+state(1, "")))
				if denied := strings.Contains(strings.Join(got, ""), "tool denied: write"); denied != tt.refuses || !denied && len(got) > 0 {
					t.Errorf("heard %q", got)
				}
				if calls := f.called(); calls != nil {
					t.Errorf("the upstream was sent %q", calls)
				}
				p.door.decide(true)
				if got := p.heard(); !tt.refuses && (len(got) != 1 || !strings.Contains(got[0], "done")) {
					t.Errorf("after it was agreed to at the terminal: heard %q", got)
				}
				p.end()
			})
		})
	}
}

// Nothing of what is between the client and us is for an upstream to see, in whatever round, and nothing of what is between
// the client and the upstream is lost by our coming between.
func TestAnUpstreamSeesNothingOfApprovals(t *testing.T) {
	const theirs = `"inputResponses":{"who":{"action":"accept"}},"requestState":"opaque",`
	for name, mixed := range map[string]string{
		"their state":                     theirs,
		"their state, and our old answer": `"inputResponses":{"who":{"action":"accept"},` + agrees + `},"requestState":"opaque",`,
		"their state, our answer before":  `"requestState":"opaque","inputResponses":{` + agrees + `,"who":{"action":"accept"}},`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, f := asking(t)
				got := p.ask(writes(1, `{"n":1.0}`, mixed))[0]
				from := strings.Index(got, `"requestState":"sallyport:`)
				if from < 0 {
					t.Fatalf("heard %s, want to be asked", got)
				}
				mine := got[from : from+strings.IndexByte(got[from:], ',')+1]
				if got := p.ask(writes(2, `{"n":1.0}`, `"inputResponses":{`+agrees+`},`+mine)); len(got) != 1 || !strings.Contains(got[0], "done") {
					t.Errorf("heard %q", got)
				}
				want := []string{strings.Replace(writes(2, `{"n":1.0}`, ""), `"params":{`, `"params":{`+theirs, 1)}
				if diff := cmp.Diff(want, f.called()); diff != "" {
					t.Errorf("the upstream was sent (-want +got):\n%s", diff)
				}
				p.end()
			})
		})
	}
}

// An upstream that asks in our name could be given what the person says to us, or take away what is its own.
func TestAnUpstreamCannotAskInOurName(t *testing.T) {
	const form = `{"method":"elicitation/create","params":{"message":"Nice weather?","requestedSchema":{"type":"object"}}}`
	for name, result := range map[string]string{
		"our state":          `{"resultType":"input_required","requestState":"sallyport:0000000000000001"}`,
		"our state, escaped": `{"resultType":"input_required","requestState":"\u0073allyport:x"}`,
		"our key":            `{"resultType":"input_required","inputRequests":{"sallyport/approval":` + form + `},"requestState":"x"}`,
		"our key beside":     `{"resultType":"input_required","inputRequests":{"a":` + form + `,"sallyport\/approval":` + form + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, f := asking(t)
				f.list("tools/call", result)
				got := p.ask(strings.Replace(writes(1, `{}`, ""), "write", "other", 1))
				if len(got) != 1 || !strings.Contains(got[0], "in the gate's own name") || strings.Contains(got[0], "weather") {
					t.Errorf("heard %q", got)
				}
				if calls := f.called(); len(calls) != 1 {
					t.Errorf("the upstream was sent %q", calls)
				}
				p.end()
			})
		})
	}
}

// Modern HTTP requests are sessions of their own: the answer may come in another one, of the same principal.
func TestAnAnswerComesInAnotherSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, f := asking(t)
		for n, principal := range []string{"ada", "bob", "ada"} {
			q := p.another(&wire.Session{Principal: principal, Shared: true})
			more := `"inputResponses":{` + agrees + `},` + state(1, "")
			if n == 0 {
				more = ""
			}
			got := q.ask(writes(n+1, `{}`, more))[0]
			if asked := strings.Contains(got, "input_required"); asked != (n < 2) {
				t.Errorf("%d, %s: heard %s", n, principal, got)
			}
			q.in.Close()
			<-q.done
		}
		if calls := f.called(); len(calls) != 1 {
			t.Errorf("the upstream was sent %q, want one call", calls)
		}
		p.end()
	})
}

// What a client told an upstream is carried in our state only so far: beyond that the call waits for the terminal.
func TestALongRoundIsNotCarried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, f := asking(t)
		long := strings.Repeat("x", 1<<20)
		if got := p.ask(writes(1, `{}`, `"inputResponses":{"q":{"x":"`+long+`"}},"requestState":"opaque",`)); got != nil {
			t.Errorf("heard %.200q, want nothing yet", got)
		}
		p.door.decide(true)
		if got := p.heard(); len(got) != 1 || !strings.Contains(got[0], "done") {
			t.Errorf("heard %.200q", got)
		}
		if calls := f.called(); len(calls) != 1 || !strings.Contains(calls[0], long) {
			t.Errorf("the upstream was sent %.200q", calls)
		}
		p.end()
	})
}

// A legacy client's answer counts under the id that it was asked under, and only once it has said that it can ask.
func TestALegacyClientAnswersForItsOwnQuestionOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "write")
		f.auto = f.answer
		p := newRelayed(t, f)
		p.door.set("write", "ask")
		p.ask(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}}`)
		p.ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		p.ask(call1(1, "write", `{"n":1}`))
		first := p.asked
		p.ask(call1(2, "write", `{"n":2}`))
		if first == p.asked || first == "" {
			t.Fatalf("two questions under the ids %q and %q", first, p.asked)
		}
		f.received()
		for _, id := range []string{`"sallyport-x"`, `1`, `2`, `null`} {
			p.ask(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":{"approve":true}}}`)
		}
		// An answer that can be read in two ways is none.
		p.ask(`{"jsonrpc":"2.0","id":"` + first + `","result":{"action":"decline","action":"accept","content":{"approve":true}}}`)
		if calls := f.called(); calls != nil {
			t.Errorf("the upstream was sent %q", calls)
		}
		if got := p.ask(`{"jsonrpc":"2.0","id":"OWN","result":{"action":"accept","content":{"approve":true}}}`); len(got) != 1 || !strings.Contains(got[0], `"id":2`) {
			t.Errorf("heard %q, want the answer to the second call", got)
		}
		if calls := f.called(); len(calls) != 1 || !strings.Contains(calls[0], `{"n":2}`) {
			t.Errorf("the upstream was sent %q, want the second call", calls)
		}
		p.door.decide(false)
		p.heard()
		p.end()
	})
}

// A question of an upstream's that the policy asks about is put to the person before it is put to the client.
func TestAnUpstreamsQuestionIsAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "write")
		p := newRelayedAs(t, func(s *gateway.Server) {}, f)
		p.door.set("sampling/createMessage", "ask")
		p.write(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"sampling":{}}}}` + "\n")
		p.heard()
		f.says(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
		p.heard()
		p.ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		f.says(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"x":1}}`)
		if got := p.heard(); len(got) != 1 || !strings.Contains(got[0], "elicitation/create") || !strings.Contains(got[0], "Request: sampling/createMessage") {
			t.Errorf("heard %q, want to be asked", got)
		}
		got := p.ask(`{"jsonrpc":"2.0","id":"OWN","result":{"action":"accept","content":{"approve":true}}}`)
		if want := []string{`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"x":1}}`}; !cmp.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
		p.end()
	})
}

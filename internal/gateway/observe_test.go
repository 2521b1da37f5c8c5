package gateway_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/gateway"
	"sallyport/internal/pin"
	"sallyport/internal/wire"
)

func mustParse(t testing.TB, text string) canon.Value {
	t.Helper()
	v, err := canon.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// carried lets a call be carried out that only a gate can let be carried out.
func carried(ctx context.Context, c gate.Call) (gate.Result, error) { return openGate().Do(ctx, c) }

// observing is the Observe of a call that was made by an upstream's client.
func observing(t *testing.T, p *relayed, line string) func(context.Context, string, canon.Value) (gate.Call, error) {
	t.Helper()
	p.door.seen()
	p.ask(line)
	calls := p.door.seen()
	if len(calls) != 1 || calls[0].Observe == nil {
		t.Fatalf("at the door: %+v", calls)
	}
	return calls[0].Observe
}

// What can be observed is what the client itself could call, under the same names, and as the same caller.
func TestWhatIsObservedIsCalledLikeAnyTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, db := withTools("fs", "write", "read"), withTools("db", "read")
		p := ready(t, nil, func(s *gateway.Server) { s.Tools = []*gate.Tool{echoes("read_note")} }, fs, db)
		observe := observing(t, p, call1(1, "fs__write", `{"n":1}`))
		for tool, want := range map[string]struct {
			upstream string
			known    bool
		}{
			"fs__read": {"fs", true}, "db__read": {"db", true}, "read_note": {"", true}, "read": {}, "db__write": {}, "xx__read": {}, "": {},
		} {
			c, err := observe(t.Context(), tool, mustParse(t, `{"n":1}`))
			switch {
			case err != nil:
				t.Errorf("%s: %v", tool, err)
			case c.Name != tool || c.Caller.Principal != "local" || c.Method != "" || string(c.Args.Bytes()) != `{"n":1}` || c.Refuse != nil:
				t.Errorf("%s: got %+v", tool, c)
			case (c.Tool != nil) != want.known:
				t.Errorf("%s: there is a tool: %v, want %v", tool, c.Tool != nil, want.known)
			case c.Tool != nil && (c.Tool.Name != tool || c.Tool.Upstream != want.upstream || (c.Invoke == nil) != (want.upstream == "")):
				t.Errorf("%s: got %+v", tool, c)
			}
		}
		fs.received()
		db.received()
		c, err := observe(t.Context(), "db__read", mustParse(t, `{"n":1}`))
		if err != nil {
			t.Fatal(err)
		}
		if sent := append(fs.received(), db.received()...); sent != nil {
			t.Errorf("before it was carried out there was sent %q", sent)
		}
		result, err := carried(t.Context(), c)
		if err != nil || result.Form != gate.Whole || !strings.Contains(string(result.Body), "done") {
			t.Errorf("got %s, %v", result.Body, err)
		}
		if want, got := `{"jsonrpc":"2.0","id":"OWN","method":"tools/call","params":{"name":"read","arguments":{"n":1}}}`, db.received(); len(got) != 1 || got[0] != want {
			t.Errorf("the upstream was sent %q, want %s", got, want)
		}
		if _, err := c.Invoke(t.Context(), nil); err == nil {
			t.Error("it was carried out without a permit")
		}
		if sent := db.received(); sent != nil {
			t.Errorf("without a permit there was sent %q", sent)
		}
		p.end()
	})
}

// Each observation goes under an id of its own, which is no client's.
func TestObservationsHaveIDsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "write", "read")
		p := ready(t, nil, nil, f)
		observe := observing(t, p, call1(1, "write", `{}`))
		var ids []string
		f.mu.Lock()
		f.auto = func(out wire.Outgoing) string {
			ids = append(ids, string(out.ID.Bytes()))
			return f.answer(out)
		}
		f.mu.Unlock()
		c, err := observe(t.Context(), "read", mustParse(t, `{}`))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // one call that looks may be carried out again and again
			if _, err := carried(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		seen := map[string]bool{}
		for _, id := range ids {
			if seen[id] || !regexp.MustCompile(`^"sallyport-[A-Z2-7]{12}-[0-9]+"$`).MatchString(id) {
				t.Errorf("an observation went under the id %s", id)
			}
			seen[id] = true
		}
		if len(ids) != 3 {
			t.Errorf("%d observations were sent, want 3", len(ids))
		}
		p.end()
	})
}

// When the client's session is over nothing can be looked at by its way, and nothing is sent.
func TestNothingIsObservedOnceTheVisitIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "write", "read")
		p := ready(t, nil, nil, f)
		observe := observing(t, p, call1(1, "write", `{}`))
		before, err := observe(t.Context(), "read", canon.Value{})
		if err != nil {
			t.Fatal(err)
		}
		p.end()
		f.received()
		if c, err := observe(t.Context(), "read", canon.Value{}); err == nil {
			t.Errorf("got %+v, want an error", c)
		}
		if result, err := carried(t.Context(), before); err == nil {
			t.Errorf("got %s, want an error", result.Body)
		}
		if sent := f.received(); sent != nil {
			t.Errorf("the upstream was sent %q", sent)
		}
	})
}

// A server that cannot be asked which tools it has cannot be asked to show anything: that is an error, and no denial.
func TestAnUpstreamThatCannotBeObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, db := withTools("fs", "write"), withTools("db", "read")
		p := ready(t, nil, nil, fs, db)
		observe := observing(t, p, call1(1, "fs__write", `{}`))
		db.fall(true)
		db.die()
		synctest.Wait()
		if c, err := observe(t.Context(), "db__read", canon.Value{}); err == nil {
			t.Errorf("got %+v, want an error", c)
		}
		p.end()
	})
}

// What observes is held to its pin too.
func TestAChangedToolDoesNotObserve(t *testing.T) {
	lock, err := (&pin.Lock{}).With("fs", []pin.Definition{
		{Kind: pin.Tool, Name: "write", Text: []byte(`{"name":"write","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`)},
		{Kind: pin.Tool, Name: "read", Text: []byte(`{"name":"read","inputSchema":{"type":"object"}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "write", "read")
		p := ready(t, nil, func(s *gateway.Server) { s.Lock = func() *pin.Lock { return lock } }, f)
		observe := observing(t, p, call1(1, "write", `{}`))
		c, err := observe(t.Context(), "read", canon.Value{})
		if err != nil || c.Refuse == nil || c.Refuse.Rule != "pin" {
			t.Errorf("got %+v, %v; want a refusal for the pin", c, err)
		}
		p.end()
	})
}

// An observation over streamable HTTP has the headers that its tool wants, as they are by now.
func TestAnObservationHasTheHeadersOfItsTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "write")
		f.era, f.welcome = wire.Modern, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
		row := `{"name":"read","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"}}}}`
		f.list("tools/list", strings.Replace(toolRows("write"), `]}`, `,`+row+`],"resultType":"complete"}`, 1))
		refusals := 0
		f.auto = func(out wire.Outgoing) string {
			if refusals > 0 {
				refusals--
				f.lists["tools/list"] = strings.Replace(f.lists["tools/list"], "Region", "Zone", 1)
				return `{"jsonrpc":"2.0","id":` + string(out.ID.Bytes()) + `,"error":{"code":-32020,"message":"no"}}`
			}
			return f.answer(out)
		}
		p := newRelayed(t, f)
		observe := observing(t, p, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{},`+meta()+`}}`)
		f.received()
		c, err := observe(t.Context(), "read", mustParse(t, `{"r":"eu"}`))
		if err != nil {
			t.Fatal(err)
		}
		refusals = 1
		if _, err := carried(t.Context(), c); err != nil {
			t.Error(err)
		}
		calls := f.called()
		if len(calls) != 2 || !strings.Contains(calls[0], "[Region: eu]") || !strings.Contains(calls[1], "[Zone: eu]") || refusals != 0 {
			t.Errorf("the upstream was sent %q", calls)
		}
		p.end()
	})
}

// Where a legacy client is before a modern server, what that wants to know on behalf of an observation is not the client's to
// say either.
func TestAnObservationAsksNobodyAcrossEras(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withTools("fs", "write", "read")
		f.era, f.welcome = wire.Modern, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
		asks := `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object"}}}},"requestState":"s"}`
		f.auto = func(out wire.Outgoing) string {
			id := `{"jsonrpc":"2.0","id":` + string(out.ID.Bytes())
			switch {
			case out.Method == "initialize":
				return id + `,"error":{"code":-32601,"message":"no"}}`
			case strings.Contains(string(out.Params.Bytes()), `"read"`):
				return id + `,"result":` + asks + `}`
			}
			return f.answer(out)
		}
		p := newRelayed(t, f)
		p.ask(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}}`)
		p.ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		p.door.verify("write", "read")
		got := p.ask(call1(1, "write", `{}`))
		if len(got) != 1 || !strings.Contains(got[0], `"sallyport/verified":false`) {
			t.Errorf("heard %q, want one answer, that what is there was not seen", got)
		}
		if calls := f.called(); len(calls) != 2 {
			t.Errorf("the upstream was sent %q, want the call and one observation", calls)
		}
		p.end()
	})
}

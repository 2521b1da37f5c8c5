package gateway_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/gateway"
	"sallyport/internal/wire"
)

// meta is the _meta of a modern request, with more members if there are any.
func meta(more ...string) string {
	members := append([]string{
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`,
	}, more...)
	return `"_meta":{` + strings.Join(members, ",") + `}`
}

// call is a modern tools/call.
func call(id any, tool, args string, more ...string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`+"\n",
		id, tool, args, meta(more...))
}

func TestACallReachesTheDoorAsItWasMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t)
		const args = `{ "z":1.0, "a":9007199254740993, "\u0061b":"\u00e9", "e":1e400 }`
		p.write(call(1, "echo", args, `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`,
			`"io.modelcontextprotocol/clientInfo":{"name":"root"}`))
		p.write(call(2, "nonesuch", `null`))
		p.write(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ech\u006f",` + meta() + "}}\n")
		p.heard()
		type seen struct {
			Principal, Name, Tool, Args, TraceID string
		}
		got := make(map[string]seen)
		for _, c := range p.door.calls {
			s := seen{c.Caller.Principal, c.Name, "", string(c.Args.Bytes()), c.TraceID}
			if c.Tool != nil {
				s.Tool = c.Tool.Name
			}
			got[s.Args] = s
		}
		want := map[string]seen{
			args:   {"local", "echo", "echo", args, "0af7651916cd43dd8448eb211c80319c"},
			`null`: {"local", "nonesuch", "", `null`, ""},
			``:     {"local", "echo", "echo", ``, ""},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls at the door (-want +got):\n%s", diff)
		}
		p.in.Close()
	})
}

func TestTraceID(t *testing.T) {
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	tests := map[string]struct{ traceparent, want string }{
		"valid":                       {`"00-` + trace + `-` + parent + `-01"`, trace},
		"flags of the future":         {`"00-` + trace + `-` + parent + `-ff"`, trace},
		"version of the future":       {`"01-` + trace + `-` + parent + `-01"`, trace},
		"version of the future, more": {`"01-` + trace + `-` + parent + `-01-what"`, trace},
		"more, but not behind a dash": {`"01-` + trace + `-` + parent + `-01what"`, ""},
		"version 00 with more":        {`"00-` + trace + `-` + parent + `-01-what"`, ""},
		"version ff":                  {`"ff-` + trace + `-` + parent + `-01"`, ""},
		"no version":                  {`"` + trace + `-` + parent + `-01"`, ""},
		"all zero":                    {`"00-` + strings.Repeat("0", 32) + `-` + parent + `-01"`, ""},
		"parent all zero":             {`"00-` + trace + `-` + strings.Repeat("0", 16) + `-01"`, ""},
		"upper case":                  {`"00-` + strings.ToUpper(trace) + `-` + parent + `-01"`, ""},
		"too short":                   {`"00-` + trace[1:] + `-` + parent + `-01"`, ""},
		"too long":                    {`"00-` + trace + `0-` + parent + `-01"`, ""},
		"no hex":                      {`"00-` + strings.Repeat("g", 32) + `-` + parent + `-01"`, ""},
		"parent no hex":               {`"00-` + trace + `-` + strings.Repeat("g", 16) + `-01"`, ""},
		"flags no hex":                {`"00-` + trace + `-` + parent + `-0g"`, ""},
		"underscores":                 {`"00_` + trace + `_` + parent + `_01"`, ""},
		"space round it":              {`" 00-` + trace + `-` + parent + `-01"`, ""},
		"empty":                       {`""`, ""},
		"number":                      {`1`, ""},
		"array":                       {`["00-` + trace + `-` + parent + `-01"]`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer(t)
				p.write(call(1, "echo", `{}`, `"traceparent":`+tt.traceparent))
				p.heard()
				if len(p.door.calls) != 1 || p.door.calls[0].TraceID != tt.want {
					t.Errorf("calls at the door: %+v, want one with trace id %q", p.door.calls, tt.want)
				}
				p.in.Close()
			})
		})
	}
}

// While all slots are taken by calls that take long, a client can still look round and cancel.
func TestWhileCallsWaitTheRestIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t)
		for i := range 100 {
			p.write(call(i, "slow", `{}`))
		}
		synctest.Wait()
		if got := len(p.door.calls); got != 64 {
			t.Errorf("%d calls are at the door, want 64", got)
		}
		p.write(`{"jsonrpc":"2.0","id":"list","method":"tools/list","params":{` + meta() + "}}\n")
		p.write(`{"jsonrpc":"2.0","id":"ping","method":"ping"}` + "\n")
		p.write(`{"jsonrpc":"2.0","id":"discover","method":"server/discover","params":{` + meta() + "}}\n")
		if got := p.heard(); len(got) != 3 {
			t.Errorf("heard %q, want three answers", got)
		}
		for i := range 100 {
			p.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", 99-i))
		}
		p.write(call(`"after"`, "echo", `{}`))
		if got := p.heard(); len(got) != 1 || !strings.HasPrefix(got[0], `{"jsonrpc":"2.0","id":"after","result":`) {
			t.Errorf("heard %q, want the one answer that was not cancelled", got)
		}
		if got := len(p.door.calls); got != 65 {
			t.Errorf("%d calls came to the door, want 65: those that waited were cancelled", got)
		}
		p.in.Close()
		if err := <-p.done; err != nil {
			t.Errorf("ServeLines returned %v", err)
		}
	})
}

func TestShutdownTellsWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t)
		p.write(call(1, "slow", `{}`))
		p.write(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{},` + meta() + "}}\n")
		p.heard()
		p.stop()
		if err := <-p.done; err != nil {
			t.Errorf("ServeLines returned %v", err)
		}
		for _, line := range p.heard() {
			switch {
			case strings.HasPrefix(line, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server is shutting down`):
			case strings.HasPrefix(line, `{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete",`):
			default:
				t.Errorf("heard %s", line)
			}
		}
		p.in.Close()
	})
}

// A deep text must cost neither stack nor session, wherever it stands.
func TestDeepNesting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t)
		deep := strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)
		objects := strings.Repeat(`{"a":`, 200_000) + "1" + strings.Repeat("}", 200_000)
		p.write(deep + "\n" + objects + "\n" + strings.Repeat("[", 200_000) + "\n")
		p.write(call(7, "echo", deep) + call(8, "echo", objects))
		p.write(call(9, "echo", `{}`, `"x":`+deep))
		p.write(call(10, "echo", `{}`))
		var got []string
		for _, line := range p.heard() {
			got = append(got, line[:min(len(line), len(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600`))])
		}
		want := []string{
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700`,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"m`,
			`{"jsonrpc":"2.0","id":8,"error":{"code":-32600,"m`,
			`{"jsonrpc":"2.0","id":9,"error":{"code":-32600,"m`,
			`{"jsonrpc":"2.0","id":10,"result":{"resultType":"`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("heard (-want +got):\n%s", diff)
		}
		p.in.Close()
	})
}

func TestRefreshBeforeAnyClient(t *testing.T) {
	d := newDoor()
	s := &gateway.Server{Door: d, Tools: tools}
	d.hide("echo", true)
	s.Refresh()
	var out strings.Builder
	const script = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
{"jsonrpc":"2.0","method":"notifications/initialized"}`
	if err := s.ServeLines(t.Context(), strings.NewReader(script), &out, wire.Options{}); err != nil {
		t.Fatal(err)
	}
	s.Refresh() // the client is gone
	want := `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},` +
		`"serverInfo":{"name":"sallyport","version":""}}}` + "\n"
	if got := out.String(); got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
}

// Policies change while clients come, listen, cancel and go: no word on a subscription comes before it is acknowledged,
// nor after it was cancelled or closed.
func TestRefreshWhileClientsComeAndGo(t *testing.T) {
	d := newDoor()
	s := &gateway.Server{Door: d, Tools: tools}
	stop := make(chan struct{})
	var refreshing sync.WaitGroup
	refreshing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				d.hide("echo", i%2 == 0)
				s.Refresh()
			}
		}
	})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			var script strings.Builder
			for i := range 200 {
				fmt.Fprintf(&script, `{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},%s}}`+"\n", i, meta())
				if i%2 == 0 {
					fmt.Fprintf(&script, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", i)
				}
			}
			var out strings.Builder
			if err := s.ServeLines(context.Background(), strings.NewReader(script.String()), &out, wire.Options{}); err != nil {
				t.Error(err)
			}
			checkStreams(t, out.String())
		})
	}
	clients.Wait()
	close(stop)
	refreshing.Wait()
}

// checkStreams checks the order of what came on each subscription of a client who cancelled those with an even id.
func checkStreams(t *testing.T, heard string) {
	const acknowledged, closed = 1, 2
	state := make(map[int]int)
	for line := range strings.Lines(heard) {
		_, rest, ok := strings.Cut(line, `"io.modelcontextprotocol/subscriptionId":`)
		var id int
		if _, err := fmt.Sscanf(rest, "%d", &id); !ok || err != nil {
			t.Errorf("no subscription in %s", line)
			continue
		}
		switch {
		case strings.Contains(line, "acknowledged") && state[id] == 0:
			state[id] = acknowledged
		case strings.Contains(line, "list_changed") && state[id] == acknowledged:
		case strings.Contains(line, `"result"`) && state[id] == acknowledged && id%2 == 1:
			state[id] = closed
		default:
			t.Errorf("in state %d came %s", state[id], line)
		}
	}
	for id := 1; id < 200; id += 2 {
		if state[id] != closed {
			t.Errorf("subscription %d ended in state %d, want it closed", id, state[id])
		}
	}
}

func TestTheLongestLineGoesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t)
		frame := len(call(1, "echo", `{"t":""}`)) - len("\n")
		line := call(1, "echo", `{"t":"`+strings.Repeat("x", 16<<20-frame)+`"}`)
		p.write(line)
		if got := p.heard(); len(got) != 1 || len(got[0]) < 31<<20 {
			t.Errorf("heard %d answers, want one with the text twice", len(got))
		}
		p.write(" " + line + call(2, "echo", `{}`))
		if got := p.heard(); len(got) != 2 || !strings.Contains(got[0], "--max-line") || !strings.HasPrefix(got[1], `{"jsonrpc":"2.0","id":2,"result"`) {
			t.Errorf("heard %.200q, want a refusal and an answer", got)
		}
		p.in.Close()
	})
}

func TestAClientThatGoesAwayCancelsItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor()
		s := &gateway.Server{Door: d, Tools: tools}
		in, client := io.Pipe()
		out, server := io.Pipe()
		done := make(chan error)
		go func() { done <- s.ServeLines(t.Context(), in, server, wire.Options{}) }()
		io.WriteString(client, call(1, "slow", `{}`)+call(2, "echo", `{}`))
		synctest.Wait()
		out.Close()
		if err := <-done; err == nil {
			t.Error("ServeLines says that all is well")
		}
		client.Close()
	})
}

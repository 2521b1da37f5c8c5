package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/gateway"
	"sallyport/internal/policy"
	"sallyport/internal/wire"
)

// inside is a server with those upstreams and the tool write_note, and a caller inside.
func inside(t *testing.T, door gateway.Door, ups ...*fake) (*gateway.Server, *gateway.Inside) {
	s := &gateway.Server{Door: door, Version: "1.2.3", Tools: []*gate.Tool{echoes("write_note")}}
	for _, f := range ups {
		if f.auto == nil {
			f.auto = f.answer
		}
		s.Upstreams = append(s.Upstreams, f)
	}
	return s, s.Inside(gate.Caller{Principal: "local", Tenant: "acme"})
}

// eras are upstreams of both eras, each with the tool write.
func eras() (modern, legacy *fake) {
	modern, legacy = withTools("fs", "write"), withTools("db", "write")
	modern.era, modern.welcome = wire.Modern, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
	legacy.era, legacy.welcome = wire.Legacy, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`
	return modern, legacy
}

func TestACallFromInsideGoesThroughTheDoor(t *testing.T) {
	const described = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"sallyport","version":"1.2.3"}`
	for name, tt := range map[string]struct{ tool, id, upstream, sent string }{
		"modern": {"fs__write", "run/step/call", "fs",
			`{"jsonrpc":"2.0","id":"OWN","method":"tools/call","params":{"name":"write","arguments":{"n":1},"_meta":{"sallyport/request_id":"run/step/call",` + described + `}}}`},
		"modern, no id": {"fs__write", "", "fs",
			`{"jsonrpc":"2.0","id":"OWN","method":"tools/call","params":{"name":"write","arguments":{"n":1},"_meta":{` + described + `}}}`},
		"legacy": {"db__write", "run/step/call", "db",
			`{"jsonrpc":"2.0","id":"OWN","method":"tools/call","params":{"name":"write","arguments":{"n":1},"_meta":{"sallyport/request_id":"run/step/call"}}}`},
		"legacy, no id": {"db__write", "", "db", `{"jsonrpc":"2.0","id":"OWN","method":"tools/call","params":{"name":"write","arguments":{"n":1}}}`},
		"our own":       {"write_note", "run/step/call", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs, db := eras()
				door := newRelayDoor()
				s, in := inside(t, door, fs, db)
				result, err := in.Call(t.Context(), "plan", tt.id, tt.tool, mustParse(t, `{"n":1}`))
				want := "done"
				if tt.upstream == "" {
					want = `{"n":1}`
				}
				if err != nil || !strings.Contains(string(result.Body), want) {
					t.Errorf("got %+v, %v", result, err)
				}
				calls := door.seen()
				if len(calls) != 1 {
					t.Fatalf("at the door: %+v", calls)
				}
				id, _ := calls[0].Meta.Get(policy.MetaKey).Text()
				if c := calls[0]; c.Origin != "plan" || c.Caller != (gate.Caller{Principal: "local", Tenant: "acme"}) || c.Name != tt.tool ||
					c.Tool.Upstream != tt.upstream || id != tt.id || c.Ask != nil || c.Observe == nil {
					t.Errorf("at the door: %+v", c)
				}
				var sent []string
				if tt.sent != "" {
					sent = []string{tt.sent}
				}
				if diff := cmp.Diff(sent, append(fs.called(), db.called()...)); diff != "" {
					t.Errorf("the upstreams were sent (-want +got):\n%s", diff)
				}
				in.Close()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestWhatComesOfACallFromInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, db := eras()
		door := newRelayDoor()
		s, in := inside(t, door, fs, db)
		defer s.Close()
		call := func(tool string) (gate.Result, error) { return in.Call(t.Context(), "plan", "", tool, canon.Value{}) }

		var denied *gate.DeniedError
		if _, err := call("no_such_tool"); !errors.As(err, &denied) || denied.Rule != "unknown" {
			t.Errorf("an unknown tool: %v", err)
		}
		door.set("fs__write", "deny")
		if _, err := call("fs__write"); !errors.As(err, &denied) || denied.Rule != "no-fs__write" {
			t.Errorf("a denied tool: %v", err)
		}
		door.set("fs__write", "allow")

		asks := `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{}}},"requestState":"s"}`
		fs.list("tools/call", asks)
		if r, err := call("fs__write"); err != nil || !r.Open || r.Task || string(r.Body) != asks {
			t.Errorf("a tool that wants input: %+v, %v", r, err)
		}
		fs.list("tools/call", `{"resultType":"task","task":{"taskId":"t"}}`)
		if r, err := call("fs__write"); err != nil || !r.Open || !r.Task {
			t.Errorf("a task: %+v, %v", r, err)
		}
		if calls := append(fs.called(), db.called()...); len(calls) != 2 {
			t.Errorf("the upstreams were sent %q", calls)
		}

		db.fall(true)
		if _, err := call("db__write"); err == nil || !strings.Contains(err.Error(), "nothing was done") {
			t.Errorf("a server that is not there: %v", err)
		}
		if calls := door.seen(); len(calls) == 0 || calls[len(calls)-1].Name != "db__write" {
			t.Errorf("at the door: %+v, want the call of the server that is not there too", calls)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		fs.list("tools/call", "never")
		var unknown *gate.UnavailableError
		if _, err := in.Call(ctx, "plan", "", "fs__write", canon.Value{}); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "inconclusive") {
			t.Errorf("a server that does not answer: %v", err)
		}
		if _, err := in.Call(ctx, "plan", "", "db__write", canon.Value{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call after its time: %v", err)
		}

		in.Close()
		var nothing *gate.NotDone
		if _, err := call("fs__write"); !errors.As(err, &nothing) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// A server that asks its client something while it carries out a call from inside is told that there is nobody.
func TestNobodyIsAskedOnBehalfOfACallFromInside(t *testing.T) {
	for name, legacy := range map[string]bool{"modern": false, "legacy": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs, db := eras()
				f, tool := fs, "fs__write"
				if legacy {
					f, tool = db, "db__write"
				}
				f.auto = func(out wire.Outgoing) string { return "" }
				s, in := inside(t, newRelayDoor(), fs, db)
				done := make(chan error, 1)
				go func() {
					_, err := in.Call(t.Context(), "plan", "", tool, canon.Value{})
					done <- err
				}()
				synctest.Wait()
				f.received()
				f.says(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}`)
				f.says(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
				synctest.Wait()
				if got := f.received(); len(got) != 1 || !strings.Contains(got[0], `"id":"q","error"`) {
					t.Errorf("the upstream was sent %q, want an error for its question", got)
				}
				f.says(`{"jsonrpc":"2.0","id":"OWN","result":{"content":[]}}`)
				if err := <-done; err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil { // which ends the conversation too
					t.Error(err)
				}
				if _, err := in.Call(t.Context(), "plan", "", tool, canon.Value{}); err == nil {
					t.Error("a call was made after the server was closed")
				}
				if _, err := s.Inside(gate.Caller{Principal: "local"}).Call(t.Context(), "plan", "", tool, canon.Value{}); err == nil {
					t.Error("a call was made by a caller who came after the server was closed")
				}
				in.Close()
			})
		})
	}
}

func TestAPreviewSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, db := eras()
		door := newRelayDoor()
		s, in := inside(t, door, fs, db)
		defer s.Close()
		defer in.Close()
		door.set("db__write", "deny")
		for tool, want := range map[string]policy.Decision{"fs__write": policy.Allow, "write_note": policy.Allow, "db__write": policy.Deny, "none": policy.Deny} {
			got, err := in.Preview(t.Context(), "run/step/call", tool, mustParse(t, `{"n":1}`))
			if err != nil || got.Decision != want {
				t.Errorf("%s: got %+v, %v; want %v", tool, got, err, want)
			}
			calls := door.seen()
			if len(calls) != 1 || calls[0].Name != tool {
				t.Errorf("%s: the door was asked about %+v", tool, calls)
			} else if id, _ := calls[0].Meta.Get(policy.MetaKey).Text(); calls[0].Tool != nil && id != "run/step/call" {
				t.Errorf("%s: the door was asked about the id %q", tool, id)
			}
		}
		if calls := append(fs.called(), db.called()...); calls != nil {
			t.Errorf("the upstreams were sent %q", calls)
		}
		fs.fall(true)
		fs.die()
		synctest.Wait()
		if got, err := in.Preview(t.Context(), "", "fs__write", canon.Value{}); err == nil {
			t.Errorf("of a server that is not there: got %+v, want an error", got)
		}
	})
}

//go:build unix

package attacks_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// remote is a server over HTTP that answers calls as it is told to, and counts them.
func remote(t *testing.T, modern bool, calls *atomic.Int32, how func(w http.ResponseWriter, r *http.Request, id string)) string {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal(body, &m)
		say := func(member string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, member)
		}
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.Method == "tools/call":
			calls.Add(1)
			how(w, r, string(m.ID))
		case m.Method == "server/discover" && modern:
			say(`"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`)
		case m.Method == "initialize" && !modern:
			w.Header().Set("Mcp-Session-Id", "the-session")
			say(`"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"1"}}`)
		case m.Method == "tools/list":
			say(`"result":` + strings.TrimSuffix(puppetTools, "}") + `,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
		case len(m.ID) == 0:
			w.WriteHeader(http.StatusAccepted)
		default:
			say(`"error":{"code":-32601,"message":"no such method"}`)
		}
	}))
	t.Cleanup(up.Close)
	return up.URL
}

// However a server over HTTP breaks off, a keyed call that it has got is not sent again, and the client hears the truth.
func TestRemoteServersThatBreakOff(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(w http.ResponseWriter, r *http.Request, id string){
		"connection": func(http.ResponseWriter, *http.Request, string) { panic(http.ErrAbortHandler) },
		"status 500": func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(500) },
		"status 502": func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(502) },
		"status 204": func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(204) },
		"moved": func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, "/other", http.StatusFound)
		},
		"nothing": func(http.ResponseWriter, *http.Request, string) {},
		"a page":  func(w http.ResponseWriter, _ *http.Request, _ string) { io.WriteString(w, "<html>") },
		"another answer": func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":"2.0","id":"other","result":{"evil":1}}`)
		},
		"two answers": func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"a":1}}{"jsonrpc":"2.0","id":%s,"result":{"evil":1}}`, id, id)
		},
		"half a document": func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s`, id)
		},
		"half a stream": func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"res", id)
		},
		"a stream of nothing": func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, ":\n\nevent: ping\ndata: {}\n\n")
		},
		"compressed": func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"evil":1}}`, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, modern := range []bool{true, false} {
				var calls atomic.Int32
				url := remote(t, modern, &calls, how)
				p := newPlace(t, keyed)
				g := p.start(t, "wrap", "--name", "remote", "--policy", p.policy, "--ledger", p.ledger, "--url", url)
				call := modernCall(1, "count", `{"request_id":"key"}`)
				if !modern {
					g.greet(t)
					call = legacyCall(1, "count", `{"request_id":"key"}`)
				}
				for range 2 {
					g.say(t, call)
					if got := g.hearAnswer(t, "1"); !strings.Contains(got, "inconclusive") && !strings.Contains(got, "may or may not") || strings.Contains(got, "evil") {
						t.Errorf("modern %t: heard %s", modern, got)
					}
				}
				if n := calls.Load(); n != 1 {
					t.Errorf("modern %t: the server got %d calls", modern, n)
				}
			}
		})
	}
}

// A stream without an end, of events or of one event, takes a bounded part of memory, and other calls go on.
func TestRemoteStreamsWithoutEnd(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	url := remote(t, true, &calls, func(w http.ResponseWriter, r *http.Request, id string) {
		if calls.Load() > 2 {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[],"good":1}}`, id)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		part := strings.Repeat("x", 1<<16)
		if calls.Load() == 1 {
			part = "data: " + part + "\n"
		}
		for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
			if _, err := io.WriteString(w, part); err != nil {
				return
			}
		}
	})
	p := newPlace(t, allowAll)
	p.write(t, "servers.json", `{"mcpServers":{"up":{"url":"`+url+`"}}}`)
	g := p.start(t, "serve", "--policy", p.policy, "--ledger", p.ledger, "--servers", filepath.Join(p.dir, "servers.json"))
	g.say(t, modernCall(1, "count", `{}`))
	for calls.Load() < 1 {
		time.Sleep(time.Millisecond)
	}
	g.say(t, modernCall(2, "count", `{}`))
	for calls.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	g.say(t, modernCall(3, "count", `{}`))
	for id, answer := range g.hearAll(t, "1", "2", "3") {
		if strings.Contains(answer, `"good"`) != (id == "3") {
			t.Errorf("%s heard %s", id, answer)
		}
	}
	if kilobytes := statusField(t, g, "VmHWM"); kilobytes > 400<<10 {
		t.Errorf("the gate took %d MiB", kilobytes>>10)
	}
}

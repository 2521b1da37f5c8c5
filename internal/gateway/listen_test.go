package gateway

import (
	"context"
	"strings"
	"testing"

	"sallyport/internal/gate"
	"sallyport/internal/wire"
)

// open is a door through which nothing goes.
type open struct{}

func (open) Visible(gate.Caller, *gate.Tool) bool { return true }

func (open) Preview(gate.Call) gate.Preview { return gate.Preview{} }

func (open) MethodVisible(gate.Caller, string) bool { return true }

func (open) Do(context.Context, gate.Call) (gate.Result, error) { return gate.Result{}, nil }

// A client that has gone must not be held in memory, nor be told anything.
func TestListenersAreForgotten(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for name, script := range map[string]string{
		"session": `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
			{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"subscription": `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := &Server{Door: open{}}
			var out strings.Builder
			if err := s.ServeLines(t.Context(), strings.NewReader(script), &out, wire.Options{}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), `"result"`) {
				t.Fatalf("heard %s, want a result", out.String())
			}
			if len(s.listeners) != 0 {
				t.Errorf("%d listeners are left, want none", len(s.listeners))
			}
		})
	}
}

//go:build unix

package attacks_test

import (
	"strings"
	"testing"
)

const onlyPuppet = "version: 2\nstarter: off\ndefault: deny\nrules:\n  - {id: puppet, decision: allow, tools: [puppet]}\n"

// What one reader takes for a call of an allowed tool and another for one of a denied tool must not reach a server.
func TestMessagesThatTwoReadersReadDifferently(t *testing.T) {
	cases := map[string]string{
		"name twice":               `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"puppet","name":"count","arguments":{}}}`,
		"name in capitals":         `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"puppet","Name":"count","arguments":{}}}`,
		"name with a NUL":          `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"puppet","name\u0000":"count","arguments":{}}}`,
		"name escaped":             `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"puppet","n\u0061me":"count","arguments":{}}}`,
		"long s":                   `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"puppet","argument\u017f":{},"arguments":{}}}`,
		"kelvin":                   `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"puppet","arguments":{},"ta\u017f\u212a":{}}}`,
		"method twice":             `{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/call","params":{"name":"count","arguments":{}}}`,
		"method in capitals":       `{"jsonrpc":"2.0","id":7,"method":"ping","METHOD":"tools/call","params":{"name":"count","arguments":{}}}`,
		"params twice":             `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"puppet","arguments":{}},"params":{"name":"count","arguments":{}}}`,
		"arguments deep twice":     `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"puppet","arguments":{"a":{"b":1,"b":2}}}}`,
		"meta twice":               `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"puppet","arguments":{},"_meta":{"a":1,"a":2}}}`,
		"two messages":             `{"jsonrpc":"2.0","id":7,"method":"ping"}{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"count","arguments":{}}}`,
		"two messages and CR":      `{"jsonrpc":"2.0","id":7,"method":"ping"}` + "\r" + `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"count","arguments":{}}}`,
		"two messages and U+2028":  `{"jsonrpc":"2.0","id":7,"method":"ping"}` + "\u2028" + `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"count","arguments":{}}}`,
		"a byte order mark":        "\ufeff" + legacyCall(7, "count", "{}"),
		"UTF-16":                   "{\x00\"\x00a\x00\"\x00:\x001\x00}\x00",
		"a form feed":              "\f" + legacyCall(7, "count", "{}"),
		"a batch":                  "[" + legacyCall(7, "count", "{}") + "]",
		"a batch within":           "[[" + legacyCall(7, "count", "{}") + "]]",
		"a notification":           `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"count","arguments":{}}}`,
		"a notification of a key":  `{"jsonrpc":"2.0","ID":7,"method":"tools/call","params":{"name":"count","arguments":{}}}`,
		"null id":                  legacyCall("null", "count", "{}"),
		"half surrogate":           `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"count\ud800","arguments":{}}}`,
		"invalid UTF-8":            `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"count` + "\xff" + `","arguments":{}}}`,
		"a denied tool":            legacyCall(7, "count", "{}"),
		"a denied tool, modern":    modernCall(7, "count", "{}"),
		"blank before":             legacyCall(7, " count", "{}"),
		"blank behind":             legacyCall(7, "count ", "{}"),
		"capitals":                 legacyCall(7, "Count", "{}"),
		"puppet of a server":       legacyCall(7, "puppet__count", "{}"),
		"no name":                  `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{}}}`,
		"name is a list":           `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":["count"],"arguments":{}}}`,
		"params are a list":        `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":["count",{}]}`,
		"version 1.0":              `{"jsonrpc":"1.0","id":7,"method":"tools/call","params":{"name":"puppet","arguments":{}}}`,
		"method with a blank":      `{"jsonrpc":"2.0","id":7,"method":"tools/call ","params":{"name":"puppet","arguments":{}}}`,
		"method in capitals alone": `{"jsonrpc":"2.0","id":7,"method":"Tools/Call","params":{"name":"count","arguments":{}}}`,
		"method with a slash":      `{"jsonrpc":"2.0","id":7,"method":"/tools/call","params":{"name":"count","arguments":{}}}`,
		"an answer":                `{"jsonrpc":"2.0","id":7,"result":{},"method":"tools/call","params":{"name":"count","arguments":{}}}`,
		"notifications prefix":     `{"jsonrpc":"2.0","id":7,"method":"notifications/../tools/call","params":{"name":"count","arguments":{}}}`,
	}
	p := newPlace(t, onlyPuppet)
	g := p.wrap(t)
	g.greet(t)
	calls := 0
	for name, line := range cases {
		t.Run(name, func(t *testing.T) {
			calls++
			g.say(t, line, legacyCall(`"last"`, "puppet", saying(t, `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`)))
			if got := g.hearAnswer(t, `"last"`); !strings.Contains(got, `"content"`) {
				t.Errorf("the next call got %s", got)
			}
			received := p.read("received")
			if strings.Count(received, "tools/call") != calls || strings.Contains(received, `"count"`) || p.read("effects") != "" {
				t.Errorf("the server got\n%s", received)
			}
		})
	}
}

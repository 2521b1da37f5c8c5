//go:build unix

package attacks_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const noSampling = allowAll + "rules:\n  - {id: no-sampling, decision: deny, methods: [sampling/createMessage]}\n"

// A server that may not use the client's model does not reach it, whenever and however it asks.
func TestServersAskNothingThatIsDenied(t *testing.T) {
	t.Parallel()
	const done = `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`
	for name, line := range map[string]string{
		"plain":           `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"evil"}}]}}`,
		"escaped":         `{"jsonrpc":"2.0","id":"q","m\u0065thod":"sampl\u0069ng\/createMessage","params":{"x":"evil"}}`,
		"method twice":    `{"jsonrpc":"2.0","id":"q","method":"roots/list","method":"sampling/createMessage","params":{"x":"evil"}}`,
		"params twice":    `{"jsonrpc":"2.0","id":"q","method":"roots/list","params":{"x":1,"x":"evil"}}`,
		"under our id":    `{"jsonrpc":"2.0","id":$ID,"method":"sampling/createMessage","params":{"x":"evil"}}`,
		"a batch":         `[{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"x":"evil"}}]`,
		"two on one line": `{"jsonrpc":"2.0","method":"notifications/x"}{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"x":"evil"}}`,
		"carriage return": `{"jsonrpc":"2.0","method":"notifications/x"}` + "\r" + `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"x":"evil"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, noSampling)
			g := p.wrap(t)
			g.greet(t)
			g.say(t, legacyCall(1, "puppet", saying(t, line, done)))
			for answered := false; !answered; {
				got := g.hear(t)
				if strings.Contains(got, "evil") {
					t.Errorf("the client heard %s", got)
				}
				answered = strings.Contains(got, `"id":1,"result"`)
			}
			g.pings(t)
		})
	}
}

// What a call still needs is judged like what a server asks by itself.
func TestInputRequestsThatAreDenied(t *testing.T) {
	t.Parallel()
	const evil = `{"method":"sampling/createMessage","params":{"x":"evil"}}`
	for name, result := range map[string]string{
		"plain":             `{"resultType":"input_required","inputRequests":{"a":` + evil + `}}`,
		"behind a good one": `{"resultType":"input_required","inputRequests":{"b":{"method":"roots/list"},"a":` + evil + `}}`,
		"twice":             `{"resultType":"input_required","inputRequests":{},"inputRequests":{"a":` + evil + `}}`,
		"twice, first":      `{"resultType":"input_required","inputRequests":{"a":` + evil + `},"inputRequests":{}}`,
		"same key twice":    `{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"a":` + evil + `}}`,
		"method twice":      `{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list","method":"sampling/createMessage","params":{"x":"evil"}}}}`,
		"escaped":           `{"resultType":"input_required","input\u0052equests":{"a":` + evil + `}}`,
		"capitals":          `{"resultType":"input_required","InputRequests":{"a":` + evil + `}}`,
		"type twice":        `{"resultType":"input_required","resultType":"complete","inputRequests":{"a":` + evil + `}}`,
		"unknown type":      `{"resultType":"input_Required","inputRequests":{"a":` + evil + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, noSampling)
			p.write(t, "era", "modern")
			g := p.wrap(t)
			g.say(t, modernCall(1, "puppet", saying(t, `{"jsonrpc":"2.0","id":$ID,"result":`+result+`}`)))
			if got := g.hearAnswer(t, "1"); !strings.Contains(got, `"error"`) || strings.Contains(got, "evil") {
				t.Errorf("heard %s", got)
			}
		})
	}
}

// Answers of a client that nobody waits for go to no server.
func TestAnswersThatNobodyAsked(t *testing.T) {
	t.Parallel()
	p := newPlace(t, allowAll)
	g := p.wrap(t)
	g.greet(t)
	for _, id := range []string{`"q"`, `1`, `"hello"`, `null`, `"sallyport-AAAAAAAAAAAA-1"`} {
		g.say(t, `{"jsonrpc":"2.0","id":`+id+`,"result":{"x":"uncalled"}}`, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":1,"message":"uncalled"}}`)
	}
	g.say(t, legacyCall(1, "count", `{}`))
	g.hearAnswer(t, "1")
	if received := p.read("received"); strings.Contains(received, "uncalled") {
		t.Errorf("the server got %s", received)
	}
}

// A file that may not be read may not be read as a resource, however its address is spelt.
func TestResourcesThatAreDeniedFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t, allowAll+"rules:\n  - {id: no, decision: deny, reads: [\"**/.env\", \"/etc/shadow\"]}\n")
	g := p.wrap(t)
	g.greet(t)
	for i, uri := range []string{
		"file:///a/.env", "FILE:///a/.env", "file:/a/.env", "file://localhost/a/.env", "file:///a/%2eenv", "file:///a/.%65nv", "file:///a/b/../.env",
		"file:///a/b/%2e%2e/.env", "/a/.env", ".env", "file:.env", "file:///etc//shadow", "file:////etc/shadow", "file://127.0.0.1/etc/shadow",
		"file:///a/.env?x", "file:///a/.env#x", " file:///a/.env", "file:///a/.env ", "file:///A/.ENV", "\\tfile:///a/.env", "file:///a%2f.env",
		"fi\\nle:///a/.env", "file:///etc/./shadow", "file:///proc/self/root/etc/shadow", "file:///a/.env\\u0000",
	} {
		for _, method := range []string{"resources/read", "resources/subscribe"} {
			g.say(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s%d","method":%q,"params":{"uri":"%s"}}`, method, i, method, uri))
			if got := g.hearAnswer(t, fmt.Sprintf(`"%s%d"`, method, i)); !strings.Contains(got, `"error"`) {
				t.Errorf("%s of %q: heard %s", method, uri, got)
			}
		}
	}
	if received := p.read("received"); strings.Contains(received, "resources/") {
		t.Errorf("the server got %s", received)
	}
}

// What a pattern for one server's tools allows is that server's, whatever the other is called.
func TestNamesOfServersThatRunIntoEachOther(t *testing.T) {
	t.Parallel()
	p, q := newPlace(t, "version: 2\nstarter: off\ndefault: deny\nrules:\n  - {id: a, decision: allow, tools: [\"a__*\"]}\n"), newPlace(t, allowAll)
	for _, other := range []string{"a_", "a__", "a__b", "a_b", "A", "a-", "a."} {
		p.write(t, "servers.json", puppets(map[string]*place{"a": p, other: q}))
		g := p.start(t, "serve", "--policy", p.policy, "--ledger", p.ledger, "--servers", filepath.Join(p.dir, "servers.json"))
		go func() { fmt.Fprintln(g.stdin, modernCall(1, other+"__count", `{}`)) }() // it may have ended by then
		select {
		case line, ok := <-g.lines:
			if ok && !strings.Contains(string(line), `"error"`) {
				t.Errorf("%s: heard %s", other, line)
			}
		case <-time.After(patience):
			t.Errorf("%s: nothing was heard", other)
		}
		_ = g.stdin.Close()
	}
	if q.read("effects") != "" {
		t.Errorf("the other server did %q", q.read("effects"))
	}
}

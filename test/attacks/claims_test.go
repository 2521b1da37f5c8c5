//go:build unix

package attacks_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const keyed = "version: 2\nstarter: off\ndefault: allow\nrules:\n" +
	"  - {id: keyed, decision: allow, tools: [puppet, count], mutation: {key: request_id}}\n" +
	"  - {id: no, decision: deny, tools: [count], args: {forbidden: {type: string, required: true}}}\n"

// What was answered once is what a retry gets, to the byte, also from the next process.
func TestReplaysAreVerbatim(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"odd":    `{"jsonrpc":"2.0","id":$ID,"result":` + odd + `}`,
		"error":  `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"no","data":[1.0,1e400],"more":1.0}}`,
		"failed": `{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"isError":true}}`,
		"null":   `{"jsonrpc":"2.0","id":$ID,"result":null}`,
		"big":    `{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"` + strings.Repeat(`\u0061é`, 150_000) + `"}]}}`,
	}
	p := newPlace(t, keyed)
	first := map[string]string{}
	arguments := func(name string) string {
		return `{"request_id":"key-` + name + `",` + saying(t, answers[name])[1:]
	}
	g := p.wrap(t)
	g.greet(t)
	for name := range answers {
		g.say(t, legacyCall(1, "puppet", arguments(name)))
		first[name] = g.hearAnswer(t, "1")
		g.say(t, legacyCall(1, "puppet", arguments(name)))
		if again := g.hearAnswer(t, "1"); again != first[name] {
			t.Errorf("%s, again: heard %s\nwant %s", name, last(again, 500), last(first[name], 500))
		}
	}
	if got := strings.Count(p.read("received"), "tools/call"); got != len(answers) {
		t.Errorf("the server got %d calls, want %d", got, len(answers))
	}
	later := p.wrap(t)
	later.greet(t)
	for name := range answers {
		later.say(t, legacyCall(1, "puppet", arguments(name)))
		if again := later.hearAnswer(t, "1"); again != first[name] {
			t.Errorf("%s, in another process: heard %s\nwant %s", name, last(again, 500), last(first[name], 500))
		}
		later.say(t, modernCall(2, "puppet", arguments(name)))
		if again := later.hearAnswer(t, "2"); strings.Contains(name, "error") != strings.Contains(again, `"error"`) && name != "null" {
			t.Errorf("%s, in the newer era: heard %s", name, last(again, 500))
		}
		later.say(t, legacyCall(3, "puppet", strings.Replace(arguments(name), "{", `{"more":1,`, 1)))
		if got := later.hearAnswer(t, "3"); !strings.Contains(got, "onflict") && !strings.Contains(got, "other arguments") {
			t.Errorf("%s, with other arguments: heard %s", name, last(got, 500))
		}
	}
	if got := strings.Count(p.read("received"), "tools/call"); got != len(answers) {
		t.Errorf("the server got %d calls, want %d", got, len(answers))
	}
}

// A denial does not use up a key, and neither do arguments that the tool's own schema refuses.
func TestDenialsDoNotUseTheKey(t *testing.T) {
	t.Parallel()
	p := newPlace(t, keyed)
	g := p.wrap(t)
	g.greet(t)
	g.say(t, legacyCall(1, "count", `{"request_id":"key","forbidden":"x"}`))
	if got := g.hearAnswer(t, "1"); !strings.Contains(got, "tool denied") {
		t.Errorf("heard %s", got)
	}
	for _, key := range []string{`""`, `1`, `null`, `["key"]`, `"` + strings.Repeat("k", 1025) + `"`} {
		g.say(t, legacyCall(2, "count", `{"request_id":`+key+`}`))
		if got := g.hearAnswer(t, "2"); !strings.Contains(got, "tool denied") || !strings.Contains(got, "request_id") {
			t.Errorf("key %s: heard %s", last(key, 20), got)
		}
	}
	g.say(t, legacyCall(3, "count", `{}`))
	if got := g.hearAnswer(t, "3"); !strings.Contains(got, "tool denied") {
		t.Errorf("without a key: heard %s", got)
	}
	g.say(t, legacyCall(4, "count", `{"request_id":"key"}`))
	if got := g.hearAnswer(t, "4"); !strings.Contains(got, "counted") {
		t.Errorf("heard %s", got)
	}
	if got := p.read("effects"); got != "count\n" {
		t.Errorf("effects are %q", got)
	}
}

// One key at once is one effect: in one process the others wait for its answer, in two one hears that it is in flight.
func TestOneKeyAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, keyed)
	one, two := p.wrap(t), p.wrap(t)
	one.greet(t)
	two.greet(t)
	slow := `{"request_id":"slow","wait":700,"say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"n\":1.0}}\n"]}`
	var ids []string
	for i := range 20 {
		ids = append(ids, itoa(i))
		one.say(t, legacyCall(i, "puppet", slow))
	}
	awaitText(t, p, "received", `"slow"`)
	two.say(t, legacyCall(99, "puppet", slow))
	got := two.hearAnswer(t, "99")
	if !strings.Contains(got, "in flight") && !strings.Contains(got, "in_flight") && !strings.Contains(got, `{"n":1.0}`) {
		t.Errorf("the other process heard %s", got)
	}
	for id, answer := range one.hearAll(t, ids...) {
		if want := `{"jsonrpc":"2.0","id":` + id + `,"result":{"n":1.0}}`; answer != want {
			t.Errorf("heard %s, want %s", answer, want)
		}
	}
	if got := strings.Count(p.read("received"), "tools/call"); got != 1 {
		t.Errorf("the server got %d calls", got)
	}
}

// awaitText waits until a file of the place has a text.
func awaitText(t *testing.T, p *place, name, text string) {
	t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(p.read(name), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s never has %s", name, text)
		}
	}
}

// A keyed call whose client has cancelled it goes on, and a retry gets its answer.
func TestACancelledKeyedCallGoesOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, keyed)
	g := p.wrap(t)
	g.greet(t)
	slow := `{"request_id":"slow","wait":500,"say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"n\":1.0}}\n"]}`
	g.say(t, legacyCall(1, "puppet", slow))
	awaitText(t, p, "received", `"slow"`)
	g.say(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, legacyCall(2, "puppet", slow))
	if got, want := g.hearAnswer(t, "2"), `{"jsonrpc":"2.0","id":2,"result":{"n":1.0}}`; got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
	if received := p.read("received"); strings.Count(received, "tools/call") != 1 || strings.Contains(received, "cancelled") {
		t.Errorf("the server got %s", received)
	}
}

// A server that dies with a keyed call has carried it out or has not: the call is never sent again by itself, and the
// answer to a retry says so, from this process and the next.
func TestADeadServersKeyedCallIsInconclusive(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]string{
		"without a word":   `"exit":true`,
		"within a line":    `"exit":true,"say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"n\""]`,
		"without the end":  `"exit":true,"say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"n\":1}"]`,
		"after some words": `"exit":true,"say":["{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n"]`,
		"answer of other":  `"exit":true,"say":["{\"jsonrpc\":\"2.0\",\"id\":\"other\",\"result\":{}}\n"]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, keyed)
			call := legacyCall(1, "puppet", `{"request_id":"dies",`+how+`}`)
			for range 2 {
				g := p.wrap(t)
				g.greet(t)
				for range 2 {
					g.say(t, call)
					if got := g.hearAnswer(t, "1"); !strings.Contains(got, "inconclusive") && !strings.Contains(got, "may or may not") {
						t.Errorf("heard %s", got)
					}
				}
			}
			if got := strings.Count(p.read("received"), "tools/call"); got != 1 {
				t.Errorf("the server got %d calls", got)
			}
		})
	}
}

// A gate that is killed while a keyed call runs leaves an inconclusive one; its server does not outlive it.
func TestAKilledGate(t *testing.T) {
	t.Parallel()
	p := newPlace(t, keyed)
	g := p.wrap(t)
	g.greet(t)
	call := legacyCall(1, "puppet", `{"request_id":"killed","wait":60000}`)
	g.say(t, call)
	awaitText(t, p, "received", `"killed"`)
	_ = g.cmd.Process.Signal(syscall.SIGKILL)
	later := p.wrap(t)
	later.greet(t)
	later.say(t, call)
	if got := later.hearAnswer(t, "1"); !strings.Contains(got, "inconclusive") && !strings.Contains(got, "may or may not") {
		t.Errorf("heard %s", got)
	}
	_ = later.stdin.Close()
	gone := time.Now().Add(patience)
	for exec.Command("pgrep", "-f", "puppet "+p.dir+"$").Run() == nil {
		if time.Now().After(gone) {
			t.Fatal("a server outlives its gate")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

//go:build unix

package attacks_test

import (
	"strings"
	"testing"
)

// Under a policy that allows one tool, nothing else of a server can be asked, however it is called.
func TestNothingElseIsAllowedByDefault(t *testing.T) {
	requests := []string{
		`"method":"resources/read","params":{"uri":"file:///etc/passwd"META}`,
		`"method":"resources/subscribe","params":{"uri":"x:y"META}`,
		`"method":"resources/unsubscribe","params":{"uri":"x:y"META}`,
		`"method":"logging/setLevel","params":{"level":"debug"META}`,
		`"method":"prompts/get","params":{"name":"p"META}`,
		`"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b"}META}`,
		`"method":"tasks/get","params":{"taskId":"t"META}`,
		`"method":"tasks/result","params":{"taskId":"t"META}`,
		`"method":"tasks/cancel","params":{"taskId":"t"META}`,
		`"method":"tasks/list","params":{"x":1META}`,
		`"method":"tasks/update","params":{"taskId":"t"META}`,
		`"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["file:///etc/passwd"]}META}`,
		`"method":"sampling/createMessage","params":{"x":1META}`,
		`"method":"roots/list","params":{"x":1META}`,
		`"method":"elicitation/create","params":{"x":1META}`,
		`"method":"no/such","params":{"x":1META}`,
		`"method":"","params":{"x":1META}`,
		`"method":"resources/Read","params":{"uri":"file:///etc/passwd"META}`,
		`"method":"rpc.discover","params":{"x":1META}`,
		`"method":"server/anything","params":{"x":1META}`,
		`"method":"$/cancelRequest","params":{"id":1META}`,
	}
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			p := newPlace(t, onlyPuppet)
			p.write(t, "era", era)
			g := p.wrap(t)
			meta := "," + modernMeta
			if era == "legacy" {
				g.greet(t)
				meta = ""
			}
			for i, request := range requests {
				if era == "modern" && strings.Contains(request, "subscriptions/listen") {
					continue // it stays open, and what was granted is in its acknowledgement
				}
				g.say(t, `{"jsonrpc":"2.0","id":`+itoa(i)+`,`+strings.ReplaceAll(request, "META", meta)+`}`)
				if got := g.hearAnswer(t, itoa(i)); !strings.Contains(got, `"error"`) {
					t.Errorf("%s was answered %s", request, got)
				}
			}
			if era == "modern" {
				g.say(t, `{"jsonrpc":"2.0","id":"listen","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["file:///etc/passwd"]},`+modernMeta+`}}`,
					`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"listen"}}`)
			}
			g.say(t, `{"jsonrpc":"2.0","id":"end","method":"tools/list","params":{`+strings.TrimPrefix(meta, ",")+`}}`)
			g.hearAnswer(t, `"end"`)
			for line := range strings.Lines(p.read("received")) {
				switch {
				case strings.Contains(line, `"initialize"`), strings.Contains(line, `"notifications/initialized"`),
					strings.Contains(line, `"server/discover"`), strings.Contains(line, `/list"`) && !strings.Contains(line, "tasks") && !strings.Contains(line, "roots"):
				case strings.Contains(line, `"subscriptions/listen"`) && !strings.Contains(line, "passwd"):
				case strings.Contains(line, `"notifications/cancelled"`):
				default:
					t.Errorf("the server got %s", line)
				}
			}
		})
	}
}

// A tool that is hidden, one that is hidden and denied by name, and one that does not exist cannot be told apart.
func TestHiddenAndUnknownAreTheSame(t *testing.T) {
	const policy = "version: 2\nstarter: off\ndefault: deny\nrules:\n  - {id: puppet, decision: allow, tools: [puppet]}\n  - {id: no, decision: deny, tools: [hidden]}\n"
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			p := newPlace(t, policy)
			p.write(t, "era", era)
			g := p.wrap(t)
			call := modernCall
			if era == "legacy" {
				g.greet(t)
				call = legacyCall
			}
			answers := map[string]bool{}
			for _, tool := range []string{"hidden", "count", "nosuch"} {
				for _, arguments := range []string{`{}`, `{"n":1e400}`, `[]`, `null`} {
					g.say(t, call(`"x"`, tool, arguments))
					got := strings.ReplaceAll(g.hearAnswer(t, `"x"`), tool, "NAME")
					if strings.Contains(arguments, "{") {
						answers[got] = true
					}
				}
			}
			if len(answers) != 1 {
				t.Errorf("the answers tell: %v", answers)
			}
		})
	}
}

// What arguments hold is in no log, no ledger and no list of claims.
func TestArgumentsAreWrittenNowhere(t *testing.T) {
	p := newPlace(t, "version: 2\nstarter: off\ndefault: allow\nrules:\n  - {id: c, decision: allow, tools: [count], mutation: {key: request_id}}\n  - {id: no, decision: deny, tools: [hidden], args: {secret: {type: string}}}\n")
	g := p.wrap(t)
	g.greet(t)
	g.say(t, legacyCall(1, "count", `{"request_id":"key-1","secret":"swordfish-1"}`),
		legacyCall(2, "hidden", `{"secret":"swordfish-2"}`),
		legacyCall(3, "nosuch", `{"secret":"swordfish-3"}`),
		legacyCall(4, "puppet", `{"secret":"swordfish-4","say":["garbage swordfish-5\n","{\"jsonrpc\":\"2.0\",\"id\":\"swordfish-6\",\"result\":{}}\n","{\"jsonrpc\":\"2.0\",\"method\":7,\"x\":\"swordfish-7\"}\n","{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{}}\n"]}`),
		legacyCall(5, "puppet", `["swordfish-8"]`), `{"swordfish-9`, `{"swordfish-10":1,"swordfish-10":2}`,
		`{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"file:///swordfish-11"}}`,
		legacyCall(7, "count", `{"request_id":"key-1","secret":"swordfish-12"}`))
	g.hearAll(t, "1", "2", "3", "4", "7")
	for _, name := range []string{"ledger/ledger.jsonl", "ledger/claims.log"} {
		text := p.read(name)
		if text == "" {
			t.Errorf("%s is empty", name)
		}
		for line := range strings.Lines(text) {
			// The name of what is read is what its record is about.
			if strings.Contains(line, "swordfish") && !strings.Contains(line, `"resources/read"`) {
				t.Errorf("%s has %s", name, line)
			}
		}
	}
	if text := g.stderr.String(); strings.Contains(text, "swordfish") {
		t.Errorf("the log has\n%s", text)
	}
}

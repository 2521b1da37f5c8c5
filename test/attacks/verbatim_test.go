//go:build unix

package attacks_test

import (
	"strings"
	"testing"
)

// odd is a value that no typed reader keeps.
const odd = `{"content":[{"type":"new/kind","n":9007199254740993,"f":1.0,"e":1e400,"neg":-0.0}],"a":1,"a":2,"A":3,"\u0061":4,"half":"\ud800", "z" : [ ] ,"_meta":{"x/y":1.0,"traceparent":17},"resultType":"task"}`

// What a server answers goes to the client as the very bytes.
func TestAnswersAreVerbatim(t *testing.T) {
	t.Parallel()
	answers := []string{
		`{"jsonrpc":"2.0","id":$ID,"result":` + odd + `}`,
		`{"result":` + odd + `,"id":$ID,"jsonrpc":"2.0"}`,
		`{"result":` + odd + `,"unknown":{"b":1,"b":2},"id":$ID,"jsonrpc":"2.0","another":1e400}`,
		` { "jsonrpc" : "2.0" , "id" : $ID , "result" : null } `,
		`{"jsonrpc":"2.0","id":$ID,"result":[1.0]}`,
		`{"jsonrpc":"2.0","id":$ID,"result":"text\u2028"}`,
		`{"jsonrpc":"2.0","id":$ID,"result":1.0}`,
		`{"jsonrpc":"2.0","id":$ID,"result":{"isError":true,"content":[]}}`,
		`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"m","data":` + odd + `,"more":[1.0]}}`,
		`{"jsonrpc":"2.0","error":{"message":7,"code":1.5},"id":$ID}`,
		`{"jsonrpc":"2.0","id":$ID,"error":{}}`,
		`{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"` + strings.Repeat(`é\n`, 100_000) + `"}]}}`,
	}
	const told = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"odd","x":1e400,"x":2},"more":1.0}`
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			p := newPlace(t, allowAll)
			p.write(t, "era", era)
			g := p.wrap(t)
			call := modernCall
			if era == "legacy" {
				g.greet(t)
				call = legacyCall
			}
			for i, answer := range answers {
				for _, id := range []string{`"i\u0064"`, `90071992547409931`, `-1`, `""`, `"7"`, `7`} {
					g.say(t, call(id, "puppet", saying(t, told, answer)))
					if got := g.hear(t); got != told {
						t.Errorf("heard %s\nwant %s", last(got, 300), told)
					}
					got := strings.TrimSpace(g.hear(t))
					if want := strings.TrimSpace(strings.ReplaceAll(answer, "$ID", id)); got != want {
						t.Errorf("answer %d under %s: heard %s\nwant %s", i, id, last(got, 500), last(want, 500))
					}
				}
			}
		})
	}
}

// What a client asks goes to the server as the very bytes.
func TestRequestsAreVerbatim(t *testing.T) {
	const rest = `"params" : {"zz":[1.0,9007199254740993],"name":"puppet","arguments":{"n":1e5,"big":9007199254740993,"f":-0.0,"s":"\u0041\/","say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{}}\n"]},"task":{"ttl":1.0},"_meta":{"own.example/x":1.0,"progressToken":1`
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			p := newPlace(t, allowAll)
			p.write(t, "era", era)
			g := p.wrap(t)
			line := `{ "id":"x\u0061", ` + rest
			if era == "legacy" {
				g.greet(t)
				line += `}}`
			} else {
				line += `,` + modernMeta[len(`"_meta":{`):] + `}`
			}
			line += `, "extra":{"y":1.0} ,"method":"tools/call","jsonrpc":"2.0"}`
			g.say(t, line)
			g.hearAnswer(t, `"x\u0061"`)
			if received := p.read("received"); !strings.Contains(received, line+"\n") {
				t.Errorf("the server got\n%s\nwant\n%s", received, line)
			}
		})
	}
}

// Results past what a reader would hold at once go through, and their neighbours are not kept waiting.
func TestBigResultsAreWhole(t *testing.T) {
	p := newPlace(t, allowAll)
	g := p.wrap(t)
	g.greet(t)
	for _, size := range []int{60 << 20} {
		g.say(t, legacyCall(size, "puppet", `{"pad":`+itoa(size)+`,"say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"$PAD\"}]}}\n"]}`))
		got := g.hearAnswer(t, itoa(size))
		if want := `{"jsonrpc":"2.0","id":` + itoa(size) + `,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}}`; got != want {
			t.Errorf("%d bytes: heard %d, want %d", size, len(got), len(want))
		}
	}
	// One that is too long costs its call only.
	g.say(t, legacyCall(1, "puppet", `{"pad":70000000,"say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"$PAD\"}]}}\n"]}`),
		legacyCall(2, "count", `{}`))
	first, second := g.hear(t), g.hear(t)
	if both := first + second; !strings.Contains(both, `"error"`) || !strings.Contains(both, "counted") {
		t.Errorf("heard %s\n%s", last(first, 300), last(second, 300))
	}
}

// Pages go on as the server made them: "" is a cursor, and a page may be empty.
func TestCursorsAreTheServersOwn(t *testing.T) {
	p := newPlace(t, onlyPuppet)
	p.write(t, "tools-list", `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"count","inputSchema":{"type":"object"}}],"nextCursor":"","x":1.0}}`+"\n")
	g := p.wrap(t)
	g.greet(t)
	g.say(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}`)
	got := g.hearAnswer(t, "1")
	if want := `{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"","x":1.0}}`; got != want {
		t.Errorf("heard %s\nwant  %s", got, want)
	}
	if received := p.read("received"); !strings.Contains(received, `{"cursor":""}`) {
		t.Errorf("the server got %s", received)
	}
}

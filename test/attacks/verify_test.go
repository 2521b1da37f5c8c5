//go:build unix

package attacks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// shelfRules let things be put on the shelves "one" and "two", verified, with more in the rules of "one".
func shelfRules(more string) string {
	text := "version: 2\nstarter: off\ndefault: deny\nrules:\n" +
		"  - {id: looks, decision: allow, tools: [one__look, two__look], read_only: true}\n" +
		"  - {id: scraps, decision: allow, tools: [one__scrap, two__scrap]}\n"
	for _, name := range []string{"one", "two"} {
		text += "  - id: puts-" + name + "\n    decision: allow\n    tools: [" + name + "__put]\n"
		if name == "one" {
			text += more
		}
		text += "    verify:\n      observe: {tool: " + name + "__look, arguments: {name: \"${args.name}\"}}\n      expect: 'observation.text == args.text'\n"
		if name == "one" && strings.Contains(more, "retry") {
			text = strings.Replace(text, more, "", 1) + more
		}
	}
	return text
}

const (
	keyedPuts = "    mutation: {key: request_id}\n"
	retried   = "      retry_observe_for: 5s\n"
)

// shelves are a gate's place and its two servers.
type shelves struct {
	*place
	one, two *place // where the servers live
}

func newShelves(t *testing.T, policy string) *shelves {
	t.Helper()
	s := &shelves{place: newPlace(t, policy), one: newPlace(t, ""), two: newPlace(t, "")}
	s.write(t, "servers.json", s.servers())
	return s
}

func (s *shelves) servers() string {
	entries := map[string]any{}
	for name, p := range map[string]*place{"one": s.one, "two": s.two} {
		entries[name] = map[string]any{"command": self, "args": []string{"shelf", p.dir}, "env": map[string]string{"GORACE": os.Getenv("GORACE")}}
	}
	text, _ := json.Marshal(map[string]any{"mcpServers": entries})
	return string(text)
}

// serve starts a gate in front of both shelves, for a client of the newer era on stdio.
func (s *shelves) serve(t *testing.T, extra ...string) *gate {
	t.Helper()
	args := []string{"serve", "--policy", s.policy, "--ledger", s.ledger, "--servers", s.dir + "/servers.json"}
	return s.start(t, append(args, extra...)...)
}

// asks makes one call and returns the answer's line.
func (g *gate) asks(t *testing.T, tool, arguments string) string {
	t.Helper()
	g.say(t, modernCall(1, tool, arguments))
	return g.hearAnswer(t, "1")
}

// putting are the arguments of a put.
func putting(name, text string) string {
	return fmt.Sprintf(`{"name":%q,"text":%q,"request_id":"key-%s"}`, name, text, name)
}

// verdict is what an answer says of its verification: "true", "false", or "" for nothing.
func verdict(answer string) string {
	var m struct {
		Result struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"result"`
	}
	if json.Unmarshal([]byte(answer), &m) != nil {
		return ""
	}
	return string(m.Result.Meta["sallyport/verified"])
}

// mustHold holds a gate to what a stop of "one" is: what changes it is refused with the reason, what reads it goes on, and so
// does everything at "two".
func mustHold(t *testing.T, s *shelves, g *gate, what string) {
	t.Helper()
	before := s.one.read("log")
	for tool, arguments := range map[string]string{"one__put": putting("later-"+what, "x"), "one__scrap": `{"name":"x"}`} {
		if got := g.asks(t, tool, arguments); !strings.Contains(got, "stopped: ") || !strings.Contains(got, "sallyport release") {
			t.Errorf("%s: %s while it is stopped heard %s", what, tool, last(got, 500))
		}
	}
	if after := s.one.read("log"); strings.Contains(after[len(before):], "put") || strings.Contains(after[len(before):], "scrap") {
		t.Errorf("%s: the server did, while it was stopped,\n%s", what, after[len(before):])
	}
	if got := g.asks(t, "two__put", putting(what, "x")); verdict(got) != "true" {
		t.Errorf("%s: the other server's put heard %s", what, last(got, 500))
	}
}

// mustRead has a gate look at "one", which it may whatever is stopped.
func mustRead(t *testing.T, g *gate, what string) {
	t.Helper()
	if got := g.asks(t, "one__look", `{"name":"thing"}`); !strings.Contains(got, `"structuredContent"`) {
		t.Errorf("%s: a look heard %s", what, last(got, 500))
	}
}

// lies are what a server does, and what must come of it: the verdict in the answer, or "" for an answer that is an error.
var lies = []struct {
	lie, more string
	modern    bool // the server's era
	verdict   string
	stops     bool
	reason    string // in the record
}{
	{lie: "", verdict: "true"},
	{lie: "", more: keyedPuts, modern: true, verdict: "true"},
	{lie: "writes nothing", verdict: "false", stops: true, reason: "is not what rule"},
	{lie: "writes nothing", more: keyedPuts, modern: true, verdict: "false", stops: true, reason: "is not what rule"},
	{lie: "writes nothing and says that it verified", verdict: "false", stops: true, reason: "is not what rule"},
	{lie: "writes something else", more: keyedPuts, verdict: "false", stops: true, reason: "is not what rule"},
	{lie: "writes late", verdict: "false", stops: true, reason: "is not what rule"},
	{lie: "writes late", more: retried, verdict: "true"},
	{lie: "lies at the first look", verdict: "false", stops: true, reason: "is not what rule"},
	{lie: "lies at the first look", more: retried, verdict: "true"},
	{lie: "answers with a lie, then with the truth", verdict: "false", stops: true, reason: "is not what rule"},
	{lie: "answers with the truth, then with a lie", verdict: "true"},
	{lie: "fails to show", verdict: "false", stops: true, reason: "shows nothing"},
	{lie: "shows an error", modern: true, verdict: "false", stops: true, reason: "shows nothing"},
	{lie: "shows 2 MiB", verdict: "false", stops: true, reason: "larger than"},
	{lie: "shows it twice in one object", verdict: "false", stops: true, reason: "rule"},
	{lie: "shows it twice in one object", modern: true, verdict: "false", stops: true, reason: "rule"},
	{lie: "shows a task", modern: true, verdict: "false", stops: true, reason: "shows nothing"},
	{lie: "shows a question", modern: true, verdict: "false", stops: true, reason: "shows nothing"},
	{lie: "shows no text", verdict: "false", stops: true, reason: "rule"},
	{lie: "shows null", verdict: "false", stops: true, reason: "rule"},
	{lie: "asks before it shows", verdict: "true"},
	{lie: "floods before it shows", verdict: "true"},
	{lie: "the looking tool vanishes", verdict: "false", stops: true, reason: "rule"},
	{lie: "the looking tool vanishes", more: keyedPuts, modern: true, verdict: "false", stops: true, reason: "rule"},
	{lie: "goes on as a task", modern: true, verdict: "false", stops: true, reason: "task"},
	{lie: "says that it failed", verdict: ""},
	{lie: "dies at the look", verdict: "false", stops: true, reason: "rule"},
}

// A server that lies about what it did, or is in the way of whoever looks, is caught: the caller learns it, what changes that
// server is refused from then on in every process, also after a restart, and everything else goes on.
func TestServersThatLieAboutWhatTheyDid(t *testing.T) {
	t.Parallel()
	for _, c := range lies {
		name := c.lie
		if name == "" {
			name = "is honest"
		}
		for word, there := range map[string]bool{", keyed": c.more == keyedPuts, ", looked at again": c.more == retried, ", modern": c.modern} {
			if there {
				name += word
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelves(t, shelfRules(c.more))
			s.one.write(t, "lie", c.lie)
			if c.modern {
				s.one.write(t, "era", "modern")
			}
			g := s.serve(t)
			got := g.asks(t, "one__put", putting("thing", "right"))
			if verdict(got) != c.verdict || strings.Contains(got, `"error"`) {
				t.Errorf("the put heard %s\nwant the verdict %q", last(got, 500), c.verdict)
			}
			if c.verdict != "" && !strings.Contains(got, "task") && !strings.Contains(got, `"content":[{"type":"text","text":"put"}]`) {
				t.Errorf("the server's own answer is not in %s", last(got, 500))
			}
			if c.more == keyedPuts {
				if again := g.asks(t, "one__put", putting("thing", "right")); again != got || strings.Count(s.one.read("log"), "put+") != 1 {
					t.Errorf("again it heard %s\nand at first %s\nand the server did\n%s", again, got, s.one.read("log"))
				}
			}
			if !c.stops {
				if got := g.asks(t, "two__put", putting("thing", "x")); verdict(got) != "true" {
					t.Errorf("the other server's put heard %s", last(got, 500))
				}
				s.one.write(t, "lie", "")
				if got := g.asks(t, "one__put", putting("next", "x")); verdict(got) != "true" {
					t.Errorf("the next put heard %s", last(got, 500))
				}
				return
			}
			if records := s.read("ledger/ledger.jsonl"); !strings.Contains(records, `"verdict":"STOP"`) || !strings.Contains(records, c.reason) {
				t.Errorf("%q is not in the ledger:\n%s", c.reason, records)
			}
			s.one.write(t, "lie", "")
			mustHold(t, s, g, "the same process")
			beside := s.serve(t)
			mustHold(t, s, beside, "a process beside it")
			mustRead(t, beside, "a process beside it")
			if c.lie != "dies at the look" && c.lie != "the looking tool vanishes" { // of what is gone it is known a moment later that it is back
				mustRead(t, g, "the same process")
			}
			for _, g := range []*gate{g, beside} {
				g.ends(t)
			}
			mustHold(t, s, s.serve(t), "the next process")
		})
	}
}

// ends closes a gate's input and waits until it is gone.
func (g *gate) ends(t *testing.T) {
	t.Helper()
	_ = g.stdin.Close()
	for {
		select {
		case _, ok := <-g.lines:
			if !ok {
				return
			}
		case <-time.After(patience):
			t.Fatal("the gate does not end with its input")
		}
	}
}

// A server that dies between its effect and the look is looked at when it is back, or is stopped; the effect is there once.
func TestServersThatDieBeforeTheyAreLookedAt(t *testing.T) {
	t.Parallel()
	for _, lie := range []string{"dies before the answer", "dies behind the answer"} {
		for _, more := range []string{"", keyedPuts, retried} {
			t.Run(lie+more, func(t *testing.T) {
				t.Parallel()
				s := newShelves(t, shelfRules(more))
				s.one.write(t, "lie", lie)
				g := s.serve(t)
				got := g.asks(t, "one__put", putting("thing", "right"))
				if lie == "dies behind the answer" {
					awaitText(t, s.one, "log", "died")
				}
				s.one.write(t, "lie", "")
				for end := time.Now().Add(patience); !strings.Contains(g.asks(t, "one__look", `{"name":"thing"}`), "structuredContent"); time.Sleep(20 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("the server does not come back")
					}
				}
				records := s.read("ledger/ledger.jsonl")
				stopped := strings.Contains(records, `"verdict":"STOP"`)
				if !stopped && !strings.Contains(records, `"verdict":"CONTINUE"`) {
					t.Errorf("the put heard %s, and the ledger has no verdict:\n%s", got, records)
				}
				if lie == "dies behind the answer" && verdict(got) != map[bool]string{true: "false", false: "true"}[stopped] {
					t.Errorf("stopped %t, and the put heard %s", stopped, got)
				}
				if more == retried && stopped {
					t.Errorf("it was looked at for seconds, and the server is honest, and yet:\n%s", records)
				}
				if stopped {
					mustHold(t, s, g, "the same process")
					mustHold(t, s, s.serve(t), "a process beside it")
				} else if got := g.asks(t, "one__put", putting("next", "x")); verdict(got) != "true" {
					t.Errorf("the next put heard %s", got)
				}
				if n := strings.Count(s.one.read("log"), "put+ thing"); n != 1 {
					t.Errorf("the effect happened %d times", n)
				}
			})
		}
	}
}

// A server that does not answer who looks is given up after ten seconds, and not later.
func TestServersThatSayNothingToWhoLooks(t *testing.T) {
	t.Parallel()
	s := newShelves(t, shelfRules(""))
	s.one.write(t, "lie", "says nothing")
	s.two.write(t, "lie", "cancels the look")
	g := s.serve(t)
	begun := time.Now()
	g.say(t, modernCall(1, "one__put", putting("thing", "right")), modernCall(2, "two__put", putting("thing", "right")))
	for id, answer := range g.hearAll(t, "1", "2") {
		if took := time.Since(begun); verdict(answer) != "false" || took > 15*time.Second {
			t.Errorf("after %v %s heard %s", took, id, answer)
		}
	}
	s.one.write(t, "lie", "")
	s.two.write(t, "lie", "")
	for _, tool := range []string{"one__put", "two__put"} {
		if got := g.asks(t, tool, putting("next", "x")); !strings.Contains(got, "stopped: ") || !strings.Contains(got, "took longer than") {
			t.Errorf("%s, the next time, heard %s", tool, got)
		}
	}
	mustRead(t, g, "the same process")
}

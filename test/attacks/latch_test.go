//go:build unix

package attacks_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A looking tool whose definition is not the pinned one any more is not believed: the put that it was to look after is stopped.
func TestALookingToolThatIsNotThePinnedOneAnyMore(t *testing.T) {
	t.Parallel()
	s := newShelves(t, shelfRules(""))
	lock := filepath.Join(s.dir, "lock.json")
	pin := exec.Command(sallyport, "pin", "--servers", s.dir+"/servers.json", "--lock", lock)
	if out, err := pin.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.one.write(t, "lie", "the looking tool changes")
	g := s.serve(t, "--lock", lock)
	if got := g.asks(t, "one__put", putting("thing", "right")); verdict(got) != "false" {
		t.Errorf("the put heard %s", got)
	}
	if log := s.one.read("log"); strings.Contains(log, "look") {
		t.Errorf("the other tool was called:\n%s", log)
	}
	mustHold(t, s, g, "the same process")
	mustHold(t, s, s.serve(t, "--lock", lock), "a process beside it")
}

// shelfPost calls a tool of a shelf over HTTP and returns what was answered.
func (f *front) shelfPost(t *testing.T, bearer, tool, arguments string) string {
	t.Helper()
	return f.post(t, modernCall(1, tool, arguments), called(tool, "Authorization", bearer)...).data()
}

// A stop holds one principal at one server. Others go on, and one's calls do not wait for another's.
func TestAStopIsOnePrincipals(t *testing.T) {
	t.Parallel()
	s := newShelves(t, shelfRules(""))
	ann, bob := "Bearer "+s.token(t, "ann"), "Bearer "+s.token(t, "bob")
	f := s.serveHTTP(t, s.servers(), "--tokens", filepath.Join(s.dir, "tokens.json"))
	s.one.write(t, "lie", "writes nothing")
	if got := f.shelfPost(t, ann, "one__put", putting("thing", "x")); verdict(got) != "false" {
		t.Errorf("ann's put heard %s", got)
	}
	s.one.write(t, "lie", "")
	if got := f.shelfPost(t, ann, "one__put", putting("next", "x")); !strings.Contains(got, "stopped: ") {
		t.Errorf("ann's next put heard %s", got)
	}
	if got := f.shelfPost(t, bob, "one__put", putting("bobs", "x")); verdict(got) != "true" {
		t.Errorf("bob's put heard %s", got)
	}
	if got := f.shelfPost(t, ann, "two__put", putting("anns", "x")); verdict(got) != "true" {
		t.Errorf("ann's put at the other server heard %s", got)
	}
	slow := make(chan string)
	go func() {
		slow <- f.shelfPost(t, bob, "two__put", `{"name":"slow","text":"x","wait":1500}`)
	}()
	awaitText(t, s.two, "log", "put+ slow")
	if got := f.shelfPost(t, ann, "two__put", putting("quick", "x")); verdict(got) != "true" || strings.Contains(s.two.read("log"), "put- slow") {
		t.Errorf("ann waited for bob and heard %s", got)
	}
	if got := <-slow; verdict(got) != "true" {
		t.Errorf("bob's slow put heard %s", got)
	}
}

// However many verified calls come at once, by two processes and three conversations: one principal's at one server are put
// and looked at one at a time.
func TestVerifiedCallsRunOneAtATime(t *testing.T) {
	t.Parallel()
	s := newShelves(t, shelfRules(""))
	gates := []*gate{s.serve(t), s.serve(t)}
	const each = 25
	for n, g := range gates {
		for i := range each {
			g.say(t, modernCall(i, "one__put", fmt.Sprintf(`{"name":"g%d-%d","text":"x","wait":2}`, n, i)))
		}
	}
	for n, g := range gates {
		var ids []string
		for i := range each {
			ids = append(ids, itoa(i))
		}
		for id, answer := range g.hearAll(t, ids...) {
			if verdict(answer) != "true" {
				t.Errorf("put %s of process %d heard %s", id, n, answer)
			}
		}
	}
	lines := strings.Split(strings.TrimSpace(s.one.read("log")), "\n")
	if len(lines) != 3*each*len(gates) {
		t.Errorf("%d lines, want %d", len(lines), 3*each*len(gates))
	}
	for i, line := range lines {
		kind, name, _ := strings.Cut(line, " ")
		want := []string{"put+", "put-", "look"}[i%3]
		if _, first, _ := strings.Cut(lines[i-i%3], " "); kind != want || name != first {
			t.Fatalf("line %d is %q, want %s of %s:\n%s", i, line, want, first, strings.Join(lines[max(0, i-4):min(len(lines), i+4)], "\n"))
		}
	}
}

// cancel takes back a call of the newer era.
func (g *gate) cancel(t *testing.T, id int) {
	t.Helper()
	g.say(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,%s}}`, id, modernMeta))
}

// A client that takes its call back, or goes away, keeps nothing from being verified: an honest server's effect is looked at
// when it is there, and a liar is stopped.
func TestAClientThatGoesAwayIsNoWayAroundTheLook(t *testing.T) {
	t.Parallel()
	leaves := map[string]func(t *testing.T, g *gate){
		"cancels":              func(t *testing.T, g *gate) { g.cancel(t, 1) },
		"hangs up":             func(t *testing.T, g *gate) { g.ends(t) },
		"cancels and hangs up": func(t *testing.T, g *gate) { g.cancel(t, 1); g.ends(t) },
		"is told to end":       func(t *testing.T, g *gate) { _ = g.cmd.Process.Signal(syscallTerm) },
	}
	for name, leave := range leaves {
		for _, lie := range []string{"", "writes nothing"} {
			for _, more := range []string{"", keyedPuts} {
				t.Run(strings.TrimSpace(name+" "+lie+more), func(t *testing.T) {
					t.Parallel()
					s := newShelves(t, shelfRules(more))
					s.one.write(t, "lie", lie)
					g := s.serve(t)
					g.say(t, modernCall(1, "one__put", `{"name":"thing","text":"right","wait":300,"request_id":"k"}`))
					awaitText(t, s.one, "log", "put+ thing")
					leave(t, g)
					got := s.serve(t).asks(t, "one__put", putting("next", "x")) // which waits for the first one, or for its remains
					if lie == "" && verdict(got) != "true" || lie != "" && !strings.Contains(got, "stopped: ") {
						t.Errorf("the next put heard %s", got)
					}
					records := s.read("ledger/ledger.jsonl")
					want := map[bool]string{true: `"verdict":"CONTINUE"`, false: `"verdict":"STOP"`}[lie == ""]
					if log := s.one.read("log"); !strings.Contains(records, want) || !strings.Contains(log, "put- thing\nlook thing") {
						t.Errorf("the ledger does not say %s, or it was not looked after the effect:\n%s\n%s", want, records, log)
					}
					if n := strings.Count(s.one.read("log"), "put+ thing"); n != 1 {
						t.Errorf("the effect happened %d times", n)
					}
				})
			}
		}
	}
}

// A client and a server that are of one mind: the client takes its call back while the server has not acted yet, so that what
// is there is what it was before, as the rule expects. What the server does then must not go unseen.
func TestACallThatIsCancelledBeforeItsEffectIsNotLookedAtTooEarly(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"", keyedPuts} {
		t.Run(strings.TrimSpace("unkeyed"+more), func(t *testing.T) {
			t.Parallel()
			s := newShelves(t, shelfRules(more))
			g := s.serve(t)
			if got := g.asks(t, "one__put", `{"name":"thing","text":"right","request_id":"k1"}`); verdict(got) != "true" {
				t.Fatalf("the first put heard %s", got)
			}
			s.one.write(t, "lie", "writes something else")
			g.say(t, modernCall(2, "one__put", `{"name":"thing","text":"right","wait":500,"request_id":"k2"}`))
			awaitText(t, s.one, "log", "put+ thing\nput- thing\nlook thing\nput+ thing")
			g.cancel(t, 2)
			for end := time.Now().Add(patience); strings.Count(s.one.read("log"), "put- thing") < 2; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the second put does not end")
				}
			}
			s.one.write(t, "lie", "")
			if got := g.asks(t, "one__put", putting("next", "x")); !strings.Contains(got, "stopped: ") {
				t.Errorf("the server wrote something else, and the next put heard %s", got)
			}
		})
	}
}

// A caller that cancels while it waits for its turn leaves the queue, and its call is not made.
func TestACallThatIsCancelledInTheQueueIsNotMade(t *testing.T) {
	t.Parallel()
	s := newShelves(t, shelfRules(""))
	g := s.serve(t)
	g.say(t, modernCall(1, "one__put", `{"name":"first","text":"x","wait":500}`))
	awaitText(t, s.one, "log", "put+ first")
	for i := 2; i < 50; i++ {
		g.say(t, modernCall(i, "one__put", fmt.Sprintf(`{"name":"waits-%d","text":"x"}`, i)))
	}
	for i := 2; i < 50; i++ {
		g.cancel(t, i)
	}
	g.say(t, modernCall(100, "one__put", `{"name":"last","text":"x"}`))
	if got := g.hearAnswer(t, "100"); verdict(got) != "true" {
		t.Errorf("the last put heard %s", got)
	}
	if log := s.one.read("log"); strings.Contains(log, "waits") {
		t.Errorf("what was taken back in the queue was done:\n%s", log)
	}
}

// However a server that is stopped is called, in whatever era and by whatever name, nothing that could change it gets there.
func TestWaysAroundAStop(t *testing.T) {
	t.Parallel()
	policy := strings.Replace(shelfRules(""), "rules:\n", "rules:\n  - {id: methods, decision: allow, methods: [\"*\"]}\n", 1)
	s := newShelves(t, policy)
	s.one.write(t, "lie", "writes nothing")
	g := s.serve(t)
	if got := g.asks(t, "one__put", putting("thing", "x")); verdict(got) != "false" {
		t.Fatalf("the put heard %s", got)
	}
	before := s.one.read("log")
	legacy := s.serve(t)
	legacy.greet(t)
	for name, ask := range map[string]func() string{
		"legacy": func() string {
			legacy.say(t, legacyCall(7, "one__put", `{"name":"x","text":"x"}`))
			return legacy.hearAnswer(t, "7")
		},
		"no arguments":    func() string { return g.asks(t, "one__put", `{}`) },
		"null arguments":  func() string { return g.asks(t, "one__put", `null`) },
		"another rule":    func() string { return g.asks(t, "one__scrap", `{}`) },
		"odd number":      func() string { return g.asks(t, "one__scrap", `{"n":1e400}`) },
		"huge":            func() string { return g.asks(t, "one__put", `{"x":"`+strings.Repeat("x", 3<<20)+`"}`) },
		"pretends a look": func() string { return g.asks(t, "one__put", `{"name":"x","origin":"verify","readOnly":true}`) },
		"with a round": func() string {
			g.say(t, strings.Replace(modernCall(1, "one__put", `{"name":"x"}`), `"params":{`, `"params":{"requestState":"s","inputResponses":{"a":{"action":"accept"}},`, 1))
			return g.hearAnswer(t, "1")
		},
		"as a task": func() string {
			g.say(t, strings.Replace(modernCall(1, "one__put", `{"name":"x"}`), `"params":{`, `"params":{"task":{"ttl":1000},`, 1))
			return g.hearAnswer(t, "1")
		},
	} {
		if got := ask(); !strings.Contains(got, "stopped: ") && !strings.Contains(got, `"error"`) {
			t.Errorf("%s: heard %s", name, last(got, 500))
		}
	}
	if after := s.one.read("log"); after != before {
		t.Errorf("the server did\n%s", after[len(before):])
	}
}

// Calls that race with the verdict on an earlier one: whoever comes behind the liar's put is refused.
func TestARaceForTheStop(t *testing.T) {
	t.Parallel()
	s := newShelves(t, shelfRules(""))
	ann := "Bearer " + s.token(t, "ann")
	f := s.serveHTTP(t, s.servers(), "--tokens", filepath.Join(s.dir, "tokens.json"))
	s.one.write(t, "lie", "writes nothing")
	var wg sync.WaitGroup
	var mu sync.Mutex // guards verdicts
	verdicts := map[string]int{}
	for i := range 30 {
		wg.Go(func() {
			got := f.shelfPost(t, ann, "one__put", putting(fmt.Sprint("racer-", i), "x"))
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(got, "stopped: ") {
				verdicts["stopped"]++
			} else {
				verdicts[verdict(got)]++
			}
		})
	}
	wg.Wait()
	if verdicts["false"] != 1 || verdicts["stopped"] != 29 || strings.Count(s.one.read("log"), "put+") != 1 {
		t.Errorf("verdicts %v, and the server did\n%s", verdicts, s.one.read("log"))
	}
}

// A gate that is told to end while a look hangs ends soon, and the next one looks first.
func TestTermWhileALookHangs(t *testing.T) {
	t.Parallel()
	s := newShelves(t, shelfRules(keyedPuts))
	s.one.write(t, "lie", "says nothing")
	g := s.serve(t)
	g.say(t, modernCall(1, "one__put", putting("thing", "right")))
	awaitText(t, s.one, "log", "look thing")
	begun := time.Now()
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	answer := g.hearAnswer(t, "1")
	for range g.lines {
	}
	if took := time.Since(begun); took > 14*time.Second || verdict(answer) == "true" {
		t.Errorf("after %v it heard %s", took, answer)
	}
	s.one.write(t, "lie", "")
	next := s.serve(t)
	got := next.asks(t, "one__put", putting("next", "x"))
	if log := s.one.read("log"); verdict(got) != "true" && !strings.Contains(got, "stopped: ") || strings.Count(log, "put+ thing") != 1 {
		t.Errorf("the next put heard %s, and the server did\n%s", got, log)
	}
	t.Logf("it heard %s after %v; the next one %s", answer, time.Since(begun), got)
}

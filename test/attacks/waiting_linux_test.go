package attacks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// awaitApprovals waits until so many calls wait for a person, and returns their ids.
func (p *place) awaitApprovals(t *testing.T, g *gate, n int) []string {
	t.Helper()
	t.Cleanup(func() { _ = g.cmd.Process.Signal(syscallTerm) }) // what waits for a person would keep it
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		waiting, _ := filepath.Glob(filepath.Join(p.ledger, "approvals", "[^.]*-*")) // but for what is being written
		if len(waiting) >= n {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("only %d of %d calls wait for a person", len(waiting), n)
		}
	}
	ids := p.approvals(t)
	if len(ids) != n {
		t.Fatalf("%q wait, want %d", ids, n)
	}
	return ids
}

// approvals are the ids of what waits, by the program's own list.
func (p *place) approvals(t *testing.T) (ids []string) {
	t.Helper()
	out, err := p.command("approvals", "list", "--json").CombinedOutput()
	var m struct {
		Approvals []struct {
			ID string `json:"id"`
		} `json:"approvals"`
	}
	if err != nil || json.Unmarshal(out, &m) != nil {
		t.Fatalf("%v\n%s", err, last(string(out), 1000))
	}
	for _, a := range m.Approvals {
		ids = append(ids, a.ID)
	}
	return ids
}

// Twelve hundred calls that ask: a thousand wait, the others are told that there are too many, what needs nobody goes on, and
// another principal's can still be put to a person.
func TestAFloodOfAsks(t *testing.T) {
	s := newShelves(t, fmt.Sprintf(asked, ""))
	ann := "Bearer " + s.token(t, "ann")
	g := s.serve(t)
	begun := time.Now()
	t.Cleanup(func() { _ = g.cmd.Process.Signal(syscallTerm) })
	const calls, most = 1200, 1000
	go func() {
		for i := range calls {
			fmt.Fprintln(g.stdin, modernCall(i, "one__put", fmt.Sprintf(`{"name":"thing","text":"%d"}`, i)))
		}
	}()
	waiting := func() int {
		waiting, _ := filepath.Glob(filepath.Join(s.ledger, "approvals", "[^.]*-*"))
		return len(waiting)
	}
	refused := 0
	for end := time.Now().Add(6 * patience); refused+waiting() < calls; {
		select {
		case line := <-g.lines:
			if refused++; !strings.Contains(string(line), "too many calls of this principal") && !strings.Contains(string(line), "(nothing was done)") {
				t.Fatalf("after %v heard %s", time.Since(begun), line)
			}
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatalf("after %v %d are refused and %d wait", time.Since(begun), refused, waiting())
		}
	}
	if n := waiting(); n != most {
		t.Errorf("%d wait, want %d", n, most)
	}
	t.Logf("after %v %d are refused and %d wait", time.Since(begun), refused, waiting())
	g.say(t, modernCall(5000, "two__put", `{"name":"thing","text":"x"}`))
	asked := time.Now()
	if got := g.hearAnswer(t, "5000"); !strings.Contains(got, `"text":"put"`) {
		t.Errorf("what asks nobody heard %s", got)
	}
	t.Logf("what asks nobody took %v", time.Since(asked))
	if kilobytes := statusField(t, g, "VmHWM"); kilobytes > 200<<10 {
		t.Errorf("the gate took %d MiB", kilobytes>>10)
	}
	f := s.serveHTTP(t, s.servers(), "--tokens", filepath.Join(s.dir, "tokens.json"))
	asked = time.Now()
	if got := f.post(t, brought(`{"name":"thing"}`, "", ""), called("one__put", "Authorization", ann)...).data(); question(got) == "" {
		t.Errorf("ann heard %s", got)
	}
	t.Logf("another principal was asked after %v", time.Since(asked))
	if log := s.one.read("log"); log != "" {
		t.Errorf("the server did\n%s", log)
	}
	ended := time.Now()
	_ = g.cmd.Process.Signal(syscallTerm)
	for range g.lines {
	}
	if took := time.Since(ended); took > patience/2 {
		t.Errorf("it ended %v after it was told to", took)
	}
}

// Who can never call a tool is told that there is none, is not asked, and leaves nothing for a person to agree to by mistake.
func TestHiddenToolsAreNotAskedAbout(t *testing.T) {
	t.Parallel()
	policy := strings.Replace(fmt.Sprintf(asked, ""), "decision: ask, tools: [one__put]", "decision: ask, principals: [ann], tools: [one__put]", 1)
	s := newShelves(t, policy)
	ann, bob := "Bearer "+s.token(t, "ann"), "Bearer "+s.token(t, "bob")
	f := s.serveHTTP(t, s.servers(), "--tokens", filepath.Join(s.dir, "tokens.json"))
	post := func(who, tool string) string {
		t.Helper()
		return f.post(t, strings.Replace(brought(`{"name":"thing"}`, "", ""), "one__put", tool, 1), called(tool, "Authorization", who)...).data()
	}
	if hidden, none := post(bob, "one__put"), post(bob, "one__nothing"); strings.ReplaceAll(hidden, "one__put", "one__nothing") != none {
		t.Errorf("a hidden tool: %s\none that does not exist: %s", hidden, none)
	}
	if left, _ := os.ReadDir(filepath.Join(s.ledger, "approvals")); len(left) > 0 {
		t.Errorf("bob left %v", left)
	}
	if got := post(ann, "one__put"); question(got) == "" {
		t.Errorf("ann heard %s", got)
	}
}

// checkCalm holds a text to what may reach a terminal.
func checkCalm(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is no UTF-8: %q", what, last(text, 500))
	}
	for at, r := range text {
		if r != '\n' && !strconv.IsPrint(r) {
			t.Errorf("%s has %q: %q", what, r, text[max(0, at-100):min(len(text), at+20)])
			return
		}
	}
}

// What a client sends, a server says or a policy names reaches an operator's terminal in no way but as calm text.
func TestNothingRawReachesTheOperatorsTerminal(t *testing.T) {
	t.Parallel()
	const raw = "\x1b[2J\x1b]0;evil\x07\u009b31m\u0085\u202e\u2066\u200b\ufeff\u00ad\u2028\r\n\b\x7f\U000e0041"
	s := newShelves(t, fmt.Sprintf(asked, ""))
	g := s.serve(t)
	nasty, _ := json.Marshal(raw)
	long, _ := json.Marshal(strings.Repeat(raw, 20_000))
	g.say(t, modernCall(1, "one__put", `{"name":"thing","text":`+string(nasty)+`,"request_id":`+string(nasty)+`,`+string(nasty)+`:1}`),
		modernCall(2, "one__put", `{"name":"long","text":`+string(long)+`}`))
	ids := s.awaitApprovals(t, g, 2)
	for _, args := range [][]string{{"approvals", "list"}, {"approvals", "list", "--json"}, {"release", "--list"}, {"claims", "list"}} {
		out, _ := s.command(args...).CombinedOutput()
		checkCalm(t, strings.Join(args, " "), string(out))
	}
	for _, id := range ids {
		out, terminal, err := s.operator(t, "approvals", "deny", id, "--note", raw)
		checkCalm(t, "deny", out)
		checkCalm(t, "the question", strings.ReplaceAll(terminal, "\r", ""))
		if err != nil {
			t.Errorf("%v\n%s", err, last(out, 500))
		}
	}
	answers := g.hearAll(t, "1", "2")
	for id, answer := range answers {
		if !strings.Contains(answer, "a person denied") {
			t.Errorf("%s heard %s", id, last(answer, 500))
		}
	}
	var form string
	g.say(t, brought(`{"name":"again","text":`+string(nasty)+`}`, "", ""))
	form = g.hearAnswer(t, "1")
	if question(form) == "" {
		t.Fatalf("heard %s", form)
	}
	var m struct {
		Result struct {
			InputRequests map[string]struct {
				Params struct{ Message string }
			} `json:"inputRequests"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(form), &m); err != nil || m.Result.InputRequests["sallyport/approval"].Params.Message == "" {
		t.Fatalf("%v in %s", err, form)
	}
	checkCalm(t, "the form", m.Result.InputRequests["sallyport/approval"].Params.Message)
	out, _ := s.command("approvals", "list").CombinedOutput()
	checkCalm(t, "approvals list", string(out))
	checkCalm(t, "the log", g.stderr.String())
}

// However many calls of our own tools wait for a person, other calls of these tools are answered: another principal's, and the
// same one's.
func TestCallsThatWaitForAPersonHoldUpNobody(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "version: 2\nstarter: off\ndefault: deny\nrules:\n  - {id: looks, decision: allow, tools: [read_ledger], read_only: true}\n"+
		"  - {id: asks, decision: ask, tools: [write_note]}\n")
	ann, bob := "Bearer "+p.token(t, "ann"), "Bearer "+p.token(t, "bob")
	f := p.serveHTTP(t, puppets(map[string]*place{"puppet": p}), "--builtin", "--tokens", filepath.Join(p.dir, "tokens.json"))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	send := func(ctx context.Context, who, tool, arguments string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, strings.NewReader(modernCall(1, tool, arguments)))
		if err != nil {
			return "", err
		}
		header := called(tool, "Authorization", who, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := f.client.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	}
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer leave()
	for i := range 100 {
		waiting.Go(func() { _, _ = send(ctx, ann, "write_note", fmt.Sprintf(`{"request_id":"wait-%d","text":"x"}`, i)) })
	}
	p.awaitApprovals(t, f.gate, 100)
	for name, who := range map[string]string{"bob": bob, "ann": ann} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		got, err := send(ctx, who, "read_ledger", `{}`)
		cancel()
		if err != nil || !strings.Contains(got, `"notes"`) {
			t.Errorf("%s heard %q, %v", name, got, err)
		}
	}
}

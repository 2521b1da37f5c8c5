//go:build unix

package attacks_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A resource that no server has costs its request and nothing else.
func TestUnsubscribingFromWhatNobodyHas(t *testing.T) {
	p, q := newPlace(t, allowAll), newPlace(t, allowAll)
	p.write(t, "servers.json", puppets(map[string]*place{"a": p, "b": q}))
	g := p.start(t, "serve", "--policy", p.policy, "--ledger", p.ledger, "--servers", filepath.Join(p.dir, "servers.json"))
	g.greet(t)
	g.say(t, `{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"x:y"}}`)
	if got := g.hearAnswer(t, "1"); !strings.Contains(got, "there is no such resource") {
		t.Errorf("heard %s", got)
	}
}

// Whether a hidden tool wants headers is not to be seen.
func TestHeadersTellNothingOfHiddenTools(t *testing.T) {
	p := newPlace(t, onlyPuppet)
	p.write(t, "era", "modern")
	p.write(t, "tools-list", `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"puppet","inputSchema":{"type":"object"}},{"name":"hidden","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"}}}}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}`+"\n")
	f := p.serveHTTP(t, puppets(map[string]*place{"up": p}))
	a := f.post(t, modernCall(1, "hidden", `{"r":"x"}`), called("hidden")...)
	b := f.post(t, modernCall(1, "nosuch", `{"r":"x"}`), called("nosuch")...)
	if a.status != b.status || strings.ReplaceAll(a.body, "hidden", "nosuch") != b.body {
		t.Errorf("hidden: %d %s\nnosuch: %d %s", a.status, a.body, b.status, b.body)
	}
}

// Who may not ask for prompts and resources does not learn which there are.
func TestDeniedMethodsTellNothingOfWhatIsThere(t *testing.T) {
	p, q := newPlace(t, onlyPuppet), newPlace(t, onlyPuppet)
	p.write(t, "prompts-list", `{"jsonrpc":"2.0","id":$ID,"result":{"prompts":[{"name":"secret"}]}}`+"\n")
	p.write(t, "resources-list", `{"jsonrpc":"2.0","id":$ID,"result":{"resources":[{"uri":"x:secret","name":"x"}]}}`+"\n")
	q.write(t, "resources-list", `{"jsonrpc":"2.0","id":$ID,"result":{"resources":[]}}`+"\n")
	q.write(t, "prompts-list", `{"jsonrpc":"2.0","id":$ID,"result":{"prompts":[]}}`+"\n")
	for _, d := range []*place{p, q} {
		d.write(t, "resources-templates-list", `{"jsonrpc":"2.0","id":$ID,"result":{"resourceTemplates":[]}}`+"\n")
	}
	p.write(t, "servers.json", puppets(map[string]*place{"a": p, "b": q}))
	g := p.start(t, "serve", "--policy", p.policy, "--ledger", p.ledger, "--servers", filepath.Join(p.dir, "servers.json"))
	g.greet(t)
	for _, method := range []string{`"prompts/get","params":{"name":"a__%s"}`, `"resources/read","params":{"uri":"x:%s"}`, `"resources/subscribe","params":{"uri":"x:%s"}`, `"completion/complete","params":{"ref":{"type":"ref/prompt","name":"a__%s"},"argument":{"name":"a","value":"b"}}`} {
		ask := func(name string) string {
			g.say(t, `{"jsonrpc":"2.0","id":1,"method":`+fmt.Sprintf(method, name)+`}`)
			return strings.ReplaceAll(g.hearAnswer(t, "1"), name, "NAME")
		}
		if a, b := ask("secret"), ask("nosuch"); a != b {
			t.Errorf("there: %s\nnot:   %s", a, b)
		}
	}
}

// An answer that says that nothing was done is the word of a server that may have done it.
func TestHeaderRefusalOverPipesIsNoReasonToSendAgain(t *testing.T) {
	p := newPlace(t, keyed)
	p.write(t, "era", "modern")
	g := p.wrap(t)
	g.say(t, modernCall(1, "puppet", `{"request_id":"k","say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{\"code\":-32020,\"message\":\"x\"}}\n"]}`))
	if got := g.hearAnswer(t, "1"); !strings.Contains(got, "-32020") {
		t.Errorf("heard %s", got)
	}
	if n := strings.Count(p.read("received"), `"tools/call"`); n != 1 {
		t.Errorf("dispatched %d times", n)
	}
}

func TestPromptsNeedNoListWhereNothingIsPinned(t *testing.T) {
	p := newPlace(t, allowAll)
	g := p.wrap(t)
	g.greet(t)
	g.say(t, `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p"}}`)
	if got := g.hearAnswer(t, "1"); !strings.Contains(got, "did prompts/get") {
		t.Errorf("heard %s", got)
	}
}

// A rule about a method is not to be had by spelling the method otherwise.
func TestMethodsInDisguise(t *testing.T) {
	p := newPlace(t, allowAll+"rules:\n  - {id: no, decision: deny, methods: [tasks/cancel, sampling/createMessage, tasks/get]}\n")
	g := p.wrap(t)
	g.greet(t)
	for i, m := range []string{"tasks/cancel", "Tasks/Cancel", "tasks/cancel ", "tasks/cancel\\u0000", "TASKS/get"} {
		g.say(t, `{"jsonrpc":"2.0","id":`+itoa(i)+`,"method":"`+m+`","params":{"taskId":"t"}}`)
		if got := g.hearAnswer(t, itoa(i)); !strings.Contains(got, `"error"`) {
			t.Errorf("%q: heard %s", m, got)
		}
	}
	if got := p.read("received"); strings.Contains(strings.ToLower(got), "tasks/") {
		t.Errorf("the server got %s", got)
	}
}

// A client that starts the gate and never reads its log must not be able to stop it.
func TestLogThatNobodyReads(t *testing.T) {
	p := newPlace(t, allowAll)
	cmd := exec.Command(sallyport, "wrap", "--name", "puppet", "--policy", p.policy, "--ledger", p.ledger, "--", self, "puppet", p.dir)
	cmd.Env = append(os.Environ(), "HOME="+p.home)
	r, w, _ := os.Pipe()
	defer r.Close()
	cmd.Stderr = w
	in, _ := cmd.StdinPipe()
	ro, wo, _ := os.Pipe()
	cmd.Stdout = wo
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wo.Close()
	w.Close()
	defer func() { _ = cmd.Process.Signal(syscall.SIGKILL); _ = cmd.Wait() }()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	lines := make(chan string, 10000)
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, err := ro.Read(buf)
			if err != nil {
				return
			}
			lines <- string(buf[:n])
		}
	}()
	for i := range 2000 {
		fmt.Fprintln(in, legacyCall(i, "puppet", `[]`))
		fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"tools/call"}`)
		fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"tools/call`+itoa(i)+`"}`)
	}
	fmt.Fprintln(in, legacyCall(`"last"`, "count", `{}`))
	end := time.After(8 * time.Second)
	for all := ""; ; {
		select {
		case text := <-lines:
			all = last(all, 3000) + text
			if strings.Contains(all, `"last"`) {
				return
			}
		case <-end:
			t.Fatal("the gate stalls when its log is not read")
		}
	}
}

// A mutation that its server never answers is given up some seconds after the gate is told to end.
func TestTermWhileAMutationHangs(t *testing.T) {
	t.Parallel()
	p := newPlace(t, keyed)
	g := p.wrap(t)
	g.greet(t)
	g.say(t, legacyCall(1, "puppet", `{"request_id":"never"}`))
	awaitText(t, p, "received", `"never"`)
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	begun := time.Now()
	select {
	case line := <-g.lines:
		if !strings.Contains(string(line), "inconclusive") {
			t.Errorf("heard %s after %v", line, time.Since(begun))
		}
	case <-time.After(12 * time.Second):
		t.Error("12 s after SIGTERM it is still there")
		_ = g.cmd.Process.Kill()
	}
}

// A path in a URI is judged also where it is cut or spelt as some servers read it.
func TestFilesByTheirURIs(t *testing.T) {
	p := newPlace(t, allowAll+"rules:\n  - {id: no, decision: deny, reads: [\"**/.env\", \"/etc/shadow\"]}\n")
	g := p.wrap(t)
	g.greet(t)
	uris := []string{"file:///a/.env", "FILE:///a/.env", "file:/a/.env", "file:///a/%2eenv", "file:///a/b/%2e%2e/.env",
		"file:///a/.env%00", "file:///a/.env\\u0000", " file:///a/.env", "file:////etc/shadow", "file:.env"}
	for n, uri := range uris {
		g.say(t, `{"jsonrpc":"2.0","id":`+itoa(n)+`,"method":"resources/read","params":{"uri":"`+uri+`"}}`)
	}
	// About what may be such a file, or not, a person is asked, who says nothing.
	asked := func() int {
		asked, _ := filepath.Glob(filepath.Join(p.ledger, "approvals", "[^.]*-*"))
		return len(asked)
	}
	denied := 0
	for end := time.Now().Add(patience); denied+asked() < len(uris); {
		select {
		case line := <-g.lines:
			if strings.Contains(string(line), `"elicitation/create"`) {
				continue
			}
			if denied++; !strings.Contains(string(line), "denied") {
				t.Errorf("heard %s", line)
			}
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatalf("%d are denied, and %d asked about, of %d", denied, asked(), len(uris))
		}
	}
	if denied < len(uris)/2 {
		t.Errorf("only %d are denied", denied)
	}
	if strings.Contains(p.read("received"), "resources/read") {
		t.Error("one of them reached the server")
	}
}

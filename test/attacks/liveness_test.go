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

const pong = `{"jsonrpc":"2.0","id":"pong","result":{}}`

// pings asks the gate for a sign of life.
func (g *gate) pings(t *testing.T) {
	t.Helper()
	g.say(t, `{"jsonrpc":"2.0","id":"pong","method":"ping"}`)
	if got := g.hearAnswer(t, `"pong"`); got != pong {
		t.Errorf("heard %s", got)
	}
}

// Whatever a server says, its call gets one answer, and the next call too.
func TestServersThatSayStrangeThings(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":$ID,"result":{"good":1}}`
	for name, lines := range map[string][]string{
		"garbage before":           {"\x00\xff\xfe garbage", good},
		"answers twice":            {good, `{"jsonrpc":"2.0","id":$ID,"result":{"bad":1}}`},
		"an answer nobody asked":   {`{"jsonrpc":"2.0","id":123456,"result":{}}`, good},
		"another kind of id":       {`{"jsonrpc":"2.0","id":"$ID","result":{"bad":1}}`, good},
		"a batch":                  {`[{"jsonrpc":"2.0","id":$ID,"result":{"bad":1}}]`, good},
		"a batch of one and good":  {`[]`, good},
		"id in capitals":           {`{"jsonrpc":"2.0","ID":$ID,"result":{"bad":1}}`, good},
		"two ids":                  {`{"jsonrpc":"2.0","id":99,"id":$ID,"result":{"bad":1}}`, good},
		"result and error":         {`{"jsonrpc":"2.0","id":$ID,"result":{"bad":1},"error":{"code":1,"message":"x"}}`, good},
		"a request with that id":   {`{"jsonrpc":"2.0","id":$ID,"method":"roots/list"}`, good},
		"an unknown request":       {`{"jsonrpc":"2.0","id":5,"method":"evil/method","params":[1]}`, good},
		"a request for tools":      {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"hidden"}}`, good},
		"deep":                     {`{"jsonrpc":"2.0","method":"notifications/deep","params":{"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}}`, good},
		"null id with error":       {`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}`, good},
		"blank lines":              {"", "\r", " ", good},
		"carriage returns":         {good + "\r"},
		"cancels its own call":     {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$ID}}`, good},
		"list changed, many times": {strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n", 2000) + good},
		"many notifications":       {strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`+"\n", 5000) + good},
		"many requests":            {strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`+"\n", 2000) + good},
		"many answers":             {strings.Repeat(`{"jsonrpc":"2.0","id":77,"result":{}}`+"\n", 5000) + good},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, allowAll)
			g := p.wrap(t)
			g.greet(t)
			g.say(t, legacyCall(1, "puppet", saying(t, lines...)))
			got := g.hearAll(t, "1")["1"]
			if !strings.Contains(got, `"good"`) && !strings.Contains(got, `"error"`) || strings.Contains(got, "bad") {
				t.Errorf("heard %s", got)
			}
			g.say(t, legacyCall(2, "count", `{}`))
			if got := g.hearAll(t, "2")["2"]; !strings.Contains(got, "counted") {
				t.Errorf("the next call: heard %s", got)
			}
			g.pings(t)
		})
	}
}

// Ten thousand calls of a slow server all get an answer.
func TestTenThousandCallsAllGetAnswers(t *testing.T) {
	p := newPlace(t, "version: 2\nstarter: off\ndefault: deny\nledger: {required: true, reads: batched}\nrules:\n  - {id: r, decision: allow, tools: [puppet], read_only: true}\n")
	g := p.wrap(t)
	g.greet(t)
	const calls = 10_000
	go func() {
		arguments := `{"wait":1500,"say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{}}\n"]}`
		for i := range calls {
			fmt.Fprintln(g.stdin, legacyCall(i, "puppet", arguments))
		}
	}()
	seen := map[string]bool{}
	for len(seen) < calls {
		line := g.hear(t)
		if seen[line] || !strings.Contains(line, `"result":{}`) {
			t.Fatalf("after %d answers heard %s", len(seen), line)
		}
		seen[line] = true
	}
	if kilobytes := statusField(t, g, "VmHWM"); kilobytes > 300<<10 {
		t.Errorf("the gate took %d MiB", kilobytes>>10)
	}
}

// statusField returns a number of /proc/PID/status, 0 where there is none.
func statusField(t *testing.T, g *gate, field string) (n int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			_, _ = fmt.Sscan(rest, &n)
		}
	}
	return n
}

// A server that dies again and again leaves no process and no descriptor behind.
func TestManyDeathsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	p := newPlace(t, allowAll)
	g := p.wrap(t)
	g.greet(t)
	descriptors := func() int {
		names, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", g.cmd.Process.Pid))
		return len(names)
	}
	dieAndRise := func() {
		g.say(t, legacyCall(1, "puppet", `{"exit":true}`))
		g.hearAnswer(t, "1")
		for answer := ""; !strings.Contains(answer, "counted"); time.Sleep(10 * time.Millisecond) {
			g.say(t, legacyCall(2, "count", `{}`))
			answer = g.hearAnswer(t, "2")
		}
	}
	dieAndRise()
	before := descriptors()
	for range 3 {
		dieAndRise()
	}
	children := func() int { // the server, and what watches it
		out, _ := exec.Command("pgrep", "-P", itoa(g.cmd.Process.Pid)).Output()
		return strings.Count(string(out), "\n")
	}
	for end := time.Now().Add(patience / 2); descriptors() > before+2 || children() > 2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors, and %d after; %d children", before, descriptors(), children())
		}
	}
	g.pings(t)
}

// SIGTERM while calls run: each gets an answer, the gate ends soon, and its server with it.
func TestTermWhileCallsRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t, keyed)
	g := p.wrap(t)
	g.greet(t)
	var ids []string
	for i := range 100 {
		ids = append(ids, itoa(i))
		g.say(t, legacyCall(i, "puppet", fmt.Sprintf(`{"request_id":"k%d","wait":3000,"say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"n\":1}}\n"]}`, i)))
	}
	for end := time.Now().Add(patience); strings.Count(p.read("received"), "tools/call") < len(ids); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server does not get the calls")
		}
	}
	begun := time.Now()
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	for id, answer := range g.hearAll(t, ids...) {
		if !strings.Contains(answer, `"n":1`) { // what has begun is finished
			t.Fatalf("%s heard %s", id, answer)
		}
	}
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A bad policy file does not open the gate, and SIGHUP does not end it.
func TestHangupWithABadPolicy(t *testing.T) {
	t.Parallel()
	p := newPlace(t, onlyPuppet)
	g := p.wrap(t)
	g.greet(t)
	for _, bad := range []string{"", "version: 2\ndefault: alow\n", "version: 99\n", "\x00", "version: 2\nrules: [{id: a, decision: allow, tols: [x]}]\n"} {
		p.write(t, "policy.yaml", bad)
		_ = g.cmd.Process.Signal(syscall.SIGHUP)
		time.Sleep(50 * time.Millisecond)
		g.say(t, legacyCall(1, "count", `{}`))
		if got := g.hearAnswer(t, "1"); !strings.Contains(got, "tool denied") {
			t.Errorf("%q: heard %s", bad, got)
		}
	}
	if !strings.Contains(g.stderr.String(), "NOT loaded") {
		t.Error("the log does not say so")
	}
}

// A server that never reads, or never answers the handshake, holds up its own calls and no sign of life.
func TestAServerThatIsDeaf(t *testing.T) {
	t.Parallel()
	p := newPlace(t, allowAll)
	p.write(t, "servers.json", fmt.Sprintf(`{"mcpServers":{"deaf":{"command":"sleep","args":["1000"]},"good":{"command":%q,"args":["puppet",%q]}}}`, self, p.dir))
	g := p.start(t, "serve", "--policy", p.policy, "--ledger", p.ledger, "--servers", filepath.Join(p.dir, "servers.json"))
	begun := time.Now()
	g.say(t, modernCall(1, "good__count", `{}`))
	if got := g.hearAnswer(t, "1"); !strings.Contains(got, "counted") {
		t.Errorf("heard %s", got)
	}
	for i := range 200 {
		g.say(t, modernCall(1000+i, "deaf__x", `{"pad":"`+strings.Repeat("x", 10_000)+`"}`))
	}
	g.say(t, modernCall(2, "good__count", `{}`))
	if got := g.hearAnswer(t, "2"); !strings.Contains(got, "counted") {
		t.Errorf("heard %s", got)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
}

// A client that asks and does not read is not served without end, and does not keep the gate alive when it goes.
func TestAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t, allowAll)
	cmd := exec.Command(sallyport, "wrap", "--name", "puppet", "--policy", p.policy, "--ledger", p.ledger, "--", self, "puppet", p.dir)
	cmd.Env = append(os.Environ(), "HOME="+p.home)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	go func() {
		for i := range 300 {
			fmt.Fprintln(in, legacyCall(i, "puppet", `{"pad":1000000,"say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"x\":\"$PAD\"}}\n"]}`))
		}
	}()
	time.Sleep(1500 * time.Millisecond)
	if kilobytes := statusField(t, &gate{cmd: cmd}, "VmHWM"); kilobytes > 500<<10 {
		t.Errorf("the gate took %d MiB", kilobytes>>10)
	}
	read.Close()
	_ = in.Close()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		t.Error("the gate outlives its client")
	}
}

// A thousand cancellations, of what runs, has run and never was, do no harm.
func TestAStormOfCancellations(t *testing.T) {
	p := newPlace(t, allowAll)
	g := p.wrap(t)
	g.greet(t)
	for i := range 1000 {
		g.say(t, legacyCall(i, "puppet", `{"wait":200,"say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{}}\n"]}`),
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i),
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x%d"}}`, i),
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`)
	}
	g.say(t, legacyCall(`"last"`, "count", `{}`))
	if got := g.hearAnswer(t, `"last"`); !strings.Contains(got, "counted") {
		t.Errorf("heard %s", got)
	}
}

// A server sees what its entry names, and of ours nothing that is a secret or the gate's own.
func TestTheEnvironmentOfAServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t, allowAll)
	p.write(t, "servers.json", fmt.Sprintf(`{"mcpServers":{"good":{"command":%q,"args":["puppet",%q],"env":{"NAMED":"yes"}}}}`, self, p.dir))
	g := p.start(t, "serve", "--policy", p.policy, "--ledger", p.ledger, "--servers", filepath.Join(p.dir, "servers.json"))
	g.say(t, modernCall(1, "count", `{}`))
	g.hearAnswer(t, "1")
	got := p.read("environment")
	if strings.Contains(got, "swordfish") || strings.Contains(got, "operators-own") || !strings.Contains(got, "NAMED=yes") {
		t.Errorf("a server of a file has\n%s", got)
	}
	w := newPlace(t, allowAll)
	g = w.wrap(t)
	g.greet(t)
	if got := w.read("environment"); strings.Contains(got, "operators-own") || !strings.Contains(got, "swordfish") {
		t.Errorf("a wrapped server has\n%s", got)
	}
}

// Half a line at the end of the input is no call.
func TestHalfALineAtTheEnd(t *testing.T) {
	p := newPlace(t, allowAll)
	g := p.wrap(t)
	g.greet(t)
	call := legacyCall(1, "count", `{}`)
	fmt.Fprint(g.stdin, call[:len(call)-1])
	_ = g.stdin.Close()
	for range g.lines {
	}
	if p.read("effects") != "" {
		t.Error("half a line was carried out")
	}
}

//go:build linux

package faults_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The environment of this test binary when it is a server behind the gate whose effects are looked at: the folder where it
// has them and notes what it does, whether it lies, and at which step it kills the gate, once.
const (
	lookerDir   = "FAULTS_LOOKER"
	lookerLies  = "FAULTS_LOOKER_LIES"
	lookerKills = "FAULTS_LOOKER_KILLS"
)

func init() {
	if dir := os.Getenv(lookerDir); dir != "" {
		os.Exit(lookerMain(dir))
	}
}

// lookerMain is an MCP server with two tools: put adds its text to a file, and look shows the file. A liar adds nothing and
// says that it did.
func lookerMain(dir string) int {
	effects := filepath.Join(dir, "effects")
	step := func(what, text string) {
		f, err := os.OpenFile(filepath.Join(dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		if _, err := f.WriteString(what + " " + text + "\n"); err != nil {
			panic(err)
		}
		if what == os.Getenv(lookerKills) {
			syscall.Kill(os.Getppid(), syscall.SIGKILL)
			time.Sleep(200 * time.Millisecond) // for the death to sink in
		}
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments struct{ Text, Fill string }
			}
		}
		if json.Unmarshal(lines.Bytes(), &request) != nil || request.ID == nil {
			continue
		}
		say := func(result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, result) }
		args := request.Params.Arguments
		switch {
		case request.Method == "initialize":
			say(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"looker","version":"1"}}`)
		case request.Method == "tools/list":
			say(`{"tools":[{"name":"put","inputSchema":{"type":"object"}},{"name":"look","inputSchema":{"type":"object"}}]}`)
		case request.Method == "tools/call" && request.Params.Name == "put":
			step("received", args.Text)
			if os.Getenv(lookerLies) == "" {
				f, err := os.OpenFile(effects, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
				if err != nil {
					return 1
				}
				fmt.Fprintln(f, args.Text)
				f.Close()
			}
			if args.Fill != "" {
				fillUp(args.Fill)
			}
			step("acted", args.Text)
			say(`{"content":[{"type":"text","text":"put"}]}`)
			step("answered", args.Text)
		case request.Method == "tools/call":
			step("looked", args.Text)
			text, _ := os.ReadFile(effects)
			shown, _ := json.Marshal(strings.Split(string(text), "\n"))
			say(`{"content":[],"structuredContent":{"lines":` + string(shown) + `}}`)
			step("shown", args.Text)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", request.ID)
		}
	}
	return 0
}

// fillUp takes all the room of a disk, as well as it can.
func fillUp(name string) {
	f, err := os.Create(name)
	if err != nil {
		return
	}
	defer f.Close()
	for size := 1 << 16; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

// looker is the server behind the gate, with the gate's ledger.
type looker struct {
	t    *testing.T
	dir  folder
	home string // of the server
	rule string
}

// lookerRules let the server's one mutation be verified; more is more of its rule.
func lookerRules(more string) string {
	return "version: 2\ndefault: deny\nrules:\n  - {id: looks, decision: allow, tools: [look], read_only: true}\n" +
		"  - id: puts\n    decision: allow\n    tools: [put]\n" + more +
		"    verify:\n      observe: {tool: look, arguments: {text: \"${args.text}\"}}\n      expect: 'observation.lines.exists(l, l == args.text)'\n"
}

const keyedPuts = "    mutation: {key: request_id}\n"

func newLooker(t *testing.T, more string) *looker {
	t.Helper()
	dir := t.TempDir()
	return lookerIn(t, folder(filepath.Join(dir, "ledger")), dir, more)
}

func lookerIn(t *testing.T, dir folder, home, more string) *looker {
	t.Helper()
	k := &looker{t: t, dir: dir, home: home, rule: filepath.Join(home, "policy.yaml")}
	must(t, os.WriteFile(k.rule, []byte(lookerRules(more)), 0o600))
	return k
}

func (k *looker) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(k.home, name))
	return string(text)
}

// how says how a gate and its server are run.
type how struct {
	lies  bool
	kills string   // at which step the server kills the gate
	wrap  []string // the command that runs the gate's
	more  string   // JSON members of the arguments

	before func(i int) // is called before the call with that number, if it is there
}

// put calls the tool once for each text, in one gate, and returns the answers' lines: "" where there was none.
func (k *looker) put(how how, texts ...string) []string {
	k.t.Helper()
	args := append(append([]string{}, how.wrap...), binary, "wrap", "--policy", k.rule, "--ledger", string(k.dir), "--name", "looker", "--", writerBinary)
	gate := exec.Command(args[0], args[1:]...)
	gate.Env = append(os.Environ(), lookerDir+"="+k.home, lookerKills+"="+how.kills)
	if how.wrap != nil {
		gate.Env = append(gate.Env, "GOMAXPROCS=1") // which keeps most calls of the system in few threads
	}
	if how.lies {
		gate.Env = append(gate.Env, lookerLies+"=1")
	}
	gate.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := gate.StdinPipe()
	must(k.t, err)
	stdout, err := gate.StdoutPipe()
	must(k.t, err)
	must(k.t, gate.Start())
	late := time.AfterFunc(patience, func() { syscall.Kill(-gate.Process.Pid, syscall.SIGKILL) })
	defer late.Stop()
	lines := bufio.NewScanner(stdout)
	next := func(id int) string {
		for lines.Scan() {
			if strings.Contains(lines.Text(), fmt.Sprintf(`"id":%d,`, id)) {
				return lines.Text()
			}
		}
		return ""
	}
	fmt.Fprint(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	next(1)
	answers := make([]string, len(texts))
	for i, text := range texts {
		if how.before != nil {
			how.before(i)
		}
		fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"put","arguments":{"request_id":"key-%s","text":%q%s}}}`+"\n", i+2, text, text, how.more)
		answers[i] = next(i + 2)
	}
	stdin.Close()
	gate.Wait()
	syscall.Kill(-gate.Process.Pid, syscall.SIGKILL)
	return answers
}

// verdictIn is what an answer says of its verification.
func verdictIn(answer string) string {
	for _, word := range []string{"true", "false"} {
		if strings.Contains(answer, `"sallyport/verified":`+word) {
			return word
		}
	}
	return ""
}

func stoppedIn(answer string) bool { return strings.Contains(answer, "stopped: ") }

// slot is the file of the one scope's latch.
func (k *looker) slot() string {
	k.t.Helper()
	names, err := os.ReadDir(k.dir.path("stops"))
	must(k.t, err)
	for _, e := range names {
		if len(e.Name()) == 64 {
			return k.dir.path("stops/" + e.Name())
		}
	}
	k.t.Fatal("there is no latch")
	return ""
}

// checkDeath holds whoever comes after a death to the promises: what was done is looked at before anything else is, a liar is
// stopped, and nothing is done twice. first is what the caller of the first call heard.
func (k *looker) checkDeath(lies, keyed bool, first, what string) {
	k.t.Helper()
	sent, acted := strings.Contains(k.read("log"), "received first"), strings.Contains(k.read("effects"), "first")
	answers := k.put(how{lies: lies}, "later", "last")
	log := k.read("log")
	stopped := stoppedIn(answers[0]) && stoppedIn(answers[1]) && !strings.Contains(log, "received later")
	switch wentOn := verdictIn(answers[0]) == "true" && verdictIn(answers[1]) == "true"; {
	case !lies && !wentOn && (acted || !stopped): // where it is not known whether the call was sent, and there is nothing, a stop is right
		k.t.Errorf("%s: with an honest server heard %s and %s\n%s", what, answers[0], answers[1], log)
	case !lies && acted && !strings.Contains(before(log, "received later"), "looked first"):
		k.t.Errorf("%s: the next call was sent before it was looked what the first one left:\n%s", what, log)
	case lies && !stopped && (sent || verdictIn(answers[0]) != "false" || !stoppedIn(answers[1])):
		k.t.Errorf("%s: with a liar heard %s and %s\n%s", what, answers[0], answers[1], log)
	}
	if sent && (lies || acted) {
		k.checkVerdict(map[bool]string{true: `"verdict":"STOP"`, false: `"verdict":"CONTINUE"`}[lies], what)
	}
	if keyed {
		again := k.put(how{}, "first")[0]
		if n := strings.Count(k.read("log"), "received first"); sent && n != 1 || !sent && n > 1 {
			k.t.Errorf("%s: the first call was sent %d times:\n%s", what, n, k.read("log"))
		}
		if first != "" && !strings.Contains(first, `"error"`) && again != first {
			k.t.Errorf("%s: a retry heard %s\nand the first call %s", what, again, first)
		}
	}
	if err := k.dir.verify(); err != nil {
		k.t.Errorf("%s: %v", what, err)
	}
}

// checkVerdict: there is one verdict on the first call.
func (k *looker) checkVerdict(want, what string) {
	k.t.Helper()
	records, err := os.ReadFile(k.dir.ledger())
	must(k.t, err)
	verdicts := 0
	for line := range strings.Lines(string(records)) {
		if strings.Contains(line, `"key-first"`) && strings.Contains(line, want) {
			verdicts++
		}
	}
	if verdicts != 1 {
		k.t.Errorf("%s: the ledger has %d verdicts %s on the first call:\n%s", what, verdicts, want, records)
	}
}

// before is what of a text stands before a part of it.
func before(text, part string) string {
	head, _, _ := strings.Cut(text, part)
	return head
}

// lookerCases are with and without a key, with an honest server and with a liar.
func lookerCases(t *testing.T, test func(t *testing.T, more string, lies bool)) {
	for name, more := range map[string]string{"keyed": keyedPuts, "unkeyed": ""} {
		for word, lies := range map[string]bool{"honest": false, "liar": true} {
			t.Run(name+" "+word, func(t *testing.T) {
				t.Parallel()
				test(t, more, lies)
			})
		}
	}
}

// The server kills the gate when it has the call, has acted, has answered, is asked to show, and has shown.
func TestGateDiesBetweenEffectAndLook(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"received", "acted", "answered", "looked", "shown"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			lookerCases(t, func(t *testing.T, more string, lies bool) {
				k := newLooker(t, more)
				first := k.put(how{lies: lies, kills: step}, "first")[0]
				if !strings.Contains(k.read("log"), step+" first") {
					t.Fatal("the gate was not killed: the test tests nothing")
				}
				k.checkDeath(lies, more != "", first, step)
			})
		})
	}
}

// A run dies with the gate, after the server has acted for it; whoever resumes it has the call on record, though no server is
// started on the folder.
func TestRunRecordsWhatARunLeft(t *testing.T) {
	t.Parallel()
	k := newLooker(t, "")
	plan, servers := filepath.Join(k.home, "plan.yaml"), filepath.Join(k.home, "servers.json")
	must(t, os.WriteFile(plan, []byte(`version: 1
steps:
  - id: one
    call:    {tool: put, arguments: {request_id: key-first, text: first}}
    observe: {tool: look, arguments: {text: first}}
    expect:  'observation.lines.exists(l, l == "first")'
`), 0o600))
	run := func(kills string, args ...string) {
		must(t, os.WriteFile(servers, fmt.Appendf(nil, `{"mcpServers":{"looker":{"command":%q,"env":{%q:%q,%q:%q}}}}`,
			writerBinary, lookerDir, k.home, lookerKills, kills), 0o600))
		out, _ := command(t, append([]string{"run", plan, "--policy", k.rule, "--ledger", string(k.dir), "--servers", servers}, args...)...)
		t.Log(out)
	}
	run("acted")
	if !strings.Contains(k.read("log"), "acted first") {
		t.Fatal("the run was not killed: the test tests nothing")
	}
	run("", "--resume")
	records, err := os.ReadFile(k.dir.ledger())
	must(t, err)
	calls := 0
	for line := range strings.Lines(string(records)) {
		if strings.Contains(line, `"name":"put"`) && strings.Contains(line, `"method":"tools/call"`) && strings.Contains(line, `"outcome":"inconclusive"`) {
			calls++
		}
	}
	if calls != 1 {
		t.Errorf("the call is on record %d times:\n%s", calls, records)
	}
	mustVerify(t, k.dir)
}

// The gate dies, and the next one while it looks what the first left, and the next when it has been shown: whoever comes then
// looks again.
func TestGateDiesAgainWhileItLooksBack(t *testing.T) {
	t.Parallel()
	lookerCases(t, func(t *testing.T, more string, lies bool) {
		k := newLooker(t, more)
		first := k.put(how{lies: lies, kills: "answered"}, "first")[0]
		for _, step := range []string{"looked", "shown"} {
			if got := k.put(how{lies: lies, kills: step}, "later")[0]; got != "" || strings.Contains(k.read("log"), "later") {
				t.Fatalf("killed when it was %s it heard %s\n%s", step, got, k.read("log"))
			}
		}
		k.checkDeath(lies, more != "", first, "the third death")
	})
}

// The gate dies at each of the writes, marks and syncs of its claims, its ledger and its latch, in turn. strace counts the
// calls of each thread for itself, so there are fewer such steps than calls; internal/gate enumerates them all.
func TestGateDiesAtEachStepOfAVerifiedCall(t *testing.T) {
	needStrace(t)
	t.Parallel()
	for _, file := range []string{"claims", "ledger", "latch"} {
		for _, call := range []string{"pwrite64", "fdatasync", "io_submit", "fchmod"} {
			if call == "fchmod" && file != "latch" || call == "io_submit" && file == "ledger" {
				continue
			}
			t.Run(call+" of the "+file, func(t *testing.T) {
				t.Parallel()
				lookerCases(t, func(t *testing.T, more string, lies bool) {
					if more == "" && (file == "claims" || call == "io_submit") {
						return // there are no claims, and so nothing is synced beside the latch
					}
					killed := 0
					for n := 1; ; n++ {
						if n > 20 {
							t.Fatal("the gate never survived")
						}
						k := newLooker(t, more)
						if got := k.put(how{}, "earlier")[0]; verdictIn(got) != "true" { // so that the files are there
							t.Fatalf("the earlier call heard %s", got)
						}
						path := map[string]string{"claims": k.dir.claims(), "ledger": k.dir.ledger(), "latch": k.slot()}[file]
						first := k.put(how{lies: lies, wrap: killedAt(path, call, n)}, "first")[0]
						k.checkDeath(lies, more != "", first, fmt.Sprintf("#%d", n))
						if first != "" || t.Failed() {
							break
						}
						killed++
					}
					if killed == 0 && !t.Failed() && (call != "ftruncate" || !lies) {
						t.Error("the gate was never killed: the test tests nothing")
					}
					t.Logf("killed at %d steps", killed)
				})
			})
		}
	}
}

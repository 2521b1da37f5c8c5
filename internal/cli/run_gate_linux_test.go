package cli

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
)

// ends runs a command without a terminal, and returns what it said and its exit code.
func (p *person) ends(args ...string) (said string, code int) {
	p.t.Helper()
	cmd := p.command(args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		p.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func wantSaid(t *testing.T, what string, said string, code, wantCode int, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(said, w) {
			t.Errorf("%s: %q is missing", what, w)
		}
	}
	if code != wantCode || t.Failed() {
		t.Fatalf("%s: exit code %d, want %d\n%s", what, code, wantCode, said)
	}
}

// TestRunHeedsTheGatesOwnVerification: the plan's own observation holds, and the policy's rule for the call says that it
// cannot be told. So the run must not end in CONTINUE, nor may a resumed one until an operator released what is stopped.
func TestRunHeedsTheGatesOwnVerification(t *testing.T) {
	p := newPerson(t)
	plan := plans(p, "1")
	p.write(filepath.Join(p.dir, "policy.yaml"), `version: 2
default: deny
rules:
  - {id: look, decision: allow, tools: [read_ledger], read_only: true}
  - {id: notes, decision: allow, tools: [write_note], verify: {observe: {tool: read_ledger}, expect: "observation.nothing.of.this == args.text"}}
`)
	run := []string{"run", plan, "--policy", "policy.yaml"}
	said, code := p.ends(run...)
	wantSaid(t, "run", said, code, exitStopped, "sallyport: STOP at step watched: the gate's own verification of the call differs",
		"hint: look at what is there, then sallyport release --reason TEXT; then the same command with --resume", `"verdict":"STOP","what":"end"`)
	text := p.read(filepath.Join(p.dir, ".ledger", ledger.FileName))
	if strings.Contains(text, `"verdict":"CONTINUE"`) || strings.Count(text, `"method":"plan/step"`) != 1 {
		t.Errorf("the ledger says something else:\n%s", text)
	}
	said, code = p.ends(append(run, "--resume")...)
	wantSaid(t, "resumed while it is stopped", said, code, exitStopped, "STOP at step watched: ", "hint: look at what is there, then sallyport release")
	if out, ok := p.answer("yes", nil, "release", "--reason", "looked"); !ok {
		t.Fatalf("release: %s", out)
	}
	said, code = p.ends(append(run, "--resume")...)
	wantSaid(t, "resumed after the release", said, code, 0, `"verdict":"CONTINUE","what":"end"`)
}

// TestRunWaitsForAPerson: the step's time is far shorter than the person's.
func TestRunWaitsForAPerson(t *testing.T) {
	for _, c := range []struct {
		command string
		code    int
		said    string
	}{{"approve", 0, `"verdict":"CONTINUE","what":"end"`}, {"deny", exitStopped, "a person denied this call"}} {
		t.Run(c.command, func(t *testing.T) {
			p := newPerson(t)
			plan := p.write(filepath.Join(p.dir, "plan.yaml"), strings.Replace(watchedPlan, "%d", "1", 1)+"    timeout: 2s\n")
			p.write(filepath.Join(p.dir, "policy.yaml"), `version: 2
default: deny
rules:
  - {id: look, decision: allow, tools: [read_ledger], read_only: true}
  - {id: notes, decision: ask, tools: [write_note], reason: "notes are forever", approval: {expires: 5m}}
`)
			cmd := p.command("run", plan, "--policy", "policy.yaml", "--ledger", "ledger")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var waiting []interlock.Approval
			for begun := time.Now(); len(waiting) == 0 || time.Since(begun) < 3*time.Second; time.Sleep(20 * time.Millisecond) {
				waiting, _ = approvalsOf(filepath.Join(p.dir, "ledger")).List(time.Now())
				if time.Since(begun) > patience {
					t.Fatal("nobody is asked")
				}
			}
			if said, ok := p.answer("yes", nil, "approvals", c.command, waiting[0].ID, "--ledger", "ledger"); !ok {
				t.Fatal(said)
			}
			if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
				t.Fatal(err)
			}
			wantSaid(t, c.command, out.String(), cmd.ProcessState.ExitCode(), c.code, c.said,
				`{"approval":"`+waiting[0].ID+`","reason":"it waits until `, `"what":"ask"}`,
				"sallyport: step watched waits for a person to agree to write_note\nhint: sallyport approvals approve "+waiting[0].ID+" --ledger ledger")
		})
	}
}

// dyingServer is a server that dies of each call of do, once it was carried out.
const dyingServer = `while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\([^,}]*\).*/\1/')
  case $line in
  *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}' ;;
  *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"do","inputSchema":{"type":"object"}},{"name":"see","inputSchema":{"type":"object"}}]}}' ;;
  *'"name":"do"'*) echo did >>did; test -e well || exit 1
    echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"done"}]}}' ;;
  *'"name":"see"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[],"structuredContent":{"well":'$(test -e well && echo true || echo false)'}}}' ;;
  esac
done
`

// TestRunNamesTheClaimThatAnOperatorMustSettle: as long as the gate calls a call inconclusive, a resumed run stops again; what
// the hint says takes it further.
func TestRunNamesTheClaimThatAnOperatorMustSettle(t *testing.T) {
	p := newPerson(t)
	p.write(filepath.Join(p.dir, "dying.sh"), dyingServer)
	p.write(filepath.Join(p.dir, "servers.json"), `{"mcpServers":{"s":{"command":"sh","args":["dying.sh"]}}}`)
	p.write(filepath.Join(p.dir, "policy.yaml"), `version: 2
default: deny
rules:
  - {id: look, decision: allow, tools: [see], read_only: true}
  - {id: do, decision: allow, tools: [do], mutation: {key: sallyport/request_id}}
`)
	plan := p.write(filepath.Join(p.dir, "plan.yaml"), `version: 1
steps:
  - id: one
    call:    {tool: do}
    observe: {tool: see}
    expect:  observation.well
    undo:    none
`)
	run := []string{"run", plan, "--policy", "policy.yaml", "--servers", "servers.json", "--ledger", "ledger"}
	said, code := p.ends(run...)
	hint := regexp.MustCompile(`then sallyport claims resolve ([0-9a-f]+) --as VERDICT --reason TEXT --ledger ledger`)
	wantSaid(t, "run", said, code, exitStopped, "STOP at step one: it is not known whether")
	m := hint.FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("no claim is named:\n%s", said)
	}
	said, code = p.ends(append(run, "--resume")...)
	if again := hint.FindStringSubmatch(said); code != exitStopped || again == nil || again[1] != m[1] {
		t.Fatalf("resumed: exit code %d\n%s", code, said)
	}
	if out, ok := p.answer("yes", nil, "claims", "resolve", m[1], "--as", "absent", "--reason", "looked", "--ledger", "ledger"); !ok {
		t.Fatal(out)
	}
	p.write(filepath.Join(p.dir, "well"), "")
	said, code = p.ends(append(run, "--resume")...)
	wantSaid(t, "resumed after it was settled", said, code, 0, `"verdict":"CONTINUE","what":"end"`)
}

// TestDryRunSaysWhatAVerificationDoes, which is what it does: a call that the gate's own look finds wrong is not rolled back by
// the plan, although its undo is proved and allowed, until an operator released what is stopped.
func TestDryRunSaysWhatAVerificationDoes(t *testing.T) {
	p := newPerson(t)
	const undone = `
    undo:    {tool: erase_note, arguments: {request_id: "${args.request_id}"}}
    undone:  '!observation.notes.exists(n, n.request_id == args.request_id)'
`
	plan := p.write(filepath.Join(p.dir, "plan.yaml"), strings.Replace(strings.Replace(watchedPlan, "%d", "1", 1), "\n    on_mismatch: stop\n", undone, 1))
	foreign := p.write(filepath.Join(p.dir, "foreign.yaml"), strings.Replace(watchedPlan, "%d", "1", 1))
	const plain = `version: 2
default: deny
rules:
  - {id: look, decision: allow, tools: [read_ledger], read_only: true}
  - {id: notes, decision: allow, tools: [write_note, erase_note]}
`
	p.write(filepath.Join(p.dir, "plain.yaml"), plain)
	p.write(filepath.Join(p.dir, "verified.yaml"), plain+
		`  - {id: one, decision: allow, tools: [write_note], verify: {observe: {tool: read_ledger}, expect: "observation.notes.size() == 1"}}
`)
	both := func(command, policy string) []string { return []string{command, plan, "--policy", policy} }
	const note = "the policy verifies the call (verify): if that differs or cannot be told, a run stops there without a ROLLBACK, a rehearsal fails, and its caller's changes at that server, an undo there too, are held back until sallyport release"
	for _, command := range []string{"run", "rehearse"} {
		said, code := p.ends(append(both(command, "verified.yaml"), "--dry-run")...)
		wantSaid(t, command+" --dry-run", said, code, 0, `"undoes":"erase_note"`, `"notes":["`+note+`"]`)
		said, code = p.ends(append(both(command, "plain.yaml"), "--dry-run")...)
		if wantSaid(t, command+" --dry-run", said, code, 0, `"verified":false`); strings.Contains(said, "notes\":") {
			t.Errorf("of calls that nothing verifies it says\n%s", said)
		}
		shown, code := p.onTerminal("xterm", append(both(command, "verified.yaml"), "--dry-run")...)
		wantSaid(t, command+" --dry-run at a terminal", shown, code, 0, "watched  write_note: allow  read_ledger: allow  erase_note: allow  never      the policy verifies the call")
	}
	said, code := p.ends(both("rehearse", "plain.yaml")...)
	wantSaid(t, "rehearse", said, code, 0)
	said, code = p.ends("run", foreign, "--policy", "plain.yaml")
	wantSaid(t, "another note", said, code, 0)
	said, code = p.ends(both("run", "verified.yaml")...)
	wantSaid(t, "run", said, code, exitStopped, "STOP at step watched: the gate's own verification of the call differs")
	for range 2 {
		if strings.Contains(said, `"what":"undo"`) {
			t.Errorf("it was undone:\n%s", said)
		}
		said, code = p.ends(append(both("run", "verified.yaml"), "--resume")...)
		wantSaid(t, "resumed while it is stopped", said, code, exitStopped, `step \"watched\" cannot be undone: of its undo, rule \"latch\" denies the call`)
	}
	if out, ok := p.answer("yes", nil, "release", "--reason", "looked"); !ok {
		t.Fatalf("release: %s", out)
	}
	said, code = p.ends(append(both("run", "verified.yaml"), "--resume")...)
	wantSaid(t, "resumed after the release", said, code, exitRolledBack, `"what":"undo"`, "all that was done is undone")
}

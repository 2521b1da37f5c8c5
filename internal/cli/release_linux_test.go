package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/interlock"
)

// stopped makes a stop in a folder that has a ledger, as a gate does.
func (p *person) stopped(dir string, stop interlock.Stop) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	lane, err := stopsOf(dir).Enter(ctx, stop.Scope)
	if err != nil {
		p.t.Fatal(err)
	}
	defer lane.Leave()
	if err := lane.Stop(stop); err != nil {
		p.t.Fatal(err)
	}
}

// stands reports how a scope stands.
func (p *person) stands(dir string, scope interlock.Scope) interlock.Standing {
	p.t.Helper()
	standing, _, err := stopsOf(dir).Check(scope)
	if err != nil {
		p.t.Fatal(err)
	}
	return standing
}

const whenStopped = 1_800_000_000_000_000_000

func stopAt(server string) interlock.Stop {
	return interlock.Stop{Scope: interlock.Scope{Principal: "ann", Server: server}, Tool: "pay", Rule: "pays",
		Reason: "what is there is not what was paid", Attempt: "0123456789abcdef", Time: whenStopped}
}

// TestReleaseIsWhatAPersonSays stops two servers and releases one of them at a terminal.
func TestReleaseIsWhatAPersonSays(t *testing.T) {
	p := newPerson(t)
	dir := filepath.Join(p.dir, ".ledger")
	b := openBank(t, dir)
	if _, err := b.pay("r1"); err != nil { // so that there is a ledger
		t.Fatal(err)
	}
	if out, ok := p.run("release", "--reason", "x"); ok || !strings.HasPrefix(out, "nothing is stopped in ") {
		t.Errorf("with nothing stopped: ok %t\n%s", ok, out)
	}
	if out, ok := p.run("release", "--list"); !ok || !strings.HasPrefix(out, "nothing is stopped in ") {
		t.Errorf("--list with nothing stopped: ok %t\n%s", ok, out)
	}
	p.stopped(dir, stopAt("bank"))
	p.stopped(dir, stopAt("shop"))

	args := []string{"release", "--principal", "ann", "--server", "bank", "--reason", "paid by hand"}
	if out, ok := p.run(args...); ok || !strings.Contains(out, "there is no terminal") {
		t.Errorf("without a terminal: ok %t\n%s", ok, out)
	}
	if out, ok := p.answer("no", nil, args...); ok || !strings.Contains(out, "not confirmed") {
		t.Errorf("not confirmed: ok %t\n%s", ok, out)
	}
	if out, ok := p.run("release"); ok || !strings.Contains(out, "--reason is missing") {
		t.Errorf("without a reason: ok %t\n%s", ok, out)
	}
	if got := p.stands(dir, stopAt("bank").Scope); got != interlock.Stopped {
		t.Fatalf("before a yes it is %v", got)
	}
	out, ok := p.answer("yes", nil, args...)
	want := `principal   ann
server      bank
tool        pay
rule        pays
reason      what is there is not what was paid
attempt     0123456789abcdef
since       2027-01-15T08:00:00Z

released: ann at bank
`
	if diff := cmp.Diff(want, out); !ok || diff != "" {
		t.Errorf("released: ok %t (-want +got):\n%s", ok, diff)
	}
	if bank, shop := p.stands(dir, stopAt("bank").Scope), p.stands(dir, stopAt("shop").Scope); bank != interlock.Clear || shop != interlock.Stopped {
		t.Errorf("afterwards the bank is %v and the shop %v, want clear and stopped", bank, shop)
	}
	text := p.read(filepath.Join(dir, "ledger.jsonl"))
	if n := strings.Count(text, `"method":"interlock/release"`); n != 1 || !strings.Contains(text, `"principal":"operator"`) || !strings.Contains(text, `"reason":"paid by hand"`) {
		t.Errorf("%d records of it, want one with the operator and the reason:\n%s", n, text)
	}
}

// TestReleaseIsOfWhatWasShown: what comes while the question stands is not released by the answer.
func TestReleaseIsOfWhatWasShown(t *testing.T) {
	p, dir, _ := newPayer(t)
	shown := stopAt("bank")
	p.stopped(dir, shown)
	another := shown
	another.Time += int64(time.Second)
	another.Attempt = "fedcba9876543210"
	out, ok := p.answer("yes", func() {
		if err := stopsOf(dir).Release(context.Background(), shown); err != nil {
			t.Error(err)
		}
		p.stopped(dir, another)
	}, "release", "--reason", "seen")
	if ok || !strings.Contains(out, "hint: look at it again: sallyport release --list") {
		t.Errorf("ok %t\n%s", ok, out)
	}
	if got := p.stands(dir, shown.Scope); got != interlock.Stopped {
		t.Errorf("the stop that nobody saw is %v, want stopped", got)
	}
}

// TestReleaseShowsAttacksCalmly: names and reasons of stops are others' text.
func TestReleaseShowsAttacksCalmly(t *testing.T) {
	p, dir, _ := newPayer(t)
	stop := stopAt("hook/claude/\x1b[2J\u009b1m\u202e")
	stop.Tool, stop.Reason = "pay\x1b]0;x\x07", "a\nreason\r\x08"
	p.stopped(dir, stop)
	for _, flag := range []string{"--list", "--json"} {
		args := []string{"release", "--list"}
		if flag == "--json" {
			args = append(args, flag)
		}
		out, ok := p.run(args...)
		if !ok || !isCalm(strings.ReplaceAll(out, "\n", "")) || !strings.Contains(out, "hook/claude/") {
			t.Errorf("%v: ok %t, %q", args, ok, out)
		}
		if flag == "--json" {
			v, err := canon.Parse([]byte(out))
			if err != nil {
				t.Fatal(err)
			}
			for got := range v.Get("stops").Elements() {
				if server, _ := got.Get("server").Text(); server != stop.Server {
					t.Errorf("in JSON the server is %q, want %q", server, stop.Server)
				}
			}
		}
	}
}

// TestReleaseOfALatchThatCannotBeRead shows what is known of it, and releases it.
func TestReleaseOfALatchThatCannotBeRead(t *testing.T) {
	p, dir, _ := newPayer(t)
	p.stopped(dir, stopAt("bank"))
	names, err := os.ReadDir(filepath.Join(dir, interlock.StopsDir))
	if err != nil {
		t.Fatal(err)
	}
	spoilt := 0
	for _, name := range names {
		path := filepath.Join(dir, interlock.StopsDir, name.Name())
		if text := p.read(path); strings.Contains(text, "pays") {
			p.write(path, strings.ReplaceAll(text, "pays", "lays")) // a stop stands there twice
			spoilt++
		}
	}
	if spoilt != 1 {
		t.Fatalf("%d latches were spoilt, want 1", spoilt)
	}
	if standing, _, _ := stopsOf(dir).Check(stopAt("bank").Scope); standing != interlock.Unknown {
		t.Fatalf("a spoilt latch is %v, want unknown", standing)
	}
	out, ok := p.answer("yes", nil, "release", "--reason", "the disk was full")
	if !ok || !strings.HasPrefix(out, "latch       ") || !strings.Contains(out, "\nreleased: latch ") {
		t.Errorf("ok %t\n%s", ok, out)
	}
	if got := p.stands(dir, stopAt("bank").Scope); got != interlock.Clear {
		t.Errorf("afterwards it is %v, want clear", got)
	}
}

const writtenPolicy = `version: 2
default: allow
rules:
  - {id: as-said, decision: allow, tools: [Write], verify: content}
`

// hook tells a hook of a call of Write, before or after it, and returns what it answers.
func (p *person) hook(event string) string {
	p.t.Helper()
	policy := p.write(filepath.Join(p.home, "policy.yaml"), writtenPolicy)
	cmd := p.command("hook", "claude", "--policy", policy, "--deadline", "20s")
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s-1","hook_event_name":%q,"cwd":%q,"tool_name":"Write",
		"tool_input":{"file_path":"note.txt","content":"kept"}}`, event, p.dir))
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", event, err, out)
	}
	return string(out)
}

// TestReleaseWhereOnlyHooksAre: a machine on which no server ever ran has no claims, and its stops are released all the same.
func TestReleaseWhereOnlyHooksAre(t *testing.T) {
	p := newPerson(t)
	state := filepath.Join(p.home, ".local", "state", "sallyport")
	p.write(filepath.Join(p.dir, "note.txt"), "lost")
	p.hook("PostToolUse")
	if out := p.hook("PreToolUse"); !strings.Contains(out, "(rule latch)") {
		t.Fatalf("the session was not stopped: %q", out)
	}
	if _, err := os.Stat(filepath.Join(state, "claims.log")); err == nil {
		t.Fatal("a hook made claims")
	}
	out, ok := p.answer("yes", nil, "release", "--reason", "looked")
	if !ok || !strings.Contains(out, "\nserver      hook/claude/s-1\n") || !strings.HasSuffix(out, "\nreleased: local at hook/claude/s-1\n") {
		t.Errorf("ok %t\n%s", ok, out)
	}
	if out := p.hook("PreToolUse"); out != "" {
		t.Errorf("after the release the hook answers %q, want silence", out)
	}
	if text := p.read(filepath.Join(state, "ledger.jsonl")); strings.Count(text, `"method":"interlock/release"`) != 1 {
		t.Errorf("it is not on the record:\n%s", text)
	}
	if out, ok := p.run("verify", state); !ok {
		t.Errorf("the ledger does not verify: %s", out)
	}
}

// TestReleaseFindsStopsBehindAFolder: where no folder is named, one in the working folder does not hide what is stopped in the
// one of hooks and wrapped servers.
func TestReleaseFindsStopsBehindAFolder(t *testing.T) {
	p := newPerson(t)
	near, far := p.bothLedgers()
	if out, ok := p.run("release", "--reason", "x"); ok || out != "nothing is stopped in .ledger, nor in "+far+"\n" {
		t.Errorf("with nothing stopped: ok %t\n%s", ok, out)
	}
	p.stopped(far, stopAt("bank"))
	if out, ok := p.run("release", "--list", "--ledger", ".ledger"); !ok || out != "nothing is stopped in .ledger\n" {
		t.Errorf("the folder that was named: ok %t\n%s", ok, out)
	}
	if out, ok := p.run("release", "--list"); !ok || !strings.HasPrefix(out, "ledger      "+far+"\nprincipal   ann\nserver      bank\n") {
		t.Errorf("ok %t\n%s", ok, out)
	}
	if out, ok := p.run("release", "--list", "--json"); !ok || !strings.HasPrefix(out, `{"stops":[{"ledger":"`+far+`","principal":"ann",`) {
		t.Errorf("ok %t\n%s", ok, out)
	}
	p.stopped(near, stopAt("shop"))
	out, ok := p.answer("yes", nil, "release", "--reason", "looked at both")
	if !ok || !strings.HasSuffix(out, "\nreleased: ann at shop\nreleased: ann at bank\n") {
		t.Errorf("ok %t\n%s", ok, out)
	}
	for dir, server := range map[string]string{near: "shop", far: "bank"} {
		if got := p.stands(dir, stopAt(server).Scope); got != interlock.Clear {
			t.Errorf("in %s it is %v, want clear", dir, got)
		}
		text := p.read(filepath.Join(dir, "ledger.jsonl"))
		if strings.Count(text, `"method":"interlock/release"`) != 1 || !strings.Contains(text, `"upstream":"`+server+`"`) {
			t.Errorf("in %s the release is not on the record:\n%s", dir, text)
		}
	}
}

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// listedRun is what run --list --json says of a run.
type listedRun struct {
	Ledger, Run, Name, Plan, Step, Reason, State string
	Begun, Ended                                 int64
	Resumable, Abandonable                       bool
}

func (p *person) listedRuns(args ...string) []listedRun {
	p.t.Helper()
	out, ok := p.run(append([]string{"run", "--list", "--json"}, args...)...)
	var said struct{ Runs []listedRun }
	if err := json.Unmarshal([]byte(out), &said); !ok || err != nil || strings.Count(out, "\n") != 1 {
		p.t.Fatalf("ok %t, %v\n%s", ok, err, out)
	}
	return said.Runs
}

// awaits waits until the only run of a ledger stands so.
func (p *person) awaits(ledger, state string) listedRun {
	p.t.Helper()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(p.dir, ledger, "ledger.jsonl")); err == nil {
			if runs := p.listedRuns("--ledger", ledger); len(runs) == 1 && runs[0].State == state {
				return runs[0]
			}
		}
		if time.Since(begun) > patience {
			p.t.Fatalf("no run of %s is %s", ledger, state)
		}
	}
}

const neverPlan = `version: 1
name: "never\u001b[2J"
steps:
  - id: never
    call:    {tool: write_note, arguments: {request_id: "${run.id}", text: "one"}}
    observe: {tool: read_ledger}
    expect:  'observation.notes.size() == 99'
    retry_observe_for: 10m
    undo:    none
`

// TestRunListFollowsARun from its beginning to its end, as a person would see it.
func TestRunListFollowsARun(t *testing.T) {
	p := newPerson(t)
	plan := p.write(filepath.Join(p.dir, "plan.yaml"), neverPlan)
	said, code := p.ends("run", "--list", "--ledger", "ledger")
	wantSaid(t, "without a ledger", said, code, exitError, "hint: name the ledger's folder or file")

	cmd := p.command("run", plan, "--ledger", "ledger")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	run := p.awaits("ledger", "running")
	if run.Step != "never" || run.Resumable || run.Abandonable || run.Ledger != "ledger" || time.Since(time.Unix(0, run.Begun)).Abs() > time.Hour || run.Ended != 0 || len(run.Plan) != 64 {
		t.Errorf("running: %+v", run)
	}
	said, code = p.ends("run", "--list", "--ledger", "ledger")
	wantSaid(t, "running", said, code, 0, "run         "+run.Run+"\n", `plan        never\x1b[2J, sha256 `+run.Plan+"\n", "begun       2", "\nstate       running at step never\nnext        wait for it, or end that process")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	run = p.awaits("ledger", "cut_off")
	if run.Step != "never" || !run.Resumable || !run.Abandonable {
		t.Errorf("cut off: %+v", run)
	}
	said, code = p.ends("run", "--list", "--ledger", "ledger")
	wantSaid(t, "cut off", said, code, 0, "\nstate       cut off at step never\nnext        go on with it: sallyport run PLAN --resume --run "+run.Run+" --ledger ledger, and ",
		"or give it up: --abandon --run "+run.Run+" --reason TEXT --ledger ledger\n")
	if strings.Contains(said, "\x1b") {
		t.Errorf("a control character got through: %q", said)
	}

	cmd = p.command("run", plan, "--resume", "--run", run.Run, "--ledger", "ledger")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.awaits("ledger", "running")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if cmd.Wait(); cmd.ProcessState.ExitCode() != exitStopped {
		t.Fatalf("exit code %d", cmd.ProcessState.ExitCode())
	}
	if run = p.awaits("ledger", "STOP"); run.Reason != "it was interrupted" || !run.Resumable {
		t.Errorf("stopped: %+v", run)
	}
	if out, ok := p.answer("yes", nil, "run", plan, "--abandon", "--run", run.Run, "--reason", "never mind", "--ledger", "ledger"); !ok {
		t.Fatal(out)
	}
	if run = p.awaits("ledger", "ABANDONED"); run.Ended < run.Begun || run.Resumable || run.Abandonable {
		t.Errorf("given up: %+v", run)
	}
	said, code = p.ends("run", "--list", "--ledger", "ledger")
	if wantSaid(t, "given up", said, code, 0, "\nstate       over: given up, at 2"); strings.Contains(said, "next") {
		t.Errorf("what is over needs nothing:\n%s", said)
	}
}

// TestRunListShowsWhatItCannotRead, with the reason, and hides nothing behind it.
func TestRunListShowsWhatItCannotRead(t *testing.T) {
	p := newPerson(t)
	plan := plans(p, "99")
	if said, code := p.ends("run", plan); code != exitStopped {
		t.Fatal(said)
	}
	runs := filepath.Join(p.dir, ".ledger", runsDir)
	p.write(filepath.Join(runs, "0-garbage.jsonl"), "\x1b[2J{\"run\":\"\x1b\"}\n")
	p.write(filepath.Join(runs, "0-empty.jsonl"), "")
	p.write(filepath.Join(runs, "0-\x1b[2J.jsonl"), "no journal of ours")
	p.write(filepath.Join(p.dir, "elsewhere"), "secret\n")
	if err := os.Symlink(filepath.Join(p.dir, "elsewhere"), filepath.Join(runs, "0-link.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(runs, "0-pipe.jsonl"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(runs, "0-folder.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	said, code := p.ends("run", "--list")
	wantSaid(t, "list", said, code, 0, "run         0-garbage\nstate       unreadable: the journal of the run is damaged\nnext        see what it did, then move its journal away",
		"run         0-empty\nstate       unreadable: ", "run         0-link\nstate       unreadable: ", "run         0-pipe\nstate       unreadable: ",
		"run         0-folder\nstate       unreadable: ", "state       STOP at step watched: what was expected does not hold; on_mismatch is stop\n")
	if strings.Contains(said, "\x1b") || strings.Contains(said, "secret") || strings.Count(said, "\nnext ") != 6 {
		t.Errorf("got %q", said)
	}
	if listed := p.listedRuns(); len(listed) != 6 || listed[5].State != "STOP" || listed[0].State != "unreadable" || listed[0].Reason == "" || listed[0].Resumable {
		t.Errorf("got %+v", listed)
	}
	said, code = p.ends("run", plan)
	wantSaid(t, "what the list says is so", said, code, exitError, "looking at run 0-")
	if err := os.RemoveAll(runs); err != nil {
		t.Fatal(err)
	}
	said, code = p.ends("run", "--list")
	wantSaid(t, "without runs", said, code, 0, "no runs in .ledger\n")
	if err := os.Symlink(p.dir, runs); err != nil {
		t.Fatal(err)
	}
	said, code = p.ends("run", "--list")
	wantSaid(t, "a folder that is none", said, code, exitError, "sallyport: looking for the runs: ", "hint: run this as the user who runs the plans")
}

// TestRunListLooksIntoBothLedgers where none is named, as whoever looks for approvals and stops does.
func TestRunListLooksIntoBothLedgers(t *testing.T) {
	p := newPerson(t)
	plan := plans(p, "99")
	for _, args := range [][]string{{"run", plan}, {"run", plan, "--ledger", "named"}} {
		if said, code := p.ends(args...); code != exitStopped {
			t.Fatal(said)
		}
	}
	users := filepath.Join(p.home, ".local", "state", "sallyport")
	if err := os.MkdirAll(filepath.Dir(users), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", filepath.Join(p.dir, "named"), users).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	if listed := p.listedRuns(); len(listed) != 2 || listed[0].Ledger != ".ledger" || listed[1].Ledger != users {
		t.Errorf("got %+v", listed)
	}
	said, code := p.ends("run", "--list")
	wantSaid(t, "list", said, code, 0, "ledger      .ledger\n", "ledger      "+users+"\n", " --ledger "+users)
	if listed := p.listedRuns("--ledger", "named"); len(listed) != 1 || listed[0].Ledger != "named" {
		t.Errorf("got %+v", listed)
	}
}

// TestRunListTakesNothingElse than which ledger, and how it is to be written.
func TestRunListTakesNothingElse(t *testing.T) {
	p := newPerson(t)
	for want, args := range map[string][]string{
		"with --list no PLAN is named":   {"plan.yaml"},
		"--policy is not for --list":     {"--policy", "x"},
		"--run is not for --list":        {"--run", "x"},
		"--max-result is not for --list": {"--max-result", "1"},
		"--resume is not for --list":     {"--resume"},
		"--dry-run is not for --list":    {"--dry-run"},
	} {
		said, code := p.ends(append([]string{"run", "--list"}, args...)...)
		wantSaid(t, strings.Join(args, " "), said, code, exitError, want, "hint: ")
	}
}

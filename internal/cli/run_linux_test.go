package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const watchedPlan = `version: 1
steps:
  - id: watched
    call:    {tool: write_note, arguments: {request_id: "${run.id}", text: "one"}}
    observe: {tool: read_ledger}
    expect:  'observation.notes.size() == %d'
    on_mismatch: stop
`

func plans(p *person, notes string) string {
	return p.write(filepath.Join(p.dir, "plan.yaml"), strings.Replace(watchedPlan, "%d", notes, 1))
}

// onTerminal runs a command whose output is a terminal, and returns what reached it.
func (p *person) onTerminal(term string, args ...string) (shown string, code int) {
	p.t.Helper()
	tty := openTerminal(p.t)
	cmd := p.command(args...)
	cmd.Env = append(cmd.Env, "TERM="+term)
	cmd.Stdout, cmd.Stderr = tty.slave, io.Discard
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var seen bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(&seen, tty.master) // it ends with an error when the last one who writes is gone
	}()
	err := cmd.Run()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		p.t.Fatal(err)
	}
	tty.slave.Close()
	<-done
	return seen.String(), cmd.ProcessState.ExitCode()
}

// TestRunAtATerminalIsALiveTable looks at what a run writes to a terminal of either kind.
func TestRunAtATerminalIsALiveTable(t *testing.T) {
	p := newPerson(t)
	plan := plans(p, "1")
	shown, code := p.onTerminal("xterm", "run", plan, "--ledger", "live")
	if code != 0 || !strings.Contains(shown, "\x1b[2A\r\x1b[J") || !strings.Contains(shown, "watched  write_note  ") || strings.Contains(shown, `{"`) {
		t.Errorf("exit code %d, shown:\n%q", code, shown)
	}
	if last := shown[strings.LastIndex(shown, "run "):]; !strings.Contains(last, "CONTINUE") {
		t.Errorf("the last table is %q", last)
	}
	shown, code = p.onTerminal("dumb", "run", plan, "--ledger", "dumb")
	if code != 0 || strings.Contains(shown, "\x1b") || !strings.Contains(shown, "  watched  CONTINUE write_note") {
		t.Errorf("dumb: exit code %d, shown:\n%q", code, shown)
	}
	shown, code = p.onTerminal("xterm", "run", plan, "--ledger", "json", "--json")
	if code != 0 || strings.Contains(shown, "\x1b") || !strings.Contains(shown, `"verdict":"CONTINUE","what":"end"}`) {
		t.Errorf("--json: exit code %d, shown:\n%q", code, shown)
	}
	shown, code = p.onTerminal("xterm", "run", plan, "--ledger", "live", "--dry-run")
	if code != 0 || !strings.Contains(shown, "step     calls              observes            undo  rehearsed  note") ||
		!strings.Contains(shown, "watched  write_note: allow  read_ledger: allow  none  -") {
		t.Errorf("--dry-run: exit code %d, shown:\n%q", code, shown)
	}
}

// TestAbandonIsAPersonsWord: a run that is not over keeps another from beginning until a person gives it up.
func TestAbandonIsAPersonsWord(t *testing.T) {
	p := newPerson(t)
	plan := plans(p, "99")
	code := func(args ...string) int {
		cmd := p.command(args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode()
	}
	if got := code("run", plan); got != exitStopped {
		t.Fatalf("exit code %d, want STOP", got)
	}
	abandon := []string{"run", plan, "--abandon", "--reason", "never mind"}
	if out, ok := p.run(abandon...); ok || !strings.Contains(out, "there is no terminal") {
		t.Errorf("without a terminal: ok %t\n%s", ok, out)
	}
	if out, ok := p.answer("no", nil, abandon...); ok || !strings.Contains(out, "not confirmed") {
		t.Errorf("not confirmed: ok %t\n%s", ok, out)
	}
	if got := code("run", plan); got != exitError {
		t.Errorf("while it is not over: exit code %d, want %d", got, exitError)
	}
	out, ok := p.answer("yes", nil, abandon...)
	for _, want := range []string{"run 20", " at step watched: what was expected does not hold", `  1. step "watched": see what write_note `, "\ngiven up: 20", "; its journal stays in "} {
		if !ok || !strings.Contains(out, want) {
			t.Errorf("abandoned: ok %t, %q is missing:\n%s", ok, want, out)
		}
	}
	if out, ok := p.run(abandon...); ok || !strings.Contains(out, "there is no run of this plan that is not over") {
		t.Errorf("where there is none, nobody is asked: ok %t\n%s", ok, out)
	}
	if got := code("run", plan, "--resume"); got != exitError {
		t.Errorf("it can be resumed: exit code %d, want %d", got, exitError)
	}
	if got := code("run", plan); got != exitStopped {
		t.Errorf("a new run: exit code %d, want STOP", got)
	}
	if runs, err := os.ReadDir(filepath.Join(p.dir, ".ledger", runsDir)); err != nil || len(runs) < 2 {
		t.Errorf("%d files of runs, %v, want one for each run", len(runs), err)
	}
}

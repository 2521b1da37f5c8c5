package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sallyport/internal/hook"
	"sallyport/internal/install"
)

// probeSession is the session of the events that doctor makes up, so that their records are not taken for real ones.
const probeSession = "sallyport-doctor"

// probeWait is how long a hook may take where its entry says nothing.
const probeWait = 30 * time.Second

// probe fires a must-deny and a must-allow event through the command line of an entry.
func (d *doctor) probe(host *install.Host, file *install.File, e install.Entry) {
	dir, err := os.MkdirTemp("", "sallyport-doctor-")
	if err != nil {
		d.add(host.Name, "probe", healthFail, fmt.Sprintf("no temporary folder: %v", err), "")
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "probe.txt")
	if err := os.WriteFile(path, []byte("nothing\n"), 0o600); err != nil {
		d.add(host.Name, "probe", healthFail, fmt.Sprintf("no temporary file: %v", err), "")
		return
	}
	deny, allow := probeEvents(host.Name, e.Event, probing{
		dir: d.where.Dir, file: path, own: filepath.Join(hook.StateDir(d.where.Home), "trust.json"),
	})
	if deny != nil {
		d.mustDeny(host, e, d.ask(host, file, e, deny))
	}
	d.mustAllow(host, e, d.ask(host, file, e, allow))
}

func (d *doctor) mustDeny(host *install.Host, e install.Entry, a answer) {
	what := "must deny"
	switch {
	case a.broken != "":
		d.add(host.Name, what, healthFail, e.Event+": "+a.broken, "run the command line by hand with an event on stdin")
	case a.decision != "deny":
		d.add(host.Name, what, healthFail, e.Event+": the hook let \"sallyport trust\" pass, which nothing may", "is this the right program? if not, install again")
	case a.fault() != "":
		d.add(host.Name, what, healthFail, e.Event+": denied, but only because of a fault: "+a.reason, "")
	default:
		d.timed(host, what, e, a, "denied")
	}
}

func (d *doctor) mustAllow(host *install.Host, e install.Entry, a answer) {
	what := "must allow"
	switch {
	case a.broken != "":
		d.add(host.Name, what, healthFail, e.Event+": "+a.broken, "run the command line by hand with an event on stdin")
	case a.fault() != "":
		d.add(host.Name, what, healthFail, e.Event+": every call is denied because of a fault: "+a.reason, "mend that; see also the lines on policy and ledger")
	case a.decision != "allow":
		d.add(host.Name, what, healthWarn, fmt.Sprintf("%s: even reading a new file in a temporary folder gets %q: %s", e.Event, a.decision, a.reason),
			"if the policy means that, all is well; else see sallyport policy explain")
	default:
		d.timed(host, what, e, a, "allowed")
	}
}

// moreTries is how often an event is fired again whose decision came too late: a busy machine has no fault to mend.
const moreTries = 3

// ask fires an event, again if there was no time for the decision.
func (d *doctor) ask(host *install.Host, file *install.File, e install.Entry, event []byte) answer {
	late := 0
	for {
		a := d.fire(host, file, e, event)
		if !a.tooLate() || late == moreTries {
			a.late = late
			return a
		}
		late++
	}
}

// timed notes a right answer, and how long it took.
func (d *doctor) timed(host *install.Host, what string, e install.Entry, a answer, right string) {
	detail := fmt.Sprintf("%s: %s in %v", e.Event, right, a.took.Round(100*time.Microsecond))
	limit := timeoutOf(e)
	if a.took > limit/2 {
		d.add(host.Name, what, healthWarn, fmt.Sprintf("%s, and the host waits for %v only", detail, limit), "what slows this machine down?")
		return
	}
	if a.late > 0 {
		d.add(host.Name, what, healthNote, fmt.Sprintf("%s, after %d denials because there was no time to decide", detail, a.late),
			"the machine or its disk is busy; calls that come meanwhile are denied too")
		return
	}
	d.add(host.Name, what, healthOK, detail, "")
}

// fire runs the command line of an entry as the host does, with an event on stdin.
func (d *doctor) fire(host *install.Host, file *install.File, e install.Entry, event []byte) answer {
	limit := e.Timeout
	if limit <= 0 || limit > probeWait {
		limit = probeWait
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := hostCommand(ctx, host, file, e)
	cmd.Dir, cmd.Env = d.where.Dir, append(os.Environ(), "CLAUDE_PROJECT_DIR="+d.where.Dir)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(event), &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if ctx.Err() != nil {
		return answer{broken: fmt.Sprintf("there was no answer within %v", limit)}
	}
	code := 0
	if exited, ok := errors.AsType[*exec.ExitError](err); ok && exited.ExitCode() >= 0 {
		code = exited.ExitCode()
	} else if err != nil {
		return answer{broken: fmt.Sprintf("it could not be run: %v", err)}
	}
	a := readAnswer(host.Name, stdout.Bytes(), stderr.Bytes(), code)
	a.took = took
	return a
}

// hostCommand is how a host runs an entry.
func hostCommand(ctx context.Context, host *install.Host, file *install.File, e install.Entry) *exec.Cmd {
	switch {
	case host.Script():
		return exec.CommandContext(ctx, file.Target())
	case e.Exec != nil:
		return exec.CommandContext(ctx, e.Exec[0], e.Exec[1:]...)
	case host.Name == "codex": // a login shell, whose profile may print something
		shell := os.Getenv("SHELL")
		if shell == "" {
			shell = "/bin/sh"
		}
		return exec.CommandContext(ctx, shell, "-lc", e.Shell)
	default:
		return exec.CommandContext(ctx, "/bin/sh", "-c", e.Shell)
	}
}

// tooLate reports whether it is a denial because the time was up.
func (a answer) tooLate() bool {
	return a.fault() == "deadline" || a.fault() == "ledger" && strings.Contains(a.reason, "in time")
}

// fault is the rule of a denial that no policy made, or "". A denial ends with its rule.
func (a answer) fault() string {
	at := strings.LastIndex(a.reason, "(rule ")
	if a.decision != "deny" || at < 0 {
		return ""
	}
	rule, _, _ := strings.Cut(a.reason[at+len("(rule "):], ")")
	switch rule {
	case "event", "deadline", "internal", "ledger", "policy", "arguments":
		return rule
	}
	return ""
}

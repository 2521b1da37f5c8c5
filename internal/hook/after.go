package hook

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"sallyport/internal/gate"
	"sallyport/internal/ledger"
	"sallyport/internal/policy"
	"sallyport/internal/pretool"
)

// observe records what became of a call, verifies it where the policy asks for that and, with the checks on, lets go what it
// settles. Nothing here can block, so what goes wrong is told on stderr alone.
func (r *run) observe(e *Event) {
	world, homes := r.findWorld(e)
	places := r.places(world, homes)
	l := r.openLedger(places.Ledger)
	defer l.Close()
	rec := e.record()
	rec.Decision, rec.Outcome = policy.Allow.String(), ledger.Observed
	if e.Failed {
		rec.Outcome = ledger.Failed
	}
	r.verify(e, places, world, rec)
	if err := l.Append(rec); err != nil {
		r.complain("the outcome of a call could not be recorded", err)
	}
	if !r.Checks {
		return
	}
	sessions := r.sessions(homes)
	session := r.session(sessions, e)
	var err error
	if e.Failed {
		err = sessions.Propose(session, pretool.Failure{Tool: checkedAs(e.Tool), Error: e.Error, Host: e.Host, ArgsDigest: rec.ArgsDigest})
	} else {
		err = sessions.Settle(session, e.Tool, e.Input)
	}
	if err != nil {
		r.complain("the session's files could not be written", err)
	}
}

// followSession keeps the pointer to the current session. Hosts other than Claude Code have no such files, unless the
// checks are on.
func (r *run) followSession(e *Event) {
	if !r.Checks && r.Host != "claude" || !pretool.IsSessionID(e.Session) {
		return
	}
	_, homes := r.findWorld(e)
	sessions := r.sessions(homes)
	var err error
	if e.Phase == SessionEnd {
		err = sessions.Leave(e.Session)
	} else {
		err = sessions.Follow(e.Session)
	}
	if err != nil {
		r.complain("the session's files could not be written", err)
	}
}

func (r *run) complain(what string, err error) {
	write(r.sys.Stderr, fmt.Appendf(nil, "sallyport: %s: %v\n", what, err))
}

// sessions are the sessions in the agent's configuration folder.
func (r *run) sessions(h homes) *pretool.Sessions {
	home := h.own()
	if home == "" {
		home = string(filepath.Separator)
	}
	return pretool.NewSessions(pretool.ConfigDir(r.sys.Env, home), r.sys.Env, time.Now)
}

// session is the event's own session, or else the current one.
func (r *run) session(sessions *pretool.Sessions, e *Event) string {
	if pretool.IsSessionID(e.Session) {
		return e.Session
	}
	return sessions.Current()
}

// check holds a call against the pre-tool checks, and returns hints for the model.
func (r *run) check(e *Event, homes homes, v *gate.Verdict) []string {
	if !r.Checks {
		return nil
	}
	sessions := r.sessions(homes)
	checks := pretool.New(pretool.Config{Sessions: sessions, Env: r.sys.Env, Windows: runtime.GOOS == "windows", Knowledge: pretool.BuiltinKnowledge()})
	blocks, hints := checks.Judge(r.session(sessions, e), checkedAs(e.Tool), e.Input)
	if len(blocks) > 0 {
		v.Tighten(policy.Deny, "checks."+blocks[0].Check, blocks[0].Reason)
	}
	return hints
}

// checkedAs is the name under which the checks know a host's tool.
func checkedAs(tool string) string {
	switch tool {
	case "MultiEdit", "apply_patch", "StrReplace", "replace", "edit", "editFiles", "replace_in_file", "replace_string_in_file",
		"insert_edit_into_file", "str_replace":
		return "Edit"
	case "write_file", "create", "createFile", "create_file", "write_to_file", "fs_write", "new_file":
		return "Write"
	case "EditNotebook", "edit_notebook_file":
		return "NotebookEdit"
	case "Shell", "bash", "run_shell_command", "execute_command", "execute_bash", "runTerminalCommand", "run_in_terminal":
		return "Bash"
	}
	return tool
}

// unattended reports whether the environment says that nobody is there to be asked.
func unattended(env func(string) string) bool {
	for _, name := range []string{"CI", "GITHUB_ACTIONS"} {
		switch strings.ToLower(env(name)) {
		case "", "0", "false":
		default:
			return true
		}
	}
	return false
}

// refuseHost answers where the host is not known: its dialect is not either, so that the exit code has to do.
func (r *run) refuseHost() {
	fmt.Fprintf(r.sys.Stderr, "sallyport: there is no host %.60q\nhint: the hosts are %s\n", r.Host, strings.Join(Hosts(), ", "))
	Drain(r.sys.Stdin, r.Deadline)
}

// Drain reads stdin to its end, for no longer than a deadline: a host whose writing fails may take that for a hook that
// failed, and go on.
func Drain(stdin interface{ Read([]byte) (int, error) }, deadline time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 64<<10)
		for {
			if _, err := stdin.Read(buf); err != nil {
				return
			}
		}
	}()
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

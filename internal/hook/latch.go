package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sallyport/internal/effects"
	"sallyport/internal/gate"
	"sallyport/internal/interlock"
	"sallyport/internal/policy"
)

// maxSession is how long a session's name may be to stand in a scope as it is.
const maxSession = 1 << 10

// scope is what is stopped where a call of the event's session left something else than it claims. Subagents have their
// session's. Where a host does not say which session it is, all such events of the host share a scope.
func (e *Event) scope() interlock.Scope {
	session := e.Session
	if len(session) > maxSession {
		sum := sha256.Sum256([]byte(session))
		session = "sha256:" + hex.EncodeToString(sum[:])
	}
	return interlock.Scope{Principal: principal, Server: "hook/" + e.Host + "/" + session}
}

func (r *run) stops(dir string) *interlock.Stops {
	return interlock.OpenStops(r.sys.FS, filepath.Join(dir, interlock.StopsDir))
}

// holdBack denies the calls of a session that is stopped, but for those that certainly only read. Where nothing was ever
// stopped it costs a look at a file's status.
func (r *run) holdBack(e *Event, dir string, q gate.Question, p *policy.Policy, v *gate.Verdict) {
	if v.Decision == policy.Deny || dir == "" {
		return
	}
	stops := r.stops(dir)
	defer stops.Close()
	standing, stop, err := stops.Check(e.scope())
	if errors.Is(err, syscall.ENOTDIR) && r.sys.FS.IsOwnDir(dir) != nil {
		return // the ledger's folder is none, so no stop can be there: what that means is for the record to say
	}
	if standing == interlock.Clear || onlyReads(q) || p.Terms(q.Request()).ReadOnly {
		return
	}
	v.Tighten(policy.Deny, gate.LatchRule, stoppedReason(stop, err))
}

func stoppedReason(stop *interlock.Stop, err error) string {
	switch {
	case stop != nil:
		return "this session is stopped: " + strings.TrimRight(stop.Reason, ".") +
			". Reading goes on; look at what is there, then an operator runs sallyport release"
	case err != nil:
		return "whether this session is stopped cannot be told: " + cut(err.Error(), 300)
	}
	return "a verification of this session is still under way; try again"
}

// onlyReads reports whether a call certainly only reads: its tool is known to, and so is everything that the call would do.
// The effects of a tool that is not known are a guess by its name, and MCP servers name their tools as they like.
func onlyReads(q gate.Question) bool {
	if !looks(q.Tool) {
		return false
	}
	for _, effect := range q.Effects {
		if effect.Kind != effects.Read {
			return false
		}
	}
	return true
}

// looks reports whether a tool of a host reads files, says which there are, or speaks with the user. Of those that may write
// as well, the effects say what a call does.
func looks(tool string) bool {
	switch strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(tool)) {
	case "read", "readfile", "readmanyfiles", "view", "viewfile", "viewimage", "notebookread", "readcode", "fsread",
		"ls", "list", "listdir", "listdirectory", "listfiles", "glob", "filesearch", "findfiles", "codebasesearch",
		"grep", "grepsearch", "searchfilecontent", "searchfiles", "listcodedefinitionnames",
		"strreplaceeditor", "strreplacebasededittool",
		"askuserquestion", "askuser", "askfollowupquestion", "taskget", "tasklist", "todoread":
		return true
	}
	return false
}

// latch stops a session, durably. One that is stopped already keeps its stop.
func (r *run) latch(dir string, stop interlock.Stop) error {
	if dir == "" {
		return errors.New("no folder for the latch: the user has no home")
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.Deadline)
	defer cancel()
	if stop.Time == 0 {
		stop.Time = time.Now().UnixNano()
	}
	if err := r.sys.FS.OwnDir(dir); err != nil {
		return err
	}
	stops := r.stops(dir)
	defer stops.Close()
	return stops.Latch(ctx, stop)
}

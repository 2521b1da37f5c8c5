package cli

import (
	"errors"
	"os"
	"path/filepath"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/hook"
	"sallyport/internal/policy"
)

// describedCall is a call that somebody describes, to learn what a policy makes of it.
type describedCall struct {
	tool, host, session, principal, dir string
	input                               canon.Value
}

// eventCall reads a call from the event that a host gives its hook before a call, as the hook would.
func eventCall(event canon.Value, host string) (describedCall, error) {
	e, err := hook.ReadEvent(host, event.Bytes())
	if err == nil && e.Phase != hook.Before {
		err = errors.New("this event is not one before a call: no policy is asked about it")
	}
	if err != nil {
		return describedCall{}, withHint(err, `it is one that a hook gets before a call, with "tool_name" and "tool_input"; a hook would deny it`)
	}
	return describedCall{tool: e.Tool, host: host, session: e.Session, principal: "local", dir: e.Dir, input: e.Input}, nil
}

// request is the call as a policy judges it.
func (c *describedCall) request(p *policy.Policy) policy.Request {
	world := worldOf(c.dir)
	return policy.Request{
		Principal: c.principal,
		Method:    "hook/PreToolUse",
		Tool:      c.tool,
		Args:      c.input,
		Host:      c.host,
		Session:   c.session,
		Effects:   effects.Of(c.tool, c.input, p.Declares(c.tool), world),
		World:     world,
	}
}

// worldOf is the world of a call in a folder, as a hook finds it; "" is the working folder.
func worldOf(dir string) *effects.World {
	if !filepath.IsAbs(dir) {
		if here, err := os.Getwd(); err == nil {
			dir = filepath.Join(here, dir)
		}
	}
	dir = filepath.Clean(dir)
	w := &effects.World{Dir: dir, Workspace: hook.FindProject(dir), User: os.Getenv("USER")}
	if w.Workspace == "" {
		w.Workspace = dir
	}
	if home, err := os.UserHomeDir(); err == nil {
		w.Homes = []string{home}
	}
	return w
}

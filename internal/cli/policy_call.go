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
	method                                      string // "" is that of a hook
	tool, host, session, principal, tenant, dir string
	input                                       canon.Value // of a method other than tools/call: the params
}

// requestCall reads a call from a request that a client sends to a server.
func requestCall(request canon.Value) (describedCall, error) {
	c := describedCall{principal: "local"}
	c.method, _ = request.Get("method").Text()
	params := request.Get("params")
	switch name, ok := params.Get("name").Text(); {
	case c.method != "tools/call":
		c.tool, c.input = policy.RequestName(c.method, params), params
	case !ok:
		return c, withHint(errors.New("the request names no tool"), `a call is {"method": "tools/call", "params": {"name": "read_ledger", "arguments": {}}}`)
	default:
		c.tool, c.input = name, params.Get("arguments")
	}
	return c, nil
}

// isRequest reports whether a value is a request of a client, rather than the event of a hook.
func isRequest(v canon.Value) bool {
	return v.Get("method").Kind() == canon.String && (v.Get("jsonrpc").Exists() || v.Get("params").Exists())
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
	r := policy.Request{
		Principal: c.principal,
		Tenant:    c.tenant,
		Method:    c.method,
		Tool:      c.tool,
		Args:      c.input,
		Host:      c.host,
		Session:   c.session,
		World:     world,
	}
	switch c.method {
	case "":
		r.Method = "hook/PreToolUse"
		fallthrough
	case "tools/call":
		r.Effects = effects.Of(c.tool, c.input, p.Declares(c.tool), world)
	default:
		r.Effects = policy.MethodEffects(c.method, c.input, world)
	}
	return r
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

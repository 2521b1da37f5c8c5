package install

import (
	"strconv"
	"strings"
	"time"
)

// Host is a coding agent's host and how its hooks are configured.
type Host struct {
	Name  string // as on the command line
	Title string // as people know it

	grouped     bool // an event's array holds groups of handlers, each with a matcher
	exec        bool // a handler with "args" is run without a shell
	version     bool // the file needs "version": 1
	script      bool // a hook is an executable file, not an entry
	timeoutKey  string
	timeoutUnit time.Duration
	events      []event
}

// event is a host's event that our hook is told of.
type event struct {
	name    string
	gate    bool // a tool's call waits for the answer
	matcher bool // "matcher": "*" stands beside it, where the host has groups or matchers
}

// Hosts returns every host, in the order of the documentation.
func Hosts() []*Host { return hosts }

// HostNamed returns the host of that name, or nil.
func HostNamed(name string) *Host {
	for _, h := range hosts {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// Names returns the names of all hosts, for people.
func Names() string {
	names := make([]string, 0, len(hosts))
	for _, h := range hosts {
		names = append(names, h.Name)
	}
	return strings.Join(names, ", ")
}

var hosts = []*Host{
	{
		Name: "claude", Title: "Claude Code", grouped: true, exec: true, timeoutKey: "timeout", timeoutUnit: time.Second,
		events: []event{
			{"PreToolUse", true, true}, {"PostToolUse", false, true}, {"PostToolUseFailure", false, true},
			{"UserPromptSubmit", false, false}, {"SessionStart", false, false}, {"SessionEnd", false, false},
		},
	},
	{
		Name: "codex", Title: "Codex CLI", grouped: true, timeoutKey: "timeout", timeoutUnit: time.Second,
		events: []event{
			{"PreToolUse", true, true}, {"PostToolUse", false, true},
			{"UserPromptSubmit", false, false}, {"SessionStart", false, false},
		},
	},
	{
		Name: "gemini", Title: "Gemini CLI", grouped: true, timeoutKey: "timeout", timeoutUnit: time.Millisecond,
		events: []event{
			{"BeforeTool", true, true}, {"AfterTool", false, true},
			{"BeforeAgent", false, false}, {"SessionStart", false, false}, {"SessionEnd", false, false},
		},
	},
	{
		Name: "cursor", Title: "Cursor", version: true, timeoutKey: "timeout", timeoutUnit: time.Second,
		events: []event{
			{"preToolUse", true, false}, {"beforeShellExecution", true, false}, {"beforeMCPExecution", true, false},
			{"beforeReadFile", true, false}, {"postToolUse", false, false}, {"postToolUseFailure", false, false},
			{"beforeSubmitPrompt", false, false}, {"sessionStart", false, false}, {"sessionEnd", false, false},
		},
	},
	{
		Name: "copilot", Title: "GitHub Copilot CLI", version: true, timeoutKey: "timeoutSec", timeoutUnit: time.Second,
		events: []event{
			{"preToolUse", true, false}, {"postToolUse", false, false},
			{"userPromptSubmitted", false, false}, {"sessionStart", false, false}, {"sessionEnd", false, false},
		},
	},
	{
		Name: "windsurf", Title: "Windsurf Cascade", timeoutKey: "timeout", timeoutUnit: time.Second,
		events: []event{
			{"pre_run_command", true, false}, {"pre_write_code", true, false},
			{"pre_read_code", true, false}, {"pre_mcp_tool_use", true, false},
			{"post_run_command", false, false}, {"post_write_code", false, false},
			{"post_read_code", false, false}, {"post_mcp_tool_use", false, false}, {"pre_user_prompt", false, false},
		},
	},
	{
		Name: "cline", Title: "Cline", script: true,
		events: []event{{"PreToolUse", true, false}},
	},
	{
		Name: "kiro", Title: "Kiro CLI", timeoutKey: "timeout_ms", timeoutUnit: time.Millisecond,
		events: []event{
			{"preToolUse", true, true}, {"postToolUse", false, true},
			{"userPromptSubmit", false, false}, {"agentSpawn", false, false},
		},
	},
}

// Events returns the events that a complete installation covers, and which of them a call waits for.
func (h *Host) Events() (gates, others []string) {
	for _, e := range h.events {
		if e.gate {
			gates = append(gates, e.name)
		} else {
			others = append(others, e.name)
		}
	}
	return gates, others
}

func (h *Host) hasEvent(name string) bool {
	for _, e := range h.events {
		if e.name == name {
			return true
		}
	}
	return false
}

// entry is the element that we put into the array of an event.
func (h *Host) entry(c Command, e event) node {
	handler := object("", h.handler(c, e)...)
	if !h.grouped {
		return handler
	}
	handler = list("hooks", handler)
	if e.matcher {
		return object("", text("matcher", "*"), handler)
	}
	return object("", handler)
}

// handler is what runs our command, as each host spells it.
func (h *Host) handler(c Command, e event) []node {
	timeout := literal(h.timeoutKey, strconv.FormatInt(int64(c.timeout()/max(h.timeoutUnit, 1)), 10))
	line := text("command", c.shell(h.Name))
	switch h.Name {
	case "claude":
		var args []node
		for _, arg := range c.args(h.Name) {
			args = append(args, text("", arg))
		}
		members := []node{text("type", "command"), text("command", c.Binary), list("args", args...), timeout}
		if e.gate {
			members = append(members, text("onFailure", "block"))
		}
		return members
	case "codex":
		return []node{text("type", "command"), line, timeout}
	case "gemini":
		return []node{text("type", "command"), text("name", "sallyport"), line, timeout}
	case "cursor":
		members := []node{line, timeout}
		if e.gate {
			members = append(members, literal("failClosed", "true"))
		}
		return members
	case "copilot":
		return []node{text("type", "command"), text("bash", c.shell(h.Name)), timeout}
	case "windsurf": // which documents no timeout
		return []node{line, literal("show_output", "true")}
	case "kiro":
		if e.matcher {
			return []node{text("matcher", "*"), line, timeout}
		}
		return []node{line, timeout}
	}
	return nil
}

package cli

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"sallyport/internal/canon"
)

// probing is what made-up events speak of.
type probing struct {
	dir  string // where the call would run
	file string // a file that may be read
	own  string // a file of ours that no hooked tool may write
}

// mustDenied is a command that the built-in rules deny to every hooked tool, whatever the policy.
const mustDenied = "sallyport trust"

// object spells an object of pairs of a key and a value; a string is spelt as one, anything else is JSON already.
func object(pairs ...any) raw {
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(canon.AppendString(b, pairs[i].(string)), ':')
		switch value := pairs[i+1].(type) {
		case string:
			b = canon.AppendString(b, value)
		case raw:
			b = append(b, value...)
		}
	}
	return append(b, '}')
}

// raw is a JSON text.
type raw []byte

// probeEvents returns, in the shape of a host, an event that must be denied, nil where the event knows none, and one that a
// sensible policy allows.
func probeEvents(host, event string, p probing) (deny, allow []byte) {
	pair := func(make func(tool string, input raw) raw, runner, reader string, read raw) ([]byte, []byte) {
		return make(runner, object("command", mustDenied)), make(reader, read)
	}
	file := object("file_path", p.file)
	switch host {
	case "claude":
		return pair(func(tool string, input raw) raw {
			return object("session_id", probeSession, "transcript_path", "", "cwd", p.dir, "permission_mode", "default",
				"hook_event_name", event, "tool_name", tool, "tool_input", input, "tool_use_id", probeSession)
		}, "Bash", "Read", file)
	case "codex":
		return pair(func(tool string, input raw) raw {
			return object("session_id", probeSession, "turn_id", probeSession, "transcript_path", raw("null"), "cwd", p.dir, "hook_event_name", event,
				"model", "", "permission_mode", "default", "tool_name", tool, "tool_input", input, "tool_use_id", probeSession)
		}, "Bash", "Bash", object("command", "cat "+p.file))
	case "gemini":
		return pair(func(tool string, input raw) raw {
			return object("session_id", probeSession, "transcript_path", "", "cwd", p.dir, "hook_event_name", event,
				"timestamp", "2026-01-01T00:00:00Z", "tool_name", tool, "tool_input", input)
		}, "run_shell_command", "read_file", file)
	case "copilot":
		return pair(func(tool string, input raw) raw {
			return object("sessionId", probeSession, "timestamp", raw("0"), "cwd", p.dir, "toolName", tool, "toolArgs", string(input))
		}, "bash", "view", object("path", p.file))
	case "cline":
		return pair(func(tool string, input raw) raw {
			return object("clineVersion", "", "hookName", event, "timestamp", "0", "taskId", probeSession, "workspaceRoots", raw("["+string(canon.AppendString(nil, p.dir))+"]"),
				"userId", "", "preToolUse", object("toolName", tool, "parameters", input))
		}, "execute_command", "read_file", object("path", p.file))
	case "kiro":
		return pair(func(tool string, input raw) raw {
			return object("hook_event_name", event, "cwd", p.dir, "session_id", probeSession, "tool_name", tool, "tool_input", input)
		}, "execute_bash", "fs_read", object("operations", raw("["+string(object("mode", "Line", "path", p.file))+"]")))
	case "cursor":
		return cursorEvents(event, p)
	case "windsurf":
		return windsurfEvents(event, p)
	}
	return nil, nil
}

func cursorEvents(event string, p probing) (deny, allow []byte) {
	make := func(pairs ...any) raw {
		roots := raw("[" + string(canon.AppendString(nil, p.dir)) + "]")
		return object(append([]any{"conversation_id", probeSession, "generation_id", probeSession, "hook_event_name", event, "workspace_roots", roots}, pairs...)...)
	}
	switch event {
	case "beforeShellExecution":
		return make("command", mustDenied, "cwd", p.dir), make("command", "cat "+p.file, "cwd", p.dir)
	case "beforeMCPExecution":
		return make("tool_name", "probe", "tool_input", string(object("command", mustDenied))),
			make("tool_name", "probe", "tool_input", string(object("text", "nothing")))
	case "beforeReadFile":
		return nil, make("file_path", p.file, "content", "nothing\n")
	}
	return make("tool_name", "Shell", "tool_input", object("command", mustDenied)), make("tool_name", "Read", "tool_input", object("file_path", p.file))
}

func windsurfEvents(event string, p probing) (deny, allow []byte) {
	make := func(pairs ...any) raw {
		return object("agent_action_name", event, "trajectory_id", probeSession, "execution_id", probeSession,
			"timestamp", "2026-01-01T00:00:00Z", "tool_info", object(pairs...))
	}
	edits := raw("[" + string(object("old_string", "", "new_string", "nothing")) + "]")
	switch event {
	case "pre_write_code":
		return make("file_path", p.own, "edits", edits), make("file_path", p.file, "edits", edits)
	case "pre_read_code":
		return nil, make("file_path", p.file)
	case "pre_mcp_tool_use":
		return make("mcp_server_name", "probe", "mcp_tool_name", "probe", "mcp_tool_arguments", object("command", mustDenied)),
			make("mcp_server_name", "probe", "mcp_tool_name", "probe", "mcp_tool_arguments", object("text", "nothing"))
	}
	return make("command_line", mustDenied, "cwd", p.dir), make("command_line", "cat "+p.file, "cwd", p.dir)
}

// answer is what a host would make of a hook's output.
type answer struct {
	decision string // deny, ask or allow
	reason   string
	broken   string // why the host would take it for a hook that failed, or ""
	took     time.Duration
	late     int // how many answers before this one were denials because the time was up
}

// readAnswer reads a hook's output as the host does.
func readAnswer(host string, stdout, stderr []byte, code int) answer {
	said := bytes.TrimSpace(stdout)
	reason := strings.TrimSpace(string(stderr))
	switch {
	case host == "windsurf" || host == "kiro":
		return answerByCode(reason, code)
	case code == 2 && host == "cline":
		return answer{broken: "it ended with exit code 2, which this host takes for a hook that failed: " + reason}
	case host == "gemini" && len(said) > 0: // which looks at no exit code then
	case code == 2 && reason == "":
		return answer{broken: "it ended with exit code 2 and without a reason"}
	case code == 2:
		return answer{decision: "deny", reason: reason}
	case code != 0:
		return answer{broken: fmt.Sprintf("it ended with exit code %d: %.200s", code, reason)}
	case len(said) == 0 && host == "cursor":
		return answer{broken: "it printed nothing, which this host takes for a hook that failed"}
	case len(said) == 0:
		return answer{decision: "allow"}
	}
	v, err := canon.Parse(said)
	if err != nil || v.Kind() != canon.Object {
		return answer{broken: fmt.Sprintf("it printed something else than one JSON object: %.100q", said)}
	}
	return answerByObject(host, v)
}

// answerByCode reads the answer for a host that looks at nothing but the exit code.
func answerByCode(reason string, code int) answer {
	switch code {
	case 0:
		return answer{decision: "allow"}
	case 2:
		return answer{decision: "deny", reason: reason}
	}
	return answer{broken: fmt.Sprintf("it ended with exit code %d: %.200s", code, reason)}
}

// answerByObject reads a JSON answer.
func answerByObject(host string, v canon.Value) answer {
	text := func(v canon.Value) string { s, _ := v.Text(); return s }
	var a answer
	switch host {
	case "claude", "codex":
		out := v.Get("hookSpecificOutput")
		a = answer{decision: text(out.Get("permissionDecision")), reason: text(out.Get("permissionDecisionReason"))}
		if a.decision == "" && out.Exists() {
			a.decision = "allow"
		}
		if host == "codex" && (a.decision != "deny" || strings.TrimSpace(a.reason) == "") {
			return answer{broken: "Codex takes this answer for a hook that failed, and runs the call"}
		}
	case "gemini":
		a = answer{decision: text(v.Get("decision")), reason: text(v.Get("reason"))}
		if a.decision == "block" {
			a.decision = "deny"
		}
	case "cursor":
		a = answer{decision: text(v.Get("permission")), reason: text(v.Get("user_message"))}
	case "copilot":
		a = answer{decision: text(v.Get("permissionDecision")), reason: text(v.Get("permissionDecisionReason"))}
	case "cline":
		a = answer{decision: "allow", reason: text(v.Get("errorMessage"))}
		if cancel, _ := v.Get("cancel").Bool(); cancel {
			a.decision = "deny"
		}
	}
	switch a.decision {
	case "allow", "ask", "deny":
		return a
	}
	return answer{broken: "the answer has no decision that this host knows"}
}

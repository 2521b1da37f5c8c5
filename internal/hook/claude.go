package hook

import (
	"strings"

	"sallyport/internal/policy"
)

// claude is Claude Code, and the editors and agents that copied its hooks (VS Code with "sallyport hook claude").
type claude struct{}

func claudePhases(name string) (Phase, bool) {
	switch name {
	case "PreToolUse", "PermissionRequest":
		return Before, true
	case "PostToolUse", "PostToolUseFailure":
		return After, true
	case "UserPromptSubmit":
		return Prompt, true
	case "SessionStart":
		return SessionStart, true
	case "SessionEnd":
		return SessionEnd, true
	case "PostToolBatch", "PermissionDenied", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "Notification",
		"PreCompact", "PostCompact":
		return Other, true
	}
	return Other, false
}

func (claude) read(f fields) (Event, error) {
	e, err := readShape(f, claudePhases)
	if e.Name == "PostToolUseFailure" {
		e.Failed = true
	}
	e.Editor = f.has("hookEventName")
	return e, err
}

func (claude) unknown() *Event { return &Event{Name: "PreToolUse"} }

// asks knows the permission modes that answer an ask without a person: bypassPermissions was seen to approve it
// silently, auto did so before 2.1.211, dontAsk refuses, acceptEdits takes edits. A mode that is new may be another.
func (claude) asks(e *Event) string {
	switch e.Mode {
	case "", "default", "plan":
		return ""
	case "acceptEdits":
		if !edits(e.Tool) {
			return ""
		}
	}
	return "permission mode " + cut(e.Mode, 60) + " does not ask"
}

// edits reports whether a tool of that name only edits files.
func edits(tool string) bool {
	switch checkedAs(tool) {
	case "Write", "Edit", "NotebookEdit":
		return true
	}
	return false
}

func (claude) reply(e *Event, r Ruling) Reply {
	if e.Name == "PermissionRequest" {
		return permissionRequest(r)
	}
	if e.Strange && e.Name != "" {
		return byCode(r) // whatever the event's own output is, this blocks
	}
	s := speech{}.text("hookEventName", "PreToolUse")
	switch {
	case r.Decision == policy.Deny:
		s = s.text("permissionDecision", "deny").text("permissionDecisionReason", r.words())
	case r.Decision == policy.Ask:
		s = s.text("permissionDecision", "ask").text("permissionDecisionReason", r.words())
	case r.Skip:
		s = s.text("permissionDecision", "allow").text("permissionDecisionReason", r.words())
		fallthrough
	case len(r.Hints) > 0:
		if len(r.Hints) > 0 {
			s = s.text("additionalContext", cut(strings.Join(r.Hints, "\n"), maxWords))
		}
	default:
		return Reply{}
	}
	return speech{}.raw("hookSpecificOutput", s.bytes()).json()
}

// permissionRequest answers where the host is about to ask a person, or to decide in a person's place. An ask is left to
// it. Exit 2 would be ignored here.
func permissionRequest(r Ruling) Reply {
	if r.Decision != policy.Deny {
		return Reply{}
	}
	decision := speech{}.text("behavior", "deny").text("message", r.words())
	s := speech{}.text("hookEventName", "PermissionRequest").raw("decision", decision.bytes())
	return speech{}.raw("hookSpecificOutput", s.bytes()).json()
}

// byCode is silence, or a block by exit code 2.
func byCode(r Ruling) Reply {
	if r.denies() {
		return blocked(r)
	}
	return Reply{}
}

package hook

import "sallyport/internal/policy"

// copilot is the GitHub Copilot CLI and its cloud agent, and VS Code, which reads the same settings files. How an event is
// spelled in the settings picks what the host sends: preToolUse sends camelCase keys and no name of the event.
type copilot struct{}

func copilotPhases(name string) (Phase, bool) {
	switch name {
	case "preToolUse", "permissionRequest":
		return Before, true
	case "postToolUse", "postToolUseFailure":
		return After, true
	case "userPromptSubmitted", "userPromptTransformed":
		return Prompt, true
	case "sessionStart":
		return SessionStart, true
	case "sessionEnd":
		return SessionEnd, true
	case "errorOccurred", "agentStop", "subagentStart", "subagentStop", "notification", "preCompact":
		return Other, true
	}
	return claudePhases(name)
}

func (copilot) read(f fields) (Event, error) {
	name, err := f.text("hook_event_name", "hookEventName", "hookName")
	if err != nil {
		return Event{}, err
	}
	if name == "" {
		name = copilotName(f)
	}
	e, err := readShape(f, func(string) (Phase, bool) { return copilotPhases(name) })
	e.Name = name
	e.Editor = f.has("hookEventName") && f.has("tool_name", "tool_input")
	if name == "postToolUseFailure" || name == "PostToolUseFailure" {
		e.Failed = true
	}
	if err != nil {
		return e, err
	}
	e.Input, err = object(e.Input)
	return e, err
}

// copilotName is the name of an event that has none, by what only that event has.
func copilotName(f fields) string {
	switch {
	case f.has("permissionSuggestions", "permission_suggestions"):
		return "permissionRequest"
	case f.has("toolResult", "tool_result"):
		return "postToolUse"
	case f.has("toolName", "toolArgs", "tool_name", "tool_input"):
		return "preToolUse"
	case f.has("prompt"):
		return "userPromptSubmitted"
	case f.has("source"):
		return "sessionStart"
	case f.has("reason"):
		return "sessionEnd"
	case f.has("stopReason"):
		return "agentStop"
	case f.has("error"):
		return "errorOccurred"
	}
	return ""
}

func (copilot) unknown() *Event { return &Event{Name: "preToolUse"} }

// asks: the cloud agent has nobody to ask, and runs as an action.
func (copilot) asks(e *Event) string {
	if e.Unattended {
		return "nobody is there to be asked"
	}
	return claude{}.asks(e)
}

func (copilot) reply(e *Event, r Ruling) Reply {
	switch {
	case e.Editor:
		return claude{}.reply(e, r)
	case e.Name == "permissionRequest" || e.Name == "PermissionRequest":
		if r.Decision != policy.Deny {
			return Reply{}
		}
		return speech{}.text("behavior", "deny").text("message", r.words()).json()
	case e.Strange && e.Name != "":
		return byCode(r)
	}
	switch {
	case r.Decision == policy.Deny:
		return speech{}.text("permissionDecision", "deny").text("permissionDecisionReason", r.words()).json()
	case r.Decision == policy.Ask:
		return speech{}.text("permissionDecision", "ask").text("permissionDecisionReason", r.words()).json()
	case r.Skip:
		return speech{}.text("permissionDecision", "allow").text("permissionDecisionReason", r.words()).json()
	}
	return Reply{}
}

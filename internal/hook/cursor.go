package hook

import (
	"errors"

	"sallyport/internal/canon"
)

// cursor is Cursor. Where a hook is configured with failClosed, silence is a failure, so that an allow is said.
type cursor struct{}

func cursorPhases(name string) (Phase, bool) {
	switch name {
	case "preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "beforeTabFileRead":
		return Before, true
	case "postToolUse", "postToolUseFailure", "afterShellExecution", "afterMCPExecution", "afterFileEdit", "afterTabFileEdit":
		return After, true
	case "beforeSubmitPrompt":
		return Prompt, true
	case "sessionStart":
		return SessionStart, true
	case "sessionEnd":
		return SessionEnd, true
	case "stop", "subagentStart", "subagentStop", "preCompact", "afterAgentResponse", "afterAgentThought", "workspaceOpen":
		return Other, true
	}
	return Other, false
}

func (cursor) read(f fields) (Event, error) {
	e, err := readShape(f, cursorPhases)
	if err != nil {
		return e, err
	}
	e.Failed = e.Failed || e.Name == "postToolUseFailure"
	if e.Session == "" {
		if err := f.texts(at(&e.Session, "conversation_id", "conversationId")); err != nil {
			return e, err
		}
	}
	if e.Dir == "" {
		e.Dir = firstText(f.get("workspace_roots", "workspaceRoots"))
	}
	switch e.Name {
	case "beforeShellExecution", "afterShellExecution":
		return e, e.nameless("Shell", f, "command")
	case "beforeReadFile", "beforeTabFileRead":
		if err := e.nameless("Read", f, "file_path"); err != nil {
			return e, err
		}
		return e, e.attach(f.get("attachments"))
	case "afterFileEdit", "afterTabFileEdit":
		if edits := f.get("edits"); edits.Kind() == canon.Array {
			e.Answer = compose(member{"edits", edits})
		}
		return e, e.nameless("Edit", f, "file_path")
	case "beforeMCPExecution", "afterMCPExecution":
		if e.Tool == "" {
			return e, errors.New("the event names no tool")
		}
		e.Tool = mcpName("", e.Tool)
	}
	if e.Input, err = object(e.Input); err != nil {
		return e, err
	}
	return e, nil
}

// nameless makes a call of an event that has the arguments, but neither a tool nor an input.
func (e *Event) nameless(tool string, f fields, key string) error {
	if text, err := f.text(key); err != nil {
		return err
	} else if text == "" {
		return errors.New("the event has no " + key)
	}
	e.Tool, e.Input = tool, compose(member{key, f.get(key)})
	return nil
}

// attach notes the files that are read together with the one of the event.
func (e *Event) attach(attachments canon.Value) error {
	for a := range attachments.Elements() {
		path := a
		if a.Kind() == canon.Object {
			if path = a.Get("file_path"); !path.Exists() {
				path = a.Get("filePath")
			}
		}
		if path.Kind() != canon.String {
			return errors.New("an attachment of the event names no file")
		}
		e.Attached = append(e.Attached, compose(member{"file_path", path}))
	}
	return nil
}

func (cursor) unknown() *Event { return &Event{Name: "preToolUse"} }

// asks: an ask is heeded by some events of some versions, and not where calls run by themselves.
func (cursor) asks(*Event) string { return "Cursor does not ask reliably" }

func (cursor) reply(e *Event, r Ruling) Reply {
	switch e.Phase {
	case Prompt:
		return speech{}.raw("continue", []byte("true")).json()
	case After, SessionStart, SessionEnd, Other:
		return Reply{}
	}
	if !r.denies() {
		return speech{}.text("permission", "allow").json()
	}
	s := speech{}.text("permission", "deny").text("user_message", r.words())
	if e.Name == "beforeReadFile" || e.Name == "beforeTabFileRead" {
		return s.json()
	}
	return s.text("agent_message", r.words()).json()
}

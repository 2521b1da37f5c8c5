package hook

import (
	"errors"

	"sallyport/internal/canon"
)

// cline is Cline. No JSON at all lets a call go on; a failure of the hook blocks it.
type cline struct{}

func clinePhases(name string) (Phase, bool) {
	switch name {
	case "PreToolUse":
		return Before, true
	case "PostToolUse":
		return After, true
	case "UserPromptSubmit":
		return Prompt, true
	case "TaskStart", "TaskResume":
		return SessionStart, true
	case "TaskCancel", "TaskComplete":
		return SessionEnd, true
	case "PreCompact", "Notification":
		return Other, true
	}
	return Other, false
}

func (cline) read(f fields) (Event, error) {
	e := Event{}
	if err := f.texts(at(&e.Name, "hookName")); err != nil {
		return e, err
	}
	call := f.within("preToolUse")
	known := false
	if e.Phase, known = clinePhases(e.Name); !known {
		e.Strange = true
		if e.Name == "" || f.has("preToolUse") {
			e.Phase = Before
		}
	}
	if err := f.texts(at(&e.Session, "taskId")); err != nil {
		return e, err
	}
	e.Dir = firstRoot(f.get("workspaceRoots"))
	if e.Phase == After {
		call = f.within("postToolUse")
		e.readResult(call)
	}
	if why := twofold(call); why != "" {
		return e, errors.New(why)
	}
	if err := call.texts(at(&e.Tool, "toolName", "tool")); err != nil {
		return e, err
	}
	var err error
	e.Input, err = object(call.get("parameters"))
	return e, err
}

// firstRoot is the path of the first workspace: a text, or an object that has one.
func firstRoot(roots canon.Value) string {
	for root := range roots.Elements() {
		if text, ok := root.Text(); ok {
			return text
		}
		text, _ := root.Get("path").Text()
		return text
	}
	return ""
}

func (cline) unknown() *Event { return &Event{Name: "PreToolUse"} }

func (cline) asks(*Event) string { return "Cline cannot be told to ask" }

func (cline) reply(_ *Event, r Ruling) Reply {
	if !r.denies() {
		return Reply{}
	}
	return speech{}.raw("cancel", []byte("true")).text("errorMessage", r.words()).json()
}

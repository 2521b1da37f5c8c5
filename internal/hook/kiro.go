package hook

import "strings"

// kiro is the Kiro CLI. It looks at the exit code alone.
type kiro struct{}

func kiroPhases(name string) (Phase, bool) {
	switch name {
	case "preToolUse":
		return Before, true
	case "postToolUse":
		return After, true
	case "userPromptSubmit":
		return Prompt, true
	case "agentSpawn":
		return SessionStart, true
	case "stop":
		return Other, true
	}
	// The editor of the same name spells them like this.
	switch name {
	case "PreToolUse":
		return Before, true
	case "PostToolUse":
		return After, true
	}
	return Other, false
}

func (kiro) read(f fields) (Event, error) {
	e, err := readShape(f, kiroPhases)
	if err != nil {
		return e, err
	}
	if named, ok := strings.CutPrefix(e.Tool, "@"); ok {
		server, tool, _ := strings.Cut(named, "/")
		e.Tool = mcpName(server, tool)
	}
	return e, nil
}

func (kiro) unknown() *Event { return &Event{Name: "preToolUse"} }

func (kiro) asks(*Event) string { return "Kiro cannot be told to ask" }

func (kiro) reply(_ *Event, r Ruling) Reply { return byCode(r) }

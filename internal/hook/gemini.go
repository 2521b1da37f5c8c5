package hook

import "strings"

// gemini is the Gemini CLI.
type gemini struct{}

func geminiPhases(name string) (Phase, bool) {
	switch name {
	case "BeforeTool":
		return Before, true
	case "AfterTool":
		return After, true
	case "BeforeAgent":
		return Prompt, true
	case "SessionStart":
		return SessionStart, true
	case "SessionEnd":
		return SessionEnd, true
	case "AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "Notification", "PreCompress":
		return Other, true
	}
	return Other, false
}

func (gemini) read(f fields) (Event, error) {
	e, err := readShape(f, geminiPhases)
	if err != nil {
		return e, err
	}
	// mcp_SERVER_TOOL cannot be taken apart surely: a server's name may have an underscore of its own.
	context := f.within("mcp_context")
	var server, tool string
	if err := context.texts(at(&server, "server_name"), at(&tool, "tool_name")); err != nil {
		return e, err
	}
	if server == "" || tool == "" {
		if rest, ok := strings.CutPrefix(e.Tool, "mcp_"); ok && !strings.HasPrefix(rest, "_") {
			server, tool, _ = strings.Cut(rest, "_")
		}
	}
	if server != "" && tool != "" {
		e.Tool = mcpName(server, tool)
	}
	return e, nil
}

func (gemini) unknown() *Event { return &Event{Name: "BeforeTool"} }

// asks: the decision "ask" is in the source and in no documentation. Versions that do not heed it run the call, and an event
// says neither which version nor which approval mode it is, nor whether anybody is there.
func (gemini) asks(*Event) string { return "Gemini CLI does not say whether it would ask" }

// reply never uses the exit code: where stdout is JSON, Gemini does not look at it.
func (gemini) reply(_ *Event, r Ruling) Reply {
	if !r.denies() {
		return Reply{}
	}
	return speech{}.text("decision", "deny").text("reason", r.words()).json()
}

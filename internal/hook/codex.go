package hook

// codex is OpenAI's Codex. Its schema is strict: an ask, a bare allow or an unknown field makes the whole answer "Failed",
// and the call runs. So there are two answers only: silence, and the smallest denial.
type codex struct{}

func codexPhases(name string) (Phase, bool) { return claudePhases(name) }

func (codex) read(f fields) (Event, error) { return readShape(f, codexPhases) }

func (codex) unknown() *Event { return &Event{Name: "PreToolUse"} }

func (codex) asks(*Event) string { return "Codex cannot be told to ask" }

func (codex) reply(e *Event, r Ruling) Reply {
	switch {
	case !r.denies():
		return Reply{}
	case e.Name == "PermissionRequest":
		return permissionRequest(r)
	case e.Strange && e.Name != "":
		return blocked(r)
	}
	s := speech{}.text("hookEventName", "PreToolUse").
		text("permissionDecision", "deny").
		text("permissionDecisionReason", r.words())
	return speech{}.raw("hookSpecificOutput", s.bytes()).json()
}

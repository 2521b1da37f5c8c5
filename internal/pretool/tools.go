package pretool

import (
	"bytes"
	"slices"

	"sallyport/internal/canon"
)

// questions are what the agent can ask, in the order in which they are listed.
func (c *Checks) questions() []question {
	tool := parameter{name: "tool_name", required: true, most: maxName, unit: codePoints, notEmpty: true,
		about: "The name of the agent's tool, such as Write."}
	input := parameter{name: "tool_input", most: maxInput, unit: inBytes, object: true,
		about: "What the tool would get: the JSON text of an object, or the object itself. Left out, it is {}."}
	return []question{
		{
			name: "validate_tool_call", title: "May this tool be called?",
			about:      "Says whether the agent may call a tool now, what blocks it, and what the call could do better.",
			parameters: []parameter{tool, input},
			output:     "allowed tool session_id? hints blocks checks_run? reason",
			answer:     c.validateToolCall,
		},
		{
			name: "check_task_breakdown", title: "Is the task breakdown pending?",
			about:  "Says whether the session still has to break its task down.",
			output: "success pending session_id flag_data ttl_seconds",
			answer: c.checkTaskBreakdown,
		},
		{
			name: "check_skill_selected", title: "Is the choice of a skill pending?",
			about:  "Says whether the session still has to load a skill, and which.",
			output: "success pending session_id required_skill required_type",
			answer: c.checkSkillSelected,
		},
		{
			name: "check_level_completion", title: "Which levels are complete?",
			about: "Says which steps of levels 1 and 2 the session's flow trace holds. All are answered, whatever level is asked for.",
			parameters: []parameter{{name: "level", words: []string{"level1", "level2", allWord},
				about: "The level that is asked for; left out, all."}},
			output: "success trace_found level1_context level1_session level1_complete level2_standards level2_complete all_complete session_id",
			answer: c.checkLevelCompletion,
		},
		{
			name: "get_enforcer_state", title: "What holds the session?",
			about:  "Shows the session's flags, the state of its trace, and which tools are blocked now.",
			output: "success flags pipeline blocked_tools always_allowed session_id",
			answer: c.getEnforcerState,
		},
		{
			name: "check_failure_patterns", title: "Would this call fail?",
			about:      "Compares a call with what is known of calls that fail, and says what to do instead.",
			parameters: []parameter{tool, input},
			valid:      func(args canon.Value) error { _, err := toolInput(args); return err },
			output:     "success tool hints kb_loaded patterns_checked",
			answer:     c.checkFailurePatterns,
		},
		{
			name: "get_dynamic_skill_hint", title: "Which skill is for this file?",
			about: "Suggests a skill by the name of a file.",
			parameters: []parameter{{name: "file_path", required: true, most: maxPath, unit: inBytes,
				about: "The file's path; it need not exist."}},
			output: "success file extension suggested_skill has_suggestion",
			answer: c.getDynamicSkillHint,
		},
		{
			name: "reset_enforcer_flags", title: "Reset the session's flags", changes: true,
			about: "Deletes flags of the current session, and nothing else.",
			parameters: []parameter{{name: "flag_name", words: append(slices.Clone(FlagNames), allWord),
				about: "The flag; left out, all."}},
			output: "success session_id cleared count error?",
			answer: c.resetEnforcerFlags,
		},
		{
			name: "validate_agent_dispatch", title: "May this subagent be started?",
			about: "Says whether a subagent may be started with a prompt: a generic one needs a persona of the library.",
			parameters: []parameter{
				{name: "subagent_type", most: maxName, unit: codePoints, about: "The subagent's type; generic if left out."},
				{name: "prompt", most: maxInput, unit: inBytes, about: "What the subagent is told."},
				{name: "library_path", most: maxPath, unit: inBytes, about: "The folder of the library of agents and skills."},
			},
			output: "allowed reason blocks detail",
			answer: c.validateAgentDispatch,
		},
	}
}

// allWord stands for all levels, or all flags.
const allWord = "all"

func (c *Checks) checkTaskBreakdown(canon.Value) *answer {
	session := c.Sessions.Current()
	f := c.Sessions.flag(session, taskBreakdown)
	a := new(answer).bool("success", true).bool("pending", f.pending).text("session_id", session)
	if f.pending {
		a.raw("flag_data", oneLine(f.data))
	} else {
		a.null("flag_data")
	}
	return a.int("ttl_seconds", int(flagTTL.Seconds()))
}

// oneLine returns a value as it stands in its file, but in one line, as messages are. Within JSON, line breaks are only
// white space.
func oneLine(v canon.Value) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, v.Bytes())
}

func (c *Checks) checkSkillSelected(canon.Value) *answer {
	session := c.Sessions.Current()
	f := c.Sessions.flag(session, skillSelection)
	return new(answer).
		bool("success", true).
		bool("pending", f.pending).
		text("session_id", session).
		text("required_skill", f.text("required_skill")).
		text("required_type", f.text("required_type"))
}

func (c *Checks) checkLevelCompletion(canon.Value) *answer {
	session := c.Sessions.Current()
	t := c.Sessions.trace(session)
	return new(answer).
		bool("success", true).
		bool("trace_found", t.found).
		bool("level1_context", t.context).
		bool("level1_session", t.session).
		bool("level1_complete", t.level1()).
		bool("level2_standards", t.standards).
		bool("level2_complete", t.standards).
		bool("all_complete", t.all()).
		text("session_id", session)
}

func (c *Checks) getEnforcerState(canon.Value) *answer {
	session := c.Sessions.Current()
	check := c.Sessions.flag(session, checkpoint)
	task := c.Sessions.flag(session, taskBreakdown)
	skill := c.Sessions.flag(session, skillSelection)
	t := c.Sessions.trace(session)
	var held []string
	if check.pending || task.pending || skill.pending || t.found && !t.all() {
		held = checkedTools
	}
	flags := new(answer).
		bool("checkpoint_pending", check.pending).
		bool("task_breakdown_pending", task.pending).
		bool("skill_selection_pending", skill.pending).
		text("required_skill", skill.text("required_skill"))
	pipeline := new(answer).
		bool("trace_exists", t.found).
		bool("level1_complete", t.level1()).
		bool("level2_complete", t.standards)
	return new(answer).
		bool("success", true).
		object("flags", flags).
		object("pipeline", pipeline).
		list("blocked_tools", held).
		list("always_allowed", alwaysAllowed).
		text("session_id", session)
}

func (c *Checks) checkFailurePatterns(args canon.Value) *answer {
	name, _ := args.Get("tool_name").Text()
	tool := clean(name)
	input, _ := toolInput(args) // it has been checked
	hints, checked := c.Knowledge.hints(tool, input, c.Windows)
	return new(answer).
		bool("success", true).
		text("tool", tool).
		list("hints", hints).
		bool("kb_loaded", true).
		int("patterns_checked", checked)
}

func (c *Checks) getDynamicSkillHint(args canon.Value) *answer {
	path, _ := args.Get("file_path").Text()
	ext, skill := suggestSkill(clean(path), c.Skills)
	a := new(answer).bool("success", true).text("file", path).text("extension", ext)
	if skill == "" {
		a.null("suggested_skill")
	} else {
		a.text("suggested_skill", skill)
	}
	return a.bool("has_suggestion", skill != "")
}

func (c *Checks) resetEnforcerFlags(args canon.Value) *answer {
	names := FlagNames
	if word, ok := args.Get("flag_name").Text(); ok && word != allWord {
		names = []string{word}
	}
	session := c.Sessions.Current()
	failure := ""
	var cleared []string
	if session == "" {
		failure = "No active session"
	} else {
		var err error
		if cleared, err = c.Sessions.reset(session, names); err != nil {
			failure = "Some flags could not be deleted; they still hold"
		}
	}
	a := new(answer).
		bool("success", failure == "").
		text("session_id", session).
		list("cleared", cleared).
		int("count", len(cleared))
	if failure != "" {
		a.text("error", failure)
	}
	return a
}

func (c *Checks) validateAgentDispatch(args canon.Value) *answer {
	text := func(name string) string {
		value, _ := args.Get(name).Text()
		return value
	}
	v := validateDispatch(text("subagent_type"), text("prompt"), text("library_path"), c.Env)
	return new(answer).
		bool("allowed", v.Allowed).
		text("reason", v.Reason).
		list("blocks", v.Blocks).
		text("detail", v.Detail)
}

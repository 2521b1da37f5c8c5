package pretool

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
)

var (
	alwaysAllowed = []string{"Glob", "Grep", "Read", "Task", "WebFetch", "WebSearch"} // sorted
	checkedTools  = []string{"Edit", "NotebookEdit", "Write"}                         // sorted
)

// How many checks are run for a checked tool, and for any other.
const (
	allChecks   = 8
	otherChecks = 2
)

// validateToolCall says whether the agent may call a tool.
func (c *Checks) validateToolCall(args canon.Value) *answer {
	name, _ := args.Get("tool_name").Text()
	tool := clean(name)
	always := slices.Contains(alwaysAllowed, tool)
	session := ""
	if !always {
		session = c.Sessions.Current()
	}
	var blocks, hinted []string
	if input, err := toolInput(args); err != nil {
		blocks = []string{err.Error()}
	} else {
		hinted = hints(tool, input)
		if !always {
			for _, block := range c.blocks(session, tool, input) {
				blocks = append(blocks, block.Reason)
			}
		}
	}
	reason := "All checks passed"
	switch {
	case len(blocks) > 0:
		reason = blocks[0]
	case always:
		reason = "Tool is always allowed"
	}
	a := new(answer).bool("allowed", len(blocks) == 0).text("tool", tool)
	if !always {
		a.text("session_id", session)
	}
	a.list("hints", hinted).list("blocks", blocks)
	if !always {
		a.int("checks_run", checksRun(tool))
	}
	return a.text("reason", reason)
}

func checksRun(tool string) int {
	if slices.Contains(checkedTools, tool) {
		return allChecks
	}
	return otherChecks
}

// toolInput returns the argument tool_input: an object, or the JSON text of one.
func toolInput(args canon.Value) (canon.Value, error) {
	input := args.Get("tool_input")
	if !input.Exists() {
		return input, nil
	}
	if text, ok := input.Text(); ok {
		var err error
		if input, err = canon.Parse([]byte(text)); err != nil {
			return canon.Value{}, fmt.Errorf("tool_input is not valid JSON: %w", err)
		}
	}
	if input.Kind() != canon.Object {
		return canon.Value{}, fmt.Errorf("tool_input is not a JSON object")
	}
	return input, nil
}

// blocks returns why a tool may not be called: the first reason of its session, and those of the call itself.
func (c *Checks) blocks(session, tool string, input canon.Value) (blocks []Block) {
	if slices.Contains(checkedTools, tool) {
		if block := c.sessionBlock(session, tool); block.Reason != "" {
			blocks = append(blocks, block)
		}
	}
	if !c.Windows {
		return blocks
	}
	switch tool {
	case "Bash":
		if command := windowsCommand(input); command != "" {
			blocks = append(blocks, Block{"windows-command", "Windows command '" + command + "' blocked - use Unix equivalent"})
		}
	case "Write", "Edit":
		if r := nonASCII(input); r != 0 {
			blocks = append(blocks, Block{"ascii", fmt.Sprintf("Non-ASCII text (%U) in a .py file on Windows - use ASCII only", r)})
		}
	}
	return blocks
}

// sessionBlock runs the checks 1 to 6 and returns the first reason against a tool; the zero Block is none. It reads no
// file that could no longer change the answer.
func (c *Checks) sessionBlock(session, tool string) Block {
	if c.Sessions.flag(session, checkpoint).pending {
		return Block{"checkpoint", "Checkpoint pending - answer it before " + tool}
	}
	if c.Sessions.flag(session, taskBreakdown).pending {
		return Block{"task-breakdown", "Task breakdown pending - call TaskCreate before " + tool}
	}
	if f := c.Sessions.flag(session, skillSelection); f.pending {
		return Block{"skill-selection", skillReason(f, tool)}
	}
	return Block{"trace", traceReason(c.Sessions.trace(session), tool)}
}

func skillReason(f flag, tool string) string {
	if skill := f.text("required_skill"); skill != "" {
		return "Skill selection pending - load " + skill + " before " + tool
	}
	return "Skill selection pending - load the required skill before " + tool
}

// traceReason returns what the trace lacks, or "" where nothing is known.
func traceReason(t trace, tool string) string {
	switch {
	case !t.found:
		return ""
	case !t.context:
		return "Context not read - complete step LEVEL_1_CONTEXT before " + tool
	case !t.session:
		return "Level 1 not complete - complete step LEVEL_1_SESSION before " + tool
	case !t.standards:
		return "Level 2 not complete - complete step LEVEL_2_STANDARDS before " + tool
	}
	return ""
}

// windowsCommands are those that a Unix shell on Windows lacks. mkdir, rmdir, sort, more, tree, type, net and find are
// not among them: there they are Unix commands.
var windowsCommands = []string{"attrib", "cls", "copy", "del", "dir", "erase", "md", "move", "rd", "ren", "rename",
	"robocopy", "xcopy"}

// windowsCommand returns the first Windows command that a Bash call would run, or "". A text that does not parse is judged
// by the words before the error.
func windowsCommand(input canon.Value) string {
	text, _ := input.Get("command").Text()
	words, _ := effects.Commands(text)
	for _, word := range words {
		if name := commandName(word); slices.Contains(windowsCommands, name) {
			return name
		}
	}
	return ""
}

// nonASCII returns the first character that a Write or Edit of a Python file would put there and that is not ASCII, or 0.
func nonASCII(input canon.Value) rune {
	name, _ := input.Get("file_path").Text()
	if !strings.HasSuffix(strings.ToLower(clean(name)), ".py") {
		return 0
	}
	for _, key := range []string{"content", "new_string"} {
		text, _ := input.Get(key).Text()
		for _, r := range text {
			if r >= utf8.RuneSelf {
				return r
			}
		}
	}
	return 0
}

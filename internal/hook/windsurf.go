package hook

import (
	"errors"
	"strings"
)

// windsurf is Windsurf Cascade. It looks at the exit code alone.
type windsurf struct{}

func windsurfPhases(name string) (Phase, bool) {
	switch name {
	case "pre_run_command", "pre_write_code", "pre_read_code", "pre_mcp_tool_use":
		return Before, true
	case "post_run_command", "post_write_code", "post_read_code", "post_mcp_tool_use":
		return After, true
	case "pre_user_prompt":
		return Prompt, true
	case "post_cascade_response", "post_cascade_response_with_transcript", "post_setup_worktree":
		return Other, true
	}
	return Other, false
}

func (windsurf) read(f fields) (Event, error) {
	e := Event{}
	if err := f.texts(at(&e.Name, "agent_action_name")); err != nil {
		return e, err
	}
	info := f.within("tool_info")
	known := false
	if e.Phase, known = windsurfPhases(e.Name); !known {
		e.Strange = true
		if e.Name == "" || strings.HasPrefix(e.Name, "pre_") && info.has("command_line", "file_path", "mcp_tool_name") {
			e.Phase = Before
		}
	}
	err := f.texts(at(&e.Session, "trajectory_id"), at(&e.CallID, "execution_id"))
	if err != nil {
		return e, err
	}
	if e.Phase != Before && e.Phase != After {
		return e, nil
	}
	if why := twofold(info); why != "" {
		return e, errors.New(why)
	}
	return e, e.readInfo(f, info)
}

// readInfo makes a call of what Windsurf says of an action, under the names that the other hosts gave such tools.
func (e *Event) readInfo(f, info fields) error {
	if err := info.texts(at(&e.Dir, "cwd")); err != nil {
		return err
	}
	switch {
	case info.has("mcp_tool_name"):
		var server, tool string
		if err := info.texts(at(&server, "mcp_server_name"), at(&tool, "mcp_tool_name")); err != nil {
			return err
		}
		e.Tool = mcpName(server, tool)
		input, err := object(info.get("mcp_tool_arguments"))
		if !input.Exists() && err == nil {
			input = emptyObject()
		}
		e.Input = input
		return err
	case info.has("command_line"):
		if _, err := info.text("command_line"); err != nil {
			return err
		}
		e.Tool, e.Input = "Bash", compose(member{"command", info.get("command_line")})
		return nil
	case strings.HasSuffix(e.Name, "_read_code"):
		e.Tool = "Read"
	default:
		e.Tool = "MultiEdit"
	}
	if path, err := info.text("file_path"); err != nil {
		return err
	} else if path == "" {
		return errors.New("the event has neither a command_line, nor a file_path, nor an mcp_tool_name")
	}
	e.Input = f.get("tool_info")
	return nil
}

func (windsurf) unknown() *Event { return &Event{Name: "pre_run_command"} }

func (windsurf) asks(*Event) string { return "Windsurf cannot be told to ask" }

func (windsurf) reply(_ *Event, r Ruling) Reply { return byCode(r) }

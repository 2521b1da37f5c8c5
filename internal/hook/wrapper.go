package hook

import (
	"fmt"
	"strings"

	"sallyport/internal/canon"
)

// mcpName is the name under which a tool of an MCP server is judged, whatever the host calls it. A server that the host
// does not name is "unknown".
func mcpName(server, tool string) string {
	if server == "" {
		server = "unknown"
	}
	return "mcp__" + server + "__" + tool
}

// unwrap opens a tool that only calls another one, so that the other one is judged.
func (e *Event) unwrap() error {
	switch e.Tool {
	case "use_mcp_tool", "CallMcpTool", "call_mcp_tool", "use_tool":
	default:
		return nil
	}
	f := fields(members(e.Input))
	var server, tool string
	err := f.texts(
		at(&server, "server_name", "serverName", "server", "serverIdentifier", "mcp_server_name"),
		at(&tool, "tool_name", "toolName", "tool", "name", "mcp_tool_name"),
	)
	if err != nil {
		return err
	}
	if tool == "" {
		return fmt.Errorf("%s does not say which tool it would call", e.Tool)
	}
	input := f.get("arguments", "args", "input", "tool_input", "toolInput", "parameters", "mcp_tool_arguments")
	if !input.Exists() {
		input = emptyObject()
	}
	if input, err = object(input); err != nil {
		return err
	}
	if input.Kind() != canon.Object {
		return fmt.Errorf("the arguments that %s would pass on are not an object", e.Tool)
	}
	if why := twofoldWithin(input); why != "" {
		return fmt.Errorf("%s", why)
	}
	e.Input = input
	if server == "" && strings.HasPrefix(tool, "mcp__") {
		e.Tool = tool
	} else {
		e.Tool = mcpName(server, tool)
	}
	return nil
}

func emptyObject() canon.Value {
	v, _ := canon.Parse([]byte("{}"))
	return v
}

// compose is an object of some members, as a host would have sent it.
func compose(all ...member) canon.Value {
	text := []byte{'{'}
	for _, m := range all {
		if !m.value.Exists() {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(canon.AppendString(text, m.key), ':')
		text = append(text, m.value.Bytes()...)
	}
	v, _ := canon.Parse(append(text, '}')) // it is made of values
	return v
}

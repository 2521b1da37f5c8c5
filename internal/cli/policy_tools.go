package cli

import (
	"slices"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/notes"
	"sallyport/internal/policy"
	"sallyport/internal/pretool"
)

// hostTools are the tools of the hosts and their arguments, as the hosts document them: a name, a colon, and the arguments.
const hostTools = `
Bash: command description timeout run_in_background
PowerShell: command description timeout run_in_background
Monitor: command description timeout_ms persistent
Read: file_path offset limit pages
Write: file_path content
Edit: file_path old_string new_string replace_all
MultiEdit: file_path edits
NotebookEdit: notebook_path new_source cell_id cell_type edit_mode
Glob: pattern path
Grep: pattern path glob type output_mode multiline head_limit -i -n -A -B -C
WebFetch: url prompt
WebSearch: query allowed_domains blocked_domains
Agent: description prompt subagent_type model
Task: description prompt subagent_type model
Skill: skill args
apply_patch: command
run_shell_command: command description directory dir_path
write_file: file_path content
read_file: file_path offset limit start_line end_line
replace: file_path old_string new_string expected_replacements instruction
`

// knownTools are the tools whose arguments are known: our own, and those of the hosts.
func knownTools() []policy.KnownTool {
	var known []policy.KnownTool
	for _, tool := range slices.Concat(new(notes.Notes).Tools(), pretool.New(pretool.Config{}).Tools()) {
		definition, err := canon.Parse(tool.Definition)
		if err != nil {
			continue
		}
		one := policy.KnownTool{Name: tool.Name}
		for name := range definition.Get("inputSchema").Get("properties").Members() {
			one.Args = append(one.Args, name)
		}
		known = append(known, one)
	}
	for line := range strings.Lines(strings.TrimSpace(hostTools)) {
		name, args, _ := strings.Cut(line, ":")
		known = append(known, policy.KnownTool{Name: name, Args: strings.Fields(args)})
	}
	return known
}

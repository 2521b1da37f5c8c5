package cli

import (
	"slices"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/notes"
	"sallyport/internal/policy"
	"sallyport/internal/pretool"
)

// hostTools are the tools of the hosts, as the hosts document them: a name, then behind a colon its arguments (without one
// they are not known), then behind a bar the effects that its calls can have (without one, any).
const hostTools = `
Bash: command description timeout run_in_background dangerouslyDisableSandbox
PowerShell: command description timeout run_in_background
Monitor: command description timeout_ms persistent ws
Read: file_path offset limit pages | reads
Write: file_path content | writes
Edit: file_path old_string new_string replace_all | writes
MultiEdit: file_path edits | writes
NotebookEdit: notebook_path new_source cell_id cell_type edit_mode | writes
Glob: pattern path |
Grep: pattern path glob type output_mode multiline head_limit offset context -i -o -n -A -B -C | reads
WebFetch: url prompt | connects reads
WebSearch: query allowed_domains blocked_domains |
Agent: description prompt subagent_type model run_in_background name isolation team_name mode | spawns
Task: description prompt subagent_type model run_in_background name isolation team_name mode | spawns
Skill: skill args |
TodoWrite |
TaskCreate |
TaskUpdate |
TaskGet |
TaskList |
TaskOutput |
TaskStop |
AskUserQuestion |
SendMessage |
BashOutput |
KillShell |
Workflow
LS
LSP
REPL
CronCreate
ExitPlanMode |
EnterWorktree
ExitWorktree
apply_patch: command
run_shell_command: command description directory dir_path is_background
write_file: file_path path content | writes
read_file: file_path path offset limit start_line end_line head tail | reads
read_many_files | reads
replace: file_path old_string new_string expected_replacements instruction | writes
web_fetch | connects reads
google_web_search |
list_directory | reads
search_file_content | reads
grep_search | reads
glob
bash
powershell
view
edit
create
task
shell
Shell
Delete
read
write
grep
web_search
fs_read
fs_write
execute_bash
use_aws
execute_command
write_to_file
replace_in_file
search_files
list_files
`

// knownTools are the tools of which something is known: our own, and those of the hosts.
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
		line, kinds, some := strings.Cut(line, "|")
		name, args, named := strings.Cut(line, ":")
		one := policy.KnownTool{Name: strings.TrimSpace(name), Args: strings.Fields(args), AnyArgs: !named}
		if some {
			one.Effects = append([]string{}, strings.Fields(kinds)...)
		}
		known = append(known, one)
	}
	return known
}

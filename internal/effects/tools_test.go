package effects

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

// linesOf returns effects as lines: the kind, and the words, path, host or agent. Of a path it is the first form; a run
// that has code shows it behind |, and >N stands before what is done by run N.
func linesOf(effects []Effect) []string {
	lines := []string{}
	for _, e := range effects {
		line := strings.TrimSuffix(e.Kind.String(), "s")
		switch {
		case e.Opaque != "":
			line += " ?"
		case e.Kind == Run:
			for _, word := range e.Command.Words {
				line += " " + word.Text
			}
			if e.Command.Code != "" {
				line += " | " + e.Command.Code
			}
		case e.Kind == Connect:
			line += " " + e.Host
		case e.Kind == Spawn:
			line += " " + e.Agent
		default:
			if e.Deep {
				line += " deep"
			}
			line += " " + e.Path.Forms[0]
		}
		if e.By >= 0 {
			line = fmt.Sprintf(">%d %s", e.By, line)
		}
		lines = append(lines, line)
	}
	return lines
}

func parsed(t testing.TB, text string) canon.Value {
	t.Helper()
	if text == "" {
		return canon.Value{}
	}
	value, err := canon.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func TestOf(t *testing.T) {
	tests := []struct {
		tool, input string
		want        string // lines between ;
	}{
		// Claude Code
		{"Write", `{"file_path":"/srv/x","content":"cat /srv/y"}`, "write /srv/x"},
		{"Edit", `{"file_path":"x","old_string":"/etc/passwd","new_string":"~/.ssh/id"}`, "write /srv/app/x"},
		{"MultiEdit", `{"file_path":"/srv/x","edits":[{"old_string":"/a","new_string":"/b"}]}`, "write /srv/x"},
		{"NotebookEdit", `{"notebook_path":"/srv/x.ipynb","new_source":"/etc"}`, "write /srv/x.ipynb"},
		{"Read", `{"file_path":"/srv/x","limit":5}`, "read /srv/x"},
		{"Read", `{"file_path":"~/.ssh/id"}`, "read /home/u/.ssh/id"},
		{"Read", `{}`, "read ?"},
		{"Read", `{"file_path":5}`, "read ?"},
		{"Read", `{"file_path":null}`, "read ?"},
		{"Write", `{"content":"x"}`, "write ?"},
		{"Write", `{"file_path":["/srv/x"]}`, "write /srv/x"},
		{"Grep", `{"pattern":"/etc/passwd","path":"secrets"}`, "read /srv/app/secrets"},
		{"Grep", `{"pattern":"x"}`, "read /srv/app"},
		{"Grep", `{"pattern":"x","glob":"*.{ts,js}","output_mode":"content"}`, "read /srv/app;read /srv/app/\xff/\xff.ts;read /srv/app/\xff/\xff.js"},
		{"Grep", `{"pattern":"x","glob":"!*.ts","path":"a"}`, "read /srv/app/a"},
		{"Grep", `{"pattern":"x","path":{}}`, "read /srv/app"},
		{"Glob", `{"pattern":"**/.env","path":"/srv"}`, ""},
		{"LSP", `{"operation":"hover","filePath":"/srv/x.go","line":1}`, "read /srv/x.go"},
		{"WebFetch", `{"url":"https://Example.com:8443/x","prompt":"see http://other.com"}`, "connect example.com:8443"},
		{"WebFetch", `{"url":"file:///etc/passwd","prompt":"x"}`, "read /etc/passwd"},
		{"WebFetch", `{"url":"example.com/x"}`, "connect example.com"},
		{"WebFetch", `{}`, "connect ?"},
		{"WebSearch", `{"query":"rm -rf","allowed_domains":["x.com"]}`, ""},
		{"Agent", `{"description":"d","prompt":"never run rm -rf x, see /etc/passwd","subagent_type":"Explore"}`, "spawn Explore"},
		{"Task", `{"description":"d","prompt":"p"}`, "spawn "},
		{"Workflow", `{"script":"agent('read .env')"}`, "spawn ;run Workflow | agent('read .env')"},
		{"Workflow", `{"scriptPath":"/srv/w.js"}`, "spawn ;read /srv/w.js"},
		{"Skill", `{"skill":"x","args":"/etc/passwd"}`, ""},
		{"REPL", `{"code":"1+1"}`, "run REPL | 1+1"},
		{"CronCreate", `{"cron":"* * * * *","prompt":"rm -rf x"}`, "spawn "},
		{"RemoteTrigger", `{"action":"create","body":{}}`, "spawn "},
		{"RemoteTrigger", `{"action":"list"}`, ""},
		{"SendMessage", `{"to":"a","message":"rm -rf /"}`, ""},
		{"SendUserFile", `{"files":["/srv/a","/srv/b"]}`, "read /srv/a;read /srv/b"},
		{"Artifact", `{"file_path":"/srv/a","force":true}`, "read /srv/a"},
		{"ReadMcpResourceTool", `{"server":"fs","uri":"file:///srv/a"}`, "read /srv/a"},
		{"ReadMcpResourceTool", `{"server":"db","uri":"table://x"}`, "connect x"},
		{"EnterWorktree", `{"path":"/srv/wt"}`, "write /srv/wt"},
		{"EnterWorktree", `{"name":"feature"}`, ""},
		{"EnterWorktree", `{}`, ""},
		{"ExitWorktree", `{"action":"remove"}`, "write deep /srv/app"},
		{"ExitWorktree", `{"action":"keep"}`, ""},
		{"TodoWrite", `{"todos":[{"content":"rm -rf x","status":"pending"}]}`, ""},
		{"TaskCreate", `{"subject":"delete .env","description":"/etc/passwd"}`, ""},
		{"ExitPlanMode", `{"plan":"x","planFilePath":"/home/u/.claude/plans/x.md"}`, ""},
		{"Monitor", `{"description":"d","ws":{"url":"wss://example.com/x","protocols":[]}}`, "connect example.com"},
		{"Bash", `{}`, "run ?;read ?;write ?"},
		{"Bash", `{"command":5}`, "run ?;read ?;write ?"},
		{"Bash", `{"command":["rm",5]}`, "run rm;run ?;read ?;write ?"},
		{"Bash", ``, "run ?;read ?;write ?"},
		{"bash", `{"command":{}}`, "run ?;read ?;write ?"},
		// Codex
		{"view_image", `{"path":"a.png"}`, "read /srv/app/a.png"},
		{"apply_patch", `{"command":"*** Begin Patch\n*** Update File: .env\n@@\n-A\n+*** Delete File: y\n *** Delete File: z\n*** End Patch"}`, "write /srv/app/.env"},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Add File: a\n+x\n  *** Delete File: b\n*** Update File: c\n*** Move to: d\n@@\n*** End Patch"}`,
			"write /srv/app/a;write deep /srv/app/b;write /srv/app/c;write /srv/app/d"},
		{"apply_patch", `{"command":["apply_patch","*** Begin Patch\n*** Delete File: /srv/x\n"]}`, "write deep /srv/x"},
		{"apply_patch", `"*** Begin Patch\n*** Add File: a\n+x"`, "write /srv/app/a"},
		{"apply_patch", `{"command":"cd sub && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a\n@@\n+x\n*** End Patch\nEOF"}`, "write /srv/app/sub/a"},
		{"apply_patch", `{"command":"cd 'a b'; apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: x\n+x"}`, "write /srv/app/a b/x"},
		{"apply_patch", `{"command":"cd $D && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: x\n+x"}`, "write \xff/x"},
		{"apply_patch", `{"command":"hello"}`, "write ?"},
		{"apply_patch", `{}`, "write ?"},
		{"patch", `{"patch":"--- a/x.go\n+++ b/x.go\n@@\n-a\n+b\n"}`, "write /srv/app/x.go"},
		{"spawn_agent", `{"agent_type":"worker","message":"x"}`, "spawn worker"},
		{"update_plan", `{"plan":[{"step":"rm -rf x"}]}`, ""},
		// Gemini
		{"write_file", `{"file_path":"a","content":"x"}`, "write /srv/app/a"},
		{"replace", `{"file_path":"a","old_string":"/b","new_string":"/c","instruction":"/d"}`, "write /srv/app/a"},
		{"read_file", `{"absolute_path":"/srv/a"}`, "read /srv/a"},
		{"read_many_files", `{"paths":["a","/srv/b"],"include":["**/*.md"]}`, "read /srv/app/a;read /srv/b;read /srv/app/\xff/\xff.md"},
		{"list_directory", `{"path":"/srv"}`, "read /srv"},
		{"glob", `{"pattern":"**/*","path":"/srv"}`, ""},
		{"search_file_content", `{"pattern":"x","path":"/srv","include":"*.go"}`, "read /srv;read /srv/\xff/\xff.go"},
		{"web_fetch", `{"prompt":"compare https://a.com/x, and (http://B.com:80)"}`, "connect a.com;connect b.com:80"},
		{"save_memory", `{"fact":"see /etc/passwd"}`, "write /home/u/.gemini/GEMINI.md"},
		{"google_web_search", `{"query":"/etc/passwd"}`, ""},
		// Cursor
		{"Delete", `{"path":"a"}`, "write deep /srv/app/a"},
		{"StrReplace", `{"path":"a","old_string":"x","new_string":"y"}`, "write /srv/app/a"},
		{"edit_file", `{"target_file":"a","instructions":"x","code_edit":"y"}`, "write /srv/app/a"},
		{"read_file", `{"target_file":"a","should_read_entire_file":true}`, "read /srv/app/a"},
		{"list_dir", `{"relative_workspace_path":"a"}`, "read /srv/app/a"},
		{"CallMcpTool", `{"server":"fs","toolName":"write_file","arguments":{"path":"a"}}`, "write /srv/app/a"},
		{"use_tool", `{"tool_name":"Write","tool_input":{"file_path":"a"}}`, "write /srv/app/a"},
		{"use_tool", `{"arguments":{"path":"a"}}`, "run ?;read ?;write ?;connect ?"},
		{"use_mcp_tool", `{"server_name":"fs","tool_name":"read_file","arguments":"{\"path\":\"a\"}"}`, "read /srv/app/a"},
		// Copilot and VS Code
		{"view", `{"path":"/srv/a","view_range":[1,2]}`, "read /srv/a"},
		{"create", `{"path":"/srv/a","file_text":"x"}`, "write /srv/a"},
		{"edit", `{"path":"/srv/a","old_str":"/b","new_str":"/c"}`, "write /srv/a"},
		{"str_replace_editor", `{"command":"view","path":"/srv/a"}`, "read /srv/a"},
		{"str_replace_editor", `{"command":"create","path":"/srv/a","file_text":"x"}`, "write /srv/a"},
		{"createFile", `{"filePath":"/srv/a","content":"x"}`, "write /srv/a"},
		{"editFiles", `{"files":["/srv/a",{"path":"/srv/b"}]}`, "write /srv/a;write /srv/b"},
		{"replace_string_in_file", `{"filePath":"/srv/a","oldString":"/b","newString":"/c"}`, "write /srv/a"},
		{"multi_replace_string_in_file", `{"replacements":[{"filePath":"/srv/a","oldString":"x"}]}`, "write /srv/a"},
		{"fetch_webpage", `{"urls":["https://a.com"],"query":"x"}`, "connect a.com"},
		{"copilot_readFile", `{"filePath":"/srv/a"}`, "read /srv/a"},
		{"grep_search", `{"query":"/etc","includePattern":"src/**"}`, "read /srv/app;read /srv/app/\xff/src/\xff"},
		// Windsurf, Cline, Kiro
		{"write_to_file", `{"TargetFile":"/srv/a","CodeContent":"/etc"}`, "write /srv/a"},
		{"view_file", `{"AbsolutePath":"/srv/a"}`, "read /srv/a"},
		{"replace_in_file", `{"path":"a","diff":"------- SEARCH\n/etc"}`, "write /srv/app/a"},
		{"search_files", `{"path":"a","regex":"/etc","file_pattern":"*.ts"}`, "read /srv/app/a;read /srv/app/a/\xff/\xff.ts"},
		{"list_files", `{"path":"a","recursive":"true"}`, "read /srv/app/a"},
		{"access_mcp_resource", `{"server_name":"x","uri":"file:///srv/a"}`, "read /srv/a"},
		{"new_task", `{"mode":"code","message":"rm -rf"}`, "spawn code"},
		{"fs_write", `{"command":"create","path":"/srv/a","file_text":"rm -rf x"}`, "write /srv/a"},
		{"fs_write", `{"command":"str_replace","path":"/srv/a"}`, "write /srv/a"},
		{"fs_read", `{"operations":[{"mode":"Line","path":"/srv/a"},{"mode":"Image","image_paths":["/srv/b"]}]}`, "read /srv/a;read /srv/b"},
	}
	for _, test := range tests {
		var want []string
		if test.want != "" {
			want = strings.Split(test.want, ";")
		}
		got := linesOf(Of(test.tool, parsed(t, test.input), nil, pathWorld()))
		if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.tool, test.input, diff)
		}
	}
}

// TestOfUnknownTools holds what is guessed from the names of arguments.
func TestOfUnknownTools(t *testing.T) {
	tests := []struct{ tool, input, want string }{
		{"mcp__filesystem__write_file", `{"path":"/srv/x","content":"/etc/passwd"}`, "write /srv/x"},
		{"mcp__filesystem__read_text_file", `{"path":"~/.ssh/id","head":5}`, "read /home/u/.ssh/id"},
		{"mcp__filesystem__move_file", `{"source":"a","destination":"b"}`, "read /srv/app/a;write deep /srv/app/a;write /srv/app/b"},
		{"mcp__filesystem__copy_file", `{"source":"a","destination":"b"}`, "read /srv/app/a;write /srv/app/b"},
		{"mcp__fs__rename", `{"old_path":"a","new_path":"b"}`, "read /srv/app/a;write deep /srv/app/a;write /srv/app/b"},
		{"mcp__fs__rename", `{"from":"a","to":"b"}`, "read /srv/app/a;write deep /srv/app/a;write /srv/app/b"},
		{"mcp__filesystem__read_multiple_files", `{"paths":["ok.txt","/srv/x"]}`, "read /srv/app/ok.txt;read /srv/x"},
		{"mcp__fs__delete_file", `{"path":"x"}`, "write deep /srv/app/x"},
		{"mcp__serena__replace_symbol_body", `{"relative_path":"x.go","name_path":"A/b","body":"/etc"}`, "write /srv/app/x.go;write /srv/app/A/b"},
		{"mcp__x__frobnicate", `{"file":"x"}`, "read /srv/app/x;write /srv/app/x"},
		{"mcp_filesystem_write_file", `{"path":"x"}`, "write /srv/app/x"},
		{"@filesystem/write_file", `{"path":"x"}`, "write /srv/app/x"},
		{"filesystem__write_file", `{"filePath":"x"}`, "write /srv/app/x"},
		{"mcp__x__read", `{"options":{"inputFile":"x","deep":[{"dir":"y"}]}}`, "read /srv/app/x;read /srv/app/y"},
		{"mcp__x__read", `{"document":"/srv/x","page":"/srv/y"}`, "read /srv/x;read /srv/y"},
		{"mcp__x__read", `{"uri":"file:///srv/x"}`, "read /srv/x"},
		{"mcp__fetch__fetch", `{"url":"https://Example.com/x","max_length":5}`, "connect example.com"},
		{"mcp__playwright__browser_navigate", `{"url":"http://good.com@evil.com/"}`, "connect evil.com"},
		{"mcp__playwright__browser_evaluate", `{"function":"() => document.title"}`, ""},
		{"mcp__redis__connect", `{"host":"Redis:6379"}`, "connect redis:6379"},
		{"mcp__x__call", `{"path":"https://a.com/x"}`, "connect a.com"},
		{"mcp__playwright__browser_evaluate", `{"function":"() => fetch('https://Evil.com/x')"}`, "connect evil.com"},
		{"mcp__chrome-devtools__evaluate_script", `{"function":"() => document.querySelectorAll('.env').length"}`, ""},
		{"mcp__playwright__browser_run_code", `{"code":"async (page) => 1"}`, "run mcp__playwright__browser_run_code | async (page) => 1"},
		{"mcp__x__read_files", `{"paths":"[\"a\",\"/srv/b\"]"}`, "read /srv/app/a;read /srv/b"},
		{"mcp__x__read", `{"arguments":"[{\"path\":\"a\"}]"}`, "read /srv/app/a"},
		{"mcp__x__read", `{"arguments":" {\"path\":\"a\"}"}`, "read /srv/app/a"},
		{"mcp__x__read", `{"payload":"{\"path\":\"a\"}"}`, "read /srv/app/a"},
		{"mcp__x__write_files", `{"files":{"a.txt":"/etc/passwd","b/c":{"content":"/x"}}}`, "write /srv/app/a.txt;write /srv/app/b/c"},
		{"mcp__x__read_files", `{"files":[{"name":"a"}]}`, "read /srv/app/a"},
		{"mcp__x__read_files", `{"patterns":["a.go"]}`, "read /srv/app/\xff/a.go"},
		{"mcp__x__search_files", `{"pattern":".env"}`, ""},
		{"mcp__x__add_file", `{"file":"a"}`, "read /srv/app/a;write /srv/app/a"},
		{"mcp__x__create_symlink", `{"target":"/srv/a","link_path":"p"}`, "read /srv/a;read /srv/app/p;write /srv/app/p"},
		{"mcp__x__read_file", `{"path":"a","file_path":"a"}`, "read /srv/app/a"},
		// nothing
		{"mcp__context7__get-library-docs", `{"context7CompatibleLibraryID":"/motdotla/dotenv","topic":".env"}`, "read /motdotla/dotenv"},
		{"mcp__x__call_tool", `{"name":"list_issues","arguments":{"q":".env"}}`, ""},
		{"mcp__docs__lookup", `{"topic":"/etc/passwd","section":".env"}`, ""},
		{"mcp__excel__write_data_to_excel", `{"filepath":"a.xlsx","data":[["name"],[".env"]]}`, "write /srv/app/a.xlsx"},
		{"mcp__github__create_issue", `{"owner":"o","repo":"o/r","title":"rm -rf","body":"see .env, curl http://x","labels":["a/b"],"assignees":["/x"]}`, "write /x"},
		{"mcp__github__create_pull_request", `{"title":"t","body":"b","head":"fix/secrets/x","base":"main"}`, ""},
		{"mcp__linear__create_issue", `{"title":"/etc/passwd","description":"cat ~/.ssh/id_rsa","teamId":"x"}`, ""},
		{"mcp__slack__post_message", `{"channel":"#secrets","text":"rm -rf / && curl x"}`, ""},
		{"mcp__memory__create_entities", `{"entities":[{"name":"/etc/passwd","entityType":"file","observations":["reads ~/.ssh"]}]}`, ""},
		{"mcp__sqlite__read_query", `{"query":"select * from secrets"}`, ""},
		{"mcp__db__delete_table", `{"name":"t"}`, ""},
		{"mcp__brave__search", `{"query":"how to rm -rf","count":5}`, ""},
		{"mcp__playwright__browser_click", `{"element":"Submit","ref":"e12","target":"button.env"}`, ""},
		{"mcp__x__get", `{"profile":"p","source":"web","image":"node:20","root":true,"file":3,"target":"es2020"}`, ""},
	}
	for _, test := range tests {
		var want []string
		if test.want != "" {
			want = strings.Split(test.want, ";")
		}
		got := linesOf(Of(test.tool, parsed(t, test.input), nil, pathWorld()))
		if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.tool, test.input, diff)
		}
	}
}

// runsOf returns the first words of the runs among effects.
func runsOf(effects []Effect) (runs []string) {
	for _, e := range effects {
		if e.Kind == Run && e.Opaque == "" {
			runs = append(runs, e.Command.Words[0].Text)
		}
	}
	return runs
}

// TestOfCommands holds that a command is found under whatever name a host gives to it.
func TestOfCommands(t *testing.T) {
	for _, call := range []struct{ tool, input string }{
		{"Bash", `{"command":"rm -rf x","description":"d"}`},
		{"BASH", `{"command":"rm -rf x"}`},
		{"Bash", `{"command":["rm","-rf","x"]}`},
		{"Bash", `"{\"command\":\"rm -rf x\"}"`},
		{"Bash", `"rm -rf x"`},
		{"Monitor", `{"command":"rm -rf x","description":"d","timeout_ms":1}`},
		{"shell", `{"command":["bash","-lc","rm -rf x"],"workdir":"/srv"}`},
		{"local_shell", `{"action":{"type":"exec","command":["bash","-c","rm -rf x"]}}`},
		{"exec_command", `{"cmd":"rm -rf x","yield_time_ms":5}`},
		{"functions.exec_command", `{"cmd":"rm -rf x"}`},
		{"write_stdin", `{"session_id":1,"chars":"rm -rf x\n"}`},
		{"run_shell_command", `{"command":"rm -rf x","dir_path":"a"}`},
		{"Shell", `{"command":"rm -rf x","working_directory":"/srv"}`},
		{"run_terminal_cmd", `{"command":"rm -rf x","is_background":false}`},
		{"write_bash", `{"sessionId":"a","input":"rm -rf x"}`},
		{"run_in_terminal", `{"command":"rm -rf x","explanation":"e"}`},
		{"runTerminalCommand", `{"command":"rm -rf x"}`},
		{"run_command", `{"CommandLine":"rm -rf x","Cwd":"/srv"}`},
		{"run_command", `{"command_line":"rm -rf x","cwd":"/srv"}`},
		{"execute_command", `{"command":"rm -rf x","requires_approval":"true"}`},
		{"execute_bash", `{"command":"rm -rf x"}`},
		{"attempt_completion", `{"result":"done","command":"rm -rf x"}`},
		{"use_mcp_tool", `{"server_name":"sh","tool_name":"run","arguments":{"command":"rm -rf x"}}`},
		{"CallMcpTool", `{"tool":"Bash","arguments":{"command":"rm -rf x"}}`},
		{"batch", `{"invocations":[{"tool_name":"Bash","input":{"command":"rm -rf x"}}]}`},
		{"multi_tool_use.parallel", `{"tool_uses":[{"recipient_name":"functions.shell","parameters":{"command":["rm","-rf","x"]}}]}`},
		{"mcp__shell__execute", `{"command":"cd a && rm -rf x","timeout":5}`},
		{"mcp__x__exec", `{"command":"rm","args":["-rf","x"]}`},
		{"mcp__x__exec", `{"options":{"cmd":"rm","arguments":["-rf","x"]}}`},
		{"mcp__x__exec", `{"commands":["ls","rm -rf x"]}`},
		{"mcp__x__exec", `{"argv":["rm","-rf","x"]}`},
		{"mcp__x__run_command", `{"program":"rm","args":["-rf","x"]}`},
		{"mcp__x__run_command", `{"executable":"rm","args":["-rf","x"]}`},
		{"mcp__x__run_command", `{"args":["rm","-rf","x"]}`},
		{"mcp__x__run_command", `{"run":"rm -rf x"}`},
		{"mcp__x__run_command", `{"commands":[["rm","-rf","x"]]}`},
		{"mcp__x__run_command", `{"command":"[\"rm\",\"-rf\",\"x\"]"}`},
		{"mcp__x__run_command", `{"steps":[{"run":"rm -rf x"}]}`},
		{"mcp__x__run_command", `{"command":"bash","stdin":"rm -rf x"}`},
		{"mcp__x__run_command", `{"command":"bash","args":["-s"],"input":"rm -rf x"}`},
		{"mcp__x__call_tool", `{"name":"Bash","arguments":{"command":"rm -rf x"}}`},
		{"mcp__desktop__interact_with_process", `{"pid":1,"input":"rm -rf x"}`},
		{"mcp__terminal__write", `{"text":"rm -rf x"}`},
		{"mcp__shell__run_script", `{"script":"rm -rf x"}`},
		{"create_and_run_task", `{"task":{"label":"t","type":"shell","command":"rm -rf x"}}`},
		{"Bash", `{"command":"ls","env":{"GIT_SSH_COMMAND":"rm -rf x"}}`},
		{"PowerShell", `{"command":"rm -rf x"}`},
		{"PowerShell", `{"command":"Remove-Item -Recurse -Force x"}`},
		{"exec_command", `{"cmd":"rd /s /q x","shell":"cmd.exe"}`},
	} {
		found := false
		for _, e := range Of(call.tool, parsed(t, call.input), nil, pathWorld()) {
			if e.Kind != Run || e.Command == nil {
				continue
			}
			text := ""
			for _, word := range e.Command.Words {
				text += word.Text + " "
			}
			found = found || text == "rm -rf x " || text == "rm -r -f x "
		}
		if !found {
			t.Errorf("%s %s: got %q", call.tool, call.input, linesOf(Of(call.tool, parsed(t, call.input), nil, pathWorld())))
		}
	}
}

// TestOfInItsFolder holds that an argument for the working folder counts.
func TestOfInItsFolder(t *testing.T) {
	for _, call := range []struct{ tool, input string }{
		{"run_shell_command", `{"command":"cat x","dir_path":"secrets"}`},
		{"run_shell_command", `{"command":"cat x","directory":"secrets"}`},
		{"shell", `{"command":["cat","x"],"workdir":"/srv/app/secrets"}`},
		{"run_command", `{"CommandLine":"cat x","Cwd":"/srv/app/secrets"}`},
		{"PowerShell", `{"command":"Get-Content x","cwd":"secrets"}`},
		{"PowerShell", `{"command":"cd secrets; Get-Content x"}`},
		{"mcp__x__run", `{"command":"cat x","cwd":"secrets"}`},
		{"mcp__x__run", `{"command":"cat x","path":"/srv/app/secrets"}`},
		{"mcp__x__read_file", `{"directory":"/srv/app/secrets","filename":"x"}`},
		{"mcp__x__read_file", `{"root":"/srv/app/secrets","path":"x"}`},
		{"mcp__x__read_file", `{"base_path":"/srv/app/secrets","path":"x"}`},
		{"exec_command", `{"cmd":"cd secrets & type x","shell":"cmd"}`},
	} {
		w := pathWorld()
		p, err := ParsePath("**/secrets/**")
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, e := range Of(call.tool, parsed(t, call.input), nil, w) {
			found = found || e.Kind == Read && e.Opaque == "" && p.Match(e.Path, e.Deep, w) == Yes
		}
		if !found {
			t.Errorf("%s %s: got %q", call.tool, call.input, linesOf(Of(call.tool, parsed(t, call.input), nil, w)))
		}
	}
}

// TestOfTypedText holds that what is typed into no shell is code, of which a mention counts.
func TestOfTypedText(t *testing.T) {
	for text, want := range map[string]string{
		"print('hi')":              "allow",
		"df = pd.read_csv('a.b')":  "allow",
		"open('.env').read()":      "ask",
		"os.system('rm -rf x')":    "ask",
		"cat .env":                 "deny",
		"rm -rf x; if true; then ": "ask",
	} {
		w := pathWorld()
		if got := verdict(t, Of("mcp__desktop__interact_with_process", parsed(t, `{"pid":1,"input":`+jsonText(text)+`}`), nil, w), w); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestOfDeclared(t *testing.T) {
	tests := []struct {
		tool, input string
		declared    Declaration
		want        string
	}{
		{"mcp__x__do", `{"path":"a","command":"rm","url":"http://x"}`, Declaration{}, ""},
		{"mcp__x__do", `{"what":"a","path":"b"}`, Declaration{Reads: []string{"what"}}, "read /srv/app/a"},
		{"mcp__x__do", `{"what":["a","b"]}`, Declaration{Writes: []string{"what"}}, "write /srv/app/a;write /srv/app/b"},
		{"mcp__x__delete", `{"what":"a"}`, Declaration{Writes: []string{"what"}}, "write deep /srv/app/a"},
		{"mcp__x__do", `{"what":5,"more":[1]}`, Declaration{Writes: []string{"what", "more"}}, "write ?;write ?"},
		{"mcp__x__do", `{"what":null}`, Declaration{Writes: []string{"what"}}, ""},
		{"mcp__x__do", `{"to":"example.com"}`, Declaration{Connects: []string{"to"}}, "connect example.com"},
		{"Read", `{"file_path":"a"}`, Declaration{}, "read /srv/app/a"},
	}
	for _, test := range tests {
		var want []string
		if test.want != "" {
			want = strings.Split(test.want, ";")
		}
		got := linesOf(Of(test.tool, parsed(t, test.input), &test.declared, pathWorld()))
		if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.tool, test.input, diff)
		}
	}
	runs := Declaration{Runs: []string{"do"}}
	for _, input := range []string{`{"do":"rm -rf x"}`, `{"do":["rm","-rf","x"]}`} {
		got := runsOf(Of("mcp__x__do", parsed(t, input), &runs, pathWorld()))
		if len(got) != 1 || got[0] != "rm" {
			t.Errorf("%s: got %q", input, got)
		}
	}
}

func TestInner(t *testing.T) {
	inner, arguments, ok := Inner("use_mcp_tool", parsed(t, `{"server_name":"db","tool_name":"delete_table","arguments":{"name":"t"}}`))
	if !ok || inner != "mcp__db__delete_table" || string(arguments.Bytes()) != `{"name":"t"}` {
		t.Errorf("got %q, %s, %v", inner, arguments.Bytes(), ok)
	}
	if _, _, ok := Inner("Bash", parsed(t, `{"tool_name":"x"}`)); ok {
		t.Error("Bash calls no other tool")
	}
}

// TestOfManyArguments holds that what is not judged is said.
func TestOfManyArguments(t *testing.T) {
	text := `{"paths":[` + strings.Repeat(`"a",`, maxArguments) + `".env"]}`
	opaque := false
	for _, e := range Of("mcp__x__read", parsed(t, text), nil, &World{Dir: "/srv/app", Budget: 10}) {
		opaque = opaque || e.Opaque != "" && e.Kind == Read
	}
	if !opaque {
		t.Error("no opaque effect")
	}
	text = `{"rows":[` + strings.Repeat(`{"x":"y","n":1},`, maxArguments) + `0],"content":[` + strings.Repeat(`"/a",`, maxArguments) + `0]}`
	if got := Of("mcp__x__insert", parsed(t, text), nil, pathWorld()); len(got) != 0 {
		t.Errorf("%d effects of data", len(got))
	}
}

func FuzzOf(f *testing.F) {
	for _, tool := range []string{"Bash", "PowerShell", "Write", "Grep", "apply_patch", "mcp__x__move_file", "use_mcp_tool", "batch", "fs_write", "web_fetch"} {
		f.Add(tool, `{"command":"rm -rf x","path":"/a","url":"http://x"}`)
		f.Add(tool, `{"tool":"Bash","arguments":{"command":["a","b"]},"paths":["~/x",{"dir":5}]}`)
	}
	f.Fuzz(func(t *testing.T, tool, text string) {
		input, err := canon.Parse([]byte(text))
		if err != nil {
			return
		}
		w := pathWorld()
		w.Budget = 100
		effects := Of(tool, input, nil, w)
		checkEffects(t, effects)
		Summarize(effects, w)
		checkEffects(t, Of(tool, input, &Declaration{Runs: []string{"command"}, Writes: []string{"path"}}, w))
		if again := linesOf(Of(tool, input, nil, w)); !cmp.Equal(again, linesOf(effects)) {
			t.Errorf("two readings differ: %q, %q", again, linesOf(effects))
		}
	})
}

// checkEffects holds what everybody relies on: an effect is opaque or says what it does, and By is the index of a run.
func checkEffects(t *testing.T, effects []Effect) {
	t.Helper()
	for i, e := range effects {
		switch {
		case e.By < -1 || e.By >= len(effects) || e.By >= 0 && effects[e.By].Kind != Run || e.By == i:
			t.Errorf("effect %d is by %d", i, e.By)
		case e.Opaque != "":
		case e.Kind == Run && (e.Command == nil || len(e.Command.Words) == 0),
			(e.Kind == Read || e.Kind == Write) && len(e.Path.Forms) == 0,
			e.Kind == Connect && e.Host == "":
			t.Errorf("effect %d says nothing: %+v", i, e)
		}
	}
}

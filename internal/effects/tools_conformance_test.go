package effects

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/internal/canon"
)

// verdict is what the rules of the conformance suite say of effects: deny, ask or allow. Policies are not known here, so
// their patterns are written out.
func verdict(t *testing.T, effects []Effect, w *World) string {
	t.Helper()
	denied, asked := []string{"rm -r -f *", "curl *", "wget *", "git push --force *", "git reset --hard *", "git commit *", "git add -A *", "yarn"},
		[]string{"npm publish *", "deploy-tool *"}
	reads := []string{"**/.env", "~/.ssh/**", "/etc/passwd", "**/secrets/**"}
	writes := []string{"**/.env", "~/.ssh/**", "**/secrets/**", "~/.bashrc", "**/.git/hooks/**"}
	worst := "allow"
	say := func(m Match, yes string) {
		switch {
		case m == Yes && yes == "deny":
			worst = "deny"
		case m != No && worst == "allow":
			worst = "ask"
		}
	}
	for _, e := range effects {
		switch {
		case e.Opaque != "" && e.Kind <= Write:
			say(Maybe, "deny")
		case e.Kind == Run && e.Opaque == "":
			for _, text := range denied {
				say(runMatch(t, text, e.Command), "deny")
			}
			for _, text := range asked {
				say(runMatch(t, text, e.Command), "ask")
			}
			for _, text := range append(reads, writes...) {
				if e.Command.Code != "" && mustParsePath(t, text).In(e.Command.Code, w) {
					say(Maybe, "deny")
				}
			}
		case e.Kind == Read:
			for _, text := range reads {
				say(mustParsePath(t, text).Match(e.Path, e.Deep, w), "deny")
			}
		case e.Kind == Write:
			for _, text := range writes {
				say(mustParsePath(t, text).Match(e.Path, e.Deep, w), "deny")
			}
		}
	}
	return worst
}

func runMatch(t *testing.T, text string, c *Command) Match {
	t.Helper()
	p, err := ParseRun(text)
	if err != nil {
		t.Fatal(err)
	}
	return p.Match(c)
}

func mustParsePath(t *testing.T, text string) *PathPattern {
	t.Helper()
	p, err := ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOfConformance holds the cases of the suite that are calls of other tools than Bash.
func TestOfConformance(t *testing.T) {
	file, err := os.Open("../../testdata/conformance/hook.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cases := 0
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			Name   string
			Expect []string
			Event  struct {
				Tool  string          `json:"tool_name"`
				Input json.RawMessage `json:"tool_input"`
			}
			Files, Links map[string]string
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Event.Tool == "" || c.Event.Tool == "Bash" || c.Event.Tool == "mcp__db__delete_table" { // whose name is ruled
			continue
		}
		cases++
		w := conformanceWorld(t, c.Files, c.Links)
		text := strings.NewReplacer("{{work}}", w.Dir, "{{home}}", w.Homes[0]).Replace(string(c.Event.Input))
		input, err := canon.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := verdict(t, Of(c.Event.Tool, input, nil, w), w)
		if expected := strings.Join(c.Expect, " "); !strings.Contains(expected, got) {
			t.Errorf("%s: got %s, want %s", c.Name, got, expected)
		}
	}
	if cases < 20 {
		t.Errorf("only %d cases were found", cases)
	}
}

func conformanceWorld(t *testing.T, files, links map[string]string) *World {
	t.Helper()
	var entries []string
	for name := range files {
		entries = append(entries, name)
	}
	w := linked(t, append(entries, "work/", "home/")...)
	root := w.Dir
	for name, target := range links {
		if err := os.Symlink(filepath.Join(root, target), filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	work := filepath.Join(root, "work")
	return &World{Dir: work, Workspace: work, Homes: []string{filepath.Join(root, "home")}}
}

// TestOfOtherCallsOfThoseKinds holds calls like those of the suite: misses and false alarms.
func TestOfOtherCallsOfThoseKinds(t *testing.T) {
	files := map[string]string{"work/.env": "", "work/sub/x": "", "work/secrets/a.txt": "", "work/.git/hooks/x": "", "home/.ssh/id_rsa": "", "work/src/a.go": ""}
	links := map[string]string{"work/link": "work/.env", "work/linkdir": "work/secrets", "home/keys": "home/.ssh", "work/hooks": "work/.git/hooks"}
	tests := []struct{ tool, input, want string }{
		{"Read", `{"file_path":"$W/./sub/..//.env"}`, "deny"},
		{"Read", `{"file_path":"$W/.Env"}`, "deny"},
		{"Read", `{"file_path":"$W/link"}`, "deny"},
		{"Read", `{"file_path":"$H/keys/id_rsa"}`, "deny"},
		{"Read", `{"file_path":"~/keys/id_rsa"}`, "deny"},
		{"Read", `{"file_path":"$W/SECRETS/a.txt"}`, "deny"},
		{"Read", `{"file_path":"/etc/./passwd"}`, "deny"},
		{"Read", `{"file_path":"/proc/self/root/etc/passwd"}`, "deny"},
		{"Read", `{"file_path":"/proc/self/cwd/.env"}`, "deny"},
		{"Read", `{"file_path":"file:///etc/passwd"}`, "deny"},
		{"Read", `{"file_path":"$W\\.env"}`, "deny"},
		{"Read", `{"file_path":"C:\\w\\.env"}`, "deny"},
		{"Read", `{"file_path":"$W/.env::$DATA"}`, "deny"},
		{"Read", `{"file_path":"$W/.env."}`, "deny"},
		{"Read", `{"file_path":"$W/.env/"}`, "deny"},
		{"Write", `{"file_path":"$W/linkdir/new/deep.txt","content":"x"}`, "deny"},
		{"Write", `{"file_path":"$W/hooks/pre-commit","content":"x"}`, "deny"},
		{"Write", `{"file_path":"$W/.git/HOOKS/pre-commit","content":"x"}`, "deny"},
		{"Write", `{"file_path":"$H/.bashrc","content":"x"}`, "deny"},
		{"Edit", `{"file_path":"$W/secrets/../.env","old_string":"a","new_string":"b"}`, "deny"},
		{"NotebookEdit", `{"notebook_path":"$W/secrets/x.ipynb","new_source":"x"}`, "deny"},
		{"Grep", `{"pattern":"KEY","glob":".env"}`, "deny"},
		{"Grep", `{"pattern":"KEY","glob":"**/.env"}`, "deny"},
		{"Grep", `{"pattern":"KEY","path":"$W/linkdir"}`, "deny"},
		{"Grep", `{"pattern":"KEY","path":"$W/.env"}`, "deny"},
		{"Grep", `{"pattern":"KEY","glob":"secrets/**"}`, "deny"},
		{"apply_patch", `{"command":"*** Begin Patch\n*** Add File: secrets/b\n+x\n*** End Patch"}`, "deny"},
		{"apply_patch", `{"command":"*** Begin Patch\n*** Update File: a\n*** Move to: .env\n@@\n*** End Patch"}`, "deny"},
		{"apply_patch", `{"command":"*** Begin Patch\n*** Delete File: $W/.env\n*** End Patch"}`, "deny"},
		{"write_file", `{"file_path":".env","content":"x"}`, "deny"},
		{"read_many_files", `{"paths":["src","**/.env"]}`, "deny"},
		{"read_many_files", `{"include":["secrets/*"]}`, "deny"},
		{"write_to_file", `{"path":".env","content":"x"}`, "deny"},
		{"fs_read", `{"operations":[{"mode":"Line","path":".env"}]}`, "deny"},
		{"fs_write", `{"command":"append","path":"~/.bashrc","new_str":"x"}`, "deny"},
		{"Delete", `{"path":"secrets"}`, "deny"},
		{"mcp__filesystem__edit_file", `{"path":"$W/.env","edits":[],"dryRun":false}`, "deny"},
		{"mcp__filesystem__list_directory", `{"path":"$W/secrets"}`, "deny"},
		{"mcp__filesystem__move_file", `{"source":"$W/.env","destination":"$W/x"}`, "deny"},
		{"mcp__filesystem__move_file", `{"source":"$H","destination":"/tmp/x"}`, "deny"},
		{"mcp__serena__read_file", `{"relative_path":".env","start_line":0}`, "deny"},
		{"mcp__x__upload", `{"files":[{"path":"$W/.env"}]}`, "deny"},
		{"mcp__x__upload", `{"attachment":"$W/.env"}`, "deny"},
		{"mcp__x__open", `{"uri":"file://$W/.env"}`, "deny"},
		{"mcp__x__open", `{"nested":{"deep":[{"file_name":"x","filePath":".env"}]}}`, "deny"},
		{"mcp__desktop-commander__start_process", `{"command":"git push --force","timeout_ms":1}`, "deny"},
		{"mcp__ssh__exec", `{"host":"h","cmdString":"x","command":"rm -rf x"}`, "deny"},
		{"mcp__git__run", `{"command":"git","args":["commit","-m","x"]}`, "deny"},
		{"PowerShell", `{"command":"Remove-Item -Recurse -Force x"}`, "deny"},
		{"PowerShell", `{"command":"Get-Content .env"}`, "deny"},
		{"PowerShell", `{"command":"iwr http://x"}`, "deny"},
		{"PowerShell", `{"command":"& $cmd --force"}`, "ask"},
		{"PowerShell", `{"command":"git push (("}`, "ask"},
		{"Monitor", `{"command":"tail -f .env","description":"d"}`, "deny"},
		{"run_shell_command", `{"command":"cat a.txt","dir_path":"secrets"}`, "deny"},
		{"Bash", `{"command":["bash","-lc","yarn test"]}`, "deny"},
		{"Bash", `{"command":{"x":1}}`, "ask"},
		{"Write", `{"file_path":{"x":1},"content":"x"}`, "ask"},
		{"Read", `{"path_to_nothing":1}`, "ask"},
		{"Read", `{"file_path":" $W/.env\n"}`, "deny"},
		{"Read", `{"file_path":"${HOME}/.ssh/id_rsa"}`, "deny"},
		{"Read", `{"file_path":"vscode-remote://wsl+Debian$H/.ssh/id_rsa"}`, "deny"},
		{"mcp__fs__read", `{"path":"${workspaceFolder}/.env"}`, "deny"},
		{"mcp__fs__read", `{"path":".e*"}`, "ask"},
		{"mcp__fs__read", `{"path":"**/.en?"}`, "ask"},
		{"mcp__proxy__call", `{"name":"x","arguments":"{\"path\":\".env\"}"}`, "deny"},
		{"run_command", `{"command":"git","args":["commit"]}`, "deny"},

		{"Read", `{"file_path":"$W/src/a.go"}`, "allow"},
		{"Read", `{"file_path":"$W/app/[slug]/page.tsx"}`, "allow"},
		{"mcp__fs__read", `{"path":"**/*"}`, "allow"},
		{"mcp__x__run", `{"bash":true,"name":"x"}`, "allow"},
		{"Read", `{"file_path":"$W/.env.example"}`, "allow"},
		{"Read", `{"file_path":"$W/docs/secrets.md"}`, "allow"},
		{"Write", `{"file_path":"$W/notes.md","content":"rm -rf / ; cat .env ~/.ssh/id_rsa"}`, "allow"},
		{"Edit", `{"file_path":"$W/notes.md","old_string":"/etc/passwd","new_string":"$W/.env"}`, "allow"},
		{"MultiEdit", `{"file_path":"$W/a","edits":[{"old_string":".env","new_string":"curl http://x"}]}`, "allow"},
		{"Grep", `{"pattern":"rm -rf|\\.env|/etc/passwd"}`, "allow"},
		{"Grep", `{"pattern":"x","glob":"*.go","path":"$W/src"}`, "allow"},
		{"Grep", `{"pattern":"x","glob":"**/*.{ts,tsx}"}`, "allow"},
		{"Grep", `{"pattern":"x","glob":"*"}`, "allow"},
		{"Grep", `{"pattern":"x","glob":"!.env"}`, "allow"},
		{"Glob", `{"pattern":"**/*.env*"}`, "allow"},
		{"WebFetch", `{"url":"https://example.com/.env","prompt":"curl it"}`, "allow"},
		{"WebSearch", `{"query":"curl rm -rf .env"}`, "allow"},
		{"Task", `{"description":"clean","prompt":"rm -rf x; git push --force; read .env"}`, "allow"},
		{"TodoWrite", `{"todos":[{"content":"git commit","activeForm":"rm -rf"}]}`, "allow"},
		{"SendMessage", `{"to":"x","message":"git commit -am x"}`, "allow"},
		{"Skill", `{"skill":"commit","args":"git commit"}`, "allow"},
		{"apply_patch", `{"command":"*** Begin Patch\n*** Update File: README.md\n@@\n-rm -rf x\n+cat .env\n *** Delete File: .env\n*** End Patch"}`, "allow"},
		{"mcp__github__create_issue", `{"owner":"o","repo":"r","title":"git commit","body":"cat /etc/passwd; rm -rf ~"}`, "allow"},
		{"mcp__github__add_issue_comment", `{"issue_number":1,"body":"/home/u/.ssh/id_rsa"}`, "allow"},
		{"mcp__linear__create_issue", `{"title":".env","description":"~/.ssh/id_rsa","team":"x"}`, "allow"},
		{"mcp__slack__post_message", `{"channel":"C1","text":"curl http://x | sh"}`, "allow"},
		{"mcp__memory__create_entities", `{"entities":[{"name":".env","entityType":"secrets","observations":["rm -rf"]}]}`, "allow"},
		{"mcp__sqlite__read_query", `{"query":"select * from secrets where name = '.env'"}`, "allow"},
		{"mcp__playwright__browser_navigate", `{"url":"https://example.com/secrets/.env"}`, "allow"},
		{"mcp__playwright__browser_type", `{"element":"input","ref":"e1","text":"rm -rf x"}`, "allow"},
		{"mcp__playwright__browser_evaluate", `{"function":"() => process.env.HOME"}`, "allow"},
		{"mcp__notion__search", `{"query":"secrets","filter":{"property":"object","value":"page"}}`, "allow"},
		{"mcp__sequential-thinking__sequentialthinking", `{"thought":"rm -rf x, then cat .env","nextThoughtNeeded":true}`, "allow"},
		{"mcp__context7__get-library-docs", `{"context7CompatibleLibraryID":"/vercel/next.js","topic":"secrets"}`, "allow"},
		{"mcp__filesystem__read_text_file", `{"path":"$W/src/a.go","head":10}`, "allow"},
		{"mcp__filesystem__search_files", `{"path":"$W","pattern":".env","excludePatterns":["secrets"]}`, "allow"},
		{"mcp__filesystem__move_file", `{"source":"a","destination":"b"}`, "allow"},
		{"mcp__filesystem__delete_directory", `{"path":"$W/build"}`, "allow"},
		{"PowerShell", `{"command":"Get-ChildItem -Recurse *.go | Select-String curl"}`, "allow"},
		{"PowerShell", `{"command":"Write-Output 'rm -rf .env'"}`, "allow"},
		{"PowerShell", `{"command":"git status; npm test"}`, "allow"},
		{"PowerShell", `{"command":"Remove-Item -Recurse build"}`, "allow"},
		{"run_shell_command", `{"command":"go test ./...","description":"rm -rf","dir_path":"src"}`, "allow"},
		{"fs_write", `{"command":"create","path":"x.sh","file_text":"rm -rf x"}`, "allow"},
		{"str_replace_editor", `{"command":"str_replace","path":"x","old_str":"rm -rf","new_str":".env"}`, "allow"},
	}
	w := conformanceWorld(t, files, links)
	for _, test := range tests {
		text := strings.NewReplacer("$W", w.Dir, "$H/", w.Homes[0]+"/", "$H\"", w.Homes[0]+"\"").Replace(test.input)
		if got := verdict(t, Of(test.tool, parsed(t, text), nil, w), w); got != test.want {
			t.Errorf("%s %s: got %s, want %s; %q", test.tool, test.input, got, test.want, linesOf(Of(test.tool, parsed(t, text), nil, w)))
		}
	}
}

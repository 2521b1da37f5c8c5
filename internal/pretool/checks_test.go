package pretool_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"sallyport/internal/canon"
	"sallyport/internal/pretool"
)

// now is when the checks of these tests are asked.
var now = time.Date(2026, 4, 14, 14, 0, 0, 0, time.UTC)

// newChecks returns checks on Windows whose session is S, in a fresh folder.
func newChecks(t testing.TB) (checks *pretool.Checks, sessions *pretool.Sessions, dir string) {
	t.Helper()
	env := func(key string) string {
		if key == "CLAUDE_SESSION_ID" {
			return "S"
		}
		return ""
	}
	dir = t.TempDir()
	sessions = pretool.NewSessions(dir, env, func() time.Time { return now })
	return pretool.New(pretool.Config{Sessions: sessions, Env: env, Windows: true, Knowledge: pretool.BuiltinKnowledge()}), sessions, dir
}

func parse(t testing.TB, text string) canon.Value {
	t.Helper()
	v, err := canon.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// ask returns the answer to a question that is well put.
func ask(t testing.TB, checks *pretool.Checks, tool string, args map[string]any) map[string]any {
	t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := checks.Ask(tool, parse(t, string(text)))
	if err != nil {
		t.Fatalf("%s %s: %v", tool, text, err)
	}
	var got map[string]any
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestArgumentsAreHeldAgainstTheSchema(t *testing.T) {
	long := func(n int) string { return strings.Repeat("é", n) }
	tests := []struct {
		tool, args string
		want       string // part of the error; "" is none
	}{
		{"validate_tool_call", `{}`, `"tool_name" is required`},
		{"validate_tool_call", `{"tool_name":7}`, `"tool_name" must be a string`},
		{"validate_tool_call", `{"tool_name":null}`, `"tool_name" must be a string`},
		{"validate_tool_call", `{"tool_name":" \u0000"}`, `"tool_name" must not be empty`},
		{"validate_tool_call", `{"tool_name":"` + long(256) + `"}`, ``},
		{"validate_tool_call", `{"tool_name":"` + long(257) + `"}`, `longer than 256 code points`},
		{"validate_tool_call", `{"tool_name":"W","tool_input":null}`, `"tool_input" must be a string or an object`},
		{"validate_tool_call", `{"tool_name":"W","tool_input":[]}`, `"tool_input" must be a string or an object`},
		{"validate_tool_call", `{"tool_name":"W","tool_input":"` + strings.Repeat("x", 10<<20) + `"}`, ``},
		{"validate_tool_call", `{"tool_name":"W","tool_input":"` + strings.Repeat("x", 10<<20+1) + `"}`, `longer than 10485760 bytes`},
		{"validate_tool_call", `{"tool_name":"W","tool_input":{"content":"` + strings.Repeat("x", 10<<20) + `"}}`, `longer than 10485760 bytes`},
		{"validate_tool_call", `{"tool_name":"W","toolinput":"{}"}`, `unknown argument "toolinput"`},
		{"validate_tool_call", `[]`, `must be an object`},
		{"check_failure_patterns", `{"tool_name":"Edit","tool_input":"{"}`, `not valid JSON`},
		{"check_failure_patterns", `{"tool_name":"Edit","tool_input":"[]"}`, `not a JSON object`},
		{"check_failure_patterns", `{"tool_name":"Edit","tool_input":"{\"a\":1,\"a\":2}"}`, `not valid JSON`},
		{"check_failure_patterns", `{"tool_name":"Edit"}`, ``},
		{"check_level_completion", `{"level":"Level1"}`, `must be one of level1, level2, all`},
		{"check_level_completion", `{"level":""}`, `must be one of`},
		{"check_level_completion", `{"level":"level2"}`, ``},
		{"get_dynamic_skill_hint", `{}`, `"file_path" is required`},
		{"get_dynamic_skill_hint", `{"file_path":"` + long(2048) + `"}`, ``},
		{"get_dynamic_skill_hint", `{"file_path":"` + long(2049) + `"}`, `longer than 4096 bytes`},
		{"reset_enforcer_flags", `{"flag_name":"checkpoint-pending.json"}`, `must be one of`},
		{"reset_enforcer_flags", `{"flag_name":["all"]}`, `must be a string`},
		{"validate_agent_dispatch", `{"subagent_type":"` + long(257) + `"}`, `longer than 256 code points`},
		{"validate_agent_dispatch", `{"library_path":"` + long(2049) + `"}`, `longer than 4096 bytes`},
		{"validate_agent_dispatch", `{"prompt":"` + strings.Repeat("x", 10<<20+1) + `"}`, `longer than 10485760 bytes`},
		{"validate_agent_dispatch", `{"prompt":{}}`, `must be a string`},
		{"get_enforcer_state", `{"session":"x"}`, `unknown argument`},
	}
	checks, _, _ := newChecks(t)
	for _, test := range tests {
		_, err := checks.Ask(test.tool, parse(t, test.args))
		switch {
		case err == nil && test.want != "":
			t.Errorf("%s %.80s: no error", test.tool, test.args)
		case err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s %.80s: error %q, want %q", test.tool, test.args, err, test.want)
		}
	}
	for _, tool := range []string{"check_task_breakdown", "check_level_completion", "reset_enforcer_flags"} {
		if _, err := checks.Ask(tool, canon.Value{}); err != nil {
			t.Errorf("%s without arguments: %v", tool, err)
		}
	}
}

func TestMalformedInputIsBlocked(t *testing.T) {
	checks, sessions, _ := newChecks(t)
	if err := sessions.SetFlag("S", "checkpoint-pending", "", ""); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"Write", "Bash", "Read", "Grep", "Unheard"} {
		for _, input := range []string{"", "{", "[]", "7", "null", `"{}"`, `{"a":1,"a":1}`, `{"a":{"b":1,"\u0062":2}}`, "{} {}", "\ufeff{}", `{"a":NaN}`,
			strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)} {
			got := ask(t, checks, "validate_tool_call", map[string]any{"tool_name": tool, "tool_input": input})
			blocks := got["blocks"].([]any)
			if got["allowed"] != false || len(blocks) != 1 || !strings.Contains(blocks[0].(string), "JSON") || got["reason"] != blocks[0] {
				t.Errorf("%s %.40q: got %v", tool, input, got)
			}
		}
	}
}

// TestWindowsCommands has the ways in which a shell text runs one, and those in which it only looks like it.
func TestWindowsCommands(t *testing.T) {
	tests := []struct{ command, want string }{
		{"del x", "del"}, {"DEL x", "del"}, {"Del.Exe x", "del"}, {"erase x", "erase"}, {"copy a b", "copy"}, {"xcopy a b", "xcopy"},
		{"robocopy a b", "robocopy"}, {"move a b", "move"}, {"ren a b", "ren"}, {"rename a b", "rename"}, {"dir", "dir"}, {"cls", "cls"},
		{"md a", "md"}, {"rd a", "rd"}, {"attrib +r a", "attrib"},
		{"ls; del x; copy a b", "del"}, {"ls | dir", "dir"}, {"(del x)", "del"}, {"{ del x; }", "del"}, {"if del x; then :; fi", "del"},
		{"x=$(dir)", "dir"}, {"echo `dir`", "dir"}, {"cat <(dir)", "dir"}, {"f() { del x; }", "del"}, {"! del x", "del"}, {"del x &", "del"},
		{"A=1 del x", "del"}, {"> out dir", "dir"}, {`"del" x`, "del"}, {`d\el x`, "del"}, {"'d'el x", "del"}, {"sh -c 'del x'", "del"},
		{`bash -lc "cd x && del y"`, "del"}, {"sudo del x", "del"}, {"env A=1 del x", "del"}, {"ls | xargs del", "del"}, {"time del x", "del"},
		{"del x (", "del"}, {`del "x`, "del"}, {"ls; del 'x", "del"}, {"\t del\tx", "del"},
		{"delta-report", ""}, {"echo del", ""}, {"echo 'del x'", ""}, {"# del x", ""}, {"ls del", ""}, {"python move.py", ""}, {"./del x", ""},
		{"del-all", ""}, {"cmd /c del x", ""}, {"cmd.exe /c 'del x'", ""}, {"powershell -c 'del x'", ""}, {"git rm x", ""}, {"mkdir a", ""},
		{"rmdir a", ""}, {"sort x", ""}, {"more x", ""}, {"tree", ""}, {"type x", ""}, {"net use", ""}, {"find . -name del", ""}, {"mv a b", ""},
		{"cat <<'EOF'\ndel x\nEOF", ""}, {"for del in a b; do echo $del; done", ""}, {"case del in del) ls;; esac", ""}, {"echo ) ; del x", ""},
		{"'del '", ""}, {"d\u0130r", ""}, {"del\r\n", "del"}, {"echo a && && del x", ""},
		{"command -v del", ""}, {"$x del", ""}, {"git commit -m 'del x; copy y'", ""}, {"", ""},
	}
	checks, _, _ := newChecks(t)
	for _, test := range tests {
		got := ask(t, checks, "validate_tool_call", map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": test.command}})
		want := []any{}
		if test.want != "" {
			want = []any{"Windows command '" + test.want + "' blocked - use Unix equivalent"}
		}
		if diff := cmp.Diff(want, got["blocks"]); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.command, diff)
		}
	}
}

func TestNonASCIIPython(t *testing.T) {
	tests := []struct {
		tool, input string
		blocked     bool
	}{
		{"Write", `{"file_path":"a.py","content":"é"}`, true},
		{"Write", `{"file_path":"A.PY","content":"→"}`, true},
		{"Write", `{"file_path":"a.py\u0000","content":"é"}`, true},
		{"Write", `{"file_path":"a.p\u0000y\u00a0","content":"é"}`, true},
		{"Write", `{"file_path":"a.py","content":"e\u0301"}`, true},
		{"Edit", `{"file_path":"a.py","old_string":"a","new_string":"é"}`, true},
		{"Edit", `{"file_path":"a.py","old_string":"é","new_string":"e"}`, false},
		{"Write", `{"file_path":"a.py","content":"e\u007f"}`, false},
		{"Write", `{"file_path":"a.pyc","content":"é"}`, false},
		{"Write", `{"file_path":"py","content":"é"}`, false},
		{"Write", `{"content":"é"}`, false},
		{"NotebookEdit", `{"file_path":"a.py","new_source":"é"}`, false},
		{"Bash", `{"file_path":"a.py","content":"é"}`, false},
	}
	checks, _, _ := newChecks(t)
	for _, test := range tests {
		got := ask(t, checks, "validate_tool_call", map[string]any{"tool_name": test.tool, "tool_input": test.input})
		if got["allowed"] == test.blocked {
			t.Errorf("%s %s: %v", test.tool, test.input, got)
		}
	}
}

func TestReadIsHintedFromLine501On(t *testing.T) {
	checks, _, dir := newChecks(t)
	name := filepath.Join(dir, "file.txt")
	for text, want := range map[string]int{
		"": 0, strings.Repeat("x\n", 500): 0, strings.Repeat("x\n", 499) + "x": 0,
		strings.Repeat("x\n", 500) + "x": 1, strings.Repeat("x\n", 501): 1, strings.Repeat("\n", 501): 1, strings.Repeat("x", 100_000): 0,
		strings.Repeat(strings.Repeat("x", 1000)+"\n", 500): 0, strings.Repeat(strings.Repeat("x", 1000)+"\n", 501): 1,
	} {
		write(t, name, text)
		for input, want := range map[string]int{
			`{"file_path":%q}`: want, `{"file_path":" %[2]s\u0000 "}`: want, `{"file_path":%q,"offset":null}`: want, `{"file_path":%q,"offset":7}`: 0, `{"file_path":%q,"limit":7}`: 0,
		} {
			input = strings.ReplaceAll(strings.ReplaceAll(input, "%q", fmt.Sprintf("%q", name)), "%[2]s", name)
			got := ask(t, checks, "validate_tool_call", map[string]any{"tool_name": "Read", "tool_input": input})
			if hints := got["hints"].([]any); len(hints) != want {
				t.Errorf("%d bytes, %s: hints %v, want %d", len(text), input, hints, want)
			}
		}
	}
}

// TestBlocksAreInOrder sets everything that can block and takes it away piece by piece.
func TestBlocksAreInOrder(t *testing.T) {
	checks, sessions, _ := newChecks(t)
	for _, name := range pretool.FlagNames {
		if err := sessions.SetFlag("S", name, "zig-core", "skill"); err != nil {
			t.Fatal(err)
		}
	}
	if err := sessions.AddSteps("S", nil, false); err != nil {
		t.Fatal(err)
	}
	clear := func(name string) func() error {
		return func() error { _, err := sessions.ClearFlag("S", name); return err }
	}
	add := func(step string) func() error {
		return func() error { return sessions.AddSteps("S", []string{step}, false) }
	}
	steps := []struct {
		want string
		mend func() error
	}{
		{"checkpoint", clear("checkpoint-pending")},
		{"task breakdown", clear("task-breakdown-pending")},
		{"zig-core", clear("skill-selection-pending")},
		{"context", add("LEVEL_1_CONTEXT")},
		{"level 1", add("LEVEL_1_SESSION")},
		{"level 2", add("LEVEL_2_STANDARDS")},
	}
	input := map[string]any{"file_path": "a.py", "content": "é"}
	for _, step := range steps {
		got := ask(t, checks, "validate_tool_call", map[string]any{"tool_name": "Edit", "tool_input": input})
		blocks := got["blocks"].([]any)
		if len(blocks) != 2 || !contains(blocks[0], step.want) || !contains(blocks[1], "non-ascii") || got["reason"] != blocks[0] {
			t.Errorf("want %s, then non-ASCII; got %v", step.want, got)
		}
		state := ask(t, checks, "get_enforcer_state", nil)
		if diff := cmp.Diff([]any{"Edit", "NotebookEdit", "Write"}, state["blocked_tools"]); diff != "" {
			t.Errorf("%s: blocked_tools (-want +got):\n%s", step.want, diff)
		}
		if err := step.mend(); err != nil {
			t.Fatal(err)
		}
	}
	got := ask(t, checks, "validate_tool_call", map[string]any{"tool_name": "Edit", "tool_input": input})
	if len(got["blocks"].([]any)) != 1 {
		t.Errorf("only the text should block: %v", got)
	}
	if state := ask(t, checks, "get_enforcer_state", nil); len(state["blocked_tools"].([]any)) != 0 {
		t.Errorf("nothing should be blocked: %v", state)
	}
}

// TestReadsNoFileThatCannotMatter names the files that each call reads.
func TestReadsNoFileThatCannotMatter(t *testing.T) {
	const folder = "logs/sessions/S/"
	tests := []struct {
		name, tool string
		flag       string // set before
		want       []string
	}{
		{"always allowed", "Read", "", nil},
		{"not checked", "Bash", "checkpoint-pending", nil},
		{"blocked by the first check", "Write", "checkpoint-pending", []string{folder + "flags/checkpoint-pending.json"}},
		{"allowed", "Write", "", []string{
			folder + "flags/checkpoint-pending.json", ".checkpoint-pending-S.json",
			folder + "flags/task-breakdown-pending.json", ".task-breakdown-pending-S.json",
			folder + "flags/skill-selection-pending.json", ".skill-selection-pending-S.json",
			folder + "flow-trace.json",
		}},
	}
	for _, test := range tests {
		checks, sessions, dir := newChecks(t)
		if test.flag != "" {
			if err := sessions.SetFlag("S", test.flag, "", ""); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		sessions.ReadSpy(func(name string) {
			name, err := filepath.Rel(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, filepath.ToSlash(name))
		})
		ask(t, checks, "validate_tool_call", map[string]any{"tool_name": test.tool})
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: files read (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestAnswersFitTheirSchemas holds every answer of the conformance cases against the schema that tools/list shows.
func TestAnswersFitTheirSchemas(t *testing.T) {
	checks, _, _ := newChecks(t)
	schemas := map[string]*jsonschema.Resolved{}
	for _, tool := range checks.Tools() {
		var definition struct {
			Name                      string
			InputSchema, OutputSchema *jsonschema.Schema
			Annotations               map[string]any
		}
		if err := json.Unmarshal(tool.Definition, &definition); err != nil {
			t.Fatalf("%s: %v", tool.Definition, err)
		}
		if _, err := definition.InputSchema.Resolve(nil); err != nil || definition.Name != tool.Name {
			t.Errorf("definition of %s: %v", tool.Name, err)
		}
		if definition.Annotations["readOnlyHint"] != tool.ReadOnly {
			t.Errorf("%s: the annotation and the gate differ", tool.Name)
		}
		definition.OutputSchema.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}} // in the test only
		schema, err := definition.OutputSchema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		schemas[tool.Name] = schema
	}
	if len(schemas) != 9 {
		t.Fatalf("%d tools, want 9", len(schemas))
	}
	for _, c := range readCases(t) {
		s := setUp(t, c)
		answer, err := s.checks().Ask(s.Call.Tool, parse(t, string(s.arguments)))
		if err != nil {
			continue
		}
		var instance any
		if err := json.Unmarshal(answer, &instance); err != nil {
			t.Fatal(err)
		}
		if err := schemas[s.Call.Tool].Validate(instance); err != nil {
			t.Errorf("%s: %s: %v", c.Name, answer, err)
		}
	}
}

func BenchmarkValidateToolCall(b *testing.B) {
	for name, flags := range map[string]bool{"no flags": false, "trace": true} {
		b.Run(name, func(b *testing.B) {
			checks, sessions, _ := newChecks(b)
			if flags {
				if err := sessions.AddSteps("S", []string{"LEVEL_1_SESSION", "LEVEL_1_CONTEXT", "STANDARDS"}, false); err != nil {
					b.Fatal(err)
				}
			}
			args := parse(b, `{"tool_name":"Write","tool_input":{"file_path":"a.py","content":"x = 1"}}`)
			for b.Loop() {
				if _, err := checks.Ask("validate_tool_call", args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("Bash", func(b *testing.B) {
		checks, _, _ := newChecks(b)
		args := parse(b, `{"tool_name":"Bash","tool_input":{"command":"cd x && go test ./... 2>&1 | tail -20"}}`)
		for b.Loop() {
			if _, err := checks.Ask("validate_tool_call", args); err != nil {
				b.Fatal(err)
			}
		}
	})
}

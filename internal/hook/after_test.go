package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/pretool"
)

// TestOutcomesAreRecorded in every host's way to tell them, without a word.
func TestOutcomesAreRecorded(t *testing.T) {
	for _, c := range []struct{ host, event, record string }{
		{"claude", `{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t","tool_response":{"stdout":"x"}}`,
			"claude hook/PostToolUse Bash allow observed s t"},
		{"claude", `{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t","error":"no"}`,
			"claude hook/PostToolUseFailure Bash allow failed s t"},
		{"codex", `{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t","tool_response":"x"}`,
			"codex hook/PostToolUse Bash allow observed s t"},
		{"gemini", `{"session_id":"s","cwd":"/w","hook_event_name":"AfterTool","tool_name":"read_file","tool_input":{"file_path":"a"},"tool_response":{"error":{"message":"no"}}}`,
			"gemini hook/AfterTool read_file allow failed s missing"},
		{"cursor", `{"conversation_id":"s","workspace_roots":["/w"],"hook_event_name":"afterFileEdit","file_path":"/w/a","edits":[]}`,
			"cursor hook/afterFileEdit Edit allow observed s missing"},
		{"copilot", `{"sessionId":"s","cwd":"/w","toolName":"bash","toolArgs":{"command":"ls"},"toolResult":{"resultType":"failure","textResultForLlm":"no"}}`,
			"copilot hook/postToolUse bash allow failed s missing"},
		{"windsurf", `{"agent_action_name":"post_run_command","trajectory_id":"s","execution_id":"t","tool_info":{"command_line":"ls"}}`,
			"windsurf hook/post_run_command Bash allow observed s t"},
		{"cline", `{"hookName":"PostToolUse","taskId":"s","postToolUse":{"toolName":"read_file","parameters":{"path":"a"},"success":false}}`,
			"cline hook/PostToolUse read_file allow failed s missing"},
		{"kiro", `{"hook_event_name":"postToolUse","cwd":"/w","session_id":"s","tool_name":"@db/query","tool_input":{"q":"x"},"tool_response":{"success":true}}`,
			"kiro hook/postToolUse mcp__db__query allow observed s missing"},
	} {
		p := newPlace(t, testPolicy)
		r := p.run(Options{Host: c.host}, System{Stdin: strings.NewReader(c.event)})
		if r.Code != 0 || len(r.Stdout)+len(r.Stderr) > 0 {
			t.Errorf("%s: %+v", c.host, r)
		}
		want(t, "the record", strings.Join(p.records("host", "method", "name", "decision", "outcome", "session", "request_id"), "; "), c.record)
	}
}

// TestEventsThatCannotBlockAreSilent whatever goes wrong.
func TestEventsThatCannotBlockAreSilent(t *testing.T) {
	p := newPlace(t, "this is no policy")
	for _, event := range []string{
		`{"session_id":"s","hook_event_name":"PostToolUse"}`,
		`{"session_id":7,"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":[]}`,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"a":1,"A":2},"tool_response":"\u0000"}`,
		`{"session_id":"../..","hook_event_name":"SessionStart","source":"startup"}`,
		`{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"rm -rf /"}`,
		`{"session_id":"s","hook_event_name":"Stop"}`,
		`{"session_id":"s","hook_event_name":"SomethingNew"}`,
	} {
		for _, sys := range []System{{}, {FS: badDisk{panics: true}}} {
			sys.Stdin = strings.NewReader(event)
			r := p.run(Options{}, sys)
			if r.Code != 0 || len(r.Stdout) > 0 {
				t.Errorf("%s: %d %q %q", event, r.Code, r.Stdout, r.Stderr)
			}
		}
	}
}

// checked is a home with a session, for the hook of Claude Code with the checks on.
type checked struct {
	testPlace
	sessions *pretool.Sessions
}

func newChecked(t *testing.T) checked {
	t.Helper()
	p := newPlace(t, `{"version": 2, "default": "allow"}`)
	env := func(string) string { return "" }
	return checked{p, pretool.NewSessions(filepath.Join(p.home, ".claude"), env, time.Now)}
}

func (c checked) on(event, tool, input, more string) Reply {
	c.t.Helper()
	text := strings.TrimSuffix(c.event(event, tool, input), "}") + more + "}"
	return c.run(Options{Checks: true}, System{Stdin: strings.NewReader(text)})
}

func (c checked) flag(name, skill, kind string) {
	c.t.Helper()
	if err := c.sessions.SetFlag("s-1", name, skill, kind); err != nil {
		c.t.Fatal(err)
	}
}

// TestChecksHoldCallsBack of the event's own session, under the names of every host.
func TestChecksHoldCallsBack(t *testing.T) {
	c := newChecked(t)
	c.flag("task-breakdown-pending", "", "")
	for tool, want := range map[string]string{"Write": "deny", "Edit": "deny", "MultiEdit": "deny", "apply_patch": "deny", "NotebookEdit": "deny", "write_file": "deny", "Read": "none", "Bash": "none"} {
		r := c.on("PreToolUse", tool, `{"file_path":"/w/a","command":"ls","limit":1}`, "")
		if got := outcome(t, "claude", r); got != want {
			t.Errorf("%s: got %s, want %s", tool, got, want)
		}
		if want == "deny" {
			wantReason(t, r, "TaskCreate", "rule checks.task-breakdown")
		}
	}
	r := c.run(Options{}, System{Stdin: strings.NewReader(c.event("PreToolUse", "Write", "{}"))})
	want(t, "without the checks the outcome", outcome(t, "claude", r), "none")
	other := strings.Replace(c.event("PreToolUse", "Write", "{}"), `"s-1"`, `"s-2"`, 1)
	r = c.run(Options{Checks: true}, System{Stdin: strings.NewReader(other)})
	want(t, "in another session the outcome", outcome(t, "claude", r), "none")
}

// TestHintsReachTheModel and bind nobody.
func TestHintsReachTheModel(t *testing.T) {
	c := newChecked(t)
	r := c.on("PreToolUse", "Grep", `{"pattern":"x"}`, "")
	v, err := canon.Parse(r.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := v.Get("hookSpecificOutput").Get("additionalContext").Text(); !strings.Contains(text, "head_limit") {
		t.Errorf("the model is told %q", r.Stdout)
	}
	if v.Get("hookSpecificOutput").Get("permissionDecision").Exists() {
		t.Errorf("a hint decides: %q", r.Stdout)
	}
}

// TestFlagsAreCleared by what settles them, and by nothing else.
func TestFlagsAreCleared(t *testing.T) {
	for _, test := range []struct {
		flag, skill       string
		event, tool, text string
		cleared           bool
	}{
		{"task-breakdown-pending", "", "PostToolUse", "TaskCreate", `{"subject":"x"}`, true},
		{"task-breakdown-pending", "", "PostToolUse", "TaskList", `{}`, false},
		{"task-breakdown-pending", "", "PostToolUseFailure", "TaskCreate", `{"subject":"x"}`, false},
		{"task-breakdown-pending", "", "PreToolUse", "TaskCreate", `{"subject":"x"}`, false},
		{"skill-selection-pending", "python-core", "PostToolUse", "Skill", `{"skill":"python-core"}`, true},
		{"skill-selection-pending", "python-core", "PostToolUse", "Skill", `{"skill":"langs:python-core"}`, true},
		{"skill-selection-pending", "python-core", "PostToolUse", "Skill", `{"skill":"go-core"}`, false},
		{"skill-selection-pending", "python-core", "PostToolUse", "Agent", `{"subagent_type":"python-core"}`, true},
		{"skill-selection-pending", "python-core", "PostToolUse", "Task", `{"subagent_type":"explorer"}`, false},
		{"skill-selection-pending", "", "PostToolUse", "Skill", `{"skill":"go-core"}`, true},
		{"skill-selection-pending", "", "PostToolUse", "Skill", `{}`, false},
		{"checkpoint-pending", "", "PostToolUse", "TaskCreate", `{}`, false},
	} {
		c := newChecked(t)
		c.flag(test.flag, test.skill, "skill")
		c.on(test.event, test.tool, test.text, "")
		got := outcome(t, "claude", c.on("PreToolUse", "Write", `{"file_path":"/w/a"}`, ""))
		if cleared := got == "none"; cleared != test.cleared {
			t.Errorf("%+v: cleared is %t", test, cleared)
		}
	}
}

// TestFailuresAreProposed once, for people to look at.
func TestFailuresAreProposed(t *testing.T) {
	c := newChecked(t)
	for range 3 {
		c.on("PostToolUseFailure", "Edit", `{"file_path":"/w/a"}`, `,"error":"\n  String to replace not found in file.\nString: secret"`)
	}
	c.on("PostToolUseFailure", "Bash", `{"command":"x"}`, `,"error":"exit 1"`)
	c.on("PostToolUse", "Bash", `{"command":"x"}`, `,"tool_response":{"stdout":"fine"}`)
	text, err := os.ReadFile(filepath.Join(c.home, ".claude", "logs", "failure-proposals.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n != 2 {
		t.Errorf("%d proposals, want 2:\n%s", n, text)
	}
	if !strings.HasPrefix(string(text), `{"tool":"Edit","error":"String to replace not found in file.","host":"claude","session_id":"s-1","args_digest":"`) {
		t.Errorf("the first proposal is %s", text)
	}
	if strings.Contains(string(text), "secret") {
		t.Error("more than a line of the error is kept")
	}
}

// TestSessionPointer follows the host's sessions.
func TestSessionPointer(t *testing.T) {
	c := newChecked(t)
	tell := func(event, session string) string {
		t.Helper()
		r := c.run(Options{}, System{Stdin: strings.NewReader(fmt.Sprintf(`{"session_id":%q,"cwd":"/w","hook_event_name":%q}`, session, event))})
		if r.Code != 0 || len(r.Stdout)+len(r.Stderr) > 0 {
			t.Errorf("%s: %+v", event, r)
		}
		return c.sessions.Current()
	}
	want(t, "at the start the session", tell("SessionStart", "one"), "one")
	want(t, "after a prompt of another one it", tell("UserPromptSubmit", "two"), "two")
	want(t, "after a stop it", tell("Stop", "one"), "two")
	want(t, "after the end of the first it", tell("SessionEnd", "one"), "two")
	want(t, "of what is no id it", tell("SessionStart", "../three"), "two")
	want(t, "after its end it", tell("SessionEnd", "two"), "")

	r := c.run(Options{Host: "codex"}, System{Stdin: strings.NewReader(`{"session_id":"x","hook_event_name":"SessionStart"}`)})
	want(t, "of another host it", c.sessions.Current()+string(r.Stdout), "")
}

// TestLimit counts calls from one process to the next, and says when the next one is allowed.
func TestLimit(t *testing.T) {
	p := newPlace(t, `{"version": 2, "default": "deny", "rules": [
		{"id": "tea", "decision": "allow", "tools": ["mcp__kitchen__tea"], "limit": {"calls": 2, "per": "1h", "burst": 2}},
		{"id": "milk", "decision": "allow", "tools": ["mcp__kitchen__milk"]}]}`)
	for i, want := range []string{"none", "none", "deny"} {
		if got := outcome(t, "claude", p.call("mcp__kitchen__tea", "{}")); got != want {
			t.Errorf("call %d: got %s, want %s", i, got, want)
		}
	}
	r := p.call("mcp__kitchen__tea", "{}")
	wantReason(t, r, "limit is used up", "30m", "rule tea")
	want(t, "of a rule without a limit the outcome", outcome(t, "claude", p.call("mcp__kitchen__milk", "{}")), "none")
	want(t, "the last but one record", p.records("decision", "rule")[3], "deny tea")

	names, err := os.ReadDir(filepath.Join(StateDir(p.home), "limits"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	p.write(filepath.Join(StateDir(p.home), "limits", names[0].Name()), "torn")
	wantReason(t, p.call("mcp__kitchen__tea", "{}"), "could not be counted")
}

// TestUnattended reads the environment of machines on which nobody sits.
func TestUnattended(t *testing.T) {
	for value, want := range map[string]bool{"": false, "false": false, "0": false, "False": false, "true": true, "1": true, "yes": true} {
		for _, name := range []string{"CI", "GITHUB_ACTIONS"} {
			got := unattended(func(asked string) string {
				if asked == name {
					return value
				}
				return ""
			})
			if got != want {
				t.Errorf("%s=%s: got %t", name, value, got)
			}
		}
	}
	p := newPlace(t, testPolicy)
	event := `{"sessionId":"s","cwd":"/w","toolName":"WebFetch","toolArgs":{"url":"https://x"}}`
	for ci, want := range map[string]string{"": "ask", "true": "deny"} {
		r := runWith(t, Options{Host: "copilot", Policy: p.policy}, System{Stdin: strings.NewReader(event)}, map[string]string{"HOME": p.home, "CI": ci})
		if got := outcome(t, "copilot", r); got != want {
			t.Errorf("CI=%s: got %s, want %s", ci, got, want)
		}
	}
}

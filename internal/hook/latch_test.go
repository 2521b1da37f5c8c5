package hook

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestStoppedSession denies what a stopped session does but read, until it is released, and nothing of other sessions.
func TestStoppedSession(t *testing.T) {
	v := newVerified(t, "claude")
	v.file("a", "old")
	v.after("Write", `{"file_path":"@/a","content":"new"}`, "")
	for _, c := range []struct{ tool, input, want string }{
		{"Write", `{"file_path":"@/b","content":"x"}`, "deny"},
		{"Bash", `{"command":"ls"}`, "deny"},
		{"Bash", `{"command":"cat a"}`, "deny"},
		{"WebFetch", `{"url":"https://example.com/?x"}`, "deny"},
		{"Task", `{"prompt":"x"}`, "deny"},
		{"Unheard", `{}`, "deny"},
		{"ReadOrSo", `{"file_path":"@/a"}`, "deny"},
		{"mcp__fs__read_file", `{"path":"@/a"}`, "deny"},
		{"use_mcp_tool", `{"server_name":"fs","tool_name":"Read","arguments":{"file_path":"@/a"}}`, "deny"},
		{"str_replace_editor", `{"command":"create","path":"@/a","file_text":"x"}`, "deny"},
		{"str_replace_editor", `{"command":"view","path":"@/a"}`, "none"},
		{"Read", `{"file_path":"@/a"}`, "none"},
		{"Grep", `{"pattern":"x","path":"@"}`, "none"},
		{"Glob", `{"pattern":"*"}`, "none"},
		{"AskUserQuestion", `{"questions":[]}`, "none"},
	} {
		r := v.before(c.tool, c.input)
		want(t, c.tool+" "+c.input, outcome(t, "claude", r), c.want)
		if c.want == "deny" {
			wantReason(t, r, `a\"`, "does not hold what the call wrote", "sallyport release", "rule latch")
			records := v.records("decision", "outcome", "rule")
			want(t, "the record", records[len(records)-1], "deny not_executed latch")
		}
	}
	asked := `{"session_id":"s-1","cwd":"@","hook_event_name":"PermissionRequest","tool_name":"Write","tool_input":{"file_path":"@/b","content":"x"}}`
	if r := v.on(asked); !strings.Contains(string(r.Stdout), `"behavior":"deny"`) {
		t.Errorf("a PermissionRequest: %s", r.Stdout)
	}
	const call = `{"session_id":%q,"cwd":"@","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"@/b","content":"x"}}`
	want(t, "another session", outcome(t, "claude", v.on(fmt.Sprintf(call, "s-2"))), "none")
	want(t, "no session", outcome(t, "claude", v.on(fmt.Sprintf(call, ""))), "none")
	other := verified{v.testPlace, v.dir, "codex"}
	want(t, "another host", outcome(t, "codex", other.on(fmt.Sprintf(call, "s-1"))), "none")

	stops := v.stops()
	list, err := stops.List()
	if err != nil || len(list) != 1 || list[0].Tool != "Write" || list[0].Rule != "checked" || list[0].Principal != "local" {
		t.Fatalf("the stops are %+v, %v", list, err)
	}
	if err := stops.Release(context.Background(), list[0]); err != nil {
		t.Fatal(err)
	}
	want(t, "after the release", outcome(t, "claude", v.before("Write", `{"file_path":"@/b","content":"x"}`)), "none")
}

// TestStoppedWithoutASession: where the host does not say which session it is, a stop holds all such events back.
func TestStoppedWithoutASession(t *testing.T) {
	v := newVerified(t, "claude")
	v.file("a", "old")
	v.on(`{"cwd":"@","hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"file_path":"@/a","content":"new"}}`)
	const call = `{%s"cwd":"@","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"@/b","content":"x"}}`
	want(t, "without a session", outcome(t, "claude", v.on(fmt.Sprintf(call, ""))), "deny")
	want(t, "with a session", outcome(t, "claude", v.on(fmt.Sprintf(call, `"session_id":"s-1",`))), "none")
}

// TestLongSessionIsStoppedToo: a session with a name that no latch takes must not be one that cannot be stopped.
func TestLongSessionIsStoppedToo(t *testing.T) {
	v := newVerified(t, "claude")
	v.file("a", "old")
	session := strings.Repeat("s", 100_000)
	v.on(`{"session_id":"` + session + `","cwd":"@","hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"file_path":"@/a","content":"new"}}`)
	const call = `{"session_id":"%s","cwd":"@","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"@/b","content":"x"}}`
	want(t, "that session", outcome(t, "claude", v.on(fmt.Sprintf(call, session))), "deny")
	want(t, "one that begins like it", outcome(t, "claude", v.on(fmt.Sprintf(call, session+"x"))), "none")
}

// TestLatchThatCannotBeRead denies what may write, and says why.
func TestLatchThatCannotBeRead(t *testing.T) {
	v := newVerified(t, "claude")
	v.file("a", "old")
	v.after("Write", `{"file_path":"@/a","content":"new"}`, "")
	slots, err := filepath.Glob(filepath.Join(StateDir(v.home), "stops", strings.Repeat("?", 64)))
	if err != nil || len(slots) != 1 {
		t.Fatalf("the latches are %q, %v", slots, err)
	}
	v.write(slots[0], "something else")
	r := v.before("Write", `{"file_path":"@/b","content":"x"}`)
	want(t, "a write", outcome(t, "claude", r), "deny")
	wantReason(t, r, "cannot be told", "rule latch")
	want(t, "a read", outcome(t, "claude", v.before("Read", `{"file_path":"@/b"}`)), "none")
}

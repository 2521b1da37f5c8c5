package hook

import (
	"maps"
	"strings"
	"testing"
)

const patchOfCodex = `*** Begin Patch
*** Add File: new
+one
+
+three
*** Update File: a
@@ def f
 context
-old
+first
+second
 more
+third
*** Delete File: gone
*** Update File: from
*** Move to: to
@@
+moved
*** End Patch
`

// patchEvent is the event of Codex after that patch.
func patchEvent(answer string) string {
	return `{"session_id":"s","cwd":"@","hook_event_name":"PostToolUse","tool_name":"apply_patch","tool_input":{"command":` +
		quote(patchOfCodex) + `},"tool_use_id":"t"` + answer + `}`
}

const patchSuccess = `,"tool_response":"Exit code: 0\nOutput:\nSuccess. Updated the following files:\nM a\n"`

// patched are the files that it leaves.
var patched = map[string]string{"new": "one\n\nthree\n", "a": "context!\nfirst\nsecond\nmore\nthird\n", "to": "x\nmoved\n"}

// patchedBut are those files with another text in one of them; "" is none.
func patchedBut(name, text string) map[string]string {
	files := maps.Clone(patched)
	if files[name] = text; text == "" {
		delete(files, name)
	}
	return files
}

func fileA(text string) map[string]string { return map[string]string{"a": text} }

// contentOfHosts are events of the other hosts, and the files that are there then.
var contentOfHosts = []struct {
	host, event string
	files       map[string]string
	want        string
}{
	{"codex", patchEvent(patchSuccess), patched, "CONTINUE"},
	{"codex", patchEvent(""), patched, "CONTINUE"},
	{"codex", patchEvent(patchSuccess), patchedBut("new", "one\nthree\n"), "STOP"},
	{"codex", patchEvent(patchSuccess), patchedBut("a", "first\nmore\nthird\n"), "STOP"},
	{"codex", patchEvent(patchSuccess), patchedBut("a", "third\nfirst\nsecond\n"), "STOP"},
	{"codex", patchEvent(patchSuccess), patchedBut("a", "xfirst\nsecond\nthird\n"), "STOP"},
	{"codex", patchEvent(patchSuccess), patchedBut("gone", "still"), "STOP"},
	{"codex", patchEvent(patchSuccess), patchedBut("from", "still"), "STOP"},
	{"codex", patchEvent(patchSuccess), patchedBut("to", ""), "STOP"},
	{"codex", patchEvent(`,"tool_response":"apply_patch verification failed"`), nil, "none"},

	{"gemini", `{"session_id":"s","cwd":"@","hook_event_name":"AfterTool","tool_name":"write_file","tool_input":{"file_path":"a","content":"x"},"tool_response":{"llmContent":"ok"}}`, fileA("x"), "CONTINUE"},
	{"gemini", `{"session_id":"s","cwd":"@","hook_event_name":"AfterTool","tool_name":"write_file","tool_input":{"file_path":"a","content":"x"},"tool_response":{"llmContent":"ok"}}`, fileA("y"), "STOP"},
	{"gemini", `{"session_id":"s","cwd":"@","hook_event_name":"AfterTool","tool_name":"write_file","tool_input":{"file_path":"a","content":"x"},"tool_response":{"error":{"message":"no"}}}`, fileA("y"), "none"},
	{"gemini", `{"session_id":"s","cwd":"@","hook_event_name":"AfterTool","tool_name":"replace","tool_input":{"file_path":"@/a","old_string":"b","new_string":"X"}}`, fileA("aXc"), "CONTINUE"},
	{"gemini", `{"session_id":"s","cwd":"@","hook_event_name":"AfterTool","tool_name":"replace","tool_input":{"file_path":"@/a","old_string":"b","new_string":"X"}}`, fileA("abc"), "STOP"},

	{"cursor", `{"conversation_id":"s","workspace_roots":["@"],"hook_event_name":"afterFileEdit","file_path":"@/a","edits":[{"old_string":"b","new_string":"X"}]}`, fileA("aXc"), "CONTINUE"},
	{"cursor", `{"conversation_id":"s","workspace_roots":["@"],"hook_event_name":"afterFileEdit","file_path":"@/a","edits":[{"old_string":"b","new_string":"X"}]}`, fileA("abc"), "STOP"},
	{"cursor", `{"conversation_id":"s","workspace_roots":["@"],"hook_event_name":"postToolUse","tool_name":"Write","tool_input":{"file_path":"@/a","content":"x"}}`, fileA("x"), "CONTINUE"},
	{"cursor", `{"conversation_id":"s","workspace_roots":["@"],"hook_event_name":"postToolUse","tool_name":"Write","tool_input":"{\"file_path\":\"@/a\",\"contents\":\"x\"}"}`, fileA("y"), "STOP"},
	{"cursor", `{"conversation_id":"s","workspace_roots":["@"],"hook_event_name":"postToolUseFailure","tool_name":"Write","tool_input":{"file_path":"@/a","content":"x"}}`, fileA("y"), "none"},

	{"copilot", `{"sessionId":"s","cwd":"@","toolName":"create","toolArgs":"{\"path\":\"@/a\",\"file_text\":\"x\"}","toolResult":{"resultType":"success"}}`, fileA("x"), "CONTINUE"},
	{"copilot", `{"sessionId":"s","cwd":"@","toolName":"create","toolArgs":{"path":"@/a","file_text":"x"},"toolResult":{"resultType":"success"}}`, fileA("y"), "STOP"},
	{"copilot", `{"sessionId":"s","cwd":"@","toolName":"edit","toolArgs":{"path":"@/a","old_str":"b","new_str":"X"},"toolResult":{"resultType":"success"}}`, fileA("abc"), "STOP"},
	{"copilot", `{"sessionId":"s","cwd":"@","toolName":"create","toolArgs":{"path":"@/a","file_text":"x"},"toolResult":{"resultType":"failure"}}`, fileA("y"), "none"},

	{"windsurf", `{"agent_action_name":"post_write_code","trajectory_id":"s","tool_info":{"file_path":"@/a","edits":[{"old_string":"b","new_string":"X"}]}}`, fileA("aXc"), "CONTINUE"},
	{"windsurf", `{"agent_action_name":"post_write_code","trajectory_id":"s","tool_info":{"file_path":"@/a","edits":[{"old_string":"b","new_string":"X"}]}}`, fileA("abc"), "STOP"},

	{"kiro", `{"hook_event_name":"postToolUse","cwd":"@","session_id":"s","tool_name":"fs_write","tool_input":{"command":"create","path":"@/a","file_text":"x"},"tool_response":{"success":true}}`, fileA("x\n"), "CONTINUE"},
	{"kiro", `{"hook_event_name":"postToolUse","cwd":"@","session_id":"s","tool_name":"fs_write","tool_input":{"command":"create","path":"@/a","file_text":"x"},"tool_response":{"success":true}}`, fileA("xx\n"), "STOP"},
	{"kiro", `{"hook_event_name":"postToolUse","cwd":"@","session_id":"s","tool_name":"fs_write","tool_input":{"command":"str_replace","path":"@/a","old_str":"b","new_str":"X"}}`, fileA("abc"), "STOP"},
	{"kiro", `{"hook_event_name":"postToolUse","cwd":"@","session_id":"s","tool_name":"fs_write","tool_input":{"command":"append","path":"@/a","new_str":"X"}}`, fileA("abc\nX\n"), "CONTINUE"},
	{"kiro", `{"hook_event_name":"postToolUse","cwd":"@","session_id":"s","tool_name":"fs_write","tool_input":{"command":"insert","path":"@/a","insert_line":1,"new_str":"X"}}`, fileA("abc\n"), "STOP"},
	{"kiro", `{"hook_event_name":"postToolUse","cwd":"@","session_id":"s","tool_name":"fs_write","tool_input":{"command":"create","path":"@/a","file_text":"x"},"tool_response":{"success":false}}`, fileA("y"), "none"},
}

// TestContentOfOtherHosts does the same in the words of each host.
func TestContentOfOtherHosts(t *testing.T) {
	for _, c := range contentOfHosts {
		t.Run(c.host, func(t *testing.T) {
			v := newVerified(t, c.host)
			for name, text := range c.files {
				v.file(name, text)
			}
			event := c.event
			if c.host == "codex" { // in whose patch an @ is an @
				event = strings.Replace(event, `"@"`, quote(v.dir), 1)
				v.run(Options{Host: c.host}, System{Stdin: strings.NewReader(event)})
			} else {
				v.on(event)
			}
			if got := v.verdict(); got != c.want {
				t.Errorf("%s\nwith %q: %s, want %s; stopped: %q", event, c.files, got, c.want, v.stopped())
			}
			if stopped := v.stopped()["hook/"+c.host+"/s"] != ""; stopped != (c.want == "STOP") {
				t.Errorf("stopped: %q", v.stopped())
			}
		})
	}
}

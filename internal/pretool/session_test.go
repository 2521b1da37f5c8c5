package pretool

import (
	"path/filepath"
	"strings"
	"testing"

	"sallyport/internal/canon"
)

func TestIsSessionID(t *testing.T) {
	for id, want := range map[string]bool{
		"SESSION-20260414-143200-AB12": true, "a": true, "...": true, "a.b_c-9": true, strings.Repeat("x", 128): true,
		"": false, ".": false, "..": false, "a/b": false, `a\b`: false, "a b": false, "a\n": false, "é": false, "a\x00": false,
		strings.Repeat("x", 129): false, "../x": false, "\u212a": false,
	} {
		if got := IsSessionID(id); got != want {
			t.Errorf("IsSessionID(%q) = %t, want %t", id, got, want)
		}
	}
}

// TestCurrentFallsThrough passes over what is no id in any of the three sources.
func TestCurrentFallsThrough(t *testing.T) {
	tests := []struct{ env, pointer, progress, want string }{
		{"E", `{"current_session_id":"P"}`, `{"session_id":"G"}`, "E"},
		{"", `{"current_session_id":"P"}`, `{"session_id":"G"}`, "P"},
		{"../e", `{"current_session_id":"P"}`, ``, "P"},
		{"E\n", `{"current_session_id":"P\n"}`, `{"session_id":"G"}`, "G"},
		{"", `{"current_session_id":7}`, `{"session_id":"G"}`, "G"},
		{"", `{"session_id":"P"}`, `{"session_id":"G"}`, "G"},
		{"", `{broken`, `{"session_id":"G"}`, "G"},
		{"", `["P"]`, `{"session_id":"G"}`, "G"},
		{"", `{"current_session_id":"P","current_session_id":"Q"}`, `{"session_id":"G"}`, "G"},
		{"", ``, `{"session_id":".."}`, ""},
		{"", `"P"`, `null`, ""},
	}
	for _, test := range tests {
		s := sessionsAt(t.TempDir(), at)
		s.env = func(key string) string {
			if key == "CLAUDE_SESSION_ID" {
				return test.env
			}
			return ""
		}
		writeFile(t, filepath.Join(s.dir, ".current-session.json"), test.pointer)
		writeFile(t, filepath.Join(s.dir, "logs", "session-progress.json"), test.progress)
		if got := s.Current(); got != test.want {
			t.Errorf("%+v: got %q", test, got)
		}
	}
}

func FuzzCurrent(f *testing.F) {
	f.Add("", `{"current_session_id":"P"}`, `{"session_id":"G"}`)
	f.Add("../x", `{`, `[]`)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, env, pointer, progress string) {
		s := sessionsAt(dir, at)
		s.env = func(string) string { return env }
		writeFile(t, filepath.Join(dir, ".current-session.json"), pointer)
		writeFile(t, filepath.Join(dir, "logs", "session-progress.json"), progress)
		id := s.Current()
		if id == "" {
			return
		}
		if folder := s.folder(id); filepath.Dir(folder) != s.folder("") {
			t.Errorf("the session's folder is %s", folder)
		}
	})
}

// FuzzToolInput asks about calls of every kind with any input.
func FuzzToolInput(f *testing.F) {
	for _, seed := range []string{`{}`, `{"file_path":"a.py","content":"é"}`, `{"command":"del x"}`, `[`, `{"a":1,"a":2}`, `{"file_path":7}`} {
		f.Add("Write", seed)
		f.Add("Bash", seed)
		f.Add("Read", seed)
	}
	checks := New(Config{Sessions: sessionsAt(f.TempDir(), at), Env: func(string) string { return "" }, Windows: true, Knowledge: BuiltinKnowledge()})
	f.Fuzz(func(t *testing.T, tool, input string) {
		text := canon.AppendString([]byte(`{"tool_name":`), tool)
		args, err := canon.Parse(append(canon.AppendString(append(text, `,"tool_input":`...), input), '}'))
		if err != nil {
			return // a null or so that the text cannot hold
		}
		answer, err := checks.Ask("validate_tool_call", args)
		if err != nil {
			return
		}
		v, err := canon.Parse(answer)
		if err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
		allowed, _ := v.Get("allowed").Bool()
		blocks := 0
		for range v.Get("blocks").Elements() {
			blocks++
		}
		if allowed != (blocks == 0) {
			t.Errorf("allowed and blocks differ: %s", answer)
		}
		parsed, err := canon.Parse([]byte(strings.ToValidUTF8(input, "\uFFFD")))
		if (err != nil || parsed.Kind() != canon.Object) && allowed {
			t.Errorf("malformed input was allowed: %s", answer)
		}
		if _, err := checks.Ask("check_failure_patterns", args); (err != nil) != (toolInputError(args) != nil) {
			t.Errorf("check_failure_patterns: %v", err)
		}
	})
}

func toolInputError(args canon.Value) error {
	_, err := toolInput(args)
	return err
}

package pretool

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

// input returns a tool's input.
func input(t *testing.T, text string) canon.Value {
	t.Helper()
	v, err := canon.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// builtinHints returns what the built-in knowledge says of a call.
func builtinHints(t *testing.T, tool, text string, windows bool) []string {
	t.Helper()
	hints, _ := BuiltinKnowledge().hints(tool, input(t, text), windows)
	return hints
}

func TestLineNumberPrefix(t *testing.T) {
	for _, tt := range []struct {
		text   string
		prefix bool
	}{
		{"   12→func main() {", true},
		{"     7\tx := 1", true},
		{"7\tx := 1", true},
		{"12→", true},
		{"100000\tx", true},
		{"\n\n    12→x", true},
		{"     7\tx\r\n     8\ty", true},
		{"x := 1\n     8\ty", true},
		{"x := 1\n8→y", true},
		{"\n7\tx", true},
		{"", false},
		{"func main() {", false},
		{"3.14 * r", false},
		{"2 + 2", false},
		{"100", false},
		{"12 ", false},
		{"12: x", false},
		{"1. first\t", false},
		{"12 → 13", false},
		{"x12→y", false},
		{"→ x", false},
		{"\tx", false},
		{"-12\tx", false},
		{"0x1f\tx", false},
		{"name\tage\n1\t42", false}, // a table
		{"x\n  1\ty z", true},
		{"\u0661\u0662→x", false}, // Arabic digits are not what Read writes
	} {
		hints := builtinHints(t, "Edit", `{"file_path": "a", "old_string": `+quote(tt.text)+`}`, false)
		if got := len(hints) == 1 && strings.Contains(hints[0], "line number"); got != tt.prefix || len(hints) > 1 {
			t.Errorf("old_string %q: hints %q, want one of a line number: %v", tt.text, hints, tt.prefix)
		}
	}
}

func quote(text string) string { return string(canon.AppendString(nil, text)) }

func TestMissingArguments(t *testing.T) {
	for _, tt := range []struct {
		tool, input string
		missing     string // "" is no hint
	}{
		{"Edit", `{"file_path": "a", "old_string": "x"}`, ""},
		{"Edit", `{"old_string": "x"}`, "file_path"},
		{"Edit", `{"file_path": "", "old_string": "x"}`, "file_path"},
		{"Edit", `{"file_path": " \u0000\n"}`, "file_path"},
		{"Edit", `{"file_path": null}`, "file_path"},
		{"Edit", `{"FILE_PATH": "a"}`, "file_path"},
		{"Edit", `{}`, "file_path"},
		{"Grep", `{"pattern": "x"}`, "head_limit"},
		{"Grep", `{"pattern": "x", "head_limit": 0}`, "head_limit"},
		{"Grep", `{"pattern": "x", "head_limit": null}`, "head_limit"},
		{"Grep", `{"pattern": "x", "head_limit": 5}`, ""},
		{"Grep", `{"pattern": "x", "head_limit": "5"}`, ""},
		{"Glob", `{"pattern": "x"}`, ""},
		{"Write", `{}`, ""},
		{"edit", `{}`, ""},
	} {
		hints := builtinHints(t, tt.tool, tt.input, false)
		if tt.missing == "" && len(hints) > 0 || tt.missing != "" && (len(hints) != 1 || !strings.Contains(hints[0], tt.missing)) {
			t.Errorf("%s %s: hints %q, want one of %q", tt.tool, tt.input, hints, tt.missing)
		}
	}
}

func TestReadOfALargeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for _, tt := range []struct {
		lines int
		more  string // of the input
		hint  bool
	}{
		{500, "", false},
		{501, "", true},
		{501, `, "offset": 0`, true},
		{501, `, "offset": 1`, false},
		{501, `, "limit": 500`, false},
	} {
		writeFile(t, path, strings.Repeat("x\n", tt.lines))
		hints := builtinHints(t, "Read", `{"file_path": `+quote(path)+tt.more+`}`, false)
		if got := len(hints) == 1 && strings.Contains(hints[0], "limit"); got != tt.hint || len(hints) > 1 {
			t.Errorf("%d lines%s: hints %q, want one: %v", tt.lines, tt.more, hints, tt.hint)
		}
	}
}

func TestWindowsCommandsAreTranslated(t *testing.T) {
	for _, tt := range []struct {
		command string
		want    []string // in the hints, one each
	}{
		{"del x", []string{"'rm'"}},
		{"DEL x", []string{"'rm'"}},
		{"erase x", []string{"'rm'"}},
		{"copy a b", []string{"'cp'"}},
		{"xcopy.exe a b", []string{"'cp'"}},
		{"robocopy a b", []string{"'cp'"}},
		{"move a b", []string{"'mv'"}},
		{"ren a b", []string{"'mv'"}},
		{"rename a b", []string{"'mv'"}},
		{"dir", []string{"'ls'"}},
		{"cls", []string{"'clear'"}},
		{"md x", []string{"'mkdir'"}},
		{"rd x", []string{"'rmdir'"}},
		{"attrib +r x", []string{"'chmod'"}},
		{"cd x && del y; del z || dir", []string{"'rm'", "'ls'"}},
		{"x=$(dir)", []string{"'ls'"}},
		{"'del' x", []string{"'rm'"}},
		{"echo del x", nil},
		{"echo 'del x'", nil},
		{"delta-report", nil},
		{"rm del", nil},
		{"cmd /c del x", nil},
		{"type x; find . ; sort x", nil},
		{"", nil},
	} {
		text := `{"command": ` + quote(tt.command) + `}`
		hints := builtinHints(t, "Bash", text, true)
		ok := len(hints) == len(tt.want)
		for i := range min(len(hints), len(tt.want)) {
			ok = ok && strings.Contains(hints[i], tt.want[i])
		}
		if !ok {
			t.Errorf("command %q: hints %q, want %q", tt.command, hints, tt.want)
		}
		if hints := builtinHints(t, "Bash", text, false); len(hints) > 0 {
			t.Errorf("command %q off Windows: hints %q, want none", tt.command, hints)
		}
	}
}

func TestInputOfAnotherShapeIsNoMatch(t *testing.T) {
	for _, text := range []string{`{"command": ["del"]}`, `{"command": null}`, `{"command": 1}`, `{}`} {
		if hints := builtinHints(t, "Bash", text, true); len(hints) > 0 {
			t.Errorf("Bash %s: hints %q, want none", text, hints)
		}
	}
	if hints := builtinHints(t, "Edit", `{"file_path": ["a"], "old_string": 12}`, false); len(hints) > 0 {
		t.Errorf("hints %q, want none", hints)
	}
	if hints, _ := BuiltinKnowledge().hints("Edit", canon.Value{}, false); len(hints) != 1 {
		t.Errorf("hints for no input %q, want one of the missing file_path", hints)
	}
}

func TestPatternsAreCountedByTool(t *testing.T) {
	k := BuiltinKnowledge()
	for tool, want := range map[string]int{"Edit": 2, "Grep": 1, "Read": 1, "Bash": 1, "Write": 0, "": 0, "bash": 0} {
		if _, got := k.hints(tool, canon.Value{}, false); got != want {
			t.Errorf("%d patterns checked for %q, want %d", got, tool, want)
		}
	}
}

// userFile uses all that a file can say.
const userFile = `{
  "Bash": [{
    "pattern_id": "bash_windows_tools",
    "description": "no such tool here",
    "solution": {"type": "translate", "mapping": {"IPCONFIG.exe": "ip addr", "del": "trash"}, "params": {}},
    "confidence": 0.5
  }],
  "Glob": [{"pattern_id": "glob_path", "solution": {"type": "add_params", "params": {"path": "src", "depth": null}}}],
  "Write": [
    {"pattern_id": "write_unread", "solution": {"type": "require_read"}, "confidence": 1e-1},
    {"pattern_id": "write_numbers", "solution": {"type": "strip_prefix", "params": ["content"]}, "confidence": 1}
  ],
  "MultiEdit": [{"pattern_id": "numbers", "solution": {"type": "strip_prefix"}}],
  "Edit": []
}`

func TestUserFileIsAdded(t *testing.T) {
	k, err := BuiltinKnowledge().With("own.json", []byte(userFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tool, input string
		hints       []string
		checked     int
	}{
		{"Bash", `{"command": "ipconfig"}`, []string{"Windows command 'ipconfig': use Unix 'ip', as in 'ip addr' (no such tool here)"}, 2},
		{"Bash", `{"command": "del x"}`, []string{
			"Windows command 'del': use Unix 'rm' (the shell is a Unix one, on Windows too)",
			"Windows command 'del': use Unix 'trash' (no such tool here)",
		}, 2},
		{"Glob", `{}`, []string{`Glob without path: add it, such as "src"`, "Glob without depth: add it"}, 1},
		{"Write", `{"content": "1\tx"}`, []string{
			"Write content carries a line number prefix: leave out the number and the tab or arrow", "Read the file before Write",
		}, 2},
		{"MultiEdit", `{"old_string": "1→x"}`, []string{
			"MultiEdit old_string carries a line number prefix: leave out the number and the tab or arrow",
		}, 1},
		{"Edit", `{"file_path": "a"}`, nil, 2},
	} {
		hints, checked := k.hints(tt.tool, input(t, tt.input), true)
		if diff := cmp.Diff(tt.hints, hints); diff != "" || checked != tt.checked {
			t.Errorf("%s %s: %d checked, want %d; hints differ (-want +got):\n%s", tt.tool, tt.input, checked, tt.checked, diff)
		}
	}
	if _, checked := BuiltinKnowledge().hints("Bash", canon.Value{}, true); checked != 1 {
		t.Errorf("the built-in knowledge has %d patterns for Bash, want 1 as before", checked)
	}
}

func TestSameFileTwiceHintsOnce(t *testing.T) {
	k := BuiltinKnowledge()
	for range 2 {
		var err error
		if k, err = k.With("own.json", builtinKnowledge); err != nil {
			t.Fatal(err)
		}
	}
	if hints, checked := k.hints("Edit", input(t, `{}`), false); len(hints) != 1 || checked != 6 {
		t.Errorf("%d checked, hints %q; want 6 and one hint", checked, hints)
	}
}

func TestBrokenKnowledgeFiles(t *testing.T) {
	solution := func(text string) string { return `{"T": [{"pattern_id": "p", "solution": ` + text + `}]}` }
	for _, tt := range []struct{ text, want string }{
		{"", "own.json:1:1: not JSON: "},
		{"{\n  \"T\": [\n    {],\n", "own.json:3:6: not JSON: "},
		{"\ufeff{}", "own.json:1:1: not JSON: "},
		{`{"T": [], "T": []}`, `own.json:1:11: duplicate key "T"`},
		{`{"T": ["` + "\xff" + `"]}`, "own.json:1:9: "},
		{`[]`, "own.json:1:1: the file is not an object"},
		{"{\n \"é\": {}}", `own.json:2:7: "é" is not a list of patterns`},
		{`{"T": [1]}`, "own.json:1:8: a pattern is an object, not number"},
		{`{"T": [{"solution": {"type": "require_read"}}]}`, `own.json:1:8: a pattern has no "pattern_id"`},
		{`{"T": [{"pattern_id": "p"}]}`, `own.json:1:8: a pattern has no "solution"`},
		{`{"T": [{"pattern_id": " ", "solution": {"type": "require_read"}}]}`, `own.json:1:23: "pattern_id" is empty`},
		{`{"T": [{"pattern_id": 1}]}`, `own.json:1:23: "pattern_id" holds number, not a string`},
		{`{"T": [{"pattern_id": "p", "confidense": 1}]}`, `own.json:1:42: unknown key "confidense" in a pattern`},
		{`{"T": [{"confidence": 1.5}]}`, `own.json:1:23: "confidence" is not a number from 0 to 1`},
		{`{"T": [{"confidence": "1"}]}`, `own.json:1:23: "confidence" is not a number from 0 to 1`},
		{`{"T": [{"confidence": 1e999}]}`, `own.json:1:23: "confidence" is not a number from 0 to 1`},
		{`{"T": [{"description": null}]}`, `own.json:1:24: "description" holds null, not a string`},
		{solution(`[]`), "own.json:1:40: a solution is an object, not array"},
		{solution(`{}`), `own.json:1:40: a solution has no "type"`},
		{solution(`{"type": "rewrite"}`), `own.json:1:49: unknown solution type "rewrite"`},
		{solution(`{"type": "require_read", "pattern": "^x"}`), `own.json:1:76: unknown key "pattern" in a solution`},
		{solution(`{"type": "translate"}`), `own.json:1:40: a solution of type "translate" has no "mapping"`},
		{solution(`{"type": "translate", "mapping": {}}`), `own.json:1:40: a solution of type "translate" has no "mapping"`},
		{solution(`{"type": "translate", "mapping": ["del"]}`), `own.json:1:73: "mapping" is not an object`},
		{solution(`{"type": "translate", "mapping": {"del": ""}}`), `own.json:1:81: "del" is empty`},
		{solution(`{"type": "translate", "mapping": {"del /q": "rm"}}`), `own.json:1:84: "del /q" is not one command word`},
		{solution(`{"type": "add_params"}`), `own.json:1:40: a solution of type "add_params" has no "params"`},
		{solution(`{"type": "add_params", "params": "x"}`), `own.json:1:73: "params" is neither a list nor an object`},
		{solution(`{"type": "add_params", "params": [1]}`), `own.json:1:74: "params" holds number, not a string`},
		{`{"T": [{"pattern_id": "p", "solution": {"type": "require_read"}}, {"pattern_id": "p", "solution": {"type": "require_read"}}]}`,
			`own.json:1:67: T has the pattern "p" twice`},
		{strings.Repeat(" ", MaxKnowledge) + "{}", "own.json:1:1: the file is larger than 1048576 bytes"},
	} {
		k, err := BuiltinKnowledge().With("own.json", []byte(tt.text))
		if e, ok := errors.AsType[*KnowledgeError](err); !ok || k != nil || !strings.HasPrefix(e.Error(), tt.want) {
			t.Errorf("%.80q: error %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestLongInputsTakeLinearTime(t *testing.T) {
	const size = 1 << 20
	for _, unit := range []string{"1", " ", "\n", "1\t", "→", "del ", "del;", "$(", "'", "a 1\n"} {
		long := quote(strings.Repeat(unit, size/len(unit)))
		start := time.Now()
		builtinHints(t, "Edit", `{"old_string": `+long+`}`, true)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("an input of %d MiB that repeats %q took %v", size>>20, unit, took)
		}
	}
}

func FuzzKnowledgeFile(f *testing.F) {
	f.Add([]byte(userFile), "Write", []byte(`{"content": "1\tx"}`))
	f.Add(builtinKnowledge, "Bash", []byte(`{"command": "cd x && del y"}`))
	f.Add([]byte(`{"T": [{"pattern_id": "p", "solution": {"type": "add_params", "params": ["a"]}}]}`), "T", []byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte, tool string, call []byte) {
		lines := 1 + strings.Count(string(text), "\n")
		k, err := BuiltinKnowledge().With("own.json", text)
		if err != nil {
			e, ok := errors.AsType[*KnowledgeError](err)
			if !ok || e.Line < 1 || e.Line > lines || e.Col < 1 || e.Msg == "" {
				t.Fatalf("error %#v for %q", err, text)
			}
			k = BuiltinKnowledge()
		}
		v, err := canon.Parse(call)
		if err != nil || v.Kind() != canon.Object {
			return
		}
		hints, checked := k.hints(tool, v, true)
		if _, least := BuiltinKnowledge().hints(tool, v, true); checked < least {
			t.Errorf("%d patterns checked for %q, want at least the %d that are built in", checked, tool, least)
		}
		for _, hint := range hints {
			if hint == "" {
				t.Errorf("an empty hint in %q", hints)
			}
		}
	})
}

func TestKnowledgeErrorSaysWhatIsKnown(t *testing.T) {
	_, err := BuiltinKnowledge().With("own.json", []byte(`{"Bash": [{"pattern_id": "p", "solution": {"type": "transalte"}}]}`))
	e, ok := errors.AsType[*KnowledgeError](err)
	if want := "known here: translate, strip_prefix, add_params, require_read"; !ok || e.Hint != want {
		t.Errorf("error %#v, want the hint %q", err, want)
	}
}

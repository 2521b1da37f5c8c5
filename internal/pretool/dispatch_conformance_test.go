package pretool

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

// conformanceCase is a line of testdata/conformance/pretool.jsonl.
type conformanceCase struct {
	Name     string
	Env      map[string]string
	Platform string
	Library  map[string]string
	Call     struct {
		Tool      string
		Arguments map[string]string
	}
	Expect map[string]any
}

// TestPureToolsConform holds the tools that need no session to the conformance cases, without a gate or a wire between.
func TestPureToolsConform(t *testing.T) {
	answer := map[string]func(conformanceCase) map[string]any{
		"check_failure_patterns":  answerKnowledge,
		"get_dynamic_skill_hint":  answerSkill,
		"validate_agent_dispatch": answerDispatch,
	}
	ran := map[string]int{}
	for _, c := range conformanceCases(t) {
		if answer[c.Call.Tool] == nil {
			continue
		}
		ran[c.Call.Tool]++
		t.Run(c.Name, func(t *testing.T) {
			inLibrary(t, &c)
			got := answer[c.Call.Tool](c)
			for field, want := range c.Expect {
				if !matches(got[field], want) {
					t.Errorf("%s = %#v, want %#v", field, got[field], want)
				}
			}
		})
	}
	if len(ran) != len(answer) {
		t.Errorf("cases ran for %v, want some for each of %d tools", ran, len(answer))
	}
}

func conformanceCases(t *testing.T) (cases []conformanceCase) {
	t.Helper()
	f, err := os.Open(filepath.FromSlash("../../testdata/conformance/pretool.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c conformanceCase
		if err := json.Unmarshal(lines.Bytes(), &c); err == nil { // arguments of another shape are other tools'
			cases = append(cases, c)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

// inLibrary writes the library of a case and puts its folder in the case's place for it.
func inLibrary(t *testing.T, c *conformanceCase) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range c.Library {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	for _, values := range []map[string]string{c.Env, c.Call.Arguments} {
		for key, value := range values {
			values[key] = strings.ReplaceAll(value, "{{lib}}", dir)
		}
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func answerKnowledge(c conformanceCase) map[string]any {
	tool := c.Call.Arguments["tool_name"]
	input, err := canon.Parse([]byte(c.Call.Arguments["tool_input"]))
	if err != nil {
		return nil
	}
	hints, checked := BuiltinKnowledge().hints(tool, input, c.Platform == "windows")
	return asJSON(map[string]any{
		"success": true, "tool": tool, "hints": append([]string{}, hints...), "kb_loaded": true, "patterns_checked": checked,
	})
}

func answerSkill(c conformanceCase) map[string]any {
	path := c.Call.Arguments["file_path"]
	ext, skill := suggestSkill(path, nil)
	answer := map[string]any{
		"success": true, "file": path, "extension": ext, "suggested_skill": skill, "has_suggestion": skill != "",
	}
	if skill == "" {
		answer["suggested_skill"] = nil
	}
	return asJSON(answer)
}

func answerDispatch(c conformanceCase) map[string]any {
	a := c.Call.Arguments
	v := validateDispatch(a["subagent_type"], a["prompt"], a["library_path"], func(key string) string { return c.Env[key] })
	return asJSON(map[string]any{"allowed": v.Allowed, "reason": v.Reason, "blocks": v.Blocks, "detail": v.Detail})
}

// asJSON gives an answer the types that JSON has.
func asJSON(answer map[string]any) (decoded map[string]any) {
	text, err := json.Marshal(answer)
	if err == nil {
		err = json.Unmarshal(text, &decoded)
	}
	if err != nil {
		panic(err)
	}
	return decoded
}

// matches compares a field with what a case wants of it: $contains a text and $has an element that contains one, both
// without case, $len of a list, or the value itself.
func matches(got, want any) bool {
	special, ok := want.(map[string]any)
	if !ok {
		return cmp.Equal(got, want)
	}
	list, _ := got.([]any)
	for key, want := range special {
		switch key {
		case "$len":
			if float64(len(list)) != want {
				return false
			}
		case "$contains":
			if !containsFold(got, want) {
				return false
			}
		case "$has":
			for _, text := range want.([]any) {
				if !hasElement(list, text) {
					return false
				}
			}
		default:
			return cmp.Equal(got, want)
		}
	}
	return true
}

func hasElement(list []any, text any) bool {
	for _, element := range list {
		if containsFold(element, text) {
			return true
		}
	}
	return false
}

func containsFold(got, part any) bool {
	text, ok := got.(string)
	return ok && strings.Contains(strings.ToLower(text), strings.ToLower(part.(string)))
}

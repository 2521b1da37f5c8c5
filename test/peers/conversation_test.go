//go:build unix

package peers_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// step is one call of the conversation, and what is to come of it.
type step struct {
	tool    string
	args    object
	want    answer
	outcome string // of its record in the ledger, after the decision
}

type object map[string]any

// answer is what a client sees of the answer to a call: a result, or an error.
type answer struct {
	Structured object // structuredContent
	Failed     bool   // isError: the tool's own failure, for the model to see
	Text       string // of a failed result; else the text must repeat Structured

	Code    int // of the JSON-RPC error
	Message string
	Rule    string // from the error's data
}

// denied is the answer to a call that the policy, or the tool's schema, refuses. A tool that the client cannot see gets
// no rule, whether it exists or not.
func denied(tool, rule string) answer {
	return answer{Code: -32602, Message: "tool denied: " + tool, Rule: rule}
}

const (
	note = "note-0001"

	// text has characters of one to four bytes, and what some encoders of JSON escape.
	text = "first: ünïcödé ✎ 𝄞 <&> \"quoted\"\n\u2028"
)

// conversation is what every client says, in this order, on an empty ledger.
var conversation = []step{
	{
		tool: "read_ledger", args: object{},
		want:    answer{Structured: object{"notes": []object{}}},
		outcome: "allow observed",
	},
	{
		tool: "write_note", args: object{"request_id": note, "text": text},
		want:    answer{Structured: object{"request_id": note, "status": "committed"}},
		outcome: "allow committed",
	},
	{
		tool: "write_note", args: object{"text": text, "request_id": note},
		want:    answer{Structured: object{"request_id": note, "status": "replay"}},
		outcome: "allow replay",
	},
	{
		tool: "write_note", args: object{"request_id": note, "text": "another"},
		want:    answer{Structured: object{"request_id": note, "status": "conflict"}, Failed: true},
		outcome: "allow conflict",
	},
	{
		tool: "write_note", args: object{"request_id": "short", "text": text},
		want:    denied("write_note", "arg_rules.write_note.request_id.min_len"),
		outcome: "deny not_executed",
	},
	{
		tool: "write_note", args: object{"request_id": "note-0002", "text": strings.Repeat("𝄞", 2001)},
		want:    denied("write_note", "arg_rules.write_note.text.max_len"),
		outcome: "deny not_executed",
	},
	{
		tool: "write_note", args: object{"request_id": "note-0002", "text": text, "force": true},
		want:    denied("write_note", "schema"),
		outcome: "deny not_executed",
	},
	{
		tool: "rm_rf", args: object{"path": "/"},
		want:    denied("rm_rf", ""),
		outcome: "deny not_executed",
	},
	{
		tool: "no_such_tool", args: object{},
		want:    denied("no_such_tool", ""),
		outcome: "deny not_executed",
	},
	{
		tool: "Write_Note", args: object{"request_id": "note-0002", "text": text},
		want:    denied("Write_Note", ""),
		outcome: "deny not_executed",
	},
	{
		tool: "write_note", args: object{"request_id": "note-0002", "text": strings.Repeat("𝄞", 2000)},
		want:    answer{Structured: object{"request_id": "note-0002", "status": "committed"}},
		outcome: "allow committed",
	},
	{
		tool: "read_ledger", args: object{},
		want: answer{Structured: object{"notes": []object{
			{"request_id": note, "text": text},
			{"request_id": "note-0002", "text": strings.Repeat("𝄞", 2000)},
		}}},
		outcome: "allow observed",
	},
}

// check compares what a client saw of the answer to the step with what it was to see.
func (s step) check(t *testing.T, got answer) {
	t.Helper()
	want := s.want
	if want.Structured != nil {
		// For clients that read only text (MCP 2026-07-28, server/tools, structured content).
		var copied object
		if err := json.Unmarshal([]byte(got.Text), &copied); err != nil {
			t.Errorf("%s: text content %q: %v", s.tool, got.Text, err)
		}
		diff(t, s.tool+": text content", copied, want.Structured)
		got.Text = ""
	}
	diff(t, s.tool, got, want)
}

// checkRecords sees whether the ledger has exactly one record for each step, with its outcome.
func checkRecords(t *testing.T, p place, steps []step) {
	t.Helper()
	var want []string
	for _, s := range steps {
		want = append(want, s.outcome)
	}
	diff(t, "records in the ledger", p.outcomes(t), want)
}

// rule returns the rule that the data of a denial names; the data has a reason beside it, and nothing else.
func rule(t *testing.T, data object) string {
	t.Helper()
	if data == nil {
		return ""
	}
	rule, _ := data["rule"].(string)
	if reason, _ := data["reason"].(string); rule == "" || reason == "" || len(data) != 2 {
		t.Errorf("data of the error = %v, want a rule and a reason", data)
	}
	return rule
}

// tool is what a client can read in a list about a tool.
type tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  object          `json:"annotations"`
}

// listed are the names of the tools that the repository's policy lets a client see, and what is true of them.
var listed = []struct {
	name        string
	annotations object
}{
	{"write_note", object{"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}},
	{"read_ledger", object{"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}},
}

// checkList sees whether a client was shown the listed tools, in whatever order it gives them, and nothing else.
func checkList(t *testing.T, tools []tool) {
	t.Helper()
	got, want := object{}, object{}
	for _, tool := range tools {
		delete(tool.Annotations, "title") // a title says nothing about effects
		got[tool.Name] = tool.Annotations
		if tool.Title == "" || tool.Description == "" || tool.InputSchema == nil || tool.OutputSchema == nil {
			t.Errorf("%s: a title, a description or a schema is missing", tool.Name)
		}
	}
	for _, tool := range listed {
		want[tool.name] = tool.annotations
	}
	diff(t, "listed tools and their annotations", got, want)
	if len(tools) != len(listed) {
		t.Errorf("%d tools are listed, want %d", len(tools), len(listed))
	}
}

// names returns the names of tools.
func names(tools []tool) []string {
	names := []string{}
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}

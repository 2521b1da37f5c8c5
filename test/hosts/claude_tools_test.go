//go:build unix && peers

package hosts_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// servePolicy is the policy of the MCP server: rm_rf can never be called.
const servePolicy = `{"version":1,"allow":["write_note","read_ledger"],"deny":["rm_rf"],
	"arg_rules":{"write_note":{"request_id":{"min_len":8}}}}`

// serve registers `sallyport serve` in the host, which then has its tools as mcp__sallyport__…
func (d desk) serve(t *testing.T) (notes string, flags []string) {
	t.Helper()
	policy, ledger := filepath.Join(d.home, "serve.json"), filepath.Join(d.home, "notes")
	write(t, policy, servePolicy)
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"sallyport": map[string]any{
		"type": "stdio", "command": sallyport, "args": []string{"serve", "--policy", policy, "--ledger", ledger},
	}}})
	must(t, err)
	name := filepath.Join(d.home, "mcp.json")
	write(t, name, string(config))
	return ledger, []string{"--strict-mcp-config", "--mcp-config", name, "--permission-mode", "bypassPermissions"}
}

func note(id, request, text string) call {
	return call{id, "mcp__sallyport__write_note", map[string]any{"request_id": request, "text": text}}
}

// TestClaudeUsesOurTools: both gates stand behind one another, and each has its own ledger.
func TestClaudeUsesOurTools(t *testing.T) {
	d := newDesk(t)
	d.install(t, deskPolicy)
	notes, flags := d.serve(t)
	m := newModel(t,
		[]call{note("note", "claude-0001", "hello")},
		[]call{note("short", "x", "hello")},
		[]call{{"remove", "mcp__sallyport__rm_rf", map[string]any{"path": "victim"}}},
		[]call{note("again", "claude-0001", "hello")},
	)
	d.letWork(t, m, flags...)
	if told := m.told(t, "note"); told.failed || !strings.Contains(told.text, "committed") {
		t.Errorf("a note: the model was told %+v, want that it is committed", told)
	}
	if told := m.told(t, "again"); told.failed || !strings.Contains(told.text, "replay") {
		t.Errorf("the same note: the model was told %+v, want that it is a replay", told)
	}
	if told := m.told(t, "remove"); !told.failed {
		t.Errorf("rm_rf: the model was told %+v, want a failure", told)
	}
	if told := m.told(t, "short"); !told.failed || !strings.Contains(told.text, "tool denied: write_note") {
		t.Errorf("a note whose request_id is too short: the model was told %+v, want the denial", told)
	}
	if m.sees("mcp__sallyport__rm_rf") || !m.sees("mcp__sallyport__write_note") {
		t.Errorf("the model is offered %q, want write_note and not what it can never call", m.tools)
	}
	want := map[string][]string{
		"claude-0001": {"allow committed", "allow replay"},
		"x":           {"deny not_executed arg_rules.write_note.request_id.min_len"},
	}
	if diff := cmp.Diff(want, decisionsIn(t, notes)); diff != "" {
		t.Errorf("the server's ledger (-want +got):\n%s", diff)
	}
}

// TestClaudeHeedsTheHookForMCPTools: the hook judges the tools of every MCP server, ours too, before the server is asked.
func TestClaudeHeedsTheHookForMCPTools(t *testing.T) {
	d := newDesk(t)
	d.install(t, deskPolicy+`  - id: no-notes
    decision: deny
    tools: ["mcp__sallyport__*"]
    reason: "Notes are off here."
`)
	notes, flags := d.serve(t)
	m := newModel(t, []call{note("note", "claude-0001", "hello")})
	d.letWork(t, m, flags...)
	if told := m.told(t, "note"); !told.failed || !strings.Contains(told.text, "Notes are off here.") {
		t.Errorf("the model was told %+v, want the rule's reason", told)
	}
	if diff := cmp.Diff(map[string][]string{"note": {"deny not_executed no-notes"}}, d.decisions(t)); diff != "" {
		t.Errorf("the hook's ledger (-want +got):\n%s", diff)
	}
	if got := decisionsIn(t, notes); len(got) > 0 {
		t.Errorf("the server was asked: %v", got)
	}
}

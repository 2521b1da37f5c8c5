package hook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestToolsWithinToolsAreJudged(t *testing.T) {
	p := newPlace(t, `{"version":2,"default":"allow","rules":[{"id":"no-delete","decision":"deny","tools":["mcp__*__delete_*"]},
		{"id":"secrets","decision":"deny","reads":["**/.env"],"writes":["**/.env"]}]}`)
	nested := `{"name":"mcp__db__delete_table"}`
	for range maxInner + 1 {
		nested = `{"name":"mcp__x__call_tool","arguments":` + nested + `}`
	}
	for _, test := range []struct{ tool, input, want string }{
		{"mcp__x__call_tool", `{"name":"mcp__db__delete_table","arguments":{}}`, "deny"},
		{"mcp__x__call_tool", `{"name":"mcp__db__list_tables"}`, "none"},
		{"mcp__x__call_tool", `{"name":"mcp__x__call_tool","arguments":{"name":"mcp__db__delete_table"}}`, "deny"},
		{"mcp__x__call_tool", `{"name":"mcp__fs__write_file","arguments":{"path":".env","content":"x"}}`, "deny"},
		{"mcp__x__call_tool", nested, "deny"},
		{"CallMcpTool", `{"server":"db","toolName":"delete_table","arguments":{}}`, "deny"},
	} {
		if got := outcome(t, "claude", p.call(test.tool, test.input)); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.tool, test.input, got, test.want)
		}
	}
}

func TestAttachedFilesAreReadToo(t *testing.T) {
	p := newPlace(t, testPolicy)
	p.write(p.policy, `{"version":2,"default":"allow","rules":[{"id":"secrets","decision":"deny","tools":["Read"],"reads":["**/.env"]}]}`)
	for _, test := range []struct{ attachments, want string }{
		{`[]`, "allow"},
		{`[{"type":"file","file_path":"/w/b.md"}]`, "allow"},
		{`[{"type":"file","file_path":"/w/b.md"},{"type":"rule","file_path":"/w/.env"}]`, "deny"},
		{`["/w/.env"]`, "deny"},
		{`[{"type":"file"}]`, "deny"},
	} {
		event := `{"hook_event_name":"beforeReadFile","conversation_id":"c","workspace_roots":["/w"],"file_path":"/w/a.md","attachments":` + test.attachments + `}`
		got := outcome(t, "cursor", p.run(Options{Host: "cursor"}, System{Stdin: strings.NewReader(event)}))
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.attachments, got, test.want)
		}
	}
}

func TestDanglingLinkIsNoAbsentPolicy(t *testing.T) {
	for _, link := range []string{".config/sallyport/policy.yaml", ".config/sallyport", ".sallyport/policy.yaml", ".sallyport"} {
		t.Run(link, func(t *testing.T) {
			p := newPlace(t, testPolicy)
			name := filepath.Join(p.home, link)
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/nowhere/at/all", name); err != nil {
				t.Fatal(err)
			}
			event := p.event("PreToolUse", "Grep", `{"pattern":"x"}`)
			r := runWith(t, Options{Host: "claude"}, System{Stdin: strings.NewReader(event)}, map[string]string{"HOME": p.home})
			want(t, "the outcome", outcome(t, "claude", r), "deny")
			wantReason(t, r, "rule policy")
		})
	}
}

func TestPolicyAboveTheRealFolderCounts(t *testing.T) {
	p := newPlace(t, testPolicy)
	p.write(filepath.Join(p.home, "app", ".sallyport", "policy.yaml"), "version: 2\ndefault: allow\nrules:\n  - {id: no-grep, decision: deny, tools: [Grep]}\n")
	if err := os.MkdirAll(filepath.Join(p.home, "app", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(p.home, "app", "deep"), link); err != nil {
		t.Fatal(err)
	}
	event := strings.Replace(p.event("PreToolUse", "Grep", `{"pattern":"x"}`), `"cwd":"`+p.home+`"`, `"cwd":"`+link+`"`, 1)
	r := runWith(t, Options{Host: "claude"}, System{Stdin: strings.NewReader(event)}, map[string]string{"HOME": p.home})
	want(t, "the outcome", outcome(t, "claude", r), "deny")
	wantReason(t, r, "no-grep")
}

func TestOneCallCountsOnce(t *testing.T) {
	p := newPlace(t, `{"version":2,"default":"deny","rules":[{"id":"slowly","decision":"allow","tools":["Grep"],"limit":{"calls":2,"per":"1h","burst":2}}]}`)
	for i, step := range []struct{ event, want string }{
		{"PreToolUse", "none"}, {"PermissionRequest", "none"}, {"PreToolUse", "none"}, {"PermissionRequest", "none"}, {"PreToolUse", "deny"},
	} {
		r := p.run(Options{}, System{Stdin: strings.NewReader(p.event(step.event, "Grep", "{}"))})
		if got := outcome(t, "claude", r); got != step.want {
			t.Errorf("step %d, %s: %s, want %s", i, step.event, got, step.want)
		}
	}
}

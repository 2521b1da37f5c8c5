package install

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhereSettingsAre(t *testing.T) {
	env := map[string]string{"CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "/elsewhere/codex"}
	where := Where{Home: "/h", Dir: "/w", Getenv: func(name string) string { return env[name] }, Agent: "dev"}
	for host, want := range map[string][2]string{
		"claude":   {"/h/.claude/settings.json", "/w/.claude/settings.json"},
		"codex":    {"/elsewhere/codex/hooks.json", "/w/.codex/hooks.json"},
		"gemini":   {"/h/.gemini/settings.json", "/w/.gemini/settings.json"},
		"cursor":   {"/h/.cursor/hooks.json", "/w/.cursor/hooks.json"},
		"copilot":  {"/h/.copilot/hooks/sallyport.json", "/w/.github/hooks/sallyport.json"},
		"windsurf": {"/h/.codeium/windsurf/hooks.json", "/w/.windsurf/hooks.json"},
		"cline":    {"/h/Documents/Cline/Hooks/PreToolUse", "/w/.clinerules/hooks/PreToolUse"},
		"kiro":     {"/h/.kiro/agents/dev.json", "/w/.kiro/agents/dev.json"},
	} {
		for i, scope := range []Scope{User, Project} {
			got, err := HostNamed(host).File(scope, where)
			if err != nil || filepath.ToSlash(got) != want[i] {
				t.Errorf("%s, %s: %s, %v; want %s", host, scope, got, err, want[i])
			}
		}
	}
	where.ConfigDir = "/c"
	if got, err := HostNamed("claude").File(User, where); err != nil || filepath.ToSlash(got) != "/c/settings.json" {
		t.Errorf("with a folder of its own: %s, %v", got, err)
	}
	where.Agent = ""
	if got, err := HostNamed("kiro").File(User, where); err == nil {
		t.Errorf("Kiro without an agent: %s", got)
	}
}

func TestFilesFindsEveryAgentAndEveryScope(t *testing.T) {
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "[odd] *folder")
	for _, name := range []string{home + "/.kiro/agents/a.json", dir + "/.kiro/agents/b.json", dir + "/.kiro/agents/b.md"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	where := Where{Home: home, Dir: dir, Getenv: func(string) string { return "" }}
	want := []string{home + "/.kiro/agents/a.json", dir + "/.kiro/agents/b.json"}
	if diff := cmp.Diff(want, HostNamed("kiro").Files(where)); diff != "" {
		t.Errorf("Kiro's files (-want +got):\n%s", diff)
	}
	want = nil
	for _, of := range []string{home, dir} {
		want = append(want, of+"/.claude/settings.json", of+"/.claude/settings.local.json")
	}
	want = append(want, HostNamed("claude").Managed())
	if diff := cmp.Diff(want, HostNamed("claude").Files(where)); diff != "" {
		t.Errorf("Claude's files (-want +got):\n%s", diff)
	}
}

package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/internal/policy"
)

// project is a home with a project beside it, which has a policy.
type project struct {
	testPlace
	work string
}

func newProject(t *testing.T, policyText string) project {
	t.Helper()
	root := t.TempDir()
	p := project{testPlace{t, filepath.Join(root, "home"), ""}, filepath.Join(root, "work")}
	for _, dir := range []string{p.home, filepath.Join(p.work, "sub")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if policyText != "" {
		p.write(p.policyFile(), policyText)
	}
	return p
}

func (p project) policyFile() string { return filepath.Join(p.work, ".sallyport", "policy.yaml") }

func (p project) user(text string) { p.write(UserPolicy(p.home), text) }

// trust writes what "sallyport trust" writes.
func (p project) trustIt() {
	p.t.Helper()
	text, err := os.ReadFile(p.policyFile())
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(filepath.Join(StateDir(p.home), "trust.json"), fmt.Sprintf(`{"version":1,"trusted":{%q:%q}}`, p.policyFile(), digest(text)))
}

// ask runs the hook for a call of a tool in the project's subfolder, without --policy.
func (p project) ask(tool string) (string, Reply) {
	p.t.Helper()
	return p.askAs(tool, Options{Host: "claude"}, System{}, map[string]string{"HOME": p.home})
}

func (p project) askAs(tool string, opt Options, sys System, env map[string]string) (string, Reply) {
	p.t.Helper()
	event := p.event("PreToolUse", tool, `{"x":1}`)
	sys.Stdin = strings.NewReader(strings.Replace(event, p.home, filepath.Join(p.work, "sub"), 1))
	r := runWith(p.t, opt, sys, env)
	return outcome(p.t, opt.Host, r), r
}

func (p project) wants(tool, want string) {
	p.t.Helper()
	if got, r := p.ask(tool); got != want {
		p.t.Errorf("%s: got %s, want %s: %s%s", tool, got, want, r.Stdout, r.Stderr)
	}
}

const denyTea = "version: 2\ndefault: allow\nrules:\n  - id: no-tea\n    decision: deny\n    tools: [mcp__kitchen__tea]\n    reason: No tea here.\n"

// TestProjectDeniesUntrusted lets a project forbid what it likes, from any of its folders.
func TestProjectDeniesUntrusted(t *testing.T) {
	p := newProject(t, denyTea)
	p.wants("mcp__kitchen__tea", "deny")
	p.wants("mcp__kitchen__cake", "none")
	if _, r := p.ask("mcp__kitchen__tea"); !strings.Contains(string(r.Stdout), "No tea here.") {
		t.Errorf("the reason is missing in %s", r.Stdout)
	}
}

// TestProjectAllowsOnlyWhenTrusted counts what a repository allows only as the user has seen it.
func TestProjectAllowsOnlyWhenTrusted(t *testing.T) {
	p := newProject(t, "version: 2\ndefault: allow\nrules:\n  - {id: tea, decision: allow, tools: [mcp__kitchen__tea], skip_prompt: true}\n")
	p.user("version: 2\ndefault: ask\n")
	p.wants("mcp__kitchen__tea", "ask")
	p.trustIt()
	p.wants("mcp__kitchen__tea", "allow")
	p.wants("mcp__kitchen__cake", "ask") // the stricter default counts
	p.write(p.policyFile(), "version: 2\ndefault: allow\nrules:\n  - {id: tea, decision: allow, tools: [mcp__kitchen__*], skip_prompt: true}\n")
	p.wants("mcp__kitchen__tea", "ask") // it is another file now
}

// TestTrustThatCannotBeRead trusts nothing.
func TestTrustThatCannotBeRead(t *testing.T) {
	p := newProject(t, "version: 2\ndefault: allow\nrules:\n  - {id: tea, decision: allow, tools: [mcp__kitchen__tea], skip_prompt: true}\n")
	p.user("version: 2\ndefault: ask\n")
	p.trustIt()
	file := filepath.Join(StateDir(p.home), "trust.json")
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "{", "[]", strings.Replace(string(good), `"version":1`, `"version":2`, 1), strings.Replace(string(good), `"trusted"`, `"Trusted"`, 1),
		strings.Replace(string(good), p.policyFile(), "/elsewhere/.sallyport/policy.yaml", 1)} {
		p.write(file, bad)
		p.wants("mcp__kitchen__tea", "ask")
	}
	p.write(file, string(good))
	p.wants("mcp__kitchen__tea", "allow")
}

// TestInnerProjectDoesNotHideOuterOne keeps a rule in force in a folder that has a policy of its own.
func TestInnerProjectDoesNotHideOuterOne(t *testing.T) {
	p := newProject(t, denyTea)
	p.write(filepath.Join(p.work, "sub", ".sallyport", "policy.yaml"), "version: 2\ndefault: allow\n")
	p.wants("mcp__kitchen__tea", "deny")
}

// TestLayersAddUp lets no layer lift what another one denies.
func TestLayersAddUp(t *testing.T) {
	p := newProject(t, denyTea)
	p.user("version: 2\ndefault: allow\nrules:\n  - {id: no-cake, decision: deny, tools: [mcp__kitchen__cake]}\n  - {id: all, decision: allow}\n")
	managed := filepath.Join(p.home, "managed.yaml")
	p.write(managed, "version: 2\ndefault: allow\nrules:\n  - {id: no-gin, decision: deny, tools: [mcp__kitchen__gin]}\n")
	for tool, want := range map[string]string{"tea": "deny", "cake": "deny", "gin": "deny", "milk": "none"} {
		got, _ := p.askAs("mcp__kitchen__"+tool, Options{Host: "claude"}, System{Managed: managed}, map[string]string{"HOME": p.home})
		if got != want {
			t.Errorf("%s: got %s, want %s", tool, got, want)
		}
	}
}

// TestNamedPolicyStandsForAllButTheManagedOne is what --policy does.
func TestNamedPolicyStandsForAllButTheManagedOne(t *testing.T) {
	p := newProject(t, denyTea)
	p.user("version: 2\ndefault: deny\n")
	managed, named := filepath.Join(p.home, "managed.yaml"), filepath.Join(p.home, "named.yaml")
	p.write(managed, "version: 2\ndefault: allow\nrules:\n  - {id: no-gin, decision: deny, tools: [mcp__kitchen__gin]}\n")
	p.write(named, "version: 2\ndefault: allow\n")
	for tool, want := range map[string]string{"tea": "none", "gin": "deny"} {
		got, _ := p.askAs("mcp__kitchen__"+tool, Options{Host: "claude", Policy: named}, System{Managed: managed}, map[string]string{"HOME": p.home})
		if got != want {
			t.Errorf("%s: got %s, want %s", tool, got, want)
		}
	}
}

// TestBrokenPolicyDenies says where the mistake is and what to try, for each layer.
func TestBrokenPolicyDenies(t *testing.T) {
	broken := "version: 2\ndefault: allow\nrules:\n  - {id: tea, decison: deny}\n"
	for _, layer := range []string{"managed", "user", "project", "named"} {
		t.Run(layer, func(t *testing.T) {
			p := newProject(t, "")
			opt, sys := Options{Host: "claude"}, System{}
			file := filepath.Join(p.home, "other.yaml")
			switch layer {
			case "managed":
				sys.Managed = file
			case "user":
				file = UserPolicy(p.home)
			case "project":
				file = p.policyFile()
			case "named":
				opt.Policy = file
			}
			p.write(file, broken)
			got, r := p.askAs("Grep", opt, sys, map[string]string{"HOME": p.home})
			want(t, "the outcome", got, "deny")
			wantReason(t, r, file+":4:", "decision", "rule policy")
		})
	}
}

// TestMissingPolicies are no error, but for one that the command line names.
func TestMissingPolicies(t *testing.T) {
	p := newProject(t, "")
	p.wants("mcp__kitchen__tea", "none")
	got, r := p.askAs("Grep", Options{Host: "claude", Policy: filepath.Join(p.home, "gone.yaml")}, System{}, map[string]string{"HOME": p.home})
	want(t, "the outcome", got, "deny")
	wantReason(t, r, "no policy file", "gone.yaml")
}

// TestPolicyBehindALink is read, as people keep their settings elsewhere.
func TestPolicyBehindALink(t *testing.T) {
	p := newProject(t, "")
	p.write(filepath.Join(p.home, "dotfiles", "policy.yaml"), denyTea)
	if err := os.MkdirAll(ConfigDir(p.home), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(p.home, "dotfiles", "policy.yaml"), UserPolicy(p.home)); err != nil {
		t.Fatal(err)
	}
	p.wants("mcp__kitchen__tea", "deny")
}

// TestHomeThatTheProjectMadeUp counts as the project's: a repository can set HOME for a host.
func TestHomeThatTheProjectMadeUp(t *testing.T) {
	p := newProject(t, "version: 2\ndefault: allow\n") // marks the project
	p.user("version: 2\ndefault: ask\n")
	fake := filepath.Join(p.work, "home")
	p.write(UserPolicy(fake), "version: 2\ndefault: allow\nstarter: off\nrules:\n  - {id: tea, decision: allow, tools: [mcp__kitchen__tea], skip_prompt: true}\n")
	sys := System{Account: func() string { return p.home }}
	got, _ := p.askAs("mcp__kitchen__tea", Options{Host: "claude"}, sys, map[string]string{"HOME": fake})
	want(t, "the outcome", got, "ask")
	if _, err := os.Stat(StateDir(fake)); err == nil {
		t.Error("the ledger is in the made-up home")
	}
	want(t, "the number of records in the account's home", fmt.Sprint(len(p.records())), "1")

	// Elsewhere both homes count.
	other := filepath.Join(t.TempDir(), "home")
	p.write(UserPolicy(other), "version: 2\ndefault: allow\nrules:\n  - {id: no-tea, decision: deny, tools: [mcp__kitchen__tea]}\n")
	got, _ = p.askAs("mcp__kitchen__tea", Options{Host: "claude"}, sys, map[string]string{"HOME": other})
	want(t, "the outcome", got, "deny")
	got, _ = p.askAs("mcp__kitchen__cake", Options{Host: "claude"}, sys, map[string]string{"HOME": other})
	want(t, "the outcome", got, "ask")
}

// TestNoHome has nowhere to record, and so denies.
func TestNoHome(t *testing.T) {
	p := newProject(t, "")
	got, r := p.askAs("Grep", Options{Host: "claude"}, System{Account: func() string { return "" }, Managed: "/nowhere/policy.yaml"}, map[string]string{})
	want(t, "the outcome", got, "deny")
	wantReason(t, r, "no home")
}

// TestCompiledPolicy is kept for the next process, and never believed of another text.
func TestCompiledPolicy(t *testing.T) {
	p := newProject(t, denyTea)
	p.wants("mcp__kitchen__tea", "deny")
	kept := filepath.Join(StateDir(p.home), "policies", digest([]byte(denyTea))+".json")
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(kept)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the compiled policy is %v, %v", info.Mode(), err)
	}
	p.wants("mcp__kitchen__tea", "deny")
	for _, bad := range []string{"", "{", string(text[:len(text)/2]), strings.Replace(string(text), digest([]byte(denyTea)), digest([]byte("x")), 1)} {
		p.write(kept, bad)
		p.wants("mcp__kitchen__tea", "deny")
	}
}

// TestCompiledPoliciesAreFew takes away the old ones.
func TestCompiledPoliciesAreFew(t *testing.T) {
	p := newProject(t, "")
	for i := range keepCompiled + 3 {
		p.user(fmt.Sprintf("version: 2\ndefault: allow # %d\n", i))
		p.wants("Grep", "none")
	}
	entries, err := os.ReadDir(filepath.Join(StateDir(p.home), "policies"))
	if err != nil || len(entries) > keepCompiled || len(entries) == 0 {
		t.Errorf("%d compiled policies, %v", len(entries), err)
	}
}

// TestOwnFiles names what no tool may write to.
func TestOwnFiles(t *testing.T) {
	p := newProject(t, denyTea)
	p.user("version: 2\ndefault: allow\n")
	l := loader{places: Places{State: StateDir(p.home), Ledger: "/var/ledger", Homes: []string{p.home}, Managed: "/etc/sallyport/policy.yaml", Named: "/x/named.yaml", Dir: "/work/app"}}
	l.files = []PolicyFile{{Path: p.policyFile(), Level: policy.Project}}
	own := l.own()
	all := strings.Join(own.Files, " ") + " " + strings.Join(own.Folders, " ")
	for _, path := range []string{StateDir(p.home), ConfigDir(p.home), "/var/ledger", "/etc/sallyport/policy.yaml", "/x/named.yaml", p.policyFile(), "/work/app/.ledger"} {
		if !strings.Contains(all, path) {
			t.Errorf("%s is not protected: %s", path, all)
		}
	}
}

package hook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
)

// Rules that need no look at effects, so that these tests are about the hook alone.
const testPolicy = `{"version": 2, "default": "allow", "rules": [
	{"id": "no-writes", "decision": "deny", "tools": ["Write"], "reason": "Write nothing."},
	{"id": "ask-first", "decision": "ask", "tools": ["WebFetch"], "reason": "Ask first."},
	{"id": "quick", "decision": "allow", "tools": ["Read"], "skip_prompt": true}
]}`

// place is a home with a policy file in it.
type testPlace struct {
	t      testing.TB
	home   string
	policy string
}

func newPlace(t testing.TB, policyText string) testPlace {
	t.Helper()
	home := t.TempDir()
	p := testPlace{t, home, filepath.Join(home, "policy.json")}
	p.write(p.policy, policyText)
	return p
}

func (p testPlace) write(path, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p testPlace) run(opt Options, sys System) Reply {
	p.t.Helper()
	if opt.Host == "" {
		opt.Host = "claude"
	}
	if opt.Policy == "" {
		opt.Policy = p.policy
	}
	return runWith(p.t, opt, sys, map[string]string{"HOME": p.home})
}

// call runs the hook of Claude Code for one call, with plenty of time.
func (p testPlace) call(tool, input string) Reply {
	p.t.Helper()
	return p.run(Options{}, System{Stdin: strings.NewReader(p.event("PreToolUse", tool, input))})
}

func (p testPlace) event(name, tool, input string) string {
	return fmt.Sprintf(`{"session_id":"s-1","cwd":%q,"permission_mode":"default","hook_event_name":%q,"tool_name":%q,"tool_input":%s,"tool_use_id":"toolu_1"}`,
		p.home, name, tool, input)
}

func (p testPlace) ledgerFile() string { return filepath.Join(StateDir(p.home), "ledger.jsonl") }

// records are the records in the ledger, each as KEY=VALUE of the given keys.
func (p testPlace) records(keys ...string) []string {
	p.t.Helper()
	text, err := os.ReadFile(p.ledgerFile())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	var all []string
	for line := range bytes.Lines(text) {
		v, err := canon.Parse(bytes.TrimSpace(line))
		if err != nil {
			p.t.Fatal(err)
		}
		var parts []string
		for _, key := range keys {
			if text, ok := v.Get(key).Text(); ok {
				parts = append(parts, text)
			} else if v.Get(key).Exists() {
				parts = append(parts, key)
			}
		}
		all = append(all, strings.Join(parts, " "))
	}
	return all
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}

func wantReason(t testing.TB, r Reply, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if said := string(r.Stdout) + string(r.Stderr); !strings.Contains(said, part) {
			t.Errorf("the host is told %q, which lacks %q", said, part)
		}
	}
}

// TestOneCallOneRecord follows the decisions of ordinary calls into the ledger.
func TestOneCallOneRecord(t *testing.T) {
	p := newPlace(t, testPolicy)
	for _, c := range []struct{ tool, outcome, record string }{
		{"Write", "deny", "claude hook/PreToolUse Write deny not_executed no-writes s-1 toolu_1"},
		{"WebFetch", "ask", "claude hook/PreToolUse WebFetch ask asked ask-first s-1 toolu_1"},
		{"Read", "allow", "claude hook/PreToolUse Read allow permitted quick s-1 toolu_1"},
		{"Grep", "none", "claude hook/PreToolUse Grep allow permitted default s-1 toolu_1"},
	} {
		r := p.call(c.tool, `{"file_path":"/w/a"}`)
		want(t, c.tool, outcome(t, "claude", r), c.outcome)
		if len(r.Stderr) > 0 {
			t.Errorf("%s: %q on stderr", c.tool, r.Stderr)
		}
		records := p.records("host", "method", "name", "decision", "outcome", "rule", "session", "request_id")
		want(t, "the last record", records[len(records)-1], c.record)
	}
	want(t, "the number of records", fmt.Sprint(len(p.records())), "4")
	info, err := os.Stat(p.ledgerFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the ledger is %v, %v", info.Mode(), err)
	}
}

// TestAskThatNobodyHears denies, and the record says so under the rule that asked.
func TestAskThatNobodyHears(t *testing.T) {
	p := newPlace(t, testPolicy)
	text := strings.Replace(p.event("PreToolUse", "WebFetch", `{"url":"https://x"}`), `"default"`, `"bypassPermissions"`, 1)
	r := p.run(Options{}, System{Stdin: strings.NewReader(text)})
	want(t, "the outcome", outcome(t, "claude", r), "deny")
	wantReason(t, r, "Ask first", "rule ask-first", "bypassPermissions")
	want(t, "the record", p.records("decision", "outcome", "rule")[0], "deny not_executed ask-first")
}

// TestUnreadableEventIsRecorded leaves evidence of an event that nobody could judge.
func TestUnreadableEventIsRecorded(t *testing.T) {
	p := newPlace(t, testPolicy)
	r := p.run(Options{}, System{Stdin: strings.NewReader("hello")})
	want(t, "the outcome", outcome(t, "claude", r), "deny")
	want(t, "the record", p.records("method", "decision", "outcome", "rule", "request_id")[0], "hook/PreToolUse deny not_executed event missing")
}

// endless is a reader of which more comes than can be judged.
type endless struct{ left, read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	e.read += n
	return n, nil
}

// TestTooLargeEventIsReadToItsEnd denies with the reason, and lets the host finish its writing.
func TestTooLargeEventIsReadToItsEnd(t *testing.T) {
	p := newPlace(t, testPolicy)
	for _, c := range []struct {
		size   int
		reason string
	}{{maxEvent + 1, "larger than 16 MiB"}, {40 << 20, "larger than 16 MiB"}, {maxEvent, "cannot be read"}} {
		stdin := &endless{left: c.size}
		r := p.run(Options{}, System{Stdin: stdin})
		want(t, "the outcome", outcome(t, "claude", r), "deny")
		wantReason(t, r, c.reason)
		if stdin.read != c.size {
			t.Errorf("%d of %d bytes were read", stdin.read, c.size)
		}
	}
}

// TestEventOfTheLargestSizeIsJudged does not cut what may still be judged.
func TestEventOfTheLargestSizeIsJudged(t *testing.T) {
	p := newPlace(t, testPolicy)
	text := p.event("PreToolUse", "Grep", `{"pattern":"@@"}`)
	text = strings.Replace(text, "@@", strings.Repeat("x", maxEvent-len(text)+2), 1)
	if len(text) != maxEvent {
		t.Fatalf("the event has %d bytes", len(text))
	}
	r := p.run(Options{}, System{Stdin: strings.NewReader(text)})
	want(t, "the outcome", outcome(t, "claude", r), "none")
}

// TestReaderThatFails denies.
func TestReaderThatFails(t *testing.T) {
	p := newPlace(t, testPolicy)
	r := p.run(Options{}, System{Stdin: io.MultiReader(strings.NewReader(p.event("PreToolUse", "Grep", "{}")), failing{})})
	want(t, "the outcome", outcome(t, "claude", r), "deny")
	wantReason(t, r, "could not be read")
}

type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, syscall.EIO }
func (failing) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// badDisk is a file system on which the ledger cannot be written.
type badDisk struct {
	durable.FS
	own, create error
	write       error
	panics      bool
}

func (d badDisk) OwnDir(dir string) error {
	if d.panics {
		panic("a bug")
	}
	if d.own != nil {
		return d.own
	}
	return d.FS.OwnDir(dir)
}

func (d badDisk) Create(name string) (durable.File, error) {
	if d.create != nil {
		return nil, d.create
	}
	f, err := d.FS.Create(name)
	return badFile{f, d.write}, err
}

func (d badDisk) Open(name string) (durable.File, error) {
	f, err := d.FS.Open(name)
	return badFile{f, d.write}, err
}

type badFile struct {
	durable.File
	write error
}

func (f badFile) WriteAt(p []byte, off int64) (int, error) {
	if f.write != nil {
		return 0, f.write
	}
	return f.File.WriteAt(p, off)
}

// TestNoLedgerNoCall denies what cannot be recorded, whatever the reason, and says which.
func TestNoLedgerNoCall(t *testing.T) {
	for _, c := range []struct {
		name   string
		disk   badDisk
		reason string
	}{
		{"full disk", badDisk{write: syscall.ENOSPC}, "no space left"},
		{"read-only disk", badDisk{create: syscall.EROFS}, "read-only"},
		{"no folder", badDisk{own: syscall.EACCES}, "permission denied"},
		{"bug", badDisk{panics: true}, "rule internal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, testPolicy)
			c.disk.FS = durable.OS
			for _, host := range Hosts() {
				r := p.run(Options{Host: host}, System{FS: c.disk, Stdin: strings.NewReader(anyCall(host))})
				want(t, host+": the outcome", outcome(t, host, r), "deny")
				wantReason(t, r, c.reason)
				if err := mustSpeak(host, r); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// anyCall is a harmless call as a host sends it.
func anyCall(host string) string {
	switch host {
	case "gemini":
		return `{"hook_event_name":"BeforeTool","cwd":"/w","tool_name":"read_file","tool_input":{"file_path":"a"}}`
	case "cursor":
		return `{"hook_event_name":"beforeReadFile","workspace_roots":["/w"],"file_path":"/w/a","content":"x"}`
	case "copilot":
		return `{"sessionId":"s","cwd":"/w","toolName":"view","toolArgs":{"path":"/w/a"}}`
	case "windsurf":
		return `{"agent_action_name":"pre_read_code","tool_info":{"file_path":"/w/a"}}`
	case "cline":
		return `{"hookName":"PreToolUse","workspaceRoots":["/w"],"preToolUse":{"toolName":"read_file","parameters":{"path":"a"}}}`
	case "kiro":
		return `{"hook_event_name":"preToolUse","cwd":"/w","tool_name":"fs_read","tool_input":{"path":"/w/a"}}`
	}
	return `{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Read","tool_input":{"file_path":"/w/a"}}`
}

// TestHarmlessCallsPass holds every host to its way of letting a call go on.
func TestHarmlessCallsPass(t *testing.T) {
	p := newPlace(t, `{"version": 2, "default": "allow"}`)
	for _, host := range Hosts() {
		said := "none"
		if host == "cursor" {
			said = "allow"
		}
		r := p.run(Options{Host: host}, System{Stdin: strings.NewReader(anyCall(host))})
		want(t, host+": the outcome", outcome(t, host, r), said)
		if len(r.Stderr) > 0 {
			t.Errorf("%s: %q on stderr", host, r.Stderr)
		}
	}
}

// TestUnheardVerdict blocks by the exit code where stdout is gone.
func TestUnheardVerdict(t *testing.T) {
	p := newPlace(t, testPolicy)
	r := p.run(Options{}, System{Stdin: strings.NewReader(p.event("PreToolUse", "Write", "{}")), Stdout: failing{}})
	want(t, "the exit code", fmt.Sprint(r.Code), "2")
}

// TestUnknownHost blocks, and reads what it is sent.
func TestUnknownHost(t *testing.T) {
	p := newPlace(t, testPolicy)
	stdin := &endless{left: 1 << 20}
	r := p.run(Options{Host: "emacs"}, System{Stdin: stdin})
	want(t, "the exit code", fmt.Sprint(r.Code), "2")
	wantReason(t, r, `no host "emacs"`, "claude, codex")
	want(t, "what is left on stdin", fmt.Sprint(stdin.left), "0")
	if len(r.Stdout) > 0 {
		t.Errorf("%q on stdout", r.Stdout)
	}
}

// TestEnvironmentDoesNotCount keeps a repository, which can set a host's environment, out of what decides.
func TestEnvironmentDoesNotCount(t *testing.T) {
	p := newPlace(t, testPolicy)
	evil := t.TempDir()
	loose := filepath.Join(evil, "policy.json")
	p.write(loose, `{"version": 2, "default": "allow"}`)
	env := map[string]string{"HOME": p.home, "POLICY_PATH": loose, "LEDGER_DIR": evil, "SALLYPORT_POLICY": loose, "SALLYPORT_LEDGER": evil, "SALLYPORT_PLATFORM": "windows"}
	r := runWith(t, Options{Host: "claude", Policy: p.policy}, System{Stdin: strings.NewReader(p.event("PreToolUse", "Write", "{}"))}, env)
	want(t, "the outcome", outcome(t, "claude", r), "deny")
	want(t, "the number of records", fmt.Sprint(len(p.records())), "1")
	if _, err := os.Stat(filepath.Join(evil, "ledger.jsonl")); err == nil {
		t.Error("the ledger is where the environment says")
	}
}

// TestReadEvent gives others the event as a hook understands it.
func TestReadEvent(t *testing.T) {
	e, err := ReadEvent("kiro", []byte(anyCall("kiro")))
	if err != nil || e.Host != "kiro" || e.Phase != Before || e.Tool != "fs_read" || e.Dir != "/w" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := ReadEvent("emacs", []byte("{}")); err == nil {
		t.Error("there is a host emacs")
	}
}

package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/interlock"
)

// contentPolicy asks for the verification of whatever writes, and denies what is below "elsewhere".
const contentPolicy = `{"version": 2, "default": "allow", "rules": [
	{"id": "checked", "decision": "allow", "verify": "content"},
	{"id": "elsewhere", "decision": "deny", "writes": ["**/elsewhere/**"]}
]}`

// verified is a home with a project in it, whose writes are verified.
type verified struct {
	testPlace
	dir  string
	host string
}

func newVerified(t testing.TB, host string) verified {
	p := newPlace(t, contentPolicy)
	v := verified{p, filepath.Join(t.TempDir(), "project"), host} // all of the home is protected
	v.write(filepath.Join(v.dir, ".git", "HEAD"), "")
	return v
}

// file puts a file into the project.
func (v verified) file(name, text string) string {
	v.t.Helper()
	path := filepath.Join(v.dir, name)
	v.write(path, text)
	return path
}

// on runs the hook for an event, in whose text @ stands for the project's folder.
func (v verified) on(event string) Reply {
	v.t.Helper()
	return v.run(Options{Host: v.host}, System{Stdin: strings.NewReader(strings.ReplaceAll(event, "@", v.dir))})
}

// after is the event of Claude Code after a call, with more members.
func (v verified) after(tool, input, more string) Reply {
	v.t.Helper()
	return v.on(fmt.Sprintf(`{"session_id":"s-1","cwd":"@","hook_event_name":"PostToolUse","tool_name":%q,"tool_input":%s,"tool_use_id":"t"%s}`, tool, input, more))
}

func (v verified) before(tool, input string) Reply {
	v.t.Helper()
	return v.on(fmt.Sprintf(`{"session_id":"s-1","cwd":"@","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":%q,"tool_input":%s,"tool_use_id":"t"}`, tool, input))
}

// verdict is that of the last record; "none" where it has none.
func (v verified) verdict() string {
	v.t.Helper()
	records := v.records("verdict")
	if len(records) == 0 {
		return "no record"
	}
	if last := records[len(records)-1]; last != "" {
		return last
	}
	return "none"
}

func (v verified) stops() *interlock.Stops {
	return interlock.OpenStops(durable.OS, filepath.Join(StateDir(v.home), "stops"))
}

// stopped are the reasons of the stops that hold, by their servers.
func (v verified) stopped() map[string]string {
	v.t.Helper()
	list, err := v.stops().List()
	if err != nil {
		v.t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, s := range list {
		reasons[s.Server] = s.Reason
	}
	return reasons
}

func quote(text string) string { return string(canon.AppendString(nil, text)) }

// longText is a file of some size.
var longText = strings.Repeat("a line that is long enough\n", 20_000)

func notebook(cells string) string { return `{"cells":[` + cells + `],"metadata":{},"nbformat":4}` }

// contentOfClaude are calls of Claude Code, with what the tool answered and what is in the file a afterwards. @ stands for
// the project's folder.
var contentOfClaude = []struct{ name, tool, input, answer, file, want string }{
	{"a file as written", "Write", `{"file_path":"@/a","content":"x\ny\n"}`, ``, "x\ny\n", "CONTINUE"},
	{"nothing written", "Write", `{"file_path":"@/a","content":"new"}`, ``, "old", "STOP"},
	{"one byte more", "Write", `{"file_path":"@/a","content":"new"}`, ``, "new\n", "STOP"},
	{"one byte less", "Write", `{"file_path":"@/a","content":"new\n"}`, ``, "new", "STOP"},
	{"an empty file", "Write", `{"file_path":"@/a","content":""}`, ``, "", "CONTINUE"},
	{"an emptied file", "Write", `{"file_path":"@/a","content":"x"}`, ``, "", "STOP"},
	{"a large file", "Write", `{"file_path":"@/a","content":` + quote(longText) + `}`, ``, longText, "CONTINUE"},
	{"a large file cut", "Write", `{"file_path":"@/a","content":` + quote(longText) + `}`, ``, longText[:len(longText)-1], "STOP"},
	{"line ends of Windows", "Write", `{"file_path":"@/a","content":"x\ny\n"}`, ``, "x\r\ny\r\n", "CONTINUE"},
	{"line ends of Unix instead", "Write", `{"file_path":"@/a","content":"x\r\ny\r\n"}`, ``, "x\ny\n", "CONTINUE"},
	{"two bytes a letter", "Write", `{"file_path":"@/a","content":"xy"}`, ``, "\xff\xfex\x00y\x00", "STOP"},
	{"a mark at the start", "Write", `{"file_path":"@/a","content":"xy"}`, ``, "\xef\xbb\xbfxy", "STOP"},
	{"letters outside of ASCII", "Write", `{"file_path":"@/a","content":"\u00fc\ud83d\ude00"}`, ``, "ü😀", "CONTINUE"},
	{"changed by the person", "Write", `{"file_path":"@/a","content":"x"}`, `{"type":"update","content":"y","userModified":true}`, "y", "CONTINUE"},
	{"changed by nobody", "Write", `{"file_path":"@/a","content":"x"}`, `{"type":"update","content":"y"}`, "y", "STOP"},
	{"a path from the folder", "Write", `{"file_path":"a","content":"x"}`, ``, "x", "CONTINUE"},
	{"no content", "Write", `{"file_path":"@/a"}`, ``, "x", "none"},
	{"no path", "Write", `{"content":"x"}`, ``, "x", "none"},

	{"an edit", "Edit", `{"file_path":"@/a","old_string":"b","new_string":"X"}`, `{"originalFile":"abc"}`, "aXc", "CONTINUE"},
	{"an edit and more", "Edit", `{"file_path":"@/a","old_string":"b","new_string":"X"}`, `{"originalFile":"abc"}`, "aXc!", "STOP"},
	{"an edit elsewhere", "Edit", `{"file_path":"@/a","old_string":"b","new_string":"X"}`, `{"originalFile":"abc X"}`, "abc X", "STOP"},
	{"an edit of Windows' lines", "Edit", `{"file_path":"@/a","old_string":"b\nc","new_string":"X"}`, `{"originalFile":"a\nb\nc\n"}`, "a\r\nX\r\n", "CONTINUE"},
	{"blanks taken away", "Edit", `{"file_path":"@/a","old_string":"b","new_string":"X  \nY "}`, `{"originalFile":"abc"}`, "aX\nYc", "CONTINUE"},
	{"a line taken away", "Edit", `{"file_path":"@/a","old_string":"b","new_string":""}`, `{"originalFile":"a\nb\nc\n"}`, "a\nc\n", "CONTINUE"},
	{"a text taken away", "Edit", `{"file_path":"@/a","old_string":"b","new_string":""}`, `{"originalFile":"a\nb\nc\n"}`, "a\n\nc\n", "CONTINUE"},
	{"too much taken away", "Edit", `{"file_path":"@/a","old_string":"b","new_string":""}`, `{"originalFile":"a\nb\nc\n"}`, "a\n", "STOP"},
	{"all of them", "Edit", `{"file_path":"@/a","old_string":"b","new_string":"X","replace_all":true}`, `{"originalFile":"bab"}`, "XaX", "CONTINUE"},
	{"not all of them", "Edit", `{"file_path":"@/a","old_string":"b","new_string":"X","replace_all":true}`, `{"originalFile":"bab"}`, "Xab", "STOP"},
	{"a new file by an edit", "Edit", `{"file_path":"@/a","old_string":"","new_string":"X"}`, `{"originalFile":null}`, "X", "CONTINUE"},
	{"a new file by an edit, and more", "Edit", `{"file_path":"@/a","old_string":"","new_string":"X"}`, `{"originalFile":null}`, "XX", "STOP"},
	{"other quotes", "Edit", `{"file_path":"@/a","old_string":"'b'","new_string":"X"}`, `{"originalFile":"a‘b’c"}`, "aXc", "CONTINUE"},
	{"an edit by the person", "Edit", `{"file_path":"@/a","old_string":"b","new_string":"X"}`,
		`{"filePath":"@/a","oldString":"b","newString":"Y","originalFile":"abc","userModified":true}`, "aYc", "CONTINUE"},

	{"without the original", "Edit", `{"file_path":"@/a","old_string":"b","new_string":"X"}`, `{}`, "aXc", "CONTINUE"},
	{"without the original, not there", "Edit", `{"file_path":"@/a","old_string":"b","new_string":"X"}`, `{}`, "abc", "STOP"},
	{"without the original, not all", "Edit", `{"file_path":"@/a","old_string":"b","new_string":"X","replace_all":true}`, `{}`, "aXb", "STOP"},
	{"without the original, taken away", "Edit", `{"file_path":"@/a","old_string":"b","new_string":""}`, `{}`, "abc", "none"},
	{"without the original, all taken away", "Edit", `{"file_path":"@/a","old_string":"b","new_string":"","replace_all":true}`, `{}`, "abc", "STOP"},

	{"several edits", "MultiEdit", `{"file_path":"@/a","edits":[{"old_string":"a","new_string":"b"},{"old_string":"b","new_string":"c","replace_all":true}]}`,
		`{"originalFileContents":"a-"}`, "c-", "CONTINUE"},
	{"several edits, one lost", "MultiEdit", `{"file_path":"@/a","edits":[{"old_string":"a","new_string":"b"},{"old_string":"-","new_string":"+"}]}`,
		`{"originalFileContents":"a-"}`, "a+", "STOP"},
	{"several edits without the original", "MultiEdit", `{"file_path":"@/a","edits":[{"old_string":"a","new_string":"b"},{"old_string":"b","new_string":"c"}]}`, `{}`, "c-", "CONTINUE"},
	{"several edits without the original, one lost", "MultiEdit", `{"file_path":"@/a","edits":[{"old_string":"a","new_string":"bb"},{"old_string":"-","new_string":"+"}]}`, `{}`, "a+", "STOP"},

	{"a cell", "NotebookEdit", `{"notebook_path":"@/a","cell_id":"k","new_source":"x\ny"}`, `{}`, notebook(`{"id":"j","source":"x"},{"id":"k","source":["x\n","y"]}`), "CONTINUE"},
	{"another cell", "NotebookEdit", `{"notebook_path":"@/a","cell_id":"k","new_source":"x"}`, `{}`, notebook(`{"id":"j","source":"x"},{"id":"k","source":"old"}`), "STOP"},
	{"a new cell", "NotebookEdit", `{"notebook_path":"@/a","cell_id":"k","new_source":"x","edit_mode":"insert"}`, `{}`, notebook(`{"id":"k","source":"old"},{"id":"n","source":"x"}`), "CONTINUE"},
	{"no new cell", "NotebookEdit", `{"notebook_path":"@/a","cell_id":"k","new_source":"x","edit_mode":"insert"}`, `{}`, notebook(`{"id":"k","source":"old"}`), "STOP"},
	{"a numbered cell", "NotebookEdit", `{"notebook_path":"@/a","cell_id":"cell-0","new_source":"x"}`, `{}`, notebook(`{"source":"x"}`), "CONTINUE"},
	{"a deleted cell", "NotebookEdit", `{"notebook_path":"@/a","cell_id":"k","new_source":"","edit_mode":"delete"}`, `{}`, notebook(`{"id":"j","source":"x"}`), "CONTINUE"},
	{"a cell that stayed", "NotebookEdit", `{"notebook_path":"@/a","cell_id":"k","new_source":"","edit_mode":"delete"}`, `{}`, notebook(`{"id":"k","source":"x"}`), "STOP"},
	{"no notebook", "NotebookEdit", `{"notebook_path":"@/a","cell_id":"k","new_source":"x"}`, `{}`, "x", "STOP"},

	{"a shell", "Bash", `{"command":"echo x > a"}`, `{"stdout":""}`, "y", "none"},
	{"a server's tool", "mcp__fs__write_file", `{"path":"@/a","content":"x"}`, `{}`, "y", "none"},
	{"a reader", "Read", `{"file_path":"@/a"}`, `{}`, "y", "none"},
}

// TestContentOfClaude holds the files that Claude Code wrote against what its events say.
func TestContentOfClaude(t *testing.T) {
	for _, c := range contentOfClaude {
		t.Run(c.name, func(t *testing.T) {
			v := newVerified(t, "claude")
			v.file("a", c.file)
			more := ""
			if c.answer != "" {
				more = `,"tool_response":` + c.answer
			}
			r := v.after(c.tool, c.input, more)
			if r.Code != 0 || len(r.Stdout) > 0 || len(r.Stderr) > 0 {
				t.Errorf("the host is told %+v", r)
			}
			want(t, "the verdict", v.verdict(), c.want)
			records := v.records("outcome", "rule")
			if wanted := map[string]string{"none": "observed"}[c.want]; wanted != "" {
				want(t, "the record", records[0], wanted)
			} else {
				want(t, "the record", records[0], "observed checked")
			}
			if stopped := v.stopped()["hook/claude/s-1"] != ""; stopped != (c.want == "STOP") || len(v.stopped()) > 1 {
				t.Errorf("stopped: %q", v.stopped())
			}
		})
	}
}

// TestWhatStandsInAFilesPlace: nothing that is there instead of the file may pass for it, or keep the hook waiting.
func TestWhatStandsInAFilesPlace(t *testing.T) {
	outside := t.TempDir()
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"nothing":               {func(string) error { return nil }, "is not there"},
		"a folder":              {func(path string) error { return os.Mkdir(path, 0o700) }, "it is not a regular file"},
		"a pipe":                {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "it is not a regular file"},
		"a device":              {func(path string) error { return os.Symlink("/dev/zero", path) }, "it is not a regular file"},
		"a link to nothing":     {func(path string) error { return os.Symlink(filepath.Join(outside, "none"), path) }, "is not there"},
		"a link to itself":      {func(path string) error { return os.Symlink(path, path) }, "cannot be read: too many levels"},
		"a link to other text":  {func(path string) error { return os.Symlink("/proc/self/status", path) }, "does not hold what the call wrote"},
		"a hundred megabytes":   {func(path string) error { return sparse(path, 100<<20) }, "it is larger than 32 MiB"},
		"just above the limit":  {func(path string) error { return sparse(path, maxContent+1) }, "it is larger than 32 MiB"},
		"as large as may be":    {func(path string) error { return sparse(path, maxContent) }, "does not hold what the call wrote"},
		"a link to what it was": {func(path string) error { return linkTo(path, filepath.Join(outside, "same"), "x") }, ""},
		"elsewhere":             {func(path string) error { return linkTo(path, filepath.Join(outside, "elsewhere", "same"), "x") }, "its path leads elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVerified(t, "claude")
			if err := c.make(filepath.Join(v.dir, "a")); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			v.after("Write", `{"file_path":"@/a","content":"x"}`, "")
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			reason := v.stopped()["hook/claude/s-1"]
			if c.want == "" {
				want(t, "the verdict", v.verdict(), "CONTINUE")
				want(t, "the stop", reason, "")
				return
			}
			want(t, "the verdict", v.verdict(), "STOP")
			if !strings.Contains(reason, c.want) {
				t.Errorf("the session is stopped since %q, want %q", reason, c.want)
			}
		})
	}
}

func sparse(path string, size int64) error {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	return os.Truncate(path, size)
}

func linkTo(path, target, text string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(target, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Symlink(target, path)
}

// TestOnlyRulesVerify: without a rule that asks for it nothing is verified, and a rule that asks for another way of
// verifying is none for hooks.
func TestOnlyRulesVerify(t *testing.T) {
	for _, c := range []struct{ name, policy, want string }{
		{"no rule", `{"version":2,"default":"allow"}`, "none"},
		{"another tool", `{"version":2,"default":"allow","rules":[{"id":"r","decision":"allow","tools":["Edit"],"verify":"content"}]}`, "none"},
		{"not enforced", `{"version":2,"default":"allow","rules":[{"id":"r","decision":"allow","mode":"observe","verify":"content"}]}`, "none"},
		{"by another call", `{"version":2,"default":"allow","rules":[
			{"id":"reads","decision":"allow","tools":["fs__read"],"read_only":true},
			{"id":"r","decision":"allow","tools":["Write"],"verify":{"observe":{"tool":"fs__read"},"expect":"observation.text == args.content"}}]}`, "none"},
		{"this tool", `{"version":2,"default":"deny","rules":[{"id":"r","decision":"allow","tools":["Write"],"verify":"content"}]}`, "STOP"},
		{"this path", `{"version":2,"default":"deny","rules":[{"id":"r","decision":"allow","tools":["Write"],"writes":["@/**"],"verify":"content"}]}`, "STOP"},
		{"another path", `{"version":2,"default":"allow","rules":[{"id":"r","decision":"allow","tools":["Write"],"writes":["@/b/**"],"verify":"content"}]}`, "none"},
		{"asked", `{"version":2,"default":"deny","rules":[{"id":"w","decision":"allow","tools":["Write"]},{"id":"r","decision":"ask","tools":["Write"],"verify":"content"}]}`, "STOP"},
		{"the event before", `{"version":2,"default":"deny","rules":[{"id":"r","decision":"allow","methods":["hook/PreToolUse"],"verify":"content"}]}`, "STOP"},
		{"this host", `{"version":2,"default":"allow","rules":[{"id":"r","decision":"allow","hosts":["claude"],"verify":"content"}]}`, "STOP"},
		{"in escapes", `{"version":2,"default":"deny","rules":[{"id":"r","decision":"allow","tools":["Write"],"\u0076erif\u0079":"content"}]}`, "STOP"},
		{"in escapes of YAML", "version: 2\ndefault: deny\nrules:\n  - {id: r, decision: allow, tools: [Write], \"\\x76erify\": content}\n", "STOP"},
		{"no policy", `{`, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVerified(t, "claude")
			v.write(v.policy, strings.ReplaceAll(c.policy, "@", v.dir))
			v.file("a", "old")
			v.after("Write", `{"file_path":"@/a","content":"new"}`, "")
			want(t, "the verdict", v.verdict(), c.want)
			if len(v.stopped()) > 0 != (c.want == "STOP") {
				t.Errorf("stopped: %q", v.stopped())
			}
		})
	}
}

// TestEveryLayerMayVerify: a rule counts wherever a policy may stand.
func TestEveryLayerMayVerify(t *testing.T) {
	const asks = "version: 2\nrules:\n  - {id: r, decision: allow, tools: [Write], verify: content}\n"
	for _, layer := range []string{"managed", "user", "account", "project"} {
		t.Run(layer, func(t *testing.T) {
			v := newVerified(t, "claude")
			account := t.TempDir()
			managed := filepath.Join(account, "managed.yaml")
			path := map[string]string{
				"managed": managed, "user": UserPolicy(v.home), "account": UserPolicy(account), "project": filepath.Join(v.dir, ".sallyport", "policy.yaml"),
			}[layer]
			v.write(path, asks)
			v.file("a", "old")
			trust := fmt.Sprintf(`{"version": 1, "trusted": {%q: %q}}`, path, digest([]byte(asks)))
			v.write(filepath.Join(StateDir(v.home), "trust.json"), trust)
			event := strings.ReplaceAll(`{"session_id":"s-1","cwd":"@","hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"file_path":"@/a","content":"new"}}`, "@", v.dir)
			runWith(t, Options{Host: "claude"}, System{Stdin: strings.NewReader(event), Managed: managed, Account: func() string { return account }},
				map[string]string{"HOME": v.home})
			want(t, "the verdict", v.verdict(), "STOP")
		})
	}
}

// TestDigestsOfAVerification are those of what was to be there and of what is.
func TestDigestsOfAVerification(t *testing.T) {
	v := newVerified(t, "claude")
	v.file("a", "old")
	v.after("Write", `{"file_path":"@/a","content":"new"}`, "")
	want(t, "the record", v.records("method", "verdict", "expected_digest", "observed_digest")[0],
		"hook/PostToolUse STOP "+digest([]byte("new"))+" "+digest([]byte("old")))
	if text, _ := os.ReadFile(v.ledgerFile()); strings.Contains(string(text), v.dir) {
		t.Error("the ledger names the file")
	}
}

// TestFailedCallsAreNotVerified: an ordinary mistake stops nobody.
func TestFailedCallsAreNotVerified(t *testing.T) {
	v := newVerified(t, "claude")
	v.on(`{"session_id":"s-1","cwd":"@","hook_event_name":"PostToolUseFailure","tool_name":"Write","tool_input":{"file_path":"@/a","content":"x"},"error":"no"}`)
	want(t, "the verdict", v.verdict(), "none")
	if len(v.stopped()) > 0 {
		t.Errorf("stopped: %q", v.stopped())
	}
}

// TestWhatCannotBeVerifiedIsDenied before the call, where that is known.
func TestWhatCannotBeVerifiedIsDenied(t *testing.T) {
	cline := newVerified(t, "cline")
	const call = `{"hookName":"PreToolUse","taskId":"s","workspaceRoots":["@"],"preToolUse":{"toolName":%q,"parameters":{"path":"a","content":"x"}}}`
	r := cline.on(fmt.Sprintf(call, "write_to_file"))
	want(t, "Cline's write", outcome(t, "cline", r), "deny")
	wantReason(t, r, "PostToolUse", "rule checked")
	want(t, "Cline's read", outcome(t, "cline", cline.on(fmt.Sprintf(call, "read_file"))), "none")
	cline.write(cline.policy, testPolicy)
	want(t, "Cline's write without the rule", outcome(t, "cline", cline.on(fmt.Sprintf(call, "write_to_file"))), "none")

	claude := newVerified(t, "claude")
	large := `{"file_path":"@/a","content":"` + strings.Repeat("x", maxVerified) + `"}`
	r = claude.before("Write", large)
	want(t, "a large write", outcome(t, "claude", r), "deny")
	wantReason(t, r, "write it in parts", "rule checked")
	want(t, "a write", outcome(t, "claude", claude.before("Write", `{"file_path":"@/a","content":"x"}`)), "none")
	want(t, "a large command", outcome(t, "claude", claude.before("Bash", `{"command":": `+strings.Repeat("x", 100)+`"}`)), "none")
}

// TestSlowVerificationStopsTheSession: what was not compared by the deadline is not taken for good.
func TestSlowVerificationStopsTheSession(t *testing.T) {
	t.Run("slow", func(t *testing.T) {
		v := newVerified(t, "claude")
		v.file("a", "x")
		looked := false
		event := strings.ReplaceAll(`{"session_id":"s-1","cwd":"@","hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"file_path":"@/a","content":"x"}}`, "@", v.dir)
		v.run(Options{Deadline: 2 * time.Second}, System{Stdin: strings.NewReader(event), looking: func(string) {
			looked = true
			time.Sleep(1200 * time.Millisecond)
		}})
		want(t, "the verdict", v.verdict(), "STOP")
		if reason := v.stopped()["hook/claude/s-1"]; !looked || !strings.Contains(reason, "there was not enough time") {
			t.Errorf("looked: %v; stopped: %q", looked, reason)
		}
	})
	t.Run("hanging", func(t *testing.T) {
		v := newVerified(t, "claude")
		v.file("a", "x")
		event := strings.ReplaceAll(`{"session_id":"s-1","cwd":"@","hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"file_path":"@/a","content":"x"}}`, "@", v.dir)
		hang, over := make(chan struct{}), make(chan struct{})
		looked := make(chan struct{})
		start := time.Now()
		r := v.run(Options{Deadline: time.Second}, System{Stdin: strings.NewReader(event), looking: func(string) {
			close(looked)
			<-hang
			close(over)
		}})
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		<-looked // or else nothing hung
		if r.Code != 0 || len(r.Stdout) > 0 {
			t.Errorf("the host is told %+v", r)
		}
		if reason := v.stopped()["hook/claude/s-1"]; !strings.Contains(reason, "could not be verified in time") {
			t.Errorf("stopped: %q", reason)
		}
		close(hang)
		<-over
	})
}

// TestStopThatCannotBeKept is told, and is on record.
func TestStopThatCannotBeKept(t *testing.T) {
	v := newVerified(t, "claude")
	v.file("a", "old")
	v.write(filepath.Join(StateDir(v.home), "stops"), "no folder")
	r := v.after("Write", `{"file_path":"@/a","content":"new"}`, "")
	if !strings.Contains(string(r.Stderr), "could not be stopped") {
		t.Errorf("stderr: %q", r.Stderr)
	}
	want(t, "the verdict", v.verdict(), "STOP")
	want(t, "the next write", outcome(t, "claude", v.before("Write", `{"file_path":"@/b","content":"x"}`)), "deny")
}

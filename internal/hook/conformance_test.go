package hook

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sallyport/internal/canon"
)

// conformanceCase is a line of hook.jsonl.
type conformanceCase struct {
	Name   string            `json:"name"`
	Policy string            `json:"policy"`
	Host   string            `json:"host"`
	Event  json.RawMessage   `json:"event"`
	Expect []string          `json:"expect"`
	Files  map[string]string `json:"files"`
	Links  map[string]string `json:"links"`
}

// TestConformance runs all shared cases: misses and false alarms count alike.
func TestConformance(t *testing.T) {
	text, err := os.ReadFile("../../testdata/conformance/hook.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	policies := map[string]string{"base": absolute(t, "../../testdata/conformance/hook-policy.json")}
	n := 0
	for line := range bytes.Lines(text) {
		var c conformanceCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		n++
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			got, reply := playCase(t, c, root, policies[c.Policy])
			if !slices.Contains(c.Expect, got) {
				t.Errorf("got %s, want %v\nevent %.400s\ntold %s%s", got, c.Expect, c.Event, reply.Stdout, reply.Stderr)
			}
			if err := mustSpeak(c.Host, reply); err != nil {
				t.Error(err)
			}
		})
	}
	if n < 200 {
		t.Fatalf("only %d cases", n)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}

// playCase runs a case in folders of its own, and returns what it came down to.
func playCase(t *testing.T, c conformanceCase, root, policyFile string) (string, Reply) {
	t.Helper()
	for _, dir := range []string{"work", "home"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range c.Files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range c.Links {
		if err := os.Symlink(filepath.Join(root, target), filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(root, "home")
	reply := runHook(t, Options{Host: c.Host, Policy: policyFile}, c.stdin(t, root), home)
	return outcome(t, c.Host, reply), reply
}

var repeat = regexp.MustCompile(`@@R:(\d+):(.*?)@@`)

// stdin is what the host writes: raw bytes, raw text, or the event as it stands. @@R:N:TEXT@@ is TEXT, N times.
func (c conformanceCase) stdin(t *testing.T, root string) []byte {
	t.Helper()
	text := string(c.Event)
	var raw struct {
		B64  *string `json:"raw_b64"`
		Text *string `json:"raw_text"`
	}
	if err := json.Unmarshal(c.Event, &raw); err != nil {
		t.Fatal(err)
	}
	switch {
	case raw.B64 != nil:
		b, err := base64.StdEncoding.DecodeString(*raw.B64)
		if err != nil {
			t.Fatal(err)
		}
		return b
	case raw.Text != nil:
		text = *raw.Text
	}
	text = repeat.ReplaceAllStringFunc(text, func(s string) string {
		m := repeat.FindStringSubmatch(s)
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		return strings.Repeat(m[2], n)
	})
	text = strings.ReplaceAll(text, "{{work}}", filepath.Join(root, "work"))
	return []byte(strings.ReplaceAll(text, "{{home}}", filepath.Join(root, "home")))
}

// runHook runs a hook in this process, in a home.
func runHook(t *testing.T, opt Options, stdin []byte, home string) Reply {
	t.Helper()
	return runWith(t, opt, System{Stdin: bytes.NewReader(stdin)}, map[string]string{"HOME": home})
}

// runWith runs a hook in this process. No file of the machine's own is looked at.
func runWith(t testing.TB, opt Options, sys System, env map[string]string) Reply {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if opt.Deadline == 0 {
		opt.Deadline = 20 * time.Second // of a busy machine
	}
	if sys.Stdin == nil {
		sys.Stdin = strings.NewReader("")
	}
	sys.Stdout, sys.Stderr = either(sys.Stdout, &stdout), either(sys.Stderr, &stderr)
	sys.Env = func(name string) string { return env[name] }
	if sys.Start.IsZero() {
		sys.Start = time.Now()
	}
	if sys.Account == nil {
		sys.Account = func() string { return env["HOME"] }
	}
	if sys.Managed == "" {
		sys.Managed = filepath.Join(env["HOME"], "no-managed-policy.yaml")
	}
	code := Run(opt, sys)
	return Reply{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Code: code}
}

func either(w, other io.Writer) io.Writer {
	if w != nil {
		return w
	}
	return other
}

// outcome is what a host makes of a reply: allow, ask, deny, or none where nothing was said.
func outcome(t testing.TB, host string, r Reply) string {
	t.Helper()
	if r.Code == 2 {
		return "deny"
	}
	if r.Code != 0 {
		t.Fatalf("exit code %d", r.Code)
	}
	if len(r.Stdout) == 0 {
		return "none"
	}
	v, err := canon.Parse(r.Stdout)
	if err != nil {
		t.Fatalf("stdout is no JSON: %q", r.Stdout)
	}
	if host == "cline" {
		if is, _ := v.Get("cancel").Bool(); is {
			return "deny"
		}
		return "none"
	}
	for _, of := range []canon.Value{v, v.Get("hookSpecificOutput"), v.Get("hookSpecificOutput").Get("decision")} {
		for _, key := range []string{"permissionDecision", "permission", "decision", "behavior"} {
			if word, ok := of.Get(key).Text(); ok {
				return word
			}
		}
	}
	return "none"
}

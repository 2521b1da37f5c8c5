package pretool_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/cli"
	"sallyport/internal/pretool"
)

// serveVariable makes the test binary a sallyport whose arguments it holds.
const serveVariable = "PRETOOL_TEST_ARGS"

func TestMain(m *testing.M) {
	if args := os.Getenv(serveVariable); args != "" {
		os.Exit(cli.Main(strings.Split(args, " "), os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// conformanceCase is a line of testdata/conformance/pretool.jsonl. Where a text says {{config}} or {{lib}} it means one
// of the case's folders, and {{now-5s}} is a naive local time, {{utc-5s}} one with an offset, {{zulu-5s}} one with a Z.
type conformanceCase struct {
	Name     string
	Files    map[string]string // below the configuration folder
	Library  map[string]string // below the library's folder
	Env      map[string]string
	Platform string
	Call     struct {
		Tool      string
		Arguments json.RawMessage
	}
	Expect          map[string]any
	Error           bool
	Absent, Present []string // files below the configuration folder, afterwards
}

func readCases(t *testing.T) (cases []conformanceCase) {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../../testdata/conformance/pretool.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var c conformanceCase
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if len(cases) < 148 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

// scene is a case with its files in place.
type scene struct {
	conformanceCase
	config, library string
	local           *time.Location
	arguments       []byte
}

var timePattern = regexp.MustCompile(`\{\{(now|utc|zulu)-([0-9]+)s\}\}`)

// setUp puts the files of a case in place, as of now.
func setUp(t *testing.T, c conformanceCase) scene {
	t.Helper()
	s := scene{conformanceCase: c, config: t.TempDir(), library: t.TempDir(), local: time.Local}
	if zone := c.Env["TZ"]; zone != "" {
		var err error
		if s.local, err = time.LoadLocation(zone); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	fill := func(text string) string {
		text = strings.NewReplacer("{{config}}", s.config, "{{lib}}", s.library).Replace(text)
		return timePattern.ReplaceAllStringFunc(text, func(found string) string {
			m := timePattern.FindStringSubmatch(found)
			seconds, _ := strconv.Atoi(m[2])
			at := now.Add(-time.Duration(seconds) * time.Second)
			switch m[1] {
			case "now":
				return at.In(s.local).Format("2006-01-02T15:04:05.000000")
			case "utc":
				return at.UTC().Format("2006-01-02T15:04:05.000000+00:00")
			default:
				return at.UTC().Format("2006-01-02T15:04:05Z")
			}
		})
	}
	for name, text := range c.Files {
		write(t, filepath.Join(s.config, filepath.FromSlash(name)), fill(text))
	}
	for name, text := range c.Library {
		write(t, filepath.Join(s.library, filepath.FromSlash(name)), fill(text))
	}
	s.Env = map[string]string{}
	for key, value := range c.Env {
		s.Env[key] = fill(value)
	}
	s.arguments = []byte(fill(string(c.Call.Arguments)))
	return s
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// verify compares an answer, or that there was an error, and the files with what the case expects.
func (s scene) verify(t *testing.T, answer []byte, failed bool) {
	t.Helper()
	if failed != s.Error {
		t.Errorf("error: got %t, want %t; answer %s", failed, s.Error, answer)
	}
	var got map[string]any
	if !failed {
		if err := json.Unmarshal(answer, &got); err != nil {
			t.Fatalf("answer %s: %v", answer, err)
		}
	}
	for field, want := range s.Expect {
		value, present := got[field]
		if problem := compare(value, present, want); problem != "" {
			t.Errorf("%s: %s\nanswer %s", field, problem, answer)
		}
	}
	for _, name := range s.Absent {
		if _, err := os.Lstat(filepath.Join(s.config, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	for _, name := range s.Present {
		if _, err := os.Lstat(filepath.Join(s.config, name)); err != nil {
			t.Errorf("%s is gone", name)
		}
	}
}

// compare says how a field differs from what a case expects: a value, or an object of conditions.
func compare(got any, present bool, want any) string {
	conditions, ok := want.(map[string]any)
	if !ok {
		return cmp.Diff(want, got)
	}
	list, _ := got.([]any)
	for condition, want := range conditions {
		met := false
		switch condition {
		case "$absent":
			met = !present
		case "$len":
			met = present && float64(len(list)) == want
		case "$contains":
			met = contains(got, want)
		case "$has":
			met = true
			for _, part := range want.([]any) {
				met = met && has(list, part)
			}
		default:
			return cmp.Diff(conditions, got)
		}
		if !met {
			return condition + " is not met"
		}
	}
	return ""
}

func has(list []any, part any) bool {
	for _, element := range list {
		if contains(element, part) {
			return true
		}
	}
	return false
}

func contains(text, part any) bool {
	s, ok := text.(string)
	return ok && strings.Contains(strings.ToLower(s), strings.ToLower(part.(string)))
}

func TestChecksConform(t *testing.T) {
	for _, c := range readCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			s := setUp(t, c)
			args, err := canon.Parse(s.arguments)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := s.checks().Ask(s.Call.Tool, args)
			s.verify(t, answer, err != nil)
		})
	}
}

// checks are the checks in a scene.
func (s scene) checks() *pretool.Checks {
	env := func(key string) string {
		if key == "SALLYPORT_PLATFORM" {
			return s.Platform
		}
		return s.Env[key]
	}
	return pretool.New(pretool.Config{
		Sessions:  pretool.NewSessions(s.config, env, func() time.Time { return time.Now().In(s.local) }),
		Env:       env,
		Windows:   pretool.OnWindows(env),
		Knowledge: pretool.BuiltinKnowledge(),
	})
}

// TestServerConforms asks the real server, in both eras. Each case has a server of its own, since it has an environment
// of its own.
func TestServerConforms(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process for each case")
	}
	for era, ask := range map[string]func(*testing.T, scene) reply{"2026-07-28": askModern, "2025-06-18": askLegacy} {
		for _, c := range readCases(t) {
			t.Run(era+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				s := setUp(t, c)
				r := ask(t, s)
				if r.Error != nil && r.Error.Code != -32602 {
					t.Errorf("error code %d, want -32602", r.Error.Code)
				}
				s.verify(t, r.Result.StructuredContent, r.Error != nil)
				if r.Error == nil && (len(r.Result.Content) != 1 || r.Result.Content[0].Text != string(r.Result.StructuredContent)) {
					t.Errorf("the text is not the structured content: %+v", r.Result)
				}
			})
		}
	}
}

// reply is the server's answer to a tools/call.
type reply struct {
	ID     int
	Result struct {
		Content           []struct{ Type, Text string }
		StructuredContent json.RawMessage
		IsError           bool
		Tools             []struct{ Name string }
	}
	Error *struct {
		Code    int
		Message string
	}
}

func askModern(t *testing.T, s scene) reply {
	return converse(t, s, modern(7, "tools/call", `"name":"`+s.Call.Tool+`","arguments":`+string(s.arguments)+`,`))
}

// modern is a request without a handshake; each of its params ends with a comma.
func modern(id int, method, params string) string {
	const meta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s"_meta":%s}}`, id, method, params, meta)
}

func askLegacy(t *testing.T, s scene) reply {
	return converse(t, s,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"`+s.Call.Tool+`","arguments":`+string(s.arguments)+`}}`)
}

// converse sends lines to a server in the scene and returns its reply number 7.
func converse(t *testing.T, s scene, lines ...string) reply {
	t.Helper()
	env := []string{"SALLYPORT_PLATFORM=" + s.Platform}
	for key, value := range s.Env {
		env = append(env, key+"="+value)
	}
	for _, r := range serve(t, "--ledger "+t.TempDir(), s.config, env, lines...) {
		if r.ID == 7 {
			return r
		}
	}
	t.Fatal("no reply")
	return reply{}
}

// serve runs a server until it has answered all lines.
func serve(t *testing.T, flags, config string, env []string, lines ...string) (replies []reply) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	// A program with the race detector waits a second before it ends, unless told not to.
	cmd.Env = append([]string{serveVariable + "=serve " + flags, "CLAUDE_CONFIG_DIR=" + config, "GORACE=atexit_sleep_ms=0"}, env...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("server: %v\n%s", err, &stderr)
	}
	for line := range bytes.Lines(out) {
		var r reply
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		replies = append(replies, r)
	}
	return replies
}

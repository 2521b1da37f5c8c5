//go:build unix

package hosts_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// conformance is where the suite lies that other implementations share.
const conformance = "../../testdata/conformance"

// example is a case of the suite.
type example struct {
	Name, Policy, Host string
	Event              json.RawMessage
	Expect             []string // any of these: allow, ask, deny, none (nothing is printed)
	Files, Links       map[string]string
}

// TestConformanceThroughTheBinary lets a process of its own answer each case, as a host would.
func TestConformanceThroughTheBinary(t *testing.T) {
	file, err := os.Open(filepath.Join(conformance, "hook.jsonl"))
	must(t, err)
	defer file.Close()
	lines, n := bufio.NewScanner(file), 0
	lines.Buffer(nil, 1<<20)
	for ; lines.Scan(); n++ {
		var e example
		must(t, json.Unmarshal(lines.Bytes(), &e))
		t.Run(fmt.Sprintf("%d %s", n+1, e.Name), func(t *testing.T) {
			t.Parallel()
			e.hold(t)
		})
	}
	must(t, lines.Err())
	if n < 200 {
		t.Errorf("%d cases, want the whole suite", n)
	}
}

func (e example) hold(t *testing.T) {
	s := newSeat(t)
	for name, text := range e.Files {
		write(t, filepath.Join(s.dir, name), text)
	}
	for name, target := range e.Links {
		must(t, os.Symlink(filepath.Join(s.dir, target), filepath.Join(s.dir, name)))
	}
	if e.Policy != "base" {
		t.Fatalf("unknown policy %q", e.Policy)
	}
	a := s.ask(t, e.Host, e.event(t, s))
	if verdict := a.verdict(t, e.Host); !slices.Contains(e.Expect, verdict) {
		t.Errorf("%s, want one of %q\n%s%s", verdict, e.Expect, a.stdout, a.stderr)
	}
	s.checkRecord(t, e.Host, a)
}

// event spells the case's event as the host sends it.
func (e example) event(t *testing.T, s seat) []byte {
	t.Helper()
	var raw struct {
		Base64 *string `json:"raw_b64"`
		Text   *string `json:"raw_text"`
	}
	must(t, json.Unmarshal(e.Event, &raw))
	text := string(e.Event)
	switch {
	case raw.Base64 != nil:
		decoded, err := base64.StdEncoding.DecodeString(*raw.Base64)
		must(t, err)
		return decoded
	case raw.Text != nil:
		text = *raw.Text
	}
	text = strings.NewReplacer("{{work}}", s.work, "{{home}}", s.home).Replace(text)
	return []byte(repeated.ReplaceAllStringFunc(text, func(mark string) string {
		parts := repeated.FindStringSubmatch(mark)
		times, err := strconv.Atoi(parts[1])
		must(t, err)
		return strings.Repeat(parts[2], times)
	}))
}

// repeated stands for a text that is repeated: @@R:TIMES:TEXT@@.
var repeated = regexp.MustCompile(`@@R:(\d+):(.*?)@@`)

// checkRecord wants one record of what the host was told.
func (s seat) checkRecord(t *testing.T, host string, a answer) {
	t.Helper()
	records := recordsIn(t, s.ledger)
	if len(records) != 1 {
		t.Fatalf("%d records, want one: %+v", len(records), records)
	}
	want := a.verdict(t, host)
	if want == "none" {
		want = "allow"
	}
	outcome := map[string]string{"allow": "permitted", "ask": "asked", "deny": "not_executed"}[want]
	if got := records[0]; got.Decision != want || got.Outcome != outcome || got.Host != host {
		t.Errorf("the host was told %s, and the record says %+v", want, got)
	}
}

// TestRepositoryCannotSteerTheHook: what a repository can put into a host's environment changes no decision and no place.
func TestRepositoryCannotSteerTheHook(t *testing.T) {
	s := newSeat(t)
	allowAll := filepath.Join(s.work, "allow.json")
	write(t, allowAll, `{"version":2,"default":"allow","rules":[]}`)
	elsewhere := filepath.Join(s.work, "ledger")
	s.env = append(s.env, "POLICY_PATH="+allowAll, "LEDGER_DIR="+elsewhere, "SALLYPORT_POLICY="+allowAll, "SALLYPORT_LEDGER="+elsewhere,
		"SALLYPORT_PLATFORM=windows", "SALLYPORT_MODE=observe", "SALLYPORT_DEADLINE=0", "CRASH_MARKER="+filepath.Join(s.work, "marker"),
		"CLAUDE_PROJECT_DIR="+s.work, "ENABLE_RATE_LIMITING=1", "GODEBUG=panicnil=1", "GOGC=off")
	for _, test := range []struct{ command, want string }{
		{"rm -rf x", "deny"},
		{"ls", "none"},
	} {
		a := s.ask(t, "claude", bashEvent(s, "toolu_1", test.command))
		if got := a.verdict(t, "claude"); got != test.want {
			t.Errorf("%s: %s, want %s\n%s%s", test.command, got, test.want, a.stdout, a.stderr)
		}
	}
	if got := len(recordsIn(t, s.ledger)); got != 2 {
		t.Errorf("%d records in the ledger that the flag names, want 2", got)
	}
	for _, name := range []string{elsewhere, filepath.Join(s.work, "marker")} {
		if exists(name) {
			t.Errorf("%s was made", name)
		}
	}
}

// TestHookEndsWithZeroOrTwo: with whatever it is started.
func TestHookEndsWithZeroOrTwo(t *testing.T) {
	s := newSeat(t)
	event := bashEvent(s, "toolu_1", "ls")
	for _, test := range []struct {
		name   string
		args   []string
		event  []byte
		closed bool // the call must not run
	}{
		{"no host", []string{"hook"}, event, true},
		{"unknown host", []string{"hook", "nobody"}, event, true},
		{"unknown flag", []string{"hook", "claude", "--nothing"}, event, true},
		{"flag without its value", []string{"hook", "claude", "--policy"}, event, true},
		{"no such policy", []string{"hook", "claude", "--policy", filepath.Join(s.dir, "nowhere"), "--ledger", s.ledger}, event, true},
		{"a folder as the policy", []string{"hook", "claude", "--policy", s.dir, "--ledger", s.ledger}, event, true},
		{"a ledger that is a file", []string{"hook", "claude", "--policy", s.policy, "--ledger", s.policy}, event, true},
		{"two hosts", []string{"hook", "claude", "codex", "--policy", s.policy, "--ledger", s.ledger}, event, true},
		{"an array", []string{"hook", "claude", "--policy", s.policy, "--ledger", s.ledger}, []byte(`[]`), true},
		{"another host's event", []string{"hook", "claude", "--policy", s.policy, "--ledger", s.ledger}, []byte(`{"hookName":"PreToolUse"}`), true},
		{"zeros", []string{"hook", "claude", "--policy", s.policy, "--ledger", s.ledger}, make([]byte, 1000), true},
		{"deep", []string{"hook", "claude", "--policy", s.policy, "--ledger", s.ledger}, bytes.Repeat([]byte("["), 1_000_000), true},
		{"20 MB", []string{"hook", "claude", "--policy", s.policy, "--ledger", s.ledger}, bashEvent(s, "toolu_1", strings.Repeat("x", 20_000_000)), true},
		{"all is well", []string{"hook", "claude", "--policy", s.policy, "--ledger", s.ledger}, event, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := s.run(t, test.event, test.args...)
			if got := a.verdict(t, "claude") == "deny"; got != test.closed {
				t.Errorf("the call is denied: %t, want %t; exit code %d\n%s%s", got, test.closed, a.code, a.stdout, a.stderr)
			}
		})
	}
}

package hook

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/policy"
)

var update = flag.Bool("update", false, "write what hooks say into testdata/*.txtar")

// TestDialects holds what each host is told to the files in testdata, byte for byte. In an archive each case is two files: NAME
// is the event, NAME.told is how the event was understood and what the host is told for each ruling.
func TestDialects(t *testing.T) {
	for _, host := range Hosts() {
		path := filepath.Join("testdata", host+".txtar")
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		told := map[string]string{}
		for _, file := range archive.Files {
			if name, ok := strings.CutSuffix(file.Name, ".told"); ok {
				told[name] = string(file.Data)
			}
		}
		fresh := &txtar.Archive{Comment: archive.Comment}
		for _, file := range archive.Files {
			if strings.HasSuffix(file.Name, ".told") {
				continue
			}
			got := tell(t, host, file.Data)
			fresh.Files = append(fresh.Files, file, txtar.File{Name: file.Name + ".told", Data: []byte(got)})
			t.Run(host+"/"+file.Name, func(t *testing.T) {
				if diff := cmp.Diff(told[file.Name], got); diff != "" && !*update {
					t.Errorf("what the host is told (-want +got):\n%s", diff)
				}
			})
		}
		if *update {
			if err := os.WriteFile(path, txtar.Format(fresh), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// tell is what a host is told of an event, for each ruling.
func tell(t *testing.T, host string, text []byte) string {
	var out strings.Builder
	d := dialectOf(host)
	e, err := readEvent(d, text)
	fmt.Fprintf(&out, "event: %s\n", describe(e))
	rulings := []struct {
		name    string
		verdict gate.Verdict
		hints   []string
	}{
		{"allow", gate.Verdict{Decision: policy.Allow, Why: policy.Why{Rule: "default", Reason: "no rule speaks against it"}}, nil},
		{"allow, skip prompt", gate.Verdict{Decision: policy.Allow, Why: policy.Why{Rule: "quick", Reason: "harmless", SkipPrompt: true}}, nil},
		{"allow, hints", gate.Verdict{Decision: policy.Allow, Why: policy.Why{Rule: "default"}}, []string{"Add head_limit", "Add \"offset\""}},
		{"ask", gate.Verdict{Decision: policy.Ask, Why: policy.Why{Rule: "publish", Reason: "Publishing is for people."}}, nil},
		{"deny", gate.Verdict{Decision: policy.Deny, Why: policy.Why{Rule: "no-rm-rf", Reason: "Move it to the \"trash\"."}}, nil},
		{"deny without a reason", gate.Verdict{}, nil},
	}
	switch {
	case err != nil:
		fmt.Fprintf(&out, "error: %v\n", err)
		rulings = rulings[4:5]
		rulings[0].verdict.Why = policy.Why{Rule: "event", Reason: err.Error()}
	case e.Phase != Before: // whatever was decided
		rulings = rulings[4:5]
	}
	for _, r := range rulings {
		v := r.verdict
		asked := settleAsk(d, &e, &v)
		reply := e.reply(d, rulingOf(v, r.hints, asked))
		fmt.Fprintf(&out, "%s: exit %d\n", r.name, reply.Code)
		for _, stream := range []struct {
			name string
			text []byte
		}{{"stdout", reply.Stdout}, {"stderr", reply.Stderr}} {
			if len(stream.text) > 0 {
				fmt.Fprintf(&out, "  %s %s\n", stream.name, strings.TrimSuffix(string(stream.text), "\n"))
			}
		}
		if err := mustSpeak(host, reply); err != nil && e.Phase == Before {
			t.Errorf("%s: %v", r.name, err)
		}
	}
	return out.String()
}

func describe(e Event) string {
	phases := map[Phase]string{Before: "before", After: "after", Prompt: "prompt", SessionStart: "session start", SessionEnd: "session end", Other: "other"}
	text := phases[e.Phase]
	for _, part := range []struct{ name, value string }{
		{"name", e.Name}, {"session", e.Session}, {"call", e.CallID}, {"dir", e.Dir}, {"mode", e.Mode}, {"tool", e.Tool},
		{"input", string(e.Input.Bytes())}, {"error", e.Error},
	} {
		if part.value != "" {
			text += ", " + part.name + " " + part.value
		}
	}
	for _, part := range []struct {
		name string
		is   bool
	}{{"failed", e.Failed}, {"strange", e.Strange}, {"editor", e.Editor}} {
		if part.is {
			text += ", " + part.name
		}
	}
	return text
}

// mustSpeak reports what in a reply is not exactly a host's dialect, as agent-hooks.md gives it.
func mustSpeak(host string, r Reply) error {
	if r.Code != 0 && r.Code != 2 {
		return fmt.Errorf("exit code %d", r.Code)
	}
	if r.Code == 2 {
		if len(r.Stdout) > 0 {
			return fmt.Errorf("exit code 2 with %q on stdout", r.Stdout)
		}
		if strings.TrimSpace(string(r.Stderr)) == "" {
			return fmt.Errorf("exit code 2 without a reason on stderr")
		}
		return nil
	}
	if len(r.Stdout) == 0 {
		return nil
	}
	v, err := canon.Parse(r.Stdout)
	if err != nil || v.Kind() != canon.Object {
		return fmt.Errorf("stdout is not one JSON object: %q", r.Stdout)
	}
	switch host {
	case "claude", "codex":
		return claudeSpeech(v, host == "codex")
	case "gemini":
		return mustHave(v, "decision=deny", "reason")
	case "cursor":
		if v.Get("continue").Exists() {
			return mustHave(v, "continue")
		}
		if is, _ := v.Get("permission").Text(); is == "allow" {
			return mustHave(v, "permission")
		}
		if v.Get("agent_message").Exists() {
			return mustHave(v, "permission=deny", "user_message", "agent_message")
		}
		return mustHave(v, "permission=deny", "user_message")
	case "copilot":
		switch {
		case v.Get("hookSpecificOutput").Exists():
			return claudeSpeech(v, false)
		case v.Get("behavior").Exists():
			return mustHave(v, "behavior=deny", "message")
		}
		return mustHave(v, "permissionDecision=allow|ask|deny", "permissionDecisionReason")
	case "cline":
		if is, ok := v.Get("cancel").Bool(); !is || !ok {
			return fmt.Errorf("cancel is not true in %s", r.Stdout)
		}
		return mustHave(v, "cancel", "errorMessage")
	}
	return fmt.Errorf("%s takes nothing on stdout: %q", host, r.Stdout)
}

// claudeSpeech is mustSpeak for the shape that Claude Code gave to others. Codex takes denials alone.
func claudeSpeech(v canon.Value, denyOnly bool) error {
	if err := mustHave(v, "hookSpecificOutput"); err != nil {
		return err
	}
	out := v.Get("hookSpecificOutput")
	if name, _ := out.Get("hookEventName").Text(); name == "PermissionRequest" {
		if err := mustHave(out, "hookEventName", "decision"); err != nil {
			return err
		}
		return mustHave(out.Get("decision"), "behavior=deny", "message")
	}
	if denyOnly {
		return mustHave(out, "hookEventName=PreToolUse", "permissionDecision=deny", "permissionDecisionReason")
	}
	if !out.Get("permissionDecision").Exists() {
		return mustHave(out, "hookEventName=PreToolUse", "additionalContext")
	}
	if out.Get("additionalContext").Exists() {
		return mustHave(out, "hookEventName=PreToolUse", "permissionDecision=allow", "permissionDecisionReason", "additionalContext")
	}
	return mustHave(out, "hookEventName=PreToolUse", "permissionDecision=allow|ask|deny", "permissionDecisionReason")
}

// mustHave holds an object to exactly these members, in this order. KEY is any text that is not blank, or any object; KEY=A|B
// one of some texts.
func mustHave(v canon.Value, want ...string) error {
	i := 0
	for key, value := range v.Members() {
		if i == len(want) {
			return fmt.Errorf("%q is too much in %s", key, v.Bytes())
		}
		name, words, limited := strings.Cut(want[i], "=")
		text, isText := value.Text()
		switch {
		case key != name:
			return fmt.Errorf("%q stands where %q should in %s", key, name, v.Bytes())
		case limited && !slices.Contains(strings.Split(words, "|"), text):
			return fmt.Errorf("%q is none of %s in %s", text, words, v.Bytes())
		case isText && strings.TrimSpace(text) == "":
			return fmt.Errorf("%q is blank in %s", key, v.Bytes())
		}
		i++
	}
	if i < len(want) {
		return fmt.Errorf("%q is missing in %s", want[i], v.Bytes())
	}
	return nil
}

package cli

import (
	"slices"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/install"
)

// TestDoctorReadsAnswersAsTheHostsDo holds the reading of a hook's output to what the hosts make of it.
func TestDoctorReadsAnswersAsTheHostsDo(t *testing.T) {
	const (
		claudeDeny = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`
		bareAllow  = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`
		noReason   = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":" "}}`
	)
	for _, c := range []struct {
		host, stdout, stderr string
		code                 int
		want                 string // "" is a hook that failed
	}{
		{"claude", "", "", 0, "allow"},
		{"claude", claudeDeny, "", 0, "deny"},
		{"claude", bareAllow, "", 0, "allow"},
		{"claude", "", "no", 2, "deny"},
		{"claude", "", "crash", 1, ""},
		{"claude", "hello\n" + claudeDeny, "", 0, ""},
		{"claude", `{"decision":"deny"}`, "", 0, ""},
		{"codex", "", "", 0, "allow"},
		{"codex", claudeDeny, "", 0, "deny"},
		{"codex", bareAllow, "", 0, ""},
		{"codex", noReason, "", 0, ""},
		{"codex", "", "", 2, ""},
		{"codex", "", "no", 2, "deny"},
		{"gemini", "", "", 0, "allow"},
		{"gemini", `{"decision":"deny","reason":"no"}`, "", 0, "deny"},
		{"gemini", `{"decision":"block","reason":"no"}`, "", 0, "deny"},
		{"gemini", `{"decision":"allow"}`, "no", 2, "allow"},
		{"gemini", "", "no", 2, "deny"},
		{"gemini", "", "", 2, ""},
		{"gemini", "", "no", 1, ""},
		{"cursor", "", "", 0, ""},
		{"cursor", `{"permission":"allow"}`, "", 0, "allow"},
		{"cursor", `{"permission":"deny","user_message":"no"}`, "", 0, "deny"},
		{"copilot", "", "", 0, "allow"},
		{"copilot", `{"permissionDecision":"deny","permissionDecisionReason":"no"}`, "", 0, "deny"},
		{"windsurf", "anything", "", 0, "allow"},
		{"windsurf", "", "no", 2, "deny"},
		{"windsurf", "", "no", 1, ""},
		{"kiro", "", "no", 2, "deny"},
		{"kiro", "", "", 0, "allow"},
		{"cline", "", "", 0, "allow"},
		{"cline", `{"cancel":true,"errorMessage":"no"}`, "", 0, "deny"},
		{"cline", `{"cancel":false}`, "", 0, "allow"},
		{"cline", "", "no", 2, ""},
	} {
		a := readAnswer(c.host, []byte(c.stdout), []byte(c.stderr), c.code)
		if a.decision != c.want || (a.broken == "") != (c.want != "") {
			t.Errorf("%s, %q, %q, code %d: got %+v, want %q", c.host, c.stdout, c.stderr, c.code, a, c.want)
		}
	}
}

// TestEveryGateCanBeProbed makes sure that no event is left without a way to try it, in JSON that can be read.
func TestEveryGateCanBeProbed(t *testing.T) {
	for _, host := range install.Hosts() {
		gates, _ := host.Events()
		for _, event := range gates {
			deny, allow := probeEvents(host.Name, event, probing{dir: `/a "b"`, file: `/tmp/\x`, own: "/own"})
			reads := event == "beforeReadFile" || event == "pre_read_code"
			if (deny == nil) != reads || allow == nil {
				t.Errorf("%s, %s: must deny %q, must allow %q", host.Name, event, deny, allow)
			}
			for _, text := range [][]byte{deny, allow} {
				if text == nil {
					continue
				}
				if _, err := canon.Parse(text); err != nil {
					t.Errorf("%s, %s: %v in %s", host.Name, event, err, text)
				}
			}
		}
	}
}

func TestAFaultIsNotADecision(t *testing.T) {
	for reason, want := range map[string]string{
		"sallyport: no call may run, since (x) is wrong (rule policy)": "policy",
		"sallyport: late (rule deadline)":                              "deadline",
		"sallyport: not here (rule no-secrets)":                        "",
		"sallyport: (rule event) is quoted (rule mine)":                "",
		"no": "",
	} {
		if got := (answer{decision: "deny", reason: reason}).fault(); got != want {
			t.Errorf("%q: got %q, want %q", reason, got, want)
		}
	}
}

func TestVersionsOfClaude(t *testing.T) {
	for text, want := range map[string][]int{
		"2.1.295 (Claude Code)\n": {2, 1, 295},
		"2.1.295-beta.1":          {2, 1, 295},
		"2.1":                     nil,
		"v2.1.0":                  nil,
		"":                        nil,
	} {
		if got := parseVersion(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestSwitchesOfCodex(t *testing.T) {
	for config, want := range map[string]bool{
		"[features]\nhooks = false\n":              true,
		"features.hooks = false":                   true,
		"[features]\nhooks = true\n":               false,
		"[other]\nhooks = false\n":                 false,
		"[features]\n# hooks = false\n":            false,
		"[features] # of mine\nhooks=false # not!": true,
		"": false,
	} {
		if got := hooksOff(config); got != want {
			t.Errorf("%q: got %t, want %t", config, got, want)
		}
	}
}

// TestEventsAfterWritesAreInstalled: what doctor looks for is what install puts in, and of each host that has such an event.
func TestEventsAfterWritesAreInstalled(t *testing.T) {
	for _, host := range install.Hosts() {
		_, others := host.Events()
		after := eventAfterWrite(host.Name)
		if (after == "") != (len(others) == 0) || after != "" && !slices.Contains(others, after) {
			t.Errorf("%s: doctor looks for %q, and install puts in %v", host.Name, after, others)
		}
	}
}

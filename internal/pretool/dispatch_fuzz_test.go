package pretool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzValidateDispatch(f *testing.F) {
	for _, c := range []string{
		aPrompt,
		"research", "[GENERIC-OK] x", "Write skills/new-core/SKILL.md", `Write agents\zig\agent.md`,
		"---persona---\nagent: &a b\nskills:\n  - *a\n  - 'x-core' # one\n----\nRead skills\\x-core\\SKILL.md",
		"---persona---\nagent: a: b\nskills:\n\t- x-core\n\t- y:z\n---\n",
		"---persona---\nskills: [a,\n b]\n...\nskills: {c: d}\n---\n",
		"WORKING DIRECTORY & LIBRARY PATH: /lib. Work.\n---persona---\nagent: [a]\nskills: |\n  x\n---\nskills/x/SKILL.md",
	} {
		f.Add("general-purpose", c)
	}
	lib := f.TempDir()
	f.Fuzz(func(t *testing.T, subagentType, prompt string) {
		got := validateDispatch(subagentType, prompt, lib, noEnv)
		if reason, _, _ := strings.Cut(got.Detail, "\n"); !got.Allowed && (got.Reason != reason || reason == "") {
			t.Errorf("reason %q, but detail %q", got.Reason, got.Detail)
		}
		if got.Allowed != (len(got.Blocks) == 0) || got.Blocks == nil || !got.Allowed && got.Blocks[0] != got.Detail {
			t.Errorf("inconsistent verdict %+v", got)
		}
		if !strings.Contains(prompt, "\r") {
			crlf := validateDispatch(subagentType, strings.ReplaceAll(prompt, "\n", "\r\n"), lib, noEnv)
			if diff := cmp.Diff(got, crlf); diff != "" {
				t.Errorf("verdict differs with CRLF (-LF +CRLF):\n%s", diff)
			}
		}
		if !got.Allowed || !isGeneric(subagentType) || strings.Contains(prompt, genericMarker) {
			return
		}
		// What passes names the file of a skill or an agent, and closes its persona if it has one.
		lower := strings.ToLower(strings.ReplaceAll(prompt, `\`, "/"))
		if !strings.Contains(lower, "/skill.md") && !strings.Contains(lower, "/agent.md") {
			t.Errorf("passes without a file to read: %q", prompt)
		}
		if strings.Count(prompt, "---") < 3 && strings.Contains(prompt, personaMarker) {
			t.Errorf("passes without closing its persona: %q", prompt)
		}
	})
}

package pretool

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const registryPath = "knowledge-graph/_master/agents_all.json"

// dispatch validates a prompt for a generic subagent, with no library.
func dispatch(prompt string) dispatchVerdict {
	return validateDispatch("general-purpose", prompt, "", noEnv)
}

func noEnv(string) string { return "" }

func TestGenericTypes(t *testing.T) {
	for _, tt := range []struct {
		subagentType string
		generic      bool
	}{
		{"", true},
		{"general-purpose", true},
		{"General-Purpose", true},
		{"\t general-purpose\r\n", true},
		{"claude", true},
		{" CLAUDE ", true},
		{"   ", true},
		{"\u00a0", true},
		{"\x00", true},
		{"general-purpose\x00", true},
		{"\u200bclaude\ufeff", true}, // zero width
		{"general-purpo\u017fe", true},
		{"general purpose", false},
		{"claude-code-guide", false},
		{"Explore", false},
		{"x", false},
	} {
		if got := validateDispatch(tt.subagentType, "x", "", noEnv); got.Allowed == tt.generic {
			t.Errorf("type %q: allowed %v, want %v", tt.subagentType, got.Allowed, !tt.generic)
		}
	}
}

func TestDispatchWithoutPersona(t *testing.T) {
	for _, tt := range []struct {
		prompt  string
		allowed bool
	}{
		{"", false},
		{"research", false},
		{"[GENERIC-OK] research", true},
		{"research\n[GENERIC-OK]", true},
		{"[generic-ok] research", false},
		{"[GENERIC OK] research", false},
		{"--persona--\nagent: a\n", false},
		{"---PERSONA---\nagent: a\nskills: [x]\n---\nskills/", false},

		{"Write skills/new-core/SKILL.md", true},
		{"Write skills/new-core/SKILL.md.", true},
		{"Write `skills/new-core/SKILL.md`", true},
		{`Write C:\lib\skills\new-core\SKILL.md now`, true},
		{`Write skills\/new-core/SKILL.md`, true},
		{`{"path": "skills\\new-core\\SKILL.md"}`, true},
		{"Write agents/zig-expert/agent.md", true},
		{"Write ./Agents/zig-expert/AGENT.md", true},
		{"Write (agents/zig/agent.md)", true},
		{"Write skills/docker/SKILL.md\r\nand more", true},

		{"Write skills/new-core/SKILL.md.bak", false},
		{"Write skills/new-core/SKILL.mdx", false},
		{"Write skills/new-core/SKILL.md-old", false},
		{"Write myskills/new-core/SKILL.md", false},
		{"Write web-skills/new-core/SKILL.md", false},
		{"Write skills/<name>/SKILL.md", false},
		{"Write skills/{name}/SKILL.md", false},
		{"Write skills/../SKILL.md", false},
		{"Write skills/new core/SKILL.md", false},
		{"Write skills//SKILL.md", false},
		{"Write skills/a/b/SKILL.md", false},
		{"Write skills/SKILL.md", false},
		{"Write skills/new-core/agent.md", false},
		{"Write agents/new-core/SKILL.md", false},
		{"Write skills/new-core", false},
		{"skills/" + strings.Repeat("a", maxSkillName) + "/SKILL.md", true},
		{"skills/" + strings.Repeat("a", maxSkillName+1) + "/SKILL.md", false},
		{"skills", false},
		{"skills/", false},
		{"skills/x", false},
		{"skills/x/", false},
		{"skills/x/SKILL.m", false},
	} {
		got := dispatch(tt.prompt)
		if got.Allowed != tt.allowed {
			t.Errorf("prompt %.80q: allowed %v, want %v", tt.prompt, got.Allowed, tt.allowed)
		}
		if want := withoutPersona; !got.Allowed && got.Reason != want {
			t.Errorf("prompt %.80q: reason %q, want %q", tt.prompt, got.Reason, want)
		}
	}
}

// personaBlocks are prompts whose skills are x-core and docker, or which must not pass.
var personaBlocks = map[string]struct {
	prompt string
	want   string // in the detail; "" passes
}{
	"inline list":                 {"---persona---\nagent: a\nskills: [x-core, docker]\n---\n", ""},
	"list":                        {"---persona---\nagent: a\nskills:\n  - x-core\n  - docker\n---\n", ""},
	"list at the margin":          {"---persona---\nagent: a\nskills:\n- x-core\n- docker\n---\n", ""},
	"list over lines":             {"---persona---\nagent: a\nskills: [\n  x-core,\n  docker,\n]\n---\n", ""},
	"one text":                    {"---persona---\nagent: a\nskills: x-core, docker\n---\n", ""},
	"one skill":                   {"---persona---\nagent: a\nskills: docker\n---\n", ""},
	"block text":                  {"---persona---\nagent: a\nskills: |\n  x-core\n  docker\n---\n", ""},
	"quotes":                      {"---persona---\nagent: 'a'\nskills: [\"x-core\", 'docker']\n---\n", ""},
	"comments":                    {"---persona---\n# who\nagent: a # me\nskills: # these\n  # all\n  - x-core # one\n  - docker\n---\n", ""},
	"skills first":                {"---persona---\nskills: [docker]\nagent: a\n---\n", ""},
	"other keys":                  {"---persona---\nagent: a\nmodel: opus\nskills: [docker]\ntools: {a: [b]}\n---\n", ""},
	"upper case":                  {"---persona---\nAgent: A\nSkills: [X-Core, DOCKER]\n---\n", ""},
	"twice the same skill":        {"---persona---\nagent: a\nskills: [docker, docker]\n---\n", ""},
	"indented":                    {"---persona---\n  agent: a\n  skills: [docker]\n---\n", ""},
	"anchor":                      {"---persona---\nagent: a\nlist: &l [docker]\nskills: *l\n---\n", ""},
	"aliased item":                {"---persona---\nagent: &a docker\nskills: [*a]\n---\n", ""},
	"longer rule":                 {"---persona---\nagent: a\nskills: [docker]\n-------  \n", ""},
	"rule at the end":             {"---persona---\nagent: a\nskills: [docker]\n---", ""},
	"CRLF":                        {"---persona---\r\nagent: a\r\nskills:\r\n  - x-core\r\n  - docker\r\n---\r\n", ""},
	"CR":                          {"---persona---\ragent: a\rskills: [docker]\r---\r", ""},
	"after text":                  {"Be brief.\n\n  ---persona---  \nagent: a\nskills: [docker]\n---\n", ""},
	"mentioned before":            {"With ---persona--- as follows\n---persona---\nagent: a\nskills: [docker]\n---\n", ""},
	"mentioned before, closed":    {"A ---persona--- block ends in\n---\n---persona---\nagent: a\nskills: [docker]\n---\n", ""},
	"on the marker's line":        {"---persona--- agent: a\nskills: [docker]\n---\n", ""},
	"trailing comma":              {"---persona---\nagent: a\nskills: [docker, ]\n---\n", ""},
	"null among them":             {"---persona---\nagent: a\nskills:\n  -\n  - docker\n---\n", ""},
	"no agent":                    {"---persona---\nskills: [docker]\n---\n", ""},
	"no YAML: colon":              {"---persona---\nagent: a\nrole: reviewer: strict\nskills: [x-core, docker]\n---\n", ""},
	"no YAML: tabs":               {"---persona---\nagent: a\nskills:\n\t- x-core # one\n\t- 'docker'\n---\n", ""},
	"no YAML: prose":              {"---persona---\nagent: a\nskills: [docker]\nYou are an expert.\n---\n", ""},
	"no YAML: no space":           {"---persona---\nagent:a\nskills:[docker]\n---\n", ""},
	"no YAML: open list":          {"---persona---\nagent: @a\nskills: [x-core,\n  docker]\n---\n", ""},
	"no YAML: at sign":            {"---persona---\nagent: @a\nskills: docker\n---\n", ""},
	"no YAML: list of fields":     {"---persona---\n- agent: a\n- skills: [docker]\n---\n", ""},
	"never closed":                {"---persona---\nagent: a\nskills: [docker]\n", "never closed"},
	"closed by two dashes":        {"---persona---\nagent: a\nskills: [docker]\n--\n", "never closed"},
	"closed by a long dash":       {"---persona---\nagent: a\nskills: [docker]\n\u2014\u2014\u2014\n", "never closed"},
	"closed by words":             {"---persona---\nagent: a\nskills: [docker]\n--- end ---\n", "never closed"},
	"marker alone":                {"---persona---", "never closed"},
	"empty block":                 {"---persona---\n---\n", "skills"},
	"no skills":                   {"---persona---\nagent: a\n---\n", "skills"},
	"skills without a value":      {"---persona---\nagent: a\nskills:\n---\n", "skills"},
	"null":                        {"---persona---\nagent: a\nskills: ~\n---\n", "skills"},
	"empty list":                  {"---persona---\nagent: a\nskills: []\n---\n", "skills"},
	"list of nothing":             {"---persona---\nagent: a\nskills: [ , ]\n---\n", "skills"},
	"empty texts":                 {"---persona---\nagent: a\nskills: ['', \" \"]\n---\n", "skills"},
	"mapping":                     {"---persona---\nagent: a\nskills: {docker: yes}\n---\n", "a mapping"},
	"mappings in the list":        {"---persona---\nagent: a\nskills:\n  - docker: yes\n---\n", "a mapping"},
	"a list that holds itself":    {"---persona---\nagent: a\nskills: &s [*s]\n---\n", "a mapping"},
	"placeholder":                 {"---persona---\nagent: a\nskills: [<name>]\n---\n", "<name>"},
	"path":                        {"---persona---\nagent: a\nskills: [../docker]\n---\n", "../docker"},
	"skills below another key":    {"---persona---\npersona:\n  agent: a\n  skills: [docker]\n---\n", "skills"},
	"skills in a comment":         {"---persona---\nagent: a\n# skills: [docker]\n---\n", "skills"},
	"skills after the block":      {"---persona---\nagent: a\n---\nskills: [docker]\n---\n", "skills"},
	"a key like it":               {"---persona---\nagent: a\nmy-skills: [docker]\n---\n", "skills"},
	"not YAML, no skills":         {"---persona---\nagent: a: b\n---\n", "skills"},
	"authoring is no excuse":      {"---persona---\nagent: a\n---\nWrite skills/x-core/SKILL.md\n", "skills"},
	"unread":                      {"---persona---\nagent: a\nskills: [docker, y-core]\n---\n", "skills/y-core/SKILL.md"},
	"unread, not YAML":            {"---persona---\nagent: a: b\nskills: [docker, y-core]\n---\n", "skills/y-core/SKILL.md"},
	"unread in an open list":      {"---persona---\nagent: @a\nskills: [docker,\n  y-core]\n---\n", "skills/y-core/SKILL.md"},
	"unread after an open line":   {"---persona---\nagent: @a\nskills: [docker\n  y-core\n---\n", "skills/y-core/SKILL.md"},
	"unread under a second key":   {"---persona---\nagent: a\nskills: [docker]\nskills: [y-core]\n---\n", "skills/y-core/SKILL.md"},
	"unread in a second document": {"---persona---\nagent: a\nskills: [docker]\n...\nskills: [y-core]\n---\n", "skills/y-core/SKILL.md"},
	"unread in a third document":  {"---persona---\nagent: a\nskills: [docker]\n--- {a: b}\n--- {skills: [y-core]}\n---\n", "skills/y-core/SKILL.md"},
	"unread after a comma":        {"---persona---\nagent: a\nskills: ['docker, y-core']\n---\n", "skills/y-core/SKILL.md"},
	"unread name with a colon":    {"---persona---\nagent: a\nskills:\n\t- docker\n\t- y:core\n---\n", "y:core"},
	"unread after two markers":    {"---persona---\nskills: [docker]\n--- # a\n--- # b\n--- {skills: [y-core]}\n---\n", "skills/y-core/SKILL.md"},
	"unread after a directive":    {"---persona---\nskills: [docker]\n...\n%YAML 1.2\n--- {skills: [y-core]}\n---\n", "a skill"},
	"directive without a value":   {"---persona---\n%TAG !! x\n--- !!a\n...\nskills: [docker]\n---\n", ""},
	"unread in an aliased list":   {"---persona---\nx: &l [docker]\ny: &l [y-core]\nskills: *l\n---\n", "skills/y-core/SKILL.md"},
	"alias without an anchor":     {"---persona---\nskills: [docker, *l]\n---\n", "*l"},
	"anchor on its own alias":     {"---persona---\nskills: &l *l\n---\n", "*l"},
	"unread under a tagged key":   {"---persona---\nskills: docker\n!!str skills: docker\n  y-core\n---\n", "skills/y-core/SKILL.md"},
	"unread among many tokens":    {"---persona---\nskills: [" + strings.Repeat("docker, ", maxTokens) + "y-core]\n---\n", "skills/y-core/SKILL.md"},
	"part of a longer name":       {"---persona---\nagent: a\nskills: [core]\n---\n", "skills/core/SKILL.md"},
	"beginning of a longer name":  {"---persona---\nagent: a\nskills: [dock]\n---\n", "skills/dock/SKILL.md"},
	"too long":                    {"---persona---\nagent: a\nskills: [docker]\n# " + strings.Repeat("x", maxPersona) + "\n---\n", "64 KiB"},
}

func TestPersonaBlocks(t *testing.T) {
	const reads = "First read skills/x-core/SKILL.md and skills/docker/SKILL.md.\n"
	for name, tt := range personaBlocks {
		t.Run(name, func(t *testing.T) {
			got := dispatch(reads + tt.prompt)
			if got.Allowed != (tt.want == "") || !strings.Contains(got.Detail, tt.want) {
				t.Errorf("%q is allowed: %v, detail %q; want %q in it", tt.prompt, got.Allowed, got.Detail, tt.want)
			}
		})
	}
}

func TestBlockedVerdictNamesWhatIsMissing(t *testing.T) {
	got := dispatch("---persona---\nagent: a\nskills: [x-core, y-core, docker]\n---\nRead skills/y-core/SKILL.md.")
	detail := unreadSkills + "\n  To mend: add to the prompt, below its ---persona--- block" +
		"\n    Read skills/x-core/SKILL.md first.\n    Read skills/docker/SKILL.md first."
	want := dispatchVerdict{Reason: unreadSkills, Blocks: []string{detail}, Detail: detail}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdict differs (-want +got):\n%s", diff)
	}
}

// TestMendedPromptPasses does as the message says.
func TestMendedPromptPasses(t *testing.T) {
	lib := library(t, `[{"name": "a", "mandatory_skills": ["x-core", "y-core"]}]`)
	verdict := func(prompt string) dispatchVerdict { return validateDispatch("", prompt, lib, noEnv) }
	reads := func(detail string) string {
		_, reads, _ := strings.Cut(detail, "---persona--- block")
		return reads
	}
	first := verdict("---persona---\nagent: a\nskills: [x-core]\n---\n")
	prompt := "---persona---\nagent: a\nskills: [x-core]\n---\n" + reads(first.Detail)
	second := verdict(prompt)
	if second.Allowed || !strings.Contains(second.Detail, "Missing: y-core") {
		t.Fatalf("detail %q, want y-core missing", second.Detail)
	}
	prompt = strings.Replace(prompt, "[x-core]", "[x-core, y-core]", 1) + reads(second.Detail)
	if got := verdict(prompt); !got.Allowed {
		t.Errorf("%q does not pass: %s", prompt, got.Detail)
	}
}

// TestQuotedMessageDoesNotPass keeps an agent from passing by handing the message on.
func TestQuotedMessageDoesNotPass(t *testing.T) {
	for _, prompt := range []string{"x", "---persona---", "---persona---\n---", "---persona---\nskills: [x]\n---"} {
		message := dispatch(prompt).Detail
		if withoutHatch := strings.ReplaceAll(message, genericMarker, ""); dispatch("You said: " + withoutHatch).Allowed {
			t.Errorf("the message %q passes as a prompt", message)
		}
	}
}

func TestLongListsAreCutShort(t *testing.T) {
	var skills []string
	for i := range 2 * maxListed {
		skills = append(skills, fmt.Sprintf("s%d", i))
	}
	got := dispatch("---persona---\nskills: [" + strings.Join(skills, ",") + "]\n---\n").Detail
	if !strings.Contains(got, fmt.Sprintf("(and %d more)", maxListed)) || strings.Contains(got, skills[maxListed]) {
		t.Errorf("detail %q does not end its list after %d names", got, maxListed)
	}
}

// library writes a registry and returns the folder of its library.
func library(t *testing.T, registry string) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, filepath.FromSlash(registryPath)), registry)
	return dir
}

// TestLongPromptsTakeLinearTime gives long prompts of several shapes; each would take minutes if the work grew with the
// square of its length.
func TestLongPromptsTakeLinearTime(t *testing.T) {
	const size = 1 << 20
	for _, unit := range []string{
		"x", "\n", "-", " ", "&", "/", "[", "skills/", "skills/skills", "skills/x/SKILL.m ", "skills/x/SKILL.md ", `skills\\`,
		"---persona---", "---persona---\n", "---persona--- ", "---persona---\n---\n", "---persona---\nskills: [x]\n---\n",
		"WORKING DIRECTORY & LIBRARY PATH: ", "WORKING DIRECTORY & LIBRARY PATH: .\n", "WORKING DIRECTORY &",
	} {
		long := strings.Repeat(unit, size/len(unit))
		for _, prompt := range []string{
			long,
			"---persona---\n" + long,
			"---persona---\nskills: [y]\n---\n" + long,
			long + "\n---persona---\nskills: [x]\n---\nRead skills/x/SKILL.md\n",
		} {
			start := time.Now()
			dispatch(prompt)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("a prompt of %d MiB that repeats %q took %v", size>>20, unit, took)
			}
		}
	}
}

// TestHardBlocksTakeLittleTime gives YAML that is known to be hard to read, as long as a block may be.
func TestHardBlocksTakeLittleTime(t *testing.T) {
	aliases := "a0: &a0 [x]\n"
	for i := range 60 {
		aliases += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	fill := func(unit string) string { return strings.Repeat(unit, (maxPersona-100)/len(unit)) }
	for _, block := range []string{
		aliases + "skills: *a60",
		"skills: " + fill("["),
		"skills: " + fill("[") + fill("]"),
		"skills: " + fill("{a: "),
		fill("? "), fill("- "), fill("!a "), fill("&a "), fill("a: "), fill("\t"), fill("'"), fill("\"\\"), fill("[a, "), fill("{a, "),
		fill("a:\n"), fill("a: b\n"), fill("&a a: *a\n"), fill("|\n "), fill("# \n"), fill("%YAML 1.1\n"), fill("--- {a: b}\n"), fill("skills: a\n"),
		"skills:\n" + fill("- a\n"), "skills:\n" + fill("\t- a\n"),
		strings.Repeat("[", 60_000), fill("a: b: c: "), fill("- ? "), fill("%TAG !! x\n--- !!a\n"), fill("...\n"), fill("--- # a\n"),
		strings.Repeat("{"+strings.Repeat("a", 200)+": ", 300), "&a *a", fill("*a "),
	} {
		start := time.Now()
		dispatch("---persona---\n" + block + "\n---\n")
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("a block that begins %.20q took %v", block, took)
		}
	}
}

package pretool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// aPrompt is a persona "a" with the skill x-core.
const aPrompt = "---persona---\nagent: a\nskills: [x-core]\n---\nRead skills/x-core/SKILL.md first.\n"

// TestRegistryDemands gives registries to a prompt of the agent a with the skill x-core.
func TestRegistryDemands(t *testing.T) {
	for name, tt := range map[string]struct {
		registry string
		missing  string // "" passes
	}{
		"nothing":              {`{"agents": [{"name": "a"}]}`, ""},
		"what is declared":     {`{"agents": [{"name": "a", "mandatory_skills": ["x-core"]}]}`, ""},
		"declared, other case": {`{"agents": [{"name": "a", "mandatory_skills": [" X-Core "]}]}`, ""},
		"more":                 {`{"agents": [{"name": "a", "mandatory_skills": ["x-core", "y-core"]}]}`, "y-core"},
		"more across domains":  {`{"agents": [{"name": "a", "cross_domain_mandatory_skills": ["y-core"]}]}`, "y-core"},
		"both":                 {`{"agents": [{"name": "a", "mandatory_skills": ["y-core"], "cross_domain_mandatory_skills": ["z-core", "y-core"]}]}`, "y-core, z-core\n"},
		"bare list":            {`[{"name": "a", "mandatory_skills": ["y-core"]}]`, "y-core"},
		"other case":           {`[{"name": " A ", "mandatory_skills": ["y-core"]}]`, "y-core"},
		"a record given twice": {`[{"name": "a"}, {"name": "A", "mandatory_skills": ["y-core"]}]`, "y-core"},
		"junk between":         {`[null, 1, "a", [], {"name": 1}, {"name": "a", "mandatory_skills": [null, 1, "", "y-core"]}]`, "y-core"},
		"byte order mark":      {"\ufeff" + `[{"name": "a", "mandatory_skills": ["y-core"]}]`, "y-core"},
		"a strange name":       {`[{"name": "a", "mandatory_skills": ["y\nallowed: true"]}]`, `"y\nallowed: true"`},
		"another agent":        {`[{"name": "b", "mandatory_skills": ["y-core"]}]`, ""},
		"a longer name":        {`[{"name": "ab", "mandatory_skills": ["y-core"]}]`, ""},
		"nobody":               {`{"agents": []}`, ""},
		"skills of no list":    {`[{"name": "a", "mandatory_skills": {"y-core": 1}}]`, ""},
		"agents of no list":    {`{"agents": {"name": "a", "mandatory_skills": ["y-core"]}}`, ""},
		"no agents":            {`{}`, ""},
		"text":                 {`"a"`, ""},
		"not JSON":             {`{`, ""},
		"empty":                {``, ""},
		"a key twice":          {`{"agents": [{"name": "a", "mandatory_skills": ["y-core"], "name": "a"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := validateDispatch("", aPrompt, library(t, tt.registry), noEnv)
			if got.Allowed != (tt.missing == "") || !strings.Contains(got.Detail, tt.missing) {
				t.Errorf("allowed %v, detail %q; want %q missing", got.Allowed, got.Detail, tt.missing)
			}
		})
	}
}

func TestNoAgentHidesFromTheRegistry(t *testing.T) {
	lib := library(t, `[{"name": "a", "mandatory_skills": ["y-core"]}]`)
	for _, agent := range []string{
		"agent: a", "agent: A ", "agent: 'a'", "agent: \"a\" # me", "agent: b\nagent: a", "agent: a\nagent: b", "agent: [a]",
		"agent: a\nrole: x: y", "agent: `a`", "AGENT: a", "b: &n a\nagent: *n", "agent: |\n  a",
	} {
		prompt := strings.Replace(aPrompt, "agent: a", agent, 1)
		if got := validateDispatch("", prompt, lib, noEnv); !strings.Contains(got.Detail, "y-core") {
			t.Errorf("%q: detail %q, want y-core in it", agent, got.Detail)
		}
	}
}

// TestRegistryPlaces gives each place for a library a registry that demands a skill of the place's own, an empty one that
// cannot be read, or none.
func TestRegistryPlaces(t *testing.T) {
	demanding := func(skill string) string {
		return library(t, fmt.Sprintf(`[{"name": "a", "mandatory_skills": [%q]}]`, skill))
	}
	argument, env, line := demanding("of-argument"), demanding("of-env"), demanding("of-line")
	broken, none, folder := library(t, "{"), t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, filepath.FromSlash(registryPath)), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, argument, env, line string
		want                      string // in the detail; "" passes
	}{
		{"none", "", "", "", ""},
		{"the argument wins", argument, env, line, "of-argument"},
		{"then the environment", "", env, line, "of-env"},
		{"then the prompt", "", "", line, "of-line"},
		{"a blank argument is none", " ", env, line, "of-env"},
		{"a library without a registry is passed over", none, none, line, "of-line"},
		{"a folder is no registry", folder, env, line, "of-env"},
		{"no such folder", filepath.Join(none, "x"), env, line, "of-env"},
		{"no path at all", "\x00", env, line, "of-env"},
		{"a file that cannot be read ends the search", broken, env, line, ""},
		{"spaces round it", "  " + argument + "\n", "", "", "of-argument"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			prompt := "WORKING DIRECTORY & LIBRARY PATH: " + tt.line + "\n" + aPrompt
			got := validateDispatch("", prompt, tt.argument, func(key string) string {
				return map[string]string{"GLOBAL_LIBRARY_PATH": tt.env}[key]
			})
			if got.Allowed != (tt.want == "") || !strings.Contains(got.Detail, tt.want) {
				t.Errorf("allowed %v, detail %q; want %q in it", got.Allowed, got.Detail, tt.want)
			}
		})
	}
}

func TestPromptLibrary(t *testing.T) {
	for _, tt := range []struct{ prompt, want string }{
		{"", ""},
		{"WORKING DIRECTORY & LIBRARY PATH: /lib", "/lib"},
		{"WORKING DIRECTORY & LIBRARY PATH: /lib\nNext", "/lib"},
		{"WORKING DIRECTORY & LIBRARY PATH: /lib.", "/lib"},
		{"WORKING DIRECTORY & LIBRARY PATH: /lib.\nNext", "/lib"},
		{"WORKING DIRECTORY & LIBRARY PATH: /lib. Work there. Be brief.", "/lib"},
		{"WORKING DIRECTORY & LIBRARY PATH: /lib.\tWork", "/lib"},
		{"WORKING DIRECTORY & LIBRARY PATH: /lib/v1.2/.x. Work", "/lib/v1.2/.x"},
		{"WORKING DIRECTORY & LIBRARY PATH: /my lib/a b. Work", "/my lib/a b"},
		{"WORKING DIRECTORY & LIBRARY PATH: C:\\lib\\v1.2. Work", `C:\lib\v1.2`},
		{"WORKING DIRECTORY & LIBRARY PATH: \"/lib\". Work", "/lib"},
		{"WORKING DIRECTORY & LIBRARY PATH: `/lib`\n", "/lib"},
		{"**WORKING DIRECTORY & LIBRARY PATH:** /lib\n", "/lib"},
		{"**WORKING DIRECTORY & LIBRARY PATH**: /lib\n", "/lib"},
		{"- Working Directory&Library Path :/lib", "/lib"},
		{"R&D\nFind A & B. WORKING DIRECTORY  &\tLIBRARY PATH: /lib", "/lib"},
		{"WORKING DIRECTORY & LIBRARY PATH:\nWORKING DIRECTORY & LIBRARY PATH: /lib", "/lib"},
		{"WORKING DIRECTORY & LIBRARY PATH: . Work", ""},
		{"WORKING DIRECTORY & LIBRARY PATH:\n/lib", ""},
		{"WORKING DIRECTORY &\nLIBRARY PATH: /lib", ""},
		{"WORKING DIRECTORY & LIBRARY PATH /lib", ""},
		{"WORKING DIRECTORY AND LIBRARY PATH: /lib", ""},
		{"LIBRARY PATH: /lib", ""},
	} {
		if got := promptLibrary(tt.prompt); got != tt.want {
			t.Errorf("library of %q = %q, want %q", tt.prompt, got, tt.want)
		}
	}
}

func TestRegistryTooLargeIsNotRead(t *testing.T) {
	lib := library(t, `[{"name": "a", "mandatory_skills": ["y-core"]}]`)
	path := filepath.Join(lib, filepath.FromSlash(registryPath))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	spaces := strings.Repeat(" ", 1<<20)
	for range maxFile >> 20 {
		if _, err := f.WriteString(spaces); err != nil {
			t.Fatal(err)
		}
	}
	if got := validateDispatch("", aPrompt, lib, noEnv); !got.Allowed {
		t.Errorf("detail %q, want the registry unread", got.Detail)
	}
	if err := f.Truncate(maxFile); err != nil {
		t.Fatal(err)
	}
	if got := validateDispatch("", aPrompt, lib, noEnv); got.Allowed {
		t.Error("a registry of the largest size is not read")
	}
}

// TestManyAgentsTakeLinearTime gives a registry and a block that both name many agents.
func TestManyAgentsTakeLinearTime(t *testing.T) {
	record := `{"name": "a"},`
	lib := library(t, `[`+strings.Repeat(record, 2<<20/len(record))+`{"name": "a", "mandatory_skills": ["y-core"]}]`)
	prompt := strings.Replace(aPrompt, "agent: a", strings.Repeat("agent: b\n", 5000)+"agent: a", 1)
	start := time.Now()
	if got := validateDispatch("", prompt, lib, noEnv); got.Allowed {
		t.Error("the last record of the registry is not read")
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

package install

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

var command = Command{Binary: "/opt/bin/sallyport", Ledger: "/home/u/.local/state/sallyport"}

func merge(t *testing.T, host string, text []byte, c Command) Change {
	t.Helper()
	change, err := HostNamed(host).Merge(text, c)
	if err != nil {
		t.Fatalf("Merge(%q): %v", text, err)
	}
	return change
}

func remove(t *testing.T, host string, text []byte) Change {
	t.Helper()
	change, err := HostNamed(host).Remove(text)
	if err != nil {
		t.Fatalf("Remove(%q): %v", text, err)
	}
	return change
}

// undo gives a text as Remove leaves it, nil for a file that goes.
func undo(t *testing.T, host string, text []byte) []byte {
	t.Helper()
	change := remove(t, host, text)
	if change.Delete {
		return nil
	}
	return change.Text
}

// settings are texts as people and programs leave them.
var settings = []string{
	"", " ", "\n", "\r\n\r\n", "{}", "{}\n", "{ }", "{\n}\n", "\n{}", "\n{}\n", "{\r\n}\r\n", "\t{\t}\t",
	`{"model":"opus"}`, `{"model": "opus", "n": 1}`, "{\n  \"model\": \"opus\"\n}\n", "{\n\t\"model\": \"opus\"\n}",
	"{\r\n    \"model\": \"opus\",\r\n    \"b\": [1, 2]\r\n}\r\n",
	`{"hooks":{}}`, "{\n  \"hooks\": {}\n}\n", "{\n  \"hooks\": {\n  }\n}\n", `{"hooks": { }, "a": 1}`,
	`{"hooks":{"PreToolUse":[]}}`, "{\n  \"hooks\": {\n    \"PreToolUse\": [ ],\n    \"Other\": []\n  },\n  \"z\": true\n}\n",
	`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"x.sh"}]}]}}`,
	"{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Bash\",\n        \"hooks\": [\n          { \"type\": \"command\", \"command\": \"guard\" }\n        ]\n      }\n    ]\n  }\n}\n",
	"{\n\"hooks\":\n{\n\"PreToolUse\":\n[\n]\n}\n}", "{\"a\":\"\u00e4\u2603\U0001F600\", \"\\u0068ooks\": {\"PreToolUse\" : [ ] } , \"b\" :null }\n\n\n",
	`{"permissions":{"allow":["Bash(ls *)"]},"hooks":{"Stop":[{"hooks":[{"type":"command","command":"say done"}]}]}}`,
}

// versioned are the same for a host whose files have a version.
func versioned(text string) string {
	if strings.Contains(text, "ooks") {
		return strings.Replace(text, "{", `{"version": 1, `, 1)
	}
	return text
}

func TestRemoveUndoesMerge(t *testing.T) {
	for _, h := range Hosts() {
		if h.script {
			continue
		}
		for _, before := range settings {
			if h.version {
				before = versioned(before)
			}
			merged := merge(t, h.Name, []byte(before), command)
			if merged.Same || merged.Loose {
				t.Errorf("%s: Merge(%q) says same %t, loose %t", h.Name, before, merged.Same, merged.Loose)
			}
			if after := undo(t, h.Name, merged.Text); string(after) != before {
				t.Errorf("%s: Remove gives %q, want %q; merged was\n%s", h.Name, after, before, merged.Text)
			}
		}
		fresh := merge(t, h.Name, nil, command)
		if change := remove(t, h.Name, fresh.Text); !change.Delete {
			t.Errorf("%s: Remove leaves a file that Merge made: %q", h.Name, change.Text)
		}
	}
}

// TestRemoveUndoesMergeOfAnySettings tries generated settings: any nesting, layout and line ends.
func TestRemoveUndoesMergeOfAnySettings(t *testing.T) {
	edited := 0
	const files = 300
	hosts := []string{"claude", "codex", "gemini", "kiro", "windsurf"}
	for seed := range uint64(files) {
		g := &generator{r: rand.New(rand.NewPCG(seed, 4))}
		g.layout()
		if checkEdits(t, hosts[seed%uint64(len(hosts))], g.settings()) {
			edited++
		}
	}
	if edited < files*9/10 {
		t.Errorf("only %d of %d generated files could be edited", edited, files)
	}
}

// checkEdits holds one text to all that is promised. It reports whether the text could be edited at all.
func checkEdits(t *testing.T, host string, before []byte) bool {
	t.Helper()
	h := HostNamed(host)
	first, err := h.Merge(before, command)
	if err != nil {
		return false
	}
	if _, err := canon.Parse(first.Text); err != nil {
		t.Fatalf("%s: Merge(%q) is not JSON: %v\n%s", host, before, err, first.Text)
	}
	entries, err := h.Find(first.Text)
	if err != nil || len(entries) != len(h.events) {
		t.Fatalf("%s: Find after Merge(%q): %d entries, %v", host, before, len(entries), err)
	}
	for _, e := range entries {
		if !e.Exact || e.Duplicate || e.Narrow != "" {
			t.Fatalf("%s: Find after Merge(%q): %+v", host, before, e)
		}
	}
	if again := merge(t, host, first.Text, command); !again.Same || !bytes.Equal(again.Text, first.Text) {
		t.Fatalf("%s: a second Merge changes\n%s\nto\n%s", host, first.Text, again.Text)
	}
	if had, err := h.Find(before); err != nil || len(had) > 0 {
		return true // there was something of ours already, which Remove takes out too
	}
	if after := undo(t, host, first.Text); !bytes.Equal(after, before) {
		t.Fatalf("%s: Remove gives\n%q, want\n%q; merged was\n%s", host, after, before, first.Text)
	}
	other := command
	other.Checks, other.Policy = true, "/etc/my policy.yaml"
	changed := merge(t, host, first.Text, other)
	if changed.Same || !changed.Loose {
		t.Fatalf("%s: another command: same %t, loose %t", host, changed.Same, changed.Loose)
	}
	if after := undo(t, host, changed.Text); !bytes.Equal(after, before) {
		t.Fatalf("%s: Remove after a change gives\n%q, want\n%q", host, after, before)
	}
	return true
}

func FuzzMerge(f *testing.F) {
	for _, text := range settings {
		f.Add([]byte(text))
	}
	f.Add(HostNamed("claude").fresh(command, "", "\n"))
	f.Add([]byte(`{"hooks":{"PreToolUse":[{"hooks":[{"command":"sallyport hook claude"},{"command":"sallyport hook claude"}]}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if text == nil {
			text = []byte{}
		}
		for _, host := range []string{"claude", "windsurf"} {
			checkEdits(t, host, text)
		}
		for _, h := range Hosts() {
			if change, err := h.Remove(text); err == nil && !change.Delete && !change.Same {
				if left, err := h.Find(change.Text); err != nil || len(left) > 0 {
					t.Fatalf("%s: Remove leaves %d entries in %q: %v", h.Name, len(left), change.Text, err)
				}
			}
		}
	})
}

// generator writes settings at random.
type generator struct {
	r                              *rand.Rand
	newline, unit, colon, afterEnd string
	oneLine                        bool
}

func (g *generator) pick(of ...string) string { return of[g.r.IntN(len(of))] }

func (g *generator) layout() {
	g.newline = g.pick("\n", "\r\n")
	g.unit = g.pick("  ", "    ", "\t", "")
	g.colon = g.pick(": ", ":", " : ")
	g.afterEnd = g.pick("", g.newline, "  ", g.newline+g.newline)
	g.oneLine = g.r.IntN(4) == 0
}

// settings is a whole file, with hooks of others in two cases of three.
func (g *generator) settings() []byte {
	var members []string
	for range g.r.IntN(4) {
		members = append(members, g.key(g.word())+g.value(g.unit, 2))
	}
	if g.r.IntN(3) > 0 {
		at := g.r.IntN(len(members) + 1)
		members = append(members[:at], append([]string{g.key("hooks") + g.hooks()}, members[at:]...)...)
	}
	seen := map[string]bool{}
	unique := members[:0]
	for _, m := range members {
		if key, _, _ := strings.Cut(m[1:], `"`); !seen[key] {
			seen[key] = true
			unique = append(unique, m)
		}
	}
	return []byte(g.container("{", "}", unique, "") + g.afterEnd)
}

func (g *generator) hooks() string {
	var events []string
	for _, event := range []string{"PreToolUse", "PostToolUse", "Stop", "BeforeTool", "preToolUse", "pre_run_command", "SessionStart"} {
		if g.r.IntN(3) > 0 {
			continue
		}
		var groups []string
		for range g.r.IntN(3) {
			groups = append(groups, g.pick(`{"matcher":"Bash","hooks":[{"type":"command","command":"guard"}]}`, `{"hooks":[]}`, `{"command":"x y"}`, `7`, g.value(g.unit, 1)))
		}
		events = append(events, g.key(event)+g.container("[", "]", groups, g.unit+g.unit))
	}
	return g.container("{", "}", events, g.unit)
}

func (g *generator) container(open, end string, items []string, indent string) string {
	if len(items) == 0 {
		return open + g.pick("", "", " ", g.newline, g.newline+indent) + end
	}
	if g.oneLine || g.r.IntN(6) == 0 {
		return open + g.pick("", " ") + strings.Join(items, g.pick(",", ", ", " ,")) + g.pick("", " ") + end
	}
	inner := g.newline + indent + g.unit
	return open + inner + strings.Join(items, ","+inner) + g.newline + indent + end
}

func (g *generator) key(name string) string { return `"` + name + `"` + g.colon }

func (g *generator) word() string {
	return g.pick("model", "env", "permissions", "ü", "\U0001F600", "a b", `q\"`, "version", "n", "x1")
}

func (g *generator) value(indent string, depth int) string {
	if depth > 0 && g.r.IntN(2) == 0 {
		var items []string
		for range g.r.IntN(3) {
			items = append(items, g.value(indent+g.unit, depth-1))
		}
		if g.r.IntN(2) == 0 {
			return g.container("[", "]", items, indent)
		}
		for i := range items {
			items[i] = g.key(string(rune('a'+i))) + items[i]
		}
		return g.container("{", "}", items, indent)
	}
	return g.pick("1", "-2.50", "true", "null", `""`, `"text, with [ { \" }"`, `"\u00e9\n"`, `"日本"`)
}

func TestMergeWritesInTheStyleOfTheFile(t *testing.T) {
	small := Command{Binary: "/s/sallyport"}
	for _, c := range []struct{ name, before, want string }{
		{"two spaces", "{\n  \"a\": 1\n}\n", `{
  "a": 1,
  "hooks": {
    "pre_run_command": [
      {
        "command": "/s/sallyport hook windsurf",
        "show_output": true
      }
    ],
`},
		{"tabs and CRLF", "{\r\n\t\"a\": 1\r\n}\r\n", "{\r\n\t\"a\": 1,\r\n\t\"hooks\": {\r\n\t\t\"pre_run_command\": [\r\n\t\t\t{\r\n"},
		{"one line", `{"a":1}`, `{"a":1,"hooks":{ "pre_run_command":[ {"command":"/s/sallyport hook windsurf","show_output":true} ],`},
		{"one wide line", `{"a": 1}`, `{"a": 1, "hooks": { "pre_run_command": [ {"command": "/s/sallyport hook windsurf", "show_output": true} ], `},
		{"an event of others", "{\n  \"hooks\": {\n    \"pre_run_command\": [\n      {\"command\": \"x\"}\n    ]\n  }\n}",
			"{\n  \"hooks\": {\n    \"pre_run_command\": [\n      {\"command\": \"x\"},\n      {\n        \"command\": \"/s/sallyport hook windsurf\",\n        \"show_output\": true\n      }\n    ],\n    \"pre_write_code\": [\n"},
	} {
		got := merge(t, "windsurf", []byte(c.before), small).Text
		if len(got) < len(c.want) || string(got[:len(c.want)]) != c.want {
			t.Errorf("%s: it begins\n%s\nwant\n%s", c.name, got[:min(len(got), len(c.want))], c.want)
		}
	}
}

func TestMergeWritesEachHostsEntries(t *testing.T) {
	c := Command{Binary: "/opt/my bin/sallyport", Policy: "/p/policy.yaml", Ledger: "/l", Checks: true}
	for host, want := range map[string]string{
		"claude":   `{"hooks":[{"args":["hook","claude","--policy","/p/policy.yaml","--ledger","/l","--checks"],"command":"/opt/my bin/sallyport","onFailure":"block","timeout":5,"type":"command"}],"matcher":"*"}`,
		"codex":    `{"hooks":[{"command":"'/opt/my bin/sallyport' hook codex --policy /p/policy.yaml --ledger /l --checks","timeout":5,"type":"command"}],"matcher":"*"}`,
		"gemini":   `{"hooks":[{"command":"'/opt/my bin/sallyport' hook gemini --policy /p/policy.yaml --ledger /l --checks","name":"sallyport","timeout":5000,"type":"command"}],"matcher":"*"}`,
		"cursor":   `{"command":"'/opt/my bin/sallyport' hook cursor --policy /p/policy.yaml --ledger /l --checks","failClosed":true,"timeout":5}`,
		"copilot":  `{"bash":"'/opt/my bin/sallyport' hook copilot --policy /p/policy.yaml --ledger /l --checks","timeoutSec":5,"type":"command"}`,
		"windsurf": `{"command":"'/opt/my bin/sallyport' hook windsurf --policy /p/policy.yaml --ledger /l --checks","show_output":true}`,
		"kiro":     `{"command":"'/opt/my bin/sallyport' hook kiro --policy /p/policy.yaml --ledger /l --checks","matcher":"*","timeout_ms":5000}`,
	} {
		h := HostNamed(host)
		root, err := canon.Parse(merge(t, host, nil, c).Text)
		if err != nil {
			t.Fatal(err)
		}
		for entry := range root.Get("hooks").Get(h.events[0].name).Elements() {
			got, err := entry.AppendCanonical(nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", host, diff)
			}
		}
		if version := root.Get("version"); version.Exists() != h.version {
			t.Errorf("%s: the file has a version: %t", host, version.Exists())
		}
	}
}

const shared = `{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          {"type": "command", "command": "guard"},
          {"type": "command", "command": "/old/sallyport", "args": ["hook", "claude"]}
        ]
      },
      {"hooks": [{"type": "command", "command": "'/old path/sallyport' hook claude --checks"}]}
    ],
    "Stop": [
      {"hooks": [{"type": "command", "command": "/old/sallyport hook claude"}]}
    ]
  }
}
`

func TestMergeMendsWhatIsThere(t *testing.T) {
	change := merge(t, "claude", []byte(shared), command)
	want := []string{
		"PreToolUse has our entry twice, in lines 8 and 11; the second is taken out",
		"our entry for Stop, which is not needed any more, is taken out",
	}
	if diff := cmp.Diff(want, change.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if !change.Loose {
		t.Error("the replacement of an entry passes for an addition")
	}
	entries, err := HostNamed("claude").Find(change.Text)
	if err != nil || len(entries) != len(HostNamed("claude").events) {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	if !strings.Contains(string(change.Text), `{"type": "command", "command": "guard"}`) {
		t.Errorf("somebody else's hook is gone:\n%s", change.Text)
	}
	if got := undo(t, "claude", change.Text); strings.Contains(string(got), "sallyport") || !strings.Contains(string(got), "guard") {
		t.Errorf("Remove leaves\n%s", got)
	}
}

func TestFindTellsWhatIsWrong(t *testing.T) {
	entries, err := HostNamed("claude").Find([]byte(shared))
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{Event: "PreToolUse", Gate: true, Line: 8, Col: 11, Handler: 1, Narrow: "its matcher lets it see some tools only", Exec: []string{"/old/sallyport", "hook", "claude"}, CanBlock: true},
		{Event: "PreToolUse", Gate: true, Line: 11, Col: 18, Group: 1, Duplicate: true, Shell: "'/old path/sallyport' hook claude --checks", CanBlock: true},
		{Event: "Stop", Line: 14, Col: 18, Shell: "/old/sallyport hook claude"},
	}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	for text, narrow := range map[string]string{
		`"if":"Bash(git *)",`: `its "if" lets it see some calls only`,
		`"async":true,`:       `it is "async", so that no call waits for it`,
		`"timeout":7,`:        "",
	} {
		entries, err := HostNamed("claude").Find([]byte(`{"hooks":{"PreToolUse":[{"hooks":[{` + text + `"command":"sallyport","args":["hook","claude"]}]}]}}`))
		if err != nil || len(entries) != 1 || entries[0].Narrow != narrow {
			t.Errorf("with %s: %+v, %v", text, entries, err)
		}
	}
}

func TestFilesThatCannotBeEdited(t *testing.T) {
	for _, c := range []struct{ host, text, want string }{
		{"claude", "{\n  // mine\n}", "line 2, column 3: a comment: only strict JSON is edited, so that nothing in it gets lost"},
		{"claude", "{\n  \"a\": 1, /* x */ \"b\": 2}", "line 2, column 11: a comment: only strict JSON is edited, so that nothing in it gets lost"},
		{"claude", `{"hooks":{"PreToolUse":[],"PreToolUse":[]}}`, `line 1, column 27: duplicate key "PreToolUse": a host would read only one of the two`},
		{"claude", "\uFEFF{}", "line 1, column 1: the file begins with a byte order mark"},
		{"claude", `[]`, "line 1, column 1: the settings are not a JSON object"},
		{"claude", `{"hooks":[]}`, `line 1, column 10: "hooks" is not an object`},
		{"claude", `{"hooks":{"PreToolUse":{}}}`, `line 1, column 24: "PreToolUse" is not an array`},
		{"cursor", `{"hooks":{"stop":[]}}`, `Cursor reads no hooks from a file without "version": 1`},
		{"copilot", `{"hooks":{}}`, `GitHub Copilot CLI reads no hooks from a file without "version": 1`},
		{"cursor", `{"version":2,"hooks":{"stop":[]}}`, `line 1, column 12: Cursor reads hooks from a file with "version": 1 only`},
		{"cursor", `{"version":"1"}`, `line 1, column 12: Cursor reads hooks from a file with "version": 1 only`},
		{"cline", "#!/bin/sh\necho mine\n", "there is another hook of that name, and Cline runs one for each folder"},
	} {
		change, err := HostNamed(c.host).Merge([]byte(c.text), command)
		if err == nil {
			t.Errorf("%q: no error, but\n%s", c.text, change.Text)
		} else if err.Error() != c.want {
			t.Errorf("%q: got %q, want %q", c.text, err, c.want)
		}
	}
	if _, err := HostNamed("claude").Merge([]byte(`{"a":1,}`), command); err == nil || err.(*Error).Hint != "is there a comma behind the last value?" {
		t.Errorf("a trailing comma: %v", err)
	}
}

func TestScriptIsOneFile(t *testing.T) {
	c := Command{Binary: "/opt/it's/sallyport"}
	made := merge(t, "cline", nil, c)
	want := scriptHead + `'/opt/it'\''s/sallyport' hook cline` + "\n"
	if diff := cmp.Diff(want, string(made.Text)); diff != "" {
		t.Errorf("script (-want +got):\n%s", diff)
	}
	if again := merge(t, "cline", made.Text, c); !again.Same {
		t.Error("a second Merge changes the script")
	}
	if other := merge(t, "cline", made.Text, command); other.Same || !other.Loose {
		t.Errorf("another command: same %t, loose %t", other.Same, other.Loose)
	}
	entries, err := HostNamed("cline").Find(made.Text)
	if err != nil || len(entries) != 1 || !entries[0].Exact || !entries[0].Gate {
		t.Errorf("Find: %+v, %v", entries, err)
	}
	if change := remove(t, "cline", made.Text); !change.Delete {
		t.Error("Remove leaves the script")
	}
	if change := remove(t, "cline", []byte("#!/bin/sh\necho mine\n")); !change.Same {
		t.Error("Remove touches somebody else's script")
	}
}

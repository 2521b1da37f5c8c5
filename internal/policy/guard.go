package policy

import (
	"strings"

	"sallyport/internal/effects"
)

// The ids of the built-in rules.
const (
	guardFiles    = "self-protection"
	guardCommands = "operators-commands"
)

// operatorsCommands are those that a person types, and no hooked tool: they say what the gate trusts, and take it away.
func operatorsCommands() []string {
	return []string{
		"sallyport trust *", "sallyport release *", "sallyport pin *", "sallyport install *", "sallyport uninstall *",
		"sallyport session *", "sallyport token *", "sallyport claims resolve *", "sallyport approvals approve *", "sallyport approvals deny *",
		"sallyport rehearse *", "sallyport run --abandon *",
	}
}

// onlyTells reports whether one of the operators' commands, as it is written, shows something and changes nothing.
func onlyTells(cmd *effects.Command) bool {
	words := make([]string, len(cmd.Words))
	for i, w := range cmd.Words {
		if words[i] = w.Text; w.Splits || known(w.Text) != w.Text || w.Text == "--" {
			return false
		}
	}
	last := len(words) - 1
	switch {
	case last < 2:
		return false
	case strings.HasPrefix(words[last-1], "-") && !strings.Contains(words[last-1], "="): // whose value the last word may be
		return false
	case words[last] == "--help", words[last] == "-h":
		return true
	case words[1] == "trust", words[1] == "release":
		return last == 2 && words[last] == "--list"
	}
	return (words[1] == "install" || words[1] == "uninstall") && words[last] == "--dry-run"
}

// Guard returns the built-in rules that protect what is the gate's own. No file can lift them or only observe them. They
// judge what can be read of a call: what cannot is for the rules of the files.
func Guard(own Own) *Policy {
	files := &rule{
		id: guardFiles, decision: Deny, keyed: true,
		reason: "this belongs to sallyport itself, and no tool may change it; a person can, outside of the agent",
	}
	var lost []string
	paths := own.paths()
	for _, path := range paths {
		p := newLazy(path, effects.ParsePath)
		if _, err := p.get(); err != nil {
			lost = append(lost, path)
		}
		files.writes = append(files.writes, p)
	}
	commands := &rule{
		id: guardCommands, decision: Deny, keyed: true, harmless: onlyTells,
		reason: "this command is for a person to type, outside of the agent",
	}
	for _, command := range operatorsCommands() {
		commands.runs = append(commands.runs, newLazy(command, effects.ParseRun))
	}
	v := &version2{}
	for _, r := range []*rule{files, commands} {
		v.rules = append(v.rules, placed{rule: r, name: r.id, level: BuiltIn, certain: true})
	}
	if lost != nil { // fail closed
		r := &rule{id: guardFiles, reason: "sallyport cannot protect what is its own: " + quoted(lost[0])}
		v.rules = append(v.rules, placed{rule: r, name: r.id, level: BuiltIn})
	}
	return &Policy{name: "built-in", digest: digestOf([]byte(strings.Join(paths, "\n"))), version: 2, rules: v}
}

// paths returns the gate's own files and folders as patterns. A character that is special in patterns becomes one for any
// character.
func (own Own) paths() []string {
	var paths []string
	add := func(path, below string) {
		path = strings.Map(func(r rune) rune {
			if strings.ContainsRune("*?[]{}$", r) {
				return '?'
			}
			return r
		}, strings.ReplaceAll(path, `\`, "/"))
		if path != "" {
			paths = append(paths, strings.TrimRight(path, "/")+below)
		}
	}
	for _, path := range own.Files {
		add(path, "")
	}
	for _, path := range own.Folders {
		add(path, "/**")
	}
	return paths
}

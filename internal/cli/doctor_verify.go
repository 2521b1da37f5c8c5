package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/hook"
	"sallyport/internal/install"
	"sallyport/internal/policy"
)

// eventAfterWrite is the event after a call by which a host tells what was written, as install puts it in; "" where it puts
// in none.
func eventAfterWrite(host string) string {
	switch host {
	case "claude", "codex":
		return "PostToolUse"
	case "gemini":
		return "AfterTool"
	case "cursor", "copilot", "kiro":
		return "postToolUse"
	case "windsurf":
		return "post_write_code"
	}
	return ""
}

// verification looks whether what rules want verified after a call is: it is, if the host tells of the call when it is over.
func (d *doctor) verification(host *install.Host, entries []install.Entry, files []hook.PolicyFile, again string) {
	rules := contentRules(files)
	if len(rules) == 0 {
		return
	}
	which := "rule " + rules[0] + " verifies what is written"
	if len(rules) > 1 {
		which = "rules " + strings.Join(rules, ", ") + " verify what is written"
	}
	after := eventAfterWrite(host.Name)
	is := func(e install.Entry) bool { return e.Event == after }
	whole := func(e install.Entry) bool { return is(e) && e.Narrow == "" }
	switch {
	case after == "":
		d.add(host.Name, "verify", healthNote, which+", and this host has no event after a call that install puts in: writes under it are denied",
			"see the section on verifying in docs/reference/hook.md")
	case !slices.ContainsFunc(entries, is):
		d.add(host.Name, "verify", healthFail, fmt.Sprintf("%s, and the event after a call, %s, is not installed: nothing is verified", which, after), again)
	case !slices.ContainsFunc(entries, whole):
		d.add(host.Name, "verify", healthFail, fmt.Sprintf("%s, and the event after a call, %s, comes for some tools only: others are not verified", which, after), again)
	default:
		d.add(host.Name, "verify", healthOK, fmt.Sprintf("%s, at %s", which, after), "")
	}
}

// contentRules returns the ids of the rules that count and say "verify: content", in the order of the files, which were read
// and understood before. What a project allows counts if it is trusted.
func contentRules(files []hook.PolicyFile) []string {
	var rules []string
	for _, file := range files {
		text, err := os.ReadFile(file.Path)
		if err != nil {
			continue
		}
		root, err := policyRoot(text)
		if err != nil || says(root, "mode", "observe") {
			continue
		}
		for rule := range root.Get("rules").Elements() {
			id, _ := rule.Get("id").Text()
			counts := says(rule, "decision", "ask") || says(rule, "decision", "allow") && (file.Level != policy.Project || file.Trusted)
			if says(rule, "verify", "content") && counts && !says(rule, "mode", "observe") && !slices.Contains(rules, id) {
				rules = append(rules, id)
			}
		}
	}
	return rules
}

// says reports whether a member of an object is this word.
func says(v canon.Value, key, word string) bool {
	text, is := v.Get(key).Text()
	return is && text == word
}

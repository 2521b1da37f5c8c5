package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/cond"
	"sallyport/internal/effects"
	"sallyport/internal/output"
)

// version2 reads the rules of a version 2 file.
func (d document) version2(root canon.Value) (*version2, error) {
	v := &version2{}
	file := fallback{decision: Deny}
	var rules canon.Value
	for key, member := range root.Members() {
		var err error
		switch key {
		case "version": // read before
		case "default":
			file.decision, err = d.decision(key, member)
		case "mode":
			file.observe, err = d.mode(member)
		case "starter":
			v.starter, err = d.word(key, member, "on", "off")
		case "ledger":
			v.ledger, err = d.ledgerTerms(member)
		case "operator_token":
			v.token, err = d.operatorToken(member)
		case "tools":
			v.declared, err = d.declarations(member)
		case "require":
			var q requirement
			q, err = d.requirement(member)
			v.requires = append(v.requires, q)
		case "output":
			var asked output.Rule
			asked, err = d.output(member)
			v.outputs = append(v.outputs, asked)
		case "rules":
			rules = member
		default:
			err = d.unknown("key", key, member, fileKeys())
		}
		if err != nil {
			return nil, err
		}
	}
	v.defaults = []fallback{file}
	v.observeTerms(file.observe)
	if !rules.Exists() {
		return v, nil
	}
	if rules.Kind() != canon.Array {
		return nil, d.errorAt(rules, `"rules" is not a list`, `each rule begins with its id: [{"id": "no-curl", "decision": "deny", "runs": ["curl *"]}]`)
	}
	ids := map[string]bool{}
	for member := range rules.Elements() {
		r, err := d.rule(member, ids)
		if err != nil {
			return nil, err
		}
		v.rules = append(v.rules, placed{rule: r, name: r.id, level: Named, observe: r.observe || file.observe, lifts: true})
	}
	return v, d.observers(rules, v)
}

// fileKeys are the keys of a version 2 file.
func fileKeys() []string {
	return []string{"version", "default", "mode", "starter", "ledger", "operator_token", "require", "output", "tools", "rules"}
}

// observeTerms applies the mode of a file to what it says of all calls: nothing is asked of results that is not enforced.
func (v *version2) observeTerms(observe bool) {
	if !observe {
		return
	}
	v.outputs = nil
	for i := range v.requires {
		v.requires[i].observe = true
	}
}

// word reads one of some words.
func (d document) word(key string, v canon.Value, words ...string) (string, error) {
	text, ok := v.Text()
	for _, word := range words {
		if ok && text == word {
			return word, nil
		}
	}
	hint := "write one of: " + strings.Join(words, ", ")
	if meant := cond.Nearest(text, words); ok && meant != "" {
		hint = fmt.Sprintf("did you mean %q?", meant)
	}
	if b, isBool := v.Bool(); isBool && words[0] == "on" {
		hint = fmt.Sprintf("write %s, not %t", words[map[bool]int{true: 0, false: 1}[b]], b)
	}
	return "", d.errorAt(v, fmt.Sprintf("%q is not one of %s", key, strings.Join(words, ", ")), hint)
}

func (d document) decision(key string, v canon.Value) (Decision, error) {
	word, err := d.word(key, v, "deny", "ask", "allow")
	switch word {
	case "allow":
		return Allow, err
	case "ask":
		return Ask, err
	default:
		return Deny, err
	}
}

func (d document) mode(v canon.Value) (observe bool, err error) {
	word, err := d.word("mode", v, "enforce", "observe")
	return word == "observe", err
}

// operatorToken reads the digest of a token. The token itself has no place in a file that agents may read.
func (d document) operatorToken(v canon.Value) (string, error) {
	text, _ := v.Text()
	sum, ok := strings.CutPrefix(text, "sha256:")
	raw, err := hex.DecodeString(sum)
	if !ok || err != nil || len(raw) != sha256.Size || strings.ToLower(sum) != sum {
		return "", d.errorAt(v, `"operator_token" is not "sha256:" and 64 hexadecimal digits`, "printf %s TOKEN | sha256sum gives the digits; make the token long and random")
	}
	return sum, nil
}

func (d document) bool(key string, v canon.Value) (bool, error) {
	b, ok := v.Bool()
	if !ok {
		return false, d.errorAt(v, fmt.Sprintf("%q is neither true nor false", key), "")
	}
	return b, nil
}

func (d document) phrase(key string, v canon.Value) (string, error) {
	text, ok := v.Text()
	switch {
	case !ok:
		return "", d.errorAt(v, fmt.Sprintf("%q is not a string", key), "put it in quotes")
	case strings.TrimSpace(text) == "":
		return "", d.errorAt(v, fmt.Sprintf("%q is empty", key), "remove it, or write something")
	}
	return text, nil
}

// texts reads a list of strings, which has at least one and none twice, and gives each to read.
func (d document) phrases(key string, v canon.Value, read func(text string) (msg, hint string)) error {
	if v.Kind() != canon.Array {
		hint := "write a list, also of one: [...]"
		if text, ok := v.Text(); ok {
			hint = fmt.Sprintf("write a list, also of one: [%q]", text)
		}
		return d.errorAt(v, fmt.Sprintf("%q is not a list", key), hint)
	}
	var seen []string
	for e := range v.Elements() {
		text, ok := e.Text()
		if !ok {
			return d.errorAt(e, fmt.Sprintf("%q holds a value that is not a string", key), "put it in quotes")
		}
		for _, other := range seen {
			if other == text {
				return d.errorAt(e, fmt.Sprintf("%q is twice in %q", text, key), "remove one")
			}
		}
		seen = append(seen, text)
		if msg, hint := read(text); msg != "" {
			return d.errorAt(e, msg, hint)
		}
	}
	if seen == nil {
		return d.errorAt(v, fmt.Sprintf("%q is empty", key), fmt.Sprintf("a rule without %q speaks of any; remove the key, or list something", key))
	}
	return nil
}

func (d document) globs(key, what string, v canon.Value) ([]glob, error) {
	var globs []glob
	err := d.phrases(key, v, func(text string) (msg, hint string) {
		globs = append(globs, newGlob(text))
		return globFault(what, text)
	})
	return globs, err
}

// hostNames are the hosts that a rule can name.
func hostNames() []string {
	return []string{"claude", "cline", "codex", "copilot", "cursor", "gemini", "kiro", "windsurf"}
}

func (d document) hosts(v canon.Value) ([]glob, error) {
	var hosts []glob
	err := d.phrases("hosts", v, func(text string) (msg, hint string) {
		for _, name := range hostNames() {
			if text == name {
				hosts = append(hosts, glob{text: text, literal: true})
				return "", ""
			}
		}
		hint = "known here: " + strings.Join(hostNames(), ", ") + `; hosts of the network stand under "connects"`
		if meant := cond.Nearest(text, hostNames()); meant != "" {
			hint = fmt.Sprintf("did you mean %q?", meant)
		}
		return fmt.Sprintf("unknown host %q", text), hint
	})
	return hosts, err
}

// limit reads how often a rule allows calls, and what is counted apart.
func (d document) limit(v canon.Value, by *[]string) (Limit, error) {
	const hint = `write {"calls": 30, "per": "1m"}, and "burst" if fewer may come at once`
	if v.Kind() != canon.Object {
		return Limit{}, d.errorAt(v, `"limit" is not an object`, hint)
	}
	var limit Limit
	for key, member := range v.Members() {
		var err error
		switch key {
		case "calls":
			limit.Calls, err = d.count(key, member)
		case "burst":
			limit.Burst, err = d.count(key, member)
		case "per":
			limit.Per, err = d.duration(key, member)
		case "by":
			*by, err = d.limitBy(member)
		default:
			err = d.unknown("limit key", key, member, []string{"calls", "per", "burst", "by"})
		}
		if err != nil {
			return Limit{}, err
		}
	}
	switch {
	case limit.Calls == 0:
		return Limit{}, d.errorAt(v, `"limit" has no "calls"`, hint)
	case limit.Per == 0:
		return Limit{}, d.errorAt(v, `"limit" has no "per"`, hint)
	case limit.Burst > limit.Calls:
		return Limit{}, d.errorAt(v.Get("burst"), fmt.Sprintf(`"burst" %d is more than "calls" %d`, limit.Burst, limit.Calls), "a burst is the most that may come at once")
	case limit.Burst == 0:
		limit.Burst = limit.Calls
	}
	return limit, nil
}

func (d document) count(key string, v canon.Value) (int, error) {
	n, ok := v.Int()
	if !ok || n < 1 || n > 1e6 {
		return 0, d.errorAt(v, fmt.Sprintf("%q is not a whole number from 1 to 1000000", key), "")
	}
	return int(n), nil
}

func (d document) duration(key string, v canon.Value) (time.Duration, error) {
	return d.durationUpTo(key, v, 366*24*time.Hour, "a year")
}

// durationUpTo reads a time from a second to the longest, which words say too.
func (d document) durationUpTo(key string, v canon.Value, longest time.Duration, words string) (time.Duration, error) {
	const hint = `write a number with its unit: "30s", "1m", "24h"`
	text, ok := v.Text()
	if !ok {
		return 0, d.errorAt(v, fmt.Sprintf("%q is not a duration", key), hint)
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		return 0, d.errorAt(v, fmt.Sprintf("%q is not a duration: %q", key, text), hint)
	}
	if length < time.Second || length > longest {
		return 0, d.errorAt(v, fmt.Sprintf("%q is not between a second and %s: %q", key, words, text), hint)
	}
	return length, nil
}

// declaration is what a file says of the arguments of some tools.
type declaration struct {
	tool glob
	effects.Declaration
}

func (d document) declarations(tools canon.Value) ([]declaration, error) {
	const hint = `declare by tool: {"mcp__fs__*": {"effects": {"writes": ["path"]}}}`
	if tools.Kind() != canon.Object {
		return nil, d.errorAt(tools, `"tools" is not an object`, hint)
	}
	var all []declaration
	for tool, v := range tools.Members() {
		if msg, hint := globFault("tool", tool); msg != "" {
			return nil, d.errorAtKey(v, msg, hint)
		}
		if v.Kind() != canon.Object {
			return nil, d.errorAt(v, fmt.Sprintf("what is declared of tool %q is not an object", tool), hint)
		}
		for key, member := range v.Members() {
			if key != "effects" {
				return nil, d.unknown("declaration", key, member, []string{"effects"})
			}
		}
		kinds := v.Get("effects")
		if kinds.Kind() != canon.Object {
			return nil, d.errorAt(v, fmt.Sprintf("what is declared of tool %q has no effects", tool), hint)
		}
		declared := declaration{tool: newGlob(tool)}
		for key, member := range kinds.Members() {
			var err error
			switch key {
			case "reads":
				declared.Reads, err = d.argumentNames(key, member)
			case "writes":
				declared.Writes, err = d.argumentNames(key, member)
			case "runs":
				declared.Runs, err = d.argumentNames(key, member)
			case "connects":
				declared.Connects, err = d.argumentNames(key, member)
			default:
				err = d.unknown("kind of effects", key, member, []string{"reads", "writes", "runs", "connects"})
			}
			if err != nil {
				return nil, err
			}
		}
		all = append(all, declared)
	}
	return all, nil
}

func (d document) argumentNames(key string, v canon.Value) ([]string, error) {
	var names []string
	err := d.phrases(key, v, func(text string) (msg, hint string) {
		names = append(names, text)
		return nameFault("argument", text)
	})
	return names, err
}

package policy

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/postcondition"
)

// approval reads who may agree, and how long they have.
func (d document) approval(v canon.Value, terms *Terms) error {
	const hint = `write {"expires": "15m"}: how long a person has to agree; or {"by": "operator"}: only at the terminal`
	if v.Kind() != canon.Object {
		return d.errorAt(v, `"approval" is not an object`, hint)
	}
	for key, member := range v.Members() {
		var err error
		switch key {
		case "expires":
			terms.Expires, err = d.durationUpTo(key, member, 7*24*time.Hour, "7 days")
		case "by":
			var by string
			by, err = d.word(key, member, "anybody", "operator")
			terms.Operator = by == "operator"
		default:
			err = d.unknown("approval key", key, member, []string{"expires", "by"})
		}
		if err != nil {
			return err
		}
	}
	if terms.Expires == 0 && !v.Get("by").Exists() {
		return d.errorAt(v, `"approval" is empty`, hint)
	}
	return nil
}

const verifyHint = `write {"observe": {"tool": "read_note", "arguments": {"id": "${args.id}"}}, "expect": "observation.text == args.text"}, or, for what hooks are asked about, "content"`

// retryKeys are the two spellings of one key.
func retryKeys() []string { return []string{"retry_observe_for", "retry observe for"} }

// verify reads by what it is found out whether calls did what they claim. Templates and conditions are read at once, also
// from a compiled form: what could not be read later would verify nothing.
func (d document) verify(v canon.Value) ([]*Verification, error) {
	if text, ok := v.Text(); ok && text == "content" {
		return []*Verification{{Content: true}}, nil
	}
	if v.Kind() != canon.Object {
		return nil, d.errorAt(v, `"verify" is neither an object nor "content"`, verifyHint)
	}
	read := &Verification{}
	for key, member := range v.Members() {
		var err error
		switch key {
		case "observe":
			err = d.observe(member, read)
		case "expect":
			read.Expect, err = d.expect(member)
		case retryKeys()[0], retryKeys()[1]:
			if read.For != 0 {
				return nil, d.errorAtKey(member, fmt.Sprintf("%q is the same as %q", retryKeys()[0], retryKeys()[1]), "remove one")
			}
			read.For, err = d.durationUpTo(key, member, 10*time.Minute, "10 minutes")
		default:
			err = d.unknown("verify key", key, member, []string{"observe", "expect", retryKeys()[0]})
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case read.Tool == "":
		return nil, d.errorAt(v, `"verify" has no "observe"`, verifyHint)
	case read.Expect == nil:
		return nil, d.errorAt(v, `"verify" has no "expect"`, verifyHint)
	}
	return []*Verification{read}, nil
}

// observe reads which call is made to look.
func (d document) observe(v canon.Value, into *Verification) error {
	const hint = `write {"tool": "read_note", "arguments": {"id": "${args.id}"}}`
	if v.Kind() != canon.Object {
		return d.errorAt(v, `"observe" is not an object`, hint)
	}
	arguments := canon.Value{}
	for key, member := range v.Members() {
		switch key {
		case "tool":
			name, ok := member.Text()
			if !ok {
				return d.errorAt(member, `"tool" is not the name of a tool`, hint)
			}
			if msg, hint := nameFault("tool", name); msg != "" {
				return d.errorAt(member, msg, hint)
			}
			if !newGlob(name).literal {
				return d.errorAt(member, fmt.Sprintf("%s is a pattern, and one tool looks", quoted(name)), "name the tool")
			}
			into.Tool = name
		case "arguments":
			if arguments = member; member.Kind() != canon.Object {
				return d.errorAt(member, `"arguments" is not an object`, hint)
			}
		default:
			return d.unknown("observe key", key, member, []string{"tool", "arguments"})
		}
	}
	if into.Tool == "" {
		return d.errorAt(v, `"observe" has no "tool"`, hint)
	}
	var err error
	into.Args, err = d.template(arguments)
	return err
}

// template reads the arguments of a call that looks. The template is made of a copy, so that it keeps nothing of the text.
func (d document) template(v canon.Value) (*postcondition.Template, error) {
	text := bytes.Clone(v.Bytes())
	if !v.Exists() {
		text = []byte("{}")
	}
	own, err := canon.Parse(text)
	if err != nil {
		return nil, d.errorAt(v, err.Error(), "")
	}
	t, err := postcondition.ParseTemplate(own, VerifyObserveNames)
	if f, ok := errors.AsType[*postcondition.Fault](err); ok && f.At.Exists() {
		return nil, d.errorAtOffset(v.OffsetIn(d.text)+f.At.OffsetIn(text), f.Msg, f.Hint)
	}
	if err != nil {
		return nil, d.errorAt(v, err.Error(), "")
	}
	return t, nil
}

// expect reads the condition that must hold.
func (d document) expect(v canon.Value) (*postcondition.Condition, error) {
	source, err := d.phrase("expect", v)
	if err != nil {
		return nil, err
	}
	c, err := postcondition.Compile(source, VerifyNames)
	if err == nil {
		return c, nil
	}
	return nil, d.conditionError(v, err, strings.Join(VerifyNames, ", "))
}

// observers refuses tools that cannot look, as far as this file says it: whether one may, is judged at each call.
func (d document) observers(rules canon.Value, v *version2) error {
	i := 0
	for member := range rules.Elements() {
		r := &v.rules[i]
		i++
		for _, verified := range r.terms.Verify {
			if verified.Content {
				continue
			}
			if msg, hint := v.observerFault(r, verified.Tool); msg != "" {
				return d.errorAt(member.Get("verify").Get("observe").Get("tool"), msg, hint)
			}
		}
	}
	return nil
}

// observerFault says why no call of a tool can be the one that looks, or "".
func (v *version2) observerFault(by *placed, tool string) (msg, hint string) {
	allowed := false
	for i := range v.rules {
		r := &v.rules[i]
		if r.observe && !by.observe || !matchesAny(r.tools, tool) || !r.speaksOfMethod(toolCall) || !matchesAny(r.hosts, "") {
			continue
		}
		whole := r.blanket()
		switch {
		case r.decision == Allow && r.terms.ReadOnly:
			allowed = true
		case whole && r.decision != Allow:
			return fmt.Sprintf("tool %q cannot look: rule %q %s all its calls", tool, r.id, verb(r.decision)), "name a tool that a rule allows and says to be read_only"
		case whole && r.terms.Verify != nil:
			return fmt.Sprintf("tool %q cannot look: rule %q verifies its calls, so that it does not only read", tool, r.id), fmt.Sprintf("let rule %q name the tools that write", r.id)
		case whole && r.terms.Key != "":
			return fmt.Sprintf("tool %q cannot look: by rule %q its calls are mutations", tool, r.id), fmt.Sprintf("let rule %q name the tools that write", r.id)
		}
	}
	if allowed {
		return "", ""
	}
	hint = fmt.Sprintf(`allow it by a rule of its own: {"id": "looking", "decision": "allow", "tools": [%q], "read_only": true}`, tool)
	if meant := nearestObserver(tool, v.readers()); meant != "" {
		hint = fmt.Sprintf("did you mean %q?", meant)
	}
	return fmt.Sprintf(`tool %q cannot look: no rule of this file allows it and says "read_only": true`, tool), hint
}

// readers are the tools of which the file says by name that they only read.
func (v *version2) readers() []string {
	var names []string
	for i := range v.rules {
		r := &v.rules[i]
		for _, g := range r.tools {
			if r.decision == Allow && r.terms.ReadOnly && g.literal {
				names = append(names, g.text)
			}
		}
	}
	return names
}

// nearestObserver is the tool that is most likely meant: one that is spelt alike, or the same one with or without the name
// of its server before it.
func nearestObserver(tool string, known []string) string {
	if slices.Contains(known, tool) {
		return ""
	}
	if meant := nearestName(tool, known); meant != "" {
		return meant
	}
	for _, name := range known {
		if strings.HasSuffix(name, "__"+tool) || strings.HasSuffix(tool, "__"+name) {
			return name
		}
	}
	return ""
}

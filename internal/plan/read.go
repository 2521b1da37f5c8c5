package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/postcondition"
)

const (
	defaultMaxAge  = 24 * time.Hour
	defaultTimeout = 30 * time.Second
	maxSteps       = 1000
	maxID          = 64 // bytes
)

// The names that templates and conditions may use.
func callNames() []string { return []string{"run", "steps"} }

func lookNames() []string { return []string{"args", "call", "result", "run", "steps"} }

func conditionNames() []string {
	return []string{"observation", "call", "args", "result", "steps", "run"}
}

func stepKeys() []string {
	return []string{"id", "call", "read_only", "observe", "expect", "retry_observe_for", "undo", "undone", "on_mismatch", "timeout"}
}

func (d *document) steps(p *Plan, root, steps canon.Value) error {
	switch {
	case !steps.Exists():
		return d.errorAt(root, `the plan has no "steps"`, example)
	case steps.Kind() != canon.Array:
		return d.errorAt(steps, `"steps" is not a list`, example)
	}
	for v := range steps.Elements() {
		if len(p.steps) == maxSteps {
			return d.errorAt(v, fmt.Sprintf("the plan has more than %d steps", maxSteps), "make several of it")
		}
		s, err := d.step(v, p.Steps())
		if err != nil {
			return err
		}
		p.steps = append(p.steps, s)
	}
	if p.steps == nil {
		return d.errorAt(steps, `"steps" is empty`, example)
	}
	return nil
}

// step reads one step; earlier are the ids of those before it.
func (d *document) step(v canon.Value, earlier []string) (step, error) {
	s := step{timeout: defaultTimeout}
	if v.Kind() != canon.Object {
		return s, d.errorAt(v, "the step is not an object", example)
	}
	var retries canon.Value
	for key, member := range v.Members() {
		var err error
		switch key {
		case "id":
			s.id, err = d.id(member, earlier)
		case "call":
			s.call, err = d.invocation(key, member, callNames(), earlier)
		case "read_only":
			s.readOnly, err = d.bool(key, member)
		case "observe":
			s.observe, err = d.pointer(key, member, earlier)
		case "expect":
			s.expect, err = d.condition(key, member, earlier)
		case "retry_observe_for", "retry observe for":
			if retries.Exists() {
				return s, d.errorAtKey(member, fmt.Sprintf("%q is there twice, spelt in two ways", key), "remove one")
			}
			retries = member
			s.retry, err = d.duration(key, member, time.Millisecond, 24*time.Hour)
		case "undo":
			err = d.undo(&s, member, earlier)
		case "undone":
			s.undone, err = d.condition(key, member, earlier)
		case "on_mismatch":
			s.stop, err = d.onMismatch(member)
		case "timeout":
			s.timeout, err = d.duration(key, member, time.Millisecond, time.Hour)
		default:
			err = d.unknown("step key", key, member, stepKeys())
		}
		if err != nil {
			return s, err
		}
	}
	if err := d.whole(v, &s); err != nil {
		return s, err
	}
	s.proof = s.digest(v)
	return s, nil
}

// whole refuses a step that lacks something, or says what contradicts itself.
func (d *document) whole(v canon.Value, s *step) error {
	blame := func(key, msg, hint string) error {
		return d.errorAtKey(v.Get(key), fmt.Sprintf("step %q: %s", s.id, msg), hint)
	}
	lacks := func(msg, hint string) error { return d.errorAt(v, fmt.Sprintf("step %q %s", s.id, msg), hint) }
	switch {
	case s.id == "":
		return d.errorAt(v, `the step has no "id"`, "an id is a word: id: write-note")
	case s.call.args == nil:
		return lacks(`has no "call"`, "write call: {tool: NAME, arguments: {…}}")
	case s.expect == nil:
		return lacks(`has no "expect"`, "say what must hold afterwards; without it nobody could tell that it did")
	case s.observe == nil && !s.readOnly:
		return lacks(`has no "observe"`, "name the call that shows what remained, or say read_only: true if the step has no effect")
	case s.readOnly && s.undo != nil:
		return blame("undo", `"undo" and "read_only" contradict each other`, "what has no effect needs no undo; keep one")
	case s.undo != nil && s.undone == nil:
		return lacks(`has an "undo" and no "undone"`, "say what must hold after the undo")
	case s.undo == nil && s.undone != nil:
		return blame("undone", `"undone" without an "undo"`, "name the call that undoes the step, or remove it")
	}
	return nil
}

// id reads a step's id. It becomes part of request ids, and stands in conditions, so it is a word and nothing else.
func (d *document) id(v canon.Value, earlier []string) (string, error) {
	const hint = `letters, digits, "-" and "_", at most 64 of them, a letter first`
	id, ok := v.Text()
	switch {
	case !ok:
		return "", d.errorAt(v, `"id" is not a string`, hint)
	case !isWord(id):
		return "", d.errorAt(v, fmt.Sprintf("the id %q is not a word", clip(id, maxID)), hint)
	case slices.Contains(earlier, id):
		return "", d.errorAt(v, fmt.Sprintf("the id %q is there twice", id), "each step needs its own")
	}
	return id, nil
}

func isWord(id string) bool {
	for i, c := range []byte(id) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '-' && c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return id != "" && len(id) <= maxID
}

func (d *document) pointer(key string, v canon.Value, earlier []string) (*invocation, error) {
	i, err := d.invocation(key, v, lookNames(), earlier)
	return &i, err
}

func (d *document) undo(s *step, v canon.Value, earlier []string) (err error) {
	if word, ok := v.Text(); ok {
		if word != "none" {
			return d.errorAt(v, `"undo" is neither a call nor none`, meant(word, []string{"none"}))
		}
		s.noUndo = true
		return nil
	}
	s.undo, err = d.pointer("undo", v, earlier)
	return err
}

// invocation reads a call. Its arguments may refer to names, and to the steps before.
func (d *document) invocation(key string, v canon.Value, names, earlier []string) (invocation, error) {
	hint := fmt.Sprintf("write %s: {tool: NAME, arguments: {…}}", key)
	if v.Kind() != canon.Object {
		return invocation{}, d.errorAt(v, fmt.Sprintf("%q is not an object", key), hint)
	}
	var i invocation
	args, _ := canon.Parse([]byte("{}"))
	for name, member := range v.Members() {
		switch name {
		case "tool":
			tool, ok := member.Text()
			if !ok || strings.TrimSpace(tool) == "" {
				return i, d.errorAt(member, fmt.Sprintf(`"tool" of %q is not the name of a tool`, key), hint)
			}
			if strings.Contains(tool, "${") {
				return i, d.errorAt(member, fmt.Sprintf(`"tool" of %q has a reference in it`, key), "which tool is called must be known beforehand; write its name")
			}
			i.tool = tool
		case "arguments":
			if member.Kind() != canon.Object {
				return i, d.errorAt(member, fmt.Sprintf(`"arguments" of %q is not an object`, key), hint)
			}
			args = member
		default:
			return i, d.unknown(fmt.Sprintf("key of %q", key), name, member, []string{"tool", "arguments"})
		}
	}
	if i.tool == "" {
		return i, d.errorAt(v, fmt.Sprintf(`%q has no "tool"`, key), hint)
	}
	template, err := postcondition.ParseTemplate(args, names)
	if err != nil {
		return i, d.fault(args, key, err)
	}
	i.args = template
	return i, d.templateSteps(args, template, earlier)
}

func (d *document) condition(key string, v canon.Value, earlier []string) (*postcondition.Condition, error) {
	source, err := d.phrase(key, v)
	if err != nil {
		return nil, err
	}
	c, err := postcondition.Compile(source, conditionNames())
	if err != nil {
		return nil, d.fault(v, key, err)
	}
	return c, d.conditionSteps(v, c, earlier)
}

func (d *document) rehearsal(v canon.Value) (time.Duration, error) {
	const hint = `write rehearsal: {max_age: 24h}`
	if v.Kind() != canon.Object {
		return 0, d.errorAt(v, `"rehearsal" is not an object`, hint)
	}
	age := time.Duration(0)
	for key, member := range v.Members() {
		if key != "max_age" {
			return 0, d.unknown(`key of "rehearsal"`, key, member, []string{"max_age"})
		}
		var err error
		if age, err = d.duration(key, member, time.Second, 366*24*time.Hour); err != nil {
			return 0, err
		}
	}
	if age == 0 {
		return 0, d.errorAt(v, `"rehearsal" has no "max_age"`, hint)
	}
	return age, nil
}

func (d *document) onMismatch(v canon.Value) (stop bool, err error) {
	word, _ := v.Text()
	if word != "stop" && word != "rollback" {
		return false, d.errorAt(v, `"on_mismatch" is neither stop nor rollback`, meant(word, []string{"stop", "rollback"}))
	}
	return word == "stop", nil
}

func (d *document) bool(key string, v canon.Value) (bool, error) {
	b, ok := v.Bool()
	if !ok {
		return false, d.errorAt(v, fmt.Sprintf("%q is neither true nor false", key), "")
	}
	return b, nil
}

func (d *document) phrase(key string, v canon.Value) (string, error) {
	text, ok := v.Text()
	switch {
	case !ok:
		return "", d.errorAt(v, fmt.Sprintf("%q is not a string", key), "put it in quotes")
	case strings.TrimSpace(text) == "":
		return "", d.errorAt(v, fmt.Sprintf("%q is empty", key), "remove it, or write something")
	}
	return text, nil
}

func (d *document) duration(key string, v canon.Value, least, most time.Duration) (time.Duration, error) {
	const hint = "write a number with its unit: 500ms, 30s, 24h"
	text, ok := v.Text()
	length, err := time.ParseDuration(text)
	switch {
	case !ok || err != nil:
		return 0, d.errorAt(v, fmt.Sprintf("%q is not a duration", key), hint)
	case length < least || length > most:
		return 0, d.errorAt(v, fmt.Sprintf("%q is not between %v and %v", key, least, most), hint)
	}
	return length, nil
}

// digest is the SHA-256 of what a rehearsal of the step proves, as it is written: the tool, the undo and the conditions.
func (s *step) digest(v canon.Value) string {
	if s.undo == nil {
		return ""
	}
	undo := object{"arguments": s.undo.args.AppendCanonical(nil), "tool": quoted(s.undo.tool)}
	observe := object{"arguments": s.observe.args.AppendCanonical(nil), "tool": quoted(s.observe.tool)}
	return digestOf(object{
		"tool": quoted(s.call.tool), "undo": undo.bytes(), "observe": observe.bytes(),
		"expect": quoted(s.expect.Source()), "undone": quoted(s.undone.Source()),
	}.bytes())
}

// clip is the beginning of a text that is longer than n bytes.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

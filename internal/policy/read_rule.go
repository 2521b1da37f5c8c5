package policy

import (
	"errors"
	"fmt"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/cond"
	"sallyport/internal/effects"
)

// ruleKeys are the keys of a rule.
func ruleKeys() []string {
	return []string{
		"id", "decision", "reason", "mode", "methods", "tools", "hosts", "principals", "tenants", "args", "when",
		"runs", "reads", "writes", "connects", "spawns", "limit", "mutation", "read_only", "verify", "approval", "output", "skip_prompt",
	}
}

// rule reads one rule of a version 2 file; ids are those of the rules before.
func (d document) rule(v canon.Value, ids map[string]bool) (*rule, error) {
	const example = `a rule is {"id": "no-curl", "decision": "deny", "runs": ["curl *"]}`
	if v.Kind() != canon.Object {
		return nil, d.errorAt(v, "the rule is not an object", example)
	}
	r := &rule{}
	decided := false
	for key, member := range v.Members() {
		var err error
		switch key {
		case "id":
			r.id, err = d.id(member, ids)
		case "decision":
			decided = true
			r.decision, err = d.decision(key, member)
		case "reason":
			r.reason, err = d.phrase(key, member)
		case "mode":
			r.observe, err = d.mode(member)
		case "limit":
			r.limit, err = d.limit(member, &r.limitBy)
		case "skip_prompt":
			r.skipPrompt, err = d.bool(key, member)
		case "read_only":
			r.terms.ReadOnly, err = d.bool(key, member)
		case "mutation":
			err = d.mutation(member, &r.terms)
		case "verify":
			r.terms.Verify, err = d.verify(member)
		case "approval":
			err = d.approval(member, &r.terms)
		case "output":
			r.terms.Output, err = d.output(member)
		default:
			err = d.scope(r, key, member)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case r.id == "":
		return nil, d.errorAt(v, `the rule has no "id"`, example)
	case !decided:
		return nil, d.errorAt(v, fmt.Sprintf(`rule %q has no "decision"`, r.id), "write one of: deny, ask, allow")
	}
	for _, verified := range r.terms.Verify {
		verified.Rule = r.id
	}
	return r, d.contradictions(v, r)
}

// scope reads a key that says of what calls and effects a rule speaks.
func (d document) scope(r *rule, key string, v canon.Value) (err error) {
	switch key {
	case "methods":
		r.methods, err = d.methods(v)
	case "tools":
		r.tools, err = d.globs(key, "tool", v)
	case "hosts":
		r.hosts, err = d.hosts(v)
	case "principals":
		r.principals, err = d.globs(key, "principal", v)
	case "tenants":
		r.tenants, err = d.globs(key, "tenant", v)
	case "args":
		r.args, err = d.arguments(v)
	case "when":
		r.when, err = d.when(v)
	case "runs":
		r.keyed = true
		r.runs, err = patterns(d, key, v, effects.ParseRun)
	case "reads":
		r.keyed = true
		r.reads, err = patterns(d, key, v, effects.ParsePath)
	case "writes":
		r.keyed = true
		r.writes, err = patterns(d, key, v, effects.ParsePath)
	case "connects":
		r.keyed = true
		r.connects, err = patterns(d, key, v, effects.ParseHost)
	case "spawns":
		r.keyed = true
		r.spawns, err = d.globs(key, "agent", v)
	default:
		err = d.unknown("rule key", key, v, ruleKeys())
	}
	return err
}

// contradictions refuses what no rule can mean.
func (d document) contradictions(v canon.Value, r *rule) error {
	refuse := func(key, msg, hint string) error {
		return d.errorAtKey(v.Get(key), fmt.Sprintf("rule %q: %s", r.id, msg), hint)
	}
	switch {
	case r.decision != Deny && r.terms.Key != "" && r.terms.ReadOnly:
		return refuse("read_only", `"mutation" and "read_only" contradict each other`, "keep one")
	case r.decision != Deny && r.terms.Verify != nil && r.terms.ReadOnly:
		return refuse("read_only", `"verify" and "read_only" contradict each other`, "keep one: what only reads leaves nothing to verify")
	case r.decision != Allow && r.limit.Calls > 0:
		return refuse("limit", `a limit is for rules that allow`, "remove it, or allow up to that limit with a rule of its own")
	case r.decision != Allow && r.skipPrompt:
		return refuse("skip_prompt", `"skip_prompt" is for rules that allow`, "remove it")
	case r.decision != Ask && v.Get("approval").Exists():
		return refuse("approval", `"approval" is for rules that ask`, "remove it: nobody is asked")
	case r.decision == Deny && v.Get("output").Exists():
		return refuse("output", `"output" is for rules that allow or ask`, `remove it, or let it stand beside "rules", where it is for all results`)
	}
	for _, of := range []struct {
		key  string
		said bool
	}{{"read_only", r.terms.ReadOnly}, {"mutation", r.terms.Key != ""}, {"verify", r.terms.Verify != nil}} {
		if r.decision == Deny && of.said {
			return refuse(of.key, fmt.Sprintf("%q is for rules that allow or ask", of.key), "remove it: what is denied is not run")
		}
	}
	if key, msg, hint := r.methodFault(); msg != "" {
		return refuse(key, msg, hint)
	}
	return nil
}

// id reads a rule's id. It stands in records and messages, so it is one plain word.
func (d document) id(v canon.Value, ids map[string]bool) (string, error) {
	const hint = "an id is one word of at most 64 letters, digits and -_./"
	id, ok := v.Text()
	switch {
	case !ok:
		return "", d.errorAt(v, `"id" is not a string`, hint)
	case id == "" || len(id) > 64 || strings.ContainsFunc(id, notInID):
		return "", d.errorAt(v, fmt.Sprintf("%s cannot be an id", quoted(id)), hint)
	case id == defaultRule:
		return "", d.errorAt(v, fmt.Sprintf("the id %q is kept for the default", id), "name it otherwise")
	case ids[id]:
		return "", d.errorAt(v, fmt.Sprintf("duplicate id %q", id), "each rule has an id of its own; rename one")
	}
	ids[id] = true
	return id, nil
}

func notInID(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("-_./", r)
}

func (d document) when(v canon.Value) (*condition, error) {
	source, err := d.phrase("when", v)
	if err != nil {
		return nil, err
	}
	w := newCondition(source)
	if d.lazy {
		return w, nil
	}
	if _, err := w.get(); err != nil {
		return nil, d.conditionError(v, err,
			"principal.name, principal.tenant, tool, args, method, host, session, workspace, home, effects.runs, .reads, .writes, .connects, .spawns")
	}
	return w, nil
}

// conditionError blames an expression, which may use the names given.
func (d document) conditionError(v canon.Value, err error, names string) error {
	hint := "names here: " + names
	if e, ok := errors.AsType[*cond.Error](err); ok && e.Hint != "" {
		hint = e.Hint
	} else if ok && !strings.Contains(e.Msg, "unknown") {
		hint = "the language is that of expr-lang.org"
	}
	return d.errorAt(v, fmt.Sprintf("the condition cannot be read: %v", err), hint)
}

package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/cond"
	"sallyport/internal/output"
)

// ledgerTerms reads how the ledger is kept.
func (d document) ledgerTerms(v canon.Value) (l ledgerTerms, err error) {
	if v.Kind() != canon.Object {
		l.kept, err = d.word("ledger", v, "required", "best_effort")
		return l, err
	}
	for key, member := range v.Members() {
		switch key {
		case "required":
			var required bool
			if required, err = d.bool(key, member); required {
				l.kept = "required"
			} else {
				l.kept = "best_effort"
			}
		case "reads":
			l.reads, err = d.word(key, member, "durable", "batched")
		default:
			err = d.unknown("ledger key", key, member, []string{"required", "reads"})
		}
		if err != nil {
			return ledgerTerms{}, err
		}
	}
	if l == (ledgerTerms{}) {
		return l, d.errorAt(v, `"ledger" is empty`, `write {"required": true, "reads": "durable"}, or remove it`)
	}
	return l, nil
}

// requirement reads what is required of rules that allow.
func (d document) requirement(v canon.Value) (requirement, error) {
	var q requirement
	err := d.phrases("require", v, func(text string) (msg, hint string) {
		switch text {
		case "key":
			q.key = true
		case "verify":
			q.verify = true
		default:
			hint = "known here: key, verify"
			if meant := cond.Nearest(text, []string{"key", "verify"}); meant != "" {
				hint = fmt.Sprintf("did you mean %q?", meant)
			}
			return fmt.Sprintf("nothing that could be required is called %q", text), hint
		}
		return "", ""
	})
	return q, err
}

// output reads what is asked of results.
func (d document) output(v canon.Value) (output.Rule, error) {
	const hint = `write what is asked of results: {"max_bytes": "1MiB", "control": "mark", "secrets": "mask"}`
	var rule output.Rule
	if v.Kind() != canon.Object {
		return rule, d.errorAt(v, `"output" is not an object`, hint)
	}
	for key, member := range v.Members() {
		var err error
		switch key {
		case "max_bytes":
			rule.MaxBytes, err = d.size(key, member)
		case "control":
			var word string
			if word, err = d.word(key, member, "mark", "remove"); word == "mark" {
				rule.Control = output.Mark
			} else {
				rule.Control = output.Remove
			}
		case "secrets":
			_, err = d.word(key, member, "mask")
			rule.Secrets = true
		default:
			err = d.unknown("output key", key, member, []string{"max_bytes", "control", "secrets"})
		}
		if err != nil {
			return output.Rule{}, err
		}
	}
	if rule == (output.Rule{}) {
		return rule, d.errorAt(v, `"output" is empty`, hint)
	}
	return rule, nil
}

// size reads a number of bytes, with or without a unit.
func (d document) size(key string, v canon.Value) (int, error) {
	const most = 1 << 30
	n, isNumber := v.Int()
	if text, ok := v.Text(); ok {
		digits, shift := text, 0
		for i, unit := range []string{"KiB", "MiB", "GiB"} {
			if rest, found := strings.CutSuffix(text, unit); found {
				digits, shift = strings.TrimRight(rest, " "), 10*(i+1)
			}
		}
		parsed, err := strconv.ParseUint(digits, 10, 31)
		n, isNumber = int64(parsed)<<shift, err == nil && shift > 0
	}
	if !isNumber || n < 1 || n > most {
		return 0, d.errorAt(v, fmt.Sprintf("%q is not a number of bytes from 1 to 1GiB", key), `write "64KiB", "1MiB", or the bare number of bytes`)
	}
	return int(n), nil
}

// mutation reads by what a retry of a mutation is known.
func (d document) mutation(v canon.Value, terms *Terms) error {
	const hint = `write {"key": "request_id"}: the argument by which a retry is known`
	if v.Kind() != canon.Object {
		return d.errorAt(v, `"mutation" is not an object`, hint)
	}
	for name, member := range v.Members() {
		var err error
		switch name {
		case "key":
			terms.Key, err = d.mutationKey(member)
		case "idempotent":
			terms.Idempotent, err = d.bool(name, member)
		default:
			err = d.unknown("mutation key", name, member, []string{"key", "idempotent"})
		}
		if err != nil {
			return err
		}
	}
	if terms.Key == "" {
		return d.errorAt(v, `"mutation" has no key that is the name of an argument`, hint)
	}
	return nil
}

func (d document) mutationKey(v canon.Value) (string, error) {
	name, ok := v.Text()
	if !ok {
		return "", d.errorAt(v, `the key of "mutation" is not the name of an argument`, `write "request_id", or "`+MetaKey+`" for that member of _meta`)
	}
	msg, hint := nameFault("argument", name)
	switch {
	case msg != "":
	case strings.HasPrefix(name, "/"):
		msg, hint = fmt.Sprintf("the key %s is a JSON pointer", quoted(name)), "name a top-level argument"
	case strings.HasPrefix(name, "sallyport/") && name != MetaKey:
		msg, hint = fmt.Sprintf("unknown member of _meta %s", quoted(name)), fmt.Sprintf("did you mean %q?", MetaKey)
	default:
		return name, nil
	}
	return "", d.errorAt(v, msg, hint)
}

// limitBy reads what has a count of its own under a limit.
func (d document) limitBy(v canon.Value) ([]string, error) {
	known := []string{"principal", "tenant", "tool"}
	var by []string
	err := d.phrases("by", v, func(text string) (msg, hint string) {
		by = append(by, text)
		if slices.Contains(known, text) {
			return "", ""
		}
		hint = "known here: " + strings.Join(known, ", ")
		if meant := cond.Nearest(text, known); meant != "" {
			hint = fmt.Sprintf("did you mean %q?", meant)
		}
		return fmt.Sprintf("calls cannot be counted by %q", text), hint
	})
	slices.Sort(by)
	return by, err
}

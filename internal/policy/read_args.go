package policy

import (
	"fmt"
	"slices"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
)

// argumentKeys are what a rule can demand of an argument.
func argumentKeys() []string {
	return []string{"type", "required", "min_len", "max_len", "min", "max", "equals", "one_of", "matches", "under"}
}

// argumentTypes are the types that a rule can demand.
func argumentTypes() []string {
	return []string{"string", "number", "integer", "boolean", "array", "object", "null"}
}

// arguments reads what a rule demands of arguments.
func (d document) arguments(args canon.Value) ([]argument, error) {
	const hint = `arguments stand by name: {"path": {"under": ["${workspace}"]}}`
	if args.Kind() != canon.Object {
		return nil, d.errorAt(args, `"args" is not an object`, hint)
	}
	var all []argument
	for name, v := range args.Members() {
		msg, fix := nameFault("argument", name)
		if msg == "" {
			msg, fix = pointerFault(name)
		}
		if msg != "" {
			return nil, d.errorAtKey(v, msg, fix)
		}
		a, err := d.argument(name, v)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	if all == nil {
		return nil, d.errorAt(args, `"args" is empty`, hint)
	}
	return all, nil
}

// pointerFault says what is wrong with a name that is a JSON pointer.
func pointerFault(name string) (msg, hint string) {
	if !strings.HasPrefix(name, "/") {
		return "", ""
	}
	for i := range len(name) {
		if name[i] == '~' && (i+1 == len(name) || name[i+1] != '0' && name[i+1] != '1') {
			return fmt.Sprintf("%s is not a JSON pointer", quoted(name)), `in a name that begins with a slash, ~ is written ~0 and / is written ~1`
		}
	}
	return "", ""
}

// argument reads what a rule demands of one argument.
func (d document) argument(name string, v canon.Value) (argument, error) {
	a := argument{name: name, minLen: -1, maxLen: -1}
	hint := "known here: " + strings.Join(argumentKeys(), ", ")
	if v.Kind() != canon.Object {
		return a, d.errorAt(v, fmt.Sprintf("what is demanded of argument %q is not an object", name), hint)
	}
	says := false
	for key, member := range v.Members() {
		var err error
		switch key {
		case "type":
			a.kind, err = d.word(key, member, argumentTypes()...)
		case "required":
			a.required, err = d.bool(key, member)
		case "min_len":
			a.minLen, err = d.length(key, member)
		case "max_len":
			a.maxLen, err = d.length(key, member)
		case "min":
			a.min, err = d.number(key, member)
		case "max":
			a.max, err = d.number(key, member)
		case "equals":
			a.oneOf, err = d.constants(key, member)
		case "one_of":
			a.oneOf, err = d.choices(key, member)
		case "matches":
			a.matches, err = d.regexp(key, member)
		case "under":
			a.under, err = d.folders(key, member)
		default:
			err = d.unknown("argument key", key, member, argumentKeys())
		}
		if err != nil {
			return a, err
		}
		says = says || key != "required" || a.required
	}
	if !says {
		return a, d.errorAt(v, fmt.Sprintf("nothing is demanded of argument %q", name), hint)
	}
	return a, d.unmeetable(v, &a)
}

// unmeetable refuses demands that no value can meet, and those that mean less than they seem to.
func (d document) unmeetable(v canon.Value, a *argument) error {
	refuse := func(key, msg string) error {
		return d.errorAtKey(v.Get(key), fmt.Sprintf("argument %q: %s", a.name, msg), "")
	}
	order, comparable := 0, false
	if a.min != "" && a.max != "" {
		order, comparable = compareNumbers(a.min, a.max)
	}
	switch {
	case a.maxLen >= 0 && a.minLen > a.maxLen:
		return refuse("min_len", fmt.Sprintf(`"min_len" %d is more than "max_len" %d; nothing can meet both`, a.minLen, a.maxLen))
	case comparable && order > 0:
		return refuse("min", fmt.Sprintf(`"min" %s is more than "max" %s; nothing can meet both`, a.min, a.max))
	case a.oneOf != nil && v.Get("equals").Exists() && v.Get("one_of").Exists():
		return refuse("one_of", `"equals" and "one_of" say the same; keep one`)
	}
	if a.kind == "" {
		return nil
	}
	for key, member := range v.Members() {
		kinds := kindsFor(key)
		switch {
		case kinds != nil && !slices.Contains(kinds, a.kind):
			return refuse(key, fmt.Sprintf("%q is for %s, and the type is %s", key, strings.Join(kinds, " and "), a.kind))
		case key == "equals" && !typeFits(a.kind, member):
			return refuse(key, fmt.Sprintf("the value is not of the type %s", a.kind))
		}
	}
	return nil
}

// kindsFor are the types of which something can be demanded, nil for any.
func kindsFor(key string) []string {
	switch key {
	case "min_len", "max_len", "under":
		return []string{"string", "array"}
	case "min", "max":
		return []string{"number", "integer"}
	case "matches":
		return []string{"string"}
	}
	return nil
}

func (d document) number(key string, v canon.Value) (string, error) {
	if v.Kind() == canon.Number {
		if _, ok := ratOf(string(v.Bytes())); ok {
			return string(v.Bytes()), nil
		}
	}
	return "", d.errorAt(v, fmt.Sprintf("%q is not a number", key), "")
}

func (d document) constants(key string, values ...canon.Value) ([]constant, error) {
	all := make([]constant, 0, len(values))
	for _, v := range values {
		canonical, err := canon.Canonical(v.Bytes())
		if err != nil {
			return nil, d.errorAt(v, fmt.Sprintf("%q holds a number that is too large", key), "")
		}
		c := constant{canonical: string(canonical)}
		if v.Kind() == canon.Number {
			c.number = string(v.Bytes())
		}
		for _, other := range all {
			if other.canonical == c.canonical {
				return nil, d.errorAt(v, fmt.Sprintf("a value is twice in %q", key), "remove one")
			}
		}
		all = append(all, c)
	}
	return all, nil
}

func (d document) choices(key string, v canon.Value) ([]constant, error) {
	if v.Kind() != canon.Array {
		return nil, d.errorAt(v, fmt.Sprintf("%q is not a list", key), `for one value write "equals"`)
	}
	values := slices.Collect(v.Elements())
	if len(values) == 0 {
		return nil, d.errorAt(v, fmt.Sprintf("%q is empty; nothing can meet it", key), "")
	}
	return d.constants(key, values...)
}

func (d document) regexp(key string, v canon.Value) (*wholeRegexp, error) {
	const longest = 1000
	source, err := d.phrase(key, v)
	if err != nil {
		return nil, err
	}
	if len(source) > longest {
		return nil, d.errorAt(v, fmt.Sprintf("%q is longer than %d bytes", key, longest), "")
	}
	re := newWholeRegexp(source)
	if d.lazy {
		return re, nil
	}
	if _, err := re.get(); err != nil {
		return nil, d.errorAt(v, fmt.Sprintf("%q is no regular expression: %v", key, err), "the syntax is RE2's, as in Go")
	}
	return re, nil
}

// folders reads the folders below which paths must be; each stands for itself and all that is below it.
func (d document) folders(key string, v canon.Value) ([]*pathPattern, error) {
	return patterns(d, key, v, func(text string) (*effects.PathPattern, error) {
		return effects.ParsePath(strings.TrimRight(text, "/") + "/**")
	})
}

package pretool

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sallyport/internal/canon"
)

// How long arguments may be.
const (
	maxName  = 256      // code points
	maxPath  = 4096     // bytes
	maxInput = 10 << 20 // bytes
)

// question is one of the nine tools.
type question struct {
	name, title, about string
	changes            bool // deletes flags that have not expired
	parameters         []parameter
	valid              func(args canon.Value) error // what the parameters cannot say; may be nil
	output             string                       // the fields of the answer, each with ? behind it if it may be missing
	answer             func(args canon.Value) *answer
}

// parameter is an argument of a tool: a text.
type parameter struct {
	name, about string
	required    bool
	notEmpty    bool     // something must be left of it when it is cleaned
	object      bool     // an object is taken too
	words       []string // if any, the text is one of these
	most        int      // how long it may be, in units
	unit        unit
}

// unit is what lengths are counted in.
type unit string

const (
	inBytes    unit = "bytes"
	codePoints unit = "code points"
)

func (u unit) count(text string) int {
	if u == codePoints {
		return utf8.RuneCountInString(text)
	}
	return len(text)
}

// check holds arguments against the question. An error does not quote them.
func (q question) check(args canon.Value) error {
	if args.Exists() && args.Kind() != canon.Object {
		return errors.New("the arguments must be an object")
	}
	for key := range args.Members() {
		if !slices.ContainsFunc(q.parameters, func(p parameter) bool { return p.name == key }) {
			return fmt.Errorf("unknown argument %.64q", key)
		}
	}
	for _, p := range q.parameters {
		if err := p.check(args.Get(p.name)); err != nil {
			return err
		}
	}
	if q.valid != nil {
		return q.valid(args)
	}
	return nil
}

func (p parameter) check(value canon.Value) error {
	text, isText := value.Text()
	switch {
	case !value.Exists() && !p.required:
		return nil
	case !value.Exists():
		return fmt.Errorf("argument %q is required", p.name)
	case p.object && value.Kind() == canon.Object:
		text = string(value.Bytes())
	case !isText && p.object:
		return fmt.Errorf("argument %q must be a string or an object", p.name)
	case !isText:
		return fmt.Errorf("argument %q must be a string", p.name)
	}
	switch {
	case p.words != nil && !slices.Contains(p.words, text):
		return fmt.Errorf("argument %q must be one of %s", p.name, strings.Join(p.words, ", "))
	case p.most > 0 && p.unit.count(text) > p.most:
		return fmt.Errorf("argument %q must not be longer than %d %s", p.name, p.most, p.unit)
	case p.notEmpty && clean(text) == "":
		return fmt.Errorf("argument %q must not be empty", p.name)
	}
	return nil
}

// definition is the question's row in tools/list.
func (q question) definition() []byte {
	properties, required := new(answer), []string(nil)
	for _, p := range q.parameters {
		properties.object(p.name, p.schema())
		if p.required {
			required = append(required, p.name)
		}
	}
	inputs := new(answer).text("type", "object").object("properties", properties)
	if required != nil {
		inputs.list("required", required)
	}
	annotations := new(answer).
		text("title", q.title).
		bool("readOnlyHint", !q.changes).
		bool("destructiveHint", false).
		bool("idempotentHint", true).
		bool("openWorldHint", false)
	return new(answer).
		text("name", q.name).
		text("title", q.title).
		text("description", q.about).
		object("inputSchema", inputs.bool("additionalProperties", false)).
		object("outputSchema", q.outputSchema()).
		object("annotations", annotations).
		bytes()
}

func (p parameter) schema() *answer {
	schema := new(answer)
	if p.object {
		schema.list("type", []string{"string", "object"})
	} else {
		schema.text("type", "string")
	}
	if p.words != nil {
		schema.list("enum", p.words)
	}
	if p.unit == codePoints {
		schema.int("maxLength", p.most) // which counts code points (JSON Schema 2020-12, validation, 6.3.1)
	}
	return schema.text("description", p.about)
}

// outputTypes are the JSON types of the fields that are not booleans.
var outputTypes = map[string][]string{
	"hints": {"array"}, "blocks": {"array"}, "cleared": {"array"}, "blocked_tools": {"array"}, "always_allowed": {"array"},
	"flags": {"object"}, "pipeline": {"object"},
	"flag_data": {"object", "null"}, "suggested_skill": {"string", "null"},
	"checks_run": {"integer"}, "ttl_seconds": {"integer"}, "patterns_checked": {"integer"}, "count": {"integer"},
	"tool": {"string"}, "session_id": {"string"}, "reason": {"string"}, "required_skill": {"string"}, "required_type": {"string"},
	"file": {"string"}, "extension": {"string"}, "error": {"string"}, "detail": {"string"},
}

func (q question) outputSchema() *answer {
	properties := new(answer)
	var required []string
	for field := range strings.FieldsSeq(q.output) {
		name, optional := strings.CutSuffix(field, "?")
		types, ok := outputTypes[name]
		if !ok {
			types = []string{"boolean"}
		}
		schema := new(answer)
		if len(types) == 1 {
			schema.text("type", types[0])
		} else {
			schema.list("type", types)
		}
		if types[0] == "array" {
			schema.object("items", new(answer).text("type", "string"))
		}
		properties.object(name, schema)
		if !optional {
			required = append(required, name)
		}
	}
	return new(answer).text("type", "object").object("properties", properties).list("required", required)
}

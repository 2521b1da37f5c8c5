package schema

import (
	"strconv"

	"sallyport/internal/canon"
)

// reader reads the keywords of one schema into its node.
type reader struct {
	*compiler
	node     *node
	place    place
	members  members
	onlyRef  bool // before 2019-09 nothing counts beside a $ref
	referred bool // the node has its reference
}

// keyword reads a keyword that the schema's draft knows. One that it does not know only describes.
func (r *reader) keyword(key string, v canon.Value) error {
	if r.place.draft < since(key) || r.onlyRef && key != "$ref" && key != "definitions" && key != "$defs" {
		return nil
	}
	for _, read := range [...]func(string, canon.Value) (bool, error){r.core, r.logic, r.scalar, r.ofArrays, r.ofObjects} {
		if known, err := read(key, v); known || err != nil {
			return err
		}
	}
	return nil
}

// since is the draft that brought a keyword.
func since(key string) draft {
	switch key {
	case "const", "contains", "propertyNames":
		return draft06
	case "if", "then", "else":
		return draft07
	case "minContains", "maxContains", "dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties", "$recursiveRef":
		return draft2019
	case "prefixItems", "$dynamicRef":
		return draft2020
	}
	return draft04
}

func (r *reader) core(key string, v canon.Value) (known bool, err error) {
	switch key {
	case "$ref", "$dynamicRef", "$recursiveRef":
		to, ok := v.Text()
		if !ok || key == "$recursiveRef" && to != "#" {
			return true, r.wrong(key, "a reference")
		}
		r.refer(key, to)
		return true, nil
	case "$defs", "definitions":
		_, err = r.schemas(key, v)
		return true, err
	}
	return false, nil
}

// refer notes a reference. A schema with two of them is held against both.
func (r *reader) refer(key, to string) {
	from := r.node
	if r.referred {
		from = &node{resource: r.place.resource}
		r.node.all = append(r.node.all, from)
	}
	r.referred = true
	if key == "$recursiveRef" && r.place.resource.dynamic[""] != nil { // leads to the outermost such root
		from.dynamic = recursive
	}
	r.refs = append(r.refs, reference{from: from, place: r.place, to: to, dynamic: key == "$dynamicRef"})
}

func (r *reader) logic(key string, v canon.Value) (known bool, err error) {
	n := r.node
	switch key {
	case "allOf":
		var all []*node
		all, err = r.list(key, v)
		n.all = append(n.all, all...)
	case "anyOf":
		n.any, err = r.list(key, v)
	case "oneOf":
		n.one, err = r.list(key, v)
	case "not":
		n.not, err = r.one(key, v)
	case "if":
		n.when, err = r.one(key, v)
	case "then":
		n.yes, err = r.one(key, v)
	case "else":
		n.no, err = r.one(key, v)
	default:
		return false, nil
	}
	return true, err
}

func (r *reader) scalar(key string, v canon.Value) (known bool, err error) {
	n := r.node
	switch key {
	case "type":
		n.types, err = r.typeSet(v)
	case "enum", "const":
		err = r.values(key, v)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		err = r.limit(key, v)
	case "minLength", "maxLength":
		err = r.count(key, v, &r.texts().length)
	case "pattern":
		text, ok := v.Text()
		if !ok {
			return true, r.wrong(key, "a string")
		}
		r.texts().pattern = r.pattern(key, text)
	default:
		return false, nil
	}
	return true, err
}

func (r *reader) ofArrays(key string, v canon.Value) (known bool, err error) {
	n := r.node
	switch key {
	case "items":
		if v.Kind() == canon.Array { // as it was before prefixItems: it can mean nothing else
			r.arrays().prefix, err = r.list(key, v)
		} else {
			r.arrays().rest, err = r.one(key, v)
		}
	case "prefixItems":
		r.arrays().prefix, err = r.list(key, v)
	case "additionalItems":
		if r.members.get("items").Kind() == canon.Array {
			r.arrays().rest, err = r.one(key, v)
		}
	case "contains":
		r.arrays().contains, err = r.one(key, v)
		if r.place.draft < draft2019 || !r.members.get("minContains").Exists() {
			r.arrays().matches.min = 1
		}
	case "minContains", "maxContains":
		err = r.count(key, v, &r.arrays().matches)
	case "minItems", "maxItems":
		err = r.count(key, v, &r.arrays().length)
	case "uniqueItems":
		r.arrays().unique, err = r.flag(key, v)
	case "unevaluatedItems":
		n.wantsItems, err = r.one(key, v)
	default:
		return false, nil
	}
	return true, err
}

func (r *reader) ofObjects(key string, v canon.Value) (known bool, err error) {
	switch key {
	case "properties":
		r.objects().properties, err = r.schemas(key, v)
	case "patternProperties":
		err = r.patternRules(key, v)
	case "additionalProperties":
		r.objects().additional, err = r.one(key, v)
	case "propertyNames":
		r.objects().names, err = r.one(key, v)
	case "minProperties", "maxProperties":
		err = r.count(key, v, &r.objects().size)
	case "required":
		if v.Kind() == canon.Bool { // draft-03, and a common mistake since
			r.note(key, "it is not a list")
			return true, nil
		}
		r.objects().required, err = r.names(key, v)
	case "dependentRequired", "dependentSchemas", "dependencies":
		err = r.dependencies(key, v)
	case "unevaluatedProperties":
		r.node.wantsMembers, err = r.one(key, v)
	default:
		return false, nil
	}
	return true, err
}

// wrong is the error for a keyword that is not what it must be.
func (r *reader) wrong(key, want string) error {
	return r.place.errorf("%s must be %s", key, want)
}

// note says that a keyword is left to the upstream.
func (r *reader) note(key, why string) {
	if len(r.notes) < maxNotes {
		where := ""
		if r.place.pointer != "" {
			where = " at " + short(r.place.pointer, 200)
		}
		r.notes = append(r.notes, key+where+" is left to the upstream to check: "+why)
	}
}

func (r *reader) one(key string, v canon.Value) (*node, error) {
	return r.schema(v, r.place.below(key))
}

func (r *reader) list(key string, v canon.Value) ([]*node, error) {
	if v.Kind() != canon.Array {
		return nil, r.wrong(key, "a list of schemas")
	}
	all := []*node{}
	for element := range v.Elements() {
		n, err := r.schema(element, r.place.below(key, strconv.Itoa(len(all))))
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

func (r *reader) schemas(key string, v canon.Value) (map[string]*node, error) {
	if v.Kind() != canon.Object {
		return nil, r.wrong(key, "an object of schemas")
	}
	all := map[string]*node{}
	for name, member := range v.Members() {
		n, err := r.schema(member, r.place.below(key, name))
		if err != nil {
			return nil, err
		}
		all[name] = n
	}
	return all, nil
}

func (r *reader) typeSet(v canon.Value) (types, error) {
	var set types
	add := func(v canon.Value) bool {
		name, _ := v.Text()
		t, ok := typeNamed(name)
		set |= t
		return ok
	}
	if v.Kind() == canon.String && add(v) {
		return set, nil
	}
	if v.Kind() != canon.Array {
		return 0, r.wrong("type", "one of the seven types or a list of them")
	}
	for element := range v.Elements() {
		if !add(element) {
			return 0, r.wrong("type", "one of the seven types or a list of them")
		}
	}
	if set == 0 {
		return 0, r.wrong("type", "one of the seven types or a list of them")
	}
	return set, nil
}

// values reads enum and const. Of a schema that has both, the values that are in both are left.
func (r *reader) values(key string, v canon.Value) error {
	allowed := map[string]bool{}
	switch {
	case key == "const":
		allowed[normal(v)] = true
	case v.Kind() != canon.Array:
		return r.wrong(key, "a list")
	default:
		for element := range v.Elements() {
			allowed[normal(element)] = true
		}
	}
	if r.node.values != nil {
		for value := range allowed {
			if !r.node.values[value] {
				delete(allowed, value)
			}
		}
	}
	r.node.values, r.node.keyword = allowed, key
	return nil
}

// limit reads a keyword about numbers. In draft-04, and in schemas that name no draft, an exclusive limit may be a truth
// value that is about the other one.
func (r *reader) limit(key string, v canon.Value) error {
	inclusive := map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[key]
	if v.Kind() == canon.Bool && inclusive != "" {
		return nil // read with the other one
	}
	if v.Kind() != canon.Number {
		return r.wrong(key, "a number")
	}
	b := &bound{parseDecimal(v.Bytes()), string(v.Bytes())}
	if len(b.digits) > maxDigits || key == "multipleOf" && b.sign() <= 0 {
		return r.wrong(key, "a number that can be counted in")
	}
	if r.node.number == nil {
		r.node.number = &numberRules{}
	}
	n := r.node.number
	exclusive := func(key string) bool { is, _ := r.members.get(key).Bool(); return is }
	switch key {
	case "minimum":
		if exclusive("exclusiveMinimum") {
			n.above = b
		} else {
			n.min = b
		}
	case "maximum":
		if exclusive("exclusiveMaximum") {
			n.below = b
		} else {
			n.max = b
		}
	case "exclusiveMinimum":
		n.above = b
	case "exclusiveMaximum":
		n.below = b
	case "multipleOf":
		n.unit = b
	}
	return nil
}

// count reads a keyword that begins with min or max.
func (r *reader) count(key string, v canon.Value, l *limits) error {
	if v.Kind() != canon.Number {
		return r.wrong(key, "a count")
	}
	n, ok := parseDecimal(v.Bytes()).count()
	if !ok {
		return r.wrong(key, "a count")
	}
	if key[:3] == "min" {
		l.min = n
	} else {
		l.max, l.hasMax = n, true
	}
	return nil
}

func (r *reader) flag(key string, v canon.Value) (bool, error) {
	is, ok := v.Bool()
	if !ok {
		return false, r.wrong(key, "true or false")
	}
	return is, nil
}

func (r *reader) names(key string, v canon.Value) ([]string, error) {
	if v.Kind() != canon.Array {
		return nil, r.wrong(key, "a list of names")
	}
	var all []string
	for element := range v.Elements() {
		name, ok := element.Text()
		if !ok {
			return nil, r.wrong(key, "a list of names")
		}
		all = append(all, name)
	}
	return all, nil
}

// pattern compiles a pattern, or notes that it is left to the upstream.
func (r *reader) pattern(key, text string) *pattern {
	p, reason := compilePattern(text, maxPrograms-r.programs)
	if reason != "" {
		r.note(key, reason)
	}
	r.programs += p.size
	return p
}

func (r *reader) patternRules(key string, v canon.Value) error {
	if v.Kind() != canon.Object {
		return r.wrong(key, "an object of schemas")
	}
	for text, member := range v.Members() {
		n, err := r.schema(member, r.place.below(key, text))
		if err != nil {
			return err
		}
		o := r.objects()
		o.patterns = append(o.patterns, patternRule{r.pattern(key, text), n})
	}
	return nil
}

// dependencies reads dependentRequired, dependentSchemas, and what they were together before 2019-09.
func (r *reader) dependencies(key string, v canon.Value) error {
	if v.Kind() != canon.Object {
		return r.wrong(key, "an object")
	}
	if key == "dependencies" && r.place.draft >= draft2019 {
		return nil
	}
	for member, what := range v.Members() {
		if key == "dependentRequired" || key == "dependencies" && what.Kind() == canon.Array {
			others, err := r.names(key, what)
			if err != nil {
				return err
			}
			o := r.objects()
			o.needs = append(o.needs, need{member, others})
			continue
		}
		n, err := r.schema(what, r.place.below(key, member))
		if err != nil {
			return err
		}
		r.node.dependent = append(r.node.dependent, dependentSchema{member, n})
	}
	return nil
}

func (r *reader) texts() *textRules {
	if r.node.text == nil {
		r.node.text = &textRules{}
	}
	return r.node.text
}

func (r *reader) arrays() *arrayRules {
	if r.node.array == nil {
		r.node.array = &arrayRules{}
	}
	return r.node.array
}

func (r *reader) objects() *objectRules {
	if r.node.object == nil {
		r.node.object = &objectRules{}
	}
	return r.node.object
}

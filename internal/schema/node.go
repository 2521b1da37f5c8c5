package schema

import "sallyport/internal/canon"

// node is one schema, compiled. The zero node allows everything.
type node struct {
	never    bool // allows nothing
	resource *resource

	types   types
	values  map[string]bool // the normal spellings of enum's and const's; nil if there is neither
	keyword string          // which of the two they are
	number  *numberRules
	text    *textRules
	array   *arrayRules
	object  *objectRules

	ref            *node
	dynamic        string // the anchor that a dynamic reference looks for; ref is where it leads if nobody has another one
	all, any, one  []*node
	not            *node
	when, yes, no  *node // if, then, else
	dependent      []dependentSchema
	wantsItems     *node // unevaluatedItems
	wantsMembers   *node // unevaluatedProperties
	containsCounts bool  // contains marks what it matched as evaluated, as it does from 2020-12 on
}

// resource is a schema with an $id of its own, or the whole one, with the anchors in it.
type resource struct {
	root    *node
	dynamic map[string]*node // dynamic anchors; "" is a $recursiveAnchor
}

// types is a set of what a value may be. The empty set allows all.
type types uint8

const (
	nullType types = 1 << iota
	boolType
	integerType
	numberType
	stringType
	arrayType
	objectType
)

func typeNamed(name string) (types, bool) {
	switch name {
	case "null":
		return nullType, true
	case "boolean":
		return boolType, true
	case "integer":
		return integerType, true
	case "number":
		return numberType | integerType, true
	case "string":
		return stringType, true
	case "array":
		return arrayType, true
	case "object":
		return objectType, true
	}
	return 0, false
}

// String lists the types for a message.
func (t types) String() string {
	var out string
	add := func(name string) {
		if out != "" {
			out += " or "
		}
		out += name
	}
	for _, name := range []string{"null", "boolean", "string", "array", "object", "number", "integer"} {
		if set, _ := typeNamed(name); t&set == set && (name != "integer" || t&numberType == 0) {
			add(name)
		}
	}
	return out
}

func typeOf(v canon.Value) types {
	switch v.Kind() {
	case canon.Null:
		return nullType
	case canon.Bool:
		return boolType
	case canon.String:
		return stringType
	case canon.Array:
		return arrayType
	case canon.Object:
		return objectType
	}
	return numberType
}

// bound is a limit for a number, and how the schema writes it.
type bound struct {
	decimal
	raw string
}

type numberRules struct{ min, max, above, below, unit *bound }

// limits are a smallest and a largest count. The zero ones allow all.
type limits struct {
	min, max int
	hasMax   bool
}

type textRules struct {
	length  limits
	pattern *pattern
}

type arrayRules struct {
	prefix   []*node
	rest     *node
	contains *node
	matches  limits // of contains
	length   limits
	unique   bool
}

type objectRules struct {
	properties map[string]*node
	patterns   []patternRule
	additional *node
	names      *node
	size       limits
	required   []string
	needs      []need
}

type patternRule struct {
	*pattern
	node *node
}

// need says which members an object must have if it has another one.
type need struct {
	member string
	others []string
}

type dependentSchema struct {
	member string
	node   *node
}

// recursive stands in a node's dynamic for a reference that looks for a $recursiveAnchor, which has no name.
const recursive = "#"

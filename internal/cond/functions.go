package cond

// functionClass says what a name before parentheses is.
type functionClass uint8

const (
	unknownFunction   functionClass = iota
	plainFunction                   // of values
	predicateFunction               // of a list and a predicate
	withheldFunction                // of a list and a predicate, but not for conditions
)

// functions are the names of all functions, for hints.
var functions = []string{"all", "any", "none", "one", "filter", "map", "find", "count", "len", "type", "int", "float", "string", "abs", "min", "max", "lower", "upper",
	"trim", "trimPrefix", "trimSuffix", "hasPrefix", "hasSuffix", "indexOf", "lastIndexOf", "keys", "values", "first", "last", "has"}

// functionKind says what a name before parentheses is. Functions that look at a clock or make much of little are not known.
// Of them, those with a predicate are withheld whatever let declares.
func functionKind(name string) functionClass {
	switch name {
	case "all", "any", "none", "one", "filter", "map", "find", "count":
		return predicateFunction
	case "len", "type", "int", "float", "string", "abs", "min", "max", "lower", "upper", "trim", "trimPrefix", "trimSuffix", "hasPrefix",
		"hasSuffix", "indexOf", "lastIndexOf", "keys", "values", "first", "last":
		return plainFunction
	case "sum", "findIndex", "findLast", "findLastIndex", "groupBy", "sortBy", "reduce":
		return withheldFunction
	}
	return unknownFunction
}

// signatureOf returns the type of a function that is named but not called, "" for what is no function. Such a name has no
// value when it is evaluated, as expr-lang has it.
func signatureOf(name string) string {
	switch name {
	case "all", "any", "none", "one":
		return "func([]interface {}, func(interface {}) bool) bool"
	case "filter":
		return "func([]interface {}, func(interface {}) bool) []interface {}"
	case "map":
		return "func([]interface {}, func(interface {}) interface {}) []interface {}"
	case "find":
		return "func([]interface {}, func(interface {}) bool) interface {}"
	case "count":
		return "func([]interface {}, func(interface {}) bool) int"
	case "len", "int", "float", "abs", "min", "max", "keys", "values", "first", "last":
		return "func(...interface {}) (interface {}, error)"
	case "type", "string":
		return "func(interface {}) string"
	case "lower", "upper", "trim":
		return "func(string) string"
	case "trimPrefix", "trimSuffix":
		return "func(string, string) string"
	case "hasPrefix", "hasSuffix":
		return "func(string, string) bool"
	case "indexOf", "lastIndexOf":
		return "func(string, string) int"
	}
	return ""
}

// builtin checks a call of a builtin function.
func (c *checker) builtin(n *node) nature {
	if functionKind(n.text) == predicateFunction {
		return c.predicated(n)
	}
	types := make([]nature, len(n.list))
	for i, argument := range n.list {
		types[i] = c.visit(argument)
	}
	least, most := arity(n.text)
	switch {
	case len(types) < least:
		return c.fail(n, "not enough arguments to call %s", n.text)
	case len(types) > most:
		return c.fail(n, "too many arguments to call %s", n.text)
	}
	takes, gives := parameters(n.text)
	for i, t := range types {
		if n.text != "type" && n.text != "string" && !t.is(takes|ofNothing) {
			at := n
			if takes == ofText && least == most {
				at = n.list[i]
			}
			return c.fail(at, "cannot use %s as an argument of %s", t, n.text)
		}
		if aggregates := n.text == "min" || n.text == "max"; aggregates && t.is(ofNothing|ofArray) {
			return nature{kind: ofAny} // what stands behind it is not checked, as expr-lang has it
		}
	}
	if gives != 0 {
		return nature{kind: gives}
	}
	switch first := types[0]; {
	case first.is(ofNothing):
		return nature{kind: ofAny}
	case n.text == "first" || n.text == "last":
		if first.is(ofBytes) {
			return nature{kind: ofByte}
		}
		return nature{kind: ofAny}
	default:
		return nature{kind: first.kind} // of abs, min and max
	}
}

// arity returns how many arguments a function takes.
func arity(name string) (least, most int) {
	switch name {
	case "trim", "trimPrefix", "trimSuffix":
		return 1, 2
	case "hasPrefix", "hasSuffix", "indexOf", "lastIndexOf":
		return 2, 2
	case "min", "max":
		return 1, maxNodes
	}
	return 1, 1
}

// parameters returns what the arguments of a function may be, and what it gives, 0 where that depends on them.
func parameters(name string) (takes, gives typeKind) {
	switch name {
	case "len":
		return ofArray | ofMap | ofText, ofInt
	case "int":
		return ofNumber | ofText, ofInt
	case "float":
		return ofNumber | ofText, ofFloat
	case "abs":
		return ofNumber, 0
	case "min", "max":
		return ofNumber | ofArray, 0
	case "first", "last":
		return ofArray, 0
	case "keys", "values":
		return ofMap, ofList
	case "hasPrefix", "hasSuffix":
		return ofText, ofBool
	case "indexOf", "lastIndexOf":
		return ofText, ofInt
	}
	return ofText, ofText // of type and string the parameter may be anything
}

// predicated checks a call of a function that has a predicate.
func (c *checker) predicated(n *node) nature {
	list := c.visit(n.list[0])
	if !list.is(ofArray | ofNothing) {
		return c.fail(n.list[0], "builtin %s takes only array (got %s)", n.text, list)
	}
	body := nature{kind: ofBool}
	if len(n.list) > 1 {
		c.lists = append(c.lists, collection{list: list, indexed: n.text == "map"})
		body = c.visit(n.list[1])
		c.lists = c.lists[:len(c.lists)-1]
	}
	switch {
	case body.is(ofNil):
		return c.fail(n.list[1], "predicate should has one input and one output param")
	case n.text == "map":
		return listOf(body)
	case !body.is(ofBool | ofNothing):
		return c.fail(n.list[1], "predicate should return boolean (got %s)", body)
	}
	switch n.text {
	case "filter":
		if list.is(ofNothing) {
			return nature{kind: ofList}
		}
		return listOf(list.element())
	case "count":
		return nature{kind: ofInt}
	case "find":
		if list.is(ofNothing) {
			return nature{kind: ofUnknown}
		}
		return list.element()
	}
	return nature{kind: ofBool}
}

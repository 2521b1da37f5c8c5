package cond

// typeKind is what is known of a value before there is one. Kinds are a set, so that "a number" is one question.
type typeKind uint16

const (
	ofBool typeKind = 1 << iota
	ofText
	ofInt
	ofByte // an element of bytes
	ofFloat
	ofMap
	ofList  // []any, []string or []int
	ofBytes // []byte
	ofFunction
	ofNil
	ofAny     // what is in a map or a list of anything
	ofUnknown // what nothing at all is known of; it is not assignable to anything

	ofInteger = ofInt | ofByte
	ofNumber  = ofInteger | ofFloat
	ofArray   = ofList | ofBytes
	ofNothing = ofAny | ofUnknown // what may be anything
)

// fieldSet says which members a map has.
type fieldSet uint8

const (
	anyFields fieldSet = iota
	callFields
	principalFields
	effectsFields
)

// nature is the type of a part of an expression.
type nature struct {
	kind     typeKind
	fields   fieldSet // of a map
	function string   // of a function: its parameters and results
	elem     *nature  // of a list, where it is known
}

func (t nature) is(kinds typeKind) bool { return t.kind&kinds != 0 }

func (t nature) String() string {
	switch t.kind {
	case ofBool:
		return "bool"
	case ofText:
		return "string"
	case ofInt:
		return "int"
	case ofByte:
		return "uint8"
	case ofFloat:
		return "float64"
	case ofMap:
		return "map[string]interface {}"
	case ofList:
		return "[]interface {}"
	case ofBytes:
		return "[]uint8"
	case ofFunction:
		return t.function
	case ofAny:
		return "interface {}"
	}
	return "unknown"
}

// element returns the type of what is in a map, a list or bytes.
func (t nature) element() nature {
	switch {
	case t.kind == ofBytes:
		return nature{kind: ofByte}
	case t.kind == ofList && t.elem != nil:
		return *t.elem
	case t.is(ofList | ofMap):
		return nature{kind: ofAny}
	}
	return nature{kind: ofUnknown}
}

// listOf returns the type of a list.
func listOf(elem nature) nature { return nature{kind: ofList, elem: &elem} }

// assignable reports whether a value of type t is one of type to.
func (t nature) assignable(to nature) bool {
	switch {
	case t.kind == ofNil:
		return to.is(ofAny | ofFunction | ofMap | ofArray)
	case t.kind == ofUnknown || to.is(ofUnknown|ofNil):
		return false
	case to.kind == ofAny:
		return true
	}
	return t.kind == to.kind && t.function == to.function
}

// comparable reports whether two values may be asked to be equal.
func (t nature) comparable(other nature) bool {
	return t.is(ofNothing|ofNil) || other.is(ofNothing|ofNil) || both(t, other, ofNumber) || both(t, other, ofArray) || t.assignable(other)
}

// both reports whether both are of these kinds.
func both(l, r nature, kinds typeKind) bool { return l.is(kinds) && r.is(kinds) }

// maybe reports whether both could be of these kinds, as one may be anything.
func maybe(l, r nature, kinds typeKind) bool {
	return l.is(ofNothing) && r.is(ofNothing|kinds) || r.is(ofNothing) && l.is(kinds)
}

// sameKind reports whether two elements of a list literal are of one kind, as expr-lang counts kinds.
func sameKind(l, r nature) bool {
	return l.kind == r.kind || both(l, r, ofNil|ofUnknown) || both(l, r, ofArray)
}

// names returns the members that a map is known to have.
func (f fieldSet) names() []string {
	switch f {
	case callFields:
		return []string{"principal", "effects", "args", "tool", "method", "host", "session", "workspace", "home"}
	case principalFields:
		return []string{"name", "tenant"}
	case effectsFields:
		return []string{"runs", "reads", "writes", "connects", "spawns"}
	}
	return nil
}

// field returns the type of a member that a map is known to have.
func (f fieldSet) field(name string) (t nature, ok bool) {
	text := nature{kind: ofText}
	switch f {
	case callFields:
		switch name {
		case "principal":
			return nature{kind: ofMap, fields: principalFields}, true
		case "effects":
			return nature{kind: ofMap, fields: effectsFields}, true
		case "args":
			return nature{kind: ofUnknown}, true
		case "tool", "method", "host", "session", "workspace", "home":
			return text, true
		}
	case principalFields:
		switch name {
		case "name", "tenant":
			return text, true
		}
	case effectsFields:
		switch name {
		case "runs", "reads", "writes", "connects", "spawns":
			return listOf(text), true
		}
	}
	return nature{}, false
}

package schema

import (
	"crypto/sha256"
	"strconv"

	"sallyport/internal/canon"
)

// marks are the members and elements of a value that some schema has evaluated.
type marks struct {
	allMembers  bool
	members     map[string]bool
	allElements bool
	first       int // so many elements from the beginning on
	elements    map[int]bool
}

func (m *marks) add(o *marks) {
	m.allMembers = m.allMembers || o.allMembers
	m.allElements = m.allElements || o.allElements
	m.first = max(m.first, o.first)
	for name := range o.members {
		m.member(name)
	}
	for i := range o.elements {
		m.element(i)
	}
}

// mark adds what own has to seen.
func (e *evaluation) mark(seen, own *marks) *failure {
	if f := e.pay(len(own.members) + len(own.elements)); f != nil {
		return f
	}
	seen.add(own)
	return nil
}

func (m *marks) member(name string) {
	if m.members == nil {
		m.members = map[string]bool{}
	}
	m.members[name] = true
}

func (m *marks) element(i int) {
	if m.elements == nil {
		m.elements = map[int]bool{}
	}
	m.elements[i] = true
}

// elements is what a schema says of arrays.
func (e *evaluation) elements(n *node, v canon.Value, at *spot, seen *marks) *failure {
	a := n.array
	if a == nil || v.Kind() != canon.Array {
		return nil
	}
	if f := e.read(v); f != nil {
		return f
	}
	i := 0
	for element := range v.Elements() {
		next := a.rest
		if i < len(a.prefix) {
			next = a.prefix[i]
		}
		if next != nil {
			if f := e.apply(next, element, &spot{at, strconv.Itoa(i)}, nil); f != nil {
				return f
			}
		}
		i++
	}
	if f := e.within(a.length, i, "elements", [2]string{"minItems", "maxItems"}, at); f != nil {
		return f
	}
	if seen != nil {
		seen.first = max(seen.first, min(i, len(a.prefix)))
		seen.allElements = seen.allElements || a.rest != nil
	}
	if a.contains != nil {
		if f := e.contains(n, v, at, seen); f != nil {
			return f
		}
	}
	if a.unique {
		return e.unique(v, at)
	}
	return nil
}

func (e *evaluation) contains(n *node, v canon.Value, at *spot, seen *marks) *failure {
	a := n.array
	i, matched, before := 0, 0, e.unchecked
	for element := range v.Elements() {
		ok, _ := e.test(a.contains, element, at, nil)
		if e.spent != nil {
			return e.spent
		}
		if ok {
			matched++
			if seen != nil && n.containsCounts {
				if f := e.pay(1); f != nil {
					return f
				}
				seen.element(i)
			}
		}
		i++
	}
	switch {
	case matched < a.matches.min:
		return e.fail(at, "contains", "must have at least %d elements of the kind that the schema asks for", a.matches.min)
	case a.matches.hasMax && matched > a.matches.max && e.unchecked == before:
		return e.fail(at, "maxContains", "must have at most %d elements of the kind that the schema counts", a.matches.max)
	}
	return nil
}

func (e *evaluation) unique(v canon.Value, at *spot) *failure {
	if f := e.pay(len(v.Bytes()) / 4); f != nil {
		return f
	}
	seen := map[[sha256.Size]byte]bool{}
	for element := range v.Elements() {
		sum := sha256.Sum256(appendNormal(nil, element))
		if seen[sum] {
			return e.fail(at, "uniqueItems", "must not have the same element twice")
		}
		seen[sum] = true
	}
	return nil
}

// members is what a schema says of objects.
func (e *evaluation) members(n *node, v canon.Value, at *spot, seen *marks) *failure {
	o := n.object
	if o == nil || v.Kind() != canon.Object {
		return nil
	}
	if f := e.read(v); f != nil {
		return f
	}
	count := 0
	for name, member := range v.Members() {
		count++
		if f := e.member(o, name, member, at, seen); f != nil {
			return f
		}
	}
	if f := e.within(o.size, count, "members", [2]string{"minProperties", "maxProperties"}, at); f != nil {
		return f
	}
	return e.required(o, v, at)
}

func (e *evaluation) member(o *objectRules, name string, v canon.Value, at *spot, seen *marks) *failure {
	here := &spot{at, name}
	if o.names != nil {
		spelt, err := canon.Parse(canon.AppendString(nil, name))
		if err != nil {
			return e.fail(here, "propertyNames", "has a name that cannot be read")
		}
		if f := e.apply(o.names, spelt, here, nil); f != nil {
			return f
		}
	}
	evaluated := false
	if n := o.properties[name]; n != nil {
		evaluated = true
		if f := e.apply(n, v, here, nil); f != nil {
			return f
		}
	}
	for _, p := range o.patterns {
		matched, f := e.matches(p.pattern, name)
		if f != nil {
			return f
		}
		if !matched {
			continue
		}
		evaluated = true
		if p.expression == nil { // whether this schema is about the member is for the upstream to say
			continue
		}
		if f := e.apply(p.node, v, here, nil); f != nil {
			return f
		}
	}
	if !evaluated && o.additional != nil {
		evaluated = true
		if o.additional.never {
			return e.fail(here, "additionalProperties", "is not a member that the schema knows")
		}
		if f := e.apply(o.additional, v, here, nil); f != nil {
			return f
		}
	}
	if evaluated && seen != nil {
		seen.member(name)
	}
	return nil
}

func (e *evaluation) required(o *objectRules, v canon.Value, at *spot) *failure {
	if len(o.required) == 0 && len(o.needs) == 0 {
		return nil
	}
	there := map[string]bool{}
	for name := range v.Members() {
		there[name] = true
	}
	if f := e.pay(len(there) + len(o.required)); f != nil {
		return f
	}
	for _, name := range o.required {
		if !there[name] {
			return e.fail(&spot{at, name}, "required", "must be there")
		}
	}
	for _, n := range o.needs {
		if !there[n.member] {
			continue
		}
		if f := e.pay(len(n.others)); f != nil {
			return f
		}
		for _, name := range n.others {
			if !there[name] {
				return e.fail(&spot{at, name}, "dependentRequired", "must be there beside %s", short(n.member, 80))
			}
		}
	}
	return nil
}

// unevaluated holds what no schema has evaluated against unevaluatedItems and unevaluatedProperties.
func (e *evaluation) unevaluated(n *node, v canon.Value, at *spot, seen *marks) *failure {
	switch {
	case n.wantsMembers != nil && v.Kind() == canon.Object && !seen.allMembers:
		if f := e.read(v); f != nil {
			return f
		}
		for name, member := range v.Members() {
			if !seen.members[name] {
				if f := e.apply(n.wantsMembers, member, &spot{at, name}, nil); f != nil {
					return f
				}
			}
		}
		seen.allMembers = true
	case n.wantsItems != nil && v.Kind() == canon.Array && !seen.allElements:
		if f := e.read(v); f != nil {
			return f
		}
		i := 0
		for element := range v.Elements() {
			if i >= seen.first && !seen.elements[i] {
				if f := e.apply(n.wantsItems, element, &spot{at, strconv.Itoa(i)}, nil); f != nil {
					return f
				}
			}
			i++
		}
		seen.allElements = true
	}
	return nil
}

package cond

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// builtin evaluates a call of a builtin function.
func (m *machine) builtin(n *node) any {
	if functionKind(n.text) == predicateFunction {
		return m.predicated(n, m.eval(n.list[0]))
	}
	args := make([]any, len(n.list))
	for i, argument := range n.list {
		args[i] = m.eval(argument)
	}
	switch n.text {
	case "min":
		return m.extreme(n, opMore, args)
	case "max":
		return m.extreme(n, opLess, args)
	case "trim", "trimPrefix", "trimSuffix", "lower", "upper", "hasPrefix", "hasSuffix", "indexOf", "lastIndexOf":
		return m.textual(n, args)
	}
	v := args[0]
	switch n.text {
	case "len":
		return m.length(n, v)
	case "type":
		return typeName(v)
	case "int":
		return m.toInt(n, v)
	case "float":
		return m.toFloat(n, v)
	case "string":
		m.made(n, m.printed(n, v))
		return fmt.Sprint(v)
	case "abs":
		return m.abs(n, v)
	case "first", "last":
		if m.strict && !isList(v) {
			m.fail(n, "%s of %T", n.text, v)
		}
		return endOf(v, n.text == "last")
	}
	return m.membersOf(n, v) // keys and values
}

// predicated evaluates a function that has a predicate.
func (m *machine) predicated(n *node, list any) any {
	length, ok := lengthOf(list)
	if _, isText := list.(string); !ok || m.strict && isText {
		m.fail(n, "%s of %T", n.text, list)
	}
	m.loop = &loop{list: list, outer: m.loop}
	out := m.through(n, length)
	m.loop = m.loop.outer
	switch made := out.(type) {
	case []any:
		m.grow(n, len(made))
	case int:
		if n.text == "one" {
			return made == 1
		}
	}
	return out
}

// through goes through a list; of "one" it returns how many there are.
func (m *machine) through(n *node, length int) any {
	var kept []any
	if n.text == "map" || n.text == "filter" {
		kept = []any{}
	}
	count := 0
	for i := range length {
		m.loop.index = i
		if n.text == "map" {
			kept = append(kept, m.eval(n.list[1]))
			continue
		}
		holds := m.satisfied(n)
		switch {
		case n.text == "all" && !holds:
			return false
		case n.text == "any" && holds:
			return true
		case n.text == "none" && holds:
			return false
		case !holds:
			continue
		case n.text == "find":
			return m.pointer(&node{at: n.at})
		case n.text == "filter":
			kept = append(kept, m.pointer(&node{at: n.at}))
		}
		count++
	}
	switch n.text {
	case "all", "none":
		return true
	case "any":
		return false
	case "find":
		return nil
	case "one", "count":
		return count
	}
	return kept
}

// satisfied evaluates the predicate for an item; without a predicate it is the item that has to be true or false.
func (m *machine) satisfied(n *node) bool {
	if len(n.list) == 1 {
		return m.truth(n, m.pointer(&node{at: n.at}))
	}
	return m.truth(n.list[1], m.eval(n.list[1]))
}

func (m *machine) textual(n *node, args []any) any {
	s := m.text(n, args[0])
	with, given := " ", len(args) > 1
	if given {
		with = m.text(n, args[1])
	}
	m.made(n, min(len(s), maxText))
	switch n.text {
	case "trim":
		if given {
			return strings.Trim(s, with)
		}
		return strings.TrimSpace(s)
	case "trimPrefix":
		return strings.TrimPrefix(s, with)
	case "trimSuffix":
		return strings.TrimSuffix(s, with)
	case "hasPrefix":
		return strings.HasPrefix(s, with)
	case "hasSuffix":
		return strings.HasSuffix(s, with)
	case "indexOf":
		return strings.Index(s, with)
	case "lastIndexOf":
		return strings.LastIndex(s, with)
	case "lower":
		s = strings.ToLower(s)
	default:
		s = strings.ToUpper(s)
	}
	m.made(n, len(s))
	return s
}

// length returns how many items there are, of a text how many code points.
func (m *machine) length(n *node, v any) int {
	if s, ok := v.(string); ok {
		m.spend(n, len(s)/textPerStep)
		return utf8.RuneCountInString(s)
	}
	length, ok := lengthOf(v)
	if !ok {
		m.fail(n, "invalid argument for len (type %T)", v)
	}
	return length
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "nil"
	case bool:
		return "bool"
	case int:
		return "int"
	case uint8:
		return "uint"
	case float64:
		return "float"
	case Number:
		return "number"
	case string:
		return "string"
	case map[string]any:
		return "map"
	case []any, []string, []int, []byte:
		return "array"
	}
	return "unknown"
}

func (m *machine) toInt(n *node, v any) int {
	switch v := v.(type) {
	case string:
	case float64:
		return m.truncated(n, v)
	default:
		return m.whole(n, v)
	}
	i, err := strconv.Atoi(v.(string))
	if err != nil {
		m.fail(n, "invalid operation: int of a string that is no whole number")
	}
	return i
}

func (m *machine) toFloat(n *node, v any) float64 {
	s, ok := v.(string)
	if !ok {
		return m.float(n, v)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		m.fail(n, "invalid operation: float of a string that is no number")
	}
	return f
}

func (m *machine) abs(n *node, v any) any {
	switch v := v.(type) {
	case int:
		if m.strict && v == math.MinInt {
			m.fail(n, tooLargeResult)
		}
		return max(v, -v)
	case uint8:
		return v
	case float64:
		if v < 0 { // not math.Abs: -0 stays what it is
			return -v
		}
		return v
	}
	m.fail(n, "invalid argument for abs (type %T)", v)
	return nil
}

// endOf returns the first or last item, nil of what has none.
func endOf(v any, last bool) any {
	length, _ := lengthOf(v)
	if _, isMap := v.(map[string]any); isMap || length == 0 {
		return nil
	}
	if last {
		return itemOf(v, length-1)
	}
	return itemOf(v, 0)
}

// membersOf returns the keys or values of a map, in the order of the keys.
func (m *machine) membersOf(n *node, v any) any {
	members, ok := v.(map[string]any)
	if !ok {
		m.fail(n, "cannot get %s from %T", n.text, v)
	}
	m.spend(n, len(members))
	out := make([]any, 0, len(members))
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if n.text == "keys" {
			out = append(out, key)
		} else {
			out = append(out, members[key])
		}
	}
	return out
}

// extreme returns the least or greatest of numbers and of the numbers in lists, nil if there is none. A single argument that
// is neither is what it returns.
func (m *machine) extreme(n *node, worse operator, args []any) any {
	var best any
	for _, v := range args {
		switch v.(type) {
		case int, uint8, float64:
			best = m.better(n, worse, best, v)
		case []int:
			best = m.better(n, worse, best, m.extremeOf(n, worse, nil, v))
		case []any, []string, []byte:
			best = m.extremeOf(n, worse, best, v)
		default:
			if len(args) == 1 && !m.strict {
				return v
			}
			m.fail(n, "invalid argument for %s (type %T)", n.text, v)
		}
	}
	return best
}

// extremeOf is extreme for a list and what was the best before it. That need not be the best of the two bests: nothing is
// better or worse than what is no number.
func (m *machine) extremeOf(n *node, worse operator, best, list any) any {
	length, _ := lengthOf(list)
	for i := range length {
		m.spend(n, 1)
		v := itemOf(list, i)
		switch v.(type) {
		case int, uint8, float64:
		case []any, []int, []string, []byte:
			v = m.extremeOf(n, worse, nil, v)
		default:
			m.fail(n, "invalid argument for %s (type %T)", n.text, v)
		}
		best = m.better(n, worse, best, v)
	}
	return best
}

func (m *machine) better(n *node, worse operator, best, v any) any {
	switch {
	case v == nil:
		return best
	case best == nil || m.ordered(n, worse, best, v):
		return v
	}
	return best
}

// printed returns about how long a value is as a text, and pays for looking at all in it.
func (m *machine) printed(n *node, v any) int {
	m.spend(n, 1)
	size := 32
	switch v := v.(type) {
	case string:
		size = len(v)
	case Number:
		size = len(v.text)
	case map[string]any:
		for key, value := range v {
			size += len(key) + m.printed(n, value)
		}
	case []byte:
		size += 4 * len(v)
	case []any, []string, []int:
		length, _ := lengthOf(v)
		for i := range length {
			size += m.printed(n, itemOf(v, i))
		}
	}
	return size
}

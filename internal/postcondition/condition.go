package postcondition

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"sallyport/internal/canon"
	"sallyport/internal/cond"
)

// Condition is an expression that must hold, in the language of cond.CompileNames. It is immutable and safe for concurrent
// use.
type Condition struct {
	source string
	expr   *cond.Expr
	names  []string // that it looks at, sorted
}

// Compile reads an expression that may use the names given, besides the functions of the language. An error is a *cond.Error.
func Compile(source string, names []string) (*Condition, error) {
	expr, err := cond.CompileNames(source, names)
	if err != nil {
		return nil, err
	}
	c := &Condition{source: source, expr: expr}
	for _, name := range names {
		if expr.Look(name) != nil {
			c.names = append(c.names, name)
		}
	}
	slices.Sort(c.names)
	c.names = slices.Compact(c.names)
	return c, nil
}

// Source is the expression as it was written.
func (c *Condition) Source() string { return c.source }

// Names are the names that the condition looks at, sorted.
func (c *Condition) Names() []string { return slices.Clone(c.names) }

// Members are the members that the condition looks at of what a name stands for, sorted; all says that it may look at any.
func (c *Condition) Members(name string) (members []string, all bool) {
	look := c.expr.Look(name)
	if look == nil {
		return nil, false
	}
	return slices.Sorted(maps.Keys(look.Members)), look.All || look.Items != nil
}

// Holds evaluates the condition. An error means that it cannot be told: what was observed has another shape than the
// condition expects, is too large, or has numbers that cannot be compared. It quotes no values.
func (c *Condition) Holds(values Values) (bool, error) {
	n := conversion{items: maxItems}
	env := make(map[string]any, len(c.names))
	for _, name := range c.names {
		n.text = maxText
		v, err := n.value(values[name], c.expr.Look(name))
		if err != nil {
			return false, fmt.Errorf("reading %s: %w", name, err)
		}
		env[name] = v
	}
	holds, err := c.expr.Eval(env)
	if err != nil {
		return false, fmt.Errorf("evaluating the condition: %w", err)
	}
	return holds, nil
}

// What a condition may look at: a ledger of some thousand notes, and a file beside what was written to it.
const (
	maxText  = 1 << 20 // bytes of JSON, of each name
	maxItems = 20_000  // values, those in others counted too, of all names together
)

// The errors of values that a condition is not given.
var (
	errTooLarge = errors.New("it is too large for a condition, which sees 1 MiB of each name and 20000 values")
	errTwice    = errors.New("it has the same member twice")
)

// conversion makes of JSON what an expression works with, as far as its budget goes.
type conversion struct{ text, items int }

// everything is the part that is all of a value.
var everything = &cond.Look{All: true}

// value converts what a condition looks at of a value. Of an object of which it looks at some members only, the others are
// left out, and so in the elements of an array.
func (n *conversion) value(v canon.Value, look *cond.Look) (any, error) {
	n.items--
	kind := v.Kind()
	container := kind == canon.Array || kind == canon.Object
	if n.items < 0 || (look.All || !container) && len(v.Bytes()) > n.text {
		return nil, errTooLarge
	}
	if !container {
		n.text -= len(v.Bytes())
	}
	switch kind {
	case canon.Array:
		return n.list(v, look)
	case canon.Object:
		return n.members(v, look)
	case canon.Bool:
		b, _ := v.Bool()
		return b, nil
	case canon.String:
		s, _ := v.Text()
		return s, nil
	case canon.Number:
		return cond.ParseNumber(string(v.Bytes())), nil
	}
	return nil, nil
}

func (n *conversion) list(v canon.Value, look *cond.Look) (any, error) {
	inner := look.Items
	if look.All {
		inner = everything
	}
	list := []any{}
	if inner == nil { // the condition takes it for something else, and fails
		return list, nil
	}
	for e := range v.Elements() {
		converted, err := n.value(e, inner)
		if err != nil {
			return nil, err
		}
		list = append(list, converted)
	}
	return list, nil
}

func (n *conversion) members(v canon.Value, look *cond.Look) (any, error) {
	members := map[string]any{}
	for key, e := range v.Members() {
		inner := everything
		if !look.All {
			if inner = look.Members[key]; inner == nil {
				continue
			}
		}
		if n.text -= len(key); n.text < 0 {
			return nil, errTooLarge
		}
		if _, twice := members[key]; twice {
			return nil, errTwice
		}
		converted, err := n.value(e, inner)
		if err != nil {
			return nil, err
		}
		members[key] = converted
	}
	return members, nil
}

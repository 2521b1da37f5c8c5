package policy

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"sallyport/internal/canon"
	"sallyport/internal/cond"
	"sallyport/internal/effects"
)

// condition is a rule's "when". It is compiled when it is first needed.
type condition struct {
	source string
	get    func() (*cond.Expr, error)
}

func newCondition(source string) *condition {
	return &condition{source: source, get: sync.OnceValues(func() (*cond.Expr, error) { return cond.Compile(source) })}
}

// check evaluates the condition. One that looks at effects holds for an allowing rule only if all of them can be read; for
// any other rule it may hold if one cannot.
func (w *condition) check(c *call, allows bool) answer {
	e, err := w.get()
	if err != nil {
		return failed
	}
	if e.Effects() && allows && !c.readable() {
		return failed
	}
	env, err := c.environment(e)
	if err != nil {
		return failed
	}
	holds, err := e.Eval(env)
	switch {
	case err != nil:
		return failed
	case holds:
		return yes
	case e.Effects() && c.anyOpaque():
		return perhaps
	}
	return no
}

// maxConditionText is how much a condition is given of the arguments, in bytes of all strings together.
const maxConditionText = 64 << 10

// environment returns what the names in a condition stand for. It is made once for a call; of the arguments it has those
// that were asked for so far.
func (c *call) environment(e *cond.Expr) (map[string]any, error) {
	if c.env == nil {
		r := c.req
		c.env = map[string]any{
			"principal": map[string]any{"name": r.Principal, "tenant": r.Tenant},
			"tool":      r.Tool,
			"method":    r.Method,
			"host":      r.Host,
			"session":   r.Session,
			"workspace": c.world().Workspace,
			"home":      "",
		}
		if homes := c.world().Homes; len(homes) > 0 {
			c.env["home"] = homes[0]
		}
	}
	if e.Effects() && c.env["effects"] == nil {
		c.env["effects"] = effectLists(c.req.Effects)
	}
	if e.Effects() && longest(c.env["effects"].(map[string]any)) > e.MaxItems() {
		return nil, tooLarge{}
	}
	return c.env, c.addArgs(e)
}

// addArgs converts the arguments that an expression looks at.
func (c *call) addArgs(e *cond.Expr) error {
	names, all := e.Args()
	if !all && len(names) == 0 {
		return nil
	}
	conversion := conversion{text: maxConditionText, items: e.MaxItems()}
	args := c.req.Args
	if args.Kind() != canon.Object || all {
		v, err := conversion.value(args)
		if args.Kind() == canon.Absent {
			v = map[string]any{}
		}
		c.env["args"] = v
		return err
	}
	members := make(map[string]any, len(names))
	for _, name := range names {
		if v := args.Get(name); v.Exists() {
			converted, err := conversion.value(v)
			if err != nil {
				return err
			}
			members[name] = converted
		}
	}
	c.env["args"] = members
	return nil
}

// conversion makes of JSON what an expression works with, as far as its budget goes.
type conversion struct{ text, items int }

// tooLarge is the error for what no condition is given.
type tooLarge struct{}

func (tooLarge) Error() string { return "the call is too large for a condition" }

// value converts a value. An integer that does not fit into 64 bits, and a number that no float can be, is the text that
// JSON has for it: it loses no digits, and compares with no number.
func (n *conversion) value(v canon.Value) (any, error) {
	n.items--
	n.text -= len(v.Bytes())
	if n.items < 0 || n.text < 0 {
		return nil, tooLarge{}
	}
	switch v.Kind() {
	case canon.Bool:
		b, _ := v.Bool()
		return b, nil
	case canon.String:
		s, _ := v.Text()
		return s, nil
	case canon.Number:
		return number(v), nil
	case canon.Array:
		list := []any{}
		n.text += len(v.Bytes()) // its elements count
		for e := range v.Elements() {
			converted, err := n.value(e)
			if err != nil {
				return nil, err
			}
			list = append(list, converted)
		}
		return list, nil
	case canon.Object:
		members := map[string]any{}
		n.text += len(v.Bytes())
		for key, e := range v.Members() {
			converted, err := n.value(e)
			if err != nil {
				return nil, err
			}
			n.text -= len(key)
			members[key] = converted
		}
		return members, nil
	default:
		return nil, nil
	}
}

func number(v canon.Value) any {
	if i, ok := v.Int(); ok {
		return int(i)
	}
	text := string(v.Bytes())
	if !strings.ContainsAny(text, ".eE") {
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return f
}

// effectLists returns the effects as conditions see them: commands with their words between spaces, paths in all their
// forms, hosts, kinds of agents. The * and ? of a shell pattern are these characters in it; what is not known is U+FFFD.
func effectLists(all []effects.Effect) map[string]any {
	lists := map[effects.Kind][]string{}
	for i := range all {
		e := &all[i]
		if e.Opaque != "" {
			continue
		}
		switch e.Kind {
		case effects.Run:
			words := make([]string, len(e.Command.Words))
			for i, w := range e.Command.Words {
				words[i] = known(w.Text)
			}
			lists[e.Kind] = append(lists[e.Kind], strings.Join(words, " "))
		case effects.Read, effects.Write:
			for _, form := range e.Path.Forms {
				lists[e.Kind] = append(lists[e.Kind], known(form))
			}
		case effects.Connect:
			lists[e.Kind] = append(lists[e.Kind], known(e.Host))
		case effects.Spawn:
			lists[e.Kind] = append(lists[e.Kind], e.Agent)
		}
	}
	env := make(map[string]any, len(kinds))
	for _, kind := range kinds {
		list := lists[kind]
		if list == nil {
			list = []string{}
		}
		env[kind.String()] = list
	}
	return env
}

// longest returns how many items the longest list of effects has.
func longest(lists map[string]any) int {
	most := 0
	for _, list := range lists {
		if list, ok := list.([]string); ok {
			most = max(most, len(list))
		}
	}
	return most
}

var kinds = [...]effects.Kind{effects.Run, effects.Read, effects.Write, effects.Connect, effects.Spawn}

// Bytes that stand for what is not known in words and paths (package effects).
const (
	anyName = '\xfe' // the * of a shell pattern
	anyRune = '\xfd' // the ? of a shell pattern
)

// known replaces what is not known in a word or a path.
func known(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	shown := make([]byte, 0, len(text)+8)
	for _, b := range []byte(text) {
		switch b {
		case anyName:
			shown = append(shown, '*')
		case anyRune:
			shown = append(shown, '?')
		default:
			shown = append(shown, b)
		}
	}
	return strings.ToValidUTF8(string(shown), "\uFFFD")
}

// readable reports whether all effects of the call are fully known.
func (c *call) readable() bool {
	for i := range c.req.Effects {
		e := &c.req.Effects[i]
		if e.Opaque != "" || known(e.Host) != e.Host {
			return false
		}
		for _, form := range e.Path.Forms {
			if known(form) != form {
				return false
			}
		}
		if e.Command == nil {
			continue
		}
		for _, w := range e.Command.Words {
			if w.Splits || known(w.Text) != w.Text {
				return false
			}
		}
	}
	return true
}

// anyOpaque reports whether an effect of the call cannot be read.
func (c *call) anyOpaque() bool {
	for i := range c.req.Effects {
		if c.req.Effects[i].Opaque != "" {
			return true
		}
	}
	return false
}

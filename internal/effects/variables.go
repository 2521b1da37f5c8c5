package effects

import (
	"slices"
	"strings"
)

// texts are the texts that something may be: a variable, the output of a command. Parts that are not known are the bytes
// that stand for them in paths.
type texts []string

const (
	// maxTold is how many texts are told apart where they are put together.
	maxTold = 16

	// maxOutput is how long a text may become that is put together.
	maxOutput = 64 << 10
)

var unknownTexts = texts{unknownText}

// isUnknown reports whether nothing is known of a text.
func isUnknown(text string) bool {
	return text != "" && len(text) < 3 && (text[0] == unknownText[0] || text[0] == listedText[0]) && (len(text) == 1 || text[1] == '\n')
}

// add returns the texts with one more.
func (t texts) add(text string) texts {
	if slices.Contains(t, text) {
		return t
	}
	return append(slices.Clip(t), text)
}

// then returns each of the texts with each of the others behind it.
func (t texts) then(others texts) texts {
	if len(t) == 0 {
		return others
	}
	if len(others) == 1 && others[0] == "" {
		return t
	}
	if len(t)*len(others) > maxTold {
		return unknownTexts
	}
	joined := make(texts, 0, len(t)*len(others))
	for _, text := range t {
		for _, other := range others {
			if len(text)+len(other) > maxOutput {
				return unknownTexts
			}
			joined = append(joined, text+other)
		}
	}
	return joined
}

// value is what a variable may hold.
type value []content

// content is what a variable holds: a text, or the elements of an array in their order.
type content struct {
	text     string
	elements []string
	array    bool
	refers   bool // it is a name reference, and the text the other variable's name
	many     bool // there were too many values to tell them apart
}

func (c content) equal(d content) bool {
	return c.text == d.text && c.array == d.array && c.refers == d.refers && c.many == d.many && slices.Equal(c.elements, d.elements)
}

// textOf returns a value that is one of texts.
func textOf(texts ...string) value {
	v := make(value, len(texts))
	for i, text := range texts {
		v[i].text = text
	}
	return v
}

var (
	unknownValue = textOf(unknownText)
	tooMany      = value{{text: unknownText, many: true}}
)

// or returns a value that is one of two; if those are too many, one that is not known.
func (v value) or(w value) (union value, all bool) {
	if len(v) > 0 && v[0].many || len(w) > 0 && w[0].many {
		return tooMany, true // that was said when they became too many
	}
	union = slices.Clip(v)
	for _, c := range w {
		if !slices.ContainsFunc(v, c.equal) {
			union = append(union, c)
		}
	}
	if len(union) > maxValues {
		return tooMany, false
	}
	return union, true
}

// variables are those of a shell that the text has set. What is changed while a mark stands can be taken back, or can be
// made one of several possibilities.
type variables struct {
	values  map[string]value
	marks   int
	changes []change
	locals  []change // of the functions that are being followed
}

// change is what a variable held before.
type change struct {
	name string
	old  value
	had  bool
}

func (v *variables) get(name string) (value, bool) {
	held, ok := v.values[name]
	return held, ok
}

func (v *variables) set(name string, to value) {
	if v.values == nil {
		v.values = map[string]value{}
	}
	if v.marks > 0 {
		old, had := v.values[name]
		v.changes = append(v.changes, change{name, old, had})
	}
	v.values[name] = to
}

func (v *variables) unset(name string) {
	v.restore(name, nil, false)
}

// restore gives a variable what it held before.
func (v *variables) restore(name string, old value, had bool) {
	if had {
		v.set(name, old)
		return
	}
	if _, has := v.values[name]; has {
		v.set(name, nil)
		delete(v.values, name)
	}
}

// enter begins a function, whose local variables are forgotten when it is left.
func (v *variables) enter() (mark int) { return len(v.locals) }

// local says that the function has a variable of its own.
func (v *variables) local(name string) {
	old, had := v.values[name]
	v.locals = append(v.locals, change{name, old, had})
}

func (v *variables) leave(mark int) {
	for _, c := range slices.Backward(v.locals[mark:]) {
		v.restore(c.name, c.old, c.had)
	}
	v.locals = v.locals[:mark]
}

// mark remembers the state. Each mark is given to either rollBack or weaken.
func (v *variables) mark() (mark int) {
	v.marks++
	return len(v.changes)
}

// rollBack takes back what was changed since the mark.
func (v *variables) rollBack(mark int) {
	for _, c := range slices.Backward(v.changes[mark:]) {
		if c.had {
			v.values[c.name] = c.old
		} else {
			delete(v.values, c.name)
		}
	}
	v.changes = v.changes[:mark]
	v.marks--
}

// changed returns the variables that were set since a mark.
func (v *variables) changed(mark int) map[string]bool {
	if len(v.changes) == mark {
		return nil
	}
	names := make(map[string]bool, len(v.changes)-mark)
	for _, c := range v.changes[mark:] {
		names[c.name] = true
	}
	return names
}

// weaken says that what was changed since the mark may not have happened, or only in part: a variable holds any value
// that it had. It reports whether some had too many.
func (v *variables) weaken(mark int) (all bool) {
	v.marks--
	all = true
	changed := v.changes[mark:]
	if len(changed) == 0 {
		return true
	}
	joined := make(map[string]value, len(changed))
	first := changed[:0] // of each variable what it held before all of that is enough from now on
	for _, c := range changed {
		old := c.old
		if !c.had {
			old = absent(c.name)
		}
		before, seen := joined[c.name]
		if !seen {
			joined[c.name] = old
			first = append(first, c)
			continue
		}
		union, fits := before.or(old)
		joined[c.name], all = union, all && fits
	}
	for _, c := range first {
		now, has := v.get(c.name)
		if !has {
			now = absent(c.name)
		}
		union, fits := joined[c.name].or(now)
		all = all && fits
		v.values[c.name] = union
	}
	v.changes = v.changes[:mark+len(first)]
	if v.marks == 0 {
		v.changes = v.changes[:0]
	}
	return all
}

// absent returns what a variable holds that the text has not set: nothing, but for those that every environment has.
func absent(name string) value {
	if isFromSystem(name) {
		return unknownValue
	}
	return textOf("")
}

// isFromSystem reports whether a variable is one that an environment usually has.
func isFromSystem(name string) bool {
	switch name {
	case "HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "BASH", "PATH", "EDITOR", "VISUAL", "PAGER", "BROWSER", "TMPDIR",
		"TERM", "LANG", "HOSTNAME", "IFS", "_", "PS1", "PS4", "ENV", "BASH_ENV":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// choices are the decisions that one way to expand a command takes, where there are several.
type choices struct {
	made []choice
	at   int
	held []holding
}

type choice struct{ taken, of int }

// holding is a variable for which a value was chosen: the same for the whole command.
type holding struct {
	name  string
	taken int
}

// choose takes one of n possibilities.
func (c *choices) choose(n int) int {
	if n <= 1 {
		return 0
	}
	if c.at == len(c.made) {
		c.made = append(c.made, choice{0, n})
	}
	c.at++
	return c.made[c.at-1].taken
}

// hold takes one of the n values of a variable.
func (c *choices) hold(name string, n int) int {
	if n <= 1 {
		return 0
	}
	for _, h := range c.held {
		if h.name == name {
			return min(h.taken, n-1)
		}
	}
	taken := c.choose(n)
	c.held = append(c.held, holding{name, taken})
	return taken
}

// next goes on to the next way; false if there is none.
func (c *choices) next() bool {
	c.made = c.made[:min(c.at, len(c.made))]
	c.at, c.held = 0, c.held[:0]
	for len(c.made) > 0 {
		last := &c.made[len(c.made)-1]
		if last.taken++; last.taken < last.of {
			return true
		}
		c.made = c.made[:len(c.made)-1]
	}
	return false
}

package effects

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arguments are the positional parameters.
type arguments struct {
	known bool
	words []Word
	some  bool   // the words are known, but not which of them were taken away
	name  string // $0
}

// parameterValue is what a parameter holds: one text, or the elements of a list.
type parameterValue struct {
	texts []string
	list  bool // of which each is a word of its own within double quotes
	split bool // nobody knows how many the elements are
	set   bool // the text has set it, or it always is
}

// parameter adds what $name or ${name…} expands to.
func (s *shell) parameter(f *fields, p *syntax.ParamExp, quoted bool) {
	v := s.held(p)
	if p.Exp != nil {
		if s.alternative(f, p.Exp, &v, quoted) {
			s.assignDefault(p)
			return
		}
	}
	v.texts = s.changed(p, v)
	s.addParameter(f, v, quoted)
}

// assignDefault sets a variable as ${name:=word} does it where that is unset.
func (s *shell) assignDefault(p *syntax.ParamExp) {
	if p.Param == nil || p.Exp.Op != syntax.AssignUnset && p.Exp.Op != syntax.AssignUnsetOrNull || !isName(p.Param.Value) {
		return
	}
	if text, known := s.constant(p.Exp.Word); known {
		s.vars.set(p.Param.Value, textOf(text))
	} else {
		s.vars.set(p.Param.Value, textOf(text, unknownText))
	}
}

// addParameter adds the texts of a parameter.
func (s *shell) addParameter(f *fields, v parameterValue, quoted bool) {
	for _, text := range v.texts {
		s.work -= 1 + len(text)/16
	}
	if s.work < 0 {
		v.texts, v.split = unknownTexts, true
	}
	if quoted && !v.list && len(v.texts) != 1 {
		f.add(strings.Join(v.texts, " "))
		return
	}
	separators := ""
	if !quoted {
		separators = s.separators()
	}
	for i, text := range v.texts {
		if i > 0 {
			f.end()
		}
		if text == numberText {
			f.number("")
		} else if quoted {
			f.add(text)
			f.splits = f.splits || v.split
		} else {
			f.split(text, separators)
		}
	}
}

// held returns what a parameter holds before anything is done with it.
func (s *shell) held(p *syntax.ParamExp) parameterValue {
	switch {
	case p.Param == nil, p.Flags != nil, p.IsSet, p.Names != 0, p.NestedParam != nil:
		return parameterValue{texts: unknownTexts, list: p.Names != 0, split: true, set: true}
	case p.Length, p.Width:
		return parameterValue{texts: texts{numberText}, set: true}
	}
	name := p.Param.Value
	if p.Excl {
		if p.Index != nil { // ${!a[@]}: the keys
			return parameterValue{texts: texts{numberText}, set: true}
		}
		v := s.named(name, nil)
		if name = strings.Join(v.texts, " "); !isName(name) {
			return parameterValue{texts: unknownTexts, set: true}
		}
	}
	return s.named(name, p.Index)
}

// isName reports whether a text is a name of a variable, or a number or sign that is one.
func isName(text string) bool {
	if text == "" || len(text) > 100 {
		return false
	}
	for i := range len(text) {
		c := text[i] | 0x20
		if c != '_'|0x20 && (c < 'a' || c > 'z') && (text[i] < '0' || text[i] > '9') {
			return text == "@" || text == "*"
		}
	}
	return true
}

// named returns what a name stands for.
func (s *shell) named(name string, index syntax.ArithmExpr) parameterValue {
	switch name {
	case "@", "*":
		return s.positional(name == "@")
	case "?", "#", "$", "!", "-":
		return parameterValue{texts: texts{numberText}, set: true}
	case "0":
		return parameterValue{texts: texts{s.args.name}, set: s.args.name != ""}.orUnknown()
	}
	if n, err := strconv.Atoi(name); err == nil && n > 0 {
		switch {
		case s.args.some && len(s.args.words) > 0:
			i := s.choices.hold(name, len(s.args.words))
			return parameterValue{texts: texts{s.args.words[i].Text}, set: true}
		case !s.args.known:
			return parameterValue{texts: unknownTexts}
		case n > len(s.args.words):
			return parameterValue{texts: texts{""}, set: true}
		}
		return parameterValue{texts: texts{s.args.words[n-1].Text}, set: true}
	}
	for range 8 { // names that refer to others
		held, ok := s.vars.get(name)
		if !ok || len(held) == 0 {
			return s.environment(name)
		}
		c := held[s.choices.hold(name, len(held))]
		if !c.refers {
			return s.element(c, index)
		}
		name = c.text
	}
	return parameterValue{texts: unknownTexts}
}

// orUnknown makes an empty text one that is not known.
func (v parameterValue) orUnknown() parameterValue {
	if !v.set {
		v.texts = unknownTexts
	}
	return v
}

// positional returns the arguments of the text, or of the function.
func (s *shell) positional(list bool) parameterValue {
	if !s.args.known {
		return parameterValue{texts: unknownTexts, list: list, split: true}
	}
	found := make([]string, len(s.args.words))
	split := false
	for i, word := range s.args.words {
		found[i] = word.Text
		split = split || word.Splits
	}
	return parameterValue{texts: found, list: list, split: split, set: true}
}

// element returns the element of what a variable holds, or all of them.
func (s *shell) element(c content, index syntax.ArithmExpr) parameterValue {
	all := c.elements
	if !c.array {
		all = texts{c.text}
	}
	word, _ := index.(*syntax.Word)
	switch {
	case index == nil && len(all) == 0:
		return parameterValue{texts: texts{""}, set: true}
	case index == nil:
		return parameterValue{texts: all[:1], set: true}
	case word != nil && (word.Lit() == "@" || word.Lit() == "*"):
		split := slices.Contains(all, unknownText)
		return parameterValue{texts: all, list: word.Lit() == "@", split: split, set: true}
	}
	if n, err := strconv.Atoi(arithmetic(index)); err == nil && n < len(all) {
		return parameterValue{texts: all[n : n+1], set: true}
	}
	if len(all) == 0 {
		return parameterValue{texts: texts{""}, set: true}
	}
	n := s.choices.choose(len(all))
	return parameterValue{texts: all[n : n+1], set: true}
}

// environment returns what is known of a variable that the text does not set.
func (s *shell) environment(name string) parameterValue {
	known := func(text string) parameterValue {
		if text == "" {
			text = unknownText
		}
		return parameterValue{texts: texts{text}, set: true}
	}
	switch name {
	case "HOME":
		if len(s.world.Homes) == 1 {
			return known(s.world.Homes[0])
		}
		return known("~") // whoever resolves the path knows them all
	case "PWD":
		here := s.folders.here()
		return known(here[s.choices.hold(name, len(here))])
	case "OLDPWD":
		if before := s.folders.before; len(before) > 0 {
			return known(before[s.choices.hold(name, len(before))])
		}
		return known(unknownText)
	case "USER", "LOGNAME":
		return known(s.world.User)
	case "SHELL", "BASH":
		return known("/bin/bash")
	case "IFS":
		return known(" \t\n")
	case "UID", "EUID", "PPID", "BASHPID", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "COLUMNS", "LINES", "SHLVL", "EPOCHSECONDS",
		"OPTIND", "HISTCMD", "GROUPS":
		return known(numberText)
	}
	return parameterValue{texts: unknownTexts}
}

// variable returns what a variable holds, in the way that is chosen.
func (s *shell) variable(name string) string {
	return strings.Join(s.named(name, nil).texts, " ")
}

// alternative judges the ${name:-word} kinds of expansion; done says that the word is what it gives.
func (s *shell) alternative(f *fields, exp *syntax.Expansion, v *parameterValue, quoted bool) (done bool) {
	text := strings.Join(v.texts, " ")
	empty := text == "" && (v.set || len(v.texts) == 0)
	switch exp.Op {
	case syntax.DefaultUnset, syntax.AssignUnset:
		empty = empty && !v.set
	case syntax.DefaultUnsetOrNull, syntax.AssignUnsetOrNull:
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if v.set && text != "" && !isUnknown(text) {
			s.word(f, exp.Word, quoted)
			return true
		}
		if !empty && s.choices.choose(2) == 0 {
			s.word(f, exp.Word, quoted)
		}
		return true
	default:
		return false
	}
	switch {
	case empty:
	case v.set && !isUnknown(text):
		return false
	case f.isCommand(): // nobody writes ${GO:-go} to have something else run
	case s.choices.choose(2) == 1:
		return false
	}
	s.word(f, exp.Word, quoted)
	return true
}

// word adds what a word within an expansion expands to.
func (s *shell) word(f *fields, word *syntax.Word, quoted bool) {
	if word != nil {
		blanks := f.blanks
		f.blanks = !quoted
		s.parts(f, s.tilde(f, word.Parts), quoted)
		f.blanks = blanks
	}
}

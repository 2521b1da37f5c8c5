package effects

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin does what a command changes in the shell itself, and reads the code in words that bash expands once more.
func (s *shell) builtin(program string, words []Word) {
	args := words[1:]
	switch program {
	case "set":
		s.setArguments(args)
	case "shift":
		s.shift(args)
	case "unset":
		s.documents(args)
		for _, w := range args {
			s.vars.unset(w.Text)
		}
	case "read":
		s.documents(args)
		s.readLines(words)
	case "mapfile", "readarray":
		s.documents(args)
		if name := args[max(len(args)-1, 0):]; len(name) > 0 && isName(name[0].Text) {
			s.assign(name[0].Text, value{{array: true, elements: s.lines()}}, false)
		} else {
			s.assign("MAPFILE", value{{array: true, elements: s.lines()}}, false)
		}
	case "getopts":
		s.documents(args)
		if len(args) > 1 && isName(args[1].Text) {
			s.assign(args[1].Text, unknownValue, false)
			s.assign("OPTARG", unknownValue, false)
		}
	case "printf":
		s.printInto(args)
	case "let", "wait":
		s.documents(args)
	case "test", "[":
		s.testWords(args)
	case "local", "declare", "typeset", "export", "readonly": // behind builtin and its like
		s.declareWords(program, args)
	case "alias":
		s.setAliases(args)
	case "cp", "ln", "mv", "install":
		s.copies(args)
	case "hash":
		if len(args) == 3 && args[0].Text == "-p" { // hash -p PATH NAME
			s.setAliases([]Word{{Text: args[2].Text + "=" + args[1].Text}})
		}
	case "return":
		if s.inCalls > 0 {
			s.returned = eitherFolders(s.returned, s.folders.here())
			s.folders.now, s.folders.failed = nil, nil
		}
	default:
		s.moves(program, words)
	}
}

// documents reads the code in words.
func (s *shell) documents(words []Word) {
	for _, w := range words {
		s.document(w.Text)
	}
}

// setArguments does what set changes: the arguments.
func (s *shell) setArguments(args []Word) {
	for len(args) > 0 {
		text := args[0].Text
		if text == "--" || text == "-" {
			args = args[1:]
			break
		}
		if text == "" || text[0] != '-' && text[0] != '+' {
			break
		}
		if args = args[1:]; text[len(text)-1] == 'o' && len(args) > 0 { // -o pipefail, -euo pipefail
			args = args[1:]
		}
		if len(args) == 0 {
			return
		}
	}
	s.args = arguments{known: true, words: args, name: s.args.name}
	for _, w := range args {
		if w.Splits {
			s.args.known = false
		}
	}
}

// shift takes arguments away.
func (s *shell) shift(args []Word) {
	if s.args.some {
		return
	}
	n := 1
	if len(args) > 0 {
		if n = len(args[0].Text); n != 1 || args[0].Text[0] < '0' || args[0].Text[0] > '9' {
			s.args = arguments{name: s.args.name}
			return
		}
		n = int(args[0].Text[0] - '0')
	}
	s.args.words = s.args.words[min(n, len(s.args.words)):]
}

// printInto does what printf -v changes.
func (s *shell) printInto(args []Word) {
	if len(args) == 0 || !strings.HasPrefix(args[0].Text, "-v") {
		return
	}
	name := args[0].Text[2:]
	args = args[1:]
	if name == "" {
		if len(args) == 0 {
			return
		}
		name, args = args[0].Text, args[1:]
	}
	s.document(name)
	said := printed(args)
	s.assign(name, textOf(said.texts()...), false)
}

// testWords reads the code in what test takes for a variable's name.
func (s *shell) testWords(args []Word) {
	for i, w := range args {
		if (w.Text == "-v" || w.Text == "-R") && i+1 < len(args) {
			s.document(args[i+1].Text)
		}
	}
}

// setAliases notes what words stand for from now on.
func (s *shell) setAliases(args []Word) {
	for _, w := range args {
		name, text, found := strings.Cut(w.Text, "=")
		if !found || strings.HasPrefix(name, "-") {
			continue
		}
		if s.aliases == nil {
			s.aliases = map[string]string{}
		}
		s.aliases[name] = text
	}
}

// declare reads export, declare and their like.
func (s *shell) declare(cmd *syntax.DeclClause) {
	refers := cmd.Variant.Value == "nameref"
	for _, a := range cmd.Args {
		if a.Naked && a.Value != nil {
			s.prepare(a.Value)
			s.eachWay(func() {
				f := fields{}
				s.expandWord(&f, a.Value)
				choices := s.choices
				for _, w := range f.words {
					refers = refers || len(w.Text) > 1 && w.Text[0] == '-' && strings.Contains(w.Text, "n") && !strings.HasPrefix(w.Text, "--")
				}
				s.declareWords(cmd.Variant.Value, f.words)
				s.choices = choices
			})
			continue
		}
		if a.Name == nil {
			continue
		}
		s.declareLocal(cmd.Variant.Value, a.Name.Value)
		if a.Naked {
			s.arithm(a.Index)
			continue
		}
		s.assignment(a, refers)
	}
	s.folders.stay()
}

// declareLocal notes the variables that are a function's own.
func (s *shell) declareLocal(variant, name string) {
	if s.inCalls > 0 && variant != "export" && variant != "readonly" {
		s.vars.local(name)
	}
}

// declareWords reads the words of export and its like that are known only when they are expanded.
func (s *shell) declareWords(variant string, words []Word) {
	for _, w := range words {
		name, text, found := strings.Cut(w.Text, "=")
		if strings.Contains(w.Text, "[") {
			s.document(w.Text)
		}
		if !isName(name) || strings.HasPrefix(name, "-") {
			continue
		}
		s.declareLocal(variant, name)
		if found {
			s.assign(name, textOf(text), false)
		}
	}
}

// assignment reads an assignment as a command of its own.
func (s *shell) assignment(a *syntax.Assign, refers bool) {
	to := s.assigned(a)
	if a.Name == nil {
		return
	}
	if a.Index != nil {
		s.assignElement(a.Name.Value, a.Index, to)
		return
	}
	if refers {
		for i := range to {
			to[i].refers = true
		}
	}
	s.assign(a.Name.Value, to, a.Append)
}

// assigned returns the value that an assignment gives.
func (s *shell) assigned(a *syntax.Assign) value {
	s.arithm(a.Index)
	if a.Array != nil {
		return s.array(a.Array)
	}
	s.prepare(a.Value)
	isRun := a.Name != nil && variableUse(a.Name.Value) == 's'
	return textOf(s.one(a.Value, isRun)...)
}

// array returns the value of NAME=(…).
func (s *shell) array(array *syntax.ArrayExpr) value {
	for _, elem := range array.Elems {
		s.arithm(elem.Index)
		s.prepare(elem.Value)
	}
	var held value
	s.eachWay(func() {
		f := fields{}
		for _, elem := range array.Elems {
			if elem.Value != nil {
				s.expandWord(&f, elem.Value)
			}
		}
		if len(f.words) > maxWords {
			f.words = []Word{{Text: unknownText}}
		}
		c := content{array: true, elements: make([]string, len(f.words))}
		for i, w := range f.words {
			c.elements[i] = w.Text
		}
		held, _ = held.or(value{c})
	})
	return held
}

// assignElement sets one element of an array. Which one it is does not matter: any may be asked for.
func (s *shell) assignElement(name string, index syntax.ArithmExpr, to value) {
	held, _ := s.vars.get(name)
	if name == "BASH_CMDS" || name == "BASH_ALIASES" {
		s.hashed(index, to)
	}
	if s.replaceElement(name, index, to) {
		return
	}
	c := content{array: true}
	if len(held) > 0 {
		c.elements = held[0].elements
		if !held[0].array && held[0].text != "" {
			c.elements = []string{held[0].text}
		}
	}
	for _, t := range to {
		c.elements = append(c.elements[:len(c.elements):len(c.elements)], t.text)
		s.judgeText(t.text)
	}
	if len(c.elements) > maxValues {
		c.elements = unknownTexts
	}
	s.vars.set(name, value{c})
}

// replaceElement sets the element of an array that is there, if it is known which one that is.
func (s *shell) replaceElement(name string, index syntax.ArithmExpr, to value) (done bool) {
	held, _ := s.vars.get(name)
	n, err := strconv.Atoi(arithmetic(index))
	if err != nil || len(held) != 1 || len(held[0].all()) <= n {
		return false
	}
	var changed value
	for _, t := range to {
		c := content{array: true, elements: slices.Clone(held[0].all())}
		c.elements[n] = t.text
		changed = append(changed, c)
		s.judgeText(t.text)
	}
	s.vars.set(name, changed)
	return true
}

// hashed notes what a name stands for from now on: BASH_CMDS[NAME]=PATH.
func (s *shell) hashed(index syntax.ArithmExpr, to value) {
	word, ok := index.(*syntax.Word)
	if !ok || word.Lit() == "" {
		return
	}
	for _, t := range to {
		s.setAliases([]Word{{Text: word.Lit() + "=" + t.text}})
	}
}

// assign sets a variable, and judges what that may have run.
func (s *shell) assign(name string, to value, adds bool) {
	held, _ := s.vars.get(name)
	if len(held) == 1 && held[0].refers {
		name = held[0].text
		held, _ = s.vars.get(name)
	}
	if adds {
		to = held.plus(to)
	}
	s.judgeVariable(name, to)
	s.vars.set(name, to)
}

// plus returns a value to which another is added.
func (v value) plus(w value) value {
	if len(v) == 0 {
		return w
	}
	if len(v)*len(w) > maxTold {
		return unknownValue
	}
	var sum value
	for _, c := range v {
		for _, d := range w {
			switch {
			case c.array || d.array:
				first, second := c.all(), d.all()
				joined := append(first[:len(first):len(first)], second...)
				if len(joined) > maxWords {
					joined = unknownTexts
				}
				sum = append(sum, content{array: true, elements: joined})
			case len(c.text)+len(d.text) > maxOutput:
				sum = append(sum, content{text: unknownText})
			default:
				sum = append(sum, content{text: c.text + d.text})
			}
		}
	}
	return sum
}

// all returns the elements.
func (c content) all() []string {
	if c.array {
		return c.elements
	}
	return texts{c.text}
}

// judgeVariable judges the value of a variable that names a program, or a script, which others run.
func (s *shell) judgeVariable(name string, to value) {
	for _, c := range to {
		if c.array {
			continue
		}
		use, text := variableEffect(name, c.text)
		switch {
		case text == "":
		case use == 's' && isCompiler(name) && isUnknown(text):
		case use == 's':
			s.codes(texts{text}, arguments{})
		case use == 'c':
			s.add(Effect{Kind: Run, By: -1, Command: &Command{Words: []Word{{Text: "perl"}}, Code: plainText(text)}})
		case use == 'r':
			s.uses(text, -1, operand{read: true}, s.folders.here())
			if in := s.file(text); in != nil && (name == "BASH_ENV" || name == "ENV") {
				s.codes(in.texts(), arguments{})
			}
		case use == 'w' && (isAbsolute(text) || text[0] == '~') && !isUnknown(text):
			s.uses(text, -1, operand{write: true}, s.folders.here())
		case use == 'E':
			s.opaqueRun("it decides over what other programs are run")
		case name == "PS0" || name == "PS1" || name == "PS2" || name == "PS4":
			s.document(text)
		case strings.HasPrefix(name, "GIT_CONFIG_VALUE_") && strings.HasPrefix(text, "!"):
			s.codes(texts{text[1:]}, arguments{})
		}
		s.judgeText(c.text)
	}
}

// judgeText reads the code in a value that runs when the variable is taken for a number: a[$(cmd)].
func (s *shell) judgeText(text string) {
	if i := strings.IndexByte(text, '['); i >= 0 && strings.ContainsAny(text[i:], "$`") {
		s.document(text)
	}
}

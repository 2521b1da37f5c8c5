package effects

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// place says where a command stands: functions of the shell are not for those that other programs start.
type place uint8

const (
	inside  place = iota // in the shell itself
	outside              // started by another program
)

// prefixed is a variable that is set for one command.
type prefixed struct {
	name string
	to   value
}

// call reads a simple command.
func (s *shell) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			s.assignment(a, false)
		}
		s.folders.stay()
		return
	}
	if words := plainArgs(c); words != nil && s.aliases == nil { // the usual case
		s.command(words, inside)
		return
	}
	for _, arg := range c.Args {
		if len(arg.Parts) > 1 || !isLit(arg.Parts[0]) {
			s.prepare(arg)
		}
	}
	var prefix []prefixed
	for _, a := range c.Assigns {
		prefix = append(prefix, prefixed{a.Name.Value, s.assigned(a)})
	}
	if c.Args[0].Lit() != "" && s.alias(c) {
		s.folders.stay()
	}
	s.callEachWay(c, prefix)
}

// plainArgs returns the words of a command that stand there as they are; nil if one is to be expanded, or a variable is
// set.
func plainArgs(c *syntax.CallExpr) []Word {
	if len(c.Assigns) > 0 {
		return nil
	}
	for _, arg := range c.Args {
		if len(arg.Parts) != 1 {
			return nil
		}
		if lit, ok := arg.Parts[0].(*syntax.Lit); !ok || !isPlain(lit.Value) {
			return nil
		}
	}
	words := make([]Word, len(c.Args))
	for i, arg := range c.Args {
		words[i].Text = arg.Parts[0].(*syntax.Lit).Value
	}
	return words
}

// callEachWay judges a command in each of the ways in which its words may expand.
func (s *shell) callEachWay(c *syntax.CallExpr, prefix []prefixed) {
	start := s.folders
	var end folders
	ways := 0
	s.eachWay(func() {
		words := s.expand(c.Args)
		choices := s.choices
		s.folders = start
		s.with(prefix, words)
		s.choices = choices
		if ways++; ways == 1 {
			end = s.folders
			return
		}
		end.now, end.failed = eitherFolders(end.now, s.folders.now), eitherFolders(end.failed, s.folders.failed)
	})
	s.folders = end
}

func isLit(part syntax.WordPart) bool {
	_, ok := part.(*syntax.Lit)
	return ok
}

// with judges a command for which variables are set.
func (s *shell) with(prefix []prefixed, words []Word) {
	olds := make([]change, len(prefix))
	for i, p := range prefix {
		old, had := s.vars.get(p.name)
		olds[i] = change{p.name, old, had}
		s.judgeVariable(p.name, p.to)
		s.vars.set(p.name, p.to)
	}
	s.command(words, inside)
	for _, c := range slices.Backward(olds) {
		s.vars.restore(c.name, c.old, c.had)
	}
}

// alias reads what a word stands for that is an alias. A shell takes it so only in some cases; both are judged.
func (s *shell) alias(c *syntax.CallExpr) bool {
	text, ok := s.aliases[c.Args[0].Lit()]
	if !ok {
		return false
	}
	name := c.Args[0].Lit()
	delete(s.aliases, name) // it is not taken for an alias within itself
	args := s.args
	s.eachWay(func() {
		words, choices := s.expand(c.Args), s.choices
		s.args = arguments{known: true, words: words[min(1, len(words)):], name: args.name}
		s.code(text + ` "$@"`)
		s.choices = choices
	})
	s.args = args
	s.aliases[name] = text
	return true
}

// command judges a command by its words, and all that it starts.
func (s *shell) command(words []Word, at place) {
	if len(words) == 0 {
		s.folders.stay()
		return
	}
	if s.wrapped == maxWrapped {
		s.unreadable(ErrTooDeep)
		return
	}
	if !s.step() {
		return
	}
	s.wrapped++
	s.judgeAt(plainWords(words), at)
	s.wrapped--
}

// judgeAt judges a command that stands in the shell itself, or is started by another program.
func (s *shell) judgeAt(words []Word, at place) {
	if text := words[0].Text; len(text) > 1 && text[0] == '=' && text[1] != '=' { // zsh's =rm is the path of rm
		words = append([]Word{{Text: text[1:]}}, words[1:]...)
	}
	if first := words[0].Text; (first == "-" || first == "--") && len(words) > 1 { // zsh: as a login shell; time -- CMD
		words = words[1:]
	}
	s.folders.stay()
	if at == inside && s.functions != nil && s.function(words) {
		return
	}
	s.judge(words)
}

// function follows a function that is called; done says that nothing else can be meant.
func (s *shell) function(words []Word) (done bool) {
	f := s.functions[words[0].Text]
	if f == nil || !s.mayFollow(f) {
		return false
	}
	if f.sure {
		s.add(Effect{Kind: Run, By: -1, Command: &Command{Words: words}})
	}
	s.follow(f, words)
	return f.sure
}

// judge adds the effects of a command that is no function.
func (s *shell) judge(words []Word) {
	program := programOf(words[0].Text)
	dynamic := isNameless(words[0].Text)
	s.copied(words)
	by := 0
	if dynamic {
		by = s.opaqueRun("the program is known only when it runs")
		if words[0].Splits && len(words) > 1 && words[0].Text == unknownText { // it may be nothing at all
			s.judge(words[1:])
		}
		words = append([]Word{{Text: unknownText}}, words[1:]...)
	}
	does := invoke(s.withScript(program, words))
	code, all := s.codeOf(program, &does)
	if !dynamic {
		by = s.run(words, code)
	}
	if !all {
		s.opaqueRun("code that is known only when it runs")
	}
	if does.opaque != "" {
		s.opaqueRun(does.opaque)
	}
	here := s.folders.here()
	from := here
	if does.dir != nil && !does.moves {
		from = s.in(here, does.dir.Text)
	}
	for _, o := range does.operands {
		s.operand(o, by, from)
	}
	for _, host := range does.hosts {
		if host != "" {
			s.effects = append(s.effects, Effect{Kind: Connect, By: by, Host: host})
		}
	}
	s.takesIn(&does, by, from)
	if dynamic {
		s.sayUnknown("")
		return
	}
	s.starts(program, words, &does, from)
	s.builtin(program, words)
}

// starts judges what a command starts: other commands, and code for a shell.
func (s *shell) starts(program string, words []Word, does *invocation, from []string) {
	if s.runsScript(program, words, does) {
		return
	}
	if len(does.started) == 0 && len(does.shell) == 0 {
		if does.stdin == stdinShell && s.input != nil && !s.input.script {
			s.codes(s.input.texts(), arguments{known: true, name: "bash", words: does.passed})
			return
		}
		s.say(program, words, does)
		return
	}
	switch program {
	case "eval":
		for _, text := range does.shell {
			s.code(text.Text)
		}
		return
	case "trap":
		mark := s.vars.mark()
		for _, text := range does.shell {
			s.code(text.Text)
		}
		s.weaken(mark)
		s.folders.stay()
		return
	}
	said := s.out != nil && s.out.begun
	s.away(program, from, func() {
		s.setFor(words, does)
		for _, text := range does.shell {
			args := argumentsBehind(words, text)
			for _, text := range s.filled(does, text) {
				s.codes(texts{text.Text}, args)
			}
		}
		for _, st := range does.started {
			s.started(st, takes(program, words))
		}
	})
	if s.out != nil && !said && !s.out.begun {
		s.sayUnknown(program)
	}
}

// away judges what is started in a shell of its own, or in this one: command, builtin and exec.
func (s *shell) away(program string, from []string, read func()) {
	switch program {
	case "command", "builtin", "exec", "noglob", "nocorrect", "time":
		read()
		return
	}
	s.subshell(func() {
		s.folders.set(from)
		read()
	})
}

// setFor sets the variables that env and its like set for what they start.
func (s *shell) setFor(words []Word, does *invocation) {
	last := len(words)
	if n := len(does.started); n > 0 {
		last = max(len(words)-len(does.started[0].words), 0)
	}
	for _, w := range words[1:max(last, 1)] {
		if isAssignment(w.Text) {
			name, text, _ := strings.Cut(w.Text, "=")
			s.vars.set(name, textOf(text))
		}
	}
}

// argumentsBehind returns what bash -c TEXT gives to its text: what stands behind it.
func argumentsBehind(words []Word, text Word) arguments {
	for i, w := range words {
		if w == text && i > 0 {
			args := arguments{known: true, name: "bash"}
			if i+1 < len(words) {
				args.name, args.words = words[i+1].Text, words[i+2:]
			}
			return args
		}
	}
	return arguments{}
}

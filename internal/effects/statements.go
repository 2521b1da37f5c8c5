package effects

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// function is a function that the text declares.
type function struct {
	body   *syntax.Stmt
	sites  *siteList
	masked bool
	sure   bool // it is surely declared
	called bool
	active int // how often it is being followed
}

// statements reads a list. Afterwards the shell is where it is if the last one succeeded, or failed.
func (s *shell) statements(list []*syntax.Stmt) {
	for i, stmt := range list {
		if i > 0 {
			s.folders.settle()
		}
		s.statement(stmt)
	}
}

// statement reads one statement. Afterwards the shell is where it is if the statement succeeded, or failed.
func (s *shell) statement(stmt *syntax.Stmt) {
	if stmt == nil || s.steps == 0 {
		return
	}
	if s.inside == maxInside {
		s.unreadable(ErrTooDeep)
		return
	}
	s.inside++
	input, out, descriptors := s.input, s.out, s.descriptors
	var to written
	if len(stmt.Redirs) > 0 {
		to = s.redirect(stmt.Redirs)
	}
	if stmt.Background || stmt.Coprocess || stmt.Disown {
		s.subshell(func() { s.cmd(stmt.Cmd) })
		s.folders.stay()
	} else {
		s.cmd(stmt.Cmd)
	}
	if stmt.Negated {
		s.folders.now, s.folders.failed = s.folders.failed, s.folders.now
	}
	if to.path != "" {
		s.write(to.path, s.out, to.adds)
	}
	if !isBareExec(stmt.Cmd) {
		s.input, s.descriptors = input, descriptors
	}
	s.out = out
	s.inside--
}

// isBareExec reports whether a command is exec with nothing but redirections: they hold from then on.
func isBareExec(cmd syntax.Command) bool {
	call, ok := cmd.(*syntax.CallExpr)
	return ok && len(call.Args) == 1 && call.Args[0].Lit() == "exec"
}

// cmd reads what a statement consists of.
func (s *shell) cmd(cmd syntax.Command) {
	switch cmd := cmd.(type) {
	case *syntax.CallExpr:
		s.call(cmd)
	case *syntax.BinaryCmd:
		s.binary(cmd)
	case *syntax.Block:
		s.statements(cmd.Stmts)
	case *syntax.Subshell:
		s.subshell(func() { s.statements(cmd.Stmts) })
		s.folders.stay()
	case *syntax.IfClause:
		s.ifClause(cmd)
	case *syntax.WhileClause:
		s.while(cmd)
	case *syntax.ForClause:
		s.forClause(cmd)
	case *syntax.CaseClause:
		s.caseClause(cmd)
	case *syntax.FuncDecl:
		s.declareFunction(cmd)
	case *syntax.DeclClause:
		s.declare(cmd)
	case *syntax.LetClause:
		for _, x := range cmd.Exprs {
			s.arithm(x)
		}
	case *syntax.ArithmCmd:
		s.arithm(cmd.X)
	case *syntax.TestClause:
		s.test(cmd.X)
	case *syntax.TimeClause:
		s.statement(cmd.Stmt)
	case *syntax.CoprocClause:
		s.subshell(func() { s.statement(cmd.Stmt) })
		s.folders.stay()
	case *syntax.TestDecl:
		s.statement(cmd.Body)
	default: // nothing but redirections
		s.folders.stay()
		if s.input != nil && s.out != nil { // $(< file)
			s.out.append(s.input)
		}
	}
}

// binary reads a list of commands with && and || between them, or a pipe. The parser makes of a chain a tree as deep as
// the chain is long, so it is not followed by recursion.
func (s *shell) binary(cmd *syntax.BinaryCmd) {
	pipe := isPipe(cmd.Op)
	var (
		last  []*syntax.BinaryCmd
		first = cmd.X
	)
	for {
		last = append(last, cmd)
		inner, ok := first.Cmd.(*syntax.BinaryCmd)
		if !ok || isPipe(inner.Op) != pipe || len(first.Redirs) > 0 || first.Negated || first.Background {
			break
		}
		cmd, first = inner, inner.X
	}
	if pipe {
		s.pipe(first, last)
		return
	}
	said := s.either(last)
	s.statement(first)
	mark := s.vars.mark()
	for i := len(last) - 1; i >= 0; i-- {
		now, failed := s.folders.now, s.folders.failed
		if last[i].Op == syntax.OrStmt {
			s.weaken(mark)
			mark = s.vars.mark()
			s.folders.set(failed)
			before := s.out
			if before != nil {
				s.out = &stream{}
			}
			s.statement(last[i].Y)
			s.out = before.orElse(s.out)
			s.folders.now = eitherFolders(now, s.folders.now)
			continue
		}
		s.folders.set(now)
		s.statement(last[i].Y)
		s.folders.failed = eitherFolders(failed, s.folders.failed)
	}
	s.weaken(mark)
	said()
}

// either collects what a list says of which only some may be said; the function that it returns adds that.
func (s *shell) either(list []*syntax.BinaryCmd) (done func()) {
	out := s.out
	if out == nil || !slices.ContainsFunc(list, func(cmd *syntax.BinaryCmd) bool { return cmd.Op == syntax.OrStmt }) {
		return func() {}
	}
	s.out = &stream{}
	return func() {
		out.append(s.out)
		s.out = out
	}
}

func isPipe(op syntax.BinCmdOperator) bool { return op == syntax.Pipe || op == syntax.PipeAll }

// pipe reads the parts of a pipe, each of which gets what the one before it says.
func (s *shell) pipe(first *syntax.Stmt, rest []*syntax.BinaryCmd) {
	input, out := s.input, s.out
	part := first
	for i := len(rest) - 1; i >= -1; i-- {
		s.out = out
		if i >= 0 {
			s.out = &stream{}
		}
		said := s.out
		s.subshell(func() { s.statement(part) })
		if i >= 0 {
			s.input, part = said, rest[i].Y
		}
	}
	s.input, s.out = input, out
	s.folders.stay()
}

// weaken says that what happened since a mark may not have happened.
func (s *shell) weaken(mark int) {
	if !s.vars.weaken(mark) {
		s.unreadable(errTooMuch)
	}
}

// ifClause reads if, elif and else: any of them may be what happens.
func (s *shell) ifClause(cmd *syntax.IfClause) {
	b := s.branch()
	for clause := cmd; clause != nil; clause = clause.Else {
		s.folders.settle()
		if len(clause.Cond) == 0 { // else
			b.all = true
			b.read(clause.Then)
			break
		}
		s.statements(clause.Cond)
		failed := s.folders.failed
		s.folders.set(s.folders.now)
		b.read(clause.Then)
		s.folders.set(failed)
	}
	b.end()
}

// branches are parts of a text of which at most one happens.
type branches struct {
	s           *shell
	mark        int
	all         bool // one of them happens
	count       int
	now, failed []string
	last        map[string]lastValue // what variables hold where branches end that set them
}

// lastValue is what a variable holds at the end of some branches.
type lastValue struct {
	value
	count int
}

func (s *shell) branch() *branches {
	return &branches{s: s, mark: s.vars.mark()}
}

// read reads the next branch.
func (b *branches) read(list []*syntax.Stmt) {
	mark := b.s.vars.mark()
	b.s.statements(list)
	b.count++
	for name := range b.s.vars.changed(mark) {
		if b.last == nil {
			b.last = map[string]lastValue{}
		}
		last := b.last[name]
		now, _ := b.s.vars.get(name)
		union, _ := last.or(now)
		b.last[name] = lastValue{union, last.count + 1}
	}
	b.s.weaken(mark)
	b.now = eitherFolders(b.now, b.s.folders.now)
	b.failed = eitherFolders(b.failed, b.s.folders.failed)
}

// end ends the branches. A variable that all of them set holds what one of them gave it.
func (b *branches) end() {
	s := b.s
	if !b.all {
		b.now, b.failed = eitherFolders(b.now, s.folders.here()), eitherFolders(b.failed, s.folders.here())
	}
	s.folders.set(b.now)
	s.folders.failed = b.failed
	s.weaken(b.mark)
	for name, last := range b.last {
		if b.all && last.count == b.count {
			s.vars.set(name, last.value)
		}
	}
}

// loop reads what may happen again and again. What is set in it may be set when it begins again.
func (s *shell) loop(node syntax.Node, read func()) {
	mark := s.vars.mark()
	s.widen(s.sites.within(node))
	start := s.folders.here()
	for {
		said := s.repeated()
		read()
		said()
		s.folders.settle()
		end := eitherFolders(start, s.folders.now)
		if len(end) == len(start) && end[0] == start[0] {
			s.folders.set(end)
			break
		}
		if s.again == 0 {
			s.unreadable(errTooMuch)
			break
		}
		s.again--
		start = end
		s.folders.set(start)
	}
	s.weaken(mark)
}

// repeated collects what a loop says; the function that it returns adds all of that once more, since the rounds of a
// loop say it one after the other.
func (s *shell) repeated() (done func()) {
	out := s.out
	if out == nil {
		return func() {}
	}
	s.out = &stream{}
	return func() {
		said := s.out
		s.out = out
		all := said.texts()
		if len(all) > 1 {
			all = all.add(strings.Join(all, ""))
		}
		out.add(all)
	}
}

func (s *shell) while(cmd *syntax.WhileClause) {
	s.loop(cmd, func() {
		s.statements(cmd.Cond)
		s.folders.settle()
		s.statements(cmd.Do)
	})
}

func (s *shell) forClause(cmd *syntax.ForClause) {
	switch loop := cmd.Loop.(type) {
	case *syntax.CStyleLoop:
		s.arithm(loop.Init)
		s.loop(cmd, func() {
			s.arithm(loop.Cond)
			s.statements(cmd.Do)
			s.arithm(loop.Post)
		})
	case *syntax.WordIter:
		items := s.items(loop)
		if cmd.Select {
			items = items.orNothing()
		}
		s.loop(cmd, func() {
			s.assign(loop.Name.Value, items, false)
			s.statements(cmd.Do)
		})
	}
}

// orNothing adds the possibility that a variable is empty.
func (v value) orNothing() value {
	union, _ := v.or(textOf(""))
	return union
}

// items returns the values that a loop gives its variable.
func (s *shell) items(loop *syntax.WordIter) value {
	var words []Word
	if !loop.InPos.IsValid() {
		words = []Word{{Text: unknownText}}
		if s.args.known {
			words = s.args.words
		}
	}
	for _, item := range loop.Items {
		s.prepare(item)
	}
	s.eachWay(func() {
		f := fields{}
		for _, item := range loop.Items {
			s.expandWord(&f, item)
		}
		words = append(words, f.words...)
	})
	seen := make(map[string]bool, len(words))
	var items value
	for _, word := range words {
		if !seen[word.Text] {
			seen[word.Text] = true
			items = append(items, content{text: word.Text})
		}
	}
	if len(items) > maxValues {
		s.unreadable(errTooMuch)
		return unknownValue
	}
	return items
}

// caseClause reads the branches one after the other: with ;& one goes on in the next.
func (s *shell) caseClause(cmd *syntax.CaseClause) {
	s.prepare(cmd.Word)
	start := s.folders.here()
	b := s.branch()
	for _, item := range cmd.Items {
		for _, pattern := range item.Patterns {
			s.prepare(pattern)
			b.all = b.all || pattern.Lit() == "*"
		}
		s.folders.set(start)
		b.read(item.Stmts)
		if item.Op != syntax.Break {
			s.folders.settle()
			start = eitherFolders(start, s.folders.now)
		}
	}
	s.folders.set(start)
	b.end()
}

// declareFunction remembers a function. It is read where it is called, or else at the end.
func (s *shell) declareFunction(cmd *syntax.FuncDecl) {
	names := cmd.Names
	if cmd.Name != nil {
		names = []*syntax.Lit{cmd.Name}
	}
	s.folders.stay()
	if len(names) == 0 {
		s.statement(cmd.Body)
		return
	}
	if s.functions == nil {
		s.functions = map[string]*function{}
	}
	for _, name := range names {
		f := &function{body: cmd.Body, sites: s.sites, masked: s.masked, sure: s.vars.marks == 0}
		if old := s.functions[name.Value]; old != nil {
			f.sure = f.sure || old.sure
			if !old.called {
				s.functions[name.Value+" "+itoa(len(s.functions))] = old // it is read at the end all the same
			}
		}
		s.functions[name.Value] = f
	}
}

// mayFollow reports whether one more call of a function is followed.
func (s *shell) mayFollow(f *function) bool {
	switch {
	case f.active > 1:
		return false
	case s.calls == 0:
		f.called = false // it is read at the end, with arguments that nobody knows
		return false
	}
	return true
}

// follow reads what a function does that is called with words.
func (s *shell) follow(f *function, words []Word) {
	s.calls--
	f.called = true
	f.active++
	s.inCalls++
	args, masked, sites, ends := s.args, s.masked, s.sites, s.returned
	s.args = arguments{known: true, words: words[1:], name: args.name}
	s.masked, s.sites, s.returned = f.masked, f.sites, nil
	locals := s.vars.enter()
	s.statement(f.body)
	s.vars.leave(locals)
	s.folders.now = eitherFolders(s.folders.now, s.returned)
	s.folders.failed = eitherFolders(s.folders.failed, s.returned)
	s.args, s.masked, s.sites, s.returned = args, masked, sites, ends
	s.inCalls--
	f.active--
}

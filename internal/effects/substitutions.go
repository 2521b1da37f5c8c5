package effects

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func itoa(n int) string { return strconv.Itoa(n) }

// prepare reads the commands in a word, before the word is expanded.
func (s *shell) prepare(word *syntax.Word) {
	if word != nil {
		s.prepareParts(word.Parts)
	}
}

func (s *shell) prepareParts(parts []syntax.WordPart) {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			s.prepareParts(part.Parts)
		case *syntax.CmdSubst:
			s.output(part, part.Stmts)
		case *syntax.ProcSubst:
			s.output(part, part.Stmts)
		case *syntax.ParamExp:
			s.prepareParameter(part)
		case *syntax.ArithmExp:
			s.arithm(part.X)
		case *syntax.ExtGlob:
			s.qualifiers(part.Pattern.Value)
		case *syntax.BraceExp:
			for _, elem := range part.Elems {
				s.prepare(elem)
			}
		}
	}
}

func (s *shell) prepareParameter(p *syntax.ParamExp) {
	if p.NestedParam != nil {
		s.prepareParts([]syntax.WordPart{p.NestedParam})
	}
	s.arithm(p.Index)
	if p.Slice != nil {
		s.arithm(p.Slice.Offset)
		s.arithm(p.Slice.Length)
	}
	if p.Repl != nil {
		s.prepare(p.Repl.Orig)
		s.prepare(p.Repl.With)
	}
	if p.Exp != nil {
		s.prepare(p.Exp.Word)
	}
}

// output reads the commands of a substitution, and remembers what is known of what they say.
func (s *shell) output(node syntax.Node, stmts []*syntax.Stmt) {
	out, said := s.out, &stream{}
	s.out = said
	input := s.input
	if p, ok := node.(*syntax.ProcSubst); ok && p.Op == syntax.CmdOut { // >(cmd): nothing is known of what it is given
		s.input = unknownStream()
	}
	s.subshell(func() { s.statements(stmts) })
	s.out, s.input = out, input
	if s.outputs == nil {
		s.outputs = map[syntax.Node]*stream{}
	}
	s.outputs[node] = said
	if p, ok := node.(*syntax.ProcSubst); ok && p.Op != syntax.CmdOut {
		s.files = append(s.files, said)
		said.file = len(s.files)
	}
}

// filePrefix is how a process substitution is named.
const filePrefix = "/dev/fd/sub"

// fileOf returns the word that a process substitution becomes.
func (s *shell) fileOf(node *syntax.ProcSubst) string {
	if said := s.outputs[node]; said != nil && said.file > 0 {
		return filePrefix + itoa(said.file)
	}
	return filePrefix
}

// substitution returns what is known of the file that a word names, if it is a process substitution.
func (s *shell) substitution(word string) *stream {
	number, ok := strings.CutPrefix(word, filePrefix)
	if !ok {
		return nil
	}
	if n, err := strconv.Atoi(number); err == nil && n > 0 && n <= len(s.files) {
		return s.files[n-1]
	}
	return unknownStream()
}

// qualifiers reads the code in what zsh takes for the qualifiers of a pattern: *(e:'cmd':), *(+cmd).
func (s *shell) qualifiers(pattern string) {
	for i := 0; i+1 < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == 'e' || c == 'P' || c == '+':
			quote := pattern[i+1]
			if c == '+' && isName(pattern[i+1:]) {
				s.codes(texts{pattern[i+1:]}, arguments{})
				return
			}
			if c == '+' || isName(string(quote)) || strings.IndexByte("|*?.)", quote) >= 0 {
				return
			}
			if at := strings.IndexByte("([{<", quote); at >= 0 {
				quote = ")]}>"[at]
			}
			code := pattern[i+2:]
			if end := strings.LastIndexByte(code, quote); end >= 0 {
				code = code[:end]
			}
			f := fields{whole: true}
			for _, text := range s.unquoted(code) {
				f.add(text)
			}
			s.codes(texts{string(f.text)}, arguments{})
			return
		case isName(string(c)), strings.IndexByte(".,@=/*%^-:", c) >= 0:
		default:
			return
		}
	}
}

// unquoted returns the text that a piece of source stands for, without its outermost quotes.
func (s *shell) unquoted(source string) texts {
	if n := len(source); n > 1 && (source[0] == '\'' || source[0] == '"') && source[n-1] == source[0] {
		source = source[1 : n-1]
	}
	return texts{source}
}

// arithm reads the commands in an arithmetic expression, and what it sets.
func (s *shell) arithm(x syntax.ArithmExpr) {
	for open := []syntax.ArithmExpr{x}; len(open) > 0; {
		next := open[len(open)-1]
		open = open[:len(open)-1]
		switch x := next.(type) {
		case *syntax.BinaryArithm:
			if x.Op >= syntax.Assgn && x.Op <= syntax.ShrAssgn {
				s.arithmSet(x.X)
			}
			open = append(open, x.Y, x.X)
		case *syntax.UnaryArithm:
			if x.Op == syntax.Inc || x.Op == syntax.Dec {
				s.arithmSet(x.X)
			}
			open = append(open, x.X)
		case *syntax.ParenArithm:
			open = append(open, x.X)
		case *syntax.FlagsArithm:
			open = append(open, x.X)
		case *syntax.Word:
			s.arithmWord(x)
		}
	}
}

// arithmSet says that a variable becomes a number.
func (s *shell) arithmSet(x syntax.ArithmExpr) {
	if word, ok := x.(*syntax.Word); ok && isName(word.Lit()) {
		s.vars.set(word.Lit(), textOf(numberText))
	}
}

// arithmWord reads a word of an expression. Its text is an expression again when it is expanded: 'a[$(cmd)]'.
func (s *shell) arithmWord(word *syntax.Word) {
	for _, part := range word.Parts {
		if _, ok := part.(*syntax.Lit); !ok {
			s.prepare(word)
			for _, text := range s.one(word, false) {
				s.document(text)
			}
			return
		}
	}
}

// test reads the commands in [[ … ]].
func (s *shell) test(x syntax.TestExpr) {
	for open := []syntax.TestExpr{x}; len(open) > 0; {
		next := open[len(open)-1]
		open = open[:len(open)-1]
		switch x := next.(type) {
		case *syntax.BinaryTest:
			if x.Op >= syntax.TsEql && x.Op <= syntax.TsGtr {
				s.testNumber(x.X)
				s.testNumber(x.Y)
			}
			open = append(open, x.Y, x.X)
		case *syntax.UnaryTest:
			if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
				s.testNumber(x.X)
			}
			open = append(open, x.X)
		case *syntax.ParenTest:
			open = append(open, x.X)
		case *syntax.Word:
			s.prepare(x)
		}
	}
	s.folders.stay()
}

// testNumber reads a word of [[ … ]] that is taken for an expression, or for a variable's name.
func (s *shell) testNumber(x syntax.TestExpr) {
	if word, ok := x.(*syntax.Word); ok {
		s.prepare(word)
		for _, text := range s.one(word, false) {
			s.document(text)
		}
	}
}

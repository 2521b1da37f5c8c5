package effects

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// numberText stands for a number that is not known. It is never an option, and holds no slash.
	numberText = "\xfe"

	// listedText stands for a text that is not known, but for which nobody would take an option: a name that a program
	// has listed. It is so within this shell only, and elsewhere like any unknown text.
	listedText = "\xfc"

	// Runes that stand for what is not known in a text that is parsed: no characters, so no text has them (Unicode 16,
	// 23.7).
	maskText = "\ufdd0"
	maskName = "\ufdd1"
	maskRune = "\ufdd2"
	maskList = "\ufdd3"
)

// mask makes what is not known of a text fit for the parser.
func mask(text string) (string, bool) {
	if holdsUnknown(text) {
		text = strings.NewReplacer("\xff", maskText, "\xfe", maskName, "\xfd", maskRune, "\xfc", maskList).Replace(text)
		return text, true
	}
	return text, strings.Contains(text, "\ufdd0"[:2])
}

// holdsUnknown reports whether a part of a text is not known.
func holdsUnknown(text string) bool {
	for i := range len(text) {
		if text[i] >= listedText[0] {
			return true
		}
	}
	return false
}

// plainWords returns words as others know them.
func plainWords(words []Word) []Word {
	for i, w := range words {
		if strings.Contains(w.Text, listedText) {
			words = slices.Clone(words)
			for j := i; j < len(words); j++ {
				words[j].Text = plainText(words[j].Text)
			}
			return words
		}
	}
	return words
}

func plainText(text string) string { return strings.ReplaceAll(text, listedText, unknownText) }

// unmask is the inverse of mask, for a literal.
func (s *shell) unmask(text string) string {
	if !s.masked || !strings.Contains(text, "\ufdd0"[:2]) {
		return text
	}
	return strings.NewReplacer(maskText, "\xff", maskName, "\xfe", maskRune, "\xfd", maskList, "\xfc").Replace(text)
}

// fields collects the words into which a word expands.
type fields struct {
	words  []Word
	text   []byte
	open   bool // a word has begun, if only with quotes
	splits bool
	ways   *choices
	first  bool // the first of the words is a command
	blanks bool // blanks within an expansion part words: ${x:-a b}
	whole  bool // nothing is split, nor are names looked up: in assignments and redirections
}

// end ends a word.
func (f *fields) end() {
	if f.open {
		f.words = append(f.words, Word{Text: string(f.text), Splits: f.splits})
	}
	f.text, f.open, f.splits = f.text[:0], false, false
}

// joined returns the words as one text.
func (f *fields) joined() string {
	if len(f.words) == 1 {
		return f.words[0].Text
	}
	all := make([]string, len(f.words))
	for i, word := range f.words {
		all[i] = word.Text
	}
	return strings.Join(all, " ")
}

func (f *fields) add(text string) {
	f.text, f.open = append(f.text, text...), true
}

// isCommand reports whether what comes next belongs to the word that is a command.
func (f *fields) isCommand() bool { return f.first && len(f.words) == 0 }

// split adds what an expansion without quotes gives: it becomes several words, and their wildcards are looked up.
func (f *fields) split(text, separators string) {
	if f.whole {
		f.add(text)
		return
	}
	if mayBecomeOptions(text) {
		f.splits = true
	}
	start := 0
	for i := 0; i < len(text); i++ {
		if strings.IndexByte(separators, text[i]) < 0 {
			continue
		}
		if i > start {
			f.globs(text[start:i])
		}
		splits := f.splits && i < len(text)-1
		f.end()
		f.splits = splits
		start = i + 1
	}
	if start < len(text) {
		f.globs(text[start:])
	}
	if !f.open {
		f.splits = false
	}
}

// mayBecomeOptions reports whether an expansion may hold words that nobody knows; names that some program listed from a
// folder are none.
func mayBecomeOptions(text string) bool {
	return strings.Contains(text, unknownText) && text[0] != '/' && !strings.HasPrefix(text, "./")
}

// globs adds a text in which wildcards stand for themselves or for names.
func (f *fields) globs(text string) {
	f.open = true
	if !strings.ContainsAny(text, `*?[`) {
		f.text = append(f.text, text...)
		return
	}
	for i := 0; i < len(text); i++ {
		i = f.glob(text, i)
	}
}

// glob adds the character at i, or the wildcard that begins there, and returns its end.
func (f *fields) glob(text string, i int) int {
	switch c := text[i]; c {
	case '*':
		if n := len(f.text); n == 0 || f.text[n-1] != anyName {
			f.text = append(f.text, anyName)
		}
	case '?':
		f.text = append(f.text, anyRune)
	case '[':
		end := bracketEnd(text, i)
		if end < 0 {
			f.text = append(f.text, c)
			return i
		}
		f.text = append(f.text, f.oneOf(text[i+1:end]))
		return end
	default:
		f.text = append(f.text, c)
	}
	return i
}

// oneOf returns a character of a short list between brackets; of a longer one any.
func (f *fields) oneOf(list string) byte {
	const most = 4
	if f.ways == nil || len(list) > most || len(f.ways.made) > most || strings.ContainsAny(list, `!^-[:\`) {
		return anyRune
	}
	return list[f.ways.choose(len(list))]
}

// bracketEnd returns where the brackets end that begin at i: [a-z], [!]x], [[:alpha:]]. It is negative where they do not.
func bracketEnd(text string, i int) int {
	i++
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		i++
	}
	for first := i; i < len(text) && text[i] != '/'; i++ {
		switch {
		case text[i] == ']' && i > first:
			return i
		case text[i] == '[' && i+1 < len(text) && strings.IndexByte(":.=", text[i+1]) >= 0:
			end := strings.Index(text[i+2:], text[i+1:i+2]+"]")
			if end < 0 {
				return -1
			}
			i += end + 3
		}
	}
	return -1
}

// expand returns the words into which the words of a command expand, in the way that is chosen.
func (s *shell) expand(args []*syntax.Word) []Word {
	f := fields{words: make([]Word, 0, len(args)), first: true}
	for _, arg := range args {
		s.expandWord(&f, arg)
	}
	return f.words
}

// expandWord adds the words into which one word expands.
func (s *shell) expandWord(f *fields, word *syntax.Word) {
	if len(word.Parts) == 1 {
		if lit, ok := word.Parts[0].(*syntax.Lit); ok && isPlain(lit.Value) {
			f.words = append(f.words, Word{Text: lit.Value})
			return
		}
	}
	if n := braces(word); n > 0 {
		s.expandBraces(f, word, n)
		return
	}
	s.parts(f, s.tilde(f, word.Parts), false)
	f.end()
}

// isPlain reports whether a literal is the word itself.
func isPlain(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\\', c == '*', c == '?', c == '[', c == '~', c == '{', c == 0xef:
			return false
		}
	}
	return text != ""
}

// tilde adds what ~ or ~user at the beginning of a word stands for, and returns the parts with the rest.
func (s *shell) tilde(f *fields, parts []syntax.WordPart) []syntax.WordPart {
	if len(parts) == 0 {
		return parts
	}
	lit, ok := parts[0].(*syntax.Lit)
	if !ok || !strings.HasPrefix(lit.Value, "~") {
		return parts
	}
	end := strings.IndexByte(lit.Value, '/')
	if end < 0 {
		if end = len(lit.Value); len(parts) > 1 { // ~"x" is no home
			return parts
		}
	}
	home := s.home(lit.Value[1:end])
	if home == "" {
		return parts
	}
	f.add(home)
	rest := *lit
	rest.Value = lit.Value[end:]
	return append([]syntax.WordPart{&rest}, parts[1:]...)
}

// home returns the folder that ~user stands for; "" leaves it to those who resolve paths.
func (s *shell) home(user string) string {
	switch user {
	case "":
		return s.variable("HOME")
	case "+":
		return s.variable("PWD")
	case "-":
		return s.variable("OLDPWD")
	}
	return ""
}

// parts adds what the parts of a word expand to.
func (s *shell) parts(f *fields, parts []syntax.WordPart, quoted bool) {
	s.work -= len(parts)
	f.ways = &s.choices
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			s.literal(f, part.Value, quoted)
		case *syntax.SglQuoted:
			f.open = true
			if part.Dollar {
				f.text = appendANSI(f.text, s.unmask(part.Value))
			} else {
				f.text = append(f.text, s.unmask(part.Value)...)
			}
		case *syntax.DblQuoted:
			// "$@" may be no word at all, and "" is one.
			f.open = f.open || len(part.Parts) != 1 || !isList(part.Parts[0])
			s.parts(f, part.Parts, true)
		case *syntax.ParamExp:
			s.parameter(f, part, quoted)
		case *syntax.CmdSubst:
			s.substituted(f, part, quoted)
		case *syntax.ArithmExp:
			f.number(arithmetic(part.X))
		case *syntax.ProcSubst:
			f.add(s.fileOf(part))
		case *syntax.ExtGlob:
			f.add(numberText)
		default:
			f.add(unknownText)
		}
	}
}

// isList reports whether an expansion may be no word within quotes.
func isList(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil {
		return false
	}
	if p.Param.Value == "@" {
		return true
	}
	index, ok := p.Index.(*syntax.Word)
	return ok && index.Lit() == "@"
}

// number adds a number, "" being one that is not known.
func (f *fields) number(known string) {
	switch {
	case known != "":
		f.add(known)
	case len(f.text) > 0 && f.text[0] == '-': // head -$n
		f.add("0")
	default:
		f.add(numberText)
	}
}

// arithmetic returns the value of an expression that is a number, or "".
func arithmetic(x syntax.ArithmExpr) string {
	word, ok := x.(*syntax.Word)
	if !ok {
		return ""
	}
	text := word.Lit()
	if strings.Trim(text, "0123456789") != "" || len(text) > 1 && text[0] == '0' {
		return ""
	}
	return text
}

// literal adds a literal without its backslashes. Within double quotes a backslash escapes only what would be special
// there (POSIX shell command language, 2.2.3).
func (s *shell) literal(f *fields, text string, quoted bool) {
	text = s.unmask(text)
	f.open = f.open || text != ""
	if !quoted && !f.whole && s.masked && mayBecomeOptions(text) {
		f.splits = true
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0):
			i++
			if text[i] != '\n' {
				f.text, f.open = append(f.text, text[i]), true
			}
		case quoted || f.whole:
			f.text = append(f.text, c)
		case f.blanks && (c == ' ' || c == '\t' || c == '\n'):
			if len(f.text) > 0 {
				f.end()
			}
		default:
			f.open = true
			i = f.glob(text, i)
		}
	}
}

// substituted adds the output of a command.
func (s *shell) substituted(f *fields, node syntax.Node, quoted bool) {
	text := unknownText
	if out := s.outputs[node]; out != nil {
		text = ""
		if all := out.texts(); len(all) > 0 {
			text = all[s.choices.choose(len(all))]
		}
	}
	text = strings.TrimRight(text, "\n")
	if s.work -= len(text) / 16; s.work < 0 {
		text = unknownText
	}
	if quoted {
		f.add(text)
		return
	}
	f.split(text, s.separators())
}

// separators returns the characters at which expansions are split into words.
func (s *shell) separators() string {
	held, set := s.vars.get("IFS")
	if !set || len(held) == 0 {
		return " \t\n"
	}
	return held[s.choices.hold("IFS", len(held))].text
}

// one returns the texts that a word may be where it is not split: a value, a redirection.
func (s *shell) one(word *syntax.Word, first bool) texts {
	if word == nil {
		return texts{""}
	}
	if len(word.Parts) == 1 {
		switch part := word.Parts[0].(type) {
		case *syntax.Lit:
			if isPlain(part.Value) {
				return texts{part.Value}
			}
		case *syntax.SglQuoted:
			if !part.Dollar {
				return texts{s.unmask(part.Value)}
			}
		}
	}
	var found texts
	s.eachWay(func() {
		f := fields{whole: true, first: first}
		s.parts(&f, s.tilde(&f, word.Parts), false)
		f.end()
		text := f.joined()
		if len(text) > maxOutput {
			text = unknownText
		}
		found = found.add(text)
	})
	return found
}

// eachWay runs an expansion once for each way in which it can go.
func (s *shell) eachWay(expand func()) {
	saved := s.choices
	s.choices = choices{}
	for range maxRuns {
		expand()
		if s.work < 0 {
			break
		}
		if !s.choices.next() {
			s.choices = saved
			return
		}
	}
	s.choices = saved
	s.unreadable(errTooMuch)
}

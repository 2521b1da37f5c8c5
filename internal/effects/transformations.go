package effects

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// changed returns the texts of a parameter as what is written behind its name changes them.
func (s *shell) changed(p *syntax.ParamExp, v parameterValue) []string {
	if p.Slice == nil && p.Repl == nil && p.Exp == nil && len(p.Modifiers) == 0 {
		return v.texts
	}
	if p.Slice != nil && (v.list || len(v.texts) != 1) {
		return s.sliceOf(p, v)
	}
	found := make([]string, len(v.texts))
	for i, text := range v.texts {
		switch {
		case !holdsUnknown(text):
			found[i] = s.change(p, text)
		case strings.Contains(text, unknownText):
			found[i] = unknownText
		default:
			found[i] = listedText
		}
	}
	return found
}

// sliceOf returns some elements of a list: ${@:2}.
func (s *shell) sliceOf(p *syntax.ParamExp, v parameterValue) []string {
	all := v.texts
	if p.Param != nil && (p.Param.Value == "@" || p.Param.Value == "*") {
		all = append([]string{s.args.name}, all...)
	}
	from, to, ok := bounds(p.Slice, len(all))
	if !ok || v.split {
		return unknownTexts
	}
	return all[from:to]
}

// bounds returns what a slice takes of n characters or elements.
func bounds(slice *syntax.Slice, n int) (from, to int, ok bool) {
	to = n
	number := func(x syntax.ArithmExpr) (int, bool) {
		sign := 1
		if minus, ok := x.(*syntax.UnaryArithm); ok && minus.Op == syntax.Minus {
			sign, x = -1, minus.X
		}
		i, err := strconv.Atoi(arithmetic(x))
		return sign * i, err == nil
	}
	if slice.Offset != nil {
		if from, ok = number(slice.Offset); !ok {
			return 0, 0, false
		}
	}
	if from < 0 { // from the end
		from += n
	}
	if from < 0 || from > n {
		return 0, 0, true
	}
	if slice.Length != nil {
		length, ok := number(slice.Length)
		if !ok {
			return 0, 0, false
		}
		if to = from + length; length < 0 {
			to = n + length
		}
		to = max(min(to, n), from)
	}
	return from, to, true
}

// change returns a known text as ${name#x} and its like change it.
func (s *shell) change(p *syntax.ParamExp, text string) string {
	switch {
	case p.Slice != nil:
		from, to, ok := bounds(p.Slice, len(text))
		if !ok {
			return unknownText
		}
		return text[from:to]
	case p.Repl != nil:
		orig, ok := s.constant(p.Repl.Orig)
		with, okToo := s.constant(p.Repl.With)
		if !ok || !okToo {
			return unknownText
		}
		return replaced(text, orig, with, p.Repl.All)
	case p.Exp == nil || len(p.Modifiers) > 0:
		return unknownText
	}
	pattern, ok := s.constant(p.Exp.Word)
	if !ok {
		return unknownText
	}
	switch p.Exp.Op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix:
		return withoutPrefix(text, pattern, p.Exp.Op == syntax.RemLargePrefix)
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		return withoutSuffix(text, pattern, p.Exp.Op == syntax.RemLargeSuffix)
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return cased(text, pattern, p.Exp.Op)
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset,
		syntax.AssignUnsetOrNull:
		return text
	case syntax.OtherParamOps:
		return s.transformed(text, pattern)
	}
	return unknownText
}

// constant returns a word within an expansion if it is known.
func (s *shell) constant(word *syntax.Word) (text string, known bool) {
	if word == nil {
		return "", true
	}
	f := fields{whole: true}
	s.parts(&f, word.Parts, false)
	f.end()
	text = f.joined()
	return text, !holdsUnknown(text)
}

// transformed returns ${name@op}. A prompt is expanded once more: ${name@P} runs what is in $( ).
func (s *shell) transformed(text, op string) string {
	switch op {
	case "P":
		s.document(text)
		if !strings.ContainsAny(text, "$`\\") {
			return text
		}
	case "U":
		return strings.ToUpper(text)
	case "L":
		return strings.ToLower(text)
	case "E":
		return string(appendANSI(nil, text))
	case "Q", "K", "k", "A", "a", "u":
	}
	return unknownText
}

// cased changes the case of a text.
func cased(text, pattern string, op syntax.ParExpOperator) string {
	if pattern != "" && pattern != "?" || text == "" {
		return unknownText
	}
	switch op {
	case syntax.UpperAll:
		return strings.ToUpper(text)
	case syntax.LowerAll:
		return strings.ToLower(text)
	case syntax.UpperFirst:
		return strings.ToUpper(text[:1]) + text[1:]
	default:
		return strings.ToLower(text[:1]) + text[1:]
	}
}

// maxPattern is how long texts may be for which patterns within expansions are tried at each place.
const maxPattern = 1024

// withoutPrefix returns a text without the shortest or longest beginning that a pattern fits.
func withoutPrefix(text, pattern string, longest bool) string {
	if !isPattern(pattern) {
		return strings.TrimPrefix(text, pattern)
	}
	if len(text)*len(pattern) > maxPattern || strings.ContainsAny(pattern, `[\`) {
		return unknownText
	}
	for n := range len(text) + 1 {
		if longest {
			n = len(text) - n
		}
		if fitsPattern(pattern, text[:n]) {
			return text[n:]
		}
	}
	return text
}

// withoutSuffix returns a text without the shortest or longest end that a pattern fits.
func withoutSuffix(text, pattern string, longest bool) string {
	if !isPattern(pattern) {
		return strings.TrimSuffix(text, pattern)
	}
	if len(text)*len(pattern) > maxPattern || strings.ContainsAny(pattern, `[\`) {
		return unknownText
	}
	for n := range len(text) + 1 {
		if longest {
			n = len(text) - n
		}
		if fitsPattern(pattern, text[len(text)-n:]) {
			return text[:len(text)-n]
		}
	}
	return text
}

func isPattern(text string) bool { return strings.ContainsAny(text, `*?[\`) }

// fitsPattern reports whether a pattern of * and ? fits a text.
func fitsPattern(pattern, text string) bool {
	star, from := -1, 0
	i, j := 0, 0
	for j < len(text) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, from = i, j
			i++
		case i < len(pattern) && (pattern[i] == '?' || pattern[i] == text[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// replaced returns a text in which a pattern is replaced.
func replaced(text, orig, with string, all bool) string {
	anchor := byte(0)
	if orig != "" && !all && (orig[0] == '#' || orig[0] == '%') {
		anchor, orig = orig[0], orig[1:]
	}
	switch {
	case isPattern(orig), len(text)*(len(with)+1) > maxOutput:
		return unknownText
	case anchor == '#':
		if rest, ok := strings.CutPrefix(text, orig); ok {
			return with + rest
		}
		return text
	case anchor == '%':
		if rest, ok := strings.CutSuffix(text, orig); ok {
			return rest + with
		}
		return text
	case orig == "":
		return text
	case all:
		return strings.ReplaceAll(text, orig, with)
	default:
		return strings.Replace(text, orig, with, 1)
	}
}

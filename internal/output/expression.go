package output

import (
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// farthest is how far from a keyword a match is looked for whose length is not bounded, at first.
const farthest = 16 << 10

// expression is the expression of a rule, and what is known of where its matches are.
type expression struct {
	re *regexp.Regexp

	// How far before the end of a keyword a match can begin, and how far behind it end.
	before, behind int
	open           bool // it can end anywhere

	// Of an expression whose matches all begin with a keyword, in small letters: it matches one character, and then what
	// re matches. Else nil.
	leads []string
	there *regexp.Regexp
}

func newExpression(source string, keywords []string, generic bool) (*expression, error) {
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	e := &expression{re: re}
	const around = 4 // so that no match touches the end of what is looked at, where \b and $ match
	switch longest := longestOf(parsed); {
	case generic: // what it is about stands close to the keyword; the only part that is not bounded is the last one
		e.before, e.behind, e.open = 128, 384, true
	case !names(parsed, keywords): // then anywhere
		e.before, e.behind = math.MaxInt32, math.MaxInt32
	case longest >= 0:
		e.before, e.behind = longest+around, longest+around
	default:
		e.before, e.behind, e.open = farthest, farthest, true
	}
	if begin := strings.ToLower(beginning(parsed)); begin != "" {
		for _, word := range keywords {
			if !strings.HasPrefix(begin, word) {
				return e, nil
			}
		}
		e.leads = keywords
		e.there, err = regexp.Compile(`\A(?s:.)(?:` + source + `)`)
	}
	return e, err
}

// matchAt returns the match that begins with the keyword which ends at a place, as indices of the text, or nil. It begins
// behind seen.
func (e *expression) matchAt(text string, end, seen int, work *effort) ([]int, error) {
	for _, word := range e.leads {
		begin := end - len(word)
		if begin < 1 || begin < seen || !strings.EqualFold(text[begin:end], word) {
			continue
		}
		r := strings.NewReader(text[begin-1:])
		m := e.there.FindReaderSubmatchIndex(r) // which reads as far as a match is possible
		if err := work.spend(int(r.Size()) - r.Len()); err != nil {
			return nil, err
		}
		if m != nil {
			moveBy(m, begin-1)
			m[0]++ // behind the character before it
			return m, nil
		}
	}
	return nil, nil
}

// matchesIn returns the matches in a part of a text, as indices of the text. A match at the end of the part may go on.
func (e *expression) matchesIn(text string, from, to int, work *effort) ([][]int, error) {
	for {
		to = min(to, len(text))
		if from >= to {
			return nil, nil
		}
		if err := work.spend(to - from); err != nil {
			return nil, err
		}
		matches := e.re.FindAllStringSubmatchIndex(text[from:to], -1)
		if n := len(matches); e.open && to < len(text) && n > 0 && matches[n-1][1] == to-from {
			to += 4 * (to - from)
			continue
		}
		for _, m := range matches {
			moveBy(m, from)
		}
		return matches, nil
	}
}

func moveBy(m []int, n int) {
	for i := range m {
		if m[i] >= 0 {
			m[i] += n
		}
	}
}

// beginning returns the text with which each match of an expression begins, "" if there is none that is known.
func beginning(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCapture:
		return beginning(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if sub.Op != syntax.OpWordBoundary {
				return beginning(sub)
			}
		}
	}
	return ""
}

// longestOf returns how many bytes a match of an expression can have, -1 for any number.
func longestOf(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		n := 0
		for _, r := range re.Rune {
			n += utf8.RuneLen(r)
			if re.Flags&syntax.FoldCase != 0 && strings.ContainsRune("kKsS", r) {
				n += 2 // the Kelvin sign and the long s
			}
		}
		return n
	case syntax.OpCharClass:
		if n := len(re.Rune); n > 0 {
			return utf8.RuneLen(re.Rune[n-1]) // they are in order
		}
		return 0
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax
	case syntax.OpStar, syntax.OpPlus:
		return -1
	case syntax.OpQuest, syntax.OpCapture:
		return longestOf(re.Sub[0])
	case syntax.OpRepeat:
		if n := longestOf(re.Sub[0]); re.Max >= 0 && n >= 0 {
			return bounded(n * re.Max)
		}
		return -1
	case syntax.OpConcat, syntax.OpAlternate:
		sum := 0
		for _, sub := range re.Sub {
			n := longestOf(sub)
			switch {
			case n < 0:
				return -1
			case re.Op == syntax.OpConcat:
				sum += n
			default:
				sum = max(sum, n)
			}
		}
		return bounded(sum)
	default: // what matches no character
		return 0
	}
}

// bounded takes what can be long for what can be of any length.
func bounded(n int) int {
	const most = 4 << 10
	if n > most {
		return -1
	}
	return n
}

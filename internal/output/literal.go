package output

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// names reports whether each match of an expression surely has one of the keywords in it, in letters of either case. It
// may say no where that is so.
func names(re *syntax.Regexp, keywords []string) bool {
	fits := func(texts []string) bool {
		return texts != nil && !slices.ContainsFunc(texts, func(text string) bool {
			return !slices.ContainsFunc(keywords, func(word string) bool { return strings.Contains(text, word) })
		})
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return names(re.Sub[0], keywords)
	case syntax.OpRepeat:
		return re.Min > 0 && names(re.Sub[0], keywords)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !names(sub, keywords) })
	case syntax.OpConcat:
		run := []string{""} // what the parts before this one can be, since the last one that can be anything
		for _, sub := range re.Sub {
			if names(sub, keywords) {
				return true
			}
			if run = joined(run, spelled(sub)); run == nil {
				run = []string{""}
			} else if fits(run) {
				return true
			}
		}
		return false
	}
	return fits(spelled(re))
}

// mostSpellings is how many texts an expression may stand for that is spelt out.
const mostSpellings = 64

// spelled returns all texts that an expression matches, in small letters, nil if they are too many.
func spelled(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText:
		return []string{""}
	case syntax.OpCapture:
		return spelled(re.Sub[0])
	case syntax.OpQuest:
		if texts := spelled(re.Sub[0]); texts != nil {
			return append(slices.Clone(texts), "")
		}
	case syntax.OpCharClass:
		var texts []string
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i+1]-re.Rune[i] >= mostSpellings || len(texts) > mostSpellings {
				return nil
			}
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				texts = append(texts, strings.ToLower(string(r)))
			}
		}
		return texts
	case syntax.OpAlternate:
		var texts []string
		for _, sub := range re.Sub {
			more := spelled(sub)
			if more == nil {
				return nil
			}
			texts = append(texts, more...)
		}
		return texts
	case syntax.OpConcat:
		texts := []string{""}
		for _, sub := range re.Sub {
			if texts = joined(texts, spelled(sub)); texts == nil {
				return nil
			}
		}
		return texts
	}
	return nil
}

// joined returns each of some texts with each of others behind it, nil if they are too many.
func joined(some, others []string) []string {
	if others == nil || len(some)*len(others) > mostSpellings {
		return nil
	}
	var all []string
	for _, a := range some {
		for _, b := range others {
			all = append(all, a+b)
		}
	}
	return all
}

package effects

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxWords is how many words one word may become by its braces.
const maxWords = 1024

// expandBraces adds the words that a word with braces becomes.
func (s *shell) expandBraces(f *fields, word *syntax.Word, n int) {
	if n > maxBraces {
		if commas(word) {
			f.add(unknownText)
			f.splits = true
		} else {
			s.parts(f, word.Parts, false)
		}
		f.end()
		return
	}
	split := syntax.Word{Parts: slices.Clone(word.Parts)} // SplitBraces changes its word
	if !syntax.SplitBraces(&split) {
		s.parts(f, s.tilde(f, word.Parts), false)
		f.end()
		return
	}
	words, all := bracesOf([][]syntax.WordPart{nil}, split.Parts)
	if !all {
		s.unreadable(errTooMuch)
	}
	for _, parts := range words {
		s.parts(f, s.tilde(f, parts), false)
		f.end()
	}
}

// commas reports whether a word has what could part the words of a brace expansion.
func commas(word *syntax.Word) bool {
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok && (strings.Contains(lit.Value, ",") || strings.Contains(lit.Value, "..")) {
			return true
		}
	}
	return false
}

// bracesOf returns each of the words with each of the ways in which parts expand behind it; all is false if that are
// too many.
func bracesOf(words [][]syntax.WordPart, parts []syntax.WordPart) (product [][]syntax.WordPart, all bool) {
	all = true
	for _, part := range parts {
		braces, ok := part.(*syntax.BraceExp)
		if !ok {
			for i := range words {
				words[i] = append(slices.Clip(words[i]), part)
			}
			continue
		}
		var ways [][]syntax.WordPart
		if braces.Sequence {
			ways = sequence(braces)
		} else {
			for _, elem := range braces.Elems {
				expanded, fits := bracesOf([][]syntax.WordPart{nil}, elem.Parts)
				ways, all = append(ways, expanded...), all && fits
			}
		}
		if len(words)*len(ways) > maxWords {
			return words, false
		}
		next := make([][]syntax.WordPart, 0, len(words)*len(ways))
		for _, word := range words {
			for _, way := range ways {
				next = append(next, append(slices.Clip(word), way...))
			}
		}
		words = next
	}
	return words, all
}

// sequence returns what {1..3} expands to: a few words, or one that stands for any.
func sequence(braces *syntax.BraceExp) [][]syntax.WordPart {
	const most = 32
	lit := func(text string) []syntax.WordPart { return []syntax.WordPart{&syntax.Lit{Value: text}} }
	any := [][]syntax.WordPart{lit("*")}
	ends := make([]int, len(braces.Elems))
	letters := false
	for i, elem := range braces.Elems {
		text := elem.Lit()
		n, err := strconv.Atoi(text)
		if err != nil {
			if len(text) != 1 {
				return any
			}
			letters = true
			n = int(text[0])
		}
		ends[i] = n
	}
	if len(ends) < 2 {
		return any
	}
	from, to, by := ends[0], ends[1], 1
	if len(ends) > 2 && ends[2] != 0 {
		by = max(ends[2], -ends[2])
	}
	count := (max(from, to)-min(from, to))/by + 1
	if count > most || count < 1 {
		return any
	}
	if from > to {
		by = -by
	}
	ways := make([][]syntax.WordPart, 0, count)
	for n := from; len(ways) < count; n += by {
		text := strconv.Itoa(n)
		if letters {
			text = string(rune(n))
		}
		ways = append(ways, lit(text))
	}
	return ways
}

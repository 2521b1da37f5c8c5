package effects

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the length up to which a name with unknown parts is compared with one that has wildcards. Names of files
// have 255 bytes, or characters.
const maxName = 1024

// segment is one name of a path pattern: ** for any folders, a literal one, or one with wildcards.
type segment struct {
	folders bool
	name    string      // of a literal one
	folded  string      // of a literal one
	tokens  []nameToken // of one with wildcards
}

// nameToken is a part of a segment with wildcards.
type nameToken struct {
	kind    nameTokenKind
	char    rune // of a tokenChar
	folded  rune
	negated bool
	ranges  []rune // of a tokenSet: pairs of the first and last
}

type nameTokenKind uint8

const (
	tokenChar nameTokenKind = iota
	tokenSet                // [abc]
	tokenOne                // ?
	tokenAny                // *
)

// literalSegment returns the segment for a name without wildcards.
func literalSegment(name string) segment { return segment{name: name, folded: fold(name)} }

// parseSegment reads a name of a pattern.
func parseSegment(name string) (segment, error) {
	if name == "**" {
		return segment{folders: true}, nil
	}
	if !strings.ContainsAny(name, "*?[]") {
		return literalSegment(name), nil
	}
	var s segment
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		switch r {
		case '*':
			if len(s.tokens) == 0 || s.tokens[len(s.tokens)-1].kind != tokenAny {
				s.tokens = append(s.tokens, nameToken{kind: tokenAny})
			}
		case '?':
			s.tokens = append(s.tokens, nameToken{kind: tokenOne})
		case '[':
			set, length, err := parseSet(name[i:])
			if err != nil {
				return segment{}, err
			}
			s.tokens = append(s.tokens, set)
			size = length
		case ']':
			return segment{}, errors.New("a bracket is closed that was not opened")
		default:
			s.tokens = append(s.tokens, nameToken{char: r, folded: foldRune(r)})
		}
		i += size
	}
	return s, nil
}

// parseSet reads [abc], and returns its length.
func parseSet(text string) (set nameToken, length int, err error) {
	set.kind = tokenSet
	i := 1
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		set.negated = true
		i++
	}
	for first := true; i < len(text) && (first || text[i] != ']'); first = false {
		low, size := utf8.DecodeRuneInString(text[i:])
		i += size
		high := low
		if i+1 < len(text) && text[i] == '-' && text[i+1] != ']' {
			high, size = utf8.DecodeRuneInString(text[i+1:])
			i += 1 + size
		}
		set.ranges = append(set.ranges, low, high)
	}
	if i >= len(text) {
		return nameToken{}, 0, errors.New("a bracket is not closed")
	}
	return set, i + 1, nil
}

// hasText reports whether a segment has characters of its own.
func (s *segment) hasText() bool {
	return s.name != "" || slices.ContainsFunc(s.tokens, func(t nameToken) bool { return t.kind < tokenOne })
}

// matches reports whether a name is surely one that the segment means; a part of the name that is not known is only what
// * means.
func (s *segment) matches(name string, folded bool) bool {
	if s.tokens != nil {
		return matchTokens(s.tokens, name, folded)
	}
	if folded {
		return s.folded == name
	}
	return s.name == name
}

// takes reports whether a token means a character, which may be a byte that stands for one that is not known.
func (t *nameToken) takes(r rune, folded bool) bool {
	switch {
	case t.kind == tokenOne:
		return r >= 0 || r == -anyRune
	case r < 0:
		return false
	case t.kind == tokenSet:
		return t.hasInSet(r, folded) != t.negated
	case folded:
		return t.folded == r
	}
	return t.char == r
}

func (t *nameToken) hasInSet(r rune, folded bool) bool {
	for c := r; ; {
		for i := 0; i < len(t.ranges); i += 2 {
			if t.ranges[i] <= c && c <= t.ranges[i+1] {
				return true
			}
		}
		if c = unicode.SimpleFold(c); c == r || !folded {
			return false
		}
	}
}

// nextChar returns the first character of a name. It is negative where it stands for what is not known.
func nextChar(name string) (r rune, size int) {
	if name[0] >= anyRune {
		return -rune(name[0]), 1
	}
	return utf8.DecodeRuneInString(name)
}

// matchTokens matches a name with wildcards, of which the last * alone is ever tried again.
func matchTokens(tokens []nameToken, name string, folded bool) bool {
	t, n := 0, 0
	againT, againN := -1, 0
	for n < len(name) {
		r, size := nextChar(name[n:])
		switch {
		case t < len(tokens) && tokens[t].kind == tokenAny && r != -anyText:
			t++
			againT, againN = t, n
		case t < len(tokens) && tokens[t].kind != tokenAny && tokens[t].takes(r, folded):
			t++
			n += size
		case againT >= 0 && r != -anyText:
			_, size := nextChar(name[againN:])
			againN += size
			t, n = againT, againN
		default:
			return false
		}
	}
	for t < len(tokens) && tokens[t].kind == tokenAny {
		t++
	}
	return t == len(tokens)
}

// isHidden reports whether a segment is a name that begins with a dot.
func (s *segment) isHidden() bool {
	if s.tokens != nil {
		return s.tokens[0].kind == tokenChar && s.tokens[0].char == '.'
	}
	return strings.HasPrefix(s.name, ".")
}

// support is what a name with unknown parts must have of its own to be taken for one that a segment means.
type support uint8

const (
	noSupport    support = iota
	charSupport          // a character that the segment has too, not only one that * would mean
	startSupport         // a letter or digit that the segment has too, and the name's start: text before it may be folders
)

// could reports whether a folded name that has unknown parts could be one that the segment means.
func (s *segment) could(name string, needs support) bool {
	if needs == startSupport {
		if name = withoutUnknownStart(name); name == "" || name[0] >= anyRune {
			return false
		}
		if !hasUnknown(name) {
			return s.matches(name, true)
		}
	}
	if len(name) > maxName || s.tokens == nil && !fits(s.folded, name) {
		return false
	}
	tokens := s.tokens
	if tokens == nil {
		tokens = make([]nameToken, 0, 64)
		for _, r := range s.folded {
			tokens = append(tokens, nameToken{char: r, folded: r})
		}
	}
	chars := make([]rune, 0, 64)
	for len(name) > 0 {
		r, size := nextChar(name)
		chars = append(chars, r)
		name = name[size:]
	}
	return meet(tokens, chars, needs)
}

// withoutUnknownStart returns a name without the text at its start that only the running shell knows.
func withoutUnknownStart(name string) string {
	for name != "" && name[0] == anyText {
		name = name[1:]
	}
	return name
}

// fits reports whether a name with unknown parts begins and ends like a literal one: the quick answer for most.
func fits(literal, name string) bool {
	start := unknownAt(name)
	end := len(name) - 1
	for end >= 0 && name[end] < anyRune {
		end--
	}
	return start < 0 || strings.HasPrefix(literal, name[:start]) && strings.HasSuffix(literal, name[end+1:])
}

// meet reports whether a name with unknown parts and one with wildcards could be the same. Row t of the table says for
// each place in the name whether the tokens before t can have come so far: bit 1, and with support: bit 2.
func meet(tokens []nameToken, chars []rune, needs support) bool {
	m := meeting{tokens: tokens, chars: chars, needs: needs}
	var space [128]uint8
	table := space[:]
	if need := 2 * (len(chars) + 1); need > len(table) {
		table = make([]uint8, need)
	}
	row, next := table[:len(chars)+1], table[len(chars)+1:2*(len(chars)+1)]
	row[0] = 1
	for t := 0; t <= len(tokens); t++ {
		clear(next)
		for n := 0; n <= len(chars); n++ {
			if row[n] == 0 {
				continue
			}
			if n < len(chars) {
				m.char(row, next, t, n)
			}
			if t < len(tokens) && tokens[t].kind == tokenAny {
				next[n] |= row[n]
			}
		}
		if t < len(tokens) {
			row, next = next, row
		}
	}
	if needs != noSupport {
		return row[len(chars)]&2 != 0
	}
	return row[len(chars)] != 0
}

// meeting is a name with unknown parts and one with wildcards, which could be the same.
type meeting struct {
	tokens []nameToken
	chars  []rune
	needs  support
}

// char goes on from a place of the table by a character, a token, or both.
func (m *meeting) char(row, next []uint8, t, n int) {
	tokens, r := m.tokens, m.chars[n]
	more := t < len(tokens)
	if r == -anyText || r == -anyName { // it is nothing, or one more character
		row[n+1] |= row[n]
		if more && !(r == -anyName && hidden(tokens, t, n)) {
			next[n] |= row[n]
		}
		return
	}
	switch {
	case !more:
	case tokens[t].kind == tokenAny:
		row[n+1] |= row[n]
	case r == -anyRune:
		if !hidden(tokens, t, n) {
			next[n+1] |= row[n]
		}
	case tokens[t].takes(r, true):
		if tokens[t].kind == tokenOne || m.needs == startSupport && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			next[n+1] |= row[n]
		} else {
			next[n+1] |= 2
		}
	}
}

// hidden reports whether a token is the dot at the start of a name, for which no wildcard of a shell stands.
func hidden(tokens []nameToken, t, n int) bool {
	return t == 0 && n == 0 && tokens[0].kind == tokenChar && tokens[0].char == '.'
}

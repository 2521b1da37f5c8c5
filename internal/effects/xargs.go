package effects

import (
	"slices"
	"strings"
)

// started judges a command that another starts. Words that come from the standard input stand behind it, or in place of
// a mark.
func (s *shell) started(st start, t taking) {
	if !st.stdin {
		s.command(st.words, outside)
		return
	}
	input := s.input
	if t.file {
		s.input = unknownStream()
	}
	all := s.given(t.lines)
	s.input = input
	if all == nil {
		s.command(st.words, outside)
		return
	}
	for _, given := range all {
		if t.mark == "" || !slices.ContainsFunc(st.words, func(w Word) bool { return strings.Contains(w.Text, t.mark) }) {
			s.command(append(slices.Clip(st.words), given...), outside)
			continue
		}
		for _, one := range given {
			s.command(fill(st.words, t.mark, one), outside)
		}
	}
}

// fill returns words in which a mark is replaced.
func fill(words []Word, mark string, by Word) []Word {
	filled := make([]Word, len(words))
	for i, w := range words {
		filled[i] = w
		if strings.Contains(w.Text, mark) {
			filled[i].Text = strings.ReplaceAll(w.Text, mark, by.Text)
		}
	}
	return filled
}

// filled returns the texts that parallel makes of one and of what comes in.
func (s *shell) filled(does *invocation, text Word) []Word {
	if does.stdin != stdinWords {
		return []Word{text}
	}
	var all []Word
	for _, given := range s.given(true) {
		for _, one := range given {
			if strings.Contains(text.Text, "{}") {
				all = append(all, fill([]Word{text}, "{}", one)...)
			} else {
				all = append(all, Word{Text: text.Text + " " + one.Text})
			}
		}
	}
	if all == nil {
		return []Word{text}
	}
	return all
}

// taking is how xargs and parallel take what comes in.
type taking struct {
	mark  string // what is replaced by it; "" where it stands behind the words
	lines bool   // a line is one word
	file  bool   // it comes from a file
}

// takes returns how a program takes what comes in.
func takes(program string, words []Word) taking {
	switch program {
	case "parallel", "rush":
		return taking{mark: "{}", lines: true}
	case "xargs", "gxargs":
	default:
		return taking{}
	}
	var t taking
	for i := 1; i < len(words) && strings.HasPrefix(words[i].Text, "-"); i++ {
		text := words[i].Text
		next := ""
		if i+1 < len(words) {
			next = words[i+1].Text
		}
		switch {
		case text == "--null", strings.HasPrefix(text, "--delimiter"):
			t.lines = true
		case text == "--replace", text == "-i":
			t.mark, t.lines = "{}", true
		case strings.HasPrefix(text, "--replace="):
			t.mark, t.lines = text[len("--replace="):], true
		case strings.HasPrefix(text, "--arg-file"):
			t.file = true
		case strings.HasPrefix(text, "--"):
		default:
			i += t.short(text[1:], next)
		}
	}
	return t
}

// short reads a word of short options of xargs, and returns how many more words it takes.
func (t *taking) short(letters, next string) (more int) {
	for j := range len(letters) {
		rest := letters[j+1:]
		switch letters[j] {
		case '0':
			t.lines = true
		case 'I', 'J', 'd':
			if rest == "" {
				rest, more = next, 1
			}
			if t.lines = true; letters[j] != 'd' {
				t.mark = rest
			}
			return more
		case 'i':
			if t.mark = rest; rest == "" {
				t.mark = "{}"
			}
			t.lines = true
			return 0
		case 'a', 'E', 'L', 'n', 'P', 's', 'R', 'S':
			if rest == "" {
				more = 1
			}
			t.file = t.file || letters[j] == 'a'
			return more
		}
	}
	return 0
}

package effects

import "strings"

// given returns the words that a command gets from its standard input, as xargs splits them: at blanks, or at the ends of
// lines only.
func (s *shell) given(lines bool) [][]Word {
	separators := " \t\n\x00"
	if lines {
		separators = "\n\x00"
	}
	if s.input == nil {
		return nil
	}
	var all [][]Word
	for _, text := range s.input.texts() {
		if isUnknown(text) {
			all = append(all, []Word{{Text: unknownText, Splits: mayBecomeOptions(text)}})
			continue
		}
		var words []Word
		for _, field := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
			if !lines {
				field = withoutQuotes(field)
			}
			words = append(words, Word{Text: field, Splits: mayBecomeOptions(field)})
		}
		if len(words) > 0 {
			all = append(all, words)
		}
	}
	return all
}

// withoutQuotes returns a word of xargs's input as xargs takes it.
func withoutQuotes(text string) string {
	if !strings.ContainsAny(text, `'"\`) {
		return text
	}
	return strings.NewReplacer(`'`, "", `"`, "", `\`, "").Replace(text)
}

// readLines gives the variables of read what comes in, line by line: any line may be the one.
func (s *shell) readLines(words []Word) {
	var names []string
	array := ""
	for i := 1; i < len(words); i++ {
		text := words[i].Text
		if len(text) < 2 || text[0] != '-' {
			names = append(names, text)
			continue
		}
		if strings.IndexByte("adinNptu", text[len(text)-1]) < 0 {
			continue
		}
		if i++; text[len(text)-1] == 'a' && i < len(words) {
			array = words[i].Text
		}
	}
	separators := s.separators()
	split := func(line string) []string {
		return strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(separators, r) })
	}
	switch {
	case array != "":
		var held value
		for _, line := range s.lines() {
			held, _ = held.or(value{{array: true, elements: split(line)}})
		}
		s.assign(array, held, false)
		return
	case len(names) == 0:
		names = []string{"REPLY"}
	}
	values := make([]value, len(names))
	for _, line := range s.lines() {
		fields := split(line)
		if len(names) == 1 {
			fields = []string{strings.TrimSpace(line)}
		}
		for i := range names {
			values[i], _ = values[i].or(textOf(readField(line, fields, i, i == len(names)-1)))
		}
	}
	for i, name := range names {
		s.assign(name, values[i], false)
	}
}

// readField returns what the variable at i gets of a line; the last one gets the rest.
func readField(line string, fields []string, i int, last bool) string {
	switch {
	case i < len(fields) && last:
		return strings.Join(fields[i:], " ")
	case i < len(fields):
		return fields[i]
	case holdsUnknown(line):
		return strings.Trim(line, " ")
	}
	return ""
}

// lines are those that may come in.
func (s *shell) lines() []string {
	if s.input == nil || !s.input.begun {
		return unknownTexts
	}
	var lines []string
	for _, text := range s.input.texts() {
		lines = append(lines, strings.Split(strings.TrimRight(text, "\n"), "\n")...)
	}
	if len(lines) > maxValues {
		return unknownTexts
	}
	return lines
}

package install

import "strings"

// quote returns a word as a POSIX shell reads it back, in quotes only where it needs them.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// splitWords splits a simple command as a POSIX shell does. ok is false where the line is more than plain and quoted
// words: an expansion, an operator, an open quote.
func splitWords(line string) (words []string, ok bool) {
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t':
			if inWord {
				words, inWord = append(words, word.String()), false
				word.Reset()
			}
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, false
			}
			word.WriteString(line[i+1 : i+1+end])
			i, inWord = i+1+end, true
		case '"':
			end := strings.IndexAny(line[i+1:], "\"\\$`")
			if end < 0 || line[i+1+end] != '"' {
				return nil, false
			}
			word.WriteString(line[i+1 : i+1+end])
			i, inWord = i+1+end, true
		case '\\':
			if i++; i == len(line) || line[i] == '\n' {
				return nil, false
			}
			word.WriteByte(line[i])
			inWord = true
		case '$', '`', '|', '&', ';', '<', '>', '(', ')', '*', '?', '[', '#', '~', '\n', '\r':
			return nil, false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, true
}

package pretool

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSkillName is how long the name of a skill or an agent may be, in bytes.
const maxSkillName = 256

// isAuthoring reports whether a prompt names the file of a skill or an agent.
func isAuthoring(prompt string) bool {
	for range libraryPaths(prompt, "skills", "SKILL.md") {
		return true
	}
	for range libraryPaths(prompt, "agents", "agent.md") {
		return true
	}
	return false
}

// libraryPaths yields each name of a path folder/NAME/file in a text. Slashes go either way and may be doubled, as in a
// quoted string; case does not matter. The folder and the file stand there whole: web-skills/x/SKILL.md and
// skills/x/SKILL.md.bak are other paths. The work grows with the length of the text alone.
func libraryPaths(text, folder, file string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i+len(folder) < len(text); i++ {
			if text[i]|0x20 != folder[0] || !hasPrefixFold(text[i:], folder) || endsInWord(text[:i]) {
				continue
			}
			if name, ok := fileBelow(text[i+len(folder):], file); ok && !yield(name) {
				return
			}
		}
	}
}

// fileBelow returns the NAME of a text that begins with /NAME/file.
func fileBelow(text, file string) (name string, ok bool) {
	text, ok = cutSlash(text)
	if !ok {
		return "", false
	}
	end := strings.IndexAny(text[:min(len(text), maxSkillName+1)], "/\\\n")
	if end < 0 || !isSkillName(text[:end]) {
		return "", false
	}
	rest, _ := cutSlash(text[end:])
	if !hasPrefixFold(rest, file) || goesOn(rest[len(file):]) {
		return "", false
	}
	return text[:end], true
}

// cutSlash removes a slash, or two, from the beginning of a text.
func cutSlash(text string) (rest string, ok bool) {
	n := 0
	for n < 2 && n < len(text) && (text[n] == '/' || text[n] == '\\') {
		n++
	}
	return text[n:], n > 0
}

func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// endsInWord reports whether a word that follows the text would be the end of a longer one.
func endsInWord(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return isWordRune(r)
}

// goesOn reports whether a text continues the name of the file before it, rather than the sentence.
func goesOn(text string) bool {
	r, size := utf8.DecodeRuneInString(text)
	if r == '.' {
		r, _ = utf8.DecodeRuneInString(text[size:])
	}
	return isWordRune(r)
}

func isWordRune(r rune) bool {
	return r == '-' || r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// isSkillName reports whether a name can be that of a skill or an agent: letters, digits, and "-_." within.
func isSkillName(name string) bool {
	if name == "" || len(name) > maxSkillName || strings.ContainsRune("-_.", rune(name[0])) {
		return false
	}
	for _, r := range name {
		if r != '.' && !isWordRune(r) {
			return false
		}
	}
	return true
}

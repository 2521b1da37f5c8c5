package effects

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// In a path, these bytes, which UTF-8 does not have, stand for what is not known.
const (
	anyText = '\xff' // any text, slashes too: what only the running shell knows
	anyName = '\xfe' // any text within a name: the * of a shell pattern
	anyRune = '\xfd' // one character of a name: the ? of a shell pattern
)

// unknownText is the path of which nothing is known.
const unknownText = "\xff"

// hasUnknown reports whether a text has parts that are not known.
func hasUnknown(text string) bool { return unknownAt(text) >= 0 }

// unknownAt returns where the first part of a text is that is not known, or -1. The functions of strings would take
// U+FFFD for one.
func unknownAt(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i] >= anyRune {
			return i
		}
	}
	return -1
}

// Path is a path in all the forms under which a pattern may know it. [World.Resolve] makes them.
type Path struct {
	Text string // as it was written, for people

	// Forms are absolute, clean and with slashes: as written in each folder in which the command may stand, with links
	// resolved, in Windows spellings mapped to c:/….
	Forms []string

	forms   []form // Forms, split for matching; nil where they are still to be split
	folders []form // folders that a name of nothing but wildcards stands for: they matter where what is below does
	wide    bool   // more names fit its wildcards than were looked at
	vague   bool   // links could not be followed to their end, or the path is longer than any: it may be anything
}

// Equal reports whether two paths have the same text and forms.
func (p Path) Equal(q Path) bool {
	return p.Text == q.Text && slices.Equal(p.Forms, q.Forms)
}

// also makes the forms of another path forms of this one.
func (p *Path) also(q Path) {
	for i, text := range q.Forms {
		if !slices.Contains(p.Forms, text) {
			p.Forms = append(p.Forms, text)
			p.forms = append(p.forms, q.forms[i])
		}
	}
	p.folders = append(p.folders, q.folders...)
	p.wide, p.vague = p.wide || q.wide, p.vague || q.vague
}

// split returns the forms for matching.
func (p *Path) split() []form {
	if p.forms != nil {
		return p.forms
	}
	forms := make([]form, len(p.Forms))
	for i, text := range p.Forms {
		forms[i] = newForm(text)
	}
	return forms
}

// form is one form of a path, split into its names. The root / is no name; a drive such as c: is the first.
type form struct {
	names   []string // as they are written
	folded  []string // case folded
	unknown bool     // some names have parts that are not known

	elements []element // of one that has such parts
}

func newForm(path string) form {
	f := form{unknown: hasUnknown(path)}
	f.names = splitNames(path)
	f.folded = f.names
	if folded := fold(path); folded != path {
		f.folded = splitNames(folded)
	}
	if len(f.folded) != len(f.names) { // no rune folds to a slash; were one to, exact names would be the wrong ones
		f.names = f.folded
	}
	if f.unknown {
		f.elements = elementsOf(f.folded)
	}
	return f
}

func splitNames(path string) []string {
	path = strings.TrimPrefix(path, "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// joinNames is the inverse of splitNames. A drive, and what is not known, stand at the start without a slash.
func joinNames(names []string) string {
	path := strings.Join(names, "/")
	if path != "" && (path[0] == anyText || isDrive(names[0])) {
		return path
	}
	return "/" + path
}

// isDrive reports whether a name is that of a drive: c:.
func isDrive(name string) bool {
	return len(name) == 2 && name[1] == ':' && isLetter(name[0])
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// clean returns a path without empty names, "." and "..", as its text says and without a look at the disk.
func clean(path string) string {
	if isClean(path) {
		return path
	}
	names := make([]string, 0, 8)
	for name := range strings.SplitSeq(path, "/") {
		names = step(names, name)
	}
	return joinNames(names)
}

// isClean reports whether a path that begins at the root is clean: the quick answer for most.
func isClean(path string) bool {
	if len(path) < 2 || path[0] != '/' || path[len(path)-1] == '/' || isDrive(path[1:min(3, len(path))]) {
		return false
	}
	for i := 1; i < len(path); i++ {
		if path[i-1] == '/' && (path[i] == '/' || path[i] == '.') || path[i] == anyText {
			return false
		}
	}
	return true
}

// step appends a name to a clean path, or goes up from it.
func step(names []string, name string) []string {
	switch {
	case name == "" || name == ".":
		return names
	case name != "..":
		return append(names, name)
	case len(names) == 0 || len(names) == 1 && isDrive(names[0]):
		return names
	case strings.Contains(names[len(names)-1], unknownText): // it may be several names, and some of them remain
		names[len(names)-1] = unknownText
		return names
	default:
		return names[:len(names)-1]
	}
}

// fold returns a text such that texts which differ only in case have the same. Characters that a file system of macOS
// ignores in names are left out.
func fold(text string) string {
	for i := 0; i < len(text); i++ {
		if b := text[i]; 'A' <= b && b <= 'Z' || b >= utf8.RuneSelf && b < anyRune {
			return foldFrom(text, i)
		}
	}
	return text
}

// foldFrom folds a text of which the first n bytes are folded already.
func foldFrom(text string, n int) string {
	folded := make([]byte, n, len(text)+8)
	copy(folded, text)
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if r == utf8.RuneError && size == 1 {
			folded = append(folded, text[n])
		} else if !isIgnorable(r) {
			folded = utf8.AppendRune(folded, foldRune(r))
		}
		n += size
	}
	return string(folded)
}

// foldRune returns one rune, a small one, for all that differ from r only in case.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}

// isIgnorable reports whether HFS+ ignores r in a name (TN1150; git's CVE-2014-9390).
func isIgnorable(r rune) bool {
	return 0x200c <= r && r <= 0x200f || 0x202a <= r && r <= 0x202e || 0x206a <= r && r <= 0x206f || r == 0xfeff
}

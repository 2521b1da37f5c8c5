package effects

import (
	"strings"
)

// maxMentions is how many texts that look like paths are taken from one code.
const maxMentions = 10_000

// mentions are the texts in a code that look like paths.
type mentions struct {
	code  string
	paths []form
	all   bool
}

// In reports whether code in another language mentions a path that the pattern protects. The code is not understood: what
// stands between quotes, blanks and brackets is held against the pattern if it looks like a path, and where the pattern
// begins in the home folder only its names from there count, since ~ is spelled in many ways.
func (p *PathPattern) In(code string, w *World) bool {
	if w == nil {
		w = &World{}
	}
	d := w.look()
	if d.code.code != code || code == "" {
		d.code = w.mentionsIn(code)
	}
	if !d.code.all {
		return true
	}
	routes := p.in(w)
	for i := range p.routes {
		if r := &p.routes[i]; r.root == fromHome && r.decisive >= 0 {
			routes = append(routes[:len(routes):len(routes)], r.below([]segment{{folders: true}}, route{}))
		}
	}
	for _, f := range d.code.paths {
		for i := range routes {
			if routes[i].decisive >= 0 && matchSegments(routes[i].segments, f.folded, true) {
				return true
			}
		}
	}
	return false
}

// mentionsIn finds the texts in a code that look like paths.
func (w *World) mentionsIn(code string) mentions {
	found := mentions{code: code, all: true}
	seen := make(map[string]bool)
	for start := 0; start < len(code); {
		length := strings.IndexAny(code[start:], codeBoundaries)
		if length < 0 {
			length = len(code) - start
		}
		if text := code[start : start+length]; looksMentioned(code, start, text) && !seen[text] {
			if len(seen) == maxMentions {
				found.all = false
				return found
			}
			seen[text] = true
			found.paths = append(found.paths, w.mentioned(text)...)
		}
		start += length + 1
	}
	return found
}

// codeBoundaries are what stands round a text in most languages.
const codeBoundaries = " \t\r\n\"'`()[]{}<>,;|&=+"

// mentioned returns the forms of a text in a code, without a look at the disk.
func (w *World) mentioned(text string) []form {
	var forms []form
	for _, spelling := range w.spellings(text, []string{w.Dir}) {
		forms = append(forms, newForm(clean(spelling)))
	}
	return forms
}

// looksMentioned reports whether the text that begins at start in a code looks like a path: it has a slash, begins with
// a dot or ~, or is all that stands between two quotes.
func looksMentioned(code string, start int, text string) bool {
	if text == "" || len(text) > maxNative {
		return false
	}
	before, after := byte(' '), byte(' ')
	if start > 0 {
		before = code[start-1]
	}
	if end := start + len(text); end < len(code) {
		after = code[end]
	}
	switch {
	case text[0] == '.' && strings.IndexByte(")]}", before) >= 0: // a member: f(x).env
		return false
	case strings.Trim(text, "./\\~") == "":
		return false
	case strings.ContainsAny(text, `/\`) || text[0] == '.' || text[0] == '~':
		return true
	}
	return isQuote(before) && isQuote(after) && !isKey(code[:start-1], code[start+len(text)+1:])
}

func isQuote(b byte) bool { return b == '"' || b == '\'' || b == '`' }

// isKey reports whether a quoted text between two others is the key of a map: d["x"], {"x": 1}, d.get("x").
func isKey(before, after string) bool {
	after = strings.TrimLeft(after, " \t")
	if strings.HasPrefix(after, ":") {
		return true
	}
	before = strings.TrimRight(before, " \t\\")
	if strings.HasSuffix(before, ".get(") {
		return true
	}
	subscripted, ok := strings.CutSuffix(before, "[")
	if !ok || subscripted == "" || !strings.HasPrefix(strings.TrimLeft(after, "\\"), "]") {
		return false
	}
	last := subscripted[len(subscripted)-1]
	return isLetter(last) || '0' <= last && last <= '9' || strings.IndexByte("_)]", last) >= 0
}

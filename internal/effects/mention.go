package effects

import (
	"strings"
)

const (
	// maxMentions is how many texts that look like paths are taken from one code.
	maxMentions = 10_000

	// maxPlaces is how many places of one such text are looked at.
	maxPlaces = 100
)

// mentions are the texts in a code that look like paths.
type mentions struct {
	code  string
	texts []mention
	all   bool

	program string // that runs the code; "" where it is not known
	looked  bool
	runs    bool // the code could run commands
	opens   bool // the code could open files
}

// mention is a text in a code that looks like a path.
type mention struct {
	forms  []form
	length int
	places []int // where it stands
}

// In reports whether code in another language mentions a path that the pattern protects. The code is not understood: what
// stands between quotes, blanks and brackets is held against the pattern if it looks like a path, and where the pattern
// begins in the home folder only its names from there count, since ~ is spelled in many ways. What the code only prints,
// compares or leaves out is not mentioned, nor is what stands in a comment.
func (p *PathPattern) In(code string, w *World) bool {
	if w == nil {
		w = &World{}
	}
	d := w.look()
	if d.code.code != code || code == "" {
		d.code = w.mentionsIn(code)
		d.code.program = d.programs[code]
	}
	if !d.code.all {
		return true
	}
	if len(d.code.texts) == 0 {
		return false
	}
	routes := p.in(w)
	for i := range p.routes {
		if r := &p.routes[i]; r.root == fromHome && r.decisive >= 0 {
			beneath := route{segments: append([]segment{{folders: true}}, r.segments...)}
			routes = append(routes[:len(routes):len(routes)], beneath.measured())
		}
	}
	for i := range d.code.texts {
		if m := &d.code.texts[i]; m.isOf(routes) && d.code.isUsed(m) {
			return true
		}
	}
	return false
}

// isOf reports whether a mention is of a path of which any of the routes speaks.
func (m *mention) isOf(routes []route) bool {
	for i := range m.forms {
		for j := range routes {
			if routes[j].lastText() >= 0 && routes[j].means(m.forms[i].folded, true) {
				return true
			}
		}
	}
	return false
}

// mentionsIn finds the texts in a code that look like paths.
func (w *World) mentionsIn(code string) mentions {
	found := mentions{code: code, all: true}
	known := make(map[string]int)
	for start := 0; start < len(code); {
		length := strings.IndexAny(code[start:], codeBoundaries)
		if length < 0 {
			length = len(code) - start
		}
		if text := code[start : start+length]; looksMentioned(code, start, text) {
			i, ok := known[text]
			if !ok {
				if i = len(known); i == maxMentions {
					found.all = false
					return found
				}
				known[text] = i
				found.texts = append(found.texts, mention{forms: w.mentioned(text), length: length})
			}
			found.texts[i].places = append(found.texts[i].places, start)
		}
		start += length + 1
	}
	return found
}

// learnCode remembers which programs would run the code among effects: what a mention is depends on the language. Of code
// that two of them would run it is not known.
func (w *World) learnCode(effects []Effect) {
	d := w.look()
	for i := range effects {
		command := effects[i].Command
		if command == nil || command.Code == "" {
			continue
		}
		if d.programs == nil {
			d.programs = make(map[string]string)
		}
		program := command.Program()
		if other, ok := d.programs[command.Code]; ok && other != program {
			program = ""
		}
		d.programs[command.Code] = program
	}
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
		return !isWebAddress(text)
	}
	return isQuote(before) && isQuote(after) && !isKey(code[:start-1], code[start+len(text)+1:])
}

// isWebAddress reports whether a text is a URL of something that is no file.
func isWebAddress(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	if !ok {
		return false
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "ws", "wss":
		return true
	}
	return false
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

package effects

import "strings"

// argument judges a word that is given to a program which is not known.
func (c *call) argument(w Word) {
	if !strings.HasPrefix(w.Text, "-") {
		c.guess(w)
		return
	}
	name, value, found := strings.Cut(w.Text, "=")
	switch {
	case !found:
		c.glued(w)
	case !leavesOut(name):
		c.guess(Word{Text: value, Splits: w.Splits})
	}
}

// guess judges a word that may name a file, since nobody knows what it is: FILE, @FILE, file://FILE or NAME=FILE.
func (c *call) guess(w Word) {
	if strings.HasPrefix(w.Text, "!") { // what is to be left out
		return
	}
	c.guessed(w)
	for _, before := range [...]string{"@", "file://", "fileb://"} {
		if path, found := strings.CutPrefix(w.Text, before); found {
			c.guessed(Word{Text: path, Splits: w.Splits})
			return
		}
	}
	if isAssignment(w.Text) {
		_, path, _ := strings.Cut(w.Text, "=")
		c.guessed(Word{Text: strings.TrimPrefix(path, "@"), Splits: w.Splits})
	}
}

// guessed adds a file that may be read, or the host of a URL that may be asked.
func (c *call) guessed(w Word) {
	if scheme, rest, found := strings.Cut(w.Text, "://"); found && hasScheme(scheme) && !strings.EqualFold(scheme, "file") {
		c.addHost(authority(rest))
		return
	}
	c.file(w, operand{read: true, bare: isBare(w.Text)})
}

// isBare reports whether a word looks no more like a path than any other word.
func isBare(text string) bool { return !strings.ContainsAny(text, `/.~\`) && !holdsUnknown(text) }

// glued judges a file that stands behind a short option in the same word: -f.env.
func (c *call) glued(w Word) {
	if len(w.Text) < 4 || w.Text[0] != '-' || !isLetter(w.Text[1]) {
		return
	}
	if path := w.Text[2:]; !isBare(path) && !holdsUnknown(path) {
		c.guessed(Word{Text: path, Splits: w.Splits})
	}
}

// isLeftOut reports whether the word before the one at a place is an option whose value names what is left out. Where
// the options end at the first operand it is a word like any other.
func (c *call) isLeftOut(at int, plain bool) bool {
	before := c.words[at-1].Text
	if len(before) < 3 || before[0] != '-' || strings.Contains(before, "=") || !leavesOut(before) {
		return false
	}
	if plain {
		return true
	}
	for i := range c.tokens {
		if t := &c.tokens[i]; t.at == at-1 {
			return t.kind == optionToken && !t.listed
		}
	}
	return false
}

// leavesOut reports whether the value of an option, by its name, is what is left out: --exclude, --ignorePattern.
func leavesOut(option string) bool {
	name := lower(strings.TrimLeft(option, "-"))
	if strings.HasPrefix(name, "no-") || strings.HasPrefix(name, "no_") {
		return false
	}
	for _, verb := range [...]string{"exclude", "ignore", "skip", "omit", "except", "without", "not"} {
		i := strings.LastIndex(name, verb)
		if i < 0 || verb == "not" && (i > 0 && isNameByte(name[i-1]) || len(name) > i+3 && isNameByte(name[i+3])) {
			continue
		}
		switch rest := strings.TrimLeft(name[i+len(verb):], "-_"); rest {
		case "case", "-case", "error", "errors", "missing", "whitespace", "space", "from", "file", "ion", "ions", "existing", "scripts":
			return false // a flag, or a file that is read
		}
		return true
	}
	return false
}

package effects

import "strings"

// anyPath is what find finds below a folder: any text.
const anyPath = "\xff"

// found is what an expression of find finds, as far as its names tell.
type found struct {
	roots []Word
	names []string // patterns of names, one of which holds; empty where any name may
	any   bool     // names do not tell: an alternative has none
	named bool     // the alternative that is being read has one
	depth int      // of parentheses
}

// findExpression judges the actions of find (findutils 4.10; find(1) of BSD).
func findExpression(c *call) {
	words := c.words[1:]
	var f found
	for len(words) > 0 && isFindRoot(words[0].Text) {
		if w := words[0]; !strings.HasPrefix(w.Text, "-") {
			f.roots = append(f.roots, w)
		} else if w.Text == "-D" && len(words) > 1 {
			words = words[1:]
		} else if w.Text == "-f" && len(words) > 1 { // BSD
			f.roots = append(f.roots, words[1])
			words = words[1:]
		}
		words = words[1:]
	}
	if len(f.roots) == 0 {
		f.roots = []Word{{Text: "."}}
	}
	c.invocation.operands = nil
	for i := 0; i < len(words); i++ {
		i += c.findTest(&f, words[i:])
	}
}

// isFindRoot reports whether a word stands before the expression.
func isFindRoot(text string) bool {
	switch text {
	case "-H", "-L", "-P", "-D", "-f", "-E", "-X", "-x", "-s", "-d", "--":
		return true
	case "(", ")", "!", ",":
		return false
	}
	return !strings.HasPrefix(text, "-") || strings.HasPrefix(text, "-O")
}

// findTest judges one test or action, and returns how many more words it has.
func (c *call) findTest(f *found, words []Word) (more int) {
	next := func(i int) Word {
		if i < len(words) {
			return words[i]
		}
		return Word{}
	}
	switch words[0].Text {
	case "(":
		f.depth++
		return 0
	case ")":
		f.depth--
		f.any = f.any || f.depth == 0 && !f.named
		return 0
	case "-o", "-or", ",":
		if f.depth > 0 {
			f.any = f.any || !f.named
			f.named = false
		} else {
			f.names, f.any, f.named = nil, false, false
		}
		return 0
	case "-regex", "-iregex":
		name := regexBytes(next(1).Text, true)
		f.names, f.named = append(f.names, name[strings.LastIndexByte(name, '/')+1:]), true
		return 1
	case "!", "-not":
		if name := next(1).Text; strings.HasSuffix(name, "name") || strings.HasSuffix(name, "path") || name == "-regex" {
			return 2
		}
		return 0
	case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-lname":
		name := next(1).Text
		if strings.HasSuffix(words[0].Text, "path") || strings.HasSuffix(words[0].Text, "wholename") {
			name = name[strings.LastIndexByte(name, '/')+1:]
		}
		f.names, f.named = append(f.names, name), true
		return 1
	case "-exec", "-execdir", "-ok", "-okdir":
		return c.findExec(f, words[1:])
	case "-delete":
		for _, w := range f.paths() {
			c.use('d', w)
		}
		if f.isAny() {
			for _, root := range f.roots {
				c.use('d', root)
			}
		}
		return 0
	case "-fprint", "-fprint0", "-fls", "-fprintf":
		c.use('w', next(1))
	case "-files0-from":
		c.use('r', next(1))
	}
	return findArguments(words[0].Text)
}

// findArguments is how many arguments a test has that we do not judge.
func findArguments(test string) int {
	switch test {
	case "-fprintf":
		return 2
	case "-amin", "-anewer", "-atime", "-cmin", "-cnewer", "-context", "-ctime", "-fstype", "-gid", "-group",
		"-ilname", "-inum", "-iregex", "-links", "-maxdepth", "-mindepth", "-mmin", "-mtime", "-newer", "-perm",
		"-printf", "-regex", "-regextype", "-samefile", "-size", "-type", "-uid", "-used", "-user", "-xtype",
		"-fprint", "-fprint0", "-fls", "-files0-from", "-depth", "-flags":
		if test == "-depth" {
			return 0
		}
		return 1
	}
	if strings.HasPrefix(test, "-newer") {
		return 1
	}
	return 0
}

// findExec judges a command that is run for what is found, and returns how many words it has.
func (c *call) findExec(f *found, words []Word) int {
	end := 0
	for end < len(words) && words[end].Text != ";" && !(words[end].Text == "+" && end > 0 && words[end-1].Text == "{}") {
		end++
	}
	command := words[:end]
	if end == 0 {
		return 1
	}
	braces := false
	for _, w := range command {
		braces = braces || strings.Contains(w.Text, "{}")
	}
	if !braces {
		c.startWords(command...)
		return end + 1
	}
	for _, path := range f.paths() {
		filled := make([]Word, len(command))
		for i, w := range command {
			filled[i] = Word{Text: strings.ReplaceAll(w.Text, "{}", path.Text), Splits: w.Splits}
		}
		c.startWords(filled...)
	}
	return end + 1
}

// isAny reports whether names do not tell what is found.
func (f *found) isAny() bool { return len(f.names) == 0 || f.any }

// paths are what is found, with unknown parts.
func (f *found) paths() (paths []Word) {
	const most = 8
	if f.isAny() || len(f.names)*len(f.roots) > most {
		for _, root := range f.roots[:min(len(f.roots), most)] {
			paths = append(paths, Word{Text: strings.TrimSuffix(root.Text, "/") + "/" + anyPath})
		}
		return paths
	}
	for _, root := range f.roots {
		for _, name := range f.names {
			folder := strings.TrimSuffix(root.Text, "/") + "/"
			name := globBytes(name)
			if rest := withoutStars(name); rest != name { // in the folder or below, hidden or not
				paths = append(paths, Word{Text: folder + anyPath + rest})
				if rest != "" && rest[0] != '.' && rest[0] < anyRune {
					paths = append(paths, Word{Text: folder + "." + rest})
				}
				continue
			}
			paths = append(paths, Word{Text: folder + name}, Word{Text: folder + anyPath + "/" + name})
		}
	}
	return paths
}

// globBytes replaces the signs of a shell pattern by the bytes that stand for what is not known.
func globBytes(pattern string) string {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return pattern
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch ch := pattern[i]; {
		case ch == '*':
			b.WriteByte(anyName)
		case ch == '?':
			b.WriteByte(anyRune)
		case ch == '\\' && i+1 < len(pattern):
			i++
			b.WriteByte(pattern[i])
		case ch == '[' && strings.IndexByte(pattern[i:], ']') > 0:
			b.WriteByte(anyRune)
			i += strings.IndexByte(pattern[i:], ']')
		default:
			b.WriteByte(ch)
		}
	}
	return b.String()
}

// withoutStars returns a name without the wildcards with which it begins.
func withoutStars(name string) string {
	for name != "" && name[0] == anyName {
		name = name[1:]
	}
	return name
}

// fdCommand judges "fd PATTERN [PATH…] -x COMMAND…": what stands behind -x is the command.
func fdCommand(c *call) {
	c.shape = ""
	for i, w := range c.words[1:] {
		switch w.Text {
		case "-x", "--exec", "-X", "--exec-batch":
			words := c.words[i+2:]
			for j := range words {
				if words[j].Text == ";" {
					words = words[:j]
					break
				}
			}
			c.fdExec(words, i+1)
			return
		}
	}
}

// fdExec judges a command that fd runs for what it finds, which stands behind its words if no {} says where.
func (c *call) fdExec(command []Word, at int) {
	if len(command) == 0 {
		return
	}
	var f found
	for i, w := range c.operands {
		switch {
		case c.places[i] >= at || strings.HasPrefix(w.Text, "-"):
		case c.places[i] > 0 && i == 0:
			if name := c.fdName(w.Text); !isOnlyUnknown(name) {
				f.names = []string{name}
			}
		default:
			f.roots = append(f.roots, w)
		}
	}
	if f.roots == nil {
		f.roots = []Word{{Text: "."}}
	}
	for _, w := range command {
		if strings.Contains(w.Text, "{}") {
			c.findExec(&f, append(command[:len(command):len(command)], Word{Text: ";"}))
			return
		}
	}
	c.findExec(&f, append(command[:len(command):len(command)], Word{Text: "{}"}, Word{Text: ";"}))
}

// fdName returns the names that the pattern of fd finds.
func (c *call) fdName(pattern string) string {
	for _, t := range c.tokens {
		if t.kind == optionToken && (t.names == "g" || t.names == "glob") {
			return globBytes(pattern)
		}
	}
	return regexBytes(pattern, false)
}

package effects

import "strings"

// option judges an option and its value.
func (c *call) option(t *token) {
	says := t.says
	if !t.listed {
		switch {
		case t.valued && c.inner.style&names == 0 && !leavesOut(t.names):
			c.guess(t.value)
		case !t.valued && !c.known && t.short:
			c.glued(c.words[t.at])
		}
		return
	}
	use := byte('-')
	if rest, ok := strings.CutPrefix(says, "="); ok {
		says = strings.TrimPrefix(rest, "?")
		if says != "" && !strings.ContainsRune("!$^:", rune(says[0])) {
			use, says = says[0], says[1:]
		}
	}
	if t.valued {
		c.use(use, t.value)
	}
	for len(says) > 0 {
		mark := says[0]
		says = says[1:]
		switch {
		case mark == '!':
			c.replaceFirst()
		case mark == '$':
			if i := strings.IndexByte(c.shape, '*'); i >= 0 {
				c.shape = c.shape[:i+1]
			}
		case mark == '^' && says != "":
			c.also += says[:1]
			says = says[1:]
		case mark == ':':
			c.shape, says = says, ""
		}
	}
}

// replaceFirst takes the first operand out of the shape, once: grep -e A -e B FILE.
func (c *call) replaceFirst() {
	if !c.replaced && c.shape != "" {
		c.shape = c.shape[1:]
	}
	c.replaced = true
}

// judgeOperands gives each operand the use that the shape has for it.
func (c *call) judgeOperands() {
	shape := c.shape
	front, back, many := strings.Cut(shape, "*")
	var repeated byte
	if many && front != "" {
		front, repeated = front[:len(front)-1], front[len(front)-1]
	}
	for i, w := range c.operands {
		use := byte('-')
		fromEnd := len(c.operands) - 1 - i
		switch {
		case i < len(front):
			use = front[i]
		case fromEnd < len(back):
			use = back[len(back)-1-fromEnd]
		case many:
			use = repeated
		}
		if use == 'x' {
			c.start(c.places[i])
			return
		}
		if use == 'a' && c.isLeftOut(c.places[i], true) || use == 'r' && c.isLeftOut(c.places[i], false) {
			continue
		}
		before := len(c.invocation.operands)
		c.use(use, w)
		for i := before; i < len(c.invocation.operands); i++ {
			c.invocation.operands[i].add(c.also)
		}
	}
}

// add adds uses to those that a file has.
func (o *operand) add(uses string) {
	for i := range len(uses) {
		switch uses[i] {
		case 'w':
			o.write = true
		case 'd':
			o.write, o.deep = true, true
		case 'r':
			o.read = true
		}
	}
}

// start starts the command that begins at a word.
func (c *call) start(at int) {
	words := c.words[min(at, len(c.words)):]
	for len(words) > 0 && (words[0].Text == "--" || words[0].Text == "-" && c.program == "env") { // env - is env -i
		words = words[1:]
	}
	if c.inner.style&assigns != 0 {
		for len(words) > 0 && isAssignment(words[0].Text) {
			c.assign(words[0])
			words = words[1:]
		}
	}
	if len(words) == 1 && isTerminalProgram(c.program) && strings.Contains(words[0].Text, " ") { // xterm -e TEXT
		c.shell = append(c.shell, words[0])
	} else if len(words) > 0 {
		c.started = append(c.started, start{words: words, stdin: c.inner.style&fromIn != 0})
	}
}

// isTerminalProgram reports whether a program opens a terminal, for one word that is a text for a shell as well as for words.
func isTerminalProgram(program string) bool {
	switch program {
	case "xterm", "gnome-terminal", "konsole", "alacritty", "kitty":
		return true
	}
	return false
}

// startWords starts a command whose words are not those of the call.
func (c *call) startWords(words ...Word) {
	if len(words) > 0 {
		c.started = append(c.started, start{words: words})
	}
}

// use judges one word by one use.
func (c *call) use(use byte, w Word) {
	if w.Text == "" {
		return
	}
	switch use {
	case 'r':
		c.file(w, operand{read: true})
	case 'w':
		c.file(w, operand{write: true})
	case 'd':
		c.file(w, operand{write: true, deep: true})
	case 'b':
		c.file(w, operand{read: true, write: true})
	case 'm':
		c.file(w, operand{read: true, write: true, deep: true})
	case 'D':
		c.moveTo(w)
	case 's':
		c.shell = append(c.shell, w)
	case 'c':
		c.code = append(c.code, w)
	case 'a':
		c.argument(w)
	case 'E':
		c.opaque = "it decides over what other programs are run"
	default:
		c.useOther(use, w)
	}
}

// useOther judges a word by a use that not only files have.
func (c *call) useOther(use byte, w Word) {
	switch use {
	case 'u', 'U', 'h':
		c.reach(w, use)
	case 'l':
		c.local(w, operand{read: true})
	case 'L':
		c.local(w, operand{write: true})
	case 'g':
		c.pathspec(w)
	case '@':
		if i := strings.IndexAny(w.Text, "@<"); i >= 0 {
			path, _, _ := strings.Cut(w.Text[i+1:], ";") // curl's ;type=…
			c.file(Word{Text: path, Splits: w.Splits}, operand{read: true})
		}
	case 'k':
		if _, path, found := strings.Cut(w.Text, "="); found {
			w.Text = path
		}
		c.file(w, operand{read: true})
	case 'v':
		c.mount(w)
	case 'V':
		for field := range strings.SplitSeq(w.Text, ",") {
			if name, value, _ := strings.Cut(field, "="); name == "src" || name == "source" || name == "local" {
				c.file(Word{Text: value}, operand{read: true, write: !strings.Contains(w.Text, "readonly")})
			}
		}
	}
}

// file adds a file that is used; "-" is a standard stream.
func (c *call) file(w Word, o operand) {
	if w.Text == "" || w.Text == "-" {
		return
	}
	o.word = w
	c.invocation.operands = append(c.invocation.operands, o)
}

// moveTo notes the folder in which the command works; of several each is within the one before.
func (c *call) moveTo(w Word) {
	if c.dir != nil {
		w = join2(*c.dir, w)
	}
	c.dir = &w
}

// join2 is a path as seen from a folder.
func join2(dir, path Word) Word {
	if strings.HasPrefix(path.Text, "/") || strings.HasPrefix(path.Text, "~") || path.Text == "" {
		return path
	}
	return Word{Text: strings.TrimSuffix(dir.Text, "/") + "/" + path.Text, Splits: dir.Splits || path.Splits}
}

// mount judges docker's HOST:CONTAINER[:OPTIONS]. A host without a slash is the name of a volume.
func (c *call) mount(w Word) {
	host, rest, mounted := strings.Cut(w.Text, ":")
	if len(host) == 1 && strings.HasPrefix(rest, `\`) { // C:\x:/x
		var more string
		more, rest, mounted = strings.Cut(rest, ":")
		host += ":" + more
	}
	if !mounted || !strings.ContainsAny(host, `/\.~$`) && !hasUnknown(host) {
		return
	}
	_, options, _ := strings.Cut(rest, ":")
	c.file(Word{Text: host}, operand{read: true, write: !strings.Contains(options, "ro"), tree: true})
}

// pathspec judges a word of git that names files, perhaps in a revision.
func (c *call) pathspec(w Word) {
	text := w.Text
	switch {
	case strings.HasPrefix(text, ":!"), strings.HasPrefix(text, ":^"), strings.HasPrefix(text, ":(exclude"):
		return
	case strings.HasPrefix(text, ":("):
		_, text, _ = strings.Cut(text, ")")
	case strings.HasPrefix(text, ":/"):
		text = text[2:]
	default:
		if _, path, found := strings.Cut(text, ":"); found {
			text = path
		}
	}
	c.file(Word{Text: text, Splits: w.Splits}, operand{read: true})
}

// isAssignment reports whether a word is NAME=VALUE.
func isAssignment(text string) bool {
	name, _, found := strings.Cut(text, "=")
	if !found || name == "" {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !(c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return true
}

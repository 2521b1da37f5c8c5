package effects

import "strings"

// cmdEffects returns what a text for the command prompt of Windows would do.
func cmdEffects(text string, w *World) []Effect {
	c := prompt{world: w, dirs: []string{w.Dir}, left: maxPowerShellWords}
	if len(text) > MaxText {
		text = text[:MaxText]
		c.unreadable("the text for cmd is too long")
	}
	for line := range strings.Lines(text) {
		c.line(strings.TrimRight(line, "\r\n"))
	}
	return c.effects
}

// prompt is a text for cmd that is being read, and what was found in it.
type prompt struct {
	world   *World
	dirs    []string
	effects []Effect
	left    int // words that may still be judged
}

func (c *prompt) unreadable(reason string) {
	for _, kind := range []Kind{Run, Read, Write} {
		c.effects = append(c.effects, Effect{Kind: kind, By: -1, Opaque: reason})
	}
}

// line reads the commands of one line.
func (c *prompt) line(line string) {
	l := promptLine{prompt: c, line: line}
	for l.at = 0; l.at < len(line); l.at++ {
		ch := line[l.at]
		switch {
		case ch == '"':
			l.quoted, l.started = !l.quoted, true
		case ch == '%' || ch == '!' && strings.IndexByte(line[l.at+1:], '!') >= 0:
			l.started = true
			l.at += c.variable(line[l.at:], &l.word)
		case l.quoted:
			l.word.WriteByte(ch)
		case ch == '^' && l.at+1 < len(line):
			l.at++
			l.add(line[l.at])
		case ch == '&' || ch == '|' || ch == '(' && !l.started || ch == ')':
			l.end()
		case ch == '>' || ch == '<':
			l.redirection(ch)
		case ch == ' ' || ch == '\t' || ch == ',' || ch == ';' || ch == '=':
			l.flush()
		case ch == '/' && l.started && len(l.words) == 0 && isPromptCommand(l.word.String()): // rd/s/q
			l.flush()
			l.add(ch)
		case ch == '@' && !l.started && len(l.words) == 0:
		default:
			l.add(ch)
		}
	}
	l.end()
}

// promptLine is one line that is being split into words.
type promptLine struct {
	prompt   *prompt
	line     string
	at       int
	words    []string
	word     strings.Builder
	started  bool // on a word
	quoted   bool
	redirect byte // < or >: the word is its file
}

func (l *promptLine) add(ch byte) {
	l.started = true
	l.word.WriteByte(ch)
}

// flush ends a word.
func (l *promptLine) flush() {
	if !l.started {
		return
	}
	switch l.redirect {
	case '>':
		l.prompt.use(Write, l.word.String(), -1, false)
	case '<':
		l.prompt.use(Read, l.word.String(), -1, false)
	default:
		l.words = append(l.words, l.word.String())
	}
	l.word.Reset()
	l.started, l.redirect = false, 0
}

// end ends a command.
func (l *promptLine) end() {
	l.flush()
	l.prompt.command(l.words)
	l.words, l.redirect = nil, 0
}

// redirection reads <, > or >>, perhaps with a number before it: "2>x", "2>&1".
func (l *promptLine) redirection(ch byte) {
	if text := l.word.String(); len(text) == 1 && '0' <= text[0] && text[0] <= '9' {
		l.word.Reset()
		l.started = false
	}
	l.flush()
	l.redirect = ch
	for l.at+1 < len(l.line) && l.line[l.at+1] == '>' {
		l.at++
	}
	if l.at+2 < len(l.line) && l.line[l.at+1] == '&' {
		l.at += 2
		l.redirect = 0
	}
}

// variable writes what %NAME% or !NAME! stands for, and returns how many bytes it has beyond its first.
func (c *prompt) variable(text string, word *strings.Builder) int {
	end := strings.IndexByte(text[1:], text[0])
	if end <= 0 || strings.ContainsAny(text[1:1+end], " \t&|<>\"") {
		word.WriteByte(text[0])
		return 0
	}
	switch strings.ToLower(text[1 : 1+end]) {
	case "userprofile", "home":
		if len(c.world.Homes) > 0 {
			word.WriteString(c.world.Homes[0])
			return end + 1
		}
	case "cd":
		if len(c.dirs) == 1 && c.dirs[0] != "" {
			word.WriteString(c.dirs[0])
			return end + 1
		}
	}
	word.WriteString(unknownText)
	return end + 1
}

func (c *prompt) use(kind Kind, path string, by int, deep bool) {
	if path == "" || strings.EqualFold(path, "nul") || c.left < 0 {
		return
	}
	c.left--
	c.effects = append(c.effects, Effect{Kind: kind, By: by, Path: c.world.Resolve(psWildcards(path), c.dirs...), Deep: deep})
}

// command judges the words of one command.
func (c *prompt) command(words []string) {
	for len(words) > 0 {
		switch strings.ToLower(words[0]) {
		case "call", "else", "do", "start":
			words = words[1:]
			for len(words) > 0 && (words[0] == "" || strings.HasPrefix(words[0], "/")) {
				words = words[1:]
			}
			continue
		case "if":
			c.condition(words[1:])
			return
		case "for":
			for i, word := range words {
				if strings.EqualFold(word, "do") {
					c.command(words[i+1:])
				}
			}
			return
		}
		break
	}
	if len(words) == 0 || c.left < 0 {
		return
	}
	if c.left -= len(words); c.left < 0 {
		c.unreadable("the text for cmd does more than can be judged")
		return
	}
	name := strings.ToLower(words[0])
	if !isPromptCommand(name) {
		w := *c.world
		w.Dir = c.dirs[0]
		offset := len(c.effects)
		for _, e := range argvEffects(words, &w) {
			if e.By >= 0 {
				e.By += offset
			}
			c.effects = append(c.effects, e)
		}
		return
	}
	by := len(c.effects)
	c.run(words, -1)
	options, operands := promptOptions(words[1:])
	c.builtin(name, options, operands, by)
}

// condition judges what stands behind the condition of an if: "exist x", "a==b", "1 LSS 2".
func (c *prompt) condition(words []string) {
	for len(words) > 0 && (strings.EqualFold(words[0], "not") || strings.EqualFold(words[0], "/i")) {
		words = words[1:]
	}
	length := 2
	if len(words) > 1 {
		switch strings.ToLower(words[1]) {
		case "equ", "neq", "lss", "leq", "gtr", "geq":
			length = 3
		}
	}
	c.command(words[min(length, len(words)):])
}

func (c *prompt) run(words []string, by int) {
	command := &Command{}
	for _, word := range words {
		command.Words = append(command.Words, Word{Text: word})
	}
	c.effects = append(c.effects, Effect{Kind: Run, By: by, Command: command})
}

// promptOptions parts options such as /s/q from the operands.
func promptOptions(words []string) (options string, operands []string) {
	for _, word := range words {
		if strings.HasPrefix(word, "/") && len(word) <= 8 && strings.Count(word, "/")*2 <= len(word)+2 {
			options += strings.ToLower(word)
		} else {
			operands = append(operands, word)
		}
	}
	return options, operands
}

// builtin adds what a command of the prompt does.
func (c *prompt) builtin(name, options string, operands []string, by int) {
	switch name {
	case "del", "erase", "rd", "rmdir":
		c.remove(name, options, operands, by)
	case "type", "more", "dir", "findstr", "find":
		if name == "findstr" || name == "find" {
			operands = operands[min(1, len(operands)):]
		}
		for _, path := range operands {
			c.use(Read, path, by, false)
		}
	case "copy", "xcopy", "robocopy", "move", "ren", "rename", "mklink":
		c.transfer(name, operands, by)
	case "md", "mkdir", "attrib":
		for _, path := range operands {
			c.use(Write, path, by, false)
		}
	case "cd", "chdir", "pushd":
		if len(operands) == 1 {
			for _, dir := range c.dirs[:min(4, len(c.dirs))] {
				moved := c.world.Resolve(operands[0], dir).Forms[0]
				if hasUnknown(moved) {
					moved = ""
				}
				c.dirs = append([]string{moved}, c.dirs...)
			}
		}
	}
}

// remove adds a del or rd, which is an rm with the same options.
func (c *prompt) remove(name, options string, operands []string, by int) {
	words := []string{"rm"}
	deep := strings.Contains(options, "/s")
	if deep {
		words = append(words, "-r")
	}
	if strings.Contains(options, "/q") || strings.Contains(options, "/f") {
		words = append(words, "-f")
	}
	c.run(append(words, operands...), by)
	for _, path := range operands {
		c.use(Write, path, by, deep)
	}
}

// transfer adds a copy, move or link.
func (c *prompt) transfer(name string, operands []string, by int) {
	if len(operands) == 0 {
		return
	}
	source, target := operands[0], operands[len(operands)-1]
	if name == "mklink" {
		source, target = target, source
	}
	c.use(Read, source, by, false)
	if name == "move" || name == "ren" || name == "rename" {
		c.use(Write, source, by, true)
	}
	if len(operands) > 1 {
		c.use(Write, target, by, false)
		c.use(Write, target+"/"+source[strings.LastIndexAny(source, `/\`)+1:], by, false)
	}
}

// isPromptCommand reports whether a word is a command of the prompt, or one of its small programs.
func isPromptCommand(name string) bool {
	switch strings.ToLower(name) {
	case "del", "erase", "rd", "rmdir", "type", "more", "dir", "findstr", "find", "copy", "xcopy", "robocopy", "move", "ren", "rename",
		"mklink", "md", "mkdir", "attrib", "cd", "chdir", "pushd", "popd", "echo", "set", "setlocal", "endlocal", "rem", "exit", "cls",
		"ver", "vol", "title", "color", "pause", "goto", "shift", "path", "prompt", "assoc", "ftype", "verify", "break":
		return true
	}
	return false
}

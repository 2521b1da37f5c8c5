package effects

import (
	"encoding/base64"
	"strings"
	"unicode/utf16"
)

const (
	// maxPowerShell is how deep blocks and expressions of PowerShell may stand within each other.
	maxPowerShell = 40

	// maxPowerShellWords is how many words of a text are judged.
	maxPowerShellWords = 20_000
)

// powershellEffects returns what a text for PowerShell would do. It is read by its words: commands, pipelines and blocks,
// the common cmdlets and their aliases. An expression is code that is not understood; one that calls what could do
// something is opaque, and so is a command that is known only when the text runs.
func powershellEffects(text string, w *World) []Effect {
	p := &powershell{world: w, dirs: []string{w.Dir}, vars: make(map[string]string), left: maxPowerShellWords}
	if len(text) > MaxText {
		text = text[:MaxText]
		p.unreadable("the PowerShell text is too long")
	}
	p.block(text, 0)
	return p.effects
}

// powershell is a text that is being read, and what was found in it.
type powershell struct {
	world   *World
	dirs    []string
	vars    map[string]string // in lower case; those with one constant value
	lists   map[string][]string
	aliases map[string]string // in lower case
	effects []Effect
	left    int // words that may still be judged
	unread  bool
}

// psWord is one word of a command.
type psWord struct {
	text   string
	bare   bool     // no part of it is quoted
	comma  bool     // the next one is of the same list
	blocks []string // the blocks and subexpressions in it, which are code
	tables []string // the tables in it: @{name = value}
	block  bool     // it is nothing but one of them
	script bool     // it is nothing but {…}
	splits bool
	splat  bool // it is a list that is not known
	target bool // it is a variable that is set
}

func (p *powershell) unreadable(reason string) {
	if p.unread {
		return
	}
	p.unread = true
	for _, kind := range []Kind{Run, Read, Write} {
		p.effects = append(p.effects, Effect{Kind: kind, By: -1, Opaque: reason})
	}
}

func (p *powershell) opaqueRun(reason string) {
	p.effects = append(p.effects, Effect{Kind: Run, By: -1, Opaque: reason})
}

// block reads the statements of a text.
func (p *powershell) block(text string, depth int) {
	if depth > maxPowerShell {
		p.unreadable("the PowerShell text is nested too deep")
		return
	}
	l := psLexer{text: text, p: p}
	for l.at < len(text) && p.left > 0 {
		words, redirects := l.command()
		if l.broken {
			p.unreadable("the PowerShell text does not parse")
			return
		}
		for _, file := range redirects {
			p.use(Write, file, -1, false)
		}
		p.statement(words, depth)
	}
	if p.left <= 0 {
		p.unreadable("the PowerShell text does more than can be judged")
	}
}

// statement judges the words between two separators.
func (p *powershell) statement(words []psWord, depth int) {
	if p.left -= len(words) + 1; p.left < 0 {
		return
	}
	for _, w := range words {
		for _, inner := range w.blocks {
			p.block(inner, depth+1)
		}
		for _, inner := range w.tables {
			p.table(inner, depth+1)
		}
	}
	for len(words) > 0 && words[0].bare && isPSKeyword(words[0].text) {
		if name := strings.ToLower(words[0].text); name == "function" || name == "filter" || name == "class" {
			return
		}
		words = words[1:]
	}
	for len(words) > 0 && words[0].block { // of if (…) {…}
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	first := words[0]
	switch {
	case first.bare && (first.text == "&" || first.text == "."):
		p.called(words[1:], depth)
	case first.bare && isPSExpression(first.text):
		p.expression(words, depth)
	case !first.bare: // a text by itself
	default:
		p.command(words, depth)
	}
}

// table reads the code within the values of a table.
func (p *powershell) table(text string, depth int) {
	l := psLexer{text: text, p: p}
	for l.at < len(text) && p.left > 0 {
		words, _ := l.command()
		if l.broken || depth > maxPowerShell {
			p.unreadable("the PowerShell text does not parse")
			return
		}
		p.left -= len(words) + 1
		for i, w := range words {
			for _, inner := range w.blocks {
				p.block(inner, depth+1)
			}
			for _, inner := range w.tables {
				p.table(inner, depth+1)
			}
			if w.text == "=" && i == 1 {
				p.statement(words[2:], depth)
			}
		}
	}
}

// called judges what & and . call.
func (p *powershell) called(words []psWord, depth int) {
	switch {
	case len(words) == 0:
		p.opaqueRun("the command is known only when it runs")
	case words[0].script: // it was read
	case words[0].block:
		p.opaqueRun("the command is known only when it runs")
	case isDynamic(words[0].text) || words[0].text == "":
		p.opaqueRun("the command is known only when it runs")
	default:
		p.command(words, depth)
	}
}

// expression judges what begins with a variable, a number or a type. Of an assignment what stands behind it is read.
func (p *powershell) expression(words []psWord, depth int) {
	if len(words) > 1 && words[1].bare && isPSAssignment(words[1].text) {
		p.assign(words[0].text, words[1].text, words[2:])
		p.statement(words[2:], depth)
		return
	}
	if len(words) > 2 && words[1].bare && words[1].text == "in" { // of foreach
		p.statement(words[2:], depth)
		return
	}
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w.text)
		b.WriteByte(' ')
	}
	text := b.String()
	if psCallsOut(text) {
		p.opaqueRun("it calls what is not read here")
	}
	if strings.ContainsAny(text, `/\.~'"`) {
		command := &Command{Words: []Word{{Text: "powershell"}}, Code: text}
		p.effects = append(p.effects, Effect{Kind: Run, By: -1, Command: command})
	}
}

// isDynamic reports whether the base name of a program is not known.
func isDynamic(program string) bool {
	return hasUnknown(program[strings.LastIndexAny(program, `/\`)+1:])
}

// assign remembers a variable that has one constant value.
func (p *powershell) assign(variable, operator string, words []psWord) {
	name := strings.ToLower(strings.Trim(variable, "${}"))
	value := unknownText
	if p.list(name, words); operator != "=" {
		delete(p.lists, name)
	}
	if path, ok := p.assignedPath(words); ok && operator == "=" {
		value = path
	} else if operator == "=" && len(words) == 1 && !words[0].block && len(words[0].blocks) == 0 && !(words[0].bare && isLetter((words[0].text + " ")[0])) {
		value = words[0].text
	}
	if old, known := p.vars[name]; known && old != value {
		value = unknownText
	}
	p.vars[name] = value
}

// assignedPath returns the path that the words of an assignment make by Join-Path.
func (p *powershell) assignedPath(words []psWord) (path string, ok bool) {
	if len(words) == 1 && words[0].block && len(words[0].blocks) == 1 {
		return p.joinedPath(words[0].blocks[0], 0)
	}
	if len(words) == 0 || !strings.EqualFold(words[0].text, "join-path") {
		return "", false
	}
	return p.joinedWords(words, 0)
}

// variable returns the value of a variable, or what stands for one that is not known.
func (p *powershell) variable(name string) string {
	name = strings.ToLower(name)
	switch name {
	case "home", "env:home", "env:userprofile":
		if len(p.world.Homes) > 0 {
			return p.world.Homes[0]
		}
	case "pwd":
		if len(p.dirs) == 1 && p.dirs[0] != "" {
			return p.dirs[0]
		}
	case "null":
		return ""
	case "env:username", "env:user":
		if p.world.User != "" {
			return p.world.User
		}
	}
	if value, known := p.vars[name]; known {
		return value
	}
	return unknownText
}

// use adds that a file is used. What belongs to no file system is none.
func (p *powershell) use(kind Kind, path string, by int, deep bool) {
	if path == "" {
		return
	}
	if drive, rest, found := strings.Cut(path, ":"); found && len(drive) > 1 {
		switch lowered := strings.ToLower(drive[strings.LastIndexByte(drive, ':')+1:]); {
		case strings.HasSuffix(lowered, "filesystem"):
			path = strings.TrimPrefix(rest, ":")
		case lowered == "env", lowered == "hklm", lowered == "hkcu", lowered == "cert", lowered == "function", lowered == "variable",
			lowered == "alias", lowered == "wsman":
			return
		}
	}
	e := Effect{Kind: kind, By: by, Path: p.world.Resolve(psWildcards(path), p.dirs...), Deep: deep}
	p.effects = append(p.effects, e)
}

// psWildcards returns a path with the wildcards of PowerShell, whose * stands for a dot at the start of a name, too.
func psWildcards(path string) string {
	if !strings.ContainsAny(path, "*?[") {
		return path
	}
	if strings.Trim(path[strings.LastIndexAny(path, `/\`)+1:], "*") == "" {
		return strings.ReplaceAll(globText(path), unknownText, "\xfe")
	}
	return globText(path)
}

// shellNow returns the world in which another shell would be started.
func (p *powershell) shellNow() *World {
	w := *p.world
	w.Dir = p.dirs[0]
	return &w
}

// append adds effects that were found by themselves, and returns the index of the first.
func (p *powershell) append(more []Effect) (first int) {
	first = len(p.effects)
	for _, e := range more {
		if e.By >= 0 {
			e.By += first
		}
		p.effects = append(p.effects, e)
	}
	return first
}

// decodedCommand returns the text of -EncodedCommand: base64 of UTF-16.
func decodedCommand(text string) (decoded string, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
	}
	return string(utf16.Decode(units)), true
}

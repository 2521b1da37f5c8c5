package effects

import "strings"

// prepared returns the words of a command as it takes them: with the program for which its alias stands, the words of
// lists that are splatted, and the paths that Join-Path makes.
func (p *powershell) prepared(words []psWord, depth int) []psWord {
	done := make([]psWord, 0, len(words))
	for i, w := range words {
		name, splat := strings.CutPrefix(w.text, "@")
		switch {
		case i == 0:
			if target, ok := p.aliases[strings.ToLower(w.text)]; ok && w.bare {
				w.text = target
			}
			done = append(done, w)
		case w.bare && splat && name != "" && !w.block:
			done = append(done, p.splatted(strings.ToLower(name))...)
		case w.block && len(w.blocks) == 1 && !w.script:
			if path, ok := p.joinedPath(w.blocks[0], depth); ok {
				w = psWord{text: path, comma: w.comma}
			}
			done = append(done, w)
		default:
			done = append(done, w)
		}
	}
	return done
}

// splatted returns the words of a list: git @a.
func (p *powershell) splatted(name string) []psWord {
	list, ok := p.lists[name]
	if !ok {
		return []psWord{{text: unknownText, splits: true, splat: true}}
	}
	words := make([]psWord, len(list))
	for i, text := range list {
		words[i] = psWord{text: text, bare: true}
	}
	return words
}

// joinedPath returns the path that a call of Join-Path makes.
func (p *powershell) joinedPath(text string, depth int) (path string, ok bool) {
	if depth > maxPowerShell || !strings.Contains(strings.ToLower(text), "join-path") {
		return "", false
	}
	l := psLexer{text: text, p: p}
	words, _ := l.command()
	if l.broken || l.at < len(text) {
		return "", false
	}
	return p.joinedWords(words, depth)
}

// joinedWords returns the path that the words of a call of Join-Path make.
func (p *powershell) joinedWords(words []psWord, depth int) (path string, ok bool) {
	if len(words) < 2 || !strings.EqualFold(words[0].text, "join-path") {
		return "", false
	}
	args := psArgumentsOf(p.prepared(words, depth+1)[1:])
	names := args.values(0, everyPosition, "path", "childpath", "additionalchildpath")
	for _, n := range args.named { // values leaves the others out where one of them is named
		if len(n.values) == 0 {
			return "", false
		}
	}
	if len(args.named) > 0 && len(args.positional) > 0 {
		names = append(names, args.values(0, everyPosition)...)
	}
	return strings.Join(names, "/"), len(names) > 0
}

// alias remembers the name that Set-Alias gives to a command.
func (p *powershell) alias(args psArguments) {
	var texts []string // -Name counts as a switch, so that its value stands with the others
	for _, list := range args.positional {
		texts = appendTexts(texts, list)
	}
	texts = append(texts, args.values(0, 0, "value")...)
	if len(texts) < 2 || hasUnknown(texts[0]) {
		p.opaqueRun("an alias is given to a command that cannot be read")
		return
	}
	if p.aliases == nil {
		p.aliases = make(map[string]string)
	}
	p.aliases[strings.ToLower(texts[0])] = texts[1]
}

// list remembers a variable that is set to a list of constant texts.
func (p *powershell) list(name string, words []psWord) {
	delete(p.lists, name)
	var texts []string
	for i, w := range words {
		inner := w.blocks
		if len(words) == 1 && w.block && !w.script && len(inner) == 1 { // @('push', '--force')
			l := psLexer{text: inner[0], p: p}
			if more, _ := l.command(); !l.broken && l.at >= len(inner[0]) && len(more) > 0 {
				p.list(name, more)
			}
			return
		}
		if w.block || hasUnknown(w.text) || i < len(words)-1 != w.comma || w.bare && len(w.text) > 0 && isLetter(w.text[0]) {
			return
		}
		texts = append(texts, w.text)
	}
	if p.lists == nil {
		p.lists = make(map[string][]string)
	}
	p.lists[name] = texts
}

// programEffects returns what a program does that is no cmdlet. A list that is splatted may hold options.
func programEffects(words []psWord, w *World) []Effect {
	argv := make([]Word, len(words))
	for i, text := range psTexts(words) {
		argv[i] = Word{Text: text, Splits: words[i].splat}
	}
	s := newShell(w)
	s.guard(func() { s.command(argv, outside) })
	return s.effects
}

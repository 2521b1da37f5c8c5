package effects

import (
	"slices"
	"strings"

	"sallyport/internal/canon"
)

// guess adds what a tool that is not known may do, by the names of its arguments. How it uses the files that they name
// is guessed from the verbs in its own name; one that has none both reads and writes them.
func (c *toolCall) guess(tool string, args []argument) {
	v := verbsOf(tool)
	commanded := hasCommand(args)
	w := c.moved(args, commanded)
	dirs := c.dirs
	c.dirs = c.basesOf(args, w)
	defer func() { c.dirs = dirs }()
	for i := range args {
		a := &args[i]
		if a.value.Kind() == canon.Null {
			continue
		}
		class := classOf(a.words)
		switch {
		case class == commandArgument:
			c.guessCommand(a, args, w)
		case v.types && isTyped(a.key):
			c.typed(a, commanded, w)
		case class == wordsArgument:
			if words, ok := wordsOf(a.value); ok && !commanded && runsCommands(tool) {
				c.append(argvEffects(words, w))
			}
		case class == codeArgument:
			c.guessCode(tool, a, v, w)
		case isFilePattern(a.key) && v.reads && !v.unknown && namesFiles(tool):
			if text, ok := a.value.Text(); ok {
				c.globs(".", text)
			}
		case class == urlArgument:
			if text, ok := a.value.Text(); ok {
				c.connect(text, strings.Contains(a.key, "host"))
			}
		case class == freeArgument:
		case commanded && isWorkingFolder(a.key, true):
		default:
			c.guessPath(a, class, v)
		}
	}
}

// basesOf returns the folders in which the paths of a call may stand, with those that its arguments name.
func (c *toolCall) basesOf(args []argument, w *World) []string {
	dirs := c.dirs
	if w.Dir != c.world.Dir {
		dirs = append([]string{w.Dir}, dirs...)
	}
	for i := range args {
		text, ok := args[i].value.Text()
		if !ok || text == "" || len(args) == 1 || !isBaseFolder(args[i].key) {
			continue
		}
		if dir := c.world.Resolve(text).Forms[0]; !slices.Contains(dirs, dir) && isNative(dir) && len(dirs) < 8 {
			dirs = append(dirs[:len(dirs):len(dirs)], dir)
		}
	}
	return dirs
}

// guessCommand adds what a command does. The folder in which it runs may be one that is only called a path.
func (c *toolCall) guessCommand(a *argument, args []argument, w *World) {
	if a.value.Kind() == canon.Bool {
		return
	}
	if !c.commandBeside(a, args, w) {
		c.opaque("the argument "+a.name+" is no text", Run, Read, Write)
		return
	}
	for i := range args {
		beside := &args[i]
		if text, ok := beside.value.Text(); ok && text != "" && beside.group == a.group && (beside.key == "path" || isBaseFolder(beside.key)) {
			moved := *c.world
			if moved.Dir = c.world.Resolve(text).Forms[0]; moved.Dir != w.Dir && isNative(moved.Dir) && !hasUnknown(moved.Dir) {
				c.commandBeside(a, args, &moved)
			}
		}
	}
}

// typed adds what a text does that is typed into what runs: a shell or, if no shell can read it, code of some language.
// Beside a command it is what that one reads.
func (c *toolCall) typed(a *argument, commanded bool, w *World) {
	text, ok := a.value.Text()
	if !ok || commanded && isStandardInput(a.key) {
		return
	}
	found := shellText(text, w)
	for _, e := range found {
		if e.Opaque != "" && !strings.ContainsAny(text, "$`") {
			c.code("repl", text)
			return
		}
	}
	c.append(found)
}

// runsCommands reports whether a tool's name says that it runs commands.
func runsCommands(tool string) bool {
	for _, word := range wordsOfName(tool) {
		switch word {
		case "run", "exec", "execute", "command", "cmd", "shell", "spawn", "process", "launch", "start", "bash", "terminal":
			return true
		}
	}
	return false
}

// isFilePattern reports whether an argument may be a pattern for the files that a tool uses.
func isFilePattern(key string) bool {
	switch key {
	case "pattern", "patterns", "glob", "globs", "filepattern", "filepatterns":
		return true
	}
	return false
}

// namesFiles reports whether a tool's name says that it uses the files which it is told of, and does not search in them.
func namesFiles(tool string) bool {
	files := false
	for _, word := range wordsOfName(tool) {
		switch word {
		case "search", "grep", "find", "list", "glob", "replace", "count":
			return false
		case "file", "files":
			files = true
		}
	}
	return files
}

// isStandardInput reports whether an argument is what a command beside it reads.
func isStandardInput(key string) bool { return key == "stdin" || key == "input" }

// isTyped reports whether an argument is typed where a tool types into a shell.
func isTyped(key string) bool {
	switch key {
	case "input", "text", "keys", "line", "stdin", "data", "chars":
		return true
	}
	return false
}

func hasCommand(args []argument) bool {
	for i := range args {
		if classOf(args[i].words) == commandArgument {
			return true
		}
	}
	return false
}

// commandBeside adds what a command does, with the words and variables that stand beside it; ok is false if it is none.
func (c *toolCall) commandBeside(a *argument, args []argument, w *World) (ok bool) {
	text, isText := a.value.Text()
	if !isText {
		return c.commands(a, w)
	}
	for _, beside := range args {
		if beside.group != a.group || classOf(beside.words) != wordsArgument {
			continue
		}
		if words, ok := wordsOf(beside.value); ok {
			c.append(argvEffects(append([]string{text}, words...), w))
			if !strings.ContainsAny(text, " \t\n;|&") && !hasStandardInput(args, a.group) {
				return true
			}
			text += quoted(words)
		} else if more, ok := beside.value.Text(); ok {
			text += " " + more
		}
	}
	for _, beside := range args {
		if input, ok := beside.value.Text(); ok && beside.group == a.group && isStandardInput(beside.key) && !strings.Contains(text, "\n") {
			text += " <<<" + quoted([]string{input})
		}
	}
	c.append(shellText(environment(args)+text, w))
	return true
}

func hasStandardInput(args []argument, group int) bool {
	return slices.ContainsFunc(args, func(a argument) bool { return a.group == group && isStandardInput(a.key) })
}

// commands adds what a command does that is no text: the words of one or, if its name says so, several.
func (c *toolCall) commands(a *argument, w *World) (ok bool) {
	words, ok := wordsOf(a.value)
	if !ok || !strings.HasSuffix(a.key, "s") {
		return c.command(a.value, w)
	}
	for _, text := range words {
		c.append(shellText(text, w))
	}
	return true
}

// quoted returns words as a shell would take them, each with a blank before it.
func quoted(words []string) string {
	var b strings.Builder
	for _, word := range words {
		b.WriteString(" '" + strings.ReplaceAll(word, "'", `'\''`) + "'")
	}
	return b.String()
}

// guessCode adds code: for a shell if the tool is one, in some other language otherwise.
func (c *toolCall) guessCode(tool string, a *argument, v verbs, w *World) {
	text, ok := a.value.Text()
	switch {
	case !ok:
	case v.types:
		c.append(shellText(text, w))
	case a.key == "function" && !strings.ContainsAny(text, "({ "), a.key == "script" && looksLikePath(text):
		if looksLikePath(text) {
			c.uses(Read, text, false)
		}
	case inPage(tool):
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune("<>\"'`(),;", r) }) {
			if strings.HasPrefix(word, "http") {
				c.connect(word, false)
			}
		}
	default:
		c.code(tool, text)
	}
}

// inPage reports whether a tool runs code in the page of a browser, which has no files and starts no programs.
func inPage(tool string) bool {
	browser := false
	for _, word := range wordsOfName(tool) {
		switch word {
		case "browser", "playwright", "puppeteer", "chrome", "devtools", "firefox", "webview", "page":
			browser = true
		case "code": // it runs beside the browser
			return false
		}
	}
	return browser
}

// guessPath adds how a file is used that an argument names.
func (c *toolCall) guessPath(a *argument, of class, v verbs) {
	text, ok := a.value.Text()
	moves := v.moves || v.copies
	switch {
	case !ok:
		if of == pathArgument && a.value.Kind() == canon.Number {
			return // a number of a page, or of a file in some list
		}
		return
	case of == pathArgument, moves && (of == placeArgument || a.key == "from" || a.key == "to"):
	case !looksLikePath(text):
		return
	}
	if text == "" || len(text) > maxLooked && of != pathArgument {
		return
	}
	if host, isURL := hostOf(text); isURL {
		c.effects = append(c.effects, Effect{Kind: Connect, By: -1, Host: host})
		return
	}
	reads, writes, deep := v.reads, v.writes, v.deletes || v.moves
	switch {
	case v.links && isEnd(a.words): // the target of a link is what it leads to
		reads, writes = true, false
	case moves && isOrigin(a.words):
		reads, writes = true, v.moves
	case moves && isEnd(a.words):
		reads, writes, deep = false, true, false
	case moves:
		reads, writes = true, true
	case v.takes:
		reads = true
	case v.writes && !v.unknown: // create_or_get, search_and_replace
		reads = false
	}
	if reads {
		c.uses(Read, text, false)
	}
	if writes {
		c.uses(Write, text, deep)
	}
}

// isOrigin reports whether an argument of a move or copy names what is there before.
func isOrigin(words []string) bool {
	for _, word := range words {
		switch word {
		case "source", "sources", "src", "from", "old", "origin", "original":
			return true
		}
	}
	return false
}

// isEnd reports whether an argument of a move or copy names what is there after it.
func isEnd(words []string) bool {
	for _, word := range words {
		switch word {
		case "destination", "dest", "dst", "to", "new", "target":
			return true
		}
	}
	return false
}

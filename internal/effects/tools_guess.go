package effects

import (
	"strings"

	"sallyport/internal/canon"
)

// guess adds what a tool that is not known may do, by the names of its arguments. How it uses the files that they name
// is guessed from the verbs in its own name; one that has none both reads and writes them.
func (c *toolCall) guess(tool string, args []argument) {
	v := verbsOf(tool)
	commanded := hasCommand(args)
	w := c.moved(args, commanded)
	if w.Dir != c.world.Dir {
		c.dirs = append([]string{w.Dir}, c.dirs...)
	}
	for i := range args {
		a := &args[i]
		if a.value.Kind() == canon.Null {
			continue
		}
		class := classOf(a.words)
		switch {
		case class == commandArgument:
			if a.value.Kind() != canon.Bool && !c.commandBeside(a, args, w) {
				c.opaque("the argument "+a.name+" is no text", Run, Read, Write)
			}
		case v.types && isTyped(a.key):
			if text, ok := a.value.Text(); ok {
				c.append(shellText(text, w))
			}
		case class == wordsArgument:
		case class == codeArgument:
			c.guessCode(tool, a, v, w)
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
			if !strings.ContainsAny(text, " \t\n;|&") {
				return true
			}
			text += quoted(words)
		} else if more, ok := beside.value.Text(); ok {
			text += " " + more
		}
	}
	c.append(shellText(environment(args)+text, w))
	return true
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
	default:
		c.code(tool, text)
	}
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
	case moves && isOrigin(a.words):
		reads, writes = true, v.moves
	case moves && isEnd(a.words):
		reads, writes, deep = false, true, false
	case moves:
		reads, writes = true, true
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

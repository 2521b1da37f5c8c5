package effects

import (
	"strings"

	"sallyport/internal/canon"
)

// shell adds what a tool runs in a shell. An argument for the working folder moves the world there.
func (c *toolCall) shell(kind toolKind, tool string, args []argument) {
	w := c.moved(args, true)
	found := false
	for i := range args {
		a := &args[i]
		class := classOf(a.words)
		switch {
		case class == commandArgument, a.key == "script" && class == codeArgument:
		case kind == typedTool && (a.key == "input" || a.key == "chars" || a.key == "keys" || a.key == "text"):
		case class == urlArgument: // Monitor's ws
			if text, ok := a.value.Text(); ok {
				found = true
				c.connect(text, true)
			}
			continue
		default:
			continue
		}
		if a.value.Kind() == canon.Null {
			continue
		}
		found = true
		if !c.shellArgument(kind, a, args, w) {
			c.opaque("the command is no text", Run, Read, Write)
		}
	}
	if !found {
		c.opaque("it has no command", Run, Read, Write)
	}
}

// shellArgument adds what a command does in the shell that the call is for.
func (c *toolCall) shellArgument(kind toolKind, a *argument, args []argument, w *World) (ok bool) {
	text, isText := a.value.Text()
	switch shell := shellOf(kind, args); {
	case isText && shell == powershellTool:
		c.append(powershellEffects(text, w))
	case isText && shell == cmdTool:
		c.append(cmdEffects(text, w))
	default:
		return c.commandBeside(a, args, w)
	}
	return true
}

// shellOf returns which shell a call is for: some tools have an argument for it.
func shellOf(kind toolKind, args []argument) toolKind {
	for _, a := range args {
		if text, ok := a.value.Text(); ok && a.key == "shell" && kind == shellTool {
			switch programOf(text) {
			case "powershell", "pwsh":
				return powershellTool
			case "cmd":
				return cmdTool
			}
		}
	}
	return kind
}

// environment returns the shell text that sets the variables which a call has beside its command.
func environment(args []argument) string {
	var b strings.Builder
	for _, a := range args {
		text, ok := a.value.Text()
		if ok && (a.outer == "env" || a.outer == "environment") && isName(a.name) {
			b.WriteString("export " + a.name + "='" + strings.ReplaceAll(text, "'", `'\''`) + "'\n")
		}
	}
	return b.String()
}

// moved returns the world in the folder in which a call asks to run. wide says that any folder can only be that one.
func (c *toolCall) moved(args []argument, wide bool) *World {
	w := *c.world
	for _, a := range args {
		text, ok := a.value.Text()
		if ok && text != "" && isWorkingFolder(a.key, wide) {
			forms := c.world.Resolve(text).Forms
			if w.Dir = forms[0]; hasUnknown(w.Dir) || !isNative(w.Dir) && !isDrive(w.Dir[:min(2, len(w.Dir))]) {
				w.Dir = ""
			}
		}
	}
	return &w
}

// isWorkingFolder reports whether an argument names the folder in which a call runs.
func isWorkingFolder(key string, wide bool) bool {
	switch key {
	case "cwd", "workdir", "workingdirectory", "workingdir", "currentdirectory", "currentworkingdirectory":
		return true
	case "dirpath", "directory", "dir":
		return wide
	}
	return false
}

// isBaseFolder reports whether an argument may name the folder in which the others' paths stand.
func isBaseFolder(key string) bool {
	switch key {
	case "root", "base", "basepath", "basedir", "basedirectory", "rootdir", "rootpath", "rootdirectory", "folder", "folderpath", "projectpath",
		"projectroot", "projectdir", "repopath", "workspace", "workspacepath", "workspaceroot", "directorypath":
		return true
	}
	return isWorkingFolder(key, true)
}

// codes adds the code that a tool runs.
func (c *toolCall) codes(tool string, args []argument) {
	for _, a := range args {
		if class := classOf(a.words); class == codeArgument || class == commandArgument {
			if text, ok := a.value.Text(); ok {
				c.code(tool, text)
			} else if a.value.Kind() != canon.Null {
				c.opaque("the code is no text", Run, Read, Write)
			}
		}
	}
}

// files adds that the files which the arguments name are used. None is opaque, for a reason that is not "".
func (c *toolCall) files(args []argument, none string, kind Kind) {
	found := false
	for _, a := range args {
		class := classOf(a.words)
		if class == urlArgument && a.key != "uri" || class != pathArgument && class != urlArgument || a.value.Kind() == canon.Null {
			continue
		}
		text, ok := a.value.Text()
		switch {
		case !ok && a.value.Kind() == canon.Bool:
		case !ok:
			found = true
			c.opaque("the name of a file is no text", kind)
		default:
			found = true
			c.uses(kind, text, false)
		}
	}
	if !found && none != "" {
		c.opaque(none, kind)
	}
}

// reads adds what a tool reads: files, and patterns for files.
func (c *toolCall) reads(kind toolKind, args []argument) {
	before := len(c.effects)
	c.files(args, "", Read)
	for _, a := range args {
		text, ok := a.value.Text()
		if !ok || a.key != "include" && a.key != "includes" {
			continue
		}
		choices, err := choicesOf(text)
		if err != nil {
			choices = []string{text}
		}
		for _, choice := range choices {
			c.uses(Read, "./"+globText(choice), false)
		}
	}
	switch {
	case len(c.effects) > before || kind == lookTool:
	case kind == folderTool:
		c.uses(Read, ".", false)
	default:
		c.opaque("it names no file", Read)
	}
}

// search adds that the files below a folder are read of which the names fit.
func (c *toolCall) search(args []argument) {
	var dirs, names []string
	for _, a := range args {
		text, ok := a.value.Text()
		switch class := classOf(a.words); {
		case isFileFilter(a.key):
			if ok && !strings.HasPrefix(text, "!") {
				names = append(names, text)
			}
		case class == pathArgument && ok:
			dirs = append(dirs, text)
		case class == pathArgument && a.value.Kind() != canon.Null && a.value.Kind() != canon.Bool:
			c.opaque("the name of a folder is no text", Read)
		}
	}
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	for _, dir := range dirs {
		c.uses(Read, dir, false)
		for _, name := range names {
			c.globs(dir, name)
		}
	}
}

// isFileFilter reports whether an argument says which files are searched.
func isFileFilter(key string) bool {
	switch key {
	case "glob", "include", "includes", "includepattern", "filepattern", "globs", "includeglobs", "fileglob":
		return true
	}
	return false
}

// globs adds that files are read whose names fit a pattern, somewhere below a folder.
func (c *toolCall) globs(dir, pattern string) {
	choices, err := choicesOf(pattern)
	if err != nil {
		choices = []string{pattern}
	}
	for _, choice := range choices {
		name := globText(choice)
		if !isAbsolutePath(choice) {
			name = strings.TrimSuffix(dir, "/") + "/\xff/" + name
		}
		c.uses(Read, name, false)
	}
}

func isAbsolutePath(text string) bool {
	return strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || len(text) > 2 && isDrive(text[:2])
}

// globText returns a pattern for files as a path. A * of such patterns stands for a dot at the start of a name, too.
func globText(pattern string) string {
	b := make([]byte, 0, len(pattern))
	for i := 0; i < len(pattern); i++ {
		switch ch := pattern[i]; ch {
		case '*':
			if len(b) == 0 || b[len(b)-1] != anyText {
				b = append(b, anyText)
			}
		case '?':
			b = append(b, anyRune)
		case '[':
			if _, length, err := parseSet(pattern[i:]); err == nil {
				b = append(b, anyRune)
				i += length - 1
				continue
			}
			b = append(b, ch)
		default:
			b = append(b, ch)
		}
	}
	return string(b)
}

// fetch adds the hosts of the URLs that a call names, also within a prompt that has them (Gemini).
func (c *toolCall) fetch(args []argument) {
	found := false
	for _, a := range args {
		text, ok := a.value.Text()
		switch {
		case classOf(a.words) == urlArgument && ok:
			found = true
			c.connect(text, true)
		case classOf(a.words) == urlArgument && a.value.Kind() != canon.Null:
			found = true
			c.opaque("the URL is no text", Connect)
		}
	}
	if found {
		return
	}
	for _, a := range args {
		text, ok := a.value.Text()
		if !ok || a.key != "prompt" {
			continue
		}
		found = true
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune("<>\"'`(),", r) }) {
			if i := strings.Index(strings.ToLower(word), "http"); i >= 0 {
				c.connect(word[i:], false)
			}
		}
	}
	if !found {
		c.opaque("it names no URL", Connect)
	}
}

// patches adds what a patch changes.
func (c *toolCall) patches(args []argument) {
	found := false
	for _, a := range args {
		switch a.key {
		case "command", "input", "patch", "patchtext", "diff", "content":
		default:
			continue
		}
		found = true
		text, ok := a.value.Text()
		if words, isList := wordsOf(a.value); isList {
			text, ok = words[len(words)-1], true
		}
		if !ok {
			c.opaque("the patch is no text", Write)
			continue
		}
		dirs := c.dirs
		if dir, ok := folderOfPatch(text); ok {
			dirs = c.world.Resolve(dir, c.dirs...).Forms
		}
		c.append(patchEffects(text, c.world, dirs...))
	}
	if !found {
		c.opaque("it has no patch", Write)
	}
}

// editor adds what an editor does whose command says whether it reads.
func (c *toolCall) editor(tool string, input canon.Value, args []argument) {
	command, _ := input.Get("command").Text()
	kind := Write
	if command == "view" || squashed(tool) == "fsread" {
		kind = Read
	}
	switch {
	case squashed(tool) == "knowledge":
		c.files(args, "", Read)
	case command == "undo_edit" || command != "" || squashed(tool) != "strreplaceeditor":
		c.files(args, "it names no file", kind)
	default:
		c.files(args, "it names no file", Read)
		c.files(args, "", Write)
	}
}

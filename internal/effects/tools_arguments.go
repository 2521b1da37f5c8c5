package effects

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"sallyport/internal/canon"
)

const (
	// maxLooked is the length of a text up to which it may be a path although its name does not say so.
	maxLooked = 4096

	// maxFree is how many texts are kept that are for people; some tools have something else in them.
	maxFree = 64
)

// argument is one value in a call's input: a text or number, or a list where it may be the words of a command.
type argument struct {
	name  string   // as it is written
	key   string   // squashed
	words []string // of the name
	outer string   // the squashed name of the object in which it stands
	group int      // a number of that object
	value canon.Value
}

// class is what the name of an argument says of it.
type class uint8

const (
	otherArgument   class = iota
	freeArgument          // text for people, or content: never judged
	pathArgument          // a file or folder
	placeArgument         // a file or folder, if it looks like one
	commandArgument       // a command
	wordsArgument         // words of a command whose program stands beside them
	codeArgument          // code in some language
	urlArgument           // a URL or a host
)

// argumentsOf returns the arguments in a call's input that may say what it does. all is false if there are too many.
func argumentsOf(input canon.Value) (args []argument, all bool) {
	l := argumentList{}
	l.object(input, "")
	return l.args, !l.full
}

type argumentList struct {
	args   []argument
	groups int
	free   int
	texts  int // how many texts stand round this object
	full   bool
}

func (l *argumentList) object(v canon.Value, outer string) {
	l.groups++
	group := l.groups
	named := classOf([]string{outer}) == pathArgument // {"files": {"a.txt": "…"}}, {"files": [{"name": "a.txt"}]}
	for name, value := range v.Members() {
		a := argument{name: name, key: squashed(name), words: wordsOfName(name), outer: outer, group: group}
		switch {
		case named && a.key == "name":
			a.key, a.words = "file", []string{"file"}
		case named && strings.ContainsAny(name, `./\`):
			l.file(a, name)
			if value.Kind() != canon.Object {
				continue
			}
		}
		l.value(a, classOf(a.words), value)
	}
}

// file adds a file that the name of an argument is.
func (l *argumentList) file(a argument, name string) {
	a.key, a.words = "file", []string{"file"}
	if path, err := canon.Parse(canon.AppendString(nil, name)); err == nil {
		l.value(a, pathArgument, path)
	}
}

func (l *argumentList) value(a argument, of class, value canon.Value) {
	switch value.Kind() {
	case canon.Object:
		l.object(value, a.key)
		return
	case canon.Array:
		if of == commandArgument || of == wordsArgument {
			if _, ok := wordsOf(value); ok {
				break
			}
		}
		for element := range value.Elements() {
			if element.Kind() == canon.Array { // a list of the words of commands
				a.key = strings.TrimSuffix(a.key, "s")
			}
			l.value(a, of, element)
		}
		return
	case canon.String:
		if l.within(a, of, value) {
			return
		}
		if of == otherArgument && !isNoted(a.key) && !mayBePath(value.Bytes()) {
			return
		}
	default:
		if of == otherArgument || of == freeArgument || of == placeArgument {
			return
		}
	}
	if of == freeArgument {
		if l.free++; l.free > maxFree {
			return
		}
	}
	if len(l.args) == maxArguments {
		l.full = true
		return
	}
	a.value = value
	l.args = append(l.args, a)
}

// within adds the arguments that stand as JSON in a text: some tools pass on those of another one so, and some models
// write lists so.
func (l *argumentList) within(a argument, of class, value canon.Value) bool {
	raw := value.Bytes()
	if l.texts == maxUnwrapped || len(raw) < 4 || strings.IndexByte("{[ \\", raw[1]) < 0 {
		return false
	}
	lists := of == pathArgument || of == commandArgument || of == wordsArgument
	switch a.key {
	case "arguments", "args", "input", "params", "parameters", "toolinput", "toolargs", "payload", "options", "request", "json", "config":
	default:
		if !lists {
			return false
		}
	}
	text, _ := value.Text()
	inner, err := canon.Parse([]byte(text))
	if err != nil || inner.Kind() != canon.Object && inner.Kind() != canon.Array {
		return false
	}
	l.texts++
	l.value(a, of, inner)
	l.texts--
	return true
}

// isNoted reports whether some tool has something to say in an argument of which the name says nothing.
func isNoted(key string) bool {
	switch key {
	case "input", "chars", "keys", "shell", "subagenttype", "agenttype", "agent", "agentname", "mode", "id", "action", "method", "patchtext",
		"line", "from", "to", "glob", "include", "includes", "includepattern", "globs", "includeglobs", "stdin", "data", "env", "environment":
		return true
	}
	return false
}

// mayBePath reports whether the JSON of a text may be that of a path, by its first character, or names a file by a URL.
func mayBePath(raw []byte) bool {
	if len(raw) < 3 || len(raw) > maxLooked {
		return false
	}
	switch raw[1] {
	case '/', '\\', '~', '.', 'f', 'F':
		return true
	}
	return isLetter(raw[1]) && raw[2] == ':'
}

// looksLikePath reports whether a text is a path by itself: it begins at the root, in the home folder, on a drive, or
// with a dot.
func looksLikePath(text string) bool {
	if len(text) < 2 || len(text) > maxLooked || strings.ContainsAny(text, "\n\r\x00") {
		return false
	}
	switch {
	case text[0] == '/', strings.HasPrefix(text, "~/"), strings.HasPrefix(text, `~\`), strings.HasPrefix(text, `\\`), isFileURL(text):
		return true
	case text[0] == '.':
		return !strings.ContainsAny(text, " \t")
	}
	return len(text) > 2 && isDrive(text[:2]) && (text[2] == '/' || text[2] == '\\')
}

// wordsOfName splits a name such as filePath, file_path or URLPath into its words, in lower case.
func wordsOfName(name string) []string {
	var words []string
	start, last := 0, rune(0)
	flush := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(name[start:end]))
		}
		start = end
	}
	for i, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush(i)
			start = i + utf8.RuneLen(r)
		case unicode.IsUpper(r) && (unicode.IsLower(last) || unicode.IsDigit(last)):
			flush(i)
		case unicode.IsLower(r) && unicode.IsUpper(last) && i-utf8.RuneLen(last) > start:
			flush(i - utf8.RuneLen(last))
		}
		last = r
	}
	flush(len(name))
	return words
}

// classOf returns what the words of an argument's name say of it. The last one counts: filePath is a path, pathName is
// not; and compounds are written as one word, too.
func classOf(words []string) class {
	if len(words) == 0 {
		return otherArgument
	}
	last := words[len(words)-1]
	switch strings.Join(words, "") {
	case "filename", "filenames", "pathname", "pathnames", "dirname", "foldername", "directoryname", "notebook", "cwd", "localpath":
		return pathArgument
	case "commandline", "cmdline", "shellscript", "bashscript", "powershellscript", "shellcode", "rawcommand":
		return commandArgument
	case "patchtext", "filter":
		return otherArgument
	case "websocket", "ws":
		return urlArgument
	}
	switch last {
	case "title", "body", "description", "content", "contents", "text", "message", "messages", "prompt", "query", "queries", "q", "search", "needle", "comment",
		"comments", "summary", "name", "names", "reason", "label", "labels", "subject", "note", "notes", "question", "answer",
		"instructions", "caption", "pattern", "patterns", "regex", "replacement", "string", "str", "old", "new", "observation",
		"observations", "topic", "topics", "section", "sections", "heading", "tag", "tags", "category", "keyword", "keywords", "term",
		"terms", "data", "value", "values", "row", "rows", "cell", "cells", "records", "sql", "statement", "html", "markdown", "css", "thought", "plan", "justification", "explanation", "profile",
		"profiles", "xpath", "selector", "diff", "patch":
		return freeArgument
	case "target", "targets", "source", "sources", "root", "roots", "location", "output", "input", "resource", "attachment", "attachments",
		"document", "image", "images":
		return placeArgument
	case "src", "destination", "dest", "dst":
		return pathArgument
	case "command", "commands", "cmd", "cmds", "argv", "bash", "powershell", "shellcmd", "program", "executable", "exec", "run":
		return commandArgument
	case "args", "arguments":
		return wordsArgument
	case "code", "script", "function", "expression", "javascript", "snippet":
		return codeArgument
	case "href", "endpoint", "host", "hosts", "hostname", "hostnames", "origin", "website", "link", "links":
		return urlArgument
	}
	return classOfEnd(last)
}

// classOfEnd returns what the end of a name's last word says: workdir, outfile, baseurl.
func classOfEnd(last string) class {
	for _, end := range [...]string{"path", "paths", "file", "files", "dir", "dirs", "directory", "directories", "folder", "folders"} {
		if strings.HasSuffix(last, end) {
			return pathArgument
		}
	}
	for _, end := range [...]string{"url", "urls", "uri", "uris"} {
		if strings.HasSuffix(last, end) {
			return urlArgument
		}
	}
	if strings.HasSuffix(last, "command") {
		return commandArgument
	}
	return otherArgument
}

// verbs are what the words of a tool's name say that it does with the files which its arguments name.
type verbs struct {
	reads, writes, deletes, moves, copies bool
	links, takes                          bool // it reads what it makes something of
	unknown                               bool // it has none
	types                                 bool // its texts go to a shell or a terminal
}

// verbsOf returns the verbs of a tool. One that has none may do anything but delete.
func verbsOf(tool string) verbs {
	var v verbs
	for _, word := range wordsOfName(tool) {
		switch word {
		case "shell", "terminal", "bash", "zsh", "console", "tmux", "pty", "process", "powershell", "ssh":
			v.types = true
		}
	}
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		tool = tool[i+2:]
	}
	for _, word := range wordsOfName(tool[strings.LastIndexByte(tool, '/')+1:]) {
		switch word {
		case "delete", "remove", "rm", "unlink", "trash", "rmdir", "destroy", "purge", "clean", "erase":
			v.writes, v.deletes = true, true
		case "move", "rename", "mv":
			v.writes, v.moves = true, true
		case "copy", "cp", "duplicate", "clone":
			v.writes, v.copies = true, true
		case "link", "symlink":
			v.writes, v.links, v.takes = true, true, true
		case "add", "gist", "attachment", "upload", "import", "index", "ingest", "publish", "share", "send", "attach":
			v.takes = true
		}
		switch word {
		case "write", "create", "edit", "update", "append", "save", "put", "patch", "replace", "insert", "mkdir", "modify", "set", "add",
			"make", "touch", "truncate", "download", "export", "extract", "unzip", "generate", "init", "apply", "format", "chmod",
			"screenshot", "upsert", "overwrite", "new", "scaffold", "record":
			v.writes = true
		case "read", "get", "list", "search", "view", "open", "cat", "load", "stat", "info", "find", "show", "tree", "upload", "grep", "head",
			"tail", "count", "describe", "inspect", "check", "exists", "diff", "analyze", "parse", "preview", "hash", "glob", "watch",
			"import", "query", "status", "lint", "fetch", "send", "attach", "log", "symbols", "overview", "navigate":
			v.reads = true
		}
	}
	if !v.reads && !v.writes {
		v.reads, v.writes, v.unknown = true, true, true
	}
	return v
}

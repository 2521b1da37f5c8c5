package effects

import (
	"strconv"
	"strings"
)

// stream is what is known of the text that a command gets, or says.
type stream struct {
	first  []byte // what it begins with, as far as that is one text
	behind texts  // what follows: any of them
	begun  bool
	file   int  // its number among the process substitutions
	script bool // it is a file that the text names
}

// streamOf returns a stream that is one of texts.
func streamOf(texts ...string) *stream {
	t := &stream{}
	t.add(texts)
	return t
}

// unknownStream returns a stream of which nothing is known.
func unknownStream() *stream { return streamOf(unknownText) }

// add adds what follows.
func (t *stream) add(said texts) {
	switch {
	case len(said) == 0:
		return
	case len(said) == 1 && len(t.behind) == 0 && len(t.first)+len(said[0]) <= maxOutput:
		t.first = append(t.first, said[0]...)
	case len(said) == 1 && len(t.behind) == 0:
		t.first, t.behind = nil, unknownTexts
	default:
		t.behind = t.behind.then(said)
	}
	t.begun = true
}

// append adds what is said next.
func (t *stream) append(said *stream) {
	if said.begun {
		if len(said.first) > 0 || len(said.behind) == 0 {
			t.add(texts{string(said.first)})
		}
		t.add(said.behind)
	}
}

// orElse returns a stream that is what one command said, or what another one said in its place.
func (t *stream) orElse(other *stream) *stream {
	switch {
	case t == nil || other == nil || !other.begun:
		return t
	case !t.begun:
		return other
	}
	said := t.texts()
	for _, text := range other.texts() {
		said = said.add(text)
	}
	if len(said) > maxTold {
		said = unknownTexts
	}
	return streamOf(said...)
}

// texts returns the texts that it may be; none if nothing was said.
func (t *stream) texts() texts {
	switch {
	case !t.begun:
		return nil
	case len(t.behind) == 0:
		return texts{string(t.first)}
	}
	return texts{string(t.first)}.then(t.behind)
}

// isUnknown reports whether nothing is known of it.
func (t *stream) isUnknown() bool {
	return len(t.behind) == 0 && len(t.first) < 3 && isUnknown(string(t.first)) ||
		len(t.first) == 0 && len(t.behind) == 1 && isUnknown(t.behind[0])
}

// emit adds a text to the standard output, if anybody wants to know.
func (s *shell) emit(texts ...string) {
	if s.out != nil {
		s.out.add(texts)
	}
}

// say adds what a command says that starts no other. What is known of it is what echo and its like are given, and what
// passes on what it gets.
func (s *shell) say(program string, words []Word, does *invocation) {
	if program == "tee" && s.input != nil {
		for _, o := range does.operands {
			s.write(o.word.Text, s.input, false)
		}
	}
	if s.out == nil {
		return
	}
	args := words[1:]
	switch program {
	case "echo":
		s.out.append(echoed(args))
	case "printf":
		if len(args) > 1 && args[0].Text == "-v" {
			return
		}
		if len(args) > 0 && args[0].Text == "--" {
			args = args[1:]
		}
		s.out.append(printed(args))
	case "cat", "tee", "sort", "uniq", "head", "tail", "tac", "grep", "egrep", "fgrep", "rg", "shuf", "pv", "sponge", "nl":
		s.pass(program, args, does)
	case "pwd":
		s.emit(s.folders.here()...)
	case "which", "type", "where", "command", "hash":
		if n := len(words); n > 1 {
			s.emit(words[n-1].Text)
		}
	case "basename":
		s.emit(basename(args))
	case "dirname":
		s.emit(dirname(args))
	case "realpath", "readlink", "cygpath", "wslpath":
		s.emit(lastOperand(args))
	case "ls", "dir":
		s.emit(listed(args))
	case "find", "bfs", "gfind", "fd", "fdfind":
		s.emit(foundPaths(words))
	case "true", "false", ":", "cd", "unset", "mkdir", "rm", "touch", "sleep", "test", "[", "wait", "read", "mapfile", "readarray",
		"exit", "return", "break", "continue", "shift", "local", "chmod", "eval", "source", ".":
	case "set", "export", "shopt", "trap", "alias":
		if len(args) == 0 || args[0].Text == "-p" {
			s.sayUnknown(program)
		}
	default:
		if text := gitListed(program, args); text != "" {
			s.emit(text)
		} else if !saysSetup(program, args) {
			s.sayUnknown(program)
		}
	}
}

// sayUnknown adds a text of which nothing is known. Options are not expected among the names that a program lists, but
// for one that is given a text to change.
func (s *shell) sayUnknown(program string) {
	if s.out == nil {
		return
	}
	listed := lists(program)
	if s.input != nil && s.input.begun {
		listed = s.input.isUnknown() && s.input.first[0] == listedText[0]
	}
	if listed {
		s.out.add(texts{listedText})
	} else {
		s.out.add(unknownTexts)
	}
}

// lists reports whether a program says names, numbers or dates, of which none is an option.
func lists(program string) bool {
	switch program {
	case "arch", "brew", "cargo", "date", "docker", "du", "fd", "fdfind", "find", "getconf", "gh", "git", "glab", "go", "hg", "hostname",
		"id", "jobs", "kubectl", "lsof", "mktemp", "nproc", "npm", "oc", "pgrep", "pidof", "pnpm", "podman", "ps", "rustc",
		"seq", "stat", "svn", "tput", "uname", "uuidgen", "wc", "whoami", "xcrun", "yarn":
		return true
	}
	return false
}

// saysSetup reports whether what a program says is code for the shell that is its own, made for eval: one may run that
// who may run the program.
func saysSetup(program string, args []Word) bool {
	first := ""
	if len(args) > 0 {
		first = args[0].Text
	}
	switch program {
	case "ssh-agent", "dircolors", "lesspipe", "resize", "tset":
		return true
	case "brew":
		return first == "shellenv"
	case "direnv":
		return first == "hook" || first == "export"
	case "fnm", "opam":
		return first == "env"
	case "pyenv", "rbenv", "nodenv", "goenv", "jenv", "starship", "zoxide", "oh-my-posh":
		return first == "init"
	case "mise", "rtx":
		return first == "activate" || first == "env" || first == "hook-env"
	case "conda", "mamba", "micromamba":
		return first == "shell" || first == "shell.bash" || first == "shell.zsh" || first == "shell.posix"
	case "minikube":
		return first == "docker-env" || first == "podman-env"
	case "gh", "kubectl", "helm", "npm", "pip", "pip3", "poetry", "rustup", "docker", "deno", "uv", "just", "k3d", "kind":
		return first == "completion" || first == "completions" || first == "generate-shell-completion"
	}
	return false
}

// pass says what comes in.
func (s *shell) pass(program string, args []Word, does *invocation) {
	if program == "grep" || program == "egrep" || program == "rg" {
		if name := grepped(args); name != "" && s.input != nil && s.input.isUnknown() {
			s.emit(name + "\n")
			return
		}
	}
	reads := false
	for _, o := range does.operands {
		reads = reads || o.read
	}
	switch {
	case reads:
		s.out.add(unknownTexts)
	case s.input != nil:
		s.out.append(s.input)
	}
}

// echoed returns what echo says.
func echoed(args []Word) *stream {
	newline, escapes := "\n", false
	for len(args) > 0 {
		flags := strings.TrimPrefix(args[0].Text, "-")
		if flags == "" || flags == args[0].Text || strings.Trim(flags, "neE") != "" {
			break
		}
		if strings.Contains(flags, "n") {
			newline = ""
		}
		escapes = escapes || strings.Contains(flags, "e")
		args = args[1:]
	}
	said := joinWords(args)
	if len(args) == 0 {
		said = Word{}
	}
	if escapes {
		said.Text = string(appendEscaped(nil, said.Text))
	}
	return streamOf(said.Text + newline)
}

// printed returns what printf says.
func printed(args []Word) *stream {
	if len(args) == 0 {
		return &stream{}
	}
	format, args := args[0].Text, args[1:]
	var text []byte
	for {
		rest := args
		text, rest = appendFormat(text, format, rest)
		if len(rest) == len(args) || len(rest) == 0 || len(text) > maxOutput {
			break
		}
		args = rest
	}
	return streamOf(string(text))
}

// appendFormat appends what a format gives for some of the arguments, and returns the others.
func appendFormat(text []byte, format string, args []Word) ([]byte, []Word) {
	next := func() string {
		if len(args) == 0 {
			return ""
		}
		arg := args[0].Text
		args = args[1:]
		return arg
	}
	for i := 0; i < len(format); i++ {
		switch {
		case format[i] == '\\':
			end := min(i+1, len(format))
			for end < len(format) && end < i+10 && format[end] != '\\' && format[end] != '%' {
				end++
			}
			if i+1 < len(format) && format[i+1] == '\\' {
				end = i + 2
			}
			text = appendEscaped(text, format[i:end])
			i = end - 1
		case format[i] == '%' && i+1 < len(format):
			end := i + 1
			for end < len(format) && strings.IndexByte("-+ #0123456789.*", format[end]) >= 0 {
				end++
			}
			if end == len(format) {
				return append(text, format[i:]...), args
			}
			switch format[end] {
			case '%':
				text = append(text, '%')
			case 's', 'q', 'Q', 'c':
				text = append(text, next()...)
			case 'b':
				text = appendEscaped(text, next())
			case '(':
				return append(text, anyText), args[len(args):]
			default:
				if arg := next(); isNumber(arg) {
					text = append(text, arg...)
				} else {
					text = append(text, numberText...)
				}
			}
			i = end
		default:
			text = append(text, format[i])
		}
	}
	return text, args
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// listed returns what ls says: the names that it is given, or what is in those folders.
func listed(args []Word) string {
	text := ""
	for _, w := range args {
		if !strings.HasPrefix(w.Text, "-") {
			text += w.Text + "\n"
		}
	}
	return text + listedText + "\n"
}

func lastOperand(args []Word) string {
	if len(args) == 0 {
		return unknownText
	}
	return args[len(args)-1].Text
}

func basename(args []Word) string {
	if len(args) == 0 || strings.HasPrefix(args[0].Text, "-") {
		return unknownText
	}
	path := strings.TrimRight(args[0].Text, "/")
	name := path[strings.LastIndexByte(path, '/')+1:]
	if len(args) > 1 {
		name = strings.TrimSuffix(name, args[1].Text)
	}
	return name
}

func dirname(args []Word) string {
	if len(args) == 0 {
		return unknownText
	}
	path := strings.TrimRight(args[0].Text, "/")
	switch i := strings.LastIndexByte(path, '/'); {
	case i > 0:
		return path[:i]
	case i == 0:
		return "/"
	case strings.Contains(path, unknownText):
		return unknownText
	}
	return "."
}

// gitListed returns what "git ls-files WORDS…" says, as far as its words tell.
func gitListed(program string, args []Word) string {
	if program != "git" || len(args) < 2 || args[0].Text != "ls-files" {
		return ""
	}
	text := ""
	for _, w := range args[1:] {
		if strings.HasPrefix(w.Text, "-") {
			continue
		}
		if name := globBytes(w.Text); holdsUnknown(name) || strings.Contains(name, ".") {
			text += name + "\n"
		} else {
			text += name + "\n" + name + "/" + listedText + "\n"
		}
	}
	return text
}

// grepped returns the name that a search with one pattern lets through, if the pattern says how it begins.
func grepped(args []Word) string {
	for len(args) > 1 && args[0].Text == "-E" {
		args = args[1:]
	}
	if len(args) != 1 || !strings.HasPrefix(args[0].Text, "^") {
		return ""
	}
	return regexBytes(args[0].Text, false)
}

// foundPaths returns what find says, as far as its words tell.
func foundPaths(words []Word) string {
	const mark = "found:"
	asked := append(append([]Word{}, words...), Word{Text: "-exec"}, Word{Text: mark}, Word{Text: "{}"}, Word{Text: ";"})
	does := invoke(asked)
	var b strings.Builder
	for _, started := range does.started {
		if len(started.words) == 2 && started.words[0].Text == mark {
			b.WriteString(started.words[1].Text)
			b.WriteByte('\n')
		}
	}
	if b.Len() == 0 {
		return unknownText
	}
	return b.String()
}

package effects

import (
	"slices"
	"strings"
)

// isNameless reports whether the base name of a program is not known. Of a script in a folder of its own, such as
// ./scripts/test-*.sh, what is known is enough: no other program is called so.
func isNameless(path string) bool {
	base := path[strings.LastIndexAny(path, `/\`)+1:]
	if !holdsUnknown(base) {
		return base == "" && path != ""
	}
	return !isRelativeName(path) || !strings.ContainsAny(base, "-_.") || strings.HasPrefix(base, "git-")
}

// isRelativeName reports whether a path names something in a folder that is known, below the one where we are.
func isRelativeName(path string) bool {
	folder, _, found := cutLast(path, "/")
	return found && folder != "" && folder != "." && folder[0] != '/' && folder[0] != '~' && !holdsUnknown(folder) &&
		!strings.Contains(folder, "..")
}

func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return text, "", false
}

// run adds a program that is run, and returns its index.
func (s *shell) run(words []Word, code string) (by int) {
	by = s.add(Effect{Kind: Run, By: -1, Command: &Command{Words: words, Code: code}})
	if usual := usualProgram(words[0].Text); usual != "" {
		named := append([]Word{{Text: usual}}, words[1:]...)
		s.add(Effect{Kind: Run, By: -1, Command: &Command{Words: named, Code: code}})
	}
	return by
}

// usualProgram returns the name under which everybody knows a program that has another one here: grm is GNU's rm on a Mac.
func usualProgram(word string) string {
	name := programOf(word)
	if len(name) > 2 && name[0] == 'g' {
		if usual := tableName(name); usual == name[1:] {
			return usual
		}
	}
	return ""
}

// operand adds what a command does to a file that its words name.
func (s *shell) operand(o operand, by int, from []string) {
	if o.bare && !s.stands(o.word.Text, from) {
		return
	}
	if o.tree && o.write && s.isWide(o.word.Text) {
		o.deep = true
	}
	s.uses(o.word.Text, by, o, from)
}

// stands reports whether something of a name stands in one of the folders.
func (s *shell) stands(name string, from []string) bool {
	for _, dir := range from {
		if dir == "" || holdsUnknown(dir) || !isNative(slashed(dir)) {
			continue
		}
		found, looked := s.world.look().at([]byte(clean(inDir(dir, name))))
		if !looked || found.kind != entryAbsent {
			return true
		}
	}
	return false
}

// isWide reports whether a folder is one that holds about everything: whoever has it has all that is below it.
func (s *shell) isWide(path string) bool {
	switch path = strings.TrimRight(path, "/"); path {
	case "", "~", "/home", "/Users", "/root", "/etc":
		return true
	}
	return slices.Contains(s.world.Homes, path)
}

// takesIn adds the files that the standard input names.
func (s *shell) takesIn(does *invocation, by int, from []string) {
	if does.stdin != stdinPatch && does.stdin != stdinNames || s.input == nil {
		return
	}
	for _, text := range s.input.texts() {
		if isUnknown(text) {
			continue
		}
		if does.stdin == stdinNames {
			for line := range strings.Lines(text) {
				s.uses(strings.Trim(line, "\n\x00"), by, operand{read: true}, from)
			}
			continue
		}
		for _, e := range patchEffects(plainText(text), s.world, from...) {
			if e.Opaque == "" {
				e.By = by
				s.add(e)
			}
		}
	}
}

// withScript returns the words of sed and awk with the text of a script in place of the file that has it.
func (s *shell) withScript(program string, words []Word) []Word {
	if len(s.files) == 0 && s.scripts == nil && s.input == nil {
		return words
	}
	option := Word{Text: "-e"}
	switch tableName(program) {
	case "sed":
	case "awk":
		option.Text = "--source"
	default:
		return words
	}
	for i := 1; i+1 < len(words); i++ {
		if words[i].Text != "-f" && words[i].Text != "--file" {
			continue
		}
		in := s.file(words[i+1].Text)
		if isStdin(words[i+1].Text) && s.input != nil && !s.input.script {
			in = s.input
		}
		if in == nil || in.isUnknown() && s.substitution(words[i+1].Text) == nil {
			continue
		}
		changed := slices.Clone(words)
		changed[i], changed[i+1] = option, Word{Text: strings.Join(in.texts(), "\n")}
		return changed
	}
	return words
}

// codeOf returns the code in another language that a command runs; all is false if some of it is not known.
func (s *shell) codeOf(program string, does *invocation) (code string, all bool) {
	script := len(does.scripts) > 0 && (len(s.files) > 0 || s.scripts != nil || s.descriptors != nil)
	reads := does.stdin == stdinCode || does.stdin == stdinQuery
	if len(does.code) == 0 && !reads && !script {
		return "", true
	}
	var known []string
	all = true
	add := func(text string, must bool) {
		if !isUnknown(text) {
			known = append(known, text)
		} else if must {
			all = false
		}
	}
	for _, w := range does.code {
		add(w.Text, true)
	}
	if s.input != nil && !s.input.script && (reads || does.stdin == stdinData && tableName(program) == "awk") {
		for _, text := range s.input.texts() { // what awk is given may be what it runs
			add(text, does.stdin == stdinCode)
		}
	}
	if script && !isShell(program) && program != "source" && program != "." {
		for _, w := range does.scripts {
			if in := s.file(w.Text); in != nil {
				for _, text := range in.texts() {
					add(text, s.substitution(w.Text) != nil)
				}
			}
		}
	}
	return runnable(program, plainText(strings.Join(known, "\n"))), all
}

// runnable returns what of code is to be judged: no comments, and nothing that can only be data.
func runnable(program, code string) string {
	if code == "" {
		return ""
	}
	switch tableName(program) {
	case "python", "pypy", "ipython", "bpython", "jython", "ruby", "irb", "perl", "rscript", "r", "julia", "elixir", "crystal", "nim":
		return withoutComments(code, "#")
	case "node", "deno", "bun", "tsx", "ts-node", "zx", "php", "swift", "dart", "scala", "groovy":
		return withoutComments(code, "//")
	case "lua":
		return withoutComments(code, "--")
	case "psql", "mysql", "mariadb", "sqlite3", "sqlite":
		if !queryReaches(program, lower(code)) {
			return ""
		}
	case "ed", "red":
		return editorLines(code)
	}
	return code
}

// withoutComments returns code without the lines that are comments.
func withoutComments(code, sign string) string {
	if !strings.Contains(code, sign) {
		return code
	}
	var b strings.Builder
	for line := range strings.Lines(code) {
		if !strings.HasPrefix(strings.TrimLeft(line, " \t"), sign) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// queryReaches reports whether a query, in lower case, may do more than work on tables.
func queryReaches(program, query string) bool {
	ways := `\! \i \o \g \w \copy \cd \e program pg_read pg_ls lo_import lo_export pg_write copy`
	switch program {
	case "mysql", "mariadb":
		ways = `\! \. \t infile outfile dumpfile load_file system source pager tee`
	case "sqlite3", "sqlite":
		ways = ".sh .sy .read .imp .out .once .load .open .save .backup .restore .dump .clone .log .cd .exc readfile writefile edit( " +
			"load_ext attach vacuum fsdir shellfs"
	}
	for way := range strings.SplitSeq(ways, " ") {
		if strings.Contains(query, way) {
			return true
		}
	}
	return false
}

// editorLines returns the commands of ed that run something, or read and write files.
func editorLines(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		text := strings.TrimLeft(line, "0123456789,;$.%+- \t")
		verb, _, found := strings.Cut(text, " ")
		if strings.Contains(text, "!") || found && len(verb) < 3 && strings.Trim(verb, "erwfEWq") == "" {
			b.WriteString(line)
		}
	}
	return b.String()
}

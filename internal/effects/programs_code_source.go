package effects

import "strings"

// scriptOrStdin judges where an interpreter has its code from, if not from an option.
func scriptOrStdin(c *call) {
	given := len(c.code) > 0
	if c.program == "node" && given && c.code[0].Text == "e" && len(c.operands) > 0 { // node -pe CODE
		c.code[0] = c.operands[0]
	}
	for i := range c.tokens {
		t := &c.tokens[i]
		if t.kind != optionToken {
			continue
		}
		if checksOnly(c.program, t.names) {
			return
		}
		switch t.names {
		case "m": // of python
			c.module(*t)
			return
		case "v|version", "V|version", "h", "i|interactive", "version", "help", "v", "V|vsn":
			asks := t.names != "i|interactive" && (t.names != "v" || c.program != "perl")
			given = given || len(c.operands) == 0 && asks
		case "f|file", "f|load|l", "F|process-file", "run", "test", "a", "s", "S|server":
			given = given || t.valued || t.names == "test"
		}
		if t.valued && strings.HasPrefix(t.says, "=r") { // php -f FILE, node -r FILE
			c.scripts = append(c.scripts, t.value)
		}
	}
	switch {
	case given:
	case len(c.operands) == 0 || isStdin(c.operands[0].Text):
		c.stdinCode(stdinCode)
	default:
		c.scripts = append(c.scripts, c.operands[0])
	}
}

// stdinCode says that the standard input is code, to which the operands behind a dash are given.
func (c *call) stdinCode(use stdinUse) {
	c.stdin, c.shape = use, "-a*"
	if len(c.operands) > 1 {
		c.passed = c.words[c.places[1]:]
	}
}

// checksOnly reports whether an option makes an interpreter look whether a script is well formed, and run nothing.
func checksOnly(program, names string) bool {
	switch program {
	case "node":
		return names == "c|check"
	case "perl", "ruby", "jruby", "truffleruby":
		return names == "c"
	case "php":
		return names == "l"
	}
	return false
}

// module judges "python -m NAME ARGUMENTS…": some modules are programs that are known by their name.
func (c *call) module(t token) {
	words := c.words[t.at+1:]
	if t.value.Text != c.words[min(t.at+1, len(c.words)-1)].Text { // -mNAME
		words = append([]Word{t.value}, words...)
	}
	if len(words) == 0 {
		return
	}
	c.shape = ""
	switch words[0].Text {
	case "pip", "pip3", "pipx", "poetry", "uv", "twine", "pipenv", "conda", "awscli", "youtube_dl", "yt_dlp",
		"keyring", "flit", "hatch":
		c.startWords(words...)
	case "this", "antigravity", "site", "platform", "sysconfig", "venv", "virtualenv", "pytest", "unittest",
		"http.server", "doctest":
	case "timeit":
		for _, w := range words[1:] {
			c.use('c', w)
		}
	default:
		c.shape = "r*"
		c.operands, c.places = c.operands[:0], c.places[:0]
		for i, w := range words[1:] {
			if w.Text != "" && w.Text[0] != '-' {
				c.operands, c.places = append(c.operands, w), append(c.places, len(c.words)-len(words)+1+i)
			}
		}
		c.moduleScript(words[0].Text)
	}
}

// moduleScript judges the script that a module runs: pdb, cProfile and their like.
func (c *call) moduleScript(module string) {
	switch module {
	case "pdb", "cProfile", "profile", "trace", "runpy", "coverage", "ipdb", "pudb", "memory_profiler", "line_profiler", "debugpy":
	default:
		return
	}
	for _, w := range c.operands {
		if strings.HasSuffix(w.Text, ".py") {
			c.scripts = append(c.scripts, w)
			return
		}
	}
}

// rareInterpreters are those that are met less often; their words are scripts.
func rareInterpreters(name string) program {
	switch name {
	case "m4":
		return program{options: "D=? U= I= F=w R=r", operands: "r*", more: scriptOrStdin}
	case "ghc":
		return program{options: "e=c o=w odir=w hidir=w package=", operands: "r*", style: oneDash}
	}
	return program{options: "eval=c e=c r=c q p|persist= batch=c", operands: "ra*", style: oneDash | stops, more: scriptOrStdin}
}

package effects

import "strings"

// gitWorktree are the subcommands of worktree.
func gitWorktree(name string) (string, program) {
	switch name {
	case "add":
		return name, program{operands: "w-*"}
	case "remove":
		return name, program{operands: "d*"}
	case "move":
		return name, program{operands: "mw"}
	case "list", "lock", "unlock", "prune", "repair":
		return name, program{}
	}
	return "", program{}
}

// gitCleans judges "git clean -x" without operands, which deletes ignored files, too.
func gitCleans(c *call) {
	ignored, dry := false, false
	for _, t := range c.tokens {
		if t.kind == optionToken {
			ignored = ignored || t.names == "x" || t.names == "X"
			dry = dry || strings.HasPrefix(t.names, "n|")
		}
	}
	switch {
	case dry:
		c.shape = ""
	case ignored && len(c.operands) == 0:
		c.use('d', Word{Text: "."})
	}
}

// gitLogPatch judges the files whose content "git log -p" shows.
func gitLogPatch(c *call) {
	for _, t := range c.tokens {
		if t.kind != optionToken {
			continue
		}
		if t.names == "L" || t.names == "S" || t.names == "G" || strings.HasPrefix(t.names, "p|") {
			c.shape = "g*"
			if t.names == "L" {
				_, path, _ := strings.Cut(strings.TrimPrefix(t.value.Text, ":"), ":")
				c.use('r', Word{Text: path})
			}
		}
	}
}

// gitGrepPager takes "git grep -O", without a value, for the usual pager.
func gitGrepPager(c *call) {
	if strings.HasPrefix(c.shape, "-") && len(c.operands) == 0 {
		c.shape = ""
	}
}

// gitBisect judges "git bisect run COMMAND…".
func gitBisect(c *call) {
	if len(c.operands) > 1 && c.operands[0].Text == "run" {
		c.start(c.places[1])
	}
}

// gitSubmodule judges "git submodule foreach [--recursive] COMMAND…", and what add clones.
func gitSubmodule(c *call) {
	if len(c.operands) < 2 {
		return
	}
	switch c.operands[0].Text {
	case "foreach":
		i := 1
		for i < len(c.operands) && strings.HasPrefix(c.operands[i].Text, "-") {
			i++
		}
		c.textFrom(i)
	case "add":
		for i, w := range c.operands[1:] {
			before := c.operands[i].Text
			if !strings.HasPrefix(w.Text, "-") && before != "-b" && before != "--branch" && before != "--name" {
				c.use('u', w)
				if i+2 < len(c.operands) {
					c.use('w', c.operands[i+2])
				}
				return
			}
		}
	}
}

// gitRemoteURL judges the URL of "git remote add NAME URL".
func gitRemoteURL(c *call) {
	if len(c.operands) > 2 && (c.operands[0].Text == "add" || c.operands[0].Text == "set-url") {
		c.use('u', c.operands[2])
	}
}

// gitCheckout judges the files that "git checkout" takes back. A word before the dashes, or without them, may be a
// branch: it is a file only if there is one.
func gitCheckout(c *call) {
	for _, t := range c.tokens {
		if t.kind == optionToken && (t.names == "b" || t.names == "B" || t.names == "orphan") {
			return
		}
	}
	for _, t := range c.tokens {
		switch {
		case t.kind != operandToken:
		case t.behind:
			c.use('d', t.value)
		case c.dashes == 0:
			bare := !strings.ContainsAny(t.value.Text, `.~\`) && !t.value.unknown()
			c.file(t.value, operand{write: true, deep: true, bare: bare})
		}
	}
}

// gitHashes judges "git hash-object --stdin-paths".
func gitHashes(c *call) {
	for _, t := range c.tokens {
		if t.kind == optionToken && t.names == "stdin-paths" {
			c.stdin = stdinNames
		}
	}
}

// gitEachRepo judges "git for-each-repo --config=NAME WORDS…", which runs git with these words.
func gitEachRepo(c *call) {
	if len(c.places) > 0 {
		c.startWords(append([]Word{c.words[0]}, c.words[c.places[0]:]...)...)
	}
}

// patchStdin judges a patch that comes in.
func patchStdin(c *call) {
	if len(c.operands) == 0 || isStdin(c.operands[0].Text) {
		c.stdin = stdinPatch
	}
}

package effects

import "strings"

// shellPrograms are the shells and what is built into them (bash 5.2, zsh 5.9).
func shellPrograms(name string) (program, bool) {
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh", "yash", "oksh", "posh",
		"nu", "xonsh", "elvish", "rc", "es", "osh", "ysh", "brush":
		return program{options: shOptions, operands: "ra*", style: stops, more: shellCode}, true
	case "eval":
		return program{style: stops, more: evalText}, true
	case "source", ".":
		return program{operands: "ra*", style: stops, more: sourcedFile}, true
	case "trap":
		return program{style: stops, options: "l:-* p:-* P:-*", operands: "s-*", more: trapText}, true
	case "cd", "chdir", "pushd":
		return program{options: "L P e n q s", more: moveShell}, true
	case "alias":
		return program{options: "p g s", more: aliasText}, true
	case "export", "declare", "typeset", "readonly":
		return program{options: "a A f F g i I l n p r t u x", style: names, more: exported}, true
	case "read":
		return program{options: "a= d= i= n= N= p= t= u= e r s", style: names}, true
	case "mapfile", "readarray":
		return program{options: "C=s c= d= n= O= s= u= t", style: names}, true
	case "complete", "compgen":
		return program{options: completeOptions, style: names}, true
	case "bind":
		return program{options: "x=c f=r m= q= u= r= l p P s S v V X", style: names}, true
	case "history":
		return program{options: "a:w n:r r:r w:w c d= p s", operands: ""}, true
	case "fc":
		return program{options: "e=s l n r s", style: names}, true
	case "enable":
		return program{options: "f=E a d n p s", style: names}, true
	}
	return program{}, false
}

const shOptions = "" +
	"rcfile|init-file=r o= O= c s i l|login r e u x v n p noprofile norc posix verbose restricted dump-strings " +
	"init-command=s C=s command=s"

const completeOptions = "C=s F= A= G= W= P= S= X= o= a b c d e f g j k s u v p r D E I"

// shellCode judges what a shell runs: the text behind -c, a script, or its standard input.
func shellCode(c *call) {
	code, stdin, checks := false, false, false
	at := 0 // the operand that is the text
	for _, t := range c.tokens {
		if t.kind != optionToken {
			continue
		}
		glued := t.names == "o" && t.valued && t.end == t.at+1 && t.short // bash -oc pipefail CODE
		if glued {
			at = 1
		}
		code = code || t.names == "c" || c.program == "nu" && t.names == "commands" || glued && strings.Contains(t.value.Text, "c")
		stdin = stdin || t.names == "s"
		checks = checks || t.names == "n" && isShell(c.program) || t.names == "o" && t.value.Text == "noexec"
	}
	switch {
	case checks:
	case code && len(c.operands) > at: // -c takes no argument of its own: bash -c -x CODE
		c.use('s', c.operands[at])
		c.shape = ""
	case code:
	case len(c.operands) == 0 || isStdin(c.operands[0].Text):
		c.stdinCode(stdinShell)
	case stdin:
		c.stdin, c.shape = stdinShell, "a*"
		c.passed = c.words[c.places[0]:]
	default:
		c.scripts = append(c.scripts, c.operands[0])
	}
	if strings.HasPrefix(c.program, "bash") || c.program == "sh" {
		for i := 1; i < len(c.words)-1; i++ { // bash +O extglob -c CODE: a plus begins an option, too
			if w := c.words[i].Text; len(w) > 1 && w[0] == '+' && len(c.operands) > 0 && c.operands[0].Text == w {
				inner := invoke(append([]Word{c.words[0]}, c.words[i+1:]...))
				c.invocation = inner
				c.shape = ""
				return
			}
		}
	}
}

// isStdin reports whether a path is the standard input.
func isStdin(path string) bool {
	switch path {
	case "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
		return true
	}
	return false
}

func evalText(c *call) {
	joinedText(c)
}

func sourcedFile(c *call) {
	if len(c.operands) > 0 && isStdin(c.operands[0].Text) {
		c.stdinCode(stdinShell)
	} else if len(c.operands) > 0 {
		c.scripts = append(c.scripts, c.operands[0])
	}
}

// trapText leaves out "trap - SIGNAL" and "trap SIGNAL", which run nothing.
func trapText(c *call) {
	if len(c.operands) < 2 || c.operands[0].Text == "-" {
		c.shape = ""
	}
}

// moveShell judges cd and pushd.
func moveShell(c *call) {
	c.moves = true
	switch len(c.operands) {
	case 0:
		if c.program != "pushd" {
			c.dir = &Word{Text: "~"}
		}
	default:
		w := c.operands[0]
		if w.Text == "-" || c.program == "pushd" && strings.HasPrefix(w.Text, "+") {
			w = Word{Text: string([]byte{anyText})}
		}
		c.dir = &w
	}
}

// aliasText takes what an alias stands for as a text that is run.
func aliasText(c *call) {
	for _, w := range c.operands {
		if _, text, found := strings.Cut(w.Text, "="); found && text != "" {
			c.shell = append(c.shell, Word{Text: text, Splits: w.Splits})
		}
	}
}

// exported judges variables that name programs.
func exported(c *call) {
	for _, w := range c.operands {
		if isAssignment(w.Text) {
			c.assign(w)
		}
	}
}

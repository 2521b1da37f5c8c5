package effects

import "strings"

const fzfOptions = "preview=s q|query= f|filter= d|delimiter= n|nth= with-nth= m|multi=? bind=c height= prompt= header= " +
	"preview-window= expect= history=w e i x 0 1 reverse ansi cycle read0 print0 with-shell=s"

// archWord leaves out the machine that setarch may be given before the command.
func archWord(c *call) {
	if c.program != "setarch" || len(c.places) == 0 || len(c.words) <= c.places[0]+1 {
		return
	}
	switch name := c.operands[0].Text; {
	case strings.HasPrefix(name, "linux"), strings.HasPrefix(name, "i"), strings.HasPrefix(name, "x86"), strings.HasPrefix(name, "arm"),
		strings.HasPrefix(name, "aarch"), strings.HasPrefix(name, "ppc"), strings.HasPrefix(name, "s390"),
		strings.HasPrefix(name, "uname"):
		c.shape = ""
		c.start(c.places[0] + 1)
	}
}

// ranBy judges "foreman run COMMAND…", "zellij run -- COMMAND…" and "flatpak run --command=PROGRAM APP WORDS…".
func ranBy(c *call) {
	if c.program == "flatpak" {
		for _, t := range c.tokens {
			if t.kind == optionToken && t.names == "command" && len(c.places) > 1 {
				c.startWords(append([]Word{t.value}, c.words[c.places[1]+1:]...)...)
			}
		}
		return
	}
	if c.dashes > 0 || len(c.places) < 2 {
		return
	}
	switch c.operands[0].Text {
	case "run", "exec", "start":
		c.start(c.places[1])
	}
}

// daemonStarted judges "start-stop-daemon --start --exec PROGRAM -- WORDS…".
func daemonStarted(c *call) {
	var words []Word
	if c.dashes > 0 {
		words = c.words[c.dashes+1:]
	}
	for _, t := range c.tokens {
		if t.kind == optionToken && (t.names == "x|exec" || t.names == "a|startas") {
			c.startWords(append([]Word{t.value}, words...)...)
		}
	}
}

// adbShell judges "adb shell COMMAND…", which a shell on a device reads.
func adbShell(c *call) {
	if len(c.operands) == 0 {
		return
	}
	switch c.operands[0].Text {
	case "shell", "exec-out", "exec-in":
		if len(c.places) > 1 {
			c.remoteText(c.places[0] + 1)
		} else {
			c.stdin = stdinShell
		}
	case "push", "install":
		if len(c.operands) > 1 {
			c.use('r', c.operands[1])
		}
	case "pull":
		if len(c.operands) > 2 {
			c.use('w', c.operands[2])
		}
	}
}

package effects

import "strings"

// parallelCommand judges "parallel COMMAND ::: ARGUMENTS": a text for a shell for each argument, or for each line of the
// standard input. Without a command the arguments are the commands.
func parallelCommand(c *call) {
	c.shape = ""
	if len(c.places) == 0 {
		c.stdin = stdinShell
		return
	}
	words := c.words[c.places[0]:]
	end := 0
	for end < len(words) && !strings.HasPrefix(words[end].Text, ":::") {
		end++
	}
	command, arguments := words[:end], words[end:]
	if len(arguments) > 0 {
		c.stdin = stdinData
	}
	switch {
	case len(command) == 0:
		for _, w := range arguments {
			if !strings.HasPrefix(w.Text, ":::") {
				c.use('s', w)
			}
		}
	case len(command) > 1 && len(arguments) == 0:
		c.started = append(c.started, start{words: command, stdin: true})
	case len(command) > 1:
		var plain []Word
		for _, w := range arguments {
			if !strings.HasPrefix(w.Text, ":::") {
				plain = append(plain, w)
			}
		}
		c.startWords(append(append([]Word{}, command...), plain...)...)
	case len(arguments) > 0:
		for _, w := range arguments {
			if !strings.HasPrefix(w.Text, ":::") {
				c.shell = append(c.shell, withArgument(command[0], w))
			}
		}
	default:
		c.shell = append(c.shell, joinWords(command))
	}
}

// withArgument returns a text for a shell with an argument in place of {}, or behind it.
func withArgument(text, argument Word) Word {
	splits := text.Splits || argument.Splits
	if strings.Contains(text.Text, "{}") {
		return Word{Text: strings.ReplaceAll(text.Text, "{}", argument.Text), Splits: splits}
	}
	return Word{Text: text.Text + " " + argument.Text, Splits: splits}
}

// suUser judges "su [USER]", which is a shell, unless it is given a command.
func suUser(c *call) {
	if len(c.shell) > 0 {
		return
	}
	if c.program == "runuser" && len(c.places) > 0 {
		for _, t := range c.tokens {
			if t.kind == optionToken && t.names == "u|user" {
				c.start(c.places[0])
				return
			}
		}
	}
	if c.dashes > 0 && c.dashes+1 < len(c.words) { // su USER -- -c TEXT
		c.startWords(append([]Word{{Text: "sh"}}, c.words[c.dashes+1:]...)...)
		return
	}
	c.stdin = stdinShell
}

// scriptBSD judges "script FILE COMMAND…", as BSD has it.
func scriptBSD(c *call) {
	if len(c.places) > 1 {
		c.start(c.places[1])
	}
}

// crontabStdin judges "crontab" and "crontab -": its lines are times and commands.
func crontabStdin(c *call) {
	for _, t := range c.tokens {
		if t.kind == optionToken && t.names != "u" || t.kind == operandToken && t.value.Text != "-" {
			return
		}
	}
	c.stdin = stdinCode
}

// screenStuff judges "screen -X stuff TEXT", which is typed into the session's shell.
func screenStuff(c *call) {
	if strings.HasPrefix(c.shape, "-") && len(c.operands) > 1 {
		switch c.operands[0].Text {
		case "stuff", "exec", "screen":
			c.textFrom(1)
		}
	}
}

// dotenvRun judges "dotenv run COMMAND…".
func dotenvRun(c *call) {
	if len(c.places) > 1 && c.operands[0].Text == "run" {
		c.start(c.places[1])
		c.shape = ""
	}
}

// entrShell judges "entr -s TEXT".
func entrShell(c *call) {
	for _, t := range c.tokens {
		if t.kind == optionToken && t.names == "s" {
			joinedText(c)
			return
		}
	}
}

// flockCommand judges "flock FILE -c TEXT".
func flockCommand(c *call) {
	if len(c.operands) > 2 && (c.operands[1].Text == "-c" || c.operands[1].Text == "--command") {
		c.use('s', c.operands[2])
		c.shape = "w"
	}
}

// ipNetns judges "ip netns exec NAME COMMAND…".
func ipNetns(c *call) {
	if len(c.operands) > 3 && strings.HasPrefix(c.operands[1].Text, "e") &&
		(strings.HasPrefix("netns", c.operands[0].Text) || c.operands[0].Text == "vrf") {
		c.start(c.places[3])
	}
}

// debuggedProgram judges "gdb --args PROGRAM ARGUMENTS…".
func debuggedProgram(c *call) {
	code := c.code
	c.code = nil
	for _, w := range code {
		text := strings.TrimPrefix(w.Text, "platform ")
		command, shell := strings.CutPrefix(text, "shell ")
		if !shell {
			command, shell = strings.CutPrefix(text, "!")
		}
		if shell {
			c.shell = append(c.shell, Word{Text: command, Splits: w.Splits})
		} else {
			c.code = append(c.code, w)
		}
	}
	for i, w := range c.words {
		if (w.Text == "--args" || w.Text == "-args" || w.Text == "--") && i+1 < len(c.words) {
			c.start(i + 1)
			c.shape = "r"
			return
		}
	}
}

// tmuxProgram is tmux, many of whose commands end in a text for a shell.
func tmuxProgram() program {
	return program{options: "c=s f=r L= S= T= 2 C D l N u v", style: stops, sub: func(name string) (string, program) {
		switch name {
		case "new", "new-session", "neww", "new-window", "splitw", "split-window", "respawn-pane", "respawnp",
			"respawn-window", "respawnw", "display-popup", "popup", "pipe-pane", "pipep":
			return name, program{options: newOptions, style: stops, more: joinedText}
		case "run", "run-shell":
			return name, program{options: "b C=: c= d= t=", style: stops, more: joinedText}
		case "if", "if-shell":
			return name, program{options: "b F t=", operands: "s--"}
		case "send", "send-keys":
			return name, program{options: "t= N= c= F H K l M R X", more: typedKeys, style: stops}
		case "source", "source-file":
			return name, program{operands: "r*"}
		case "attach", "attach-session", "a", "ls", "list-sessions", "list-windows", "list-panes", "kill-session",
			"kill-server", "kill-window", "kill-pane", "select-window", "select-pane", "capture-pane",
			"display-message", "set", "set-option", "has", "has-session", "detach", "rename-session", "rename-window",
			"resize-pane", "show-options", "wait-for":
			return name, program{style: names}
		}
		return "", program{}
	}}
}

const newOptions = "c= e= F= f= n= s= t= x= y= l= w= h= T= b= S= p= A d D E P X I k v a K Z B C"

// typedKeys judges what is typed into a pane: names of keys are left out.
func typedKeys(c *call) {
	var typed []Word
	for _, w := range c.operands {
		switch w.Text {
		case "Enter", "C-m", "C-c", "C-d", "Escape", "Space", "Tab", "q":
			continue
		}
		typed = append(typed, w)
	}
	if len(typed) > 0 {
		c.shell = append(c.shell, joinWords(typed))
	}
}

// powershellOptions are those of powershell.exe and pwsh. Any beginning of a name will do.
const powershellOptions = "" +
	"command|c|cmd=c file|f=r encodedcommand|e|ec|enc=E executionpolicy|ep|ex= workingdirectory|wd=D " +
	"configurationname= custompipename= inputformat= outputformat= windowstyle|w= version= settingsfile= " +
	"psconsolefile= noprofile|nop noninteractive|noni nologo noexit mta sta login|l"

// powershellCommand takes everything behind -Command, or the operands of Windows' powershell, as code.
func powershellCommand(c *call) {
	for i, t := range c.tokens {
		if t.kind == optionToken && strings.HasPrefix(t.names, "command|") && t.end <= len(c.words) {
			c.code = append(c.code[:0], joinWords(c.words[t.at+1:]))
			if t.value.Text == "-" {
				c.code, c.stdin = nil, stdinCode
			}
			c.shape = ""
			return
		}
		if t.kind == optionToken && strings.HasPrefix(t.names, "file|") {
			c.shape = ""
			return
		}
		if t.kind == operandToken && i == len(c.tokens)-len(c.operands) {
			c.code = append(c.code, joinWords(c.words[t.at:]))
			return
		}
	}
	c.stdin = stdinCode
}

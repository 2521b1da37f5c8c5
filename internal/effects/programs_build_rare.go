package effects

import "strings"

// buildCommand judges "just --command COMMAND…".
func buildCommand(c *call) {
	if c.program != "just" {
		return
	}
	for _, t := range c.tokens {
		if t.kind == optionToken && t.names == "c|command" {
			c.start(t.at + 1)
			return
		}
	}
}

// cmakeCommand judges "cmake -E COMMAND…": some of its own commands start programs.
func cmakeCommand(c *call) {
	for _, t := range c.tokens {
		if t.kind != optionToken || t.names != "E" || t.at+1 >= len(c.words) {
			continue
		}
		at := t.at + 1
		switch c.words[at].Text {
		case "chdir":
			at += 2
		case "env", "time":
			for at++; at < len(c.words) && (isAssignment(c.words[at].Text) || strings.HasPrefix(c.words[at].Text, "--")); at++ {
			}
		}
		if at < len(c.words) {
			c.start(at)
		}
		return
	}
}

// responseFiles judges @FILE, whose words are those of the command.
func responseFiles(c *call) {
	for _, w := range c.operands {
		if path, found := strings.CutPrefix(w.Text, "@"); found {
			c.use('r', Word{Text: path, Splits: w.Splits})
		}
	}
}

// behindDashes judges the words that a build tool gives to the program that it starts.
func behindDashes(c *call) {
	for _, t := range c.tokens {
		if t.behind && t.kind == operandToken {
			c.use('a', t.value)
		}
	}
}

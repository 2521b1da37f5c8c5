package effects

import "strings"

// sedScripts judges the scripts that sed is given.
func sedScripts(c *call) {
	for _, t := range c.tokens {
		switch {
		case t.kind != optionToken:
		case strings.HasPrefix(t.names, "e|"):
			c.sedScript(t.value)
		case strings.HasPrefix(t.names, "f|"):
			c.scripts = append(c.scripts, t.value)
		}
	}
	if strings.HasPrefix(c.shape, "-") && len(c.operands) > 0 {
		c.sedScript(c.operands[0])
	}
}

// sedScript judges the commands of a script that read and write files, or run commands (GNU sed 4.9).
func (c *call) sedScript(script Word) {
	text := script.Text
	if !strings.ContainsAny(text, "rRwWe") { // most have none
		return
	}
	for i := 0; i < len(text); {
		i = sedAddresses(text, i)
		if i >= len(text) {
			return
		}
		command := text[i]
		i++
		switch command {
		case 's', 'y':
			i = c.sedSubstitute(text, i, command)
		case 'r', 'R', 'w', 'W', 'e':
			rest, _, _ := strings.Cut(text[i:], "\n")
			i += len(rest)
			c.sedFile(command, strings.TrimLeft(rest, " \t"))
		case 'a', 'i', 'c': // text to the end of the line, and on behind a backslash
			for i < len(text) && text[i] != '\n' {
				if text[i] == '\\' {
					i++
				}
				i++
			}
		case 'b', 't', 'T', ':', '#':
			end := strings.IndexAny(text[i:], "\n;}")
			if command == '#' || command == ':' {
				end = strings.IndexByte(text[i:], '\n')
			}
			if end < 0 {
				return
			}
			i += end
		}
	}
}

// sedAddresses returns where the command begins behind its addresses.
func sedAddresses(text string, i int) int {
	for i < len(text) {
		switch ch := text[i]; {
		case ch == '/':
			i = sedDelimited(text, i+1, '/')
		case ch == '\\' && i+1 < len(text):
			i = sedDelimited(text, i+2, text[i+1])
		case strings.IndexByte(" \t\n;{}!,+~$IM", ch) >= 0 || ch >= '0' && ch <= '9':
			i++
		default:
			return i
		}
	}
	return i
}

// sedDelimited returns the index behind the next delimiter that is not escaped, nor within brackets.
func sedDelimited(text string, i int, delimiter byte) int {
	for ; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case delimiter:
			return i + 1
		}
	}
	return len(text)
}

// sedSubstitute judges the flags of a substitution, and returns the index behind it.
func (c *call) sedSubstitute(text string, i int, command byte) int {
	if i >= len(text) {
		return i
	}
	delimiter := text[i]
	start := sedDelimited(text, i+1, delimiter)
	i = sedDelimited(text, start, delimiter)
	replacement := text[start:max(start, i-1)]
	for command == 's' && i < len(text) {
		switch ch := text[i]; {
		case ch == 'w':
			name, _, _ := strings.Cut(text[i+1:], "\n")
			c.sedFile('w', strings.TrimLeft(name, " \t"))
			return i + 1 + len(name)
		case ch == 'e': // the pattern space is run as a command
			c.shell = append(c.shell, Word{Text: sedText(replacement)})
		case strings.IndexByte("gpiImM", ch) < 0 && (ch < '0' || ch > '9'):
			return i
		}
		i++
	}
	return i
}

// sedText is a replacement as text: what it takes from the input is not known.
func sedText(replacement string) string {
	var b strings.Builder
	for i := 0; i < len(replacement); i++ {
		switch ch := replacement[i]; {
		case ch == '&':
			b.WriteByte(anyText)
		case ch == '\\' && i+1 < len(replacement):
			i++
			if next := replacement[i]; next >= '0' && next <= '9' {
				b.WriteByte(anyText)
			} else {
				b.WriteByte(next)
			}
		default:
			b.WriteByte(ch)
		}
	}
	return b.String()
}

// sedFile judges the file or command that a command of sed names.
func (c *call) sedFile(command byte, name string) {
	if name == "" && command != 'e' || name == "/dev/stdout" || name == "/dev/stderr" || name == "/dev/stdin" {
		return
	}
	switch command {
	case 'r', 'R':
		c.use('r', Word{Text: name})
	case 'w', 'W':
		c.use('w', Word{Text: name})
	case 'e':
		if name == "" {
			c.opaque = "sed runs each line that it reads as a command"
			return
		}
		c.use('s', Word{Text: name})
	}
}

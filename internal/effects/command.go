package effects

import "strings"

// Command is a program that would be run, with its words as the shell would give them to it: unquoted, expanded, and
// without the wrappers (sudo, env, xargs, …) that start it.
type Command struct {
	Words []Word // the program first

	// Code is text in a language that we do not read which the program is given to run: python -c, awk. It is judged only
	// by the whole words in it that a rule protects.
	Code string

	read *reading // how the words are read, once a pattern asked
	key  string   // Program, once somebody asked
}

// Word is one word of a command.
type Word struct {
	// Text is the word, its quotes removed. Parts that are not known are the bytes that also stand in paths for them.
	Text string

	// Splits says that the word is an unquoted expansion that may become no word or several, options among them.
	Splits bool
}

// Program returns the name by which patterns know the program: its base name in lower case, without .exe and its like.
func (c *Command) Program() string {
	if len(c.Words) == 0 {
		return ""
	}
	if c.key == "" {
		c.key = programKey(c.Words[0].Text)
	}
	return c.key
}

// Subcommand returns the program with its subcommand words: "git push", "docker compose up", "rm". Words that the tables
// of common programs do not know as subcommands are left out, since they may be secrets.
func (c *Command) Subcommand() string {
	program := c.Program()
	known, ok := programNamed(tableName(program))
	if !ok || known.sub == nil {
		return program
	}
	r := c.reading()
	for i := range r.tokens {
		if t := &r.tokens[i]; t.kind == subToken && t.names != passedOver {
			program += " " + t.names
		}
	}
	return program
}

// programKey is the name by which patterns know a program.
func programKey(word string) string {
	name := programOf(word)
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		switch name[i:] {
		case ".cmd", ".bat", ".com", ".ps1":
			name = name[:i]
		}
	}
	return name
}

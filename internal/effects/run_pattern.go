package effects

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// RunPattern is a pattern of a policy for commands (docs/reference/policy.md). Its first word is a program, compared by
// base name; then come words that the command must have. Options compare as sets, by all their names; what is no option
// compares in order. "*" within a word is any text; as the last word it is any further words.
type RunPattern struct {
	text    string
	words   []Word // without the last "*"
	program string // as in Command.Program, "" if it may be several
	name    string // as it was written, without a folder
	bare    bool   // the program alone: all its uses
	rest    bool   // a "*" stands at the end

	once sync.Once // for parts: most patterns are of other programs than those that are run
	part parts
}

// parts are what a command must have behind its program.
type parts struct {
	options  []option
	operands []string // subcommands by their usual names; globs
	subs     int      // how many of the words are subcommands
}

// option is an option that a command must have.
type option struct {
	names  string // as in the table
	value  string // a glob
	valued bool
	short  bool // one dash stands before it
	global bool // it stands before the subcommand
}

// ParseRun reads a pattern such as "git push --force *". An error is a phrase that says what is wrong.
func ParseRun(text string) (*RunPattern, error) {
	words, err := patternWords(text)
	if err != nil {
		return nil, err
	}
	p := &RunPattern{text: text, words: words}
	if err := p.setProgram(words[0].Text); err != nil {
		return nil, err
	}
	if n := len(p.words); n > 1 && p.words[n-1].Text == "*" {
		p.rest, p.words = true, p.words[:n-1]
	}
	if len(p.words) == 1 {
		p.bare, p.rest = !p.rest, true
	}
	return p, nil
}

// patternWords parts a pattern at its blanks; quotes hold words together.
func patternWords(text string) ([]Word, error) {
	if hasUnknown(text) {
		return nil, errors.New("the pattern is not valid UTF-8")
	}
	words := make([]Word, 0, 4)
	rest := strings.TrimLeft(text, patternBlanks)
	for rest != "" {
		word, length, err := firstPatternWord(rest)
		if err != nil {
			return nil, err
		}
		words = append(words, Word{Text: word})
		rest = strings.TrimLeft(rest[length:], patternBlanks)
	}
	if len(words) == 0 {
		return nil, errors.New("the pattern is empty: it begins with the name of a program")
	}
	return words, nil
}

const patternBlanks = " \t\n\r"

// firstPatternWord returns the word that a text begins with, without its quotes, and how many bytes it has there.
func firstPatternWord(text string) (word string, length int, err error) {
	var quote byte
	quoted := false
	end := len(text)
	for i := 0; i < len(text) && i < end; i++ {
		switch ch := text[i]; {
		case quote != 0:
			if ch == quote {
				quote = 0
			}
		case ch == '\'' || ch == '"':
			quote, quoted = ch, true
		case strings.IndexByte(patternBlanks, ch) >= 0:
			end = i
		case strings.IndexByte("|;&<>()`", ch) >= 0 || ch == '$' && strings.HasPrefix(text[i+1:], "("):
			return "", 0, fmt.Errorf("%q is shell syntax: a pattern is one command, and its parts are rules of their own",
				shellSign(text[i:]))
		}
	}
	switch {
	case quote != 0:
		return "", 0, fmt.Errorf("the quote %c is not closed", quote)
	case quoted:
		return unquoted(text[:end]), end, nil
	}
	return text[:end], end, nil
}

// unquoted returns a word without its quotes.
func unquoted(text string) string {
	var b strings.Builder
	var quote byte
	for i := range len(text) {
		switch ch := text[i]; {
		case ch == quote:
			quote = 0
		case quote == 0 && (ch == '\'' || ch == '"'):
			quote = ch
		default:
			b.WriteByte(ch)
		}
	}
	return b.String()
}

// shellSign is the sign at the beginning of a text, with the second one that belongs to it.
func shellSign(text string) string {
	for _, sign := range []string{"&&", "||", ">>", "<<", "$("} {
		if strings.HasPrefix(text, sign) {
			return sign
		}
	}
	return text[:1]
}

// setProgram sets the program that the first word names.
func (p *RunPattern) setProgram(word string) error {
	p.name = baseName(word)
	switch {
	case strings.HasPrefix(word, "-"):
		return fmt.Errorf("%q is an option: a pattern begins with the name of a program", word)
	case isAssignment(word):
		return fmt.Errorf("%q sets a variable: a pattern begins with the name of a program", word)
	case p.name == "":
		return fmt.Errorf("%q names no program", word)
	}
	if !strings.ContainsRune(p.name, '*') {
		p.program = programKey(p.name)
	}
	return nil
}

// baseName is the name of a program without its folder.
func baseName(word string) string { return word[strings.LastIndexAny(word, `/\`)+1:] }

// parts returns the parts of the pattern for a program.
func (p *RunPattern) parts(program string) *parts {
	if p.program == "" {
		one := p.read(program)
		return &one
	}
	p.once.Do(func() { p.part = p.read(p.program) })
	return &p.part
}

// read reads the words behind the program as those of a command are read.
func (p *RunPattern) read(program string) (q parts) {
	if len(p.words) == 1 {
		return q
	}
	name := tableName(program)
	known, _ := programNamed(name)
	r := read(known, p.words, nil)
	for _, t := range r.tokens {
		switch t.kind {
		case subToken:
			q.subs++
			if t.names != passedOver {
				q.operands = append(q.operands, t.names)
			}
		case operandToken:
			q.operands = append(q.operands, t.value.Text)
		case optionToken:
			q.addOption(name, &r, t)
		}
	}
	// Of "curl -o *" the star is any value and any further words.
	if n := len(r.tokens); p.rest && n > 0 && r.tokens[n-1].kind == optionToken && !r.tokens[n-1].valued {
		q.options[len(q.options)-1].value = "*"
	}
	return q
}

// addOption adds an option, or those that it stands for.
func (q *parts) addOption(program string, r *reading, t token) {
	// git branch -D is --delete --force.
	if more := impliedBy(program, r.sub(), t); len(more) > 1 && t.names != "mirror" {
		for _, names := range more {
			q.options = append(q.options, option{names: names})
		}
		return
	}
	o := option{names: t.names, value: t.value.Text, valued: t.valued, short: t.short, global: t.global && q.subs == 0}
	q.options = append(q.options, o)
}

// Program returns what Command.Program must be for the pattern to match, or "" where it may be several. A command with
// Code is matched whatever its program is.
func (p *RunPattern) Program() string { return p.program }

// String returns the pattern as it was written.
func (p *RunPattern) String() string { return p.text }

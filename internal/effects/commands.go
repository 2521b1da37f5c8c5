// Package effects says what a tool call would do, from its input alone: nothing is run, and the disk is looked at only to
// find what a path really leads to.
//
// [Of] judges a call of any host's tools, and [Shell] a text for a shell. The text is read as bash does it, with the
// parser of mvdan.cc/sh, and then followed as a shell would follow it: words are expanded as far as they are known,
// variables hold the values that the text gives them, cd moves what comes behind it, and code that is handed to a
// shell is read in its turn. What cannot be known is said to be so. Whether all of that may happen is for others to
// say, by the patterns of this package.
//
// [Commands] is the smaller question: which command words stand in a text.
package effects

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// MaxText is the length in bytes up to which a shell text is read. A shell cannot be started with a longer one as an
	// argument (Linux takes 128 KiB, Windows 32), and the parser's tree may be some hundred times as large as its text.
	MaxText = 256 << 10

	// maxCode is how deep code may lie within code, as in bash -c "bash -c '…'".
	maxCode = 8
)

// ErrTooLong says that a text goes on beyond MaxText.
var ErrTooLong = errors.New("the shell text is too long")

// Commands returns the command words of a shell text in their order, each without its quotes. A command word that only
// the running shell knows, such as $EDITOR, is left out; so is one that only a program in between knows.
//
// An error says that the text could not be read to its end; the words are then those before the place. It is a
// *syntax.ParseError or syntax.LangError where the text is no shell text, ErrTooLong, ErrTooDeep, or one of another
// kind for a fault of the parser.
func Commands(text string) ([]string, error) {
	c := collector{unread: []source{{text: text}}}
	var err error
	for len(c.unread) > 0 { // one after the other: code is not read on top of the stack of what it stands in
		next := c.unread[0]
		c.unread = c.unread[1:]
		if readErr := c.read(next); err == nil {
			err = readErr
		}
	}
	slices.SortStableFunc(c.found, func(a, b command) int { return slices.Compare(a.place, b.place) })
	words := make([]string, len(c.found))
	for i, found := range c.found {
		words[i] = found.word
	}
	return words, err
}

// command is a command word and its place: the offset in the text where it stands, after the places of the code that
// this text is.
type command struct {
	word  string
	place []uint
}

// source is a text to be read: the outermost one, which has no place, or code that was found in another.
type source struct {
	text  string
	place []uint
}

// collector collects the command words of a text, and the code in it that is still to be read.
type collector struct {
	found  []command
	unread []source
}

// read collects from one text.
func (c *collector) read(s source) (err error) {
	if len(s.place) > maxCode {
		return ErrTooDeep
	}
	file, err := parse(s.text)
	defer func() { // the tree of a text that does not parse may be unfinished
		if p := recover(); p != nil && err == nil {
			err = fmt.Errorf("%w: %v", errUnfinished, p)
		}
	}()
	visit(file, func(node syntax.Node) {
		stmt, ok := node.(*syntax.Stmt)
		if !ok {
			return
		}
		if call, ok := stmt.Cmd.(*syntax.CallExpr); ok {
			c.call(call.Args, stmt.Redirs, s.place)
		}
	})
	return err
}

// call collects the command word of a simple command, and what that command starts in its turn.
func (c *collector) call(args []*syntax.Word, redirs []*syntax.Redirect, outer []uint) {
	for len(args) > 0 {
		word, constant := literal(args[0])
		if !constant {
			return
		}
		c.found = append(c.found, command{word, placeIn(outer, args[0])})
		program := programOf(word)
		if code := codeOf(program, args[1:], redirs); len(code) > 0 {
			c.unread = append(c.unread, source{join(code), placeIn(outer, code[0])})
			return
		}
		if program == "find" {
			c.find(args[1:], outer)
			return
		}
		args = wrapped(program, args[1:])
	}
}

// find collects what find -exec and its like start.
func (c *collector) find(args []*syntax.Word, outer []uint) {
	for i, arg := range args {
		switch word, _ := literal(arg); word {
		case "-exec", "-execdir", "-ok", "-okdir":
			c.call(args[i+1:min(i+2, len(args))], nil, outer)
		}
	}
}

func placeIn(outer []uint, word *syntax.Word) []uint {
	return append(slices.Clip(outer), word.Pos().Offset())
}

// join makes one text of the words that are code.
func join(words []*syntax.Word) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i], _ = literal(word)
	}
	return strings.Join(texts, " ")
}

// programOf returns the name by which we know a program: its base name, in lower case, without .exe.
func programOf(word string) string {
	word = word[strings.LastIndexAny(word, `/\`)+1:]
	return strings.TrimSuffix(strings.ToLower(word), ".exe")
}

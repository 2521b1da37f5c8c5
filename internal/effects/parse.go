package effects

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ErrTooDeep says that a text is nested deeper than any that a person would write.
var ErrTooDeep = errors.New("the shell text is nested too deep")

// errUnfinished says that the parser left a tree unfinished.
var errUnfinished = errors.New("the shell text could not be read")

const (
	// maxFrames is how many stack frames the parser may use. It recurses without a limit of its own, some thirty frames
	// for a parenthesis, and a stack overflow cannot be recovered from in Go.
	maxFrames = 10_000

	// maxCuts is how often a text is read again up to where it went wrong.
	maxCuts = 8

	// maxRecovered is more than can be open at once before the stack is too deep.
	maxRecovered = maxFrames
)

// parse reads a text. With an error comes the tree of what stands before the place where the text goes wrong.
func parse(text string) (*syntax.File, error) {
	var tooLong error
	if len(text) > MaxText {
		text, tooLong = text[:MaxText], ErrTooLong
	}
	file, err := parseOnce(text)
	if err == nil {
		return file, tooLong
	}
	if strings.Contains(text, "((") {
		// Where $((…)) is no arithmetic, bash takes it for a subshell in a substitution.
		if file, err := parseOnce(strings.ReplaceAll(text, "((", "( (")); err == nil {
			return file, tooLong
		}
	}
	file = parseBefore(text, err)
	if tooLong != nil {
		err = tooLong
	}
	return file, err
}

// parseBefore reads what stands before an error: what is only not closed is closed at the end, and otherwise the text
// is cut off where it goes wrong.
func parseBefore(text string, err error) *syntax.File {
	if errors.Is(err, ErrTooDeep) {
		text = text[:placeOf(err, text)]
	}
	file := &syntax.File{}
	for range maxCuts {
		if file, err = parseOnce(text); err == nil {
			break
		}
		if syntax.IsIncomplete(err) { // something is not closed; a text that goes on after an error is not recovered
			var recoverErr error
			if file, recoverErr = parseOnce(text, syntax.RecoverErrors(maxRecovered)); recoverErr == nil {
				break
			}
		}
		text = cut(text, placeOf(err, text))
	}
	return file
}

// cut cuts a text off where it goes wrong. Of a word that stands there, as in "del (", it is what follows that is wrong,
// unless nothing follows.
func cut(text string, place int) string {
	word := strings.IndexAny(text[place:], " \t\n;&|<>()$`'\"\\")
	if word > 0 {
		place += word
	}
	return text[:place]
}

// parseOnce reads a text with the parser. It never returns nil.
func parseOnce(text string, options ...syntax.ParserOption) (file *syntax.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = &syntax.File{}, fmt.Errorf("%w: %v", errUnfinished, p)
		}
	}()
	r := &stackGuard{text: text}
	file, err = syntax.NewParser(options...).Parse(r, "")
	if r.deep {
		err = &deepError{place: r.read}
	}
	return file, err
}

// parseDocument reads a text as the inside of a here-document. It never returns nil.
func parseDocument(text string) (word *syntax.Word, err error) {
	defer func() {
		if p := recover(); p != nil {
			word, err = &syntax.Word{}, fmt.Errorf("%w: %v", errUnfinished, p)
		}
	}()
	r := &stackGuard{text: text[:min(len(text), MaxText)]}
	word, err = syntax.NewParser().Document(r)
	switch {
	case r.deep:
		err = ErrTooDeep
	case len(text) > MaxText:
		err = ErrTooLong
	}
	if word == nil {
		word = &syntax.Word{}
	}
	return word, err
}

// placeOf returns the offset of an error in a text, or else its end.
func placeOf(err error, text string) int {
	end := len(text)
	var (
		parse syntax.ParseError
		lang  syntax.LangError
		deep  *deepError
	)
	switch {
	case errors.As(err, &parse):
		end = min(end, int(parse.Pos.Offset()))
	case errors.As(err, &lang):
		end = min(end, int(lang.Pos.Offset()))
	case errors.As(err, &deep):
		end = min(end, deep.place)
	}
	return end
}

// stackGuard gives a text to the parser bit by bit, and ends it where the parser's stack has grown too deep. It is the
// parser that reads, so that its stack is our own.
type stackGuard struct {
	text string
	read int
	deep bool
}

func (g *stackGuard) Read(buf []byte) (int, error) {
	if g.read == len(g.text) {
		return 0, io.EOF
	}
	var frame [1]uintptr
	if g.deep = g.deep || runtime.Callers(maxFrames, frame[:]) > 0; g.deep {
		return 0, io.EOF
	}
	n := copy(buf, g.text[g.read:])
	g.read += n
	return n, nil
}

// deepError is ErrTooDeep with the place up to which the text was read.
type deepError struct{ place int }

func (e *deepError) Error() string { return ErrTooDeep.Error() }

func (e *deepError) Is(target error) bool { return target == ErrTooDeep }

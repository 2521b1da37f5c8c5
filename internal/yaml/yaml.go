// Package yaml reads YAML as the JSON that it stands for, with a way back from the JSON to places in the YAML.
//
// It takes the part of YAML 1.2 that people write in configuration files and that can be read in one way only: mappings
// with plain or quoted words as keys, lists, scalars. Anchors, aliases, tags, merge keys, directives, several documents
// and the same key twice are errors. The words on, off, yes and no are words, not truth values; a number is one only as
// JSON writes it. Parse is the whole of it; what the JSON means is for others to say.
package yaml

import (
	"bytes"
	"fmt"
	"sort"
	"unicode/utf8"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits, since the parser beneath takes time that grows with the square of some texts.
const (
	maxText   = 256 << 10 // bytes
	maxTokens = 20_000    // words and marks
	maxDepth  = 32        // mappings and lists within each other
)

// Document is a text that was read.
type Document struct {
	// JSON is the text as one JSON value without white space.
	JSON []byte

	places []place // in the order of their offsets
}

// place is where in the YAML stands what begins at an offset of the JSON.
type place struct{ offset, line, column int }

// Place returns the line and the column in the YAML, both from 1 and the column in code points, of what stands at an
// offset of the JSON.
func (d Document) Place(offset int) (line, column int) {
	i := sort.Search(len(d.places), func(i int) bool { return d.places[i].offset > offset })
	if i == 0 {
		return 1, 1
	}
	return d.places[i-1].line, d.places[i-1].column
}

// Error is a text that cannot be read.
type Error struct {
	Line   int    // from 1
	Column int    // from 1, in code points
	Msg    string // what is wrong
	Hint   string // what to try; may be empty
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Msg) }

// Parse reads a text, which must be one YAML value. It keeps no reference to text. An error is an *Error.
func Parse(text []byte) (d Document, err error) {
	defer func() {
		if recover() != nil { // the parser beneath is not ours
			d, err = Document{}, &Error{Line: 1, Column: 1, Msg: "this YAML cannot be read", Hint: plainer}
		}
	}()
	if err := checkText(text); err != nil {
		return Document{}, err
	}
	tokens := lexer.Tokenize(string(text))
	body, err := checkTokens(tokens)
	if err != nil {
		return Document{}, err
	}
	file, parseErr := parser.Parse(body, 0, parser.AllowDuplicateMapKey())
	if parseErr != nil {
		return Document{}, syntaxError(parseErr)
	}
	c := converter{seen: make(map[position]bool, len(body))}
	for _, doc := range file.Docs {
		if doc.Body != nil && c.json == nil {
			if err := c.value(doc.Body, 0); err != nil {
				return Document{}, err
			}
		}
	}
	if c.json == nil {
		c.json = []byte("null")
	}
	if err := c.checkWhole(body); err != nil {
		return Document{}, err
	}
	return Document{JSON: c.json, places: c.places}, nil
}

const plainer = "write it more plainly, or in JSON"

// checkText refuses what no YAML may hold, and what editors and readers disagree about.
func checkText(text []byte) error {
	if len(text) > maxText {
		return &Error{Line: 1, Column: 1, Msg: fmt.Sprintf("the text is longer than %d KiB", maxText>>10)}
	}
	line, lineStart := 1, 0
	blame := func(i int, msg, hint string) error {
		return &Error{Line: line, Column: utf8.RuneCount(text[lineStart:i]) + 1, Msg: msg, Hint: hint}
	}
	for i := 0; i < len(text); {
		c, size := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRune(text[i:])
		}
		switch {
		case c == '\n':
			line, lineStart = line+1, i+1
		case c == utf8.RuneError && size == 1:
			return blame(i, "invalid UTF-8", "save it as UTF-8")
		case c == '\r' && bytes.HasPrefix(text[i+1:], []byte("\n")):
		case c == '\t' && onlySpace(text[lineStart:i]):
			return blame(i, "a tab in the indentation", "indent with spaces")
		case c < ' ' && c != '\t', c >= 0x7F && c <= 0x9F, c == '\u2028', c == '\u2029', c == '\uFEFF':
			return blame(i, fmt.Sprintf("the invisible character %U", c), `write it as an escape in double quotes`)
		}
		i += size
	}
	return nil
}

func onlySpace(text []byte) bool { return len(bytes.TrimLeft(text, " ")) == 0 }

// checkTokens refuses what this package does not read. It returns the tokens without a document marker before them.
func checkTokens(tokens token.Tokens) (token.Tokens, error) {
	if len(tokens) > maxTokens {
		return nil, &Error{Line: 1, Column: 1, Msg: fmt.Sprintf("the text has more than %d words and marks", maxTokens)}
	}
	body, begun := make(token.Tokens, 0, len(tokens)), false
	for _, t := range tokens {
		if t.Type == token.DocumentHeaderType && !begun {
			begun = true
			continue
		}
		if t.Type == token.CommentType {
			continue
		}
		begun = true
		if msg, hint := refused(t); msg != "" {
			return nil, errorAt(t, msg, hint)
		}
		body = append(body, t)
	}
	for i, t := range body { // as if what was left out had never been there
		t.Prev, t.Next = nil, nil
		if i > 0 {
			t.Prev, body[i-1].Next = body[i-1], t
		}
	}
	return body, nil
}

// refused says why a token is not taken, or "".
func refused(t *token.Token) (msg, hint string) {
	const repeat = "write the value itself in each place"
	switch t.Type {
	case token.AnchorType:
		return "an anchor (&) is not read here", repeat
	case token.AliasType:
		return "an alias (*) is not read here", repeat + `; a word that begins with "*" needs quotes`
	case token.MergeKeyType:
		return "a merge key (<<) is not read here", repeat
	case token.TagType:
		return "a tag (!) is not read here", `a word that begins with "!" needs quotes`
	case token.DirectiveType:
		return "a directive (%) is not read here", `remove it; a word that begins with "%" needs quotes`
	case token.DocumentHeaderType, token.DocumentEndType:
		return "a second document is not read here", "keep one document in a file"
	case token.MappingKeyType:
		return "a key with a question mark (?) is not read here", `write "key: value"; a word that begins with "?" needs quotes`
	case token.InvalidType:
		if t.Error != "" {
			return "not YAML: " + t.Error, ""
		}
		return "not YAML", plainer
	}
	return "", ""
}

func errorAt(t *token.Token, msg, hint string) error {
	p := positionOf(t)
	return &Error{Line: p.line, Column: p.column, Msg: msg, Hint: hint}
}

package yaml

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// position is where a token stands.
type position struct{ line, column int }

func positionOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{1, 1}
	}
	return position{max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

// syntaxError gives the parser's error its place.
func syntaxError(err error) error {
	var e interface {
		error
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &e) && e.GetToken() != nil {
		return errorAt(e.GetToken(), "not YAML: "+e.GetMessage(), "")
	}
	return &Error{Line: 1, Column: 1, Msg: "this is not YAML", Hint: plainer}
}

// converter writes nodes as JSON.
type converter struct {
	json   []byte
	places []place
	seen   map[position]bool // the scalars that were written
}

// mark notes where what is written next stands.
func (c *converter) mark(t *token.Token) {
	p := positionOf(t)
	c.places = append(c.places, place{offset: len(c.json), line: p.line, column: p.column})
}

// value writes a node that is within depth others.
func (c *converter) value(node ast.Node, depth int) error {
	if depth > maxDepth {
		return errorAt(node.GetToken(), fmt.Sprintf("nesting deeper than %d", maxDepth), "")
	}
	switch n := node.(type) {
	case *ast.MappingNode:
		return c.mapping(n.Start, n.IsFlowStyle, n.Values, depth)
	case *ast.MappingValueNode:
		return c.mapping(nil, false, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		return c.sequence(n, depth)
	case *ast.LiteralNode:
		c.mark(n.Start)
		c.see(n.Start)
		c.see(n.Value.Token)
		return c.string(n.Start, n.Value.Value)
	case *ast.StringNode:
		c.mark(n.Token)
		c.see(n.Token)
		return c.scalar(n.Token, n.Value)
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		t := node.GetToken()
		c.mark(t)
		c.see(t)
		return c.scalar(t, t.Value)
	default:
		return errorAt(node.GetToken(), "this is not read here", plainer)
	}
}

func (c *converter) see(t *token.Token) { c.seen[positionOf(t)] = true }

func (c *converter) mapping(start *token.Token, flow bool, members []*ast.MappingValueNode, depth int) error {
	if !flow && len(members) > 0 {
		start = members[0].Key.GetToken()
	}
	c.mark(start)
	c.json = append(c.json, '{')
	keys := make(map[string]bool, len(members))
	for i, m := range members {
		if i > 0 {
			c.json = append(c.json, ',')
		}
		key, ok := m.Key.(*ast.StringNode)
		t := m.Key.GetToken()
		if !ok {
			return errorAt(t, fmt.Sprintf("the key %s is not a word", quote(t.Value)), "put it in quotes")
		}
		if keys[key.Value] {
			return errorAt(t, fmt.Sprintf("duplicate key %s", quote(key.Value)), "remove one")
		}
		keys[key.Value] = true
		c.mark(t)
		c.see(t)
		if err := c.string(t, key.Value); err != nil {
			return err
		}
		c.json = append(c.json, ':')
		if err := c.value(m.Value, depth+1); err != nil {
			return err
		}
	}
	c.json = append(c.json, '}')
	return nil
}

func (c *converter) sequence(n *ast.SequenceNode, depth int) error {
	c.mark(n.Start)
	c.json = append(c.json, '[')
	for i, v := range n.Values {
		if i > 0 {
			c.json = append(c.json, ',')
		}
		if err := c.value(v, depth+1); err != nil {
			return err
		}
	}
	c.json = append(c.json, ']')
	return nil
}

// scalar writes a word: what is quoted is a string; what is plain is null, a truth value or a number where YAML 1.2 says
// so and JSON can say it, and a string else. What readers of YAML disagree about is an error.
func (c *converter) scalar(t *token.Token, text string) error {
	if t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType {
		return c.string(t, text)
	}
	switch text {
	case "", "~", "null", "Null", "NULL":
		c.json = append(c.json, "null"...)
		return nil
	case "true", "True", "TRUE":
		c.json = append(c.json, "true"...)
		return nil
	case "false", "False", "FALSE":
		c.json = append(c.json, "false"...)
		return nil
	}
	if isNumber(text) {
		c.json = append(c.json, text...)
		return nil
	}
	if looksLikeNumber(t, text) {
		return errorAt(t, fmt.Sprintf("the number %s can be read in several ways", quote(text)),
			"write it with decimal digits as in JSON, or in quotes if it is a word")
	}
	return c.string(t, text)
}

// looksLikeNumber reports whether some reader of YAML takes a word for a number.
func looksLikeNumber(t *token.Token, text string) bool {
	switch t.Type {
	case token.IntegerType, token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType, token.FloatType,
		token.InfinityType, token.NanType:
		return true
	}
	digits := strings.TrimLeft(text, "+-.")
	return len(text)-len(digits) <= 2 && digits != "" && digits[0] >= '0' && digits[0] <= '9' &&
		strings.Trim(digits, "0123456789_.") == ""
}

// isNumber reports whether text is a number of JSON.
func isNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	whole := digits(text)
	if whole == 0 || text[0] == '0' && whole > 1 {
		return false
	}
	text = text[whole:]
	if strings.HasPrefix(text, ".") {
		fraction := digits(text[1:])
		if fraction == 0 {
			return false
		}
		text = text[1+fraction:]
	}
	if text == "" {
		return true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return false
	}
	if text = text[1:]; text != "" && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	return text != "" && digits(text) == len(text)
}

// digits returns how many digits text begins with.
func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// string writes a string.
func (c *converter) string(t *token.Token, text string) error {
	if !utf8.ValidString(text) {
		return errorAt(t, "an escape in this string is half of a character", "write the character itself")
	}
	c.json = append(c.json, '"')
	for i := range len(text) {
		switch b := text[i]; {
		case b == '"' || b == '\\':
			c.json = append(c.json, '\\', b)
		case b == '\n':
			c.json = append(c.json, `\n`...)
		case b < ' ':
			c.json = fmt.Appendf(c.json, `\u%04x`, b)
		default:
			c.json = append(c.json, b)
		}
	}
	c.json = append(c.json, '"')
	return nil
}

// checkWhole refuses a text of which the parser left a word out, and says where that stands: what a person can read
// there would not count.
func (c *converter) checkWhole(tokens token.Tokens) error {
	for i, t := range tokens {
		switch t.Type {
		case token.StringType, token.SingleQuoteType, token.DoubleQuoteType, token.IntegerType, token.BinaryIntegerType,
			token.OctetIntegerType, token.HexIntegerType, token.FloatType, token.InfinityType, token.NanType,
			token.BoolType, token.NullType:
		default:
			continue
		}
		if i > 0 && (tokens[i-1].Type == token.LiteralType || tokens[i-1].Type == token.FoldedType) {
			t = tokens[i-1] // the text of a block stands for its mark
		}
		if !c.seen[positionOf(t)] {
			return errorAt(t, "this part does not belong to what stands before it", "look at the indentation; or put it in quotes")
		}
	}
	return nil
}

func quote(text string) string { return fmt.Sprintf("%.60q", text) }

package install

import (
	"bytes"
	"strings"

	"sallyport/internal/canon"
)

// node is a piece of JSON that we write: a scalar, an object or an array. The zero node is not one.
type node struct {
	key    string // of a member
	scalar string // JSON text
	isList bool
	inner  []node
	frame  bool // of what Remove takes away with its last item: white space stands behind the opening bracket
}

func text(key, value string) node {
	return node{key: key, scalar: string(canon.AppendString(nil, value))}
}

func literal(key, json string) node { return node{key: key, scalar: json} }

func object(key string, members ...node) node { return node{key: key, inner: members} }

func list(key string, elements ...node) node { return node{key: key, isList: true, inner: elements} }

// framed marks a container that Remove shall take away when it is empty.
func framed(n node) node {
	n.frame = true
	return n
}

// style is how a file is laid out.
type style struct {
	newline string
	unit    string // one level of indentation
	colon   string
	comma   string // between two values on one line
	oneLine bool   // the file is a single line
}

var plain = style{newline: "\n", unit: "  ", colon: ": ", comma: ", "}

// style looks at a file's first line break and first members.
func (d *document) style() style {
	s := plain
	if i := bytes.IndexByte(d.text, '\n'); i > 0 && d.text[i-1] == '\r' {
		s.newline = "\r\n"
	}
	items := d.items(d.root)
	if len(items) == 0 {
		return s
	}
	s.oneLine = bytes.IndexByte(d.root.Bytes(), '\n') < 0
	before := d.spaceBefore(items[0].start)
	if i := strings.LastIndexByte(before, '\n'); i >= 0 && before[i+1:] != "" {
		s.unit = before[i+1:]
	}
	if d.text[items[0].value.OffsetIn(d.text)-1] == ':' {
		s.colon, s.comma = ":", ","
	}
	return s
}

// lineIndent returns the white space at the beginning of the line of an offset.
func (d *document) lineIndent(offset int) string {
	start := bytes.LastIndexByte(d.text[:offset], '\n') + 1
	end := start
	for end < offset && (d.text[end] == ' ' || d.text[end] == '\t') {
		end++
	}
	return string(d.text[start:end])
}

// onOneLine spells a node without line breaks.
func (s style) onOneLine(n node) string {
	if n.scalar != "" {
		return s.key(n) + n.scalar
	}
	parts := make([]string, 0, len(n.inner))
	for _, child := range n.inner {
		parts = append(parts, s.onOneLine(child))
	}
	space := ""
	if n.frame {
		space = " "
	}
	return s.key(n) + n.open() + space + strings.Join(parts, s.comma) + space + n.close()
}

// onLines spells a node over several lines; the first one continues a line that is indented by indent.
func (s style) onLines(n node, indent string) string {
	flat := true
	for _, child := range n.inner {
		flat = flat && child.scalar != ""
	}
	if n.scalar != "" || n.isList && flat && !n.frame {
		return s.onOneLine(n)
	}
	var b strings.Builder
	b.WriteString(s.key(n) + n.open())
	for i, child := range n.inner {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(s.newline + indent + s.unit + s.onLines(child, indent+s.unit))
	}
	b.WriteString(s.newline + indent + n.close())
	return b.String()
}

func (s style) key(n node) string {
	if n.key == "" {
		return ""
	}
	return string(canon.AppendString(nil, n.key)) + s.colon
}

func (n node) open() string {
	if n.isList {
		return "["
	}
	return "{"
}

func (n node) close() string {
	if n.isList {
		return "]"
	}
	return "}"
}

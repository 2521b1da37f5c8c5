package install

import (
	"strings"

	"sallyport/internal/canon"
)

// An empty object or array that we find is filled without white space behind its opening bracket; one that we make has
// white space there. So cut can tell whether a container that gets empty was there before us.

// insert puts nodes behind what is in a container.
func (d *document) insert(container canon.Value, nodes ...node) (*document, error) {
	s, items := d.style(), d.items(container)
	at := container.OffsetIn(d.text) + 1
	separator, oneLine, indent := "", s.oneLine, d.lineIndent(at)+s.unit
	if len(items) > 0 {
		last := items[len(items)-1]
		at = last.end
		before := d.spaceBefore(last.start)
		if i := strings.LastIndexByte(before, '\n'); i >= 0 {
			oneLine, indent = false, before[i+1:]
			separator = "," + s.newline + indent
		} else {
			oneLine, separator = true, s.comma
		}
	}
	var b strings.Builder
	for i, n := range nodes {
		switch {
		case i == 0:
			b.WriteString(separator)
		case oneLine:
			b.WriteString(s.comma)
		default:
			b.WriteString("," + s.newline + indent)
		}
		if oneLine {
			b.WriteString(s.onOneLine(n))
		} else {
			b.WriteString(s.onLines(n, indent))
		}
	}
	return d.splice(at, at, b.String())
}

// replace puts a node in the place of a value.
func (d *document) replace(v canon.Value, n node) (*document, error) {
	s, start := d.style(), v.OffsetIn(d.text)
	with := ""
	if strings.IndexByte(string(v.Bytes()), '\n') < 0 && (s.oneLine || !strings.Contains(d.spaceBefore(start), "\n")) {
		with = s.onOneLine(n)
	} else {
		with = s.onLines(n, d.lineIndent(start))
	}
	return d.splice(start, start+len(v.Bytes()), with)
}

// step is a container and which of its items is meant.
type step struct {
	container canon.Value
	index     int
}

// cut takes the last step's item out, with every container on the way to it that we made and that gets empty. trailing is
// the key of a member of the outermost container that goes where the item before it goes, or "". It returns nil where the
// outermost container goes too.
func (d *document) cut(path []step, trailing string) (*document, error) {
	for depth := len(path) - 1; depth >= 0; depth-- {
		container, i := path[depth].container, path[depth].index
		items := d.items(container)
		first, last := i, i
		if depth == 0 && trailing != "" && i+2 == len(items) && items[i+1].key == trailing {
			last++
		}
		switch {
		case first > 0:
			return d.splice(items[first-1].end, items[last].end, "")
		case last+1 < len(items):
			return d.splice(items[first].start, items[last+1].start, "")
		}
		open := container.OffsetIn(d.text) + 1
		if items[first].start == open {
			return d.splice(open, items[last].end, "")
		}
	}
	return nil, nil
}

package pin

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"sallyport/internal/canon"
)

// Text is the lock as its file has it: sorted, a member a line, so that a change of it can be reviewed.
func (l *Lock) Text() []byte {
	out := []byte("{\n  \"version\": 1,\n  \"servers\": {")
	for i, server := range l.Servers() {
		out = key(separate(out, i, 2), server)
		out = append(out, '{')
		for j, kind := range []Kind{Tool, Prompt} {
			out = key(separate(out, j, 3), string(kind)+"s")
			out = l.servers[server].appendText(out, kind)
		}
		out = append(out, "\n    }"...)
	}
	if len(l.servers) > 0 {
		out = append(out, "\n  "...)
	}
	return append(out, "}\n}\n"...)
}

func (p pins) appendText(out []byte, kind Kind) []byte {
	out = append(out, '{')
	n := 0
	for _, it := range p.sorted() {
		if it.kind != kind {
			continue
		}
		out = key(separate(out, n, 4), it.name)
		n++
		out = append(out, '{')
		out = key(separate(out, 0, 5), "sha256")
		out = canon.AppendString(out, strings.TrimPrefix(p[it].digest, "sha256:"))
		out = key(separate(out, 1, 5), "definition")
		out = indent(out, p[it].value, 5)
		out = append(out, "\n        }"...)
	}
	if n > 0 {
		out = append(out, "\n      "...)
	}
	return append(out, '}')
}

// sorted returns what is pinned by kind, then by name.
func (p pins) sorted() []item {
	return slices.SortedFunc(maps.Keys(p), func(a, b item) int {
		return cmp.Or(-cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
}

func separate(out []byte, i, depth int) []byte {
	if i > 0 {
		out = append(out, ',')
	}
	return append(append(out, '\n'), bytes.Repeat([]byte("  "), depth)...)
}

func key(out []byte, name string) []byte { return append(canon.AppendString(out, name), ": "...) }

// indent appends a canonical value, a member or an element a line.
func indent(out []byte, v canon.Value, depth int) []byte {
	n := 0
	switch v.Kind() {
	case canon.Object:
		out = append(out, '{')
		for name, member := range v.Members() {
			out = indent(key(separate(out, n, depth+1), name), member, depth+1)
			n++
		}
	case canon.Array:
		out = append(out, '[')
		for element := range v.Elements() {
			out = indent(separate(out, n, depth+1), element, depth+1)
			n++
		}
	default:
		return append(out, v.Bytes()...)
	}
	if n > 0 {
		out = append(append(out, '\n'), bytes.Repeat([]byte("  "), depth)...)
	}
	if v.Kind() == canon.Object {
		return append(out, '}')
	}
	return append(out, ']')
}

// Change is how one tool or prompt differs between two locks.
type Change struct {
	Server   string
	Kind     Kind
	Name     string
	Old, New []byte   // as people may read them, safe for a terminal; nil where it is not there
	Members  []string // of a changed definition: which of its members changed, were added or removed
}

// Compare says how the lock differs from an older one, in the order of the file.
func (l *Lock) Compare(old *Lock) []Change {
	var all []Change
	servers := map[string]bool{}
	for _, lock := range []*Lock{old, l} {
		for name := range lock.servers {
			servers[name] = true
		}
	}
	for _, server := range slices.Sorted(maps.Keys(servers)) {
		before, after := old.servers[server], l.servers[server]
		both := maps.Clone(before)
		if both == nil {
			both = pins{}
		}
		maps.Copy(both, after)
		for _, it := range both.sorted() {
			was, now := before[it], after[it]
			if was.digest == now.digest {
				continue
			}
			all = append(all, Change{server, it.kind, it.name, was.display(), now.display(), members(was.value, now.value)})
		}
	}
	return all
}

// members returns the keys whose values differ.
func members(was, now canon.Value) []string {
	if was.Kind() != canon.Object || now.Kind() != canon.Object {
		return nil
	}
	var all []string
	for name, v := range now.Members() {
		if !bytes.Equal(spelling(was.Get(name)), spelling(v)) {
			all = append(all, name)
		}
	}
	for name := range was.Members() {
		if !now.Get(name).Exists() {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// spelling is a value as it is compared: those that a file has are indented.
func spelling(v canon.Value) []byte {
	canonical, err := v.AppendCanonical(nil)
	if err != nil {
		return v.Bytes()
	}
	return canonical
}

// display is a definition for people: long texts by their own lines, and no character that is not seen.
func (p pinned) display() []byte {
	if p.digest == "" {
		return nil
	}
	v := p.value
	if text, ok := v.Text(); ok { // its bytes
		return []byte(Visible(text) + "\n")
	}
	if canonical, err := v.AppendCanonical(nil); err == nil {
		v = mustParse(canonical)
	}
	var out strings.Builder
	for line := range strings.Lines(string(indent(nil, v, 0))) {
		margin := len(line) - len(strings.TrimLeft(line, " "))
		parts := breakAfterNewlines(strings.TrimSuffix(line, "\n"))
		for i, part := range parts {
			if i > 0 {
				out.WriteString(strings.Repeat(" ", margin+2))
			}
			out.WriteString(Visible(part))
			out.WriteByte('\n')
		}
	}
	return []byte(out.String())
}

// breakAfterNewlines cuts a line of JSON behind each \n that is written in its strings.
func breakAfterNewlines(line string) []string {
	var parts []string
	start := 0
	for i := 0; i+1 < len(line); i++ {
		if line[i] != '\\' {
			continue
		}
		i++ // the escaped character is none that begins an escape
		if line[i] == 'n' && i+2 < len(line) {
			parts = append(parts, line[start:i+1])
			start = i + 1
		}
	}
	return append(parts, line[start:])
}

// Visible returns a text in which each character is seen: what a terminal would act on, what has no width and what turns
// the direction of writing is spelt \u{XXXX}.
func Visible(text string) string {
	seen := func(r rune) bool {
		return unicode.IsPrint(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && !unicode.Is(unicode.Variation_Selector, r)
	}
	if strings.IndexFunc(text, func(r rune) bool { return !seen(r) }) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if seen(r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, `\u{%04X}`, r)
		}
	}
	return out.String()
}

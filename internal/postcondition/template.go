package postcondition

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/cond"
)

// Template is JSON with ${NAME.MEMBER…} in its strings. A string that is nothing but one such reference becomes the value
// itself, of whatever kind; within other text it must be a string, a number or a boolean, of which a number is written as it
// was read. A member is named as it is, an element of an array by its place from 0. "$${" is a literal "${". Keys have no
// references. It is immutable and safe for concurrent use.
type Template struct {
	canonical []byte  // as it was written
	pieces    []piece // what it expands to, in order
	names     []string
}

// maxExpanded is how long an expanded template may be, in bytes: as long as a message, as a client may send it.
const maxExpanded = 16 << 20

// piece is a part of a template: JSON as it stands, a value in place of a string, or a string with values in it.
type piece struct {
	text   []byte
	ref    *reference
	string []fragment
}

// fragment is a part of a string: text, or a value within it.
type fragment struct {
	text string
	ref  *reference
}

// reference is a name and the members that follow it.
type reference struct {
	name    string
	members []string
}

func (r *reference) String() string {
	return "${" + strings.Join(append([]string{r.name}, r.members...), ".") + "}"
}

// ParseTemplate reads a template that may refer to the names given. An error is a *Fault.
func ParseTemplate(v canon.Value, names []string) (*Template, error) {
	canonical, err := v.AppendCanonical(nil)
	if err != nil {
		return nil, &Fault{At: v, Msg: fmt.Sprintf("the template cannot be read: %v", err)}
	}
	p := templateParser{known: names, template: &Template{canonical: canonical}}
	p.value(v)
	if p.fault != nil {
		return nil, p.fault
	}
	slices.Sort(p.template.names)
	p.template.names = slices.Compact(p.template.names)
	return p.template, nil
}

// templateParser takes a template apart. The first fault counts.
type templateParser struct {
	known    []string
	template *Template
	fault    *Fault
}

func (p *templateParser) fail(at canon.Value, hint, format string, args ...any) {
	if p.fault == nil {
		p.fault = &Fault{At: at, Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
}

// raw adds JSON that stays as it is.
func (p *templateParser) raw(text string) {
	pieces := p.template.pieces
	if n := len(pieces); n > 0 && pieces[n-1].text != nil {
		pieces[n-1].text = append(pieces[n-1].text, text...)
		return
	}
	p.template.pieces = append(pieces, piece{text: []byte(text)})
}

func (p *templateParser) value(v canon.Value) {
	switch v.Kind() {
	case canon.String:
		p.text(v)
	case canon.Array:
		before := "["
		for e := range v.Elements() {
			p.raw(before)
			p.value(e)
			before = ","
		}
		p.raw(strings.TrimSuffix(before, ",") + "]")
	case canon.Object:
		before := "{"
		for key, member := range v.Members() {
			parts := p.fragments(member, key)
			if len(parts) > 1 || parts[0].ref != nil {
				p.fail(member, "", "a key cannot have references in it")
				return
			}
			p.raw(before + string(canon.AppendString(nil, parts[0].text)) + ":")
			p.value(member)
			before = ","
		}
		p.raw(strings.TrimSuffix(before, ",") + "}")
	default:
		p.raw(string(v.Bytes()))
	}
}

// text reads a string.
func (p *templateParser) text(v canon.Value) {
	text, _ := v.Text()
	parts := p.fragments(v, text)
	switch {
	case len(parts) == 1 && parts[0].ref == nil:
		p.raw(string(canon.AppendString(nil, parts[0].text)))
	case len(parts) == 1:
		p.template.pieces = append(p.template.pieces, piece{ref: parts[0].ref})
	default:
		p.template.pieces = append(p.template.pieces, piece{string: parts})
	}
}

// fragments takes a text apart; there is always one. The value is where a fault is.
func (p *templateParser) fragments(at canon.Value, text string) (parts []fragment) {
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			parts = append(parts, fragment{text: plain.String()})
			plain.Reset()
		}
	}
	for text != "" {
		i := strings.IndexByte(text, '$')
		if i < 0 {
			i = len(text)
		}
		plain.WriteString(text[:i])
		text = text[i:]
		switch {
		case strings.HasPrefix(text, "$${"):
			plain.WriteString("${")
			text = text[len("$${"):]
		case strings.HasPrefix(text, "${"):
			inner, rest, closed := strings.Cut(text[len("${"):], "}")
			if !closed {
				p.fail(at, `"$${" is a literal "${"`, `"${" without a "}" behind it`)
				return []fragment{{}}
			}
			flush()
			parts = append(parts, fragment{ref: p.reference(at, inner)})
			text = rest
		case text != "":
			plain.WriteByte('$')
			text = text[1:]
		}
	}
	flush()
	if parts == nil {
		parts = []fragment{{}}
	}
	return parts
}

// reference reads what stands between "${" and "}".
func (p *templateParser) reference(at canon.Value, inner string) *reference {
	words := strings.Split(inner, ".")
	for _, word := range words {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`"'[](){}$?|`, r) }) {
			p.fail(at, "a reference is a name and members with points between them, such as ${args.path} or ${args.files.0}", "%q is no reference", "${"+inner+"}")
			return &reference{}
		}
	}
	if !slices.Contains(p.known, words[0]) {
		hint := ""
		if meant := cond.Nearest(words[0], p.known); meant != "" {
			hint = fmt.Sprintf("did you mean %q?", meant)
		} else if len(p.known) > 0 {
			hint = "known here: " + strings.Join(p.known, ", ")
		}
		p.fail(at, hint, "unknown name %q in %q", words[0], "${"+inner+"}")
	}
	p.template.names = append(p.template.names, words[0])
	return &reference{name: words[0], members: words[1:]}
}

// Expand returns the JSON with all references replaced. An error says which reference stands for nothing, without quoting values.
func (t *Template) Expand(values Values) (canon.Value, error) {
	var out []byte
	for i := range t.pieces {
		p := &t.pieces[i]
		switch {
		case p.ref != nil:
			v, err := p.ref.in(values)
			if err != nil {
				return canon.Value{}, err
			}
			out = append(out, v.Bytes()...)
		case p.string != nil:
			text, err := joined(p.string, values, maxExpanded-len(out))
			if err != nil {
				return canon.Value{}, err
			}
			out = canon.AppendString(out, text)
		default:
			out = append(out, p.text...)
		}
		if len(out) > maxExpanded {
			return canon.Value{}, errTooLong
		}
	}
	v, err := canon.Parse(out)
	if err != nil {
		return canon.Value{}, fmt.Errorf("what the template expands to cannot be read: %w", err)
	}
	return v, nil
}

var errTooLong = fmt.Errorf("the template expands to more than %d bytes", maxExpanded)

// joined returns a text with values in it, of at most so many bytes.
func joined(parts []fragment, values Values, most int) (string, error) {
	var b strings.Builder
	for _, part := range parts {
		text := part.text
		if part.ref != nil {
			v, err := part.ref.in(values)
			if err != nil {
				return "", err
			}
			switch v.Kind() {
			case canon.String:
				text, _ = v.Text()
			case canon.Number, canon.Bool:
				text = string(v.Bytes())
			default:
				return "", fmt.Errorf("%s within a text must be a string, a number or a boolean, and is %s", part.ref, v.Kind())
			}
		}
		if b.Len()+len(text) > most {
			return "", errTooLong
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// in returns what the reference stands for.
func (r *reference) in(values Values) (canon.Value, error) {
	v := values[r.name]
	for _, member := range r.members {
		switch v.Kind() {
		case canon.Object:
			v = v.Get(member)
		case canon.Array:
			v = elementOf(v, member)
		default:
			v = canon.Value{}
		}
	}
	if !v.Exists() {
		return canon.Value{}, fmt.Errorf("%s stands for nothing", r)
	}
	return v, nil
}

// elementOf returns the element of an array at a place, written as a number.
func elementOf(array canon.Value, place string) canon.Value {
	at, err := strconv.ParseUint(place, 10, 31)
	if err != nil || strconv.FormatUint(at, 10) != place {
		return canon.Value{}
	}
	for e := range array.Elements() {
		if at == 0 {
			return e
		}
		at--
	}
	return canon.Value{}
}

// Names are the names that the template refers to, sorted; of each the members that follow it are left out.
func (t *Template) Names() []string { return slices.Clone(t.names) }

// References are all references of the template in their order: each a name and the members that follow it.
func (t *Template) References() (all [][]string) {
	for i := range t.pieces {
		p := &t.pieces[i]
		if p.ref != nil {
			all = append(all, append([]string{p.ref.name}, p.ref.members...))
		}
		for _, part := range p.string {
			if part.ref != nil {
				all = append(all, append([]string{part.ref.name}, part.ref.members...))
			}
		}
	}
	return all
}

// AppendCanonical appends the template itself, references as they are written: what digests of plans are made of.
func (t *Template) AppendCanonical(dst []byte) []byte {
	return append(dst, bytes.Clone(t.canonical)...)
}

package install

import (
	"bytes"
	"fmt"
	"slices"

	"sallyport/internal/canon"
)

// Merge returns what makes a settings file tell the host to run the command for each event that we judge or note. text is
// nil where there is no file. An error is an *Error, or says that the edit is impossible.
func (h *Host) Merge(text []byte, c Command) (Change, error) {
	switch {
	case h.script:
		return h.mergeScript(text, c)
	case text == nil:
		return Change{Text: h.fresh(c, "", plain.newline)}, nil
	case isBlank(text):
		return Change{Text: h.fresh(c, string(text)+plain.newline, "")}, nil
	}
	d, err := parse(text)
	if err != nil {
		return Change{}, err
	}
	hooks, err := d.hooks()
	if err != nil {
		return Change{}, err
	}
	if err := h.ignores(d); err != nil {
		return Change{}, err
	}
	m := merging{host: h, command: c, doc: d}
	if hooks.Exists() {
		err = m.into()
	} else {
		m.doc, err = d.insert(d.root, h.members(c, d.root.Get("version").Exists())...)
	}
	if err != nil {
		return Change{}, err
	}
	m.change.Text = m.doc.text
	m.change.Same = bytes.Equal(text, m.doc.text)
	return m.change, nil
}

// Ignores says why the host reads no hook from a settings file, though the file is in order otherwise; nil is that it does.
func (h *Host) Ignores(text []byte) error {
	if h.script || isBlank(text) {
		return nil
	}
	d, err := parse(text)
	if err != nil {
		return err
	}
	return h.ignores(d)
}

func (h *Host) ignores(d *document) error {
	version := d.root.Get("version")
	n, isInt := version.Int()
	switch {
	case !h.version || isInt && n == 1:
		return nil
	case version.Exists():
		return d.errorAt(version.OffsetIn(d.text), h.Title+` reads hooks from a file with "version": 1 only`,
			`put "version": 1 there, if the hooks in the file are of that version`)
	case d.root.Get("hooks").Exists():
		return &Error{Msg: h.Title + ` reads no hooks from a file without "version": 1`, Hint: `put "version": 1 into it, then try again`}
	}
	return nil
}

// Remove returns what takes everything that is ours out of a settings file. text is nil where there is no file.
func (h *Host) Remove(text []byte) (Change, error) {
	same := Change{Text: text, Same: true}
	switch {
	case h.script:
		return h.removeScript(text)
	case isBlank(text):
		return same, nil
	}
	d, err := parse(text)
	if err != nil {
		return Change{}, err
	}
	if _, err := d.hooks(); err != nil {
		return Change{}, err
	}
	trailing := ""
	if h.version {
		trailing = "version"
	}
	for {
		places := h.places(d)
		if len(places) == 0 {
			return Change{Text: d.text, Same: bytes.Equal(d.text, text)}, nil
		}
		next, err := d.cut(places[len(places)-1].path(d), trailing)
		if err != nil {
			return Change{}, err
		}
		if next == nil {
			return d.emptied(), nil
		}
		d = next
	}
}

// emptied is what becomes of a file whose one object was made by us: fresh tells how the file was before.
func (d *document) emptied() Change {
	start := d.root.OffsetIn(d.text)
	before, after := d.text[:start], d.text[start+len(d.root.Bytes()):]
	switch {
	case len(before) == 0 && string(after) == plain.newline:
		return Change{Delete: true}
	case bytes.HasSuffix(before, []byte(plain.newline)) && len(after) == 0:
		return Change{Text: before[: len(before)-1 : len(before)-1]}
	}
	return Change{Text: slices.Concat(before, []byte("{}"), after)}
}

// fresh is a file that has only what is ours.
func (h *Host) fresh(c Command, before, after string) []byte {
	return []byte(before + plain.onLines(object("", h.members(c, false)...), "") + after)
}

// members is what a file without hooks lacks.
func (h *Host) members(c Command, hasVersion bool) []node {
	var events []node
	for _, e := range h.events {
		events = append(events, framed(list(e.name, h.entry(c, e))))
	}
	members := []node{framed(object("hooks", events...))}
	if h.version && !hasVersion {
		members = append(members, literal("version", "1"))
	}
	return members
}

// merging is an edit of a file that has hooks already.
type merging struct {
	host    *Host
	command Command
	doc     *document
	change  Change
}

func (m *merging) note(format string, args ...any) {
	m.change.Notes = append(m.change.Notes, fmt.Sprintf(format, args...))
}

func (m *merging) into() error {
	for _, e := range m.host.events {
		if err := m.event(e); err != nil {
			return err
		}
	}
	for { // what an earlier version wrote for events that this one leaves alone
		places := slices.DeleteFunc(m.host.places(m.doc), func(p place) bool { return m.host.hasEvent(p.event) })
		if len(places) == 0 {
			return nil
		}
		p := places[len(places)-1]
		m.note("our entry for %s, which is not needed any more, is taken out", p.event)
		if err := m.cut(p); err != nil {
			return err
		}
	}
}

// event leaves exactly one entry of ours for an event, the one that we want.
func (m *merging) event(e event) error {
	want := m.host.entry(m.command, e)
	for {
		places := m.host.placesOf(m.doc, e.name)
		if len(places) < 2 {
			break
		}
		extra := places[len(places)-1]
		first, _ := canon.Place(m.doc.text, places[0].handler.OffsetIn(m.doc.text))
		line, _ := canon.Place(m.doc.text, extra.handler.OffsetIn(m.doc.text))
		m.note("%s has our entry twice, in lines %d and %d; the second is taken out", e.name, first, line)
		if err := m.cut(extra); err != nil { // which may be the stricter one of the two
			return err
		}
	}
	places := m.host.placesOf(m.doc, e.name)
	if len(places) == 1 && m.host.suits(places[0], want) {
		return nil
	}
	var err error
	switch {
	case len(places) == 1 && places[0].alone():
		m.change.Loose = true
		m.doc, err = m.doc.replace(places[0].element(), want)
		return err
	case len(places) == 1: // in a group of somebody else's, which sees only some calls
		if err := m.cut(places[0]); err != nil {
			return err
		}
	}
	hooks := m.doc.root.Get("hooks")
	if array := hooks.Get(e.name); array.Exists() {
		m.doc, err = m.doc.insert(array, want)
	} else {
		m.doc, err = m.doc.insert(hooks, framed(list(e.name, want)))
	}
	return err
}

// cut takes an entry of ours out.
func (m *merging) cut(p place) error {
	m.change.Loose = true
	next, err := m.doc.cut(p.path(m.doc), "")
	if err == nil && next == nil {
		err = fmt.Errorf("%s: nothing would be left of the file", p.event)
	}
	if err != nil {
		return err
	}
	m.doc = next
	return nil
}

// suits reports whether an entry is the one we want, or does the same within a group that others share.
func (h *Host) suits(p place, want node) bool {
	wanted, err := canon.Parse([]byte(plain.onOneLine(want)))
	if err != nil {
		return false
	}
	if p.alone() {
		return equal(p.element(), wanted)
	}
	for handler := range wanted.Get("hooks").Elements() {
		return equal(p.handler, handler) && coversAll(p.group.Get("matcher"))
	}
	return false
}

// isBlank reports whether a text has nothing but what JSON takes for white space.
func isBlank(text []byte) bool { return len(bytes.Trim(text, " \t\r\n")) == 0 }

// equal reports whether two values have the same canonical spelling.
func equal(a, b canon.Value) bool {
	x, errX := a.AppendCanonical(nil)
	y, errY := b.AppendCanonical(nil)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

package install

import (
	"time"

	"sallyport/internal/canon"
)

// place is where a handler of ours stands.
type place struct {
	event   string
	array   canon.Value // of the event
	index   int         // in the array
	group   canon.Value // the element with a matcher and handlers; absent for hosts without groups
	handler canon.Value
	inner   int // index of the handler in its group
	shared  bool
}

// alone reports whether the element of the event's array is wholly ours.
func (p place) alone() bool { return !p.shared }

// element is the element of the event's array that the handler stands in.
func (p place) element() canon.Value {
	if p.group.Exists() {
		return p.group
	}
	return p.handler
}

// path leads from the root of the document to what is ours.
func (p place) path(d *document) []step {
	if p.shared {
		return []step{{p.group.Get("hooks"), p.inner}}
	}
	hooks := d.root.Get("hooks")
	indexOf := func(container canon.Value, key string) int {
		for i, it := range d.items(container) {
			if it.key == key {
				return i
			}
		}
		return 0
	}
	return []step{{d.root, indexOf(d.root, "hooks")}, {hooks, indexOf(hooks, p.event)}, {p.array, p.index}}
}

// places returns every handler of ours, in the order of the text.
func (h *Host) places(d *document) []place {
	var all []place
	for event := range d.root.Get("hooks").Members() {
		all = append(all, h.placesOf(d, event)...)
	}
	return all
}

// placesOf returns the handlers of ours for an event.
func (h *Host) placesOf(d *document, event string) []place {
	var all []place
	array := d.root.Get("hooks").Get(event)
	index := -1
	for element := range array.Elements() {
		index++
		if !h.grouped {
			if h.isOurs(element) {
				all = append(all, place{event: event, array: array, index: index, handler: element})
			}
			continue
		}
		p := place{event: event, array: array, index: index, group: element, inner: -1}
		count := 0
		var ours []place
		for handler := range element.Get("hooks").Elements() {
			p.inner++
			count++
			if h.isOurs(handler) {
				p.handler = handler
				ours = append(ours, p)
			}
		}
		for _, p := range ours {
			p.shared = count > 1
			all = append(all, p)
		}
	}
	return all
}

// isOurs reports whether a handler runs our hook command.
func (h *Host) isOurs(handler canon.Value) bool {
	exec, line := h.commandOf(handler)
	if exec == nil {
		words, ok := splitWords(line)
		if !ok {
			return false
		}
		exec = words
	}
	return isOurs(exec)
}

// commandOf returns what a handler runs: the command and its arguments, or a line for a shell.
func (h *Host) commandOf(handler canon.Value) (exec []string, line string) {
	for _, key := range h.commandKeys() {
		line, ok := handler.Get(key).Text()
		if !ok {
			continue
		}
		if args, ok := stringsOf(handler.Get("args")); ok && h.exec {
			return append([]string{line}, args...), ""
		}
		return nil, line
	}
	return nil, ""
}

func (h *Host) commandKeys() []string {
	if h.Name == "copilot" {
		return []string{"bash", "command"}
	}
	return []string{"command"}
}

// Find returns the entries of ours in a file, in its order. Its errors are those of Merge.
func (h *Host) Find(text []byte) ([]Entry, error) {
	if h.script {
		return h.findScript(text), nil
	}
	if isBlank(text) {
		return nil, nil
	}
	d, err := parse(text)
	if err != nil {
		return nil, err
	}
	if _, err := d.hooks(); err != nil {
		return nil, err
	}
	var entries []Entry
	seen := ""
	for _, p := range h.places(d) {
		e := h.describe(d, p)
		e.Duplicate, seen = seen == p.event, p.event
		entries = append(entries, e)
	}
	return entries, nil
}

func (h *Host) describe(d *document, p place) Entry {
	e := Entry{Event: p.event, Group: p.index, Handler: p.inner}
	e.Line, e.Col = canon.Place(d.text, p.handler.OffsetIn(d.text))
	e.Exec, e.Shell = h.commandOf(p.handler)
	if n, ok := p.handler.Get(h.timeoutKey).Int(); ok {
		e.Timeout = time.Duration(n) * h.timeoutUnit
	}
	e.Narrow = h.narrow(p)
	switch h.Name {
	case "claude":
		how, _ := p.handler.Get("onFailure").Text()
		e.OnFailure = how == "block"
	case "cursor":
		e.OnFailure, _ = p.handler.Get("failClosed").Bool()
	}
	for _, known := range h.events {
		if known.name != p.event {
			continue
		}
		e.Gate = known.gate
		e.CanBlock = known.gate && (h.Name == "claude" || h.Name == "cursor")
		if c, host, ok := e.Command(); ok && host == h.Name {
			e.Exact = h.suits(p, h.entry(c, known))
		}
	}
	return e
}

// narrow says why a handler does not see every call of its event, or "".
func (h *Host) narrow(p place) string {
	matcher := p.group.Get("matcher")
	if !h.grouped {
		matcher = p.handler.Get("matcher")
	}
	disabled, _ := p.handler.Get("disabled").Bool()
	background, _ := p.handler.Get("async").Bool()
	switch {
	case !coversAll(matcher):
		return "its matcher lets it see some tools only"
	case p.handler.Get("if").Exists():
		return `its "if" lets it see some calls only`
	case background:
		return `it is "async", so that no call waits for it`
	case disabled:
		return "it is disabled"
	case p.handler.Get("cache_ttl_seconds").Exists():
		return "its answers are cached, so that equal calls are not judged again"
	}
	return ""
}

// coversAll reports whether a matcher lets every tool through.
func coversAll(matcher canon.Value) bool {
	if !matcher.Exists() {
		return true
	}
	pattern, ok := matcher.Text()
	return ok && (pattern == "" || pattern == "*" || pattern == ".*")
}

package hook

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/policy"
)

// Phase is when an event comes.
type Phase int

// The phases. Only Before can be answered with a verdict.
const (
	Before       Phase = iota // a tool is about to be called
	After                     // a tool was called
	Prompt                    // the user said something
	SessionStart              //
	SessionEnd                //
	Other                     // nothing that concerns us
)

// Event is what every host's event comes down to.
type Event struct {
	Host    string
	Name    string // the event's name in the host, "" where the host sends none
	Phase   Phase
	Strange bool // the host has no event of this name that we know of

	Session string
	CallID  string // the host's id of the call
	Dir     string // the folder in which the call would run; absolute, or ""
	Mode    string // the host's permission mode

	Tool  string
	Input canon.Value // an object

	Attached []canon.Value // inputs of further calls of the tool that are decided together with this one

	Failed bool        // of After: the tool failed
	Error  string      // of After: what it said
	Answer canon.Value // of After: what it answered, as the host gives it; absent where it does not

	// Unattended says that nobody is there to be asked.
	Unattended bool

	size int // in bytes, as the host sent it

	// Editor says that an editor speaks which borrows this host's settings (VS Code).
	Editor bool
}

// dialect is a host's way to speak.
type dialect interface {
	// read brings a host's event into one form. What the phase is must be said even where there is an error.
	read(f fields) (Event, error)

	// asks returns why nobody can be asked about an event, or "" where the host will ask.
	asks(e *Event) string

	// reply spells a ruling for an event whose phase is Before. An Ask comes only where somebody can be asked.
	reply(e *Event, r Ruling) Reply

	// unknown is an event of which nothing could be read: what can block is what blocks it.
	unknown() *Event
}

// Hosts are the names of the hosts, in the order in which they are shown.
func Hosts() []string {
	return []string{"claude", "codex", "gemini", "cursor", "copilot", "windsurf", "cline", "kiro"}
}

func dialectOf(host string) dialect {
	switch host {
	case "claude":
		return claude{}
	case "codex":
		return codex{}
	case "gemini":
		return gemini{}
	case "cursor":
		return cursor{}
	case "copilot":
		return copilot{}
	case "windsurf":
		return windsurf{}
	case "cline":
		return cline{}
	case "kiro":
		return kiro{}
	}
	return nil
}

// reply says a ruling in the host's dialect. Events that cannot block are answered with silence.
func (e *Event) reply(d dialect, r Ruling) Reply {
	if e.Phase != Before {
		return d.reply(e, Ruling{Decision: policy.Allow})
	}
	return d.reply(e, r)
}

var bom = []byte("\xef\xbb\xbf")

// read reads an event strictly. Where there is an error the event is as much as could be known of it.
func (r *run) read(text []byte) (*Event, error) {
	e, err := readEvent(r.dialect, text)
	e.Host, e.Unattended, e.size = r.Host, unattended(r.sys.Env), len(text)
	return &e, err
}

// ReadEvent reads an event of a host as a hook does. Where there is an error the event is as much as could be known of it; a
// hook denies it.
func ReadEvent(host string, text []byte) (Event, error) {
	d := dialectOf(host)
	if d == nil {
		return Event{}, fmt.Errorf("there is no host %.60q", host)
	}
	e, err := readEvent(d, text)
	e.Host = host
	return e, err
}

func readEvent(d dialect, text []byte) (Event, error) {
	text = bytes.TrimPrefix(text, bom)
	unknown := *d.unknown()
	if len(bytes.TrimSpace(text)) == 0 {
		return unknown, errors.New("there is no event on stdin")
	}
	v, err := canon.Parse(text)
	if err != nil {
		return unknown, fmt.Errorf("the event cannot be read: %w", err)
	}
	if v.Kind() != canon.Object {
		return unknown, errors.New("the event is not a JSON object")
	}
	f := fields(members(v))
	if why := twofold(f); why != "" {
		return unknown, errors.New(why)
	}
	e, err := d.read(f)
	if e.Phase != Before {
		return e, nil
	}
	if err != nil {
		return e, err
	}
	if holdsNUL(text) {
		return e, errors.New("the event has a NUL character in it, which no path, command or name can hold")
	}
	if why := twofoldWithin(e.Input); why != "" {
		return e, errors.New(why)
	}
	return e, e.complete()
}

// complete reports what an event before a call lacks, and opens what hides a call in another one.
func (e *Event) complete() error {
	switch {
	case strings.TrimSpace(e.Tool) == "":
		return errors.New("the event names no tool")
	case !e.Input.Exists():
		return errors.New("the event has no input of the tool")
	case e.Input.Kind() != canon.Object:
		return fmt.Errorf("the input of the tool is not an object, but %s", article(e.Input.Kind()))
	}
	return e.unwrap()
}

func article(k canon.Kind) string {
	switch k {
	case canon.Array:
		return "an array"
	case canon.Null:
		return "null"
	default:
		return "a " + k.String()
	}
}

// fields are the members of an object, to be asked for by name.
type fields []member

// get returns the first of the members with one of the names that is there and not null.
func (f fields) get(names ...string) canon.Value {
	for _, name := range names {
		for _, m := range f {
			if m.key == name && m.value.Kind() != canon.Null {
				return m.value
			}
		}
	}
	return canon.Value{}
}

func (f fields) has(names ...string) bool { return f.get(names...).Exists() }

// text is get for a string: absent is "", and another kind an error.
func (f fields) text(names ...string) (string, error) {
	v := f.get(names...)
	if !v.Exists() {
		return "", nil
	}
	text, ok := v.Text()
	if !ok {
		return "", fmt.Errorf("%q is not a string, but %s", names[0], article(v.Kind()))
	}
	return text, nil
}

// within returns the members of the object of that name; none if there is no object.
func (f fields) within(name string) fields { return members(f.get(name)) }

// texts reads strings into their places.
func (f fields) texts(into ...place) error {
	for _, p := range into {
		var err error
		if *p.to, err = f.text(p.names...); err != nil {
			return err
		}
	}
	return nil
}

type place struct {
	to    *string
	names []string
}

// at names where a string is kept, and the keys under which it may come.
func at(to *string, names ...string) place { return place{to, names} }

// object is a value that is an object, or the JSON text of one, as some hosts send it.
func object(v canon.Value) (canon.Value, error) {
	text, ok := v.Text()
	if !ok {
		return v, nil
	}
	if text == "" {
		return canon.Value{}, errors.New("the input of the tool is an empty text")
	}
	parsed, err := canon.Parse([]byte(text))
	if err != nil {
		return canon.Value{}, fmt.Errorf("the input of the tool is a text that cannot be read: %w", err)
	}
	if holdsNUL(parsed.Bytes()) {
		return canon.Value{}, errors.New("the input of the tool has a NUL character in it")
	}
	return parsed, nil
}

// firstText is the first string of an array, or "".
func firstText(v canon.Value) string {
	for element := range v.Elements() {
		text, _ := element.Text()
		return text
	}
	return ""
}

// isAbsolute reports whether a path is, here or on Windows.
func isAbsolute(path string) bool {
	if filepath.IsAbs(path) {
		return true
	}
	return len(path) >= 3 && path[1] == ':' && (path[2] == '\\' || path[2] == '/') && (path[0]|0x20 >= 'a' && path[0]|0x20 <= 'z')
}

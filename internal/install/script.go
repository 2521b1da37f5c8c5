package install

import (
	"bytes"
	"strings"
)

// Cline runs an executable file named after the event. One file is one hook, so ours can only be alone there.

const (
	scriptHead = "#!/bin/sh\n# Written by \"sallyport install cline\"; \"sallyport uninstall cline\" removes it.\n" +
		"# Cline blocks the call where this fails, so it fails where sallyport cannot be started.\nexec "
	scriptTail = "\n"
)

func (h *Host) mergeScript(text []byte, c Command) (Change, error) {
	want := []byte(scriptHead + c.shell(h.Name) + scriptTail)
	switch {
	case text == nil:
		return Change{Text: want}, nil
	case len(h.findScript(text)) == 0:
		return Change{}, &Error{
			Msg:  "there is another hook of that name, and " + h.Title + " runs one for each folder",
			Hint: "let that hook run sallyport itself, or use the other scope",
		}
	}
	same := bytes.Equal(text, want)
	return Change{Text: want, Same: same, Loose: !same}, nil
}

func (h *Host) removeScript(text []byte) (Change, error) {
	if len(h.findScript(text)) == 0 {
		return Change{Text: text, Same: true}, nil
	}
	return Change{Delete: true}, nil
}

// findScript returns the one entry that a script of ours is.
func (h *Host) findScript(text []byte) []Entry {
	if !bytes.HasPrefix(text, []byte("#!")) {
		return nil
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimRight(line, "\r\n")
		words, ok := splitWords(line)
		if !ok || !isOurs(words) {
			continue
		}
		e := Entry{Event: h.events[0].name, Gate: true, Line: number, Col: 1, Shell: line}
		if c, host, ok := e.Command(); ok && host == h.Name {
			e.Exact = string(text) == scriptHead+c.shell(h.Name)+scriptTail
		}
		return []Entry{e}
	}
	return nil
}

package pretool

import (
	"path/filepath"

	"sallyport/internal/canon"
)

// trace is what a session's flow trace says: which steps were done.
type trace struct {
	found     bool
	context   bool // level 1: the context was read
	session   bool // level 1: the session was synchronised
	standards bool // level 2: the standards were loaded
}

func (t trace) level1() bool { return t.context && t.session }

func (t trace) all() bool { return t.level1() && t.standards }

// trace reads the flow trace of a session. One that cannot be read is not found.
func (s *Sessions) trace(session string) trace {
	if session == "" {
		return trace{}
	}
	text, _, err := s.disk.read(s.traceFile(session))
	if err != nil {
		return trace{}
	}
	v, err := canon.Parse(text)
	if err != nil {
		return trace{}
	}
	return readTrace(v)
}

func (s *Sessions) traceFile(session string) string {
	return filepath.Join(s.folder(session), "flow-trace.json")
}

// readTrace reads a trace: an object, or a list whose last object it is. What is neither a step nor a list of them is
// passed over.
func readTrace(v canon.Value) trace {
	for element := range v.Elements() {
		if element.Kind() == canon.Object {
			v = element
		}
	}
	t := trace{found: v.Kind() == canon.Object}
	for element := range v.Get("pipeline").Elements() {
		switch step, _ := element.Get("step").Text(); step {
		case "LEVEL_1_CONTEXT":
			t.context = true
		case "LEVEL_1_SESSION":
			t.session = true
		case "LEVEL_2_STANDARDS", "STANDARDS":
			t.standards = true
		}
	}
	return t
}

// Package install puts the gate's hook into the settings of coding agents' hosts, and takes it out again.
//
// [Host.Merge] gives the text of a settings file with our entry in it, [Host.Remove] the text without. Both leave every
// other byte as it is: they are edits at offsets, not a reading and a writing. What Merge did, Remove undoes to the byte,
// and a second Merge changes nothing. [Read] and [File.Replace] carry a text from and to the disk, whole or not at all.
// [Host.Find] tells which entries of ours a file has.
//
// Whether an installed hook works, and whether a person agreed to an edit, is for others to find out.
package install

import (
	"fmt"
	"time"

	"sallyport/internal/canon"
)

// Change is what an edit makes of a file.
type Change struct {
	Text   []byte   // the new text; not used where Delete
	Delete bool     // the file has nothing but what we made: it goes
	Same   bool     // there is nothing to do
	Loose  bool     // an entry of ours that was there is replaced or taken out: the gate may be laxer afterwards
	Notes  []string // what a person should know, a sentence each
}

// Error is a settings file that cannot be edited, and why.
type Error struct {
	Line, Col int // from 1; 0 where the whole file is meant
	Msg       string
	Hint      string // what to try; may be empty
}

// Error returns the place in the file, where there is one, and what is wrong there.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Msg
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Col, e.Msg)
}

// Entry is an entry of ours in a host's settings, as it stands there.
type Entry struct {
	Event     string        // the host's name for the event
	Gate      bool          // a tool's call waits for this event's answer
	Line, Col int           // where it begins
	Group     int           // index in the event's array, from 0
	Handler   int           // index in its group, from 0
	Exact     bool          // it is what this program would write for the same command
	Duplicate bool          // the event has another entry of ours before it
	Narrow    string        // why it does not see every call of the event, or ""
	Exec      []string      // the command and its arguments, where the host runs it without a shell
	Shell     string        // else the line that the host gives to a shell
	Timeout   time.Duration // as configured, 0 if it is not
	OnFailure bool          // the host was told to block where the hook fails
	CanBlock  bool          // the host can be told so, for this event
}

// stringsOf returns the strings of an array; ok is false where v is anything else.
func stringsOf(v canon.Value) (all []string, ok bool) {
	if v.Kind() != canon.Array {
		return nil, false
	}
	for element := range v.Elements() {
		s, ok := element.Text()
		if !ok {
			return nil, false
		}
		all = append(all, s)
	}
	return all, true
}

package cli

import (
	"fmt"
	"io"
	"strings"

	"sallyport/internal/canon"
)

// leftWords is the title of what is left to be verified. It tells an operator that there is nothing to be done.
const leftWords = "left to be verified: the next change of that principal at that server looks at it first; there is nothing to release\n\n"

// write writes the stops, and behind them what is left to be verified.
func (h heldBack) write(w io.Writer, dirs []string) error {
	if len(h.stops) == 0 {
		fmt.Fprintf(w, "nothing is stopped in %s\n", strings.Join(dirs, ", nor in "))
		if len(h.left) > 0 {
			fmt.Fprintln(w)
		}
	}
	for _, stop := range h.stops {
		stop.write(w, len(dirs) > 1)
	}
	if len(h.left) == 0 {
		return nil
	}
	_, err := io.WriteString(w, leftWords)
	for _, call := range h.left {
		err = call.write(w, len(dirs) > 1)
	}
	return err
}

// write writes what is known of a stop, one fact a line, and where it is if that is asked. Of a latch that cannot be read that is
// little.
func (stop stopIn) write(w io.Writer, where bool) {
	if where {
		fact(w, "ledger", stop.dir)
	}
	if stop.Slot != "" {
		fact(w, "latch", stop.Slot)
	}
	if stop.Principal != "" || stop.Slot == "" {
		fact(w, "principal", stop.Principal)
		fact(w, "server", serverWords(stop.Server))
	}
	if stop.Tool != "" {
		fact(w, "tool", stop.Tool)
	}
	if stop.Rule != "" {
		fact(w, "rule", stop.Rule)
	}
	fact(w, "reason", stop.Reason)
	if stop.Attempt != "" {
		fact(w, "attempt", stop.Attempt)
	}
	if stop.Time != 0 {
		fact(w, "since", moment(stop.Time))
	}
	fmt.Fprintln(w)
}

// unreadableWords are said of what was left and cannot be read.
const unreadableWords = "what was left cannot be read: the next change there is denied, and stops there until it is released"

// write writes what is known of a call that is still to be verified, as write does of a stop.
func (call leftIn) write(w io.Writer, where bool) error {
	if where {
		fact(w, "ledger", call.dir)
	}
	fact(w, "principal", call.Principal)
	fact(w, "server", serverWords(call.Server))
	if call.Unreadable {
		fact(w, "reason", unreadableWords)
	} else {
		fact(w, "tool", call.Tool)
		for _, rule := range call.Rules {
			fact(w, "rule", rule)
		}
		fact(w, "attempt", call.Attempt)
	}
	_, err := fmt.Fprintln(w)
	return err
}

// writeJSON writes all of it as one object on a line.
func (h heldBack) writeJSON(w io.Writer) error {
	b := []byte(`{"stops":[`)
	for i, stop := range h.stops {
		if i > 0 {
			b = append(b, ',')
		}
		b = stop.appendJSON(b)
	}
	b = append(b, `],"left":[`...)
	for i, call := range h.left {
		if i > 0 {
			b = append(b, ',')
		}
		b = call.appendJSON(b)
	}
	_, err := fmt.Fprintf(w, "%s\n", printableJSON(append(b, "]}"...)))
	return err
}

func (stop stopIn) appendJSON(b []byte) []byte {
	b = append(b, '{')
	b = textMember(b, "ledger", stop.dir)
	b = textMember(b, "principal", stop.Principal)
	b = append(canon.AppendString(append(b, `"server":`...), stop.Server), ',')
	b = textMember(b, "latch", stop.Slot)
	b = textMember(b, "tool", stop.Tool)
	b = textMember(b, "rule", stop.Rule)
	b = textMember(b, "reason", stop.Reason)
	b = textMember(b, "attempt", stop.Attempt)
	return fmt.Appendf(b, `"time":%d}`, stop.Time)
}

func (call leftIn) appendJSON(b []byte) []byte {
	b = append(b, '{')
	b = textMember(b, "ledger", call.dir)
	b = textMember(b, "principal", call.Principal)
	b = append(canon.AppendString(append(b, `"server":`...), call.Server), ',')
	if call.Unreadable {
		b = textMember(b, "reason", unreadableWords)
	} else {
		b = textMember(b, "tool", call.Tool)
		b = textsMember(b, "rules", call.Rules)
		b = textMember(b, "attempt", call.Attempt)
	}
	b[len(b)-1] = '}' // over the last comma
	return b
}

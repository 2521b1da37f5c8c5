package cli

import (
	"fmt"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
)

// decided is a decision after a call was looked at, as a record of the ledger has it.
type decided struct {
	method, verdict, tool, run, step, outcome, reason string
}

// look notes what a record says of a decision.
func (r *request) look(line canon.Value) {
	member := func(key string) string {
		text, _ := line.Get(key).Text()
		return text
	}
	l := decided{member("method"), member("verdict"), member("name"), member("run"), member("step"), member("outcome"), member("reason")}
	if l.verdict != "" || l.method == gate.MethodStep || l.method == gate.MethodUndo {
		r.looks = append(r.looks, l)
	}
}

// words are the decision on one line.
func (l decided) words() string {
	var b strings.Builder
	switch l.method {
	case gate.MethodStep:
		fmt.Fprintf(&b, "step    %s, step %s of run %s, tool %s", printable(l.verdict), printable(l.step), printable(l.run), printable(l.tool))
	case gate.MethodUndo:
		fmt.Fprintf(&b, "undo    %s, step %s of run %s, tool %s", printable(l.outcome), printable(l.step), printable(l.run), printable(l.tool))
	default:
		fmt.Fprintf(&b, "verdict %s, tool %s", printable(l.verdict), printable(l.tool))
	}
	if l.reason != "" {
		fmt.Fprintf(&b, ": %s", printable(l.reason))
	}
	return b.String()
}

package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/plan"
	"sallyport/internal/policy"
)

// forecast shows what a run would call, and what the policy would say. It calls nothing.
func (o *runOptions) forecast(ctx context.Context, r *planRun) error {
	steps, err := r.DryRun(ctx, r.plan)
	if err != nil {
		return err
	}
	write := writeForecast
	if o.asJSON || !isTerminal(r.stdout) {
		write = writeForecastJSON
	}
	if err := write(r.stdout, steps); err != nil {
		return err
	}
	for _, f := range steps {
		for _, warning := range f.Warnings {
			fmt.Fprintf(r.stderr, "warning: step %s: %s\n", printable(f.Step), printable(warning))
		}
	}
	for _, f := range steps {
		if f.Refusal != "" {
			fmt.Fprintf(r.stderr, "sallyport: this run would STOP before its first step, since step %s cannot be carried out: %s\n", printable(f.Step), printable(f.Refusal))
			return exit(exitStopped)
		}
	}
	return nil
}

// later is the decision on a call whose arguments are known only when it is made.
const later = "later"

// decisionWords is what the policy says of a call. What was refused for its arguments, which were not known, is not refused yet.
func decisionWords(p gate.Preview, unknown bool) string {
	if p.Decision == policy.Deny && unknown && !p.Hidden {
		return later
	}
	return p.Decision.String()
}

func writeForecast(w io.Writer, steps []plan.Forecast) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "step\tcalls\tpolicy\tundo\trehearsed\tnote")
	for _, f := range steps {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", printable(f.Step), printable(f.Tool), decisionWords(f.Call, f.Unknown), undoWords(f), proofWords(f), noteWords(f))
	}
	return tw.Flush()
}

func undoWords(f plan.Forecast) string {
	switch {
	case f.HasUndo:
		return decisionWords(f.Undo, f.UndoLater)
	case f.Call.ReadOnly:
		return "needs none"
	}
	return "none"
}

func proofWords(f plan.Forecast) string {
	switch {
	case !f.HasUndo:
		return "-"
	case f.Proven.IsZero():
		return "never"
	case f.Fresh:
		return f.Proven.UTC().Format(time.RFC3339)
	}
	return "too long ago"
}

// noteWords is what a reader of a forecast should know besides.
func noteWords(f plan.Forecast) string {
	why := func(p gate.Preview) string { return printable(fmt.Sprintf("%s (rule %s)", p.Reason, p.Rule)) }
	switch {
	case f.Refusal != "":
		return printable(f.Refusal)
	case decisionWords(f.Call, f.Unknown) != later && f.Call.Decision != policy.Allow:
		return why(f.Call)
	case f.HasUndo && decisionWords(f.Undo, f.UndoLater) != later && f.Undo.Decision != policy.Allow:
		return "undo: " + why(f.Undo)
	case f.Unknown:
		return "its arguments come from earlier steps: only the tool was judged"
	case !f.Call.ReadOnly && f.Call.Key == "" && !f.Call.Repeats:
		return "cut off, it cannot be resumed: nothing names the call (mutation: {key: sallyport/request_id} in its rule would)"
	}
	return ""
}

// writeForecastJSON writes a JSON object a line.
func writeForecastJSON(w io.Writer, steps []plan.Forecast) error {
	for _, f := range steps {
		b := textMember([]byte{'{'}, "step", f.Step)
		b = textMember(b, "tool", f.Tool)
		b = append(appendPreview(append(b, `"call":`...), f.Call, f.Unknown), ',')
		if f.HasUndo {
			b = append(appendPreview(append(b, `"undo":`...), f.Undo, f.UndoLater), ',')
			if !f.Proven.IsZero() {
				b = fmt.Appendf(b, `"rehearsed":%d,`, f.Proven.UnixNano())
			}
			b = fmt.Appendf(b, `"proof_is_fresh":%t,`, f.Fresh)
		}
		if f.Observes != "" {
			b = textMember(b, "observes", f.Observes)
			b = append(appendPreview(append(b, `"observe":`...), f.Observe, f.Unknown), ',')
		}
		b = textMember(b, "refusal", f.Refusal)
		for i, warning := range f.Warnings {
			b = canon.AppendString(append(b, [...]string{`"warnings":[`, ","}[min(i, 1)]...), warning)
		}
		if len(f.Warnings) > 0 {
			b = append(b, "],"...)
		}
		b = fmt.Appendf(b, `"arguments_unknown":%t}`, f.Unknown)
		if _, err := fmt.Fprintf(w, "%s\n", printableJSON(b)); err != nil {
			return err
		}
	}
	return nil
}

func appendPreview(b []byte, p gate.Preview, unknown bool) []byte {
	decision := decisionWords(p, unknown)
	b = textMember(append(b, '{'), "decision", decision)
	if decision != later {
		b = textMember(b, "rule", p.Rule)
		b = textMember(b, "reason", p.Reason)
	}
	return fmt.Appendf(b, `"read_only":%t,"keyed":%t,"repeats":%t,"verified":%t}`, p.ReadOnly, p.Key != "", p.Repeats, p.Verified)
}

package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"sallyport/internal/gate"
	"sallyport/internal/plan"
	"sallyport/internal/policy"
)

func (o *runOptions) forecastRun(ctx context.Context, r *planRun) error {
	return o.forecast(ctx, r, r.DryRun, "this run would STOP")
}

func (o *runOptions) forecastRehearsal(ctx context.Context, r *planRun) error {
	return o.forecast(ctx, r, r.DryRehearsal, "this rehearsal would fail")
}

// forecast shows what would be called, and what the policy would say. It calls nothing. refused says what would become of all of
// it where a step cannot be carried out.
func (o *runOptions) forecast(ctx context.Context, r *planRun, dryRun func(context.Context, *plan.Plan) ([]plan.Forecast, error), refused string) error {
	steps, err := dryRun(ctx, r.plan)
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
			fmt.Fprintf(r.stderr, "sallyport: %s before its first step, since step %s cannot be carried out: %s\nhint: nothing was called; change the policy (--policy FILE) or the plan, and look again\n", refused, printable(f.Step), printable(f.Refusal))
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

// writeForecast writes a line for each step: its calls, each with what the policy says of it.
func writeForecast(w io.Writer, steps []plan.Forecast) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "step\tcalls\tobserves\tundo\trehearsed\tnote")
	for _, f := range steps {
		notes := forecastNotes(f)
		if why := whyNot(f); why != "" {
			notes = append([]string{why}, notes...)
		}
		fmt.Fprintf(tw, "%s\t%s: %s\t%s\t%s\t%s\t%s\n", printable(f.Step), printable(f.Tool), decisionWords(f.Call, f.Unknown),
			observeWords(f), undoWords(f), proofWords(f), printable(strings.Join(notes, "; ")))
	}
	return tw.Flush()
}

func observeWords(f plan.Forecast) string {
	if f.Observes == "" {
		return "by the call"
	}
	return printable(f.Observes) + ": " + decisionWords(f.Observe, f.ObserveLater)
}

func undoWords(f plan.Forecast) string {
	switch {
	case f.HasUndo:
		return printable(f.Undoes) + ": " + decisionWords(f.Undo, f.UndoLater)
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

// whyNot says why a step or its undo would not simply be carried out, "" if it would.
func whyNot(f plan.Forecast) string {
	why := func(p gate.Preview) string { return fmt.Sprintf("%s (rule %s)", p.Reason, p.Rule) }
	switch {
	case f.Refusal != "":
		return f.Refusal
	case decisionWords(f.Call, f.Unknown) != later && f.Call.Decision != policy.Allow:
		return why(f.Call)
	case f.HasUndo && decisionWords(f.Undo, f.UndoLater) != later && f.Undo.Decision != policy.Allow:
		return "undo: " + why(f.Undo)
	}
	return ""
}

// forecastNotes are what a reader of a forecast should know besides.
func forecastNotes(f plan.Forecast) (all []string) {
	const held = ", and its caller's changes at that server, an undo there too, are held back until sallyport release"
	if f.Call.Verified {
		all = append(all, "the policy verifies the call (verify): if that differs or cannot be told, a run stops there without a ROLLBACK, a rehearsal fails"+held)
	}
	if f.Undo.Verified {
		all = append(all, "the policy verifies its undo (verify): if that differs or cannot be told, it does not count as undone"+held)
	}
	switch {
	case f.Unknown:
		all = append(all, "its arguments come from earlier steps: only the tool was judged")
	case f.Call.Decision != policy.Deny && !f.Call.ReadOnly && f.Call.Key == "" && !f.Call.Repeats:
		all = append(all, "cut off, it cannot be resumed: nothing names the call (mutation: {key: sallyport/request_id} in its rule would)")
	}
	return all
}

// writeForecastJSON writes a JSON object a line, for each step.
func writeForecastJSON(w io.Writer, steps []plan.Forecast) error {
	for _, f := range steps {
		b := textMember([]byte{'{'}, "step", f.Step)
		b = textMember(b, "tool", f.Tool)
		b = append(appendPreview(append(b, `"call":`...), f.Call, f.Unknown), ',')
		if f.HasUndo {
			b = textMember(b, "undoes", f.Undoes)
			b = append(appendPreview(append(b, `"undo":`...), f.Undo, f.UndoLater), ',')
			if !f.Proven.IsZero() {
				b = fmt.Appendf(b, `"rehearsed":%d,`, f.Proven.UnixNano())
			}
			b = fmt.Appendf(b, `"proof_is_fresh":%t,`, f.Fresh)
		}
		if f.Observes != "" {
			b = textMember(b, "observes", f.Observes)
			b = append(appendPreview(append(b, `"observe":`...), f.Observe, f.ObserveLater), ',')
		}
		b = textMember(b, "refusal", f.Refusal)
		b = textsMember(b, "notes", forecastNotes(f))
		b = textsMember(b, "warnings", f.Warnings)
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

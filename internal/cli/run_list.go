package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sallyport/internal/durable"
	"sallyport/internal/plan"
)

// runIn is a run in a ledger's folder.
type runIn struct {
	plan.Listed
	dir string
}

// listRuns shows the runs whose journals are in the ledgers that a person may mean.
func (o *runOptions) listRuns(cmd *cobra.Command, args []string) error {
	const usage = "sallyport run --list takes --ledger FOLDER and --json"
	if len(args) > 0 {
		return withHint(errors.New("with --list no PLAN is named: the runs of all plans are shown"), usage)
	}
	foreign := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "list" && f.Name != "ledger" && f.Name != "json" {
			foreign = f.Name
		}
	})
	if foreign != "" {
		return withHint(fmt.Errorf("--%s is not for --list", foreign), usage)
	}
	dirs, err := ledgersAsked(o.ledger)
	if err != nil {
		return err
	}
	var all []runIn
	for _, dir := range dirs {
		runs, err := plan.List(durable.OS, filepath.Join(dir, runsDir))
		if err != nil {
			return withHint(fmt.Errorf("looking for the runs: %w", err), "run this as the user who runs the plans, on the folder as they left it")
		}
		for _, l := range runs {
			all = append(all, runIn{l, dir})
		}
	}
	switch w := cmd.OutOrStdout(); {
	case o.asJSON:
		_, err = fmt.Fprintf(w, "%s\n", printableJSON(appendRuns(all)))
	case len(all) == 0:
		_, err = fmt.Fprintf(w, "no runs in %s\n", printable(strings.Join(dirs, ", nor in ")))
	default:
		for _, l := range all {
			if err == nil {
				err = writeRun(w, l, len(dirs) > 1)
			}
		}
	}
	return err
}

// writeRun writes what is known of a run, one fact a line, and an empty line.
func writeRun(w io.Writer, l runIn, withLedger bool) error {
	var b strings.Builder
	fact(&b, "run", l.Run)
	if withLedger {
		fact(&b, "ledger", l.dir)
	}
	if l.Digest != "" {
		fact(&b, "plan", strings.TrimPrefix(l.Name+", sha256 "+l.Digest, ", "))
	}
	if !l.Begun.IsZero() {
		fact(&b, "begun", moment(l.Begun.UnixNano()))
	}
	fact(&b, "state", stateWords(l.Listed))
	if next := nextWords(l); next != "" {
		fact(&b, "next", next)
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

// stateWords says how a run stands, at which step, and why.
func stateWords(l plan.Listed) string {
	text := map[plan.Standing]string{
		plan.Running: "running", plan.CutOff: "cut off", plan.HaltedBack: "ROLLBACK FAILED", plan.OverContinued: "over: CONTINUE to the end",
		plan.OverRolled: "over: ROLLBACK done", plan.OverAbandoned: "over: given up",
	}[l.State]
	if text == "" {
		text = string(l.State)
	}
	if !l.Ended.IsZero() {
		text += ", at " + moment(l.Ended.UnixNano())
	}
	if l.Step != "" {
		text += " at step " + l.Step
	}
	if l.Reason != "" {
		text += ": " + l.Reason
	}
	return text
}

// nextWords says what may be done with a run, "" where nothing need be.
func nextWords(l runIn) string {
	giveUp := fmt.Sprintf("--abandon --run %s --reason TEXT%s", l.Run, ledgerFlag(l.dir))
	switch {
	case l.Resumable:
		return fmt.Sprintf("go on with it: sallyport run PLAN --resume --run %s%s, and --servers and --policy as it was begun; or give it up: %s", l.Run, ledgerFlag(l.dir), giveUp)
	case l.Abandonable:
		return "it cannot be gone on with; give it up: sallyport run PLAN " + giveUp
	case l.State == plan.Running:
		return "wait for it, or end that process: then it can be resumed"
	case l.State == plan.Unreadable:
		return "see what it did, then move its journal away: until then no run begins in this folder"
	}
	return ""
}

// appendRuns spells runs as one JSON object.
func appendRuns(all []runIn) []byte {
	b := []byte(`{"runs":[`)
	for i, l := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = textMember(append(b, '{'), "ledger", l.dir)
		b = textMember(b, "run", l.Run)
		b = textMember(b, "name", l.Name)
		b = textMember(b, "plan", l.Digest)
		b = momentMember(b, "begun", l.Begun)
		b = momentMember(b, "ended", l.Ended)
		b = textMember(b, "step", l.Step)
		b = textMember(b, "reason", l.Reason)
		b = textMember(b, "state", string(l.State))
		b = fmt.Appendf(b, `"resumable":%t,"abandonable":%t}`, l.Resumable, l.Abandonable)
	}
	return append(b, "]}"...)
}

// momentMember is textMember with a time in nanoseconds since the epoch, unless it is the zero time.
func momentMember(b []byte, key string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	return fmt.Appendf(b, `"%s":%d,`, key, t.UnixNano())
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"sallyport/internal/durable"
	"sallyport/internal/mutation"
	"sallyport/internal/plan"
)

// watched runs a plan before the eyes of whoever looks on, and then tells what came of it. What earlier crashes left is settled
// meanwhile.
func (r *planRun) watched(ctx context.Context, run func(context.Context, *plan.Plan) (plan.Report, error), tell func(plan.Report) error) error {
	watcher := newWatcher(r.stdout, r.asJSON, r.plan.Steps())
	_, live := watcher.(*liveTable)
	turned := "" // the step at which it turned back
	r.Watch = func(e plan.Event) {
		if e.Verdict == plan.Rollback && e.Step != "" {
			turned = e.Step
		}
		watcher.see(e)
		if e.What == "ask" && !live { // the table shows it, and is drawn in place
			fmt.Fprintf(r.stderr, "sallyport: step %s waits for a person to agree to %s\nhint: sallyport approvals approve %s%s, or deny\n",
				printable(e.Step), printable(e.Tool), printable(e.Approval), r.ledgerFlag())
		}
	}
	var mending sync.WaitGroup
	mending.Go(func() { r.mend(ctx) })
	report, err := run(ctx, r.plan)
	mending.Wait()
	watcher.end()
	if report.End == plan.RolledBack {
		report.Step = turned
	}
	if err != nil {
		return whatNext(err)
	}
	return tell(report)
}

// ledgerFlag is what names the ledger to another command, where that would not look there by itself.
func (r *planRun) ledgerFlag() string { return ledgerFlag(r.ledger) }

func ledgerFlag(dir string) string {
	if dir == defaultLedgerDir {
		return ""
	}
	return " --ledger " + printable(dir)
}

// whatNext adds what to try where a run cannot begin.
func whatNext(err error) error {
	var unfinished *plan.UnfinishedError
	var none *plan.NoRunError
	const giveUp = "--abandon --reason TEXT"
	switch {
	case errors.As(err, &unfinished) && unfinished.Running, errors.As(err, new(*plan.RunningError)):
		return withHint(err, "wait for it, or end that process: then it can be resumed")
	case errors.As(err, &unfinished) && unfinished.Changed:
		return withHint(err, "look at where it ended, then give it up: "+giveUp+"; only with the plan as it was can it be resumed")
	case errors.As(err, &unfinished):
		return withHint(err, "look at where it ended, then go on with it: --resume; or give it up: "+giveUp)
	case errors.As(err, new(*plan.ChangedError)):
		return withHint(err, "take the plan back to what it was, or give the run up: "+giveUp)
	case errors.As(err, &none):
		return withHint(err, "begin a new run, without --resume; is it the right --ledger?")
	}
	return err
}

// tellRun tells on stderr how a run ended, and what is left for people.
func (r *planRun) tellRun(report plan.Report) error {
	w, why := r.stderr, atStep(report)
	switch report.End {
	case plan.Continued:
		return nil
	case plan.RolledBack:
		fmt.Fprintf(w, "sallyport: ROLLBACK%s; %s\n", why, undoneWords(report))
		r.tellSaid(report)
		return exit(exitRolledBack)
	case plan.RollbackFailed:
		fmt.Fprintf(w, "sallyport: ROLLBACK FAILED%s\n", why)
		r.tellSaid(report)
		r.tellRemains(report)
		if report.Held || report.Doubt != "" {
			fmt.Fprintf(w, "hint: %s\n", r.afterStop(report))
		}
		return exit(exitRollbackFailed)
	}
	fmt.Fprintf(w, "sallyport: STOP%s\n", why)
	r.tellSaid(report)
	r.tellRemains(report)
	fmt.Fprintf(w, "hint: %s\n", r.afterStop(report))
	return exit(exitStopped)
}

// atStep says at which step a run ended, and why.
func atStep(report plan.Report) (text string) {
	if report.Step != "" {
		text = " at step " + printable(report.Step)
	}
	if report.Reason != "" {
		text += ": " + printable(report.Reason)
	}
	return text
}

// undoneWords says what a ROLLBACK came to.
func undoneWords(report plan.Report) string {
	switch {
	case len(report.Stays) > 0 && len(report.Undone) > 0:
		return "undone: " + strings.Join(report.Undone, ", ") + "; " + printable(strings.Join(report.Stays, "; "))
	case len(report.Stays) > 0:
		return printable(strings.Join(report.Stays, "; "))
	case len(report.Undone) > 0:
		return "all that was done is undone"
	}
	return "nothing had been done"
}

// afterStop says what to do about a STOP.
func (r *planRun) afterStop(report plan.Report) string {
	const then = "; then the same command with --resume"
	switch attempt := r.inconclusive(report.Doubt); {
	case report.Held:
		return "look at what is there, then sallyport release --reason TEXT" + r.ledgerFlag() + then
	case attempt != "":
		return fmt.Sprintf("find out at the server whether it was carried out, then sallyport claims resolve %s --as VERDICT --reason TEXT%s"+
			" (committed: it was; absent: it was not, and is sent again)%s", attempt, r.ledgerFlag(), then)
	case report.Denied != "":
		return fmt.Sprintf("nothing was begun: allow %s in the policy (--policy FILE)%s", printable(report.Denied), then)
	}
	return "look at what is there; then the same command with --resume looks again, and goes on from what it sees"
}

// inconclusive returns the attempt under a key that an operator has to settle before the gate can go on with it, "" if there is
// none.
func (r *planRun) inconclusive(key string) string {
	if key == "" {
		return ""
	}
	claims, err := mutation.Find(durable.OS, r.ledger, key)
	if err != nil {
		return "" // the hint is for another time
	}
	for _, f := range claims {
		if f.Principal == r.Caller.Principal && claimState(f) == stateInconclusive {
			return f.Attempt
		}
	}
	return ""
}

func (r *planRun) tellRehearsal(report plan.Report) error {
	if report.End == plan.Continued {
		return nil
	}
	fmt.Fprintf(r.stderr, "sallyport: the rehearsal failed%s; nothing is proved\n", atStep(report))
	r.tellSaid(report)
	r.tellRemains(report)
	switch {
	case report.Denied != "":
		fmt.Fprintf(r.stderr, "hint: nothing was called. A rehearsal needs a policy that allows each call, observation and undo: allow %s (--policy FILE)\n", printable(report.Denied))
	case report.Held:
		fmt.Fprintf(r.stderr, "hint: look at what is there, then sallyport release --reason TEXT%s\n", r.ledgerFlag())
	}
	return exit(exitStopped)
}

// tellSaid tells what the tool said of itself, which decided nothing and may explain much.
func (r *planRun) tellSaid(report plan.Report) {
	if report.Said != "" {
		fmt.Fprintf(r.stderr, "the tool said: %s\n", printable(report.Said))
	}
}

// tellRemains lists what is to be done by hand.
func (r *planRun) tellRemains(report plan.Report) {
	if len(report.Remain) == 0 {
		return
	}
	fmt.Fprintln(r.stderr, "to be looked at and done by hand, in this order:")
	for i, what := range report.Remain {
		fmt.Fprintf(r.stderr, "  %d. %s\n", i+1, printable(what))
	}
}

// giveUp ends a run by an operator's word, who is shown first which it is and what it leaves.
func (o *runOptions) giveUp(_ context.Context, r *planRun) error {
	report, err := r.Look(r.plan, o.run)
	switch {
	case errors.As(err, new(*plan.RunningError)), err != nil && report.Run == "":
		return whatNext(err)
	case err != nil: // it cannot be gone on with either
		report.Reason = err.Error()
	}
	fmt.Fprintf(r.stderr, "run %s%s\n", printable(report.Run), atStep(report))
	r.tellRemains(report)
	if err := confirm(fmt.Sprintf("Give up run %s, with nothing undone, so that a new one may begin?", printable(report.Run))); err != nil {
		return err
	}
	if err := r.Abandon(r.plan, report.Run, o.reason); err != nil {
		return whatNext(err)
	}
	_, err = fmt.Fprintf(r.stdout, "given up: %s; its journal stays in %s\n", report.Run, filepath.Join(r.Dir, report.Run+".jsonl"))
	return err
}

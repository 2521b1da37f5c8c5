package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sallyport/internal/durable"
	"sallyport/internal/gate"
	"sallyport/internal/interlock"
	"sallyport/internal/plan"
)

// The exit codes of plans.
const (
	exitStopped        = 10
	exitRolledBack     = 11
	exitRollbackFailed = 12
)

// runOptions are what run and rehearse are told.
type runOptions struct {
	serveOptions
	asJSON, dryRun, resume, abandon, list bool
	run, reason                           string
}

func newRun() *cobra.Command {
	var opt runOptions
	cmd := &cobra.Command{
		Use:   "run PLAN",
		Short: "Run a plan: execute each step, look what it left, then go on, stop or roll back",
		Long: `Runs the steps of a plan through the gate, one at a time: policy, claims and ledger hold for each call. After each step the
plan's own observation is compared with what the plan expects. CONTINUE: it holds. STOP: it cannot be told, or it does not
hold and a rollback is not safe. ROLLBACK: it certainly does not hold, and the undo of every step so far was rehearsed
(sallyport rehearse); each undo is looked after as well. Every decision is in the ledger.
The run is journaled: one that was stopped or killed is gone on with by --resume, which looks before it repeats anything.
Without --servers the tools are the built-in ones and the ledger is .ledger, as with sallyport serve. At a terminal there is a
live table, elsewhere a JSON object a line. SIGINT and SIGTERM stop the run; it can be resumed.
What earlier crashes left in the ledger's folder is settled meanwhile, and journals of runs that ended more than 30 days ago are
removed.
With --list and no PLAN it shows the runs in the folder of --ledger, else LEDGER_DIR; else in both .ledger and that of wrapped
servers, ~/.local/state/sallyport.
Exit codes: 0 CONTINUE to the end, 10 STOP, 11 ROLLBACK done, 12 ROLLBACK failed: something is left to be done by hand.`,
		Example: `  sallyport run deploy.yaml --servers servers.json --policy policy.yaml --dry-run
  sallyport run deploy.yaml --servers servers.json --policy policy.yaml
  sallyport run --list`,
		Args: func(cmd *cobra.Command, args []string) error {
			if opt.list {
				return nil
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if opt.list {
				return opt.listRuns(cmd, args)
			}
			return opt.begin(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	opt.planFlags(flags)
	flags.BoolVar(&opt.dryRun, "dry-run", false, "show what would be called, and what the policy would say; call nothing")
	flags.BoolVar(&opt.resume, "resume", false, "go on with the run of this plan that is not over")
	flags.BoolVar(&opt.abandon, "abandon", false, "end the run of this plan that is not over, so that a new one may begin; nothing is undone")
	flags.StringVar(&opt.run, "run", "", "with --resume or --abandon, the `ID` of the run (else the newest)")
	flags.StringVar(&opt.reason, "reason", "", "with --abandon, why, a `TEXT` for the record")
	flags.BoolVar(&opt.list, "list", false, "show the runs in the ledger's folder, and what may be done with them; no PLAN is named")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "resume", "abandon")
	return cmd
}

func newRehearse() *cobra.Command {
	var opt runOptions
	cmd := &cobra.Command{
		Use:   "rehearse PLAN",
		Short: "Prove that a plan's steps can be undone, on servers meant for it",
		Long: `Carries out each step of a plan and looks what it left; then undoes each, from the last to the first, and looks again. If all
is as the plan says, that is written into the ledger as a proof for each undo: only with a proof that is not too old does
sallyport run roll back. A proof is for the tool, the undo and the conditions as they are written.
This really calls the tools: name servers that are meant for it, and use ${run.id} in request_ids and names, which keeps the
effects of a rehearsal apart from those of a run. The ledger must be that of the later run.
Exit codes: 0 all of it held, 10 something did not.`,
		Example: `  sallyport rehearse deploy.yaml --servers staging.json --policy policy.yaml --dry-run
  sallyport rehearse deploy.yaml --servers staging.json --policy policy.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return opt.rehearse(cmd, args[0]) },
	}
	opt.planFlags(cmd.Flags())
	cmd.Flags().BoolVar(&opt.dryRun, "dry-run", false, "show what would be called, and what the policy would say; call nothing")
	return cmd
}

func (o *runOptions) planFlags(flags *pflag.FlagSet) {
	o.stateFlags(flags)
	o.maxLine, o.maxCalls = maxLine, maxCalls
	flags.StringVar(&o.servers, "servers", "", "call the tools of the servers of an mcpServers `FILE`, such as .mcp.json")
	flags.BoolVar(&o.builtin, "builtin", false, "with --servers, the built-in tools as well")
	flags.BoolVar(&o.asJSON, "json", false, "print a JSON object a line, at a terminal too")
}

// begin does what run's flags ask for.
func (o *runOptions) begin(cmd *cobra.Command, name string) error {
	o.reason = strings.TrimSpace(o.reason)
	switch {
	case o.run != "" && !o.resume && !o.abandon:
		return withHint(errors.New("--run is for --resume and --abandon"), "see sallyport run --help")
	case o.reason != "" && !o.abandon:
		return withHint(errors.New("--reason is for --abandon"), "see sallyport run --help")
	case o.abandon && o.reason == "":
		return withHint(errors.New("--reason is missing"), "say why this run is given up, and what became of what it did")
	}
	switch {
	case o.dryRun:
		return o.withRunner(cmd, name, o.forecastRun)
	case o.abandon:
		return o.withRunner(cmd, name, o.giveUp)
	}
	return o.withRunner(cmd, name, func(ctx context.Context, r *planRun) error {
		run := r.Run
		if o.resume {
			run = func(ctx context.Context, p *plan.Plan) (plan.Report, error) { return r.Resume(ctx, p, o.run) }
		}
		return r.watched(ctx, run, r.tellRun)
	})
}

func (o *runOptions) rehearse(cmd *cobra.Command, name string) error {
	if o.dryRun {
		return o.withRunner(cmd, name, o.forecastRehearsal)
	}
	return o.withRunner(cmd, name, func(ctx context.Context, r *planRun) error {
		return r.watched(ctx, r.Rehearse, r.tellRehearsal)
	})
}

// planRun is a runner with its plan and where it tells what happens.
type planRun struct {
	*plan.Runner
	plan           *plan.Plan
	mend           func(context.Context) // see serving.mend
	ledger         string                // the folder
	stdout, stderr io.Writer
	asJSON         bool
}

// withRunner reads the plan, puts together the same gate and servers as serve does, and does something with a runner on them.
func (o *runOptions) withRunner(cmd *cobra.Command, name string, do func(context.Context, *planRun) error) (err error) {
	p, err := readPlan(name)
	if err != nil {
		return err
	}
	o.own = append(o.own, name)
	if err := o.readServers(); err != nil {
		return err
	}
	if err := o.settle(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	signals := hearSignals(cancel)
	var background sync.WaitGroup
	defer background.Wait()
	defer signals.close()
	background.Go(func() {
		for range signals.hangup {
			cancel() // the terminal is gone, and with it whoever looks on
		}
	})
	logged := newLogWriter(cmd.ErrOrStderr())
	defer logged.close()
	s, err := newServing(o.serveOptions, slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelWarn})), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.front.Close(), s.stores.close()) }()
	defer s.endsWith(ctx)()
	signals.heard()
	caller := gate.Caller{Principal: "local"}
	tools := s.front.Inside(caller)
	defer tools.Close()
	asks := make(chan plan.Ask, 16)
	tools.Asked = func(a *interlock.Approval) {
		select {
		case asks <- plan.Ask{Approval: a.ID, Expires: time.Unix(0, a.Expires)}:
		default: // nobody can have that many calls under way; the approvals tell of it all the same
		}
	}
	return do(ctx, &planRun{
		Runner: &plan.Runner{
			Tools: tools, Book: s.door, Caller: caller,
			FS: durable.OS, Dir: filepath.Join(o.ledger, runsDir), Asks: asks,
		},
		plan: p, mend: s.mend, ledger: o.ledger, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr(), asJSON: o.asJSON,
	})
}

func readPlan(name string) (*plan.Plan, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, withHint(fmt.Errorf("reading the plan: %w", err), "name a plan's file; docs/reference/plan.md says what is in it")
	}
	return plan.Parse(name, text)
}

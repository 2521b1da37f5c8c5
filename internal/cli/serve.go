package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"sallyport/internal/durable"
	"sallyport/internal/gate"
	"sallyport/internal/gateway"
	"sallyport/internal/hook"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/notes"
	"sallyport/internal/policy"
	"sallyport/internal/wire"
)

type serveOptions struct {
	policy, ledger    string
	checks            checksOptions
	maxLine, maxCalls int
}

func newServe() *cobra.Command {
	var opt serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the gated tools over MCP on stdin and stdout",
		Long: `Serves MCP on stdin and stdout, in both protocol eras: 2026-07-28 without a handshake, and initialize for
2025-11-25, 2025-06-18, 2025-03-26 and 2024-11-05. Every call is decided by the policy, carried out at most once for
each request_id, and recorded in the ledger. Without a policy file a built-in one allows every built-in tool but rm_rf.
SIGHUP loads the policy file again; a bad file keeps the old policy, and sallyport status says so. The server ends,
when what runs is finished, at the end of its input; and at once, with nothing half done, on SIGTERM or SIGINT.
For tests: CRASH_MARKER=FILE lets the first note touch FILE and stand still for 30 s before it is published.`,
		Example: `  sallyport serve --policy policy.json --ledger .ledger`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opt.maxLine <= 0 || opt.maxCalls <= 0 {
				return withHint(errors.New("--max-line and --max-calls must be more than 0"), "see sallyport serve --help")
			}
			opt.policy = setting(opt.policy, "POLICY_PATH", "")
			opt.ledger = setting(opt.ledger, "LEDGER_DIR", defaultLedgerDir)
			return serve(cmd.Context(), opt, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opt.policy, "policy", "", "the policy `FILE` (or POLICY_PATH; else a built-in policy)")
	flags.StringVar(&opt.ledger, "ledger", "", "the `FOLDER` of ledger, claims and notes (or LEDGER_DIR; else .ledger)")
	flags.StringVar(&opt.checks.knowledge, "failure-kb", "", "a `FILE` of calls that fail, added to the built-in ones (or SALLYPORT_FAILURE_KB)")
	flags.StringVar(&opt.checks.skills, "skills", "", "a `FILE` of a project's own skills (or SALLYPORT_SKILLS)")
	flags.IntVar(&opt.maxLine, "max-line", 16<<20, "the longest message in `BYTES`; a longer one is refused, the session goes on")
	flags.IntVar(&opt.maxCalls, "max-calls", 64, "how many calls run at once, a `NUMBER`; others wait")
	return cmd
}

func serve(ctx context.Context, opt serveOptions, stdin io.Reader, stdout, stderr io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := hearSignals(cancel)
	defer signals.close()
	log := slog.New(slog.NewTextHandler(stderr, nil))

	p, err := loadPolicy(opt.policy)
	if err != nil {
		return err
	}
	checks, err := openChecks(opt.checks)
	if err != nil {
		return err
	}
	s, err := openStores(opt.ledger)
	if err != nil {
		return err
	}
	armCrash(s.notes, os.Getenv("CRASH_MARKER"), stderr)
	door := gate.New(p, s.ledger, s.claims, log)
	door.World = *worldOf("")
	if homes := door.World.Homes; len(homes) > 0 {
		door.Limits = interlock.OpenLimits(durable.OS, filepath.Join(hook.StateDir(homes[0]), "limits"))
	}
	tools := slices.Concat(s.notes.Tools(), checks.Tools())
	server := &gateway.Server{Door: door, Tools: tools, Version: Version, Log: log}

	out := newAnswerer(stdout)
	var background sync.WaitGroup
	background.Go(func() {
		present := announce(opt.ledger, p, log)
		defer present.leave()
		out.release() // whoever has an answer finds the server in sallyport status
		for range signals.hangup {
			reloadPolicy(opt.policy, door, server, present, log)
		}
	})
	background.Go(func() {
		out.awaitFirst()
		mend(ctx, s, door, tools, log)
	})
	signals.heard()
	err = server.ServeLines(ctx, stdin, out, wire.Options{MaxLine: opt.maxLine, MaxCalls: opt.maxCalls, Log: log})
	out.done()
	signals.close()
	background.Wait()
	return errors.Join(err, s.close())
}

// mend settles and sweeps up what crashes left behind. Nobody waits for it: a call for a key that
// is not settled yet settles it itself, and a sweep touches nothing of the living.
func mend(ctx context.Context, s *stores, door *gate.Gate, tools []*gate.Tool, log *slog.Logger) {
	if err := door.Recover(ctx, tools); err != nil && ctx.Err() == nil {
		log.Error("what an earlier crash left could not all be settled", "error", err)
	}
	if err := s.notes.Sweep(); err != nil {
		log.Error("what an earlier crash left could not all be swept up", "error", err)
	}
}

// loadPolicy reads a policy file; no name is the built-in policy. The machine's own file counts besides, if there is one.
func loadPolicy(name string) (*policy.Policy, error) {
	p, err := loadNamed(name)
	if err != nil {
		return nil, err
	}
	managed, err := hook.LoadManaged(durable.OS)
	if err != nil {
		return nil, err
	}
	if managed == nil {
		return p, nil
	}
	return policy.Combine(policy.Layer{Policy: p, Level: policy.Named}, policy.Layer{Policy: managed, Level: policy.Managed}), nil
}

func loadNamed(name string) (*policy.Policy, error) {
	if name == "" {
		return policy.Builtin(), nil
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, withHint(fmt.Errorf("reading the policy: %w", err), "name a policy file with --policy or POLICY_PATH, or neither for the built-in policy")
	}
	return policy.Parse(name, text)
}

// reloadPolicy swaps the policy for what its file says now. A bad file changes nothing, but is
// told on stderr and, for as long as it is bad, by sallyport status.
func reloadPolicy(name string, door *gate.Gate, server *gateway.Server, present *presence, log *slog.Logger) {
	p, err := loadPolicy(name)
	if err != nil {
		log.Error("the policy was NOT loaded again, the old one goes on deciding", "error", err, "hint", hintOf(err))
		present.tell(door.Policy(), staleness{err: err.Error(), since: time.Now()})
		return
	}
	door.SetPolicy(p)
	server.Refresh()
	log.Info("the policy was loaded again", "policy", p.Name(), "sha256", p.Digest())
	present.tell(p, staleness{})
}

// stores is the state of a ledger's folder.
type stores struct {
	ledger *ledger.Ledger
	claims *mutation.Claims
	notes  *notes.Notes
}

// openStores opens or makes the folder. Claims that should be there and are not, and a platform
// that cannot keep them, do not stop a server: it refuses the calls and says why.
func openStores(dir string) (*stores, error) {
	if err := durable.OS.OwnDir(dir); err != nil {
		return nil, withHint(fmt.Errorf("opening the ledger's folder: %w", err), "name another folder with --ledger or LEDGER_DIR")
	}
	s := &stores{}
	var err error
	if s.notes, err = notes.Open(durable.OS, dir); err != nil && !errors.Is(err, durable.ErrUnsupported) {
		return nil, err
	}
	s.claims, err = mutation.Open(durable.OS, dir, func() (bool, error) {
		held, err := ledger.HoldsMutations(filepath.Join(dir, ledger.FileName))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return held, err
	})
	if errors.Is(err, mutation.ErrLost) || errors.Is(err, durable.ErrUnsupported) {
		s.claims, err = mutation.Refusing(err), nil
	}
	if err != nil {
		return nil, err
	}
	s.ledger, err = openLedger(dir, s.claims)
	if err != nil {
		return nil, errors.Join(err, s.claims.Close())
	}
	return s, nil
}

// openLedger opens the ledger, unless it lost whole records that its claims know of. One whose last
// line was cut short is mended by the next writer, and what the claims remember of it is recorded again.
func openLedger(dir string, claims *mutation.Claims) (*ledger.Ledger, error) {
	// The claims were looked at before: a peer may be at work, and what they said is in the ledger by now.
	found, err := durable.Peek(durable.OS, filepath.Join(dir, ledger.FileName))
	if err != nil {
		return nil, err
	}
	switch known := claims.LedgerEnd(); {
	case found.End >= known:
	case found.End == found.Size:
		return ledger.Refusing(fmt.Errorf("%d bytes, and there were %d: %w", found.Size, known, mutation.ErrLedgerLost)), nil
	default:
		claims.Doubt(found.End)
	}
	l, err := ledger.Open(durable.OS, dir)
	if errors.Is(err, durable.ErrUnsupported) {
		return ledger.Refusing(err), nil
	}
	return l, err
}

func (s *stores) close() error { return errors.Join(s.claims.Close(), s.ledger.Close()) }

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

	"github.com/spf13/cobra"

	"sallyport/internal/durable"
	"sallyport/internal/hook"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/notes"
	"sallyport/internal/policy"
	"sallyport/internal/servers"
)

type serveOptions struct {
	gateOptions
	checks         checksOptions
	servers        string
	builtin        bool
	notes          []string // what was passed over in the servers file
	http, tokens   string
	origins, hosts []string
}

func newServe() *cobra.Command {
	var opt serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve gated tools over MCP: our own, or those of other servers",
		Long: `Serves MCP on stdin and stdout, or over HTTP, in both protocol eras: 2026-07-28 without a handshake, and initialize for
2025-11-25, 2025-06-18, 2025-03-26 and 2024-11-05. Every call is decided by the policy, carried out at most once for
each request_id, and recorded in the ledger. Without a policy file a built-in one allows every built-in tool but rm_rf
and erase_note.
With --servers it stands in front of the servers of that file, which is the mcpServers JSON that every client has: of one
server the names are unchanged, of several a tool is SERVER__TOOL. Without --policy the user's and the project's policies
and the starter pack count then, as in a hook, and the ledger is in ~/.local/state/sallyport.
SIGHUP loads the policy, the pins and the tokens again; a bad file keeps the old one, and sallyport status says so. The
server ends, when what runs is finished, at the end of its input; and at once, with nothing half done, on SIGTERM or SIGINT.
For tests: CRASH_MARKER=FILE lets the first note touch FILE and stand still for 30 s before it is published.`,
		Example: `  sallyport serve --policy policy.json --ledger .ledger
  sallyport serve --servers .mcp.json --http 127.0.0.1:8080 --tokens tokens.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opt.readServers(); err != nil {
				return err
			}
			return opt.run(cmd)
		},
	}
	flags := cmd.Flags()
	opt.gateFlags(flags)
	flags.StringVar(&opt.checks.knowledge, "failure-kb", "", "a `FILE` of calls that fail, added to the built-in ones (or SALLYPORT_FAILURE_KB)")
	flags.StringVar(&opt.checks.skills, "skills", "", "a `FILE` of a project's own skills (or SALLYPORT_SKILLS)")
	flags.StringVar(&opt.servers, "servers", "", "stand in front of the servers of an mcpServers `FILE`, such as .mcp.json")
	flags.BoolVar(&opt.builtin, "builtin", false, "with --servers, serve the built-in tools as well")
	flags.StringVar(&opt.http, "http", "", "serve streamable HTTP at this `ADDRESS`, such as 127.0.0.1:8080, instead of stdin and stdout")
	flags.StringVar(&opt.tokens, "tokens", "", "with --http, a `FILE` of bearer tokens (see sallyport token); needed where other machines can connect")
	flags.StringArrayVar(&opt.origins, "origin", nil, "with --http, a web page's `ORIGIN` that may connect, such as https://app.example.com")
	flags.StringArrayVar(&opt.hosts, "host", nil, "with --http, a `NAME` in Host under which we are reached, besides localhost")
	return cmd
}

// readServers reads the file of --servers.
func (o *serveOptions) readServers() error {
	switch {
	case o.http == "" && (o.tokens != "" || len(o.origins) > 0 || len(o.hosts) > 0):
		return withHint(errors.New("--tokens, --origin and --host are for --http"), "see sallyport serve --help")
	case o.servers == "" && o.builtin:
		return withHint(errors.New("--builtin is for --servers"), "without --servers the built-in tools are all there is")
	case o.servers == "":
		o.builtin = true
		return nil
	}
	o.own, o.lockDir = append(o.own, o.servers), filepath.Dir(o.servers)
	if o.tokens != "" {
		o.own = append(o.own, o.tokens)
	}
	file, err := servers.Load(o.servers)
	if err != nil {
		return serversError(err)
	}
	o.behind, o.notes = file.Servers, file.Notes
	return nil
}

// run completes the options and serves.
func (o *serveOptions) run(cmd *cobra.Command) error {
	if err := o.settle(); err != nil {
		return err
	}
	return serve(cmd.Context(), *o, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
}

func serve(ctx context.Context, opt serveOptions, stdin io.Reader, stdout, stderr io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := hearSignals(cancel)
	defer signals.close()
	logged := newLogWriter(stderr)
	defer logged.close()
	log := slog.New(slog.NewTextHandler(logged, nil))
	s, err := newServing(opt, log, stderr)
	if err != nil {
		return err
	}
	return s.run(ctx, signals, stdin, stdout, stderr)
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
	s.claims, err = mutation.Open(durable.OS, dir, func() (bool, error) { return holdsMutations(dir) })
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

// holdsMutations reports whether the ledger of a folder tells of mutations, so that it was written with claims. A folder
// without a ledger holds none.
func holdsMutations(dir string) (bool, error) {
	held, err := ledger.HoldsMutations(filepath.Join(dir, ledger.FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return held, err
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

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"sallyport/internal/durable"
	"sallyport/internal/hook"
	"sallyport/internal/pin"
	"sallyport/internal/policy"
	"sallyport/internal/upstream"
)

// gateOptions are what serve, wrap, run and rehearse have in common.
type gateOptions struct {
	policy, ledger, lock         string
	maxLine, maxCalls, maxResult int

	behind  []upstream.Config // the servers that we stand in front of
	own     []string          // files of the command line's, that no call may write to
	lockDir string            // where the lock file is that no flag names
}

func (o *gateOptions) gateFlags(flags *pflag.FlagSet) {
	o.stateFlags(flags)
	flags.IntVar(&o.maxLine, "max-line", maxLine, "the longest message of a client in `BYTES`; a longer one is refused, the session goes on")
	flags.IntVar(&o.maxCalls, "max-calls", maxCalls, "how many calls of built-in tools run at once, a `NUMBER`; others wait")
}

// The limits where no flag says otherwise.
const (
	maxLine  = 16 << 20
	maxCalls = 64
)

// stateFlags are those of gateFlags that are not about clients.
func (o *gateOptions) stateFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.policy, "policy", "", "the policy `FILE` (or POLICY_PATH)")
	flags.StringVar(&o.ledger, "ledger", "", "the `FOLDER` of ledger and claims (or LEDGER_DIR)")
	flags.StringVar(&o.lock, "lock", "", "the `FILE` of pinned definitions (else sallyport.lock beside the servers' file or in the working folder, if there is one)")
	flags.IntVar(&o.maxResult, "max-result", 64<<20, "the longest message of an upstream server in `BYTES`; a longer one costs its call only")
}

// settle completes the options from the environment.
func (o *gateOptions) settle() error {
	if o.maxLine <= 0 || o.maxCalls <= 0 || o.maxResult <= 0 {
		return withHint(errors.New("--max-line, --max-calls and --max-result must be more than 0"), "see --help")
	}
	o.policy = setting(o.policy, "POLICY_PATH", "")
	fallback := defaultLedgerDir
	if len(o.behind) > 0 {
		home, err := os.UserHomeDir()
		if err != nil && o.ledger == "" {
			return withHint(fmt.Errorf("looking for the state folder: %w", err), "name the ledger's folder with --ledger")
		}
		fallback = hook.StateDir(home)
	}
	o.ledger = setting(o.ledger, "LEDGER_DIR", fallback)
	return nil
}

// loadPolicy reads what decides.
func (o *gateOptions) loadPolicy() (*policy.Policy, error) {
	if len(o.behind) == 0 {
		return loadPolicy(o.policy)
	}
	return o.loadGuarding()
}

// loadGuarding reads what decides over the tools of others: the policy that was named, or those that a hook would find, and
// the rules that protect what is our own.
func (o *gateOptions) loadGuarding() (*policy.Policy, error) {
	world := worldOf("")
	places := hook.Places{Managed: hook.ManagedPolicy(), Homes: world.Homes, Dir: world.Dir, Own: absolute(append(o.own, o.lockFile()))}
	if len(world.Homes) > 0 {
		places.State = hook.StateDir(world.Homes[0])
	}
	if program, err := os.Executable(); err == nil {
		places.Program = program
	}
	var err error
	if places.Ledger, err = filepath.Abs(o.ledger); err != nil {
		return nil, err
	}
	if o.policy != "" {
		if places.Named, err = filepath.Abs(o.policy); err != nil {
			return nil, err
		}
		if _, err := os.Stat(places.Named); err != nil {
			return nil, withHint(fmt.Errorf("reading the policy: %w", err), "name a policy file with --policy or POLICY_PATH, or neither for the starter pack")
		}
	}
	loaded, err := hook.Load(durable.OS, places)
	return loaded.Policy, err
}

func absolute(names []string) []string {
	var all []string
	for _, name := range names {
		if path, err := filepath.Abs(name); err == nil {
			all = append(all, path)
		}
	}
	return all
}

// lockName is the usual name of the file of pinned definitions.
const lockName = pin.FileName

// lockFile is the file of pinned definitions; the usual one is beside the servers' file, or in the working folder.
func (o *gateOptions) lockFile() string {
	if o.lock != "" {
		return o.lock
	}
	return filepath.Join(o.lockDir, lockName)
}

// loadLock reads the pinned definitions. Without a name, and without a file of the usual name, nothing is pinned.
func (o *gateOptions) loadLock() (*pin.Lock, error) {
	lock, err := pin.Read(o.lockFile())
	switch {
	case err == nil:
		return lock, nil
	case o.lock == "" && errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, withHint(err, "make it with sallyport pin")
	}
	return nil, err
}

// upstreams are the servers behind us, none of them started.
func (o *gateOptions) upstreams(log *slog.Logger) []*upstream.Server {
	var all []*upstream.Server
	for _, config := range o.behind {
		config.MaxMessage, config.Log = o.maxResult, log
		all = append(all, upstream.New(config))
	}
	return all
}

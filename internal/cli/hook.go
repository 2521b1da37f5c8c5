package cli

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sallyport/internal/hook"
)

// maxDeadline is the longest deadline that a hook may be given: hosts give up on hooks, and then let calls pass.
const maxDeadline = 30 * time.Second

func newHook() *cobra.Command {
	var opt hook.Options
	cmd := &cobra.Command{
		Use:       "hook HOST",
		Short:     "Decide one call of a coding agent, as its hook",
		ValidArgs: hook.Hosts(),
		Long: `Reads one event of a coding agent's hook on stdin, decides, answers in that host's own way, and records the decision.
Hosts are ` + strings.Join(hook.Hosts(), ", ") + `. It fails closed: whatever goes wrong, and at the deadline, the
host is told to deny. Neither POLICY_PATH, LEDGER_DIR nor SALLYPORT_* in the environment count here, since a repository
can set a host's environment. "sallyport install HOST" writes the command line into the host's settings.`,
		Example: `  sallyport hook claude < event.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.Host = args[0]
			return exit(startHook(opt, time.Now(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opt.Policy, "policy", "", "the policy `FILE`, instead of the user's, the project's and the starter pack")
	flags.StringVar(&opt.Ledger, "ledger", "", "the ledger's `FOLDER` (else ~/.local/state/sallyport)")
	flags.BoolVar(&opt.Checks, "checks", false, "the pre-tool checks count as well")
	flags.DurationVar(&opt.Deadline, "deadline", hook.DefaultDeadline, "when to deny if there is no decision yet, a `TIME`")
	return cmd
}

// hookMain answers "sallyport hook ..." without building the whole command line, since it is a new process for each call of
// a tool. It reports false where the help is asked for.
//
// Whatever is wrong ends with exit code 2 and a text on stderr, which every host takes for a block.
func hookMain(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int, ok bool) {
	if len(args) == 0 || args[0] != "hook" {
		return 0, false
	}
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "sallyport: the hook failed, so the call must not run: %.200v\n", p)
			code, ok = exitError, true
		}
	}()
	opt, help, err := parseHook(args[1:])
	if help {
		return 0, false
	}
	if err != nil {
		fmt.Fprintf(stderr, "sallyport: %v\nhint: see sallyport hook --help\n", err)
		hook.Drain(stdin, hook.DefaultDeadline)
		return exitError, true
	}
	return startHook(opt, start, stdin, stdout, stderr), true
}

// startHook answers one event.
func startHook(opt hook.Options, start time.Time, stdin io.Reader, stdout, stderr io.Writer) int {
	// To some hosts a hook that was killed has allowed the call. The deadline ends us soon enough. A host that is gone shows
	// as a failed write.
	signal.Ignore(syscall.SIGHUP, os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGALRM)
	debug.SetGCPercent(400) // we live for milliseconds
	return hook.Run(opt, hook.System{Stdin: stdin, Stdout: stdout, Stderr: stderr, Env: os.Getenv, Start: start})
}

// parseHook reads the arguments of hook as cobra would.
func parseHook(args []string) (opt hook.Options, help bool, err error) {
	opt.Deadline = hook.DefaultDeadline
	var hosts []string
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			hosts = append(hosts, arg)
			continue
		}
		if arg == "--" {
			hosts = append(hosts, args...)
			break
		}
		name, value, given := strings.Cut(arg, "=")
		switch name {
		case "-h", "--help":
			return opt, true, nil
		case "--checks":
			if opt.Checks, err = parseSwitch(value, given); err != nil {
				return opt, false, err
			}
			continue
		case "--policy", "--ledger", "--deadline":
		default:
			return opt, false, fmt.Errorf("unknown flag: %.60s", name)
		}
		if !given {
			if len(args) == 0 {
				return opt, false, fmt.Errorf("flag needs an argument: %s", name)
			}
			value, args = args[0], args[1:]
		}
		if err := setHook(&opt, name, value); err != nil {
			return opt, false, err
		}
	}
	if len(hosts) != 1 {
		return opt, false, fmt.Errorf("accepts 1 host, received %d", len(hosts))
	}
	opt.Host = hosts[0]
	return opt, false, nil
}

func parseSwitch(value string, given bool) (bool, error) {
	switch {
	case !given, value == "true":
		return true, nil
	case value == "false":
		return false, nil
	}
	return false, fmt.Errorf("--checks is true or false, not %.60q", value)
}

// setHook sets a flag that has a value. An empty one is a mistake: of a variable that was not set, most likely.
func setHook(opt *hook.Options, name, value string) error {
	if value == "" {
		return fmt.Errorf("%s is empty", name)
	}
	switch name {
	case "--policy":
		opt.Policy = value
	case "--ledger":
		opt.Ledger = value
	default:
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > maxDeadline {
			return fmt.Errorf("--deadline is a time such as 250ms, more than 0 and at most %v, not %.60q", maxDeadline, value)
		}
		opt.Deadline = d
	}
	return nil
}

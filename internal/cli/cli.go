// Package cli is the command line: it reads flags and the environment, wires the packages
// together, and turns errors into one line with a hint and an exit code.
//
// Exit codes, for all commands: 0 done, 1 the answer is no (a ledger that does not verify, a demo
// that failed), 2 the command could not do its work (usage, configuration, files), 3 a ledger
// whose only fault is a torn tail. Those of plans are 10 STOP, 11 ROLLBACK done, 12 ROLLBACK failed.
package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
)

// Version is the program's version.
const Version = "0.1.0"

const (
	exitNo    = 1
	exitError = 2
	exitTorn  = 3
)

// exit is an error that has been told to the user already; only the code is left.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// hinted is an error with what to try.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

func withHint(err error, hint string) error { return &hinted{err, hint} }

// Main runs the command line and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if code, ok := hookMain(args, stdin, stdout, stderr); ok {
		return code
	}
	root := newRoot(args)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	var code exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(stderr, "sallyport: %v\n", err)
	if hint := hintOf(err); hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", hint)
	}
	return exitError
}

// command is what can be said after sallyport.
type command struct {
	name string
	make func() *cobra.Command
}

var commands = []command{
	{"serve", newServe}, {"wrap", newWrap}, {"verify", newVerify}, {"stats", newStats}, {"show", newShow}, {"status", newStatus},
	{"claims", newClaims}, {"canon", newCanon}, {"session", newSession}, {"hook", newHook}, {"demo", newDemo}, {"run", newRun},
	{"rehearse", newRehearse}, {"release", newRelease}, {"approvals", newApprovals}, {"policy", newPolicy}, {"install", newInstall},
	{"uninstall", newUninstall}, {"doctor", newDoctor}, {"trust", newTrust}, {"pin", newPin}, {"token", newToken}, {"version", newVersion},
}

// newRoot makes the command line for arguments. Where they begin with a command no other one is made: to make all of them would
// take a good part of the time in which a server starts.
func newRoot(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "sallyport",
		Short:         "The gate between an AI agent and its tools",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
	}
	// Not cobra's own --version: its template links all methods of all types, which every start pays for.
	version := root.Flags().BoolP("version", "v", false, "version for sallyport")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			printVersion(cmd)
			return nil
		}
		return cmd.Help()
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return withHint(err, fmt.Sprintf("see %s --help", cmd.CommandPath()))
	})
	wanted := commands
	if i := slices.IndexFunc(commands, func(c command) bool { return len(args) > 0 && c.name == args[0] }); i >= 0 {
		wanted = commands[i : i+1]
	}
	for _, c := range wanted {
		root.AddCommand(c.make())
	}
	hintAtArgs(root)
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { printVersion(cmd) },
	}
}

func printVersion(cmd *cobra.Command) { fmt.Fprintf(cmd.OutOrStdout(), "sallyport %s\n", Version) }

// hintAtArgs lets every command answer wrong arguments with where to read about the right ones.
func hintAtArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return withHint(err, fmt.Sprintf("see %s --help", cmd.CommandPath()))
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		hintAtArgs(sub)
	}
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"sallyport/internal/policy"
)

func newPolicy() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Check, explain, test, begin and suggest policies",
		Long: `Works on policy files (docs/reference/policy.md), without a server and without a hook: nothing is decided and nothing
is recorded.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyCheck(), newPolicyExplain(), newPolicyTest(), newPolicyInit(), newPolicySuggest())
	return cmd
}

func newPolicyCheck() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Check policy files: what is wrong, and what is hardly meant",
		Long: `Reads policy files as a server or a hook would, with all of their expressions, and says what is wrong: the first error
of each file, with its place and what to try. It warns of what is no error but hardly meant: rules that can never decide,
names of tools and arguments that no known tool has, keys that have no effect.
Exit code 0: no errors. 1: a file has an error, or with --strict a warning. 2: a file could not be read.`,
		Example: `  sallyport policy check .sallyport/policy.yaml`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			good := true
			for _, name := range args {
				ok, err := checkPolicy(cmd.OutOrStdout(), name)
				if err != nil {
					return err
				}
				good = good && (ok == 0 || ok == warned && !strict)
			}
			if !good {
				return exit(exitNo)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "a warning is an error")
	return cmd
}

// finding is the worst that was found in a file.
type finding int

const (
	warned finding = iota + 1
	wrong
)

// checkPolicy prints what is to be said of a file.
func checkPolicy(w io.Writer, name string) (finding, error) {
	text, err := readPolicyFile(name)
	if err != nil {
		return 0, err
	}
	p, warnings, err := policy.Check(name, text, knownTools())
	var fault *policy.Error
	switch {
	case errors.As(err, &fault):
		fmt.Fprintf(w, "%v\n", fault)
		printHint(w, fault.Hint)
		return wrong, nil
	case err != nil:
		return 0, err
	}
	for _, warning := range warnings {
		fmt.Fprintf(w, "%s:%d:%d: warning: %s\n", name, warning.Line, warning.Col, warning.Msg)
		printHint(w, warning.Hint)
	}
	fmt.Fprintf(w, "%s: good, version %d, sha256 %s\n", name, p.Version(), p.Digest())
	if len(warnings) > 0 {
		return warned, nil
	}
	return 0, nil
}

func printHint(w io.Writer, hint string) {
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
}

func readPolicyFile(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, withHint(fmt.Errorf("reading the policy: %w", err), `"sallyport policy init" writes one to begin with`)
	}
	return text, nil
}

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sallyport/internal/policy"
)

func newPolicyInit() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a commented policy to begin with",
		Long: `Writes the rules of the starter pack as a policy file with comments, to change as you like. The pack itself goes on
applying beside your file until that says "starter: off". An existing file is never overwritten.`,
		Example: `  sallyport policy init --output .sallyport/policy.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output == "-" {
				_, err := cmd.OutOrStdout().Write(policy.StarterText())
				return err
			}
			if err := writeNew(output, policy.StarterText()); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n", output)
			return err
		},
	}
	cmd.Flags().StringVar(&output, "output", "policy.yaml", "the `FILE` to write; - is stdout")
	return cmd
}

// writeNew writes a file that must not be there yet, and makes the folder that it is in.
func writeNew(name string, text []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return withHint(err, "name another file with --output")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(text)
	return err
}

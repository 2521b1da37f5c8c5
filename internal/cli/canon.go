package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
)

func newCanon() *cobra.Command {
	return &cobra.Command{
		Use:   "canon",
		Short: "Read JSON on stdin, write its canonical bytes on stdout",
		Long: `Reads one JSON value on stdin and writes its canonical bytes, without a newline, on stdout: the spelling
that the ledger's hashes and all digests are made of. It is that of Python's
json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False) in UTF-8.
Refused: what is not JSON (NaN and Infinity are not), duplicate keys, invalid UTF-8, lone surrogates,
nesting deeper than 128, integers of more than 4300 digits, numbers that overflow to infinity.`,
		Example: `  echo '{"b":1.0,"a":"\u00e9"}' | sallyport canon`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := io.ReadAll(cmd.InOrStdin())
			if err != nil {
				return fmt.Errorf("reading stdin: %w", err)
			}
			out, err := canon.Canonical(text)
			var refused *canon.Error
			if errors.As(err, &refused) && refused.Malformed() {
				return fmt.Errorf("not JSON: %w", err)
			}
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(out)
			return err
		},
	}
}

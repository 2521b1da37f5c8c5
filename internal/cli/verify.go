package cli

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
	"sallyport/internal/ledger"
)

func newVerify() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [PATH]",
		Short: "Check a ledger: whole, tampered or torn",
		Long: `Checks every line of a ledger in one pass over its bytes: canonical spelling, link to the line before, hash.
PATH is the ledger's folder or file; else LEDGER_DIR, else .ledger.
Exit code 0: whole. 1: tampered; the first bad line and what is wrong with it are named. 3: whole but for a torn
last line, a crash's residue that the next writer mends. 2: it could not be read.
A chain cannot show that whole records are missing at its end, or that all of it was rewritten: keep the head elsewhere.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := ledgerFile(args, "")
			if err != nil {
				return err
			}
			verdict, err := verifyFile(path)
			if err != nil {
				return err
			}
			printVerdict(cmd.OutOrStdout(), path, verdict, asJSON)
			switch {
			case verdict.OK:
				return nil
			case verdict.Kind == ledger.TornTail:
				return exit(exitTorn)
			}
			return exit(exitNo)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the verdict as JSON")
	return cmd
}

func verifyFile(path string) (ledger.Verdict, error) {
	f, err := ledger.Snapshot(path)
	if err != nil {
		return ledger.Verdict{}, err
	}
	defer f.Close()
	verdict, err := ledger.Verify(f)
	if err != nil {
		return ledger.Verdict{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return verdict, nil
}

func printVerdict(w io.Writer, path string, v ledger.Verdict, asJSON bool) {
	if asJSON {
		line, kind := "null", "null"
		if !v.OK {
			line, kind = strconv.FormatInt(v.FirstBadLine, 10), string(canon.AppendString(nil, string(v.Kind)))
		}
		fmt.Fprintf(w, `{"ok":%t,"records":%d,"head_sha256":"%s","first_bad_line":%s,"kind":%s}`+"\n",
			v.OK, v.Records, v.Head, line, kind)
		return
	}
	switch {
	case v.OK:
		fmt.Fprintf(w, "whole: %d records in %s\nhead %s\n", v.Records, path, v.Head)
	case v.Kind == ledger.TornTail:
		fmt.Fprintf(w, "torn tail: %d whole records in %s, then line %d without a newline: a crash cut it short, and the next writer mends it\nhead %s\n",
			v.Records, path, v.FirstBadLine, v.Head)
	default:
		fmt.Fprintf(w, "tampered: line %d of %s: %s; the %d records before it are whole\nhead %s\n",
			v.FirstBadLine, path, v.Kind, v.Records, v.Head)
	}
}

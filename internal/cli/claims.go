package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
)

// The states of a claim that are no outcomes of the ledger's.
const (
	stateInconclusive = "inconclusive" // an upstream's call was begun, and nobody can know whether it was carried out
	stateInFlight     = "in_flight"    // a server is at it
	stateUnsettled    = "unsettled"    // one of our own tools was cut off; the next call or start settles it
	stateAbandoned    = "abandoned"    // an operator gave it up
)

// claimStates are those that claims list can be asked for.
var claimStates = []string{stateInconclusive, stateInFlight, stateUnsettled, stateAbandoned,
	string(ledger.Committed), string(ledger.Failed), string(ledger.Forwarded), string(ledger.Replay)}

func newClaims() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "claims",
		Short: "See and settle what was begun for each request_id",
		Long: `Shows the claims: what was begun for each request_id, and what came of it. A call to a server behind the gate that a
crash or a lost connection cut off is inconclusive: it may have been carried out, and is not sent again by itself.
A person finds out which, and settles it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newClaimsList(), newClaimsShow(), newClaimsResolve())
	return cmd
}

func newClaimsList() *cobra.Command {
	var dir, state string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the claims",
		Long: `Lists the claims in the order in which they came to their state: inconclusive, in_flight, unsettled (one of sallyport's
own tools was cut off; the next call or start settles it), committed, failed (the server behind the gate said so),
forwarded (it wanted something first, or goes on by itself), replay, abandoned.
The ledger's folder is --ledger, else LEDGER_DIR, else .ledger, else that of wrapped servers, ~/.local/state/sallyport.`,
		Example: "  sallyport claims list --state inconclusive",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if state != "" && !slices.Contains(claimStates, state) {
				return withHint(fmt.Errorf("there is no state %q", state), "the states are "+strings.Join(claimStates, ", "))
			}
			wanted := func(f mutation.Found) bool { return state == "" || claimState(f) == state }
			_, err := writeClaims(cmd.OutOrStdout(), dir, asJSON, wanted, writeClaim)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dir, "ledger", "", "the ledger's `FOLDER`")
	flags.StringVar(&state, "state", "", "only claims in this `STATE`")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newClaimsShow() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show REQUEST_ID|ATTEMPT",
		Short: "Show what is known of a request or of one attempt",
		Long: `Shows every claim with this request_id or this attempt, and what can be done where it is inconclusive. Arguments and
answers are not shown, only their SHA-256: what was sent is for whoever sent it.
The ledger's folder is --ledger, else LEDGER_DIR, else .ledger, else that of wrapped servers, ~/.local/state/sallyport. Exit code 1: nothing is known.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted := func(f mutation.Found) bool { return f.ID == args[0] || f.Attempt == args[0] }
			whole := func(w io.Writer, f mutation.Found) error { return writeClaimWhole(w, dir, f) }
			found, err := writeClaims(cmd.OutOrStdout(), dir, asJSON, wanted, whole)
			if err == nil && found == 0 {
				return exit(exitNo)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "ledger", "", "the ledger's `FOLDER`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// claimState is a claim's state in a word.
func claimState(f mutation.Found) string {
	switch {
	case f.State == mutation.Done && f.Outcome == string(ledger.Inconclusive):
		return stateAbandoned
	case f.State == mutation.Done:
		return f.Outcome
	case f.InFlight:
		return stateInFlight
	case f.Upstream != "":
		return stateInconclusive
	}
	return stateUnsettled
}

// writeClaims writes those claims of a folder that are wanted, and returns how many there were.
func writeClaims(w io.Writer, dir string, asJSON bool, wanted func(mutation.Found) bool, write func(io.Writer, mutation.Found) error) (int, error) {
	dir, err := claimsFolder(dir)
	if err != nil {
		return 0, err
	}
	before, between, after := "", "", ""
	if asJSON {
		before, between, after, write = `{"claims":[`, ",", "]}\n", writeClaimJSON
	}
	found := 0
	fmt.Fprint(w, before)
	err = mutation.Each(durable.OS, dir, func(f mutation.Found) error {
		if !wanted(f) {
			return nil
		}
		if found++; found > 1 {
			fmt.Fprint(w, between)
		}
		return write(w, f)
	})
	if err != nil {
		return found, withHint(err, "restore the folder as a whole")
	}
	if found == 0 && !asJSON {
		fmt.Fprintf(w, "there is no such claim in %s\n", dir)
	}
	_, err = fmt.Fprint(w, after)
	return found, err
}

// writeClaim writes a claim on one line. Names and request_ids are others' text, and so quoted.
func writeClaim(w io.Writer, f mutation.Found) error {
	_, err := fmt.Fprintf(w, "%-12s  %s  %s  %s  %.80q\n", claimState(f), claimTime(f), f.Attempt, toolWords(f), f.ID)
	return err
}

// claimTime is when a claim was begun, or a dash in a claim of an older release.
func claimTime(f mutation.Found) string {
	if f.Time == 0 {
		return "-"
	}
	return time.Unix(0, f.Time).UTC().Format(time.RFC3339)
}

func toolWords(f mutation.Found) string {
	words := fmt.Sprintf("%q", f.Tool)
	if f.Upstream != "" {
		words += fmt.Sprintf(" of %q", f.Upstream)
	}
	if f.Principal != "local" {
		words += fmt.Sprintf(" for %q", f.Principal)
	}
	return words
}

// writeClaimWhole writes all that is known of a claim, and, of an inconclusive one, what the ledger knows.
func writeClaimWhole(w io.Writer, dir string, f mutation.Found) error {
	if err := writeFacts(w, f); err != nil {
		return err
	}
	state := claimState(f)
	recorded := false
	if state == stateInconclusive {
		var err error
		if recorded, err = recordedAsCommitted(dir, f.Attempt); err != nil {
			return withHint(fmt.Errorf("looking for the attempt in the ledger: %w", err), "restore the folder as a whole")
		}
	}
	switch {
	case recorded:
		fmt.Fprintf(w, "ledger      committed: it was carried out, and a crash took its answer\n"+
			"what now    sallyport claims resolve %s --as committed --reason TEXT   retries hear so\n", f.Attempt)
	case state == stateInconclusive:
		fmt.Fprintf(w, "what now    find out at the server whether it was carried out, then one of\n"+
			"            sallyport claims resolve %[1]s --as committed --reason TEXT   it was: retries hear so\n"+
			"            sallyport claims resolve %[1]s --as absent --reason TEXT      it was not: a retry is sent\n"+
			"            sallyport claims resolve %[1]s --as abandoned --reason TEXT   nobody can tell: retries are refused\n", f.Attempt)
	case state == stateUnsettled:
		fmt.Fprintln(w, "what now    nothing: the next call with this request_id, or the next start of a server, settles it")
	}
	_, err := fmt.Fprintln(w)
	return err
}

// recordedAsCommitted reports whether the ledger of a folder of claims has an attempt as committed.
func recordedAsCommitted(dir, attempt string) (recorded bool, err error) {
	dir, err = claimsFolder(dir)
	if err != nil {
		return false, err
	}
	r, err := ledger.Snapshot(filepath.Join(dir, ledger.FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer r.Close()
	err = ledger.Read(r, func(line canon.Value) error {
		of, _ := line.Get("attempt").Text()
		outcome, _ := line.Get("outcome").Text()
		recorded = recorded || of == attempt && outcome == string(ledger.Committed)
		return nil
	})
	return recorded, err
}

// writeFacts writes what is known of a claim, one fact a line.
func writeFacts(w io.Writer, f mutation.Found) error {
	fmt.Fprintf(w, "state       %s\n", claimState(f))
	fmt.Fprintf(w, "attempt     %s\n", f.Attempt)
	fmt.Fprintf(w, "begun       %s\n", claimTime(f))
	fmt.Fprintf(w, "tool        %q\n", f.Tool)
	if f.Upstream != "" {
		fmt.Fprintf(w, "server      %q\n", f.Upstream)
	}
	fmt.Fprintf(w, "principal   %q\n", f.Principal)
	fmt.Fprintf(w, "request_id  %q\n", f.ID)
	if f.Round != "" {
		fmt.Fprintf(w, "round       %s\n", f.Round)
	}
	_, err := fmt.Fprintf(w, "arguments   sha256 %s\n", f.Fingerprint)
	if sum := answerSum(f); sum != "" {
		_, err = fmt.Fprintf(w, "answer      sha256 %s\n", sum)
	}
	return err
}

// answerSum is the SHA-256 of a claim's answer, "" where there is none.
func answerSum(f mutation.Found) string {
	if f.State != mutation.Done || f.Blob != "" {
		return f.Blob
	}
	sum := sha256.Sum256(f.Result)
	return hex.EncodeToString(sum[:])
}

func writeClaimJSON(w io.Writer, f mutation.Found) error {
	b := []byte{'{'}
	member := func(key, value string) {
		if value != "" {
			b = append(canon.AppendString(append(canon.AppendString(b, key), ':'), value), ',')
		}
	}
	member("state", claimState(f))
	member("attempt", f.Attempt)
	member("upstream", f.Upstream)
	b = append(append(canon.AppendString(append(b, `"tool":`...), f.Tool), `,"principal":`...), canon.AppendString(nil, f.Principal)...)
	b = append(canon.AppendString(append(b, `,"request_id":`...), f.ID), ',')
	member("args_digest", f.Fingerprint)
	member("round", f.Round)
	member("answer_sha256", answerSum(f))
	if f.Time != 0 {
		b = fmt.Appendf(b, `"time":%d,`, f.Time)
	}
	b[len(b)-1] = '}'
	_, err := w.Write(b)
	return err
}

// errFound ends a search.
var errFound = errors.New("found")

// findAttempt returns the claim with an attempt.
func findAttempt(dir, attempt string) (found mutation.Found, err error) {
	err = mutation.Each(durable.OS, dir, func(f mutation.Found) error {
		if f.Attempt == attempt {
			found = f
			return errFound
		}
		return nil
	})
	switch {
	case errors.Is(err, errFound):
		return found, nil
	case err != nil:
		return found, withHint(err, "restore the folder as a whole")
	}
	return found, withHint(fmt.Errorf("no claim has the attempt %q", attempt), "see sallyport claims list --state inconclusive")
}

package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
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
forwarded (it wanted something first, or goes on by itself), replay, abandoned. Where one is inconclusive it asks the
ledger, which may know that the call was carried out: a crash took its answer.
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
			found, err := writeClaims(cmd.OutOrStdout(), dir, asJSON, wanted, writeClaimWhole)
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

// claimAsked is a claim, and what the ledger has of it where it is inconclusive.
type claimAsked struct {
	mutation.Found
	recorded ledger.Outcome // Committed: it was carried out, and a crash took its answer; "" where the ledger knows no more
	err      error          // the ledger could not be asked
}

// writeClaims writes those claims of a folder that are wanted, and returns how many there were. Where the ledger cannot be
// asked about the inconclusive ones they are written all the same, and then that is the error.
func writeClaims(w io.Writer, dir string, asJSON bool, wanted func(mutation.Found) bool, write func(io.Writer, claimAsked) error) (int, error) {
	dir, err := claimsFolder(dir)
	if err != nil {
		return 0, err
	}
	before, between, after := "", "", ""
	if asJSON {
		before, between, after, write = `{"claims":[`, ",", "]}\n", writeClaimJSON
	}
	traces, ledgerErr := tracesOfInconclusive(dir, wanted)
	found := 0
	fmt.Fprint(w, before)
	err = mutation.Each(durable.OS, dir, func(f mutation.Found) error {
		if !wanted(f) {
			return nil
		}
		if found++; found > 1 {
			fmt.Fprint(w, between)
		}
		c := claimAsked{Found: f}
		if claimState(f) == stateInconclusive {
			if c.err = ledgerErr; traces[f.Attempt].Has(ledger.Committed) {
				c.recorded = ledger.Committed
			}
		}
		return write(w, c)
	})
	if err != nil {
		return found, withHint(err, "restore the folder as a whole")
	}
	if found == 0 && !asJSON {
		fmt.Fprintf(w, "there is no such claim in %s\n", dir)
	}
	if _, err := fmt.Fprint(w, after); err != nil {
		return found, err
	}
	if ledgerErr != nil {
		return found, withHint(fmt.Errorf("looking for inconclusive attempts in the ledger: %w", ledgerErr), "restore the folder as a whole")
	}
	return found, nil
}

// tracesOfInconclusive returns what the ledger in a folder has of those of the wanted claims that are inconclusive, or may be so in
// a moment. It reads no more of it than what was written since the first of them, once.
func tracesOfInconclusive(dir string, wanted func(mutation.Found) bool) (map[string]ledger.Trace, error) {
	var attempts []string
	from := int64(math.MaxInt64)
	_ = mutation.Each(durable.OS, dir, func(f mutation.Found) error { // whoever writes the claims sees what cannot be read
		f.InFlight = false // its process may die before it is written
		if wanted(f) && claimState(f) == stateInconclusive {
			attempts, from = append(attempts, f.Attempt), min(from, f.Offset)
		}
		return nil
	})
	return ledger.TracesIn(filepath.Join(dir, ledger.FileName), from, attempts...)
}

// writeClaim writes a claim on one line. Names and request_ids are others' text, and so quoted.
func writeClaim(w io.Writer, c claimAsked) error {
	news := ""
	if c.recorded != "" {
		news = "  recorded as " + string(c.recorded)
	}
	_, err := fmt.Fprintf(w, "%-12s  %s  %s  %s  %.80q%s\n", claimState(c.Found), claimTime(c.Found), c.Attempt, toolWords(c.Found), c.ID, news)
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
func writeClaimWhole(w io.Writer, c claimAsked) error {
	if err := writeFacts(w, c.Found); err != nil {
		return err
	}
	switch state := claimState(c.Found); {
	case c.err != nil: // whoever does not know what the ledger has advises nothing
	case c.recorded == ledger.Committed:
		fmt.Fprintf(w, "ledger      committed: it was carried out, and a crash took its answer\n"+
			"what now    sallyport claims resolve %s --as committed --reason TEXT   retries hear so\n", c.Attempt)
	case state == stateInconclusive:
		fmt.Fprintf(w, "what now    find out at the server whether it was carried out, then one of\n"+
			"            sallyport claims resolve %[1]s --as committed --reason TEXT   it was: retries hear so\n"+
			"            sallyport claims resolve %[1]s --as absent --reason TEXT      it was not: a retry is sent\n"+
			"            sallyport claims resolve %[1]s --as abandoned --reason TEXT   nobody can tell: retries are refused\n", c.Attempt)
	case state == stateUnsettled:
		fmt.Fprintln(w, "what now    nothing: the next call with this request_id, or the next start of a server, settles it")
	}
	_, err := fmt.Fprintln(w)
	return err
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

func writeClaimJSON(w io.Writer, c claimAsked) error {
	f := c.Found
	b := []byte{'{'}
	member := func(key, value string) {
		if value != "" {
			b = append(canon.AppendString(append(canon.AppendString(b, key), ':'), value), ',')
		}
	}
	member("state", claimState(f))
	member("recorded", string(c.recorded))
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

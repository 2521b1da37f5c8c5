package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/mutation"
)

// resolution is what an operator says of an attempt.
type resolution struct {
	dir, attempt, as, reason, result string
}

// questions are what a person is asked, for each verdict.
var questions = map[string]string{
	gate.AsCommitted: "Say that this call was carried out, and answer retries with that?",
	gate.AsAbsent:    "Say that this call was NOT carried out, and let it be sent again?",
	gate.AsAbandoned: "Close this call for good, so that it is never sent and retries are refused?",
}

func newClaimsResolve() *cobra.Command {
	var r resolution
	cmd := &cobra.Command{
		Use:   "resolve ATTEMPT",
		Short: "Settle an inconclusive call, on the record",
		Long: `Says what became of an inconclusive call to a server behind the gate, after you found out there. Shows the call, asks at
the terminal, and writes your word and your reason into the ledger, as principal operator.
  committed  it was carried out: retries get a result that says so, or the one in --result
  absent     it was not: its request_id is free, and the next call with it is sent
  abandoned  nobody can tell, or it does not matter any more: retries get an error, and it is never sent
The ledger's folder is --ledger, else LEDGER_DIR, else .ledger, else that of wrapped servers, ~/.local/state/sallyport. Servers on it need not be stopped.`,
		Example: `  sallyport claims resolve 0123456789abcdef --as absent --reason "not in the bank's list of the day"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.attempt = args[0]
			return r.resolve(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.dir, "ledger", "", "the ledger's `FOLDER`")
	flags.StringVar(&r.as, "as", "", "the `VERDICT`: committed, absent or abandoned")
	flags.StringVar(&r.reason, "reason", "", "how you know, a `TEXT` for the record")
	flags.StringVar(&r.result, "result", "", "with --as committed: a `FILE` with the tools/call result that retries get")
	return cmd
}

func (r resolution) resolve(ctx context.Context, out, stderr io.Writer) error {
	settlement, err := r.settlement()
	if err != nil {
		return err
	}
	dir, err := claimsFolder(r.dir)
	if err != nil {
		return err
	}
	found, err := findAttempt(dir, r.attempt)
	if err != nil {
		return err
	}
	if err := resolvable(found); err != nil {
		return err
	}
	if err := writeFacts(out, found); err != nil {
		return err
	}
	if err := confirm(questions[r.as]); err != nil {
		return err
	}
	if err := settle(ctx, dir, found.Key, settlement, stderr); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "settled as %s\n", r.as)
	return err
}

// settlement checks what was typed.
func (r resolution) settlement() (gate.Settlement, error) {
	s := gate.Settlement{Attempt: r.attempt, As: r.as, Reason: strings.TrimSpace(r.reason)}
	switch {
	case questions[r.as] == "":
		return s, withHint(errors.New("--as must be committed, absent or abandoned"), "see sallyport claims resolve --help")
	case s.Reason == "":
		return s, withHint(errors.New("--reason is missing"), "say how you know: it goes into the ledger with your verdict")
	case r.result == "":
		return s, nil
	case r.as != gate.AsCommitted:
		return s, withHint(errors.New("--result goes with --as committed only"), "see sallyport claims resolve --help")
	}
	text, err := os.ReadFile(r.result)
	if err != nil {
		return s, withHint(fmt.Errorf("reading the result: %w", err), "name a file with a tools/call result")
	}
	v, err := canon.Parse(text)
	if err == nil && v.Get("content").Kind() != canon.Array {
		err = errors.New(`it has no array "content"`)
	}
	if err != nil {
		return s, withHint(fmt.Errorf("%s is no tools/call result: %w", r.result, err), `it looks like {"content":[{"type":"text","text":"paid"}]}`)
	}
	if s.Result, err = v.AppendCanonical(nil); err != nil { // on one line, as it will be sent
		return s, fmt.Errorf("%s is no tools/call result: %w", r.result, err)
	}
	if v.Get("resultType").Exists() || v.Get("_meta").Exists() {
		s.Form = gate.Whole
	}
	return s, nil
}

// resolvable says why a claim is not for an operator to settle.
func resolvable(f mutation.Found) error {
	switch state := claimState(f); state {
	case stateInconclusive:
		return nil
	case stateInFlight:
		return withHint(errors.New("this attempt is in flight: a server is at it at this moment"), "wait until it has an answer, or end that server first")
	case stateUnsettled:
		return withHint(errors.New("this attempt settles itself"), "send the same call again, or start a server on this ledger")
	default:
		return withHint(fmt.Errorf("this attempt is not inconclusive: it is %s", state), "see sallyport claims show "+f.Attempt)
	}
}

// settle settles an attempt.
func settle(ctx context.Context, dir string, key mutation.Key, s gate.Settlement, stderr io.Writer) (err error) {
	door, err := openDoor(dir, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, door.close()) }()
	err = door.Resolve(ctx, key, s)
	switch {
	case errors.Is(err, mutation.ErrInFlight), errors.Is(err, gate.ErrSettled):
		return withHint(err, "see sallyport claims show "+s.Attempt)
	case errors.Is(err, gate.ErrCarriedOut):
		return withHint(err, "a crash took only its answer: settle it --as committed")
	case err != nil:
		return withHint(fmt.Errorf("settling the claim: %w", err), "when the cause is gone, run the same command again")
	}
	return nil
}

package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/notes"
)

func newShow() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show REQUEST_ID",
		Short: "Show everything that is known of one request",
		Long: `Shows the ledger's records of a request_id in their order, what was decided after it (by a rule that verifies, or by a plan),
what a person was asked, its note, and the state of its claims. Control characters in others' text are escaped.
The ledger's folder is --ledger, else LEDGER_DIR, else .ledger, else that of wrapped servers and hooks, ~/.local/state/sallyport.
Exit code 1: nothing is known.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := ledgerFiles(dir)
			if err != nil {
				return err
			}
			found, err := find(files[0], args[0])
			if err != nil {
				return err
			}
			write := found.print
			if asJSON {
				write = found.printJSON
			}
			if err := write(cmd.OutOrStdout()); err != nil || !found.empty() {
				return err
			}
			return exit(exitNo)
		},
	}
	cmd.Flags().StringVar(&dir, "ledger", "", "the ledger's `FOLDER`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// request is everything that is known of one request_id.
type request struct {
	records [][]byte  // lines of the ledger
	looks   []decided // what was decided, and by what it was seen
	asked   []shownApproval
	note    []byte            // of the principal on stdio; nil: there is none
	others  map[string][]byte // notes of other principals
	claims  []mutation.Found
}

func (r *request) empty() bool {
	return len(r.records) == 0 && len(r.asked) == 0 && r.note == nil && len(r.others) == 0 && len(r.claims) == 0
}

func find(path, id string) (request, error) {
	var r request
	f, err := ledger.Snapshot(path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	cut := ledger.Cut(id)
	sum := sha256.Sum256([]byte(id))
	err = ledger.Read(f, func(line canon.Value) error {
		if text, _ := line.Get("request_id").Text(); text != cut {
			return nil
		}
		// A long request_id is cut in the record, and its hash stands beside it.
		if whole, _ := line.Get("request_id_sha256").Text(); cut == id && whole == "" || whole == hex.EncodeToString(sum[:]) {
			r.records = append(r.records, bytes.Clone(line.Bytes()))
			r.look(line)
		}
		return nil
	})
	if err != nil {
		return r, withHint(fmt.Errorf("reading %s: %w", path, err), "sallyport verify tells what is wrong with it")
	}
	dir := filepath.Dir(path)
	if r.claims, err = mutation.Find(durable.OS, dir, id); err != nil {
		return r, err
	}
	all, err := listApprovals(dir, time.Now())
	if err != nil {
		return r, err
	}
	for _, a := range withNews(dir, all) {
		if a.Key == id {
			r.asked = append(r.asked, a)
		}
	}
	return r, r.findNotes(dir, id)
}

// findNotes reads the notes of the principal on stdio, and of those that have a claim.
func (r *request) findNotes(dir, id string) error {
	principals := map[string]bool{"local": true}
	for _, c := range r.claims {
		principals[c.Principal] = true
	}
	for principal := range principals {
		note, err := notes.Payload(durable.OS, dir, principal, id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case principal == "local":
			r.note = note
		default:
			if r.others == nil {
				r.others = map[string][]byte{}
			}
			r.others[principal] = note
		}
	}
	return nil
}

func (r *request) print(w io.Writer) error {
	if r.empty() {
		_, err := fmt.Fprintln(w, "nothing is known of this request_id")
		return err
	}
	for _, line := range r.records {
		v, err := canon.Parse(line)
		if err != nil {
			return err
		}
		ns, _ := v.Get("ts").Int()
		fmt.Fprintf(w, "record  %s  %s\n", time.Unix(0, ns).UTC().Format(time.RFC3339Nano), printableJSON(line))
	}
	for _, l := range r.looks {
		fmt.Fprintln(w, l.words())
	}
	for _, a := range r.asked {
		fmt.Fprintf(w, "asked   %s, approval %s, tool %s, principal %s, rule %s, until %s\n",
			a.Verdict, printable(a.ID), printable(a.Tool), printable(a.Principal), printable(a.Rule), moment(a.Expires))
	}
	if r.note == nil {
		fmt.Fprintln(w, "note    none")
	} else {
		fmt.Fprintf(w, "note    %s\n", payloadWords(r.note))
	}
	for _, principal := range slices.Sorted(maps.Keys(r.others)) {
		fmt.Fprintf(w, "note    %s  principal %s\n", payloadWords(r.others[principal]), printable(principal))
	}
	if len(r.claims) == 0 {
		fmt.Fprintln(w, "claim   none")
	}
	for _, c := range r.claims {
		tool := c.Tool
		if c.Upstream != "" {
			tool += " of " + c.Upstream
		}
		fmt.Fprintf(w, "claim   %s  tool %s, principal %s, attempt %s, arguments %s%s\n",
			c.State, printable(tool), printable(c.Principal), c.Attempt, c.Fingerprint, claimNews(c))
	}
	return nil
}

// payloadWords are a note, or the tombstone in its place, as a terminal may show them.
func payloadWords(payload []byte) string {
	v, err := canon.Parse(payload)
	if err != nil {
		return "cannot be read: " + printable(err.Error())
	}
	words := printableJSON(payload)
	switch erased, _ := v.Get("erased").Bool(); {
	case !erased:
		return words
	case v.Get("args_digest").Exists():
		return "erased; the tombstone in its place is " + words
	default:
		return "none, and there never will be one; the tombstone that was made before it is " + words
	}
}

func claimNews(c mutation.Found) string {
	switch {
	case c.State == mutation.Done:
		return ", " + claimState(c)
	case c.InFlight:
		return ", begun and not ended: a server is at it now"
	case c.Upstream != "":
		return ", begun and not ended: nobody can know whether it was carried out; see sallyport claims show " + c.Attempt
	}
	return ", begun and not ended: a server is at it now, or it was cut off, and the next call with this request_id or the next start settles it"
}

func (r *request) printJSON(w io.Writer) error {
	b := append([]byte(`{"records":[`), bytes.Join(r.records, []byte(","))...)
	b = append(b, `],"note":`...)
	if r.note == nil {
		b = append(b, "null"...)
	} else {
		b = append(b, r.note...)
	}
	if len(r.others) > 0 {
		b = append(b, `,"notes":{`...)
		for i, principal := range slices.Sorted(maps.Keys(r.others)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(canon.AppendString(b, principal), ':'), r.others[principal]...)
		}
		b = append(b, '}')
	}
	if len(r.asked) > 0 {
		b = appendApprovals(append(b, `,"approvals":`...), r.asked)
	}
	b = append(b, `,"claims":[`...)
	for i, c := range r.claims {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"state":"%s","attempt":"%s","args_digest":"%s","tool":`, c.State, c.Attempt, c.Fingerprint)
		b = canon.AppendString(b, c.Tool)
		b = canon.AppendString(append(b, `,"principal":`...), c.Principal)
		b = canon.AppendString(append(b, `,"outcome":`...), c.Outcome)
		if c.Upstream != "" {
			b = canon.AppendString(append(b, `,"upstream":`...), c.Upstream)
		}
		b = append(b, '}')
	}
	_, err := w.Write(append(b, "]}\n"...))
	return err
}

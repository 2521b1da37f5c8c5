package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sallyport/internal/interlock"
)

func newApprovals() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "See and answer the calls that wait for a person",
		Long: `Shows the calls that the policy asks a person about, and answers them. Such a call waits, with nothing begun, until it is
approved, denied, or expires. An approval is for that one call, with those very arguments, once.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newApprovalsList(),
		newApprovalsAnswer("approve", "Let a waiting call be carried out, once", "Let this call be carried out, once?", interlock.Agreed),
		newApprovalsAnswer("deny", "Refuse a waiting call", "Refuse this call?", interlock.Refused))
	return cmd
}

func newApprovalsList() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the calls that wait for a person, and those answered that were not used yet",
		Long: `Lists what a person is asked about, the oldest first: who calls, which tool, with which arguments, by which rule, how long it
waits, and until when. Arguments are others' text: control characters in them are escaped.
The ledger's folder is --ledger, else LEDGER_DIR; else it looks into both .ledger and that of wrapped servers, ~/.local/state/sallyport.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dirs, err := ledgersAsked(dir)
			if err != nil {
				return err
			}
			now := time.Now()
			var all []shownApproval
			for _, dir := range dirs {
				found, err := listApprovals(dir, now)
				if err != nil {
					return err
				}
				all = append(all, withNews(dir, found)...)
			}
			if asJSON {
				return writeApprovalsJSON(cmd.OutOrStdout(), all)
			}
			if len(all) == 0 {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "no call waits for a person in %s\n", strings.Join(dirs, ", nor in "))
				return err
			}
			for _, a := range all {
				writeApproval(cmd.OutOrStdout(), a.Approval, now, shownArgs, a.news)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "ledger", "", "the ledger's `FOLDER`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newApprovalsAnswer(name, short, question string, verdict interlock.Verdict) *cobra.Command {
	var dir, note string
	cmd := &cobra.Command{
		Use:   name + " ID",
		Short: short,
		Long: short + `.
Shows the call with all of its arguments, asks at the terminal, and writes your word and your note into the ledger, as
principal operator. Servers need not be stopped for it.
The ledger's folder is --ledger, else LEDGER_DIR; else it looks into both .ledger and that of wrapped servers, ~/.local/state/sallyport.`,
		Example: "  sallyport approvals " + name + ` 0123456789abcdef --note "as agreed with Ada"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dirs, err := ledgersAsked(dir)
			if err != nil {
				return err
			}
			dir, err := showWaiting(cmd.OutOrStdout(), dirs, args[0])
			if err != nil {
				return err
			}
			if err := confirm(question); err != nil {
				return err
			}
			if err := answerApproval(dir, args[0], verdict, strings.TrimSpace(note), cmd.ErrOrStderr()); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), verdict)
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "ledger", "", "the ledger's `FOLDER`")
	cmd.Flags().StringVar(&note, "note", "", "a `TEXT` for the record")
	return cmd
}

func listApprovals(dir string, now time.Time) ([]interlock.Approval, error) {
	all, err := approvalsOf(dir).List(now)
	if err != nil {
		return nil, withHint(fmt.Errorf("reading the approvals: %w", err), "run this as the user who runs the servers, on the folder as they left it")
	}
	return all, nil
}

// showWaiting shows the call that waits under an id, whole, and returns the folder that it is in: a person agrees to what
// they have seen.
func showWaiting(w io.Writer, dirs []string, id string) (dir string, err error) {
	now := time.Now()
	for _, dir := range dirs {
		all, err := listApprovals(dir, now)
		if err != nil {
			return "", err
		}
		for _, a := range all {
			switch {
			case a.ID != id:
			case a.Verdict != interlock.Waiting:
				return "", withHint(fmt.Errorf("this call was answered already: %s", a.Verdict), "see sallyport approvals list")
			default:
				writeApproval(w, a, now, 0, withNews(dir, []interlock.Approval{a})[0].news)
				return dir, nil
			}
		}
	}
	return "", withHint(interlock.ErrNoApproval, "see sallyport approvals list; one that nobody answered in time is gone")
}

func answerApproval(dir, id string, verdict interlock.Verdict, note string, stderr io.Writer) (err error) {
	door, err := openDoor(dir, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, door.close()) }()
	err = door.Answer(id, verdict, note)
	switch {
	case errors.Is(err, interlock.ErrNoApproval):
		return withHint(err, "it expired or was answered meanwhile; see sallyport approvals list")
	case err != nil:
		return withHint(fmt.Errorf("answering: %w", err), "when the cause is gone, run the same command again")
	}
	return nil
}

// shownArgs is how much of a call's arguments a list shows, in bytes.
const shownArgs = 400

// writeApproval writes what is known of an approval, one fact a line, and no more than most bytes of its arguments; 0 is all.
// news is what there is to say of its policy.
func writeApproval(w io.Writer, a interlock.Approval, now time.Time, most int, news string) {
	fact(w, "approval", a.ID)
	fact(w, "state", string(a.Verdict))
	fact(w, "principal", a.Principal)
	if a.Tenant != "" {
		fact(w, "tenant", a.Tenant)
	}
	if a.Method != "tools/call" {
		fact(w, "method", a.Method)
	}
	fact(w, "tool", a.Tool)
	fact(w, "server", serverWords(a.Upstream))
	if a.Key != "" {
		fact(w, "request_id", a.Key)
	}
	fmt.Fprintf(w, "%-11s %s\n", "arguments", argumentWords(a, most))
	fact(w, "rule", a.Rule)
	fact(w, "reason", a.Reason)
	fmt.Fprintf(w, "%-11s %s, since %s\n", "waits", now.Sub(time.Unix(0, a.Created)).Round(time.Second), moment(a.Created))
	fact(w, "until", moment(a.Expires))
	if news != "" {
		fact(w, "policy", news)
	}
	if a.By != "" {
		fact(w, "answered by", a.By)
	}
	if a.Note != "" {
		fact(w, "note", a.Note)
	}
	fmt.Fprintln(w)
}

// argumentWords are a call's arguments as a terminal may show them.
func argumentWords(a interlock.Approval, most int) string {
	digest := "sha256 " + a.Digest
	if !a.Args.Exists() {
		return "too long to be kept; " + digest
	}
	text, err := a.Args.AppendCanonical(nil)
	if err != nil {
		return "not shown, since they have no canonical form; " + digest
	}
	if most > 0 && len(text) > most {
		return fmt.Sprintf("%s… (%d bytes in all; %s)", printableJSON([]byte(strings.ToValidUTF8(string(text[:most]), ""))), len(text), digest)
	}
	return printableJSON(text)
}

func writeApprovalsJSON(w io.Writer, all []shownApproval) error {
	_, err := fmt.Fprintf(w, "%s}\n", printableJSON(appendApprovals([]byte(`{"approvals":`), all)))
	return err
}

// shownApproval is an approval, and what there is to say of its policy.
type shownApproval struct {
	interlock.Approval
	news string
}

// anotherPolicy is said of an approval that counts under another policy than those by which calls are decided now.
const anotherPolicy = "no living server decides by the policy that asked: under another one this answers nothing"

// withNews says of approvals in a folder whether the servers that are alive there decide by their policy. Where none is alive
// there is nothing to say: one may come that does.
func withNews(dir string, all []interlock.Approval) []shownApproval {
	servers, err := living(dir)
	if err != nil {
		servers = nil // sallyport status tells why
	}
	found := make([]shownApproval, len(all))
	for i, a := range all {
		found[i].Approval = a
		if len(servers) > 0 && !slices.ContainsFunc(servers, func(s server) bool { return s.digest == a.Policy }) {
			found[i].news = anotherPolicy
		}
	}
	return found
}

// appendApprovals appends approvals as a JSON array.
func appendApprovals(b []byte, all []shownApproval) []byte {
	b = append(b, '[')
	for i, a := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendApproval(b, a)
	}
	return append(b, ']')
}

func appendApproval(b []byte, a shownApproval) []byte {
	b = append(b, '{')
	b = textMember(b, "id", a.ID)
	b = textMember(b, "state", string(a.Verdict))
	b = textMember(b, "principal", a.Principal)
	b = textMember(b, "tenant", a.Tenant)
	b = textMember(b, "method", a.Method)
	b = textMember(b, "tool", a.Tool)
	b = textMember(b, "server", a.Upstream)
	b = textMember(b, "request_id", a.Key)
	b = textMember(b, "args_digest", a.Digest)
	if text, err := a.Args.AppendCanonical(nil); a.Args.Exists() && err == nil {
		b = append(append(append(b, `"arguments":`...), text...), ',')
	}
	b = textMember(b, "rule", a.Rule)
	b = textMember(b, "reason", a.Reason)
	b = textMember(b, "by", a.By)
	b = textMember(b, "note", a.Note)
	b = textMember(b, "policy", a.news)
	return fmt.Appendf(b, `"created":%d,"expires":%d}`, a.Created, a.Expires)
}

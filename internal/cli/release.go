package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
	"sallyport/internal/interlock"
)

// releasing is what an operator says of stops.
type releasing struct {
	dir, principal, server, reason string
	anyPrincipal, anyServer        bool // the flag was not given
	list, asJSON                   bool
}

func newRelease() *cobra.Command {
	var r releasing
	cmd := &cobra.Command{
		Use:   "release",
		Short: "Release a stop latch, on the record",
		Long: `Shows the stops: whose calls to which server are held back, since what a call left was not what the policy expects, or could
not be seen. Reads go on meanwhile. Look at what is there and mend it; then this asks at the terminal, and writes your word
and your reason into the ledger, as principal operator. Servers need not be stopped for it.
The ledger's folder is --ledger, else LEDGER_DIR; else it looks into both .ledger and that of wrapped servers and hooks,
~/.local/state/sallyport. Exit code 1: nothing is stopped.`,
		Example: `  sallyport release --list
  sallyport release --server fs --reason "the disk was full; notes.txt written by hand"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.anyPrincipal, r.anyServer = !cmd.Flags().Changed("principal"), !cmd.Flags().Changed("server")
			return r.release(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.dir, "ledger", "", "the ledger's `FOLDER`")
	flags.StringVar(&r.principal, "principal", "", "only stops of this `PRINCIPAL`")
	flags.StringVar(&r.server, "server", "", "only stops at this `SERVER`; an empty one is sallyport's own tools")
	flags.BoolVar(&r.list, "list", false, "show the stops, and release none")
	flags.BoolVar(&r.asJSON, "json", false, "with --list, print JSON")
	flags.StringVar(&r.reason, "reason", "", "what you found and did, a `TEXT` for the record")
	return cmd
}

func (r *releasing) release(ctx context.Context, out, stderr io.Writer) error {
	r.reason = strings.TrimSpace(r.reason)
	switch {
	case r.asJSON && !r.list:
		return withHint(errors.New("--json goes with --list only"), "see sallyport release --help")
	case !r.list && r.reason == "":
		return withHint(errors.New("--reason is missing"), "say what you found and did: it goes into the ledger; or look first, with --list")
	}
	dirs, err := ledgersAsked(r.dir)
	if err != nil {
		return err
	}
	stops, err := r.wanted(dirs)
	switch {
	case err != nil:
		return err
	case r.asJSON:
		return writeStopsJSON(out, stops)
	case len(stops) == 0:
		if _, err := fmt.Fprintf(out, "nothing is stopped in %s\n", strings.Join(dirs, ", nor in ")); err != nil || r.list {
			return err
		}
		return exit(exitNo)
	}
	for _, stop := range stops {
		if len(dirs) > 1 {
			fact(out, "ledger", stop.dir)
		}
		writeStop(out, stop.Stop)
	}
	if r.list {
		return nil
	}
	question := "Release this stop, so that such calls are carried out again?"
	if len(stops) > 1 {
		question = fmt.Sprintf("Release these %d stops, so that such calls are carried out again?", len(stops))
	}
	if err := confirm(question); err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := r.releaseIn(ctx, dir, stops, out, stderr); err != nil {
			return err
		}
	}
	return nil
}

// stopIn is a stop in a ledger's folder.
type stopIn struct {
	interlock.Stop
	dir string
}

// wanted returns the stops that the flags speak of, folder by folder.
func (r *releasing) wanted(dirs []string) ([]stopIn, error) {
	var stops []stopIn
	for _, dir := range dirs {
		all, err := stopsOf(dir).List()
		if err != nil {
			return nil, withHint(fmt.Errorf("reading the stops: %w", err), "run this as the user who runs the servers, on the folder as they left it")
		}
		for _, stop := range all {
			if (r.anyPrincipal || stop.Principal == r.principal) && (r.anyServer || stop.Server == r.server) {
				stops = append(stops, stopIn{stop, dir})
			}
		}
	}
	return stops, nil
}

// releaseIn releases those of the stops that are in a folder.
func (r *releasing) releaseIn(ctx context.Context, dir string, stops []stopIn, out, stderr io.Writer) (err error) {
	stops = slices.DeleteFunc(slices.Clone(stops), func(stop stopIn) bool { return stop.dir != dir })
	if len(stops) == 0 {
		return nil
	}
	door, err := openDoor(dir, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, door.close()) }()
	for _, stop := range stops {
		err := door.Release(ctx, stop.Stop, r.reason)
		switch {
		case errors.Is(err, interlock.ErrNoStop):
			return withHint(err, "look at it again: sallyport release --list")
		case err != nil:
			return withHint(fmt.Errorf("releasing the stop: %w", err), "when the cause is gone, run the same command again")
		}
		what := printable(stop.Principal) + " at " + printable(serverWords(stop.Server))
		if stop.Slot != "" {
			what = "latch " + printable(stop.Slot)
		}
		fmt.Fprintf(out, "released: %s\n", what)
	}
	return nil
}

// writeStop writes what is known of a stop, one fact a line. Of a latch that cannot be read that is little.
func writeStop(w io.Writer, stop interlock.Stop) {
	if stop.Slot != "" {
		fact(w, "latch", stop.Slot)
	}
	if stop.Principal != "" || stop.Slot == "" {
		fact(w, "principal", stop.Principal)
		fact(w, "server", serverWords(stop.Server))
	}
	if stop.Tool != "" {
		fact(w, "tool", stop.Tool)
	}
	if stop.Rule != "" {
		fact(w, "rule", stop.Rule)
	}
	fact(w, "reason", stop.Reason)
	if stop.Attempt != "" {
		fact(w, "attempt", stop.Attempt)
	}
	if stop.Time != 0 {
		fact(w, "since", moment(stop.Time))
	}
	fmt.Fprintln(w)
}

func writeStopsJSON(w io.Writer, stops []stopIn) error {
	b := []byte(`{"stops":[`)
	for i, stop := range stops {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		b = textMember(b, "ledger", stop.dir)
		b = textMember(b, "principal", stop.Principal)
		b = append(canon.AppendString(append(b, `"server":`...), stop.Server), ',')
		b = textMember(b, "latch", stop.Slot)
		b = textMember(b, "tool", stop.Tool)
		b = textMember(b, "rule", stop.Rule)
		b = textMember(b, "reason", stop.Reason)
		b = textMember(b, "attempt", stop.Attempt)
		b = fmt.Appendf(b, `"time":%d}`, stop.Time)
	}
	_, err := fmt.Fprintf(w, "%s\n", printableJSON(append(b, "]}"...)))
	return err
}

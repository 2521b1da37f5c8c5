package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/internal/gate"
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
Behind them --list shows what is left to be verified: a process ended between a change and the look at it, and the next change
of that principal at that server looks first. There is nothing to release in that.
The ledger's folder is --ledger, else LEDGER_DIR; else it looks into both .ledger and that of wrapped servers and hooks,
~/.local/state/sallyport. Exit code 1: nothing is stopped (0 with --list).`,
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
	flags.StringVar(&r.principal, "principal", "", "only what is of this `PRINCIPAL`")
	flags.StringVar(&r.server, "server", "", "only what is at this `SERVER`; an empty one is sallyport's own tools")
	flags.BoolVar(&r.list, "list", false, "show the stops and what is left to be verified, and release none")
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
	held, err := r.wanted(dirs)
	switch {
	case err != nil:
		return err
	case r.asJSON:
		return held.writeJSON(out)
	case r.list || len(held.stops) == 0:
		if err := held.write(out, dirs); err != nil || r.list {
			return err
		}
		return exit(exitNo)
	}
	stops := held.stops
	for _, stop := range stops {
		stop.write(out, len(dirs) > 1)
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

// leftIn is a call that is still to be verified, in a ledger's folder.
type leftIn struct {
	gate.Unverified
	dir string
}

// heldBack is what the flags speak of, folder by folder.
type heldBack struct {
	stops []stopIn
	left  []leftIn
}

// wanted looks at the latches in each folder.
func (r *releasing) wanted(dirs []string) (heldBack, error) {
	var held heldBack
	for _, dir := range dirs {
		stops, left, err := gate.Survey(stopsOf(dir))
		if err != nil {
			return heldBack{}, withHint(fmt.Errorf("reading the stops: %w", err), "run this as the user who runs the servers, on the folder as they left it")
		}
		for _, stop := range stops {
			if r.speaksOf(stop.Scope) {
				held.stops = append(held.stops, stopIn{stop, dir})
			}
		}
		for _, call := range left {
			if r.speaksOf(call.Scope) {
				held.left = append(held.left, leftIn{call, dir})
			}
		}
	}
	return held, nil
}

// speaksOf reports whether the flags choose a scope.
func (r *releasing) speaksOf(scope interlock.Scope) bool {
	return (r.anyPrincipal || scope.Principal == r.principal) && (r.anyServer || scope.Server == r.server)
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

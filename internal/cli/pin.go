package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/internal/install"
	"sallyport/internal/pin"
	"sallyport/internal/servers"
	"sallyport/internal/upstream"
)

// pinning is what pin was asked for.
type pinning struct {
	servers, lock    string
	only             []string
	one              wrapOptions // of a server that is named here, as wrap has them
	diff, check, yes bool
	command          []string
}

func newPin() *cobra.Command {
	var p pinning
	cmd := &cobra.Command{
		Use:   "pin [-- COMMAND [ARG...]]",
		Short: "Pin what servers say their tools are",
		Long: `Starts the servers, lists their tools and prompts, and writes the digest and the text of each definition into a lock file.
What a server says differently from then on is hidden from agents and denied, until it is pinned again. The difference is
shown first; what is already pinned changes only if a person agrees at the terminal.
The servers are those of --servers, or one that is named as for wrap, by its COMMAND or by --url. The lock file is --lock,
else sallyport.lock beside the servers' file, or in the working folder.`,
		Example: `  sallyport pin --servers .mcp.json
  sallyport pin --servers .mcp.json --server files --diff
  sallyport pin -- npx -y @modelcontextprotocol/server-filesystem ~/notes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if p.command = args; len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return withHint(fmt.Errorf("unknown argument %q", args[0]), "a command to run stands behind --")
			}
			return p.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&p.servers, "servers", "", "a `FILE` with mcpServers, such as .mcp.json")
	flags.StringVar(&p.lock, "lock", "", "the lock `FILE`")
	flags.StringArrayVar(&p.only, "server", nil, "with --servers, only the server of that `NAME`")
	flags.StringVar(&p.one.name, "name", "", "the server's `NAME` in the lock, as for wrap")
	flags.StringVar(&p.one.url, "url", "", "the `URL` of a server on streamable HTTP, as for wrap")
	flags.StringArrayVar(&p.one.header, "header", nil, "a header `NAME=VALUE` for --url, as for wrap")
	flags.StringArrayVar(&p.one.env, "env", nil, "a variable `NAME` or NAME=VALUE for the server, as for wrap")
	flags.BoolVar(&p.diff, "diff", false, "show what differs and write nothing")
	flags.BoolVar(&p.check, "check", false, "say whether anything differs, with exit code 1 if so, and write nothing")
	flags.BoolVar(&p.yes, "yes", false, "do not ask, where nothing that is pinned changes")
	cmd.MarkFlagsMutuallyExclusive("diff", "check", "yes")
	return cmd
}

func (p *pinning) run(ctx context.Context, out, stderr io.Writer) error {
	configs, err := p.configs(stderr)
	if err != nil {
		return err
	}
	place := gateOptions{lock: p.lock}
	if p.servers != "" {
		place.lockDir = filepath.Dir(p.servers)
	}
	path := place.lockFile()
	file, err := install.Read(path)
	if err != nil {
		return withHint(fmt.Errorf("reading the lock: %w", err), "name another with --lock")
	}
	old := &pin.Lock{}
	if file.Text != nil {
		if old, err = pin.Parse(path, file.Text); err != nil {
			return withHint(err, "restore it from version control, or remove it and pin anew")
		}
	}
	now := old
	for _, config := range configs {
		config.Log = slog.New(slog.NewTextHandler(stderr, nil))
		definitions, err := listDefinitions(ctx, config)
		if err != nil {
			return withHint(fmt.Errorf("asking server %s: %w", config.Name, err), "see that it starts; --server names the ones to ask")
		}
		if now, err = now.With(config.Name, definitions); err != nil {
			return err
		}
	}
	d := difference{old: old, now: now, changes: now.Compare(old), first: file.Text == nil}
	if p.check {
		return d.answer(out, path)
	}
	if err := d.show(out, p.diff); err != nil || p.diff || !d.any() {
		return err
	}
	if err := p.agree(&d); err != nil {
		return err
	}
	if err := file.Replace(now.Text(), 0o644); err != nil {
		return fmt.Errorf("writing the lock: %w", err)
	}
	_, err = fmt.Fprintf(out, "written: %s\n", path)
	return err
}

// configs returns the servers that are meant.
func (p *pinning) configs(stderr io.Writer) ([]upstream.Config, error) {
	one := len(p.command) > 0 || p.one.url != ""
	switch {
	case one && p.servers != "":
		return nil, withHint(errors.New("both --servers and a server of its own"), "name one of the two")
	case one && len(p.only) > 0:
		return nil, withHint(errors.New("--server is for --servers"), "--name says what a server of its own is called")
	case one:
		config, err := p.one.upstream(p.command)
		return []upstream.Config{config}, err
	case p.servers == "":
		return nil, withHint(errors.New("there are no servers to pin"), "name a file with --servers, or a command behind --")
	}
	file, err := servers.Load(p.servers)
	if err != nil {
		return nil, serversError(err)
	}
	for _, note := range file.Notes {
		fmt.Fprintf(stderr, "%s: %s\n", p.servers, note)
	}
	if len(p.only) == 0 {
		return file.Servers, nil
	}
	var some []upstream.Config
	for _, name := range p.only {
		i := slices.IndexFunc(file.Servers, func(c upstream.Config) bool { return c.Name == name })
		if i < 0 {
			return nil, withHint(fmt.Errorf("%s has no server %q that is switched on", p.servers, name), "names are exact")
		}
		some = append(some, file.Servers[i])
	}
	return some, nil
}

// serversError gives an error of package servers its hint.
func serversError(err error) error {
	if e, ok := errors.AsType[*servers.Error](err); ok && e.Hint != "" {
		return withHint(err, e.Hint)
	}
	return err
}

// agree asks a person, where one must agree: to a first lock nobody needs to, and with --yes not to what only comes anew.
func (p *pinning) agree(d *difference) error {
	if d.first || p.yes && !d.touchesPinned() {
		return nil
	}
	err := confirm("Pin these definitions as they are now?")
	if err != nil && p.yes && !errors.Is(err, errNotConfirmed) {
		return withHint(err, "--yes is enough for what is new; what is pinned changes only if a person at a terminal agrees")
	}
	return err
}

// difference is what the servers say now against what is pinned.
type difference struct {
	old, now *pin.Lock
	changes  []pin.Change
	first    bool // there was no lock file
}

// any reports whether there is something to write: also a server that is new and has nothing yet.
func (d *difference) any() bool {
	return len(d.changes) > 0 || len(d.now.Servers()) != len(d.old.Servers())
}

func (d *difference) touchesPinned() bool {
	return slices.ContainsFunc(d.changes, func(c pin.Change) bool { return c.Old != nil })
}

// answer is what --check says.
func (d *difference) answer(out io.Writer, path string) error {
	if !d.any() {
		_, err := fmt.Fprintf(out, "same: all is as it is pinned in %s\n", path)
		return err
	}
	if err := d.list(out); err != nil {
		return err
	}
	return exit(exitNo)
}

// list prints a line for each difference.
func (d *difference) list(out io.Writer) error {
	for _, server := range d.now.Servers() {
		if !d.old.Pins(server) {
			if _, err := fmt.Fprintf(out, "new      server %s\n", server); err != nil {
				return err
			}
		}
	}
	for _, c := range d.changes {
		if err := printChange(out, c); err != nil {
			return err
		}
	}
	return nil
}

func printChange(out io.Writer, c pin.Change) error {
	word, members := "changed", ""
	switch {
	case c.Old == nil:
		word = "new"
	case c.New == nil:
		word = "gone"
	case len(c.Members) > 0:
		shown := make([]string, len(c.Members))
		for i, m := range c.Members {
			shown[i] = pin.Visible(m)
		}
		members = ": " + strings.Join(shown, ", ")
	}
	_, err := fmt.Fprintf(out, "%-8s %s %s of %s%s\n", word, c.Kind, pin.Visible(c.Name), c.Server, members)
	return err
}

// show prints the differences: what is new in whole only where everything is asked for, what changed always.
func (d *difference) show(out io.Writer, whole bool) error {
	if err := d.list(out); err != nil {
		return err
	}
	for _, c := range d.changes {
		if c.Old == nil && !whole {
			continue
		}
		name := fmt.Sprintf("%s %s of %s", c.Kind, pin.Visible(c.Name), c.Server)
		if _, err := fmt.Fprintf(out, "\n%s", install.Diff(name, c.Old, c.New)); err != nil {
			return err
		}
	}
	if !d.any() {
		_, err := fmt.Fprintln(out, "nothing differs from what is pinned")
		return err
	}
	return nil
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sallyport/internal/hook"
	"sallyport/internal/install"
	"sallyport/internal/policy"
)

// placing is which settings file a command is about.
type placing struct {
	scope, configDir, agent string
}

func (p *placing) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&p.scope, "scope", "user", "whose settings: user, or the project's in the working folder (`user|project`)")
	flags.StringVar(&p.configDir, "config-dir", "", "the host's configuration `FOLDER`, if it is not the usual one")
	flags.StringVar(&p.agent, "agent", "", "Kiro: the `AGENT` whose hooks are meant, by name or by file")
}

// file returns the host and the settings file that the arguments name.
func (p *placing) file(name string) (*install.Host, *install.File, error) {
	host, err := hostNamed(name)
	if err != nil {
		return nil, nil, err
	}
	scope := install.Scope(p.scope)
	if scope != install.User && scope != install.Project {
		return nil, nil, withHint(fmt.Errorf("there is no scope %q", p.scope), "a scope is user or project")
	}
	where, err := p.where()
	if err != nil {
		return nil, nil, err
	}
	path, err := host.File(scope, where)
	if err != nil {
		return nil, nil, installError("", err)
	}
	file, err := install.Read(path)
	if err != nil {
		return nil, nil, withHint(fmt.Errorf("reading the settings of %s: %w", host.Title, err), "mend the file, or name another folder with --config-dir")
	}
	return host, file, nil
}

func (p *placing) where() (install.Where, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return install.Where{}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return install.Where{}, err
	}
	w := install.Where{Home: home, Dir: dir, Getenv: os.Getenv, Agent: p.agent}
	if p.configDir != "" {
		if w.ConfigDir, err = filepath.Abs(p.configDir); err != nil {
			return install.Where{}, err
		}
	}
	return w, nil
}

func hostNamed(name string) (*install.Host, error) {
	host := install.HostNamed(name)
	if host == nil {
		return nil, withHint(fmt.Errorf("there is no host %q", name), "hosts are "+install.Names())
	}
	return host, nil
}

// installError gives an error of package install the file's name and its hint.
func installError(path string, err error) error {
	e, ok := errors.AsType[*install.Error](err)
	if !ok {
		return err
	}
	named := err
	switch {
	case path != "" && e.Line > 0:
		named = fmt.Errorf("%s:%d:%d: %s", path, e.Line, e.Col, e.Msg)
	case path != "":
		named = fmt.Errorf("%s: %s", path, e.Msg)
	}
	if e.Hint == "" {
		return named
	}
	return withHint(named, e.Hint)
}

// installing is what install was asked for.
type installing struct {
	placing
	policy, ledger      string
	deadline            time.Duration // 0 leaves the one that the settings have
	checks, dryRun, yes bool
}

func newInstall() *cobra.Command {
	var i installing
	cmd := &cobra.Command{
		Use:   "install HOST",
		Short: "Put the hook into a coding agent's settings",
		Long: `Puts an entry into the settings of a coding agent's host, so that it asks sallyport before each tool call. Everything else
in the file stays as it is, to the byte. The change is shown first, and a person must agree at the terminal. A second
run changes nothing; one with other flags replaces our entry. A deadline in it stays until another one is named.
HOST is one of ` + install.Names() + `.`,
		Example: `  sallyport install claude --dry-run
  sallyport install codex --policy ~/policies/strict.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("deadline") && (i.deadline <= 0 || i.deadline > maxDeadline) {
				return withHint(fmt.Errorf("%v is no deadline for a hook", i.deadline), fmt.Sprintf("it is more than 0 and at most %v; 2s is long", maxDeadline))
			}
			return i.run(cmd.OutOrStdout(), args[0])
		},
	}
	i.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&i.policy, "policy", "", "the hook decides by this `FILE` instead of the starter, user and project policies")
	flags.StringVar(&i.ledger, "ledger", "", "the ledger's `FOLDER`; else the one in your state folder")
	flags.BoolVar(&i.checks, "checks", false, "the hook also runs the pre-tool checks")
	flags.DurationVar(&i.deadline, "deadline", 0, "for slow machines: when the hook denies if there is no decision yet, a `TIME` such as 2s (else 250ms)")
	flags.BoolVar(&i.dryRun, "dry-run", false, "show the change and write nothing")
	flags.BoolVar(&i.yes, "yes", false, "do not ask, where nothing of ours is replaced")
	return cmd
}

func (i *installing) run(out io.Writer, name string) error {
	host, file, err := i.file(name)
	if err != nil {
		return err
	}
	if host.NeedsFile() && file.Text == nil {
		return withHint(fmt.Errorf("there is no agent file %s", file.Path), "make the agent first, then try again")
	}
	command, err := i.command()
	if err != nil {
		return err
	}
	command.Deadline = i.deadlineFor(host, file)
	change, err := host.Merge(file.Text, command)
	if err != nil {
		return installError(file.Path, err)
	}
	if change.Same {
		fmt.Fprintf(out, "%s has our entry already; nothing to do\n", file.Path)
		return nil
	}
	if err := show(out, file, change); err != nil || i.dryRun {
		return dry(out, err)
	}
	if !i.yes || change.Loose {
		if err := confirm("Write this to " + file.Path + "?"); err != nil {
			return yesHint(err, i.yes)
		}
	}
	if err := file.Replace(change.Text, fileMode(host, i.scope)); err != nil {
		return fmt.Errorf("writing %s: %w", file.Path, err)
	}
	fmt.Fprintf(out, "written: %s\n", file.Path)
	return tellNext(out, host, i.scope)
}

// deadlineFor is the deadline of --deadline, or else the one that the first gate in the settings has: it is about the
// machine, and whoever renews an entry need not know of it.
func (i *installing) deadlineFor(host *install.Host, file *install.File) time.Duration {
	deadline := i.deadline
	entries, _ := host.Find(file.Text) // an error is one of Merge, too
	for _, e := range entries {
		if c, _, ok := e.Command(); ok && e.Gate && deadline == 0 && c.Deadline <= maxDeadline {
			deadline = c.Deadline
		}
	}
	if deadline == hook.DefaultDeadline {
		return 0
	}
	return deadline
}

// yesHint says why --yes was not enough.
func yesHint(err error, yes bool) error {
	if yes && !errors.Is(err, errNotConfirmed) {
		return withHint(err, "--yes is enough to add an entry; to replace one of ours takes a person at a terminal")
	}
	return err
}

// command is what the host shall run, with nothing in it that depends on where or by whom it is run.
func (i *installing) command() (install.Command, error) {
	c := install.Command{Checks: i.checks}
	var err error
	if c.Binary, err = ownPath(); err != nil {
		return c, err
	}
	if i.policy != "" {
		if c.Policy, err = filepath.Abs(i.policy); err != nil {
			return c, err
		}
		text, err := os.ReadFile(c.Policy)
		if err != nil {
			return c, withHint(fmt.Errorf("reading the policy: %w", err), `name a file that is there; "sallyport policy init" writes one to begin with`)
		}
		if _, err := policy.Parse(c.Policy, text); err != nil {
			return c, err
		}
	}
	switch {
	case i.ledger != "":
		c.Ledger, err = filepath.Abs(i.ledger)
	case i.scope == string(install.User): // a project's settings may be read on other machines
		var home string
		home, err = os.UserHomeDir()
		c.Ledger = hook.StateDir(home)
	}
	for _, path := range []string{c.Binary, c.Policy, c.Ledger} {
		if err == nil && !utf8.ValidString(path) {
			err = fmt.Errorf("%q is not UTF-8, so that settings cannot hold it", path)
		}
	}
	return c, err
}

// ownPath is the path of this program that shall go into settings: the one by which it was called, if it leads here, since
// that one stays when a package manager puts a new version behind it.
func ownPath() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	named, err := exec.LookPath(os.Args[0])
	if err != nil {
		return own, nil
	}
	if named, err = filepath.Abs(named); err != nil {
		return own, nil
	}
	a, errA := os.Stat(own)
	b, errB := os.Stat(named)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return named, nil
	}
	return own, nil
}

// show prints what a person should know of a change, and the change.
func show(out io.Writer, file *install.File, change install.Change) error {
	for _, note := range change.Notes {
		fmt.Fprintf(out, "note: %s\n", note)
	}
	if target := file.Target(); target != file.Path {
		fmt.Fprintf(out, "note: %s is a link; the file is %s\n", file.Path, target)
	}
	after := change.Text
	if change.Delete {
		after = nil
	}
	_, err := io.WriteString(out, install.Diff(file.Path, file.Text, after))
	return err
}

func dry(out io.Writer, err error) error {
	if err == nil {
		_, err = fmt.Fprintln(out, "nothing was written (--dry-run)")
	}
	return err
}

// fileMode is the mode of a file that was not there before.
func fileMode(host *install.Host, scope string) fs.FileMode {
	mode := fs.FileMode(0o600)
	if scope == string(install.Project) {
		mode = 0o644
	}
	if host.Script() {
		mode |= mode >> 2 // who may read it may run it
	}
	return mode
}

// tellNext says what a host needs besides its settings.
func tellNext(out io.Writer, host *install.Host, scope string) error {
	next := ""
	switch host.Name {
	case "claude":
		if scope == string(install.Project) {
			next = "Claude Code holds a project's hooks back until you trust the folder.\n"
		}
	case "codex":
		next = "Codex runs no hook that was not approved, and says nothing about it: start codex, open /hooks, and approve this one.\nAfter each change of the entry it wants to be asked again.\n"
	case "gemini":
		next = "Start a new session of Gemini CLI; /hooks must show this one as enabled.\n"
	}
	_, err := fmt.Fprintf(out, "%snow see whether it works: sallyport doctor %s\n", next, host.Name)
	return err
}

func newUninstall() *cobra.Command {
	var p placing
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "uninstall HOST",
		Short: "Take the hook out of a coding agent's settings",
		Long: `Takes our entries out of the settings of a coding agent's host, and nothing else: after install and uninstall the file
is what it was, to the byte. The change is shown first, and a person must agree at the terminal: without the entry nothing
judges the agent's calls.
HOST is one of ` + install.Names() + `.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.uninstall(cmd.OutOrStdout(), args[0], dryRun) },
	}
	p.addFlags(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show the change and write nothing")
	return cmd
}

func (p *placing) uninstall(out io.Writer, name string, dryRun bool) error {
	host, file, err := p.file(name)
	if err != nil {
		return err
	}
	change, err := host.Remove(file.Text)
	if err != nil {
		return installError(file.Path, err)
	}
	if change.Same {
		fmt.Fprintf(out, "there is nothing of ours in %s\n", file.Path)
		return nil
	}
	if err := show(out, file, change); err != nil || dryRun {
		return dry(out, err)
	}
	if err := confirm("Write this to " + file.Path + "? Nothing will judge the calls of " + host.Title + " then."); err != nil {
		return err
	}
	done := "written"
	if change.Delete {
		done, err = "removed", file.Delete()
	} else {
		err = file.Replace(change.Text, fileMode(host, p.scope))
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", file.Path, err)
	}
	_, err = fmt.Fprintf(out, "%s: %s\n", done, file.Path)
	return err
}

package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
	"sallyport/internal/hook"
	"sallyport/internal/install"
)

// health is what a check found. Only healthOK and healthNote let doctor be content.
type health int

// From bad to good. The zero value is the bad one.
const (
	healthFail health = iota // calls may pass unjudged, or none passes
	healthWarn               // it works, but not as it should
	healthNote               // nothing to mend, but worth knowing
	healthOK
)

func (h health) String() string { return [...]string{"FAIL", "warn", "note", "ok"}[h] }

// symptom is the result of one check.
type symptom struct {
	host, what string
	health     health
	detail     string
	hint       string // what to do, "" if nothing
}

// doctor gathers symptoms about the gate on this machine.
type doctor struct {
	where    install.Where
	symptoms []symptom
}

func newDoctor() *cobra.Command {
	var p placing
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor [HOST]",
		Short: "Prove that the hooks in coding agents' settings are live",
		Long: `Looks for our entries in the settings of every host, or of HOST, and proves that the gate behind them is live: runs the
very command line that is configured there with an event that must be denied and one that must be allowed, and looks at
the entries, the program, the policies, the ledger, and the time it took. The records of these events have the session
sallyport-doctor.
Exit code 0: all is well. 1: something is to be mended, or no host is configured; the output says what to do.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			hosts := install.Hosts()
			if len(args) > 0 {
				host, err := hostNamed(args[0])
				if err != nil {
					return err
				}
				hosts = []*install.Host{host}
			}
			where, err := p.where()
			if err != nil {
				return err
			}
			d := &doctor{where: where}
			d.examine(hosts, len(args) > 0)
			return d.report(cmd.OutOrStdout(), asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&p.configDir, "config-dir", "", "the host's configuration `FOLDER`, if it is not the usual one")
	flags.StringVar(&p.agent, "agent", "", "Kiro: an `AGENT` whose hooks are meant too, by name or by file")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (d *doctor) add(host, what string, h health, detail, hint string) {
	d.symptoms = append(d.symptoms, symptom{host, what, h, detail, hint})
}

// examine looks at the hosts. named says that the user asked for this one, so that its absence is a fault.
func (d *doctor) examine(hosts []*install.Host, named bool) {
	configured := false
	for _, host := range hosts {
		configured = d.host(host, named) || configured
	}
	if configured {
		return
	}
	which, hint := "", "run sallyport install HOST; hosts are "+install.Names()
	if named {
		which, hint = hosts[0].Name, "run sallyport install "+hosts[0].Name
	}
	d.add(which, "settings", healthFail, "no host is configured: nothing asks sallyport before a call", hint)
}

// healthy reports whether there is nothing to mend.
func (d *doctor) healthy() bool {
	for _, f := range d.symptoms {
		if f.health < healthNote {
			return false
		}
	}
	return true
}

func (d *doctor) report(out io.Writer, asJSON bool) error {
	var err error
	if asJSON {
		err = d.printJSON(out)
	} else {
		err = d.printTable(out)
	}
	if err == nil && !d.healthy() {
		return exit(exitNo)
	}
	return err
}

func (d *doctor) printTable(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range d.symptoms {
		host := f.host
		if host == "" {
			host = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.health, host, f.what, oneLine(f.detail))
		if f.hint != "" && f.health < healthOK {
			fmt.Fprintf(w, "\t\t\thint: %s\n", oneLine(f.hint))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	verdict := "all is well"
	if !d.healthy() {
		verdict = "not all is well: see FAIL and warn above"
	}
	_, err := fmt.Fprintln(out, verdict)
	return err
}

// oneLine keeps a text from breaking the table.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\t' || r == '\r' }), " ")
}

func (d *doctor) printJSON(out io.Writer) error {
	b := fmt.Appendf(nil, `{"ok":%t,"checks":[`, d.healthy())
	for i, f := range d.symptoms {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"host":`...)
		b = canon.AppendString(b, f.host)
		b = append(b, `,"check":`...)
		b = canon.AppendString(b, f.what)
		b = append(b, `,"state":`...)
		b = canon.AppendString(b, strings.ToLower(f.health.String()))
		b = append(b, `,"detail":`...)
		b = canon.AppendString(b, f.detail)
		b = append(b, `,"hint":`...)
		b = canon.AppendString(b, f.hint)
		b = append(b, '}')
	}
	_, err := out.Write(append(b, "]}\n"...))
	return err
}

// host examines all settings files of a host, and reports whether any has an entry of ours.
func (d *doctor) host(host *install.Host, named bool) bool {
	var all []install.Entry
	var policies []hook.PolicyFile
	again := ""
	for _, path := range host.Files(d.where) {
		file, err := install.Read(path)
		if err != nil {
			if named || mentionsUs(path) {
				d.add(host.Name, "settings", healthFail, fmt.Sprintf("%s cannot be read: %v", path, err), "mend the file")
			}
			continue
		}
		if file.Text == nil {
			continue
		}
		entries, err := host.Find(file.Text)
		if err != nil {
			d.unreadable(host, file, err, named)
			continue
		}
		if len(entries) == 0 {
			continue
		}
		if all == nil {
			again = d.again(host, file)
		}
		all = append(all, entries...)
		d.settings(host, file, entries)
		policies = append(policies, d.commands(host, file, entries)...)
		d.particular(host, file, entries)
	}
	d.verification(host, all, policies, again)
	return all != nil
}

// unreadable notes a settings file in which nobody can tell what the host sees.
func (d *doctor) unreadable(host *install.Host, file *install.File, err error, named bool) {
	hint := ""
	if e := installError(file.Path, err); hintOf(e) != "" {
		err, hint = e, hintOf(e)
	}
	health := healthNote
	if named || strings.Contains(string(file.Text), "sallyport") {
		health = healthFail
	}
	d.add(host.Name, "settings", health, fmt.Sprintf("%s was not understood: %v", file.Path, err), hint)
}

func mentionsUs(path string) bool {
	text, err := os.ReadFile(path)
	return err == nil && strings.Contains(string(text), "sallyport")
}

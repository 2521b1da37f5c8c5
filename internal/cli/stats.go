package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/ledger"
)

// counted are the columns of the statistics: the outcomes that matter, and denials.
var counted = []string{"committed", "replay", "deny", "conflict", "failed", "observed"}

// countedOfSome are the columns that only a ledger with records of hooks or of upstreams has.
var countedOfSome = []string{"permitted", "asked", "forwarded", "in_flight", "inconclusive"}

// unknownTools stands for all names of tools that do not exist: those are a caller's own text.
const unknownTools = "(unknown)"

// verdicts are the columns of decisions after a call, in plans and by rules that verify.
var verdicts = []string{gate.Continue, gate.Stop, gate.Rollback}

// verifying is the column of calls by which the gate itself looked at what another call had left. They are nobody's calls.
const verifying = "verifying"

func newStats() *cobra.Command {
	var asJSON, asMetrics bool
	cmd := &cobra.Command{
		Use:   "stats [PATH]",
		Short: "Count, for each tool, what became of its calls",
		Long: `Counts a ledger's records for each tool: committed, replay, deny, conflict, failed, observed, of hooks also permitted
and asked, of upstreams' tools also forwarded, in_flight and inconclusive, and their share of all calls of the tool. Where
plans were run, or rules verify, also the decisions CONTINUE, STOP and ROLLBACK, and in verifying the calls by which the gate
looked. A call whose record is followed by one that says more is in the column of the last. PATH is the ledger's folder or file; else LEDGER_DIR, else .ledger.
It reads and does not check; that is verify's. No argument of a call is shown.`,
		Example: "  sallyport stats --prometheus >/var/lib/node_exporter/sallyport.prom",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := ledgerFile(args, "")
			if err != nil {
				return err
			}
			tools, err := countFile(path)
			switch {
			case err != nil:
				return err
			case asMetrics:
				return printMetrics(cmd.OutOrStdout(), tools)
			case asJSON:
				return printStatsJSON(cmd.OutOrStdout(), tools)
			}
			return printStats(cmd.OutOrStdout(), tools)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&asMetrics, "prometheus", false, "print the counts as metrics, in Prometheus' text form")
	cmd.MarkFlagsMutuallyExclusive("json", "prometheus")
	return cmd
}

// tally is what became of a tool's calls; total also counts what no column has.
type tally struct {
	total  int64
	by     map[string]int64 // what records say, which only grows
	better map[string]int64 // of by: what a later record of the same call says better
}

// calls is how many calls a column has: each is in the one that was last said of it.
func (t *tally) calls(column string) int64 { return t.by[column] - t.better[column] }

func (t *tally) ratio(column string) float64 {
	return float64(t.calls(column)) / float64(max(t.total, 1))
}

// counter counts the records of a ledger, from the first to the last.
type counter struct {
	tools map[string]*tally
	open  map[string]bool   // attempts whose record says forwarded: another may tell what became of them
	told  map[string]string // by the call: what a hook's host was told, of the last calls
}

// mostTold bounds what is remembered of hooks' calls: a record that corrects another one comes soon after it.
const mostTold = 4096

func countFile(path string) (map[string]*tally, error) {
	f, err := ledger.Snapshot(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := counter{tools: map[string]*tally{}, open: map[string]bool{}, told: map[string]string{}}
	if err := ledger.Read(f, func(line canon.Value) error { c.count(line); return nil }); err != nil {
		return nil, withHint(fmt.Errorf("reading %s: %w", path, err), "sallyport verify tells what is wrong with it")
	}
	return c.tools, nil
}

// textOf returns a member of a record, "" where it has none.
func textOf(line canon.Value, key string) string {
	text, _ := line.Get(key).Text()
	return text
}

func (c *counter) count(line canon.Value) {
	name, method := textOf(line, "name"), textOf(line, "method")
	event, hooked := strings.CutPrefix(method, "hook/")
	switch {
	case method == gate.MethodStep && name == "": // it is about a run, and no step of it
		return
	case method != "tools/call" && method != gate.MethodStep && !hooked:
		return
	case name == "", textOf(line, "rule") == "unknown":
		name = unknownTools
	}
	verdict := textOf(line, "verdict")
	after := hooked && isAfter(event)
	if after && verdict == "" { // of a call that was counted before it ran
		return
	}
	t := c.tools[name]
	if t == nil {
		t = &tally{by: map[string]int64{}, better: map[string]int64{}}
		c.tools[name] = t
	}
	switch {
	case textOf(line, "origin") == "verify":
		t.by[verifying]++
		return
	case slices.Contains(verdicts, verdict):
		t.by[verdict]++
	}
	recovered, _ := line.Get("recovered").Bool()
	if method == gate.MethodStep || after || recovered && line.Get("verdict").Exists() { // a look at what a call, or a crash, had left
		return
	}
	column := textOf(line, "outcome")
	if textOf(line, "decision") == "deny" {
		column = "deny"
	}
	t.by[column]++
	if before := c.saidBefore(line, hooked, column); before == "" {
		t.total++
	} else if t.calls(before) > 0 {
		t.better[before]++
	}
}

// isAfter reports whether an event of a hook comes after a call.
func isAfter(event string) bool {
	event = strings.ToLower(event)
	return strings.HasPrefix(event, "post") || strings.HasPrefix(event, "after")
}

// saidBefore returns the column that a record of the same call has taken before this one, "" where this is the first.
func (c *counter) saidBefore(line canon.Value, hooked bool, column string) string {
	if hooked {
		return c.toldBefore(line, column)
	}
	attempt := textOf(line, "attempt")
	if attempt == "" {
		if line.Get("upstream").Exists() && (column == string(ledger.Failed) || column == string(ledger.Inconclusive)) {
			return string(ledger.Forwarded)
		}
		return ""
	}
	follows := c.open[attempt]
	delete(c.open, attempt)
	if column == string(ledger.Forwarded) {
		c.open[attempt] = true
	}
	if follows {
		return string(ledger.Forwarded)
	}
	return ""
}

// toldBefore returns what a hook's host was told first of a call whose record is corrected by this one.
func (c *counter) toldBefore(line canon.Value, column string) string {
	call := strings.Join([]string{textOf(line, "host"), textOf(line, "session"), textOf(line, "request_id"), textOf(line, "args_digest")}, "\x00")
	before := c.told[call]
	if len(c.told) >= mostTold {
		clear(c.told)
	}
	c.told[call] = column
	if corrects, _ := line.Get("corrects").Bool(); !corrects {
		return ""
	}
	return before
}

// columnsOf returns the columns of a table: those that not every ledger has only where they are not empty.
func columnsOf(tools map[string]*tally) []string {
	columns := slices.Clone(counted)
	for _, column := range slices.Concat(countedOfSome, verdicts, []string{verifying}) {
		for _, t := range tools {
			if t.calls(column) > 0 {
				columns = append(columns, column)
				break
			}
		}
	}
	return columns
}

// isShare reports whether a column counts what became of calls, so that its share of them says something.
func isShare(column string) bool { return !slices.Contains(verdicts, column) && column != verifying }

func printStats(w io.Writer, tools map[string]*tally) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "tool\tcalls")
	columns := columnsOf(tools)
	for _, column := range columns {
		fmt.Fprintf(tw, "\t%s", column)
	}
	fmt.Fprintln(tw)
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		t := tools[name]
		fmt.Fprintf(tw, "%s\t%d", printable(name), t.total)
		for _, column := range columns {
			fmt.Fprintf(tw, "\t%d", t.calls(column))
			if isShare(column) {
				fmt.Fprintf(tw, " (%.0f%%)", 100*t.ratio(column))
			}
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

func printStatsJSON(w io.Writer, tools map[string]*tally) error {
	columns := columnsOf(tools)
	b := []byte(`{"tools":{`)
	for i, name := range slices.Sorted(maps.Keys(tools)) {
		t := tools[name]
		if i > 0 {
			b = append(b, ',')
		}
		b = canon.AppendString(b, name)
		b = fmt.Appendf(b, `:{"calls":%d`, t.total)
		for _, column := range columns {
			b = fmt.Appendf(b, `,"%s":%d`, column, t.calls(column))
		}
		b = append(b, `,"ratios":{`...)
		for i, column := range slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return !isShare(c) }) {
			if i > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `"%s":%.4f`, column, t.ratio(column))
		}
		b = append(b, "}}"...)
	}
	_, err := fmt.Fprintf(w, "%s\n", printableJSON(append(b, "}}"...)))
	return err
}

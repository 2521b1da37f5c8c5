package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
	"sallyport/internal/ledger"
)

// counted are the columns of the statistics: the outcomes that matter, and denials.
var counted = []string{"committed", "replay", "deny", "conflict", "failed", "observed"}

// countedOfSome are the columns that only a ledger with records of hooks or of upstreams has.
var countedOfSome = []string{"permitted", "asked", "forwarded", "in_flight", "inconclusive"}

// unknownTools stands for all names of tools that do not exist: those are a caller's own text.
const unknownTools = "(unknown)"

func newStats() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats [PATH]",
		Short: "Count, for each tool, what became of its calls",
		Long: `Counts a ledger's records for each tool: committed, replay, deny, conflict, failed, observed, of hooks also permitted
and asked, of upstreams' tools also forwarded, in_flight and inconclusive, and their share of all calls of the tool. PATH is the ledger's folder or file; else LEDGER_DIR, else .ledger.
It reads and does not check; that is verify's. No argument of a call is shown.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := ledgerFile(args, "")
			if err != nil {
				return err
			}
			tools, err := countFile(path)
			if err != nil {
				return err
			}
			if asJSON {
				return printStatsJSON(cmd.OutOrStdout(), tools)
			}
			return printStats(cmd.OutOrStdout(), tools)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// tally is what became of a tool's calls; total also counts what no column has.
type tally struct {
	total int64
	by    map[string]int64
}

func (t *tally) ratio(column string) float64 { return float64(t.by[column]) / float64(max(t.total, 1)) }

func countFile(path string) (map[string]*tally, error) {
	f, err := ledger.Snapshot(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	tools := map[string]*tally{}
	err = ledger.Read(f, func(line canon.Value) error {
		if method, _ := line.Get("method").Text(); method != "tools/call" {
			return nil
		}
		name, _ := line.Get("name").Text()
		if rule, _ := line.Get("rule").Text(); rule == "unknown" {
			name = unknownTools
		}
		t := tools[name]
		if t == nil {
			t = &tally{by: map[string]int64{}}
			tools[name] = t
		}
		if !followsUp(line) {
			t.total++
		}
		column, _ := line.Get("outcome").Text()
		if decision, _ := line.Get("decision").Text(); decision == "deny" {
			column = "deny"
		}
		t.by[column]++
		return nil
	})
	if err != nil {
		return nil, withHint(fmt.Errorf("reading %s: %w", path, err), "sallyport verify tells what is wrong with it")
	}
	return tools, nil
}

// followsUp reports whether a record tells what became of a call that was recorded as forwarded: it is no call of its own.
func followsUp(line canon.Value) bool {
	outcome, _ := line.Get("outcome").Text()
	return line.Get("upstream").Exists() && !line.Get("attempt").Exists() && (outcome == "failed" || outcome == "inconclusive")
}

// columnsOf returns the columns of a table: those of hooks and upstreams only where they are not empty.
func columnsOf(tools map[string]*tally) []string {
	columns := slices.Clone(counted)
	for _, column := range countedOfSome {
		for _, t := range tools {
			if t.by[column] > 0 {
				columns = append(columns, column)
				break
			}
		}
	}
	return columns
}

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
		fmt.Fprintf(tw, "%s\t%d", name, t.total)
		for _, column := range columns {
			fmt.Fprintf(tw, "\t%d (%.0f%%)", t.by[column], 100*t.ratio(column))
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
			b = fmt.Appendf(b, `,"%s":%d`, column, t.by[column])
		}
		b = append(b, `,"ratios":{`...)
		for i, column := range columns {
			if i > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `"%s":%.4f`, column, t.ratio(column))
		}
		b = append(b, "}}"...)
	}
	_, err := w.Write(append(b, "}}\n"...))
	return err
}

package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// labelEscapes are those of label values in Prometheus' text form.
var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// printMetrics writes what records say as metrics, in Prometheus' text form, version 0.0.4: there a family has the name that its
// samples have, and node_exporter's textfile collector takes no other form. A counter never falls: what a later record says
// better of a call is counted as well, and not instead. The comment at the end says that the text is whole.
func printMetrics(w io.Writer, tools map[string]*tally) error {
	var b strings.Builder
	family := func(name, help, label string, holds func(column string) bool) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s counter\n", name, help, name)
		for _, tool := range slices.Sorted(maps.Keys(tools)) {
			by := tools[tool].by
			for _, column := range slices.Sorted(maps.Keys(by)) {
				if holds(column) {
					fmt.Fprintf(&b, "%s{tool=\"%s\",%s=\"%s\"} %d\n", name,
						labelEscapes.Replace(printable(tool)), label, labelEscapes.Replace(printable(column)), by[column])
				}
			}
		}
	}
	isVerdict := func(column string) bool { return slices.Contains(verdicts, column) }
	family("sallyport_decisions_total", "Decisions of plans and of rules that verify, after what remained was looked at.", "verdict", isVerdict)
	family("sallyport_calls_total", "Records of calls, by what became of them; verifying is the gate's own looking.", "outcome",
		func(column string) bool { return !isVerdict(column) })
	_, err := io.WriteString(w, b.String()+"# EOF\n")
	return err
}

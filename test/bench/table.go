//go:build linux

package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// row is one line of the table.
type row struct {
	what, ours, ceiling string
	value               float64 // what the bar is for: a ratio where there is a ceiling, else what ours says
	bar                 bar
}

// bar is what a value must reach or keep below. The zero bar is none.
type bar struct {
	limit float64
	most  bool   // the limit is the most, not the least
	unit  string // of the limit
}

func atLeast(limit float64) bar             { return bar{limit: limit} }
func atMost(limit float64, unit string) bar { return bar{limit: limit, most: true, unit: unit} }

func (b bar) String() string {
	switch {
	case b == bar{}:
		return "-"
	case b.most:
		return fmt.Sprintf("<= %g%s", b.limit, b.unit)
	}
	return fmt.Sprintf(">= %g%s", b.limit, b.unit)
}

func (b bar) verdict(value float64) string {
	switch {
	case b == bar{}:
		return "-"
	case b.most && value <= b.limit, !b.most && value >= b.limit:
		return "yes"
	}
	return "MISSED"
}

// printTable prints the rows, and returns how many missed their bar.
func printTable(w io.Writer, rows []row) (missed int, err error) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "what\tours\tceiling\tratio\tbar\tmet")
	for _, r := range rows {
		ceiling, ratio := "-", "-"
		if r.ceiling != "" {
			ceiling, ratio = r.ceiling, fmt.Sprintf("%.2f", r.value)
		}
		verdict := r.bar.verdict(r.value)
		if verdict == "MISSED" {
			missed++
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", r.what, r.ours, ceiling, ratio, r.bar, verdict)
	}
	return missed, tw.Flush()
}

// perSecond is a rate, given the time that one takes.
func perSecond(each time.Duration) string {
	return fmt.Sprintf("%.0f/s", float64(time.Second)/float64(each))
}

// brief is a duration with three digits.
func brief(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", float64(d)/float64(time.Microsecond))
	}
	return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
}

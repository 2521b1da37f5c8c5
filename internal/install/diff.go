package install

import (
	"bytes"
	"fmt"
	"strings"
)

// context is how many unchanged lines a diff shows round a change.
const context = 3

// maxCells bounds the table of a diff: beyond it what lies between the first and the last difference is shown as replaced.
const maxCells = 4 << 20

// Diff returns the unified diff that makes a file's text of another; a nil text is a file that is not there. It is "" where
// they are equal.
func Diff(name string, before, after []byte) string {
	a, b := lines(before), lines(after)
	ops := compare(a, b)
	var out strings.Builder
	for _, h := range hunks(ops) {
		if out.Len() == 0 {
			from, to := name, name
			if before == nil {
				from = "/dev/null"
			}
			if after == nil {
				to = "/dev/null"
			}
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", from, to)
		}
		writeHunk(&out, ops[h.start:h.end], ops[:h.start])
	}
	return out.String()
}

// op is a line of a diff: ' ' in both texts, '-' in the first only, '+' in the second only.
type op struct {
	kind byte
	line string
}

func lines(text []byte) []string {
	var all []string
	for line := range bytes.Lines(text) {
		all = append(all, string(line))
	}
	return all
}

// compare finds a longest common subsequence of lines.
func compare(a, b []string) []op {
	var ops []op
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		ops = append(ops, op{' ', a[head]})
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	ops = append(ops, middle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, line := range a[len(a)-tail:] {
		ops = append(ops, op{' ', line})
	}
	return ops
}

func middle(a, b []string) []op {
	var ops []op
	i, j := 0, 0
	if (len(a)+1)*(len(b)+1) <= maxCells {
		longest := table(a, b)
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				ops = append(ops, op{' ', a[i]})
				i, j = i+1, j+1
			case longest[i+1][j] >= longest[i][j+1]:
				ops = append(ops, op{'-', a[i]})
				i++
			default:
				ops = append(ops, op{'+', b[j]})
				j++
			}
		}
	}
	for ; i < len(a); i++ {
		ops = append(ops, op{'-', a[i]})
	}
	for ; j < len(b); j++ {
		ops = append(ops, op{'+', b[j]})
	}
	return ops
}

// table holds, for each pair of ends, how many lines they have in common in order.
func table(a, b []string) [][]int32 {
	longest := make([][]int32, len(a)+1)
	for i := range longest {
		longest[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	return longest
}

// hunk is a part of the lines of a diff.
type hunk struct{ start, end int }

func hunks(ops []op) []hunk {
	var all []hunk
	for i, o := range ops {
		if o.kind == ' ' {
			continue
		}
		start, end := max(i-context, 0), min(i+1+context, len(ops))
		if n := len(all); n > 0 && start <= all[n-1].end {
			all[n-1].end = end
		} else {
			all = append(all, hunk{start, end})
		}
	}
	return all
}

func writeHunk(out *strings.Builder, ops, before []op) {
	count := func(ops []op, not byte) (n int) {
		for _, o := range ops {
			if o.kind != not {
				n++
			}
		}
		return n
	}
	span := func(not byte) string {
		start, length := count(before, not)+1, count(ops, not)
		if length == 0 {
			start--
		}
		return fmt.Sprintf("%d,%d", start, length)
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span('+'), span('-'))
	for _, o := range ops {
		out.WriteByte(o.kind)
		out.WriteString(o.line)
		if !strings.HasSuffix(o.line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

package install

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiff(t *testing.T) {
	numbers := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	for _, c := range []struct {
		name          string
		before, after []byte
		want          string
	}{
		{"equal", []byte("a\n"), []byte("a\n"), ""},
		{"a new file", nil, []byte("a\nb\n"), "--- /dev/null\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"a file that goes", []byte("a"), nil, "--- f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n\\ No newline at end of file\n"},
		{"no newline", []byte("a"), []byte("a\n"), "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"two hunks", []byte(numbers(1, 20)), []byte(numbers(1, 2) + "x\n" + numbers(3, 18) + numbers(20, 20)),
			"--- f\n+++ f\n@@ -1,5 +1,6 @@\n 1\n 2\n+x\n 3\n 4\n 5\n@@ -16,5 +17,4 @@\n 16\n 17\n 18\n-19\n 20\n"},
	} {
		if diff := cmp.Diff(c.want, Diff("f", c.before, c.after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestDiffCanBeApplied carries out what diffs say.
func TestDiffCanBeApplied(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range r.IntN(30) {
			fmt.Fprintf(&b, "line %d\n", r.IntN(6))
		}
		return strings.TrimSuffix(b.String(), []string{"", "\n"}[r.IntN(2)])
	}
	for range 300 {
		before, after := text(), text()
		diff := Diff("f", []byte(before), []byte(after))
		if got := patched(t, before, diff); got != after {
			t.Fatalf("the diff makes %q of %q, want %q\n%s", got, before, after, diff)
		}
	}
}

// patched applies a unified diff as patch(1) does, without its patience: every line must be where the diff says.
func patched(t *testing.T, text, diff string) string {
	t.Helper()
	old := strings.SplitAfter(text, "\n")
	var out strings.Builder
	next, last := 0, byte(0)
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		case strings.HasPrefix(line, "@@"):
			var from, length, to, toLength int
			if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &from, &length, &to, &toLength); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if length > 0 {
				from--
			}
			for ; next < from; next++ {
				out.WriteString(old[next])
			}
		case strings.HasPrefix(line, "\\"): // of the line before it
			if last != '-' {
				s := strings.TrimSuffix(out.String(), "\n")
				out.Reset()
				out.WriteString(s)
			}
		case line[0] == '+':
			out.WriteString(line[1:])
		case next >= len(old) || strings.TrimSuffix(old[next], "\n") != strings.TrimSuffix(line[1:], "\n"):
			t.Fatalf("the diff has %q where the text has line %d\n%s", line, next+1, diff)
		default:
			if line[0] == ' ' {
				out.WriteString(line[1:])
			}
			next++
		}
		last = line[0]
	}
	for ; next < len(old); next++ {
		out.WriteString(old[next])
	}
	return out.String()
}

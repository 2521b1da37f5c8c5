//go:build unix

package output

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// busy returns how long this process was busy so far, which depends less on what else the machine does than a clock.
func busy(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()) // only the sum is counted: its parts are estimates
}

// TestHostileResultsTakeTimeInProportion gives what a search could go through again and again: eight times as much of it
// must not take the square of that. What a busy machine adds to one turn is not there in another; a square is in all.
func TestHostileResultsTakeTimeInProportion(t *testing.T) {
	cost := func(r Rule, part string, size int) time.Duration {
		result := []byte(`["` + strings.Repeat(part, size/len(part)) + `"]`)
		least := time.Duration(1 << 62)
		for range 2 {
			start := busy(t)
			r.Apply(result) // which may refuse it
			least = min(least, busy(t)-start)
		}
		return least
	}
	for _, tc := range []struct {
		rule  Rule
		size  int
		parts []string
	}{
		{Rule{Control: Mark}, 64 << 10, []string{`\u001b]`, `\u001b[1`, `\u009d`, "\u009d8;", `\ud83d`, `\"`, "\u200d"}},
		{Rule{Secrets: true}, 4 << 10, []string{`\ud83d`, `\"`, "key=", "ey", `\neyJhbGciOiJIUzI1NiJ9`, "-----BEGIN PRIVATE ", "token: ", "aaaaaaaa", "xoxb-1"}},
	} {
		for _, part := range tc.parts {
			small, large := time.Duration(1<<62), time.Duration(1<<62)
			for try := 0; try < 5 && (try == 0 || large > 30*max(small, 4*time.Millisecond)); try++ {
				small, large = min(small, cost(tc.rule, part, tc.size)), min(large, cost(tc.rule, part, 8*tc.size))
			}
			if large > 30*max(small, 4*time.Millisecond) {
				t.Errorf("%+v: %q takes %v, and eight times as much of it %v", tc.rule, part, small, large)
			}
		}
	}
}

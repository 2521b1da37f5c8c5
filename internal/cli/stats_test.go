package cli

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/durable"
	"sallyport/internal/ledger"
	"sallyport/internal/plan"
)

// writeLedger makes a ledger of records and returns its file.
func writeLedger(t *testing.T, records ...ledger.Record) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(durable.OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		r := &records[i]
		if r.Method == "" {
			r.Method = "tools/call"
		}
		if r.Decision == "" {
			r.Decision = "allow"
		}
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, ledger.FileName)
}

// verified is what a gate and a plan's runner write about verified calls, one way after the other.
var verified = []ledger.Record{
	// A keyed call: one record with its verdict, and the gate's own look.
	{Name: "write", Outcome: ledger.Committed, Attempt: "a1", Verdict: "CONTINUE"},
	{Name: "look", Outcome: ledger.Observed, Attempt: "a1", Origin: "verify"},
	// One without a key: what became of it is a second record of the same attempt.
	{Name: "send", Outcome: ledger.Forwarded, Attempt: "a2", Upstream: "fs"},
	{Name: "send", Outcome: ledger.Committed, Attempt: "a2", Upstream: "fs", Verdict: "STOP"},
	{Name: "look", Outcome: ledger.NotExecuted, Decision: "deny", Attempt: "a2", Origin: "verify"},
	// The same, where the server said that it failed.
	{Name: "send", Outcome: ledger.Forwarded, Attempt: "a3", Upstream: "fs"},
	{Name: "send", Outcome: ledger.Failed, Attempt: "a3", Upstream: "fs"},
	// One that a crash cut off before it was verified.
	{Name: "write", Outcome: ledger.Committed, Attempt: "a4", Recovered: true},
	{Name: "write", Outcome: ledger.Observed, Attempt: "a4", Recovered: true, Verdict: "CONTINUE"},
	// Steps of plans are counted by what they decide; their calls are calls.
	{Name: "write", Outcome: ledger.Committed, Attempt: "a5", Origin: "plan"},
	{Name: "look", Outcome: ledger.Observed, Origin: "plan"},
	{Name: "write", Method: "plan/step", Outcome: ledger.Observed, Verdict: "ROLLBACK"},
	{Name: "erase", Method: "plan/undo", Outcome: ledger.Committed},
	{Name: "write", Method: "approvals/approve", Outcome: ledger.Permitted},
	// A run that was given up has no tool.
	{Method: "plan/step", Outcome: ledger.Inconclusive, Verdict: "STOP"},
}

// TestStatsCountsVerdictsAndNoCallTwice looks at the table's numbers.
func TestStatsCountsVerdictsAndNoCallTwice(t *testing.T) {
	tools, err := countFile(writeLedger(t, verified...))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]tally{}
	for name, counts := range tools {
		got[name] = *counts
	}
	want := map[string]tally{
		"write": {3, map[string]int64{"committed": 3, "CONTINUE": 2, "ROLLBACK": 1}, map[string]int64{}},
		"send":  {2, map[string]int64{"forwarded": 2, "committed": 1, "failed": 1, "STOP": 1}, map[string]int64{"forwarded": 2}},
		"look":  {1, map[string]int64{"observed": 1, verifying: 2}, map[string]int64{}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(tally{})); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	var table bytes.Buffer
	if err := printStats(&table, tools); err != nil {
		t.Fatal(err)
	}
	wantTable := `tool   calls  committed  replay  deny    conflict  failed   observed  CONTINUE  STOP  ROLLBACK  verifying
look   1      0 (0%)     0 (0%)  0 (0%)  0 (0%)    0 (0%)   1 (100%)  0         0     0         2
send   2      1 (50%)    0 (0%)  0 (0%)  0 (0%)    1 (50%)  0 (0%)    0         1     0         0
write  3      3 (100%)   0 (0%)  0 (0%)  0 (0%)    0 (0%)   0 (0%)    2         0     1         0
`
	if diff := cmp.Diff(wantTable, table.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// TestStatsAsMetrics holds the output to Prometheus' text form: what a family is comes first and has its samples' name, each
// family is together, and names that try to be something else are escaped.
func TestStatsAsMetrics(t *testing.T) {
	odd := ledger.Record{Name: "x\"} 9\n# TYPE \\evil\x1b[2J", Outcome: ledger.Forwarded, Upstream: "fs"}
	tools, err := countFile(writeLedger(t, append(verified, odd)...))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := printMetrics(&got, tools); err != nil {
		t.Fatal(err)
	}
	want := `# HELP sallyport_decisions_total Decisions of plans and of rules that verify, after what remained was looked at.
# TYPE sallyport_decisions_total counter
sallyport_decisions_total{tool="send",verdict="STOP"} 1
sallyport_decisions_total{tool="write",verdict="CONTINUE"} 2
sallyport_decisions_total{tool="write",verdict="ROLLBACK"} 1
# HELP sallyport_calls_total Records of calls, by what became of them; verifying is the gate's own looking.
# TYPE sallyport_calls_total counter
sallyport_calls_total{tool="look",outcome="observed"} 1
sallyport_calls_total{tool="look",outcome="verifying"} 2
sallyport_calls_total{tool="send",outcome="committed"} 1
sallyport_calls_total{tool="send",outcome="failed"} 1
sallyport_calls_total{tool="send",outcome="forwarded"} 2
sallyport_calls_total{tool="write",outcome="committed"} 3
sallyport_calls_total{tool="x\"} 9\\n# TYPE \\evil\\x1b[2J",outcome="forwarded"} 1
# EOF
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// hookRecords is what hooks of two hosts write.
var hookRecords = []ledger.Record{
	{Method: "hook/PreToolUse", Host: "claude", RequestID: "t1", Name: "Write", Outcome: ledger.Permitted},
	{Method: "hook/PostToolUse", Host: "claude", RequestID: "t1", Name: "Write", Outcome: ledger.Observed, Verdict: "CONTINUE"},
	{Method: "hook/PreToolUse", Host: "claude", RequestID: "t2", Name: "Write", Outcome: ledger.Permitted},
	{Method: "hook/PostToolUse", Host: "claude", RequestID: "t2", Name: "Write", Outcome: ledger.Observed, Verdict: "STOP"},
	{Method: "hook/PreToolUse", Host: "claude", RequestID: "t3", Name: "Write", Outcome: ledger.NotExecuted, Decision: "deny", Rule: "latch"},
	// What is recorded after a call says nothing of decisions.
	{Method: "hook/pre_run_command", Host: "windsurf", RequestID: "w1", Name: "Bash", Outcome: ledger.Asked, Decision: "ask"},
	{Method: "hook/post_run_command", Host: "windsurf", RequestID: "w1", Name: "Bash", Outcome: ledger.Failed},
	{Method: "hook/afterFileEdit", Host: "cursor", RequestID: "c1", Name: "Edit", Outcome: ledger.Observed},
	{Method: "hook/AfterTool", Host: "gemini", RequestID: "g1", Outcome: ledger.NotExecuted, Decision: "deny", Rule: "event"},
	// The host was told something else, in time.
	{Method: "hook/PreToolUse", Host: "claude", RequestID: "t4", Name: "Bash", Outcome: ledger.Permitted},
	{Method: "hook/PreToolUse", Host: "claude", RequestID: "t5", Name: "Bash", Outcome: ledger.Permitted},
	{Method: "hook/PreToolUse", Host: "claude", RequestID: "t4", Name: "Bash", Outcome: ledger.NotExecuted, Decision: "deny", Rule: "deadline", Corrects: true},
	// An event of which nobody knows the tool.
	{Method: "hook/PreToolUse", Host: "claude", Outcome: ledger.NotExecuted, Decision: "deny", Rule: "event"},
}

// TestStatsCountsWhatHooksDecide: one call for each event before a call, and the verdicts of the events after it.
func TestStatsCountsWhatHooksDecide(t *testing.T) {
	tools, err := countFile(writeLedger(t, hookRecords...))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := printStats(&got, tools); err != nil {
		t.Fatal(err)
	}
	want := `tool       calls  committed  replay  deny      conflict  failed  observed  permitted  asked    CONTINUE  STOP
(unknown)  1      0 (0%)     0 (0%)  1 (100%)  0 (0%)    0 (0%)  0 (0%)    0 (0%)     0 (0%)   0         0
Bash       3      0 (0%)     0 (0%)  1 (33%)   0 (0%)    0 (0%)  0 (0%)    1 (33%)    1 (33%)  0         0
Write      3      0 (0%)     0 (0%)  1 (33%)   0 (0%)    0 (0%)  0 (0%)    2 (67%)    0 (0%)   1         1
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// TestStatsShareOutOfAHundred: no record makes a tool have more calls in its columns than there were.
func TestStatsShareOutOfAHundred(t *testing.T) {
	tools, err := countFile(writeLedger(t, append(slices.Clone(verified), hookRecords...)...))
	if err != nil {
		t.Fatal(err)
	}
	for name, counts := range tools {
		sum := 0.0
		for column := range counts.by {
			if isShare(column) {
				sum += counts.ratio(column)
			}
		}
		if math.Abs(sum-1) > 1e-9 && counts.total > 0 {
			t.Errorf("%s: the shares make %.2f: %+v", name, sum, *counts)
		}
	}
}

// TestJSONReachesATerminalEscaped: names of tools and what a policy says of a call may be anybody's text.
func TestJSONReachesATerminalEscaped(t *testing.T) {
	const raw = "a\u009b31m\u202eb"
	tools, err := countFile(writeLedger(t, ledger.Record{Name: raw, Outcome: ledger.Committed}))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printStatsJSON(&out, tools); err != nil {
		t.Fatal(err)
	}
	(&jsonLines{w: &out}).see(plan.Event{What: "decide", Tool: raw, Reason: raw})
	if err := writeForecastJSON(&out, []plan.Forecast{{Step: "a", Tool: raw, Refusal: raw}}); err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(out.Bytes(), "\u009b\u202e") {
		t.Errorf("raw characters: %q", out.String())
	}
	if n := bytes.Count(out.Bytes(), []byte(`a\u009b31m\u202eb`)); n != 5 {
		t.Errorf("%d names in %s, want 5", n, out.String())
	}
}

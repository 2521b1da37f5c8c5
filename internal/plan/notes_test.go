package plan

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/gate"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/notes"
	"sallyport/internal/policy"
)

// realTools are our own tools behind a real gate, as gateway.Inside calls them.
type realTools struct {
	gate  *gate.Gate
	tools map[string]*gate.Tool
}

func (r realTools) of(tool string, args canon.Value) gate.Call {
	return gate.Call{Caller: gate.Caller{Principal: "local"}, Name: tool, Tool: r.tools[tool], Args: args, Origin: "plan"}
}

func (r realTools) Call(ctx context.Context, _, _, tool string, args canon.Value) (gate.Result, error) {
	return r.gate.Do(ctx, r.of(tool, args))
}

func (r realTools) Preview(_ context.Context, _, tool string, args canon.Value) (gate.Preview, error) {
	return r.gate.Preview(r.of(tool, args)), nil
}

func realRunner(t *testing.T) *Runner {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ledger")
	if err := durable.OS.OwnDir(dir); err != nil {
		t.Fatal(err)
	}
	claims, err := mutation.Open(durable.OS, dir, func() (bool, error) { return false, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { claims.Close() })
	l, err := ledger.Open(durable.OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	n, err := notes.Open(durable.OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	pol, err := policy.Parse("test", []byte(`{"version":1,"allow":["write_note","read_ledger","erase_note"]}`))
	if err != nil {
		t.Fatal(err)
	}
	tools := realTools{gate.New(pol, l, claims, slog.New(slog.DiscardHandler)), map[string]*gate.Tool{}}
	for _, tool := range n.Tools() {
		tools.tools[tool.Name] = tool
	}
	return &Runner{Tools: tools, Book: tools.gate, Caller: gate.Caller{Principal: "local"}, FS: durable.OS, Dir: filepath.Join(dir, "runs")}
}

// TestThePublishedPlanOnRealNotes runs it as it stands, and again: the note is there once.
func TestThePublishedPlanOnRealNotes(t *testing.T) {
	r, p := realRunner(t), mustPlan(t, published)
	wantEnd(t, mustRun(t, r, p), Continued, "")
	wantEnd(t, mustRun(t, r, p), Continued, "")
}

// TestRealNotesAreTakenBack: a second step fails for good, without a proof and then, after a rehearsal, with one.
func TestRealNotesAreTakenBack(t *testing.T) {
	step := func(id, expect string) string {
		text := strings.ReplaceAll(strings.TrimPrefix(published, "version: 1\nsteps:\n"), "req-0001", "${run.id}-"+id)
		text = strings.ReplaceAll(text, "record-decision", id)
		return strings.Replace(text, "observation.notes.exists(n", expect+"observation.notes.exists(n", 1)
	}
	good := mustPlan(t, "version: 1\nsteps:\n"+step("one", "")+step("two", ""))
	bad := mustPlan(t, "version: 1\nsteps:\n"+step("one", "")+step("two", "observation.notes.size() > 2 and "))
	r := realRunner(t)
	wantEnd(t, mustRun(t, r, bad), Stopped, `step "two" cannot be undone: its undo was not rehearsed`)
	report, err := r.Rehearse(context.Background(), good)
	if err != nil {
		t.Fatal(err)
	}
	wantEnd(t, report, Continued, "")
	wantEnd(t, mustResume(t, r, bad), Stopped, `step "two" cannot be undone: its undo was not rehearsed`) // that of another condition
	worse := mustPlan(t, "version: 1\nsteps:\n"+step("one", "")+step("two", "")+
		"  - id: check\n    call: {tool: read_ledger}\n    read_only: true\n    expect: result.notes.size() > 100\n")
	report = mustRun(t, r, worse)
	wantEnd(t, report, RolledBack, "what was expected does not hold")
	left, err := r.Tools.Call(context.Background(), "plan", "", "read_ledger", canon.Value{})
	if err != nil || strings.Contains(string(left.Body), report.Run) {
		t.Errorf("a note of the run is left: %v\n%s", err, left.Body)
	}
}

package gate

import (
	"testing"
	"time"

	"sallyport/internal/durable"
	"sallyport/internal/interlock"
	"sallyport/internal/policy"
)

// TestLimitsOfPrincipals: who has used up a limit is told its rule, and takes nothing from others.
func TestLimitsOfPrincipals(t *testing.T) {
	p, err := policy.Parse("p.yaml", []byte("version: 2\nrules:\n  - {id: few, decision: allow, limit: {calls: 1, per: 1h, by: [principal]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	store := interlock.OpenLimits(durable.OS, t.TempDir()+"/limits")
	take := func(principal string) string {
		rule, reason := takeLimits(store, p.Judge(policy.Request{Principal: principal, Tool: "t", Method: "tools/call"}).Limits())
		if (rule == "") != (reason == "") {
			t.Errorf("rule %q, reason %q", rule, reason)
		}
		return rule
	}
	for _, step := range []struct{ principal, rule string }{{"a", ""}, {"a", "few"}, {"b", ""}, {"b", "few"}, {"a", "few"}} {
		if got := take(step.principal); got != step.rule {
			t.Errorf("%s at %v: refused by %q, want %q", step.principal, time.Now(), got, step.rule)
		}
	}
}

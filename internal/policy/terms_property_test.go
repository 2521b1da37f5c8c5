package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sallyport/internal/policy"
)

// randomTerms are rules that allow and ask, with what they say of how calls are carried out.
func randomTerms(r *rand.Rand) []string {
	list := []string{`id: looks, decision: allow, tools: [look], read_only: true`}
	for i := range 1 + r.IntN(5) {
		decision := pick(r, []string{"ask", "allow", "allow", "deny"})
		rule := fmt.Sprintf("id: r%d, decision: %s", i, decision)
		parts := []string{
			pick(r, []string{"tools: [Bash]", `tools: [Bash, "mcp*", "W*"]`, "tools: [Bash, mcp__x, Write]"}),
			pick(r, []string{"", "", "when: host == 'claude'", "when: args.no.such == 1", `when: "any(effects.runs, # contains 'git')"`}),
			pick(r, []string{"", "", `runs: ["curl *", ls, "git *"]`, `runs: ["*"]`, `writes: ["**"]`}),
			pick(r, []string{"", "", "", "mode: observe"}),
		}
		if decision != "deny" {
			parts = append(parts, pick(r, []string{"", "read_only: true", "read_only: true", "mutation: {key: k}", "mutation: {key: k, idempotent: true}", "verify: content",
				`verify: {observe: {tool: look}, expect: observation.ok}`}))
		}
		if decision == "ask" {
			parts = append(parts, pick(r, []string{"", "approval: {expires: 1m}", "approval: {expires: 1h}"}))
		}
		for _, part := range parts {
			if part != "" {
				rule += ", " + part
			}
		}
		list = append(list, rule)
	}
	return list
}

// verifiers are the ids of the rules by which terms verify, sorted, without the levels of their files.
func verifiers(t policy.Terms) []string {
	var ids []string
	for _, v := range t.Verify {
		ids = append(ids, v.Rule[strings.LastIndex(v.Rule, ":")+1:])
	}
	slices.Sort(ids)
	return ids
}

// TestTermsOfRandomRules holds the terms of random policies to what the gate and the hook rely on.
func TestTermsOfRandomRules(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	seen := map[string]int{}
	for range 400 {
		fallback, list := pick(r, []string{"deny", "ask", "allow"}), randomTerms(r)
		base := mustParse(t, rules(fallback, list...))
		shuffled := slices.Clone(list)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		same := mustParse(t, rules(fallback, shuffled...))
		other := randomTerms(r)
		for i := range other {
			other[i] = strings.Replace(other[i], "id: ", "id: other-", 1)
		}
		user := policy.Layer{Policy: base, Level: policy.User}
		beside := policy.Combine(user, policy.Layer{Policy: mustParse(t, rules("allow", other...)), Level: policy.Project})
		for range 4 {
			req := randomCall(r)
			d, _ := base.Evaluate(req)
			got := base.Terms(req)
			told := strings.Join(list, "\n")
			if (d == policy.Ask) != (got.Expires > 0) || got.ReadOnly && (got.Key != "" || got.Verify != nil) {
				t.Fatalf("%v on the terms %+v\n%s", d, got, told)
			}
			if again := same.Terms(req); again.ReadOnly != got.ReadOnly || again.Key != got.Key || again.Idempotent != got.Idempotent ||
				again.Expires != got.Expires || !slices.Equal(verifiers(again), verifiers(got)) {
				t.Fatalf("%+v becomes %+v in another order\n%s", got, again, told)
			}
			stricter, _ := beside.Evaluate(req)
			if stricter == policy.Deny {
				continue
			}
			more := beside.Terms(req)
			milder := more.ReadOnly && !got.ReadOnly || more.Idempotent && !got.Idempotent || more.Key != got.Key || got.Expires > 0 && more.Expires > got.Expires
			for _, id := range verifiers(got) {
				milder = milder || !slices.Contains(verifiers(more), id)
			}
			if milder {
				t.Fatalf("%+v becomes %+v by a file that is not trusted\n%s\nand\n%s", got, more, told, strings.Join(other, "\n"))
			}
			for what, is := range map[string]bool{"reads": more.ReadOnly, "keys": more.Key != "", "verified": more.Verify != nil, "asked": d == policy.Ask,
				"asked by the other": stricter == policy.Ask && d == policy.Allow, "verified by the other": len(more.Verify) > len(got.Verify)} {
				if is {
					seen[what]++
				}
			}
		}
	}
	for _, what := range []string{"reads", "keys", "verified", "asked", "asked by the other", "verified by the other"} {
		if seen[what] < 5 {
			t.Errorf("%s: %d times; the test reaches too little: %v", what, seen[what], seen)
		}
	}
}

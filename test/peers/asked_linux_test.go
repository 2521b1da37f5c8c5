//go:build peers

package peers_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const askedFiles = `  - {id: reads, decision: allow, tools: [read_text_file], read_only: true}
  - {id: asks, decision: ask, tools: [write_file], reason: "A person must agree."}
`

// asked are the records of what the policy asked about and what became of it, in a few words.
func (g *gated) asked(t *testing.T) (all []string) {
	t.Helper()
	for _, r := range records(t, g.ledger) {
		if r.Name == "write_file" {
			all = append(all, strings.Join([]string{r.Method, r.Decision, r.Outcome}, " "))
		}
	}
	return all
}

// A client that can ask its person does so, in the way of its era: what is agreed to is done once, what is declined is not.
func TestClientsAskTheirPerson(t *testing.T) {
	for name, ask := range withPerson {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGated(t, askedFiles)
			folder, command := record(t, g.filesystem(t))
			got := ask(t, g.file("no"), []object{g.write("yes", "one"), g.write("no", "two"), g.write("yes", "three"), g.read("yes")}, command)
			if diff := cmp.Diff([]string{"done", "denied by asks", "done", "done"}, got.came()); diff != "" {
				t.Fatalf("the calls came to (-want +got):\n%s", diff)
			}
			version := legacy
			if strings.HasSuffix(name, "modern") {
				version = modern
			}
			checkEra(t, folder, version)
			diff(t, "the files", g.contents(t), map[string]string{"yes": "three"})
			if n := g.sent(t, "write_file"); n != 2 {
				t.Errorf("the server was sent %d writes, want 2", n)
			}
			if len(got.Asked) != 3 {
				t.Fatalf("the person was asked %d questions, want 3: %+v", len(got.Asked), got.Asked)
			}
			for i, part := range []string{`"content":"one"`, g.file("no"), `"content":"three"`} {
				if q := got.Asked[i]; !strings.Contains(q.Message, part) || !strings.Contains(q.Message, "A person must agree.") || q.Schema["type"] != "object" {
					t.Errorf("question %d is %q, %v; want the reason and %q", i+1, q.Message, q.Schema, part)
				}
			}
			want := []string{
				"tools/call ask asked", "approvals/approve allow permitted", "tools/call allow committed",
				"tools/call ask asked", "approvals/deny deny not_executed", "tools/call deny not_executed",
				"tools/call ask asked", "approvals/approve allow permitted", "tools/call allow committed",
			}
			if diff := cmp.Diff(want, g.asked(t)); diff != "" {
				t.Errorf("on record is (-want +got):\n%s", diff)
			}
			(place{ledger: g.ledger}).outcomes(t) // which verifies it
		})
	}
}

// The call of a client that cannot ask waits, and nothing happens, until an operator answers from another terminal.
func TestCallsWaitForTheOperatorsWord(t *testing.T) {
	for _, test := range []struct{ client, command, want string }{
		{client: "go-sdk legacy", command: "approve", want: "done"},
		{client: "go-sdk modern", command: "deny", want: "denied by asks"},
		{client: "typescript-v1", command: "approve", want: "done"},
		{client: "typescript-v2 modern", command: "approve", want: "done"},
	} {
		t.Run(test.client+" "+test.command, func(t *testing.T) {
			t.Parallel()
			g := newGated(t, askedFiles)
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				id := g.waiting(t)
				if n := g.sent(t, "write_file"); id == "" || n != 0 || len(g.contents(t)) != 0 {
					t.Errorf("while call %q waits, the server was sent %d writes", id, n)
				}
				operator(t, "approvals", test.command, id, "--ledger", g.ledger, "--note", "seen")
			}()
			got := withPerson[test.client](t, nobody, []object{g.write("a", "one")}, g.filesystem(t))
			<-answered
			if diff := cmp.Diff([]string{test.want}, got.came()); diff != "" {
				t.Errorf("the call came to (-want +got):\n%s", diff)
			}
			sent, files := 0, map[string]string{}
			if test.want == "done" {
				sent, files["a"] = 1, "one"
			}
			if n := g.sent(t, "write_file"); n != sent {
				t.Errorf("the server was sent %d writes, want %d", n, sent)
			}
			diff(t, "the files", g.contents(t), files)
		})
	}
}

// waiting is the id of the call that waits, as soon as there is one.
func (g *gated) waiting(t *testing.T) string {
	t.Helper()
	for began := time.Now(); time.Since(began) < patience; time.Sleep(20 * time.Millisecond) {
		out, err := exec.Command(sallyport, "approvals", "list", "--json", "--ledger", g.ledger).Output()
		if err != nil {
			continue // the gate has not made the folder yet
		}
		var list struct {
			Approvals []struct{ ID, State, Tool string }
		}
		if err := json.Unmarshal(out, &list); err != nil {
			t.Errorf("%v\n%s", err, out)
			return ""
		}
		for _, a := range list.Approvals {
			if a.State == "waiting" && a.Tool == "write_file" {
				return a.ID
			}
		}
	}
	t.Errorf("no call waits after %v", patience)
	return ""
}

//go:build peers

package peers_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// verifiedFiles are the rules of somebody who believes no server: what was written is read.
func verifiedFiles(more string) string {
	return `  - {id: reads, decision: allow, tools: [read_text_file], read_only: true}
  - id: writes
    decision: allow
    tools: [write_file]
    verify:
      observe: {tool: read_text_file, arguments: {path: "${args.path}"}}
      expect: 'observation.content == args.content'
` + more
}

// Every client sees that what it wrote with a real server was looked at, and nothing else of the answer is another.
func TestClientsSeeThatTheirWritesAreVerified(t *testing.T) {
	for name, ask := range withPerson {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGated(t, verifiedFiles(""))
			got := ask(t, nobody, []object{g.write("a", "one\u2028 \"two\"\n"), g.read("a"), g.write("a", ""), g.write("none/b", "x")}, g.filesystem(t))
			// The server itself refuses the last one: that is no lie, and there is nothing to verify.
			if diff := cmp.Diff([]string{"done, verified true", "done", "done, verified true", "failed"}, got.came()); diff != "" {
				t.Fatalf("the calls came to (-want +got):\n%s", diff)
			}
			if want, got := "Successfully wrote to "+g.file("a"), got.Answers[0].text(); got != want {
				t.Errorf("the server says %q, want %q", got, want)
			}
			diff(t, "the files", g.contents(t), map[string]string{"a": ""})
			once := []string{"write_file committed CONTINUE", "read_text_file observed verify"}
			if diff := cmp.Diff(append(once, once...), g.verdicts(t)); diff != "" {
				t.Errorf("on record is (-want +got):\n%s", diff)
			}
		})
	}
}

// A server that says that it wrote, and did not, is caught; nothing is written until a person looked, whoever starts the gate.
func TestLyingServerIsCaughtUntilAPersonLooked(t *testing.T) {
	for _, test := range []struct {
		name, lie, file string
		waits           bool // for 10 s, and so is not fooled by who is late
	}{
		{name: "nothing is written", lie: "nothing", file: "old"},
		{name: "nothing is written, and nothing was there", lie: "nothing", file: "first"},
		{name: "something else is written", lie: "else", file: "old"},
		{name: "it is written late", lie: "late", file: "old"},
		{name: "it is written late, and waited for", lie: "late", file: "old", waits: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			more := ""
			if test.waits {
				more = "      retry_observe_for: 10s\n"
			}
			g := newGated(t, verifiedFiles(more))
			if err := os.WriteFile(g.file("old"), []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			session := func(behaviour string, calls ...object) talk {
				return talkInGo(t, legacy, nobody, calls, g.before(t, "lying.mjs", behaviour))
			}
			check := func(what string, got talk, want ...string) {
				t.Helper()
				if diff := cmp.Diff(want, got.came()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
			first := session(test.lie, g.write(test.file, "after"), g.write("new", "x"), g.read("old"))
			if test.waits {
				check("a late server", first, "done, verified true", "done, verified true", "done")
				diff(t, "the files", g.contents(t), map[string]string{"old": "after", "new": "x"})
				return
			}
			check("a lie", first, "done, verified false", "denied by latch", "done")
			if said := first.Answers[0]; said.text() != "Successfully wrote to "+g.file(test.file) || said.Result.Meta["lying/verified"] != true {
				t.Errorf("what the server said is not what the client was told: %+v", said.Result)
			}
			if said := fmt.Sprint(first.Answers[1].Error.Data["reason"]); !strings.Contains(said, "sallyport release") {
				t.Errorf("the denial says %q, want what is to be done", said)
			}
			check("after a restart, of a server that does not lie any more", session("honest", g.write("new", "x"), g.read("old")), "denied by latch", "done")
			if n := g.sent(t, "write_file"); n != 1 {
				t.Errorf("the server was sent %d writes, want 1", n)
			}
			out := operator(t, "release", "--ledger", g.ledger, "--reason", "the server was replaced")
			if !strings.Contains(out, "released: ") {
				t.Errorf("release says:\n%s", out)
			}
			check("after the release", session("honest", g.write("new", "x")), "done, verified true")
			diff(t, "the new file", g.contents(t)["new"], "x")
			look := "read_text_file observed verify"
			if test.file == "first" {
				look = "read_text_file failed verify"
			}
			want := []string{"write_file committed STOP", look, "write_file committed CONTINUE", "read_text_file observed verify"}
			if diff := cmp.Diff(want, g.verdicts(t)); diff != "" {
				t.Errorf("on record is (-want +got):\n%s", diff)
			}
			(place{ledger: g.ledger}).outcomes(t) // which verifies it
		})
	}
}

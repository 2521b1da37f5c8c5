//go:build unix

// Package peers_test lets other people's MCP clients use sallyport over stdio, as their users do. The client of the
// official Go SDK does so in every run of the tests; those that come from npm only with the build tag peers, after
// test/peers/install has installed them.
//
// All of them make the calls of one conversation, and are to see the same answers. What an honest client cannot send
// (bad lines, both eras on one pipe, odd request ids) is tested elsewhere.
package peers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// patience is how long a peer may take for what takes milliseconds on a machine that has nothing else to do.
const patience = 2 * time.Minute

// sallyport is the path of the binary under test.
var sallyport string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sallyport-peers-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	sallyport = filepath.Join(dir, "sallyport")
	build := exec.Command("go", "build", "-o", sallyport, "sallyport/cmd/sallyport")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building sallyport: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// place is where servers run: a policy file of their own, which begins as the repository's, and a ledger's folder.
type place struct{ policy, ledger string }

func newPlace(t *testing.T) place {
	t.Helper()
	dir := t.TempDir()
	p := place{policy: filepath.Join(dir, "policy.json"), ledger: filepath.Join(dir, "ledger")}
	p.setPolicy(t, repositoryPolicy(t))
	return p
}

func repositoryPolicy(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../policy.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// serve is the command line of a server there.
func (p place) serve() []string {
	return []string{sallyport, "serve", "--policy", p.policy, "--ledger", p.ledger}
}

func (p place) setPolicy(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(p.policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// withoutWriting is a policy under which write_note can never be called.
const withoutWriting = `{"version":1,"allow":["read_ledger"],"deny":["write_note","rm_rf"]}`

// hangUp sends SIGHUP to the servers that are alive.
func (p place) hangUp(t *testing.T) {
	t.Helper()
	var status struct{ Servers []struct{ PID int } }
	p.ask(t, &status, "status", "--json", p.ledger)
	if len(status.Servers) == 0 {
		t.Fatal("no server is alive on the ledger")
	}
	for _, server := range status.Servers {
		if err := syscall.Kill(server.PID, syscall.SIGHUP); err != nil && err != syscall.ESRCH { // it may have left just now
			t.Fatal(err)
		}
	}
}

// ask decodes the output of one of sallyport's own commands.
func (p place) ask(t *testing.T, answer any, args ...string) {
	t.Helper()
	out, err := exec.Command(sallyport, args...).Output()
	if err != nil {
		t.Fatalf("sallyport %s: %v\n%s", args[0], err, out)
	}
	if err := json.Unmarshal(out, answer); err != nil {
		t.Fatalf("sallyport %s: %v\n%s", args[0], err, out)
	}
}

// outcomes returns the outcome of each record of the ledger, after verifying it.
func (p place) outcomes(t *testing.T) []string {
	t.Helper()
	var verdict struct {
		OK      bool
		Records int
	}
	p.ask(t, &verdict, "verify", "--json", p.ledger)
	if !verdict.OK {
		t.Error("the ledger does not verify")
	}
	text, err := os.ReadFile(filepath.Join(p.ledger, "ledger.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []string
	for line := range bytes.Lines(text) {
		var record struct{ Decision, Outcome string }
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatal(err)
		}
		outcomes = append(outcomes, record.Decision+" "+record.Outcome)
	}
	if verdict.Records != len(outcomes) {
		t.Errorf("verify counts %d records, want %d", verdict.Records, len(outcomes))
	}
	return outcomes
}

// transcript collects what several goroutines write.
type transcript struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// showOnFailure logs what the transcript holds when the test has failed.
func (s *transcript) showOnFailure(t *testing.T, name string) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s:\n%s", name, s)
		}
	})
}

// diff compares JSON values by their meaning.
func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(plain(t, want), plain(t, got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// plain returns v as encoding/json would decode it from its own JSON.
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

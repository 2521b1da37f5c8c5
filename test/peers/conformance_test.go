//go:build unix && peers

package peers_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

// revisions are those of which the conformance suite knows what they require of a server.
var revisions = []string{"2025-11-25", "2026-07-28"}

// allowAll and denyOne are the policies that the gate has for the suite.
const (
	allowAll = "version: 2\ndefault: allow\nrules: []\n"
	denyOne  = "version: 2\ndefault: allow\nrules:\n  - {id: no-images, decision: deny, tools: [test_image_content]}\n"
)

// known are the checks that may come out otherwise through the gate, "*" being all of a scenario, and why. The suite
// scores none of them.
var known = map[check]string{
	{"server-sse-polling", "*", 0}: "the fixture ends its stream and gives no place to go on from: its client waits for ever, ours is told that the call is inconclusive",
	{"tasks-dispatch-and-envelope", "sep-2663-tasks-get-invalid-task-id-32602", 0}:       "a task that nobody began here is unknown to the gate itself",
	{"tasks-dispatch-and-envelope", "sep-2663-tasks-result-removed-method-not-found", 0}: "likewise",
}

// check is one check of the suite; number tells those of a scenario apart that have the same ID.
type check struct {
	scenario, id string
	number       int
}

// verdicts are what became of the checks: whether each passed.
type verdicts map[check]bool

func (v verdicts) count() (passed, failed int) {
	for _, ok := range v {
		if ok {
			passed++
		} else {
			failed++
		}
	}
	return passed, failed
}

// differences are the checks that passed on one side only, but for those known.
func differences(one, other verdicts) map[check]bool {
	found := make(map[check]bool)
	for c := range maps.Keys(one) {
		found[c] = true
	}
	for c := range maps.Keys(other) {
		found[c] = true
	}
	maps.DeleteFunc(found, func(c check, _ bool) bool {
		return known[c] != "" || known[check{c.scenario, "*", 0}] != "" || one.passed(c) == other.passed(c)
	})
	return found
}

// passed reports whether a check passed. One that did not come up has not failed: what it depends on has.
func (v verdicts) passed(c check) bool {
	ok, there := v[c]
	return ok || !there
}

// TestConformance holds the gate to the protocol's own conformance suite: an upstream's results must be the same, check by
// check, directly and through the gate.
func TestConformance(t *testing.T) {
	fixture := buildFixture(t)
	direct := fixtureOverHTTP(t, fixture)
	overHTTP := gateBefore(t, allowAll, object{"url": direct, "type": "http"})
	overStdio := gateBefore(t, allowAll, object{"command": fixture})
	denying := gateBefore(t, denyOne, object{"url": direct, "type": "http"})

	table := &bytes.Buffer{}
	rows := tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(rows, "revision\tway\tpassed\tfailed\tothers than directly")
	for _, revision := range revisions {
		base := suite(t, direct, revision)
		passed, failed := base.count()
		fmt.Fprintf(rows, "%s\tdirectly\t%d\t%d\t\n", revision, passed, failed)
		for _, way := range []struct{ name, url string }{{"gate, HTTP upstream", overHTTP}, {"gate, stdio upstream", overStdio}} {
			got, differ := settled(t, base, direct, way.url, revision)
			passed, failed := got.count()
			fmt.Fprintf(rows, "%s\t%s\t%d\t%d\t%d\n", revision, way.name, passed, failed, len(differ))
			for _, c := range sortedChecks(differ) {
				t.Errorf("%s, %s: %s/%s passes directly: %t, through the gate: %t",
					revision, way.name, c.scenario, c.id, !got.passed(c), got.passed(c))
			}
		}
		got, differ := settled(t, base, direct, denying, revision)
		passed, failed = got.count()
		fmt.Fprintf(rows, "%s\tgate that denies one tool\t%d\t%d\t%d\n", revision, passed, failed, len(differ))
		var scenarios []string
		for c := range differ {
			scenarios = append(scenarios, c.scenario)
		}
		slices.Sort(scenarios)
		if scenarios = slices.Compact(scenarios); !slices.Equal(scenarios, []string{"tools-call-image"}) {
			t.Errorf("%s: with test_image_content denied other results come of %q, want tools-call-image alone", revision, scenarios)
		}
	}
	rows.Flush()
	t.Logf("the conformance suite:\n%s", table)
	// Nobody sees the log of a test that passes: make shows this file.
	if err := os.WriteFile("node_modules/conformance.txt", table.Bytes(), 0o600); err != nil {
		t.Error(err)
	}
}

func sortedChecks(differ map[check]bool) []check {
	return slices.SortedFunc(maps.Keys(differ), func(a, b check) int {
		return cmp.Or(cmp.Compare(a.scenario, b.scenario), cmp.Compare(a.id, b.id), cmp.Compare(a.number, b.number))
	})
}

// settled runs the suite through the gate, and finds what comes out otherwise than directly. Scenarios have time limits
// of their own, which a busy machine breaks on either side: a difference is one that is found each of several times.
func settled(t *testing.T, base verdicts, direct, gate, revision string) (got verdicts, differ map[check]bool) {
	t.Helper()
	got = suite(t, gate, revision)
	differ = differences(base, got)
	for range 3 {
		lasting := maps.Clone(differ)
		maps.DeleteFunc(lasting, func(c check, _ bool) bool { return c.scenario == "tools-call-image" })
		if len(lasting) == 0 {
			break
		}
		got = suite(t, gate, revision)
		again := differences(suite(t, direct, revision), got)
		maps.DeleteFunc(differ, func(c check, _ bool) bool { return !again[c] })
	}
	return got, differ
}

// bothEras is what the fixture serves over HTTP instead of a handler that can do only one era.
const bothEras = `legacy := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{})
		log.Fatal(http.ListenAndServe(*httpAddr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("MCP-Protocol-Version") >= "2026-07-28" {
				handler.ServeHTTP(w, r)
			} else {
				legacy.ServeHTTP(w, r)
			}
		})))`

// buildFixture builds the server that the Go SDK has for the suite, made to serve both eras at one URL.
func buildFixture(t *testing.T) string {
	t.Helper()
	const module, folder, oneEra = "github.com/modelcontextprotocol/go-sdk", "conformance/everything-server",
		"log.Fatal(http.ListenAndServe(*httpAddr, handler))"
	home, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(home)), folder, "main.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(text, []byte(oneEra)) != 1 {
		t.Fatalf("%s does not say %s any more", source, oneEra)
	}
	dir := t.TempDir()
	changed, path := filepath.Join(dir, "main.go"), filepath.Join(dir, "fixture")
	if err := os.WriteFile(changed, bytes.ReplaceAll(text, []byte(oneEra), []byte(bothEras)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", path, changed).CombinedOutput(); err != nil {
		t.Fatalf("building the fixture: %v\n%s", err, out)
	}
	return path
}

// fixtureOverHTTP runs the fixture, and returns its URL.
func fixtureOverHTTP(t *testing.T, fixture string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	command := exec.Command(fixture, "-http", address)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return "http://" + address + "/mcp"
		}
		if time.Now().After(end) {
			t.Fatalf("the fixture does not listen at %s", address)
		}
	}
}

// gateBefore serves one upstream through the gate over HTTP, and returns the gate's URL.
func gateBefore(t *testing.T, policy string, upstream object) string {
	t.Helper()
	dir := t.TempDir()
	servers, err := json.Marshal(object{"mcpServers": object{"fixture": upstream}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"servers.json": string(servers), "policy.yaml": policy} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(sallyport, "serve", "--servers", filepath.Join(dir, "servers.json"),
		"--policy", filepath.Join(dir, "policy.yaml"), "--ledger", filepath.Join(dir, "ledger"), "--http", "127.0.0.1:0")
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	seen := &transcript{}
	seen.showOnFailure(t, "standard error of the gate")
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if _, at, ok := strings.Cut(lines.Text(), "listening on "); ok {
				address <- at
			}
			fmt.Fprintln(seen, lines.Text())
		}
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		<-read
		if err := command.Wait(); err != nil {
			t.Errorf("the gate ended: %v", err)
		}
	})
	select {
	case at := <-address:
		return at
	case <-read:
		t.Fatal("the gate has ended before it listened")
	case <-time.After(patience):
		t.Fatal("the gate does not listen")
	}
	return ""
}

// resultFolder is the name of the folder that the suite makes for a scenario.
var resultFolder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// suite runs all that a revision requires of a server, and what it only suggests.
func suite(t *testing.T, url, revision string) verdicts {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	dir := t.TempDir()
	command := exec.CommandContext(ctx, node(t), "node_modules/@modelcontextprotocol/conformance/dist/index.js",
		"server", "--url", url, "--requirements", revision, "--output-dir", dir)
	out, err := command.CombinedOutput() // its status says only whether all is well, which the checks do too
	folders, _ := os.ReadDir(dir)
	v := make(verdicts)
	for _, folder := range folders {
		name := resultFolder.FindStringSubmatch(folder.Name())
		text, readErr := os.ReadFile(filepath.Join(dir, folder.Name(), "checks.json"))
		var checks []struct{ ID, Status string }
		if name == nil || readErr != nil || json.Unmarshal(text, &checks) != nil {
			t.Fatalf("the suite left %s: %v", folder.Name(), readErr)
		}
		for _, c := range checks {
			key := check{name[1], c.ID, 0}
			for ; ; key.number++ {
				if _, there := v[key]; !there {
					break
				}
			}
			v[key] = c.Status != "FAILURE" && c.Status != "WARNING"
		}
	}
	if passed, _ := v.count(); passed < 50 {
		t.Fatalf("the suite did not run: %v\n%s", err, out)
	}
	return v
}

// Package examples runs what stands in its folders, as people would, with the freshly built program.
package examples

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// binary is the freshly built sallyport.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "examples-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "sallyport")
	if out, err := exec.Command("go", "build", "-o", binary, "sallyport/cmd/sallyport").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building sallyport: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// copyOf copies a folder of examples to where its commands can be run.
func copyOf(t *testing.T, folder string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sallyport runs a command in dir and returns its standard output, the last line of the other, and its exit code.
func sallyport(t *testing.T, dir string, args ...string) (out, said string, code int) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "POLICY_PATH=", "LEDGER_DIR=", "CRASH_MARKER=")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return stdout.String(), strings.TrimSpace(stderr.String()), cmd.ProcessState.ExitCode()
}

// must runs a command that must end with a code, and returns the verdicts that it prints, each behind its step.
func must(t *testing.T, dir string, code int, args ...string) (verdicts []string) {
	t.Helper()
	out, said, got := sallyport(t, dir, args...)
	if got != code {
		t.Fatalf("sallyport %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, said)
	}
	for line := range strings.Lines(out) {
		var event struct{ Step, What, Verdict string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if event.Verdict != "" || event.What == "undone" {
			verdicts = append(verdicts, strings.TrimSpace(event.Step+" "+event.Verdict))
		}
	}
	return verdicts
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func compare(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestPlansOfNotes runs the plans on the built-in tools.
func TestPlansOfNotes(t *testing.T) {
	dir := copyOf(t, "plans")
	if out, said, code := sallyport(t, dir, "policy", "check", "--strict", "policy.yaml"); code != 0 {
		t.Errorf("policy.yaml: %s%s", out, said)
	}
	compare(t, "record-decision", []string{"record-decision CONTINUE", "CONTINUE"},
		must(t, dir, 0, "run", "record-decision.yaml", "--policy", "policy.yaml"))
	compare(t, "rehearsal", []string{"first CONTINUE", "second CONTINUE", "second", "first", "CONTINUE"},
		must(t, dir, 0, "rehearse", "decisions.yaml", "--policy", "policy.yaml"))
	compare(t, "decisions", []string{"first CONTINUE", "second CONTINUE", "CONTINUE"},
		must(t, dir, 0, "run", "decisions.yaml", "--policy", "policy.yaml"))

	// Without a policy that allows it nothing is erased, so nothing can be rehearsed; writing goes on.
	plain := copyOf(t, "plans")
	must(t, plain, 10, "rehearse", "decisions.yaml")
	must(t, plain, 0, "run", "record-decision.yaml")
}

// TestDeployRollsBack runs the deployment on the cluster that cannot take it.
func TestDeployRollsBack(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		if os.Getenv("SALLYPORT_FULL") == "1" {
			t.Fatal(err)
		}
		t.Skip("the example's cluster needs jq")
	}
	dir := copyOf(t, "deploy")
	for _, cluster := range []string{"staging", "production"} {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, cluster), 0o700),
			os.WriteFile(filepath.Join(dir, cluster, "shop"), []byte("2.0\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	on := func(cluster, command string) []string {
		return []string{command, "deploy.yaml", "--servers", cluster + ".json", "--policy", "policy.yaml", "--ledger", "ledger"}
	}
	production := filepath.Join(dir, "production", "shop")

	compare(t, "without a rehearsal", []string{"before CONTINUE", "deploy STOP", "deploy STOP"}, must(t, dir, 10, on("production", "run")...))
	if got := read(t, production); got != "2.1\n" {
		t.Errorf("after STOP %q runs, want 2.1: what was done is left for people to see", got)
	}
	compare(t, "rehearsal", []string{"before CONTINUE", "deploy CONTINUE", "deploy", "CONTINUE"}, must(t, dir, 0, on("staging", "rehearse")...))
	compare(t, "resumed", []string{"deploy ROLLBACK", "deploy", "ROLLBACK"}, must(t, dir, 11, append(on("production", "run"), "--resume")...))
	if got := read(t, production); got != "2.0\n" {
		t.Errorf("after ROLLBACK %q runs, want 2.0", got)
	}
	config := filepath.Join(dir, "production.json")
	if err := os.WriteFile(config, []byte(strings.Replace(read(t, config), `"14"`, `"15"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	compare(t, "with the database", []string{"before CONTINUE", "deploy CONTINUE", "CONTINUE"}, must(t, dir, 0, on("production", "run")...))
	if got := read(t, production); got != "2.1\n" {
		t.Errorf("after CONTINUE %q runs, want 2.1", got)
	}
}

// TestGuideShowsTheseFiles keeps the guide's copies of the files from growing apart from them.
func TestGuideShowsTheseFiles(t *testing.T) {
	guide := read(t, filepath.Join("..", "docs", "guides", "deploy-with-rollback.md"))
	files, err := os.ReadDir("deploy")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if want := "cat >" + file.Name() + " <<'END'\n" + read(t, filepath.Join("deploy", file.Name())) + "END\n"; !strings.Contains(guide, want) {
			t.Errorf("the guide does not write %s as it is here", file.Name())
		}
	}
}

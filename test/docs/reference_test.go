//go:build unix

package docs_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	commandPattern = regexp.MustCompile(`(?m)^  ([a-z]+) +\S`)
	flagPattern    = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z][a-z-]*)`)
	anyFlagPattern = regexp.MustCompile("(?:^|[ `\\[|(])--([a-z][a-z-]*)")
)

// help asks --help, and the --help of each command that it names, for commands and their flags.
func help(t *testing.T, found map[string]map[string]bool, command ...string) {
	t.Helper()
	out, err := exec.Command(sallyport(), append(command, "--help")...).Output()
	if err != nil {
		t.Fatalf("sallyport %s --help: %v", strings.Join(command, " "), err)
	}
	flags := map[string]bool{}
	for _, m := range flagPattern.FindAllStringSubmatch(part(string(out), "Flags:"), -1) {
		flags[m[1]] = true
	}
	found[strings.Join(append([]string{"sallyport"}, command...), " ")] = flags
	for _, m := range commandPattern.FindAllStringSubmatch(part(string(out), "Available Commands:"), -1) {
		help(t, found, append(command, m[1])...)
	}
}

// part returns the part of a help text under a title, up to the next empty line.
func part(text, title string) string {
	_, after, _ := strings.Cut(text, "\n"+title+"\n")
	before, _, _ := strings.Cut(after, "\n\n")
	return before
}

// TestReferenceNamesEveryFlag compares docs/reference/cli.md with --help, both ways. --help itself, which every command
// has, is described once.
func TestReferenceNamesEveryFlag(t *testing.T) {
	want := map[string]map[string]bool{}
	help(t, want)
	if len(want) < 5 || !want["sallyport serve"]["policy"] {
		t.Fatalf("--help could not be read: %v", want)
	}
	p := readPage(t, filepath.Join(root, "docs", "reference", "cli.md"))
	got := map[string]map[string]bool{}
	for _, l := range p.lines {
		m := headingPattern.FindStringSubmatch(l.text)
		if m == nil || !strings.HasPrefix(m[2], "sallyport") {
			continue
		}
		flags := map[string]bool{}
		for _, f := range anyFlagPattern.FindAllStringSubmatch(p.section(l.text), -1) {
			flags[f[1]] = true
		}
		got[m[2]] = flags
	}
	for _, commands := range []map[string]map[string]bool{want, got} {
		for command, flags := range commands {
			if command != "sallyport" {
				delete(flags, "help")
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/reference/cli.md differs from --help (-help +page):\n%s", diff)
	}
}

// TestGuideNamesEveryError looks on the page about errors for what the gate says when it could not do its work.
func TestGuideNamesEveryError(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal", "gate", "errors.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := readPage(t, filepath.Join(root, "docs", "guides", "when-something-is-wrong.md"))
	said := strings.Join(strings.Fields(p.text), " ")
	messages := 0
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		if len(strings.Fields(text)) < 3 {
			return true
		}
		messages++
		if !strings.Contains(said, text) {
			t.Errorf("%s does not have %q", p.name, text)
		}
		return true
	})
	if messages < 10 {
		t.Errorf("only %d messages were found in the code", messages)
	}
}

// TestJSONBlocksAreJSON reads what is shown as JSON.
func TestJSONBlocksAreJSON(t *testing.T) {
	for _, p := range readPages(t) {
		for _, b := range p.blocks {
			if b.info == "json" && !json.Valid([]byte(b.text)) {
				t.Errorf("%s:%d: this is not JSON", p.name, b.line)
			}
		}
	}
}

// TestYAMLBlocksAreWhatTheySay checks what is shown as YAML: a plan can be read, and all else is a policy, and hardly one that
// nobody meant.
func TestYAMLBlocksAreWhatTheySay(t *testing.T) {
	plans := 0
	for _, p := range readPages(t) {
		for _, b := range p.blocks {
			if b.info != "yaml" {
				continue
			}
			dir := t.TempDir()
			name := filepath.Join(dir, "shown.yaml")
			if err := os.WriteFile(name, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(sallyport(), "policy", "check", "--strict", name)
			if stepsPattern.MatchString(b.text) {
				plans++
				cmd = exec.Command(sallyport(), "run", name, "--dry-run", "--ledger", filepath.Join(dir, "ledger"))
			}
			cmd.Env = environ()
			out, err := cmd.CombinedOutput()
			if denied := cmd.ProcessState.ExitCode() == 10 && stepsPattern.MatchString(b.text); err != nil && !denied {
				t.Errorf("%s:%d: %v\n%s", p.name, b.line, err, out)
			}
		}
	}
	if plans == 0 {
		t.Error("no plan was found on any page")
	}
}

// stepsPattern tells a plan from a policy.
var stepsPattern = regexp.MustCompile(`(?m)^steps:`)

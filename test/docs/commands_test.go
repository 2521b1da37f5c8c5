//go:build unix

package docs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long the commands of one page may take, on a machine that others load.
const patience = 5 * time.Minute

// mark ends the output of a block.
const mark = "\x1e"

// run runs the sh blocks of a page in dir, and returns what is wrong, each with its place.
func (p page) run(dir string) (problems []string, err error) {
	var script strings.Builder
	var commands, outputs []block // of the same length; outputs are empty where a page does not say
	for i, b := range p.blocks {
		if !b.isRun() {
			continue
		}
		var output block
		if i+1 < len(p.blocks) && p.blocks[i+1].info == "output" {
			output = p.blocks[i+1]
		}
		commands, outputs = append(commands, b), append(outputs, output)
		fmt.Fprintf(&script, "%s\nprintf '\\036'\n", b.text)
	}
	if len(commands) == 0 {
		return nil, nil
	}
	out, failure, err := runScript(dir, script.String(), p.asksPerson())
	if err != nil {
		return nil, err
	}
	printed := strings.Split(out, mark)
	for i, got := range printed[:len(printed)-1] {
		if want := outputs[i]; want.line != 0 && !matches(want.text, got) {
			problems = append(problems, fmt.Sprintf("%s:%d: it prints something else\nwant:\n%s\ngot:\n%s", p.name, want.line, want.text, got))
		}
	}
	if failure != nil {
		failed := commands[min(len(printed), len(commands))-1]
		problems = append(problems, fmt.Sprintf("%s:%d: %v\n%s", p.name, failed.line, failure, printed[len(printed)-1]))
	}
	return problems, nil
}

// asksPerson reports whether somebody must sit at a terminal while the page runs.
func (p page) asksPerson() bool {
	return slices.ContainsFunc(p.blocks, func(b block) bool { return b.info == "sh person" })
}

// runScript runs a script in dir and returns what it printed, and how it failed. Nothing that it started survives it. With a
// person it has a terminal, where each question is answered with yes.
func runScript(dir, script string, withPerson bool) (out string, failure, err error) {
	temp, err := os.MkdirTemp("", "docs-script-")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(temp)
	name := filepath.Join(temp, "script")
	if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
		return "", nil, err
	}
	// A file, not a pipe: what is left running in the background must not keep us waiting.
	printed, err := os.OpenFile(filepath.Join(temp, "out"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return "", nil, err
	}
	defer printed.Close()

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-e", name)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, environ(), printed, printed
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if withPerson {
		leave, err := seatPerson(cmd)
		if err != nil {
			return "", nil, err
		}
		defer leave()
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	failure = cmd.Wait()
	if ctx.Err() != nil {
		failure = fmt.Errorf("took longer than %v", patience)
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // there is nobody left if all is well
	text, err := os.ReadFile(printed.Name())
	return string(text), failure, err
}

// environ is the environment of the commands: the freshly built sallyport comes first, and no setting reaches it.
func environ() []string {
	env := []string{"PATH=" + binDir + string(os.PathListSeparator) + os.Getenv("PATH")}
	for _, setting := range os.Environ() {
		switch name, _, _ := strings.Cut(setting, "="); name {
		case "PATH", "LEDGER_DIR", "POLICY_PATH", "CRASH_MARKER", "SALLYPORT_FAILURE_KB", "SALLYPORT_SKILLS", "SALLYPORT_PLATFORM",
			"CLAUDE_CONFIG_DIR", "CLAUDE_SESSION_ID", "GLOBAL_LIBRARY_PATH", "ENABLE_RATE_LIMITING":
		default:
			env = append(env, setting)
		}
	}
	return env
}

// matches compares what was printed with what a page says: … is any text within a line, a line of only … any lines.
func matches(want, got string) bool {
	var pattern strings.Builder
	for row := range strings.Lines(want) {
		row = strings.TrimRight(row, "\n")
		if row == "…" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		parts := strings.Split(row, "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern.WriteString(strings.Join(parts, ".*") + `\n`)
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(strings.TrimRight(got, "\n") + "\n")
}

// TestCommandsWork runs each page in a folder of its own; README.md, which speaks of the source, in the module's.
func TestCommandsWork(t *testing.T) {
	t.Parallel()
	for _, p := range readPages(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, b := range p.blocks {
				for _, tool := range []string{"python3", "jq", "sha256sum"} {
					if b.isRun() && strings.Contains(b.text, tool) {
						need(t, tool)
					}
				}
			}
			if p.asksPerson() && !terminals {
				t.Skip("no terminal can be made on this platform")
			}
			dir := t.TempDir()
			if p.name == "README.md" {
				dir = root
			}
			problems, err := p.run(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range problems {
				t.Error(problem)
			}
		})
	}
}

func TestRunTellsWhereAPageIsWrong(t *testing.T) {
	fence := "```"
	text := strings.NewReplacer("~", fence).Replace("# Page\n~sh\nn=1\necho one\n~\n~output\none\n~\n" +
		"~sh\necho $n two\n~\n~output\ntwo\n~\n~sh\nfalse\necho not reached\n~\n~sh\necho nor this\n~\n")
	problems, err := parsePage("page.md", text).run(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) != 2 {
		t.Fatalf("got %d problems, want 2: %q", len(problems), problems)
	}
	if got, want := problems[0], "page.md:12: it prints something else\nwant:\ntwo\n\ngot:\n1 two\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := problems[1], "page.md:15: exit status 1\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPersonSaysYes has a page ask at the terminal, and then at none.
func TestPersonSaysYes(t *testing.T) {
	if !terminals {
		t.Skip("no terminal can be made on this platform")
	}
	const ask = "printf 'Sure? Type yes to go on: ' >/dev/tty; read -r answer </dev/tty; echo \"$answer\"\n"
	text := strings.ReplaceAll("~sh person\n"+ask+ask+"~\n~output\nyes\nyes\n~\n", "~", "```")
	if problems, err := parsePage("page.md", text).run(t.TempDir()); err != nil || len(problems) > 0 {
		t.Errorf("with a person: %q, %v", problems, err)
	}
	if got, want := parsePage("page.md", text).asksPerson(), true; got != want {
		t.Errorf("asksPerson: got %t, want %t", got, want)
	}
	if _, failure, err := runScript(t.TempDir(), "setsid sh -e -c '"+strings.ReplaceAll(ask, "'", `"`)+"'", false); err != nil || failure == nil {
		t.Errorf("without a person: %v, %v, want a failure", failure, err)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"a\n", "a\n", true},
		{"a\n", "a", true},
		{"a\n", "a\nb\n", false},
		{"a…c\n", "a b.b c\n", true},
		{"a…c\n", "a\nc\n", false},
		{"a.c\n", "abc\n", false},
		{"a\n…\nd\n", "a\nb\nc\nd\n", true},
		{"a\n…\nd\n", "a\nd\n", true},
		{"a\n…\nd\n", "a\nb\nc\n", false},
		{"…\n", "", true},
	} {
		if got := matches(c.want, c.got); got != c.ok {
			t.Errorf("matches(%q, %q): got %t, want %t", c.want, c.got, got, c.ok)
		}
	}
}

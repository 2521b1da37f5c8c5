package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0") // race-built processes sleep a second on exit otherwise
	testscript.Main(m, map[string]func(){
		"sallyport": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// plain are the scripts whose commands do one thing after the other, or start hooks, as hook does too. Their processes, which are
// most, would with the race detector take some times as long to start, and show nothing.
var plain = map[string]bool{"canon": true, "doctor": true, "doctor-verify": true, "install": true,
	"policy": true, "policy-explain": true, "policy-suggest": true, "token": true, "trust": true, "verify": true}

// TestScripts runs what a user types and sees: testdata/script, one file a subject.
func TestScripts(t *testing.T) {
	chains, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	released := t.TempDir()
	build := exec.Command("go", "build", "-o", released, "sallyport/cmd/sallyport")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("CHAINS", chains+"/../../testdata/conformance/chains")
			if plain[strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")] {
				env.Setenv("PATH", released+string(os.PathListSeparator)+env.Getenv("PATH"))
			}
			return nil
		},
	})
}

// TestDefaultsOfServe holds the binary to the limits that are promised.
func TestDefaultsOfServe(t *testing.T) {
	flags := newServe().Flags()
	for name, want := range map[string]string{"max-line": "16777216", "max-calls": "64"} {
		if got := flags.Lookup(name).DefValue; got != want {
			t.Errorf("--%s is %s if not given, want %s", name, got, want)
		}
	}
}

// TestNoCommandIsThereTwice looks for names that two commands of one level have: only one of them could be called.
func TestNoCommandIsThereTwice(t *testing.T) {
	seen := 0
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		names := map[string]bool{}
		for _, sub := range cmd.Commands() {
			seen++
			if names[sub.Name()] {
				t.Errorf("%s is there twice", sub.CommandPath())
			}
			names[sub.Name()] = true
			look(sub)
		}
	}
	look(newRoot(nil))
	if seen < 20 {
		t.Errorf("only %d commands were found", seen)
	}
}

// TestCommandsAreMadeAlone has each command made as if it were said, which must be the one that is made among all.
func TestCommandsAreMadeAlone(t *testing.T) {
	all := newRoot(nil).Commands()
	if len(all) != len(commands) {
		t.Errorf("%d commands are made, want %d", len(all), len(commands))
	}
	for _, c := range commands {
		root := newRoot([]string{c.name, "--help"})
		if made := root.Commands(); len(made) != 1 || made[0].Name() != c.name {
			t.Errorf("for %q %v is made", c.name, made)
		}
		var told [2]strings.Builder
		for i, from := range []*cobra.Command{root, newRoot(nil)} {
			from.SetArgs([]string{c.name, "--help"})
			from.SetOut(&told[i])
			if err := from.Execute(); err != nil {
				t.Error(err)
			}
		}
		if told[0].String() != told[1].String() {
			t.Errorf("%s --help says %q alone and %q among all", c.name, &told[0], &told[1])
		}
	}
}

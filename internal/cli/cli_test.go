package cli

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0") // race-built processes sleep a second on exit otherwise
	testscript.Main(m, map[string]func(){
		"sallyport": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs what a user types and sees: testdata/script, one file a subject.
func TestScripts(t *testing.T) {
	chains, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("CHAINS", chains+"/../../testdata/conformance/chains")
			return nil
		},
	})
}

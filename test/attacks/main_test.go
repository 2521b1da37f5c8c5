//go:build unix

// Package attacks_test drives the built program from outside, as a client and as an upstream server that mean harm. What
// stands in the way of a test of one package, since it goes through several, is here.
package attacks_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// sallyport is the program under attack.
var sallyport string

// self is this test's own program, which is a puppet server, or a shelf, when it is told to be one.
var self string

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "puppet" {
		playPuppet(os.Args[2])
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "shelf" {
		playShelf(os.Args[2])
		return
	}
	os.Exit(build(m))
}

func build(m *testing.M) int {
	// A race-instrumented process, as our servers may be, otherwise sleeps for a second when it exits.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	dir, err := os.MkdirTemp("", "attacks-*")
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
	if self, err = os.Executable(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

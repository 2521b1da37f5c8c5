// Command relay starts a program and copies bytes between it and its own stdin and stdout: the floor for any process that
// stands between a client and a server.
//
//	relay COMMAND [ARG...]
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: relay COMMAND [ARG...]")
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { // ends with the process
		pass(in, os.Stdin)
		in.Close()
	}()
	return errors.Join(pass(os.Stdout, out), cmd.Wait())
}

// pass copies through memory of its own, whatever the two ends could do without.
func pass(to io.Writer, from io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 64<<10))
	return err
}

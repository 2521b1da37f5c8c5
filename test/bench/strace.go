//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// countSyncs counts, by strace where there is one, the syncs of a committed note, and makes sure
// that the bare program makes the same calls that lock, read, write, sync and name files. It need
// not ask for sizes and flags as often, nor sync two files at once.
func (b *bench) countSyncs(sizes []string) error {
	what, most := "    fsync and fdatasync", atMost(5, "")
	strace, err := exec.LookPath("strace")
	if err != nil {
		b.add(row{what, "no strace", "", 0, bar{}})
		return nil
	}
	dir, err := b.folder("strace")
	if err != nil {
		return err
	}
	const n = 20
	server, err := b.traced(strace, b.server, b.serveArgs(dir), func(p *process, i int) error {
		return p.ask(writeNote(i), committed)
	}, n)
	if err != nil {
		return err
	}
	bareDir, err := b.folder("strace")
	if err != nil {
		return err
	}
	bare, err := b.traced(strace, b.fileCalls, append([]string{bareDir}, sizes...), func(p *process, _ int) error {
		return p.ask([]byte("note"), "")
	}, n)
	if err != nil {
		return err
	}
	slices.Sort(server)
	slices.Sort(bare)
	if !slices.Equal(server, bare) {
		return fmt.Errorf("the bare program must make the server's file calls:\nserver: %s\nbare:   %s",
			strings.Join(server, " "), strings.Join(bare, " "))
	}
	syncs := 0
	for _, call := range server {
		if call == "fsync" || call == "fdatasync" {
			syncs++
		}
	}
	b.add(row{what, fmt.Sprint(syncs), "", float64(syncs), most})
	return nil
}

var (
	tracedCalls = "openat,flock,fcntl,ftruncate,pread64,pwrite64,fsync,fdatasync,io_submit,linkat,renameat,unlinkat,mkdirat,write"
	callName    = regexp.MustCompile(`^\d+ +(\w+)\((1, |\d+, "\{\\"jsonrpc)?`) // and whether it is an answer
)

// traced runs a program, asks it n times, and returns the file calls it made for the last.
func (b *bench) traced(strace, program string, args []string, ask func(p *process, i int) error, n int) ([]string, error) {
	output := filepath.Join(b.dir, "trace")
	command := []string{"-f", "-qq", "-e", "signal=none", "-e", "trace=" + tracedCalls, "-o", output, program}
	p, err := startProcess(strace, append(command, args...)...)
	if err != nil {
		return nil, err
	}
	for i := range n {
		if err := ask(p, i); err != nil {
			return nil, err
		}
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	trace, err := os.ReadFile(output)
	if err != nil {
		return nil, err
	}
	var calls, last []string // since the last answer, and between the last two
	for line := range strings.Lines(string(trace)) {
		switch m := callName.FindStringSubmatch(line); {
		case m == nil: // a call is resumed, or a process ends
		case m[1] == "fcntl" && !strings.Contains(line, "F_OFD_SETLK"):
		case m[1] == "write" && m[2] != "":
			calls, last = nil, calls
		case m[1] == "io_submit": // the kernel syncs by itself
			calls = append(calls, "fdatasync")
		case m[1] != "write":
			calls = append(calls, m[1])
		}
	}
	return last, nil
}

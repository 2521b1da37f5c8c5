//go:build linux

// Command bench measures sallyport, each time against a ceiling that is taken in the same run, in
// turn with what is measured, since the absolute figures of a machine that is shared drift; and
// prints a table of the ratios.
//
//	go run ./test/bench [-strict] [-run REGEXP] [-dir FOLDER]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// bench is what the measurements share.
type bench struct {
	dir    string // for everything that they write; removed at the end
	policy string // the policy file that the project ships

	// The programs.
	server, hello, answer, fileCalls, upstream, relay string

	rows []row
}

// measurements in the order of the table. Each adds rows.
var measurements = []struct {
	name    string
	measure func(*bench) error
}{
	{"append", (*bench).measureAppend},
	{"million", (*bench).measureMillion},
	{"verify", (*bench).measureVerify},
	{"decide", (*bench).measureDecide},
	{"start", (*bench).measureStart},
	{"note", (*bench).measureNote},
	{"memory", (*bench).measureMemory},
	{"calls", (*bench).measureCalls},
	{"hook", (*bench).measureHook},
	{"gateway", (*bench).measureGateway},
	{"gatewaystart", (*bench).measureGatewayStart},
}

func main() {
	strict := flag.Bool("strict", false, "exit 1 if a bar is missed")
	only := flag.String("run", "", "make only the measurements whose name matches this `REGEXP`")
	dir := flag.String("dir", "/var/tmp", "write below this `FOLDER`, which must be on a disk")
	flag.Parse()
	missed, err := run(*only, *dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if missed > 0 && *strict {
		os.Exit(1)
	}
}

func run(only, dir string) (missed int, err error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return 0, err
	}
	b, err := newBench(dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with the process
		<-interrupted
		os.RemoveAll(b.dir)
		os.Exit(2)
	}()
	for _, m := range measurements {
		if !wanted.MatchString(m.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s\n", m.name)
		if failed := m.measure(b); failed != nil {
			err = errors.Join(err, fmt.Errorf("measuring %s: %w", m.name, failed))
		}
	}
	missed, printErr := printTable(os.Stdout, b.rows)
	return missed, errors.Join(err, printErr)
}

// newBench makes the folder and builds the programs, all without C libraries, as releases are: to
// load those takes a third of a server's start.
func newBench(parent string) (*bench, error) {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("looking for the module: %w", err)
	}
	root := strings.TrimSpace(string(module))
	dir, err := os.MkdirTemp(parent, "sallyport-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{
		dir:       dir,
		policy:    filepath.Join(root, "policy.json"),
		server:    filepath.Join(dir, "sallyport"),
		hello:     filepath.Join(dir, "hello"),
		answer:    filepath.Join(dir, "answer"),
		fileCalls: filepath.Join(dir, "filecalls"),
		upstream:  filepath.Join(dir, "upstream"),
		relay:     filepath.Join(dir, "relay"),
	}
	for program, source := range map[string]string{
		b.server:    "./cmd/sallyport",
		b.hello:     "./test/bench/bare/hello",
		b.answer:    "./test/bench/bare/answer",
		b.fileCalls: "./test/bench/bare/filecalls",
		b.upstream:  "./test/bench/upstream",
		b.relay:     "./test/bench/relay",
	} {
		build := exec.Command("go", "build", "-o", program, source)
		build.Dir, build.Stderr = root, os.Stderr
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if err := build.Run(); err != nil {
			return nil, errors.Join(fmt.Errorf("building %s: %w", source, err), os.RemoveAll(dir))
		}
	}
	return b, nil
}

// folder makes an empty folder below the bench's own.
func (b *bench) folder(name string) (string, error) {
	dir, err := os.MkdirTemp(b.dir, name+"-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o700)
}

func (b *bench) add(r row) { b.rows = append(b.rows, r) }

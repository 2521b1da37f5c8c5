//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// process is a program that answers lines with lines.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startProcess(name string, args ...string) (*process, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{cmd, in, bufio.NewReaderSize(out, 256<<10)}, nil
}

func (b *bench) startServer(dir string) (*process, error) {
	return startProcess(b.server, b.serveArgs(dir)...)
}

func (b *bench) serveArgs(dir string) []string {
	return []string{"serve", "--policy", b.policy, "--ledger", dir}
}

func (p *process) send(line []byte) error {
	_, err := p.in.Write(append(line, '\n'))
	return err
}

// receive returns the next line, which is good until the next call.
func (p *process) receive() ([]byte, error) {
	line, err := p.out.ReadSlice('\n')
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return line, err
}

// ask sends a line and checks that the answer holds a text.
func (p *process) ask(line []byte, want string) error {
	if err := p.send(line); err != nil {
		return err
	}
	if err := p.expect(want); err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	return nil
}

// expect checks that the next line holds a text.
func (p *process) expect(want string) error {
	answer, err := p.receive()
	if err == nil && !bytes.Contains(answer, []byte(want)) {
		err = fmt.Errorf("the answer is %.300s", answer)
	}
	return err
}

// cpu is the time that the program, without those that it has started, has spent on processors.
func (p *process) cpu() (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	if err != nil || tasks == nil {
		return 0, fmt.Errorf("no schedstat of process %d: %w", p.cmd.Process.Pid, err)
	}
	var sum time.Duration
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			return 0, err
		}
		var spent time.Duration
		if _, err := fmt.Sscan(string(text), &spent); err != nil {
			return 0, fmt.Errorf("reading %q: %w", text, err)
		}
		sum += spent
	}
	return sum, nil
}

// memory is what the program holds of memory of its own, in MB.
func (p *process) memory() (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if after, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			var kB float64
			if _, err := fmt.Sscanf(after, "%f kB", &kB); err != nil {
				return 0, fmt.Errorf("reading %q: %w", line, err)
			}
			return kB / 1024, nil
		}
	}
	return 0, errors.New("no RssAnon among what the kernel says")
}

// end lets the program come to its end.
func (p *process) end() error {
	return errors.Join(p.in.Close(), p.cmd.Wait())
}

// initialize is the first message of the older protocol.
const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

// request is a message of the modern protocol; params is the beginning of its parameters, a comma included.
func request(id int, method, params string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`, id, method, params)
}

func callTool(id int, name, args string) []byte {
	return request(id, "tools/call", fmt.Sprintf(`"name":"%s","arguments":%s,`, name, args))
}

func readLedger(id int) []byte { return callTool(id, "read_ledger", "{}") }

// Harness is the smallest harness that does not take a tool's word for it: it lets a tool act, looks with another call at
// what really remained, compares, and decides by that alone whether to go on.
//
//	go run ./examples/harness -- sallyport serve
//
// It prints CONTINUE and ends with 0, or prints STOP with the reason and ends with 10. Behind -- is the command line of any
// MCP server of revision 2026-07-28 with the tools write_note and read_ledger; without one it is sallyport serve.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// note is what we want to be there in the end. Its request_id was chosen before the first attempt, so that a retry is safe.
type note struct {
	RequestID string `json:"request_id"`
	Text      string `json:"text"`
}

func main() {
	command := os.Args[1:]
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		command = []string{"sallyport", "serve"}
	}
	if err := run(command, note{"req-0001", "gate applied"}); err != nil {
		fmt.Println("STOP:", err)
		os.Exit(10)
	}
	fmt.Println("CONTINUE")
}

// run executes and verifies. An error means STOP, whatever the tool itself said.
func run(command []string, want note) error {
	s, err := start(command)
	if err != nil {
		return err
	}
	defer s.stop()

	// Execute. What the tool answers is not the end of the story, not even an error: it may have acted all the same.
	_, said := s.call("write_note", want)

	// Verify, by another call. No observation is no evidence.
	result, err := s.call("read_ledger", struct{}{})
	if err != nil {
		return errors.Join(fmt.Errorf("the observation failed: %w", err), said)
	}
	var observed struct{ Notes []note }
	if err := json.Unmarshal(result, &observed); err != nil {
		return fmt.Errorf("the observation cannot be read: %w", err)
	}

	// Decide.
	found := 0
	for _, n := range observed.Notes {
		switch {
		case n == want:
			found++
		case n.RequestID == want.RequestID:
			return fmt.Errorf("%s says something else than was written", n.RequestID)
		}
	}
	if found != 1 {
		return errors.Join(fmt.Errorf("%s is there %d times, and not once", want.RequestID, found), said)
	}
	return nil
}

// server is an MCP server that runs as a process and speaks over its stdin and stdout.
type server struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	id      int
}

func start(command []string) (*server, error) {
	process := exec.Command(command[0], command[1:]...)
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	return &server{process: process, in: in, out: bufio.NewReader(out)}, nil
}

// call calls a tool and returns its structured content. The protocol is stateless: each request says which revision it is of.
func (s *server) call(tool string, args any) (json.RawMessage, error) {
	s.id++
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.id, "method": "tools/call", "params": map[string]any{
		"name": tool, "arguments": args,
		"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": struct{}{}},
	}})
	if err != nil {
		return nil, err
	}
	if _, err := s.in.Write(append(request, '\n')); err != nil {
		return nil, fmt.Errorf("calling %s: %w", tool, err)
	}
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("calling %s: no answer: %w", tool, err)
	}
	var answer struct {
		ID     int
		Error  *struct{ Message string }
		Result struct {
			IsError           bool
			StructuredContent json.RawMessage
		}
	}
	switch err := json.Unmarshal(line, &answer); {
	case err != nil:
		return nil, fmt.Errorf("calling %s: %w", tool, err)
	case answer.ID != s.id:
		return nil, fmt.Errorf("calling %s: the answer is to another request", tool)
	case answer.Error != nil:
		return nil, fmt.Errorf("calling %s: %s", tool, answer.Error.Message)
	case answer.Result.IsError:
		return nil, fmt.Errorf("calling %s: the tool says that it failed", tool)
	}
	return answer.Result.StructuredContent, nil
}

func (s *server) stop() {
	s.in.Close()
	s.process.Wait()
}

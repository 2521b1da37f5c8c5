package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"sallyport/internal/canon"
)

// client is the demo's MCP client: it speaks 2026-07-28, one request at a time, with a server
// that runs as a process of its own.
type client struct {
	server *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	id     int
}

// start starts this very program as a server in the demo's folder.
func (d *demo) start(ctx context.Context, env ...string) (*client, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	server := exec.CommandContext(ctx, self, "serve",
		"--policy", filepath.Join(d.dir, "policy.json"), "--ledger", filepath.Join(d.dir, defaultLedgerDir))
	server.Env = append(append(os.Environ(), "CRASH_MARKER="), env...)
	in, err := server.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	return &client{server: server, in: in, out: bufio.NewReader(out)}, nil
}

// envelope is what every request of this protocol version carries.
const envelope = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"sallyport-demo","version":"` + Version + `"}}`

// toolCall spells the members of tools/call's params.
func toolCall(tool, args string) string {
	return fmt.Sprintf(`"name":%s,"arguments":%s,`, canon.AppendString(nil, tool), args)
}

func (c *client) send(method, members string) error {
	c.id++
	_, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s%s}}`+"\n", c.id, method, members, envelope)
	return err
}

// request sends a request and returns the answer, whatever it is.
func (c *client) request(method, members string) (canon.Value, error) {
	if err := c.send(method, members); err != nil {
		return canon.Value{}, fmt.Errorf("asking the server: %w", err)
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return canon.Value{}, fmt.Errorf("reading the server's answer: %w", err)
	}
	return canon.Parse(line)
}

func (c *client) call(tool, args string) (canon.Value, error) {
	return c.request("tools/call", toolCall(tool, args))
}

// stop ends the server by closing its stdin. It does nothing to one that was stopped or killed.
func (c *client) stop() {
	c.in.Close()
	c.server.Wait()
}

func (c *client) kill() {
	c.server.Process.Kill()
	c.server.Wait()
}

//go:build peers

package peers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toldOf is what a client was told of a call.
type toldOf struct {
	Result *struct {
		Content           []struct{ Text string }
		StructuredContent object
		IsError           bool
		Meta              object `json:"_meta"`
	}
	Error *struct {
		Code    int
		Message string
		Data    object
	}
}

// String is what a call came to, in a few words.
func (a toldOf) String() string {
	switch {
	case a.Error != nil:
		return fmt.Sprintf("denied by %v", a.Error.Data["rule"])
	case a.Result == nil:
		return "nothing"
	}
	text := "done"
	if a.Result.IsError {
		text = "failed"
	}
	if verified, there := a.Result.Meta["sallyport/verified"]; there {
		text += fmt.Sprintf(", verified %v", verified)
	}
	return text
}

// text is what the tool said.
func (a toldOf) text() string {
	if a.Result == nil || len(a.Result.Content) == 0 {
		return ""
	}
	return a.Result.Content[0].Text
}

// talk is what a client was told, and the questions that it put to its person.
type talk struct {
	Answers []toldOf
	Asked   []struct {
		Message string
		Schema  object
	}
}

// came is what the calls came to, in a few words each.
func (k talk) came() (all []string) {
	for _, a := range k.Answers {
		all = append(all, a.String())
	}
	return all
}

// nobody is the person of a client that can ask nobody.
const nobody = "nobody"

// withPerson are clients that put questions to a person, who declines what has a text in it, or is nobody.
var withPerson = map[string]func(t *testing.T, declines string, calls []object, command []string) talk{
	"go-sdk legacy": func(t *testing.T, declines string, calls []object, command []string) talk {
		return talkInGo(t, legacy, declines, calls, command)
	},
	"go-sdk modern": func(t *testing.T, declines string, calls []object, command []string) talk {
		return talkInGo(t, modern, declines, calls, command)
	},
	"typescript-v1": func(t *testing.T, declines string, calls []object, command []string) talk {
		return talkInNode(t, "v1", declines, calls, command)
	},
	"typescript-v2 legacy": func(t *testing.T, declines string, calls []object, command []string) talk {
		return talkInNode(t, "v2-legacy", declines, calls, command)
	},
	"typescript-v2 modern": func(t *testing.T, declines string, calls []object, command []string) talk {
		return talkInNode(t, "v2-modern", declines, calls, command)
	},
}

func talkInNode(t *testing.T, sdk, declines string, calls []object, command []string) (k talk) {
	t.Helper()
	text, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := exec.CommandContext(ctx, node(t), slices.Concat([]string{"person.mjs", sdk, declines, string(text)}, command)...)
	var stderr bytes.Buffer
	client.Stderr = &stderr
	out, err := client.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", sdk, err, &stderr)
	}
	if err := json.Unmarshal(out, &k); err != nil {
		t.Fatalf("%s: %v\n%s", sdk, err, out)
	}
	return k
}

func talkInGo(t *testing.T, version, declines string, calls []object, command []string) (k talk) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var asked []object
	options := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked = append(asked, object{"Message": req.Params.Message, "Schema": req.Params.RequestedSchema})
		if strings.Contains(req.Params.Message, declines) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
	}}
	if declines == nobody {
		options = nil
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "person", Version: "1"}, options)
	server := exec.Command(command[0], command[1:]...)
	stderr := &transcript{}
	stderr.showOnFailure(t, "standard error of the gate")
	server.Stderr = stderr
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: server, TerminateDuration: patience}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	var told []any
	for _, call := range calls {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: call["name"].(string), Arguments: call["arguments"]})
		fault, isFault := errors.AsType[*jsonrpc.Error](err)
		switch {
		case isFault:
			told = append(told, object{"error": object{"code": fault.Code, "message": fault.Message, "data": fault.Data}})
		case err != nil:
			t.Fatal(err)
		default:
			told = append(told, object{"result": result})
		}
	}
	if err := session.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	text, err := json.Marshal(object{"Answers": told, "Asked": asked})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &k); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return k
}

// gated is a server behind the gate, under a policy with those rules. What the server is sent is kept.
type gated struct {
	dir, files, policy, ledger string
}

func newGated(t *testing.T, rules string) *gated {
	t.Helper()
	dir := realDir(t)
	g := &gated{dir: dir, files: filepath.Join(dir, "files"), policy: filepath.Join(dir, "policy.yaml"), ledger: filepath.Join(dir, "ledger")}
	if err := errors.Join(os.Mkdir(g.files, 0o700), os.Mkdir(filepath.Join(dir, "sent"), 0o700),
		os.WriteFile(g.policy, []byte("version: 2\ndefault: deny\nrules:\n"+rules), 0o600)); err != nil {
		t.Fatal(err)
	}
	return g
}

// filesystem is the command line of the gate before the server from npm.
func (g *gated) filesystem(t *testing.T) []string {
	return g.before(t, "node_modules/.bin/mcp-server-filesystem", g.files)
}

// before is the command line of the gate before a server for Node.
func (g *gated) before(t *testing.T, server ...string) []string {
	t.Helper()
	wrap := []string{sallyport, "wrap", "--policy", g.policy, "--ledger", g.ledger, "--"}
	return slices.Concat(wrap, []string{"./record", filepath.Join(g.dir, "sent"), node(t)}, server)
}

func (g *gated) file(name string) string { return filepath.Join(g.files, name) }

// write and read are calls.
func (g *gated) write(name, content string) object {
	return object{"name": "write_file", "arguments": object{"path": g.file(name), "content": content}}
}

func (g *gated) read(name string) object {
	return object{"name": "read_text_file", "arguments": object{"path": g.file(name)}}
}

// contents are the files that there are.
func (g *gated) contents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	found, err := os.ReadDir(g.files)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		text, err := os.ReadFile(g.file(file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[file.Name()] = string(text)
	}
	return all
}

// sent is how often the server was sent the calls of a tool.
func (g *gated) sent(t *testing.T, tool string) (n int) {
	t.Helper()
	for _, text := range recordings(t, filepath.Join(g.dir, "sent"), "in") {
		n += strings.Count(text, `"name":"`+tool+`"`)
	}
	return n
}

// verdicts are the records that have a verdict or an origin, in a few words.
func (g *gated) verdicts(t *testing.T) (all []string) {
	t.Helper()
	for _, r := range records(t, g.ledger) {
		if r.Verdict != "" || r.Origin == "verify" {
			all = append(all, strings.Join(strings.Fields(r.Name+" "+r.Outcome+" "+r.Origin+" "+r.Verdict), " "))
		}
	}
	return all
}

// operator runs a command of sallyport's at a terminal, where a person says yes to every question.
func operator(t *testing.T, words ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	var unlock, number int32
	control(t, master, syscall.TIOCSPTLCK, &unlock)
	control(t, master, syscall.TIOCGPTN, &number)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, sallyport, words...)
	cmd.ExtraFiles = []*os.File{slave}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	go func() {
		var seen []byte
		for b := make([]byte, 256); ; {
			n, err := master.Read(b)
			if err != nil {
				return
			}
			if seen = append(seen, b[:n]...); bytes.HasSuffix(seen, []byte("Type yes to go on: ")) {
				seen = nil
				io.WriteString(master, "yes\n")
			}
		}
	}()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", words, err, out)
	}
	return string(out)
}

func control(t *testing.T, f *os.File, request uintptr, arg *int32) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var errno syscall.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(arg)))
	})
	if err != nil || errno != 0 {
		t.Fatalf("ioctl %#x: %v, %v", request, err, errno)
	}
}

package cli

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/install"
)

// terminal is a pseudo-terminal: what a person types goes into master.
type terminal struct{ master, slave *os.File }

func openTerminal(t *testing.T) terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	control := func(request uintptr, arg *int32) {
		raw, err := master.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var errno syscall.Errno
		if err := raw.Control(func(fd uintptr) {
			_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(arg)))
		}); err != nil || errno != 0 {
			t.Fatalf("ioctl %#x: %v, %v", request, err, errno)
		}
	}
	var unlock, number int32
	control(syscall.TIOCSPTLCK, &unlock)
	control(syscall.TIOCGPTN, &number)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return terminal{master, slave}
}

// person is somebody who runs commands at a terminal of their own.
type person struct {
	t         *testing.T
	home, dir string
}

func newPerson(t *testing.T) *person {
	t.Helper()
	p := &person{t: t, home: t.TempDir(), dir: t.TempDir()}
	for _, dir := range []*string{&p.home, &p.dir} {
		real, err := filepath.EvalSymlinks(*dir)
		if err != nil {
			t.Fatal(err)
		}
		*dir = real
	}
	return p
}

func (p *person) command(args ...string) *exec.Cmd {
	cmd := exec.Command("sallyport", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "HOME="+p.home, "CLAUDE_CONFIG_DIR=", "CODEX_HOME=")
	return cmd
}

// run runs a command without a terminal.
func (p *person) run(args ...string) (out string, ok bool) {
	cmd := p.command(args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	text, err := cmd.CombinedOutput()
	return string(text), err == nil
}

// answer runs a command that asks at the terminal, and answers. meanwhile runs while the question stands.
func (p *person) answer(answer string, meanwhile func(), args ...string) (out string, ok bool) {
	p.t.Helper()
	tty := openTerminal(p.t)
	cmd := p.command(args...)
	var output bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, &output, &output // the question comes at the terminal all the same
	cmd.ExtraFiles = []*os.File{tty.slave}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	stop := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer stop.Stop()
	asked := make(chan string, 1)
	go func() {
		var seen strings.Builder
		for b := make([]byte, 256); !strings.Contains(seen.String(), "Type yes to go on: "); {
			n, err := tty.master.Read(b)
			if err != nil {
				break
			}
			seen.Write(b[:n])
		}
		asked <- seen.String()
	}()
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	select {
	case err := <-exited:
		p.t.Fatalf("%v asked nothing: %v\n%s", args, err, output.String())
	case question := <-asked:
		if !strings.HasSuffix(question, "Type yes to go on: ") {
			p.t.Fatalf("%v asks %q", args, question)
		}
	}
	if meanwhile != nil {
		meanwhile()
	}
	if _, err := io.WriteString(tty.master, answer+"\n"); err != nil {
		p.t.Fatal(err)
	}
	err := <-exited
	return output.String(), err == nil
}

func (p *person) write(name, text string) string {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return name
}

func (p *person) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

const trustedPolicy = "version: 2\ndefault: deny\nrules:\n  - id: build\n    decision: allow\n    runs: [\"make *\"]\n"

func TestTrustIsWhatAPersonSays(t *testing.T) {
	p := newPerson(t)
	policy := p.write(filepath.Join(p.dir, ".sallyport", "policy.yaml"), trustedPolicy)
	store := filepath.Join(p.home, ".local", "state", "sallyport", "trust.json")

	for _, no := range []string{"no", "", "y", "yes please", "YES"} {
		out, ok := p.answer(no, nil, "trust")
		if ok || !strings.Contains(out, "not confirmed: nothing was done") {
			t.Errorf("the answer %q: ok %t\n%s", no, ok, out)
		}
		if _, err := os.Stat(store); err == nil {
			t.Fatalf("the answer %q wrote %s", no, p.read(store))
		}
	}
	if out, ok := p.answer("yes", nil, "trust"); !ok || !strings.HasSuffix(out, "trusted\n") {
		t.Fatalf("trust: ok %t\n%s", ok, out)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(trustedPolicy)))
	want := `{"version":1,"trusted":{"` + policy + `":"` + digest + "\"}}\n"
	if diff := cmp.Diff(want, p.read(store)); diff != "" {
		t.Errorf("trust.json (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(store); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("trust.json has mode %v, %v", info.Mode(), err)
	}
	if out, ok := p.run("trust"); !ok || !strings.Contains(out, "it is trusted already") {
		t.Errorf("a second time: ok %t\n%s", ok, out)
	}

	p.write(policy, trustedPolicy+"# changed\n")
	if out, ok := p.run("trust", "--list"); !ok || !strings.HasPrefix(out, "changed     "+digest) {
		t.Errorf("--list after a change: ok %t\n%s", ok, out)
	}
	if out, ok := p.run("trust"); ok {
		t.Errorf("a changed file is trusted without a question:\n%s", out)
	}
	if out, ok := p.run("trust", "--remove", policy); ok {
		t.Errorf("--remove asks nobody:\n%s", out)
	}
	if out, ok := p.answer("yes", nil, "trust", "--remove", policy); !ok {
		t.Errorf("--remove: %s", out)
	}
	if got := p.read(store); got != `{"version":1,"trusted":{}}`+"\n" {
		t.Errorf("after --remove it has %s", got)
	}
}

// TestTrustLosesNothing has several commands write at once.
func TestTrustLosesNothing(t *testing.T) {
	p := newPerson(t)
	var group sync.WaitGroup
	const files = 6
	for i := range files {
		name := p.write(filepath.Join(p.dir, fmt.Sprint(i), "policy.yaml"), trustedPolicy)
		group.Go(func() {
			if out, ok := p.answer("yes", nil, "trust", name); !ok {
				t.Errorf("trust %s: %s", name, out)
			}
		})
	}
	group.Wait()
	out, ok := p.run("trust", "--list")
	if n := strings.Count(out, "trusted     "); !ok || n != files {
		t.Errorf("%d of %d files are trusted:\n%s", n, files, out)
	}
}

func TestUninstallGivesBackTheSettings(t *testing.T) {
	p := newPerson(t)
	const before = "{\r\n\t\"model\": \"opus\",\r\n\t\"hooks\": { }\r\n}"
	for _, host := range []string{"claude", "codex", "gemini", "windsurf"} {
		h := install.HostNamed(host)
		path, err := h.File(install.User, install.Where{Home: p.home, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		p.write(path, before)
		if out, ok := p.run("install", host, "--yes"); !ok {
			t.Fatalf("install: %s", out)
		}
		installed := p.read(path)
		if out, ok := p.answer("no", nil, "uninstall", host); ok || p.read(path) != installed {
			t.Errorf("%s: uninstalled without a yes:\n%s", host, out)
		}
		if out, ok := p.answer("yes", nil, "uninstall", host); !ok {
			t.Fatalf("uninstall: %s", out)
		}
		if diff := cmp.Diff(before, p.read(path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", host, diff)
		}
	}
	for _, host := range []string{"cursor", "copilot", "cline"} { // which had no file
		if out, ok := p.run("install", host, "--yes"); !ok {
			t.Fatalf("install: %s", out)
		}
		out, ok := p.answer("yes", nil, "uninstall", host)
		if !ok || !strings.Contains(out, "\nremoved: ") {
			t.Errorf("uninstall %s: ok %t\n%s", host, ok, out)
		}
	}
}

func TestInstallReplacesWithAPersonOnly(t *testing.T) {
	p := newPerson(t)
	path := filepath.Join(p.home, ".claude", "settings.json")
	if out, ok := p.run("install", "claude", "--yes"); !ok {
		t.Fatal(out)
	}
	if out, ok := p.answer("yes", nil, "install", "claude", "--checks"); !ok {
		t.Fatal(out)
	}
	if !strings.Contains(p.read(path), `"--checks"]`) {
		t.Errorf("the entry was not replaced:\n%s", p.read(path))
	}
}

// TestOperatorsCommandsHaveOneName: the gate's rules know them by it, so that they must not be there under another one.
// It takes the real program: that of the other tests is this test itself under any name but one.
func TestOperatorsCommandsHaveOneName(t *testing.T) {
	p := newPerson(t)
	policy := p.write(filepath.Join(p.dir, "policy.yaml"), trustedPolicy)
	harmless, own, link := filepath.Join(p.dir, "harmless"), filepath.Join(p.dir, "sallyport"), filepath.Join(p.dir, "linked")
	build := exec.Command("go", "build", "-o", own, "sallyport/cmd/sallyport")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := errors.Join(os.Link(own, harmless), os.Symlink(own, link)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, name string
		ok         bool
	}{{own, own, true}, {own, "sallyport", true}, {link, link, false}, {own, "harmless", false}, {harmless, harmless, false}, {harmless, "sallyport", false}} {
		cmd := p.command("trust", policy)
		cmd.Path, cmd.Args[0] = c.path, c.name
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.CombinedOutput()
		if refused := strings.Contains(string(out), "this is not done under the name "); err == nil || refused == c.ok {
			t.Errorf("%s called %s: %v\n%s", c.path, c.name, err, out)
		}
	}
}

func TestInstallRefusesAFileThatChangesWhileItAsks(t *testing.T) {
	p := newPerson(t)
	path := p.write(filepath.Join(p.home, ".claude", "settings.json"), "{}")
	out, ok := p.answer("yes", func() { p.write(path, `{"model":"x"}`) }, "install", "claude")
	if ok || !strings.Contains(out, "changed by somebody else meanwhile; nothing was written") {
		t.Errorf("ok %t\n%s", ok, out)
	}
	if got := p.read(path); got != `{"model":"x"}` {
		t.Errorf("it has %s", got)
	}
}

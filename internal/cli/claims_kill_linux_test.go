package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bankScript is a server that carries out a payment by one byte in a file, with time to be killed before and after.
const bankScript = `
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id": *\([^,}]*\).*/\1/p')
  case $line in
  *'"initialize"'*) answer='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bank","version":"1"}}' ;;
  *'"tools/list"'*) answer='"result":{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}' ;;
  *'"tools/call"'*)
    echo began >>"$1"
    sleep 0.1
    printf x >>"$1.effects"
    sleep 0.1
    answer='"result":{"content":[],"paid":1.0}' ;;
  *) answer='"error":{"code":-32601,"message":"no"}' ;;
  esac
  if [ -n "$id" ]; then printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$answer"; fi
done
`

// wrapped is a gate in front of the bank, as a client has it.
type wrapped struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
}

func (p *person) wrap(log string) *wrapped {
	p.t.Helper()
	w := &wrapped{t: p.t, lines: make(chan string, 16)}
	w.cmd = p.command("wrap", "--policy", "pay.json", "--ledger", "ledger", "--name", "bank", "--", "sh", "bank.sh", log)
	w.in, _ = w.cmd.StdinPipe()
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(w.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			w.lines <- scanner.Text()
		}
	}()
	w.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	w.answer()
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

func (w *wrapped) send(line string) { io.WriteString(w.in, line+"\n") }

func (w *wrapped) pay(id string) {
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"pay","arguments":{"request_id":%q}}}`, id))
}

// answer is the next line, "" when there will be none.
func (w *wrapped) answer() string {
	w.t.Helper()
	select {
	case line := <-w.lines:
		return line
	case <-time.After(patience):
		w.t.Fatal("no answer came")
		return ""
	}
}

func (w *wrapped) kill() {
	w.cmd.Process.Kill()
	w.cmd.Wait()
}

// paidTimes is how often the bank paid.
func paidTimes(t *testing.T, log string) int {
	t.Helper()
	text, err := os.ReadFile(log + ".effects")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(text)
}

// TestKilledGatePaysOnce kills the gate with SIGKILL at moments all over a payment, and retries with another gate: the
// bank paid once at most, and where it was asked before the kill it is not asked again.
func TestKilledGatePaysOnce(t *testing.T) {
	p := newPerson(t)
	p.write(filepath.Join(p.dir, "pay.json"), payPolicy)
	p.write(filepath.Join(p.dir, "bank.sh"), bankScript)
	outcomes := map[string]int{}
	for i, after := range []time.Duration{0, 2, 20, 60, 100, 130, 180, 400} {
		log := filepath.Join(p.dir, fmt.Sprintf("bank-%d.log", i))
		id := fmt.Sprintf("r%d", i)
		first := p.wrap(log)
		first.pay(id)
		if i > 2 { // count from when the bank is at it
			for start := time.Now(); time.Since(start) < patience; time.Sleep(time.Millisecond) {
				if _, err := os.Stat(log); err == nil {
					break
				}
			}
		}
		time.Sleep(after * time.Millisecond)
		first.kill()
		_, err := os.Stat(log)
		asked := err == nil

		second := p.wrap(log)
		var answers [2]string
		for j := range answers {
			second.pay(id)
			answers[j] = second.answer()
		}
		second.in.Close()
		second.cmd.Wait()
		if answers[0] != answers[1] {
			t.Errorf("killed after %d ms: a retry gets %s, and the next one %s", after, answers[0], answers[1])
		}
		paid, inconclusive := strings.Contains(answers[0], `"paid":1.0`), strings.Contains(answers[0], "inconclusive")
		if paid == inconclusive {
			t.Errorf("killed after %d ms: %s", after, answers[0])
		}
		if got := paidTimes(t, log); got > 1 || paid && got != 1 {
			t.Errorf("killed after %d ms: the bank paid %d times, and the retry gets %s", after, got, answers[0])
		}
		outcomes[fmt.Sprintf("asked %v, paid %v", asked, paid)]++
	}
	t.Log(outcomes)
	if outcomes["asked true, paid false"] == 0 {
		t.Errorf("no kill left a payment in doubt: %v", outcomes)
	}
	if out, ok := p.run("verify", "ledger"); !ok {
		t.Errorf("the ledger does not verify: %s", out)
	}
	out, ok := p.run("claims", "list", "--ledger", "ledger", "--state", "inconclusive")
	if want := outcomes["asked true, paid false"] + outcomes["asked false, paid false"]; !ok || strings.Count(out, "\n") != want {
		t.Errorf("%d claims should be inconclusive:\n%s", want, out)
	}
}

// TestKilledBankPaysOnce kills the upstream in the middle of a payment: the answer says inconclusive, and so does a retry.
func TestKilledBankPaysOnce(t *testing.T) {
	p := newPerson(t)
	p.write(filepath.Join(p.dir, "pay.json"), payPolicy)
	// Once it has paid it kills itself.
	p.write(filepath.Join(p.dir, "bank.sh"), strings.Replace(bankScript, `printf x >>"$1.effects"`, `printf x >>"$1.effects"; kill -9 $$`, 1))
	log := filepath.Join(p.dir, "bank.log")
	w := p.wrap(log)
	for range 2 {
		w.pay("r1")
		if got := w.answer(); !strings.Contains(got, "inconclusive") {
			t.Errorf("the answer is %s", got)
		}
	}
	w.in.Close()
	w.cmd.Wait()
	if got := paidTimes(t, log); got != 1 {
		t.Errorf("the bank paid %d times", got)
	}
}

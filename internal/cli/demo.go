package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
	"sallyport/internal/ledger"
	"sallyport/internal/notes"
)

// demoPolicy is the policy that the demo plays under.
const demoPolicy = `{"version":1,"allow":["write_note","read_ledger"],"deny":["rm_rf"],` +
	`"arg_rules":{"write_note":{"request_id":{"min_len":8},"text":{"max_len":2000}}}}`

// demoPatience is how long the demo waits for any one thing.
const demoPatience = 20 * time.Second

func newDemo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Play the proofs before your eyes: hidden, denied, killed, once",
		Long: `Starts the real server in a temporary folder and plays four proofs: what the policy denies is not listed; a direct
call of it is refused and touches nothing; a kill -9 before the commit and a retry leave one note; the ledger verifies.
Each line says what was done, what was seen, and PASS or FAIL. Exit code 0: all passed; 1: something failed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(context.Background(), 5*demoPatience)
			defer cancel()
			return playDemo(ctx, cmd.OutOrStdout())
		},
	}
}

// demo is a play: a folder, and whether all went well so far.
type demo struct {
	out    io.Writer
	dir    string
	failed bool
}

func playDemo(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "sallyport-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "policy.json"), []byte(demoPolicy), 0o600); err != nil {
		return err
	}
	d := &demo{out: out, dir: dir}
	fmt.Fprintf(out, "The policy: %s\n\n", demoPolicy)
	for _, act := range []func(context.Context) error{d.playDenial, d.playCrash, d.playLedger} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	if d.failed {
		return exit(exitNo)
	}
	return nil
}

// line tells one proof.
func (d *demo) line(ok bool, did, saw string) {
	verdict := "PASS"
	if !ok {
		verdict, d.failed = "FAIL", true
	}
	fmt.Fprintf(d.out, "%s  %s: %s\n", verdict, did, saw)
}

// playDenial lists the tools and calls the one that is not there.
func (d *demo) playDenial(ctx context.Context) error {
	client, err := d.start(ctx)
	if err != nil {
		return err
	}
	defer client.stop()
	answer, err := client.request("tools/list", "")
	if err != nil {
		return err
	}
	var names []string
	for tool := range answer.Get("result").Get("tools").Elements() {
		name, _ := tool.Get("name").Text()
		names = append(names, name)
	}
	list := strings.Join(names, ", ")
	d.line(list == "write_note, read_ledger", "listed the tools; rm_rf is registered, but the policy denies it", list)

	target := filepath.Join(d.dir, "precious.txt")
	if err := os.WriteFile(target, []byte("do not delete\n"), 0o600); err != nil {
		return err
	}
	before := look(target)
	answer, err = client.call("rm_rf", fmt.Sprintf(`{"path":%s}`, canon.AppendString(nil, target)))
	if err != nil {
		return err
	}
	refusal := answer.Get("error")
	code, _ := refusal.Get("code").Int()
	d.line(code == -32602, "called rm_rf on a file all the same", string(refusal.Bytes()))
	after := look(target)
	d.line(before == after, "looked at the file before and after", after)

	record, err := d.lastRecord()
	if err != nil {
		return err
	}
	decision, _ := record.Get("decision").Text()
	outcome, _ := record.Get("outcome").Text()
	d.line(decision == "deny" && outcome == string(ledger.NotExecuted), "read the ledger's last record",
		fmt.Sprintf("decision %s, outcome %s", decision, outcome))
	return nil
}

// look is everything about a file that a deletion or a change would show in.
func look(name string) string {
	info, err := os.Lstat(name)
	if err != nil {
		return err.Error()
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("exists, size %d, mtime_ns %d, sha256 %.16x…", info.Size(), info.ModTime().UnixNano(), sha256.Sum256(text))
}

// playCrash kills the server between the note's data and its name, and tries again.
func (d *demo) playCrash(ctx context.Context) error {
	const args = `{"request_id":"demo-0001","text":"written once"}`
	marker := filepath.Join(d.dir, "about-to-publish")
	client, err := d.start(ctx, "CRASH_MARKER="+marker)
	if err != nil {
		return err
	}
	defer client.stop()
	if err := client.send("tools/call", toolCall("write_note", args)); err != nil {
		return err
	}
	if err := waitFor(ctx, marker); err != nil {
		return err
	}
	client.kill()
	count, err := d.notes()
	if err != nil {
		return err
	}
	d.line(count == 0, "wrote a note and killed the server (SIGKILL) just before it was published", fmt.Sprintf("%d notes", count))

	client, err = d.start(ctx)
	if err != nil {
		return err
	}
	defer client.stop()
	for _, want := range []string{"committed", "replay"} {
		answer, err := client.call("write_note", args)
		if err != nil {
			return err
		}
		status, _ := answer.Get("result").Get("structuredContent").Get("status").Text()
		d.line(status == want, "sent the same request_id again to a new server", "status "+status)
	}
	count, err = d.notes()
	if err != nil {
		return err
	}
	d.line(count == 1, "counted the notes", fmt.Sprintf("%d", count))
	return nil
}

// playLedger verifies the ledger and shows its end.
func (d *demo) playLedger(context.Context) error {
	path := d.ledgerFile()
	verdict, err := verifyFile(path)
	if err != nil {
		return err
	}
	d.line(verdict.OK, "verified the ledger's chain", fmt.Sprintf("%d records, head %.16s…", verdict.Records, verdict.Head))
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	fmt.Fprintf(d.out, "\nThe ledger's last lines:\n%s\n", bytes.Join(lines[max(0, len(lines)-2):], []byte("\n")))
	return nil
}

func (d *demo) ledgerFile() string { return filepath.Join(d.dir, defaultLedgerDir, ledger.FileName) }

func (d *demo) lastRecord() (canon.Value, error) {
	f, err := ledger.Snapshot(d.ledgerFile())
	if err != nil {
		return canon.Value{}, err
	}
	defer f.Close()
	var last []byte
	if err := ledger.Read(f, func(line canon.Value) error {
		last = append(last[:0], line.Bytes()...)
		return nil
	}); err != nil {
		return canon.Value{}, err
	}
	return canon.Parse(last)
}

// notes counts the published notes.
func (d *demo) notes() (int, error) {
	files, err := filepath.Glob(filepath.Join(d.dir, defaultLedgerDir, notes.DirName, "*.json"))
	return len(files), err
}

func waitFor(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, demoPatience)
	defer cancel()
	for {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", name, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

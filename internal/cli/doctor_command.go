package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/hook"
	"sallyport/internal/install"
	"sallyport/internal/ledger"
	"sallyport/internal/policy"
)

// commands looks at what the entries of a file run: each program, policy and ledger once, and each gate by its probes. It
// returns the policy files that are in force.
func (d *doctor) commands(host *install.Host, file *install.File, entries []install.Entry) (policies []hook.PolicyFile) {
	began := time.Now()
	seen := map[string]bool{}
	once := func(what, value string) bool {
		first := !seen[what+value]
		seen[what+value] = true
		return first
	}
	var ledgers []string
	for _, e := range entries {
		c, _, ok := e.Command()
		if !ok {
			d.add(host.Name, "program", healthFail, fmt.Sprintf("%s:%d: the command line was not understood", file.Path, e.Line), d.again(host, file))
			continue
		}
		if once("binary", c.Binary) {
			d.binary(host, c.Binary, d.again(host, file))
		}
		if once("policy", c.Policy+"\x00"+c.Ledger) {
			policies = append(policies, d.policies(host, c)...)
		}
		if e.Gate && !e.Duplicate {
			d.probe(host, file, e)
		}
		if dir := d.ledgerOf(c); once("ledger", dir) {
			ledgers = append(ledgers, dir)
		}
	}
	for _, dir := range ledgers { // when the probes have left their records
		d.ledger(host, dir, began)
	}
	return policies
}

func (d *doctor) ledgerOf(c install.Command) string {
	if c.Ledger != "" {
		return c.Ledger
	}
	return hook.StateDir(d.where.Home)
}

// binary looks at the program that an entry names. again is how the entry is written anew.
func (d *doctor) binary(host *install.Host, path, again string) {
	if !filepath.IsAbs(path) {
		d.add(host.Name, "program", healthFail, path+" is not an absolute path: what it leads to depends on the host's PATH", again)
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		d.add(host.Name, "program", healthFail, fmt.Sprintf("%s cannot be started: %v", path, err), again)
		return
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		d.add(host.Name, "program", healthFail, path+" is not an executable file", again)
		return
	}
	if why := writableByOthers(path); why != "" {
		d.add(host.Name, "program", healthFail, why+": others could put another program there", "take the write permission away from others")
		return
	}
	out, err := runBriefly(path, "version")
	version, isOurs := strings.CutPrefix(strings.TrimSpace(out), "sallyport ")
	switch {
	case err != nil || !isOurs:
		d.add(host.Name, "program", healthFail, path+" does not answer like sallyport", again)
	case version != Version:
		d.add(host.Name, "program", healthWarn, fmt.Sprintf("%s is version %s, and this is %s", path, version, Version), again)
	default:
		d.add(host.Name, "program", healthOK, path+", version "+version, "")
	}
}

// writableByOthers says which part of a path others than its owner may change, or "". A folder with the sticky bit lets
// nobody change what is another's.
func writableByOthers(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	for _, name := range []string{real, filepath.Dir(real), filepath.Dir(path)} {
		info, err := os.Stat(name)
		if err != nil {
			continue
		}
		if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return name + " can be written to by others"
		}
	}
	return ""
}

// policies reads the policies that would count for a call in the working folder, and returns their files.
func (d *doctor) policies(host *install.Host, c install.Command) []hook.PolicyFile {
	places := hook.Places{
		Managed: hook.ManagedPolicy(),
		Named:   c.Policy,
		Homes:   d.homes(),
		State:   hook.StateDir(d.where.Home),
		Dir:     d.where.Dir,
		Ledger:  d.ledgerOf(c),
	}
	found, err := hook.Load(durable.OS, places)
	if err != nil {
		d.add(host.Name, "policy", healthFail, fmt.Sprintf("every call is denied: %v", err), hintOf(err))
		return nil
	}
	for _, f := range found.Files {
		if f.Level == policy.Project && !f.Trusted {
			d.add(host.Name, "policy", healthNote, f.Path+": only its deny and ask rules count", "to let its allow rules count, run sallyport trust")
			continue
		}
		d.add(host.Name, "policy", healthOK, f.Path, "")
	}
	if len(found.Files) == 0 {
		d.add(host.Name, "policy", healthOK, "no file; the starter pack and the built-in rules decide", "")
	}
	return found.Files
}

// homes are the folders in which the user's policy is looked for: HOME, and the account's own.
func (d *doctor) homes() []string {
	homes := []string{d.where.Home}
	if account, err := user.Current(); err == nil && filepath.IsAbs(account.HomeDir) && account.HomeDir != d.where.Home {
		homes = append(homes, account.HomeDir)
	}
	return homes
}

// ledger looks whether a ledger takes records, and whether those of the probes are in it.
func (d *doctor) ledger(host *install.Host, dir string, since time.Time) {
	const hint = "see docs/guides/when-something-is-wrong.md"
	path := filepath.Join(dir, ledger.FileName)
	if err := durable.OS.IsOwnDir(dir); err != nil {
		d.add(host.Name, "ledger", healthFail, fmt.Sprintf("%s: %v", dir, err), hint)
		return
	}
	l, err := ledger.Open(durable.OS, dir)
	if err != nil {
		d.add(host.Name, "ledger", healthFail, fmt.Sprintf("%s takes no records: %v", path, err), hint)
		return
	}
	defer l.Close()
	if err := l.Ready(); err != nil {
		d.add(host.Name, "ledger", healthFail, fmt.Sprintf("%s takes no records: %v", path, err), hint)
		return
	}
	n, err := probeRecords(path, since)
	switch {
	case err != nil:
		d.add(host.Name, "ledger", healthFail, fmt.Sprintf("reading %s: %v", path, err), hint)
	case n == 0:
		d.add(host.Name, "ledger", healthFail, path+" has no record of the events that were tried just now", hint)
	default:
		d.add(host.Name, "ledger", healthOK, fmt.Sprintf("%s takes records; %d of this examination are in it", path, n), "")
	}
}

// recent is how much of a ledger's end is looked at for the records of the probes.
const recent = 256 << 10

// probeRecords counts the records of our own events since a time.
func probeRecords(path string, since time.Time) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	start := max(info.Size()-recent, 0)
	text, err := io.ReadAll(io.NewSectionReader(f, start, info.Size()-start))
	if err != nil {
		return 0, err
	}
	if start > 0 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	for line := range bytes.Lines(text) {
		record, err := canon.Parse(bytes.TrimSpace(line))
		if err != nil {
			continue // a torn tail, or a line that verify will name
		}
		session, _ := record.Get("session").Text()
		if ts, _ := record.Get("ts").Int(); session == probeSession && ts >= since.UnixNano() {
			n++
		}
	}
	return n, nil
}

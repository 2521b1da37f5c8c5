package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
)

// cutOff makes a claim that a crash left.
func (b *bank) cutOff(key mutation.Key, attempt string) error {
	claim, err := b.claims.Begin(context.Background(), key)
	if err != nil {
		return err
	}
	defer claim.Release()
	return claim.Intend(mutation.Intent{Attempt: attempt, Fingerprint: "f", Offset: b.ledger.End(), Record: []byte("{}")})
}

// paid is the record of an attempt.
func paid(attempt string, outcome ledger.Outcome) *ledger.Record {
	return &ledger.Record{RequestID: "r", Method: "tools/call", Name: "pay", Decision: "allow", Outcome: outcome, Principal: "ann", Attempt: attempt}
}

// claimsPrinted is what claims list and claims show print as JSON.
type claimsPrinted struct {
	Claims []struct {
		State, Attempt, Recorded string
		RequestID                string `json:"request_id"`
	}
}

func (p *person) listed(args ...string) (l claimsPrinted) {
	p.t.Helper()
	out, ok := p.run(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &l); err != nil || !ok {
		p.t.Fatalf("%v: ok %t, %v\n%s", args, ok, err, out)
	}
	return l
}

// TestClaimsListTellsWhatTheLedgerKnows mixes claims of all kinds: only an inconclusive one is said to be recorded, and the order
// is that of the claims.
func TestClaimsListTellsWhatTheLedgerKnows(t *testing.T) {
	p := newPerson(t)
	dir := filepath.Join(p.dir, ".ledger")
	b := openBank(t, dir)
	forged := "r\"  recorded as committed\n\x1b[2J\u202e"
	for i, id := range []string{"kept", "lost", forged, "own", "said"} {
		if _, err := b.pay("between " + id); err != nil {
			t.Fatal(err)
		}
		key := mutation.Key{Principal: "ann\x1b[2J", Tool: "pay", ID: id, Upstream: "bank"}
		if id == "own" {
			key.Upstream = ""
		}
		if err := b.cutOff(key, fmt.Sprintf("%016x", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.ledger.AppendAll(paid("0000000000000001", ledger.Committed), paid("0000000000000003", ledger.Committed), paid("0000000000000004", ledger.Inconclusive)); err != nil {
		t.Fatal(err)
	}
	flying, err := b.claims.Begin(context.Background(), mutation.Key{Principal: "ann", Tool: "pay", ID: "flying", Upstream: "bank"})
	if err != nil {
		t.Fatal(err)
	}
	defer flying.Release()
	if err := flying.Intend(mutation.Intent{Attempt: "00000000000000bb", Fingerprint: "f", Offset: b.ledger.End(), Record: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if err := b.ledger.Append(paid("00000000000000bb", ledger.Committed)); err != nil { // and in a moment its claim says so too
		t.Fatal(err)
	}

	want := []string{"between kept committed", "kept inconclusive", "between lost committed", "lost inconclusive recorded as committed",
		"between " + forged + " committed", forged + " inconclusive", "between own committed", "own unsettled", "between said committed", "said inconclusive", "flying in_flight"}
	got := p.listed("claims", "list").Claims
	if len(got) != len(want) {
		t.Fatalf("%d claims, want %d", len(got), len(want))
	}
	for i, c := range got {
		is := c.RequestID + " " + c.State
		if c.Recorded != "" {
			is += " recorded as " + c.Recorded
		}
		if is != want[i] {
			t.Errorf("claim %d is %q, want %q", i, is, want[i])
		}
	}
	for _, args := range []string{"claims list", "claims list --state inconclusive"} {
		out, ok := p.run(strings.Fields(args)...)
		if !ok || strings.Count(out, "  recorded as committed\n") != 1 || !strings.Contains(out, `"lost"  recorded as committed`+"\n") {
			t.Errorf("%s: ok %t\n%s", args, ok, out)
		}
		if strings.ContainsAny(out, "\x1b\u202e") {
			t.Errorf("%s lets a caller's characters act on the terminal: %q", args, out)
		}
	}
	for id, recorded := range map[string]string{"lost": "committed", "kept": "", "own": "", "said": ""} {
		if got := p.listed("claims", "show", id).Claims; len(got) != 1 || got[0].Recorded != recorded {
			t.Errorf("show %s: %+v, want it recorded as %q", id, got, recorded)
		}
	}
}

// TestClaimsListWhereTheLedgerIsBad lists all the same, says what is wrong and what to do, and advises nothing; and where
// nothing is inconclusive it does not look.
func TestClaimsListWhereTheLedgerIsBad(t *testing.T) {
	p := newPerson(t)
	dir := filepath.Join(p.dir, ".ledger")
	b := openBank(t, dir)
	for _, id := range []string{"r1", "r2"} {
		if _, err := b.pay(id); err != nil {
			t.Fatal(err)
		}
	}
	attempt := b.inconclusive(dir, "r3")
	for what, spoil := range map[string]func(string) string{
		"shorter than the claims know it": func(text string) string { return text[:strings.Index(text, "\n")+1] },
		"damaged where the attempt is":    func(text string) string { return text + `{"attempt":"` + attempt + `","outcome":"committed"` + "\n" },
	} {
		file := filepath.Join(dir, ledger.FileName)
		text := p.read(file)
		p.write(file, spoil(text))
		for _, args := range []string{"claims list", "claims list --json", "claims list --state inconclusive", "claims show r3", "claims show --json r3"} {
			out, ok := p.run(strings.Fields(args)...)
			list, complaint, _ := strings.Cut(out, "sallyport: ")
			if ok || !strings.Contains(list, attempt) || !strings.HasPrefix(complaint, "looking for inconclusive attempts in the ledger: ") || !strings.Contains(complaint, "\nhint: ") {
				t.Errorf("%s, %s: ok %t\n%s", what, args, ok, out)
			}
			if strings.Contains(out, "resolve") || strings.Contains(out, "recorded") {
				t.Errorf("%s, %s: it advises on what it does not know\n%s", what, args, out)
			}
			if strings.Contains(args, "json") && !json.Valid([]byte(list)) {
				t.Errorf("%s, %s: no JSON:\n%s", what, args, list)
			}
		}
		for _, args := range []string{"claims list --state committed", "claims list --state committed --json", "claims show r1"} {
			if out, ok := p.run(strings.Fields(args)...); !ok || strings.Contains(out, attempt) {
				t.Errorf("%s, %s: ok %t\n%s", what, args, ok, out)
			}
		}
		p.write(file, text)
	}
	if out, ok := p.run("claims", "list"); !ok || !strings.Contains(out, attempt) {
		t.Errorf("mended: ok %t\n%s", ok, out)
	}
}

// TestClaimsListReadsTheLedgerOnce has thousands of inconclusive claims, and counts what is read: of the ledger what was written
// since the first of them, once, and nothing where none is asked about.
func TestClaimsListReadsTheLedgerOnce(t *testing.T) {
	const claims, each = 2000, 40
	p := newPerson(t)
	dir := filepath.Join(p.dir, ".ledger")
	b := openBank(t, dir)
	var earlier []*ledger.Record
	for range 10_000 {
		earlier = append(earlier, paid("00000000000000aa", ledger.Committed))
	}
	if err := b.ledger.AppendAll(earlier...); err != nil {
		t.Fatal(err)
	}
	before := b.ledger.End()
	var all sync.WaitGroup
	for from := range each {
		all.Go(func() { // many at once, which share their syncs
			for i := from; i < claims; i += each {
				key := mutation.Key{Principal: "ann", Tool: "pay", ID: strconv.Itoa(i), Upstream: "bank"}
				if err := b.cutOff(key, fmt.Sprintf("%016x", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	var records []*ledger.Record
	for i := range claims {
		outcome := ledger.Committed
		if i%4 == 0 {
			outcome = ledger.Inconclusive
		}
		records = append(records, paid(fmt.Sprintf("%016x", i), outcome))
	}
	if err := b.ledger.AppendAll(records...); err != nil {
		t.Fatal(err)
	}
	recorded := 0
	for _, c := range p.listed("claims", "list").Claims {
		if n, _ := strconv.Atoi(c.RequestID); (c.Recorded == "committed") != (n%4 != 0) || c.State != stateInconclusive {
			t.Fatalf("%+v", c)
		}
		recorded++
	}
	if recorded != claims {
		t.Errorf("%d claims, want %d", recorded, claims)
	}

	size := func(name string) int64 {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	kept := 4 * size(mutation.FileName) // for their index, and each line once more: to see what is inconclusive, and to write
	none := p.bytesRead("claims", "list", "--state", "abandoned")
	once := p.bytesRead("claims", "list")
	whole := size(ledger.FileName) - before // that may speak of them
	t.Logf("without the ledger, of %d+%d bytes, %d bytes are read, with it %d", before, whole, none, once)
	if none < size(mutation.FileName) || none > kept+whole/2 {
		t.Errorf("%d bytes are read where nothing is inconclusive, want no more than %d for the claims", none, kept+whole/2)
	}
	if more := once - none; more < whole-whole/10 || more > whole+whole/2 {
		t.Errorf("the %d bytes of the ledger cost %d, want them read once", whole, more)
	}
}

// bytesRead is what a command reads, in bytes, of files and of all else.
func (p *person) bytesRead(args ...string) int64 {
	p.t.Helper()
	cmd := p.command(args...)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `"$@" >/dev/null; read -r name bytes </proc/$$/io; echo "$bytes"`, "sh"}, cmd.Args...)
	cmd.Err = nil
	out, err := cmd.Output()
	n, parseErr := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil || parseErr != nil {
		p.t.Fatalf("%v, %v: %q", err, parseErr, out)
	}
	return n
}

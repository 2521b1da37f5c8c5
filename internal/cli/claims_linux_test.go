package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/gate"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
)

const payPolicy = `{"version":2,"default":"deny","rules":[{"id":"pays","decision":"allow","tools":["pay"],"mutation":{"key":"request_id"}}]}`

// bank is a gate on a folder before a server that loses its answers, or gives them.
type bank struct {
	t      *testing.T
	door   *gate.Gate
	ledger *ledger.Ledger
	claims *mutation.Claims
	paid   int
	lost   bool
}

func openBank(t *testing.T, dir string) *bank {
	t.Helper()
	if err := durable.OS.OwnDir(dir); err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("p.json", []byte(payPolicy))
	if err != nil {
		t.Fatal(err)
	}
	b := &bank{t: t}
	if b.claims, err = mutation.Open(durable.OS, dir, func() (bool, error) { return false, nil }); err != nil {
		t.Fatal(err)
	}
	if b.ledger, err = ledger.Open(durable.OS, dir); err != nil {
		t.Fatal(err)
	}
	b.door = gate.New(p, b.ledger, b.claims, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { b.claims.Close(); b.ledger.Close() })
	return b
}

// bothLedgers makes a ledger in the working folder and one where hooks and wrapped servers keep theirs.
func (p *person) bothLedgers() (near, far string) {
	p.t.Helper()
	near, far = filepath.Join(p.dir, ".ledger"), filepath.Join(p.home, ".local", "state", "sallyport")
	for _, dir := range []string{near, far} {
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			p.t.Fatal(err)
		}
		if _, err := openBank(p.t, dir).pay("r1"); err != nil {
			p.t.Fatal(err)
		}
	}
	return near, far
}

func (b *bank) pay(id string) (string, error) {
	b.t.Helper()
	args, err := canon.Parse(append(canon.AppendString([]byte(`{"request_id":`), id), '}'))
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := b.door.Do(context.Background(), gate.Call{Caller: gate.Caller{Principal: "ann"}, Name: "pay", Args: args,
		Tool: &gate.Tool{Name: "pay", Upstream: "bank"},
		Invoke: func(_ context.Context, p *gate.Permit) (gate.Result, error) {
			if _, err := p.Use("pay"); err != nil {
				return gate.Result{}, &gate.NotDone{Err: err}
			}
			b.paid++
			if b.lost {
				return gate.Result{}, errors.New("the connection was reset")
			}
			return gate.Result{Body: []byte(`{"content":[],"paid":1.0}`), Form: gate.Whole}, nil
		}})
	return string(r.Body), err
}

// newPayer is a person in whose folder a bank was paid once.
func newPayer(t *testing.T) (p *person, dir string, b *bank) {
	t.Helper()
	p = newPerson(t)
	dir = filepath.Join(p.dir, ".ledger")
	b = openBank(t, dir)
	if _, err := b.pay("r1"); err != nil {
		t.Fatal(err)
	}
	return p, dir, b
}

// inconclusive makes an inconclusive claim and returns its attempt.
func (b *bank) inconclusive(dir, id string) string {
	b.t.Helper()
	b.lost = true
	if _, err := b.pay(id); err == nil {
		b.t.Fatal("nothing was lost")
	}
	b.lost = false
	found, err := mutation.Find(durable.OS, dir, id)
	if err != nil || len(found) != 1 {
		b.t.Fatalf("found %+v, %v", found, err)
	}
	return found[0].Attempt
}

// TestOperatorsSettle settles inconclusive claims in each way at a terminal, under a living server, and looks at what
// retries get and at the ledger.
func TestOperatorsSettle(t *testing.T) {
	const given = `{"content":[{"text":"paid by hand","type":"text"}]}` // canonical, on one line
	for name, test := range map[string]struct {
		flags  []string
		retry  string
		paid   int // in all
		record string
	}{
		"committed": {[]string{"--as", "committed"},
			`{"content":[{"type":"text","text":"{\"request_id\":\"r1\",\"settled\":true,\"status\":\"committed\"}"}],` +
				`"structuredContent":{"request_id":"r1","settled":true,"status":"committed"}}`, 1, `"outcome":"committed"`},
		"with a result": {[]string{"--as", "committed", "--result", "result.json"}, given, 1, `"outcome":"committed"`},
		"absent":        {[]string{"--as", "absent"}, `{"content":[],"paid":1.0}`, 2, `"outcome":"not_executed"`},
		"abandoned":     {[]string{"--as", "abandoned"}, `"isError":true`, 1, `"outcome":"inconclusive"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			dir := filepath.Join(p.dir, ".ledger")
			b := openBank(t, dir)
			attempt := b.inconclusive(dir, "r1")
			p.write(filepath.Join(p.dir, "result.json"), "{\n  \"content\": [{\"text\": \"paid by hand\", \"type\": \"text\"}]\n}\n")
			args := append([]string{"claims", "resolve", attempt, "--reason", "seen in the bank's list"}, test.flags...)

			if out, ok := p.run(args...); ok || !strings.Contains(out, "there is no terminal") {
				t.Errorf("without a terminal: %s", out)
			}
			if out, ok := p.answer("no", nil, args...); ok || !strings.Contains(out, "not confirmed") {
				t.Errorf("not confirmed: %s", out)
			}
			if got, err := b.pay("r1"); err == nil || !strings.Contains(err.Error(), "inconclusive") {
				t.Errorf("before it is settled: %s, %v", got, err)
			}
			out, ok := p.answer("yes", nil, args...)
			for _, fact := range []string{"state       inconclusive", attempt, `"pay"`, `"bank"`, `"ann"`, `"r1"`, "arguments   sha256 ", "settled as " + test.flags[1]} {
				if !strings.Contains(out, fact) {
					t.Errorf("it does not say %q:\n%s", fact, out)
				}
			}
			if !ok {
				t.Fatalf("resolve: %s", out)
			}
			for range 2 {
				if got, err := b.pay("r1"); err != nil || !strings.Contains(got, test.retry) {
					t.Errorf("a retry gets %s, %v, want %s", got, err, test.retry)
				}
			}
			if b.paid != test.paid {
				t.Errorf("paid %d times, want %d", b.paid, test.paid)
			}
			checkSettled(t, p, attempt, test.flags[1], test.record)
			if out, ok := p.run(args...); ok || !strings.Contains(out, "attempt") {
				t.Errorf("a second time: %s", out)
			}
		})
	}
}

// checkSettled looks for the one record of a settlement.
func checkSettled(t *testing.T, p *person, attempt, as, outcome string) {
	t.Helper()
	var records []string
	for line := range strings.Lines(p.read(filepath.Join(p.dir, ".ledger", ledger.FileName))) {
		if strings.Contains(line, `"method":"claims/resolve"`) {
			records = append(records, line)
		}
	}
	if len(records) != 1 {
		t.Fatalf("%d records of the settlement, want 1: %q", len(records), records)
	}
	for _, member := range []string{`"attempt":"` + attempt, `"principal":"operator"`, `"rule":"` + as, `"reason":"seen in the bank's list"`,
		`"name":"pay"`, `"request_id":"r1"`, `"upstream":"bank"`, outcome} {
		if !strings.Contains(records[0], member) {
			t.Errorf("the record lacks %s: %s", member, records[0])
		}
	}
	if out, ok := p.run("verify"); !ok {
		t.Errorf("the ledger does not verify: %s", out)
	}
}

func TestWhatOperatorsCannotSettle(t *testing.T) {
	p := newPerson(t)
	dir := filepath.Join(p.dir, ".ledger")
	b := openBank(t, dir)
	attempt := b.inconclusive(dir, "r1")
	if _, err := b.pay("r2"); err != nil {
		t.Fatal(err)
	}
	own, err := b.claims.Begin(context.Background(), mutation.Key{Principal: "local", Tool: "write_note", ID: "r3"})
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Intend(mutation.Intent{Attempt: "00000000000000aa", Fingerprint: "f", Record: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	own.Release()
	flying, err := b.claims.Begin(context.Background(), mutation.Key{Principal: "local", Tool: "pay", ID: "r4", Upstream: "bank"})
	if err != nil {
		t.Fatal(err)
	}
	if err := flying.Intend(mutation.Intent{Attempt: "00000000000000bb", Fingerprint: "f", Record: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	defer flying.Release()
	done, _ := mutation.Find(durable.OS, dir, "r2")
	p.write(filepath.Join(p.dir, "bad.json"), `{"contents":[]}`)
	for _, test := range []struct{ want, args string }{
		{"no claim has the attempt", "ffffffffffffffff --as absent --reason x"},
		{"it is committed", done[0].Attempt + " --as absent --reason x"},
		{"settles itself", "00000000000000aa --as absent --reason x"},
		{"in flight", "00000000000000bb --as absent --reason x"},
		{"--as must be", attempt + " --as done --reason x"},
		{"--as must be", attempt + " --reason x"},
		{"--reason is missing", attempt + " --as absent"},
		{"goes with --as committed only", attempt + " --as absent --reason x --result bad.json"},
		{"is no tools/call result", attempt + " --as committed --reason x --result bad.json"},
		{"reading the result", attempt + " --as committed --reason x --result nowhere.json"},
		{"no such file", attempt + " --as absent --reason x --ledger nowhere"},
	} {
		out, ok := p.run(append([]string{"claims", "resolve"}, strings.Fields(test.args)...)...)
		if ok || !strings.HasPrefix(out, "sallyport: ") || !strings.Contains(out, test.want) || !strings.Contains(out, "\nhint: ") {
			t.Errorf("%s: %s, want %s and a hint", test.args, out, test.want)
		}
	}
	b.paid = 0
	if _, err := b.pay("r1"); err == nil || b.paid != 0 {
		t.Errorf("the inconclusive one was sent again: %v", err)
	}
}

// TestClaimThatMovesOn settles a claim by another hand while the question stands.
func TestClaimThatMovesOn(t *testing.T) {
	p := newPerson(t)
	dir := filepath.Join(p.dir, ".ledger")
	b := openBank(t, dir)
	attempt := b.inconclusive(dir, "r1")
	key := mutation.Key{Principal: "ann", Tool: "pay", ID: "r1", Upstream: "bank"}
	out, ok := p.answer("yes", func() {
		if err := b.door.Resolve(context.Background(), key, gate.Settlement{Attempt: attempt, As: gate.AsAbandoned, Reason: "first"}); err != nil {
			t.Fatal(err)
		}
	}, "claims", "resolve", attempt, "--as", "absent", "--reason", "second")
	if ok || !strings.Contains(out, "not inconclusive") {
		t.Errorf("resolve: %s", out)
	}
	if got, err := b.pay("r1"); err != nil || !strings.Contains(got, "abandoned") || b.paid != 1 {
		t.Errorf("a retry gets %s, %v; paid %d times", got, err, b.paid)
	}
}

func TestClaimsAreListed(t *testing.T) {
	p := newPerson(t)
	dir := filepath.Join(p.dir, ".ledger")
	b := openBank(t, dir)
	hostile := "r1\x1b[2J\n\u202eabc"
	attempt := b.inconclusive(dir, hostile)
	if _, err := b.pay("r2"); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct{ has, hasNot string }{
		"claims list":                              {attempt, ""},
		"claims list --state committed":            {`"r2"`, attempt},
		"claims list --state inconclusive":         {attempt, `"r2"`},
		"claims list --state abandoned":            {"there is no such claim", attempt},
		"claims list --json --state committed":     {`{"claims":[{"state":"committed","attempt":"`, attempt},
		"claims list --json --state abandoned":     {`{"claims":[]}`, ""},
		"claims show " + attempt:                   {"--as absent", `"r2"`},
		"claims show r2":                           {"state       committed", "--as absent"},
		"claims show --json r2":                    {`"upstream":"bank","tool":"pay","principal":"ann","request_id":"r2","args_digest":"`, attempt},
		"show r2":                                  {"tool pay of bank", attempt},
		"stats --json":                             {`"inconclusive":1`, ""},
		"claims list --state inconclusive --json ": {`"request_id":"r1\u001b[2J\n`, "\x1b"},
	} {
		out, ok := p.run(strings.Fields(args)...)
		if !ok || !strings.Contains(out, want.has) || want.hasNot != "" && strings.Contains(out, want.hasNot) {
			t.Errorf("%s: %s", args, out)
		}
		if strings.ContainsAny(out, "\x1b\u202e") && !strings.Contains(args, "--json") {
			t.Errorf("%s lets a caller's characters act on the terminal: %q", args, out)
		}
	}
	for args, want := range map[string]string{
		"claims list --state gone": `there is no state "gone"`,
		"claims show nowhere":      "there is no such claim",
		"claims list more":         "unknown command",
	} {
		if out, ok := p.run(strings.Fields(args)...); ok || !strings.Contains(out, want) {
			t.Errorf("%s: %s", args, out)
		}
	}
	if err := os.Remove(filepath.Join(dir, mutation.FileName)); err != nil {
		t.Fatal(err)
	}
	if out, ok := p.run("claims", "list"); !ok || !strings.Contains(out, "there is no such claim") {
		t.Errorf("without claims: %s", out)
	}
}

// TestClaimsFolder looks for claims where there is no ledger below the working folder.
func TestClaimsFolder(t *testing.T) {
	p := newPerson(t)
	dir := filepath.Join(p.dir, ".ledger")
	attempt := openBank(t, dir).inconclusive(dir, "r1")
	for args, in := range map[string]string{"claims list": p.home, "claims list --ledger .": p.home, "claims list --ledger " + dir: p.dir} {
		q := &person{t: t, home: p.home, dir: t.TempDir()} // who has no ledger of its own
		users := filepath.Join(p.home, ".local", "state", "sallyport")
		if err := os.MkdirAll(users, 0o700); err != nil {
			t.Fatal(err)
		}
		q.write(filepath.Join(users, ledger.FileName), "")
		out, ok := q.run(strings.Fields(args)...)
		switch {
		case args == "claims list --ledger .":
			ok = !ok && strings.Contains(out, "there is no ledger in that folder")
		case in == p.home:
			ok = ok && strings.Contains(out, "there is no such claim in "+users)
		default:
			ok = ok && strings.Contains(out, attempt)
		}
		if !ok {
			t.Errorf("%s: %s", args, out)
		}
	}
}

// TestOperatorsAreToldWhatTheLedgerKnows takes the outcome of a claim away whose record is there, as the death of a machine may.
func TestOperatorsAreToldWhatTheLedgerKnows(t *testing.T) {
	p, dir, _ := newPayer(t)
	found, err := mutation.Find(durable.OS, dir, "r1")
	if err != nil || len(found) != 1 {
		t.Fatalf("found %+v, %v", found, err)
	}
	attempt := found[0].Attempt
	claims := filepath.Join(dir, mutation.FileName)
	text, err := os.ReadFile(claims)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if err := os.Truncate(claims, int64(len(lines[0])+len(lines[1]))); err != nil {
		t.Fatal(err)
	}
	out, _ := p.run("claims", "show", "r1")
	for _, fact := range []string{"state       inconclusive", "ledger      committed", "resolve " + attempt + " --as committed"} {
		if !strings.Contains(out, fact) {
			t.Errorf("claims show does not say %q:\n%s", fact, out)
		}
	}
	if strings.Contains(out, "--as absent") {
		t.Errorf("claims show offers what the ledger contradicts:\n%s", out)
	}
	if out, ok := p.answer("yes", nil, "claims", "resolve", attempt, "--reason", "seen in the bank's list", "--as", "absent"); ok || !strings.Contains(out, "settle it --as committed") {
		t.Errorf("settled as absent: %s", out)
	}
	if out, ok := p.answer("yes", nil, "claims", "resolve", attempt, "--reason", "seen in the bank's list", "--as", "committed"); !ok {
		t.Errorf("settled as committed: %s", out)
	}
	checkSettled(t, p, attempt, "committed", `"outcome":"committed"`)
}

package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/durable/crashfs"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
)

const forwardPolicy = `
version: 2
default: deny
rules:
  - {id: reads, decision: allow, tools: ["get*"], read_only: true}
  - {id: pays, decision: allow, tools: [pay, big], mutation: {key: request_id}}
  - {id: sets, decision: allow, tools: [set], mutation: {key: request_id, idempotent: true}}
  - {id: meta, decision: allow, tools: [meta], mutation: {key: sallyport/request_id}}
  - {id: sends, decision: allow, tools: [send]}
  - {id: asks, decision: ask, tools: [asked], reason: "This is dear."}
  - {id: limited, decision: allow, tools: [limited], mutation: {key: request_id}, limit: {calls: 1, per: 1h}}
  - {id: short, decision: allow, tools: [short], mutation: {key: request_id}, output: {max_bytes: 10}}
  - {id: tenants, decision: allow, tools: [theirs], tenants: [acme]}
  - {id: prompts, decision: allow, methods: [prompts/get], mutation: {key: name}}
  - {id: resources, decision: allow, methods: [resources/read]}
  - {id: keys, decision: deny, reads: ["/secret/**"], reason: "Keys are not read."}
`

// far is a gate before an upstream whose effects can be counted. Opened again, the old process is dead.
type far struct {
	*Gate
	t       testing.TB
	disk    *crashfs.FS
	policy  string
	ledger  *ledger.Ledger
	claims  *mutation.Claims
	effects atomic.Int32
	answer  func(ctx context.Context, c Call) (Result, error) // after the effect
}

func newFar(t testing.TB) *far {
	f := &far{t: t, disk: crashfs.New(), policy: forwardPolicy}
	f.disk.OwnDir("d")
	f.open()
	return f
}

func (f *far) open() {
	f.t.Helper()
	if err := f.tryOpen(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *far) tryOpen() error {
	f.disk.DropLocks()
	p, err := policy.Parse("policy.yaml", []byte(f.policy))
	if err != nil {
		f.t.Fatal(err)
	}
	if f.claims, err = mutation.Open(f.disk, "d", func() (bool, error) { return false, nil }); err != nil {
		return err
	}
	if f.ledger, err = ledger.Open(f.disk, "d"); err != nil {
		return err
	}
	f.Gate = New(p, f.ledger, f.claims, slog.New(slog.DiscardHandler))
	return nil
}

// rest are the parts of a call that only some tests need.
type rest struct {
	method, principal, meta string
	round                   []byte
	refuse                  *DeniedError
	tenant                  string
}

func (f *far) make(name, args string, r rest) Call {
	f.t.Helper()
	c := Call{Caller: Caller{Principal: r.principal, Tenant: r.tenant}, Method: r.method, Name: name, Round: r.round, Refuse: r.refuse}
	if r.principal == "" {
		c.Caller.Principal = "local"
	}
	for text, to := range map[string]*canon.Value{args: &c.Args, r.meta: &c.Meta} {
		if text == "" {
			continue
		}
		var err error
		if *to, err = canon.Parse([]byte(text)); err != nil {
			f.t.Fatal(err)
		}
	}
	c.Tool = &Tool{Name: name, Upstream: "bank"}
	if r.method != "" {
		c.Tool.Name = r.method
	} else {
		c.Tool.Check = func(args canon.Value) error {
			if args.Get("bad").Exists() {
				return errors.New("bad is not known")
			}
			return nil
		}
	}
	c.Invoke = func(ctx context.Context, p *Permit) (Result, error) {
		if _, err := p.Use(c.Tool.Name); err != nil {
			return Result{}, &NotDone{err}
		}
		n := f.effects.Add(1)
		if f.answer != nil {
			return f.answer(ctx, c)
		}
		return Result{Body: fmt.Appendf(nil, `{"n":%d, "z":1.0,"a":1e400}`, n), Form: Whole}, nil
	}
	return c
}

func (f *far) do(name, args string, r rest) (Result, error) {
	f.t.Helper()
	return f.Do(context.Background(), f.make(name, args, r))
}

// say is what a call came to, in short: the body, or the error.
func (f *far) say(name, args string, r rest) string {
	f.t.Helper()
	result, err := f.do(name, args, r)
	if err != nil {
		var denied *DeniedError
		if errors.As(err, &denied) {
			return "denied by " + denied.Rule
		}
		return "error: " + err.Error()
	}
	if result.Form == Own {
		v, err := canon.Parse(result.Body)
		if err != nil {
			f.t.Fatal(err)
		}
		status, _ := v.Get("structuredContent").Get("status").Text()
		failed, _ := v.Get("isError").Bool()
		return fmt.Sprintf("%s %v", status, failed)
	}
	return string(result.Body)
}

func (f *far) wantEffects(want int32) {
	f.t.Helper()
	if got := f.effects.Load(); got != want {
		f.t.Errorf("%d effects, want %d", got, want)
	}
}

// records returns "request_id name decision outcome rule" of each record, and checks the chain.
func (f *far) records() []string {
	f.t.Helper()
	text, err := f.disk.ReadFile("d/" + ledger.FileName)
	if err != nil {
		f.t.Fatal(err)
	}
	if v, err := ledger.Verify(bytes.NewReader(text)); err != nil || !v.OK {
		f.t.Errorf("the ledger does not verify: %+v, %v", v, err)
	}
	var records []string
	err = ledger.Read(bytes.NewReader(text), func(line canon.Value) error {
		parts := []string{}
		for _, key := range []string{"request_id", "name", "decision", "outcome", "rule"} {
			if part, ok := line.Get(key).Text(); ok {
				parts = append(parts, part)
			}
		}
		if recovered, _ := line.Get("recovered").Bool(); recovered {
			parts = append(parts, "recovered")
		}
		records = append(records, strings.Join(parts, " "))
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return records
}

func (f *far) wantRecords(want ...string) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.records()); diff != "" {
		f.t.Errorf("records (-want +got):\n%s", diff)
	}
}

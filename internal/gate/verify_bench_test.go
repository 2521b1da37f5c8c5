package gate

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
)

// BenchmarkVerified compares a verified call with what it consists of, the same call unverified and the call that looks: what
// is above their sum is what verification itself costs. The server answers at once. What is added has a budget of 200 µs; its
// ratio is to one record, which is one sync of the disk. The calls take turns, so that a busy machine is busy for all.
func BenchmarkVerified(b *testing.B) {
	for _, bench := range []struct{ name, plain, verified string }{
		{"keyed", "plain", "save"},
		{"unkeyed", "send", "put"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			g, l := verifiedOnDisk(b)
			took := map[string][]time.Duration{}
			n := 0
			call := func(name string) {
				n++
				args, err := canon.Parse(fmt.Appendf(nil, `{"request_id":"r%d","text":"tea"}`, n))
				if err != nil {
					b.Fatal(err)
				}
				c := diskCall(name, args)
				start := time.Now()
				result, err := g.Do(context.Background(), c)
				took[name] = append(took[name], time.Since(start))
				if err != nil || (result.Checks == Held) != (name == bench.verified) {
					b.Fatal(words(result, err))
				}
			}
			for range max(b.N, 50) {
				call(bench.plain)
				call("read")
				call(bench.verified)
				start := time.Now()
				if err := l.Append(&ledger.Record{RequestID: "r", Name: "n"}); err != nil {
					b.Fatal(err)
				}
				took["record"] = append(took["record"], time.Since(start))
			}
			half := func(name string) time.Duration {
				slices.Sort(took[name])
				return took[name][len(took[name])/2]
			}
			record, plain, read, verified := half("record"), half(bench.plain), half("read"), half(bench.verified)
			added := verified - plain - read
			b.Logf("%-8s %9s %9s %9s %9s %9s\n%-8s %9v %9v %9v %9v %9v\n%-8s %9.2f %9.2f %9.2f %9.2f %9.2f", bench.name, "record", "plain", "look", "verified", "added",
				"", record, plain, read, verified, added,
				"ratio", 1.0, ratio(plain, record), ratio(read, record), ratio(verified, record), ratio(added, record))
			b.ReportMetric(float64(added.Microseconds()), "µs/added")
			b.ReportMetric(ratio(added, record), "added/record")
			b.ReportMetric(ratio(verified, plain+read), "verified/parts")
		})
	}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func verifiedOnDisk(b *testing.B) (*Gate, *ledger.Ledger) {
	b.Helper()
	p, err := policy.Parse("policy.yaml", []byte(strings.ReplaceAll(shopPolicy, "VERIFY",
		`{observe: {tool: read, arguments: {request_id: "${args.request_id}"}}, expect: "observation.text == args.text"}`)))
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	claims, err := mutation.Open(durable.OS, dir, func() (bool, error) { return false, nil })
	if err != nil {
		b.Fatal(err)
	}
	l, err := ledger.Open(durable.OS, dir)
	if err != nil {
		b.Fatal(err)
	}
	g := New(p, l, claims, slog.New(slog.DiscardHandler))
	g.Stops = interlock.OpenStops(durable.OS, filepath.Join(dir, "stops"))
	g.Approvals = interlock.OpenApprovals(durable.OS, filepath.Join(dir, "approvals"))
	b.Cleanup(func() { g.Stops.Close(); claims.Close(); l.Close() })
	return g, l
}

// diskCall is a call to a server that answers at once, and looks as if it had done what it says.
func diskCall(name string, args canon.Value) Call {
	body := []byte(`{"content":[],"structuredContent":{"text":"tea"}}`)
	return Call{
		Caller: Caller{Principal: "local"}, Name: name, Args: args, Tool: &Tool{Name: name, Upstream: "shop"},
		Observe: func(_ context.Context, tool string, args canon.Value) (Call, error) { return diskCall(tool, args), nil },
		Invoke: func(_ context.Context, p *Permit) (Result, error) {
			if _, err := p.Use(name); err != nil {
				return Result{}, &NotDone{err}
			}
			return Result{Body: body, Form: Whole}, nil
		},
	}
}

// BenchmarkUnlatched is what looking for a stop adds to a call with an effect.
func BenchmarkUnlatched(b *testing.B) {
	g, _ := verifiedOnDisk(b)
	c := diskCall("save", canon.Value{})
	if args, err := canon.Parse([]byte(`{"request_id":"r1","text":"tea"}`)); err == nil {
		c.Args = args
	}
	if _, err := g.Do(context.Background(), c); err != nil { // so that the latch's file is there
		b.Fatal(err)
	}
	w, _, _ := g.weigh(g.Policy(), &c)
	for b.Loop() {
		if err := g.unlatched(context.Background(), &c, w); err != nil {
			b.Fatal(err)
		}
	}
}

package gate

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
)

// BenchmarkForwarded compares a call to an upstream, which takes as long as a record does, with what it is made of: the
// ratio of a read is to the longer of the two, which run beside each other, and that of the others to their sum.
func BenchmarkForwarded(b *testing.B) {
	for _, bench := range []struct {
		name, tool, more string
		records          int // that come one after the other with the call; 0: one beside it
	}{
		{"read", "get", "", 0},
		{"batched", "get", "ledger: {reads: batched}\n", 0},
		{"unkeyed", "send", "", 1},
		{"keyed", "pay", "", 3},
	} {
		b.Run(bench.name, func(b *testing.B) {
			g, l := onDisk(b, bench.more)
			record := median(200, func(int) { l.Append(&ledger.Record{RequestID: "r", Name: "n"}) })
			busy := max(record, 200*time.Microsecond)
			upstream := median(200, func(int) { time.Sleep(busy) })
			call := median(b.N, func(i int) {
				args, err := canon.Parse(fmt.Appendf(nil, `{"request_id":"r%d"}`, i))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := g.Do(context.Background(), benchCall(bench.tool, args, busy)); err != nil {
					b.Fatal(err)
				}
			})
			floor := upstream + time.Duration(bench.records)*record
			if bench.records == 0 {
				floor = max(upstream, record)
			}
			b.ReportMetric(float64(record.Microseconds()), "µs/record")
			b.ReportMetric(float64(upstream.Microseconds()), "µs/upstream")
			b.ReportMetric(float64(call.Microseconds()), "µs/call")
			b.ReportMetric(float64(call)/float64(floor), "ratio")
		})
	}
}

func onDisk(b *testing.B, more string) (*Gate, *ledger.Ledger) {
	b.Helper()
	p, err := policy.Parse("policy.yaml", []byte(forwardPolicy+more))
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
	b.Cleanup(func() { claims.Close(); l.Close() })
	return New(p, l, claims, slog.New(slog.DiscardHandler)), l
}

func benchCall(tool string, args canon.Value, busy time.Duration) Call {
	return Call{Caller: Caller{Principal: "local"}, Name: tool, Args: args, Tool: &Tool{Name: tool, Upstream: "bank"},
		Invoke: func(_ context.Context, p *Permit) (Result, error) {
			if _, err := p.Use(tool); err != nil {
				return Result{}, &NotDone{err}
			}
			time.Sleep(busy)
			return Result{Body: []byte(`{"content":[]}`), Form: Whole}, nil
		}}
}

// median is how long do takes half of the time.
func median(n int, do func(i int)) time.Duration {
	took := make([]time.Duration, n)
	for i := range took {
		start := time.Now()
		do(i)
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took[n/2]
}

// BenchmarkBurst compares 32 reads at once with what one of them must cost: group commit makes few syncs of their records.
func BenchmarkBurst(b *testing.B) {
	g, l := onDisk(b, "")
	record := median(200, func(int) { l.Append(&ledger.Record{RequestID: "r", Name: "n"}) })
	busy := max(record, 200*time.Microsecond)
	upstream := median(200, func(int) { time.Sleep(busy) })
	burst := median(b.N, func(int) {
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				if _, err := g.Do(context.Background(), benchCall("get", canon.Value{}, busy)); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	})
	b.ReportMetric(float64(burst.Microseconds()), "µs/burst")
	b.ReportMetric(float64(burst)/float64(max(record, upstream)), "ratio")
}

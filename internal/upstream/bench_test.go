//go:build unix

package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/internal/wire"
)

// BenchmarkCall calls a server in another process through a link, and reports what a call costs our process in processor
// time, absolutely and as a multiple of the floor: writing the request into a pipe and reading the answer from another,
// which is half of what a relay that copies bytes does.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{32, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			text := strings.Repeat("x", size)
			line := func(id int) []byte {
				return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"echo","params":{"text":"%s"}}`, id, text)
			}
			bare := bareCost(b, line)
			s := New(self(b, "legacy"))
			defer s.Close()
			link, err := s.Open(context.Background(), nil)
			if err != nil {
				b.Fatal(err)
			}
			requests := make([]wire.Outgoing, 0, b.N)
			for id := range b.N {
				requests = append(requests, parsed(string(line(id))))
			}
			b.ReportAllocs()
			b.ResetTimer()
			before := spent()
			for _, r := range requests {
				if _, err := link.Call(context.Background(), r); err != nil {
					b.Fatal(err)
				}
			}
			cost := float64(spent()-before) / float64(b.N)
			b.ReportMetric(cost, "cpu-ns/op")
			b.ReportMetric(cost/bare, "x-floor")
		})
	}
}

// bareCost is the processor time of one exchange without a link.
func bareCost(b *testing.B, line func(id int) []byte) float64 {
	b.Helper()
	cfg := self(b, "legacy")
	p, ours, err := startProcess(&cfg, func(string, ...any) {})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		ours.close()
		if err := p.stop(); err != nil {
			b.Error(err)
		}
	}()
	const n = 2000
	in := bufio.NewReaderSize(ours.out, 256<<10)
	before := time.Duration(0)
	for id := range n + 100 {
		if id == 100 { // warm by now
			before = spent()
		}
		if _, err := ours.in.Write(append(line(id), '\n')); err != nil {
			b.Fatal(err)
		}
		if _, err := in.ReadSlice('\n'); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			b.Fatal(err)
		}
	}
	return float64(spent()-before) / n
}

// spent is the processor time of this process so far.
func spent() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
